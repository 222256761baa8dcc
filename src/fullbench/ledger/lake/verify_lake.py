"""Verification of a lake. Segments that were verified before and have not changed since are skipped."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from fullbench.cache_dir import cache_folder
from fullbench.errors import InputError
from fullbench.ledger.integrity.row_chain import LedgerDigest
from fullbench.ledger.integrity.signatures import is_valid_signature, name_of
from fullbench.ledger.lake import manifest, parquet_segments
from fullbench.ledger.lake.manifest import Entry, Segment
from fullbench.ledger.lake.storage import Store

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


@dataclass
class LakeCheck:
    """Result of a check: problems, and segments read, skipped and unlisted."""

    entries: list[Entry]
    problems: list[str] = field(default_factory=list)
    read: int = 0
    passed_over: int = 0
    unnamed_segments: list[str] = field(default_factory=list)
    """Segments that no entry lists, left by killed writers. They are not part of the lake."""

    @property
    def lake_digest(self) -> LedgerDigest | None:
        return self.entries[-1].lake_digest if self.entries else None


def check_lake(
    store: Store,
    *,
    everything: bool = False,
    noted_digest: LedgerDigest | None = None,
    key: Ed25519PublicKey | None = None,
) -> LakeCheck:
    """Check the manifest and the segments.
    A segment is read again if `everything` is true, or if its stamp changed since the last check.
    """
    entries, manifest_problems = manifest.check_entries(store)
    lake_check = LakeCheck(entries, manifest_problems)
    if not entries and not manifest_problems:
        lake_check.problems.append("there is no manifest here: this is no lake, or all of its entries are gone")
        return lake_check
    memory = _Memory.from_cache(entries[0].lake if entries else "", store.place)
    for digest in filter(None, (noted_digest, memory.digest)):
        lake_check.problems += _digest_problems(
            entries, digest, "noted" if digest == noted_digest else "seen here before"
        )
    lake_check.problems += [] if key is None else _signature_problems(entries, key)
    lake_check.problems += _overlap_problems(entries)
    segment_files = {segment.file for entry in entries for segment in entry.segments}
    for segment in (segment for entry in entries for segment in entry.segments):
        stamp = store.stamp(segment.file)
        if stamp is None:
            lake_check.problems.append(
                f"the segment {segment.file} with {segment.rows:,} rows of {segment.table} is missing"
            )
        elif not everything and memory.segments.get(segment.file) == [segment.root, stamp]:
            lake_check.passed_over += 1
        else:
            lake_check.read += 1
            segment_problems = list(_segment_problems(store, segment))
            lake_check.problems += segment_problems
            if not segment_problems:
                memory.segments[segment.file] = [segment.root, stamp]
    lake_check.unnamed_segments = _unnamed_segments(store, segment_files)
    if not lake_check.problems and lake_check.lake_digest is not None:
        memory.keep(lake_check.lake_digest)
    return lake_check


def _segment_problems(store: Store, segment: Segment) -> Iterator[str]:
    if parquet_segments.merkle_root(store.pieces(segment.file)) != segment.root:
        yield (
            f"the segment {segment.file} was changed: its {segment.rows:,} rows of {segment.table} do not have the "
            "content that the manifest promises"
        )


def _digest_problems(entries: Sequence[Entry], noted_digest: LedgerDigest, how: str) -> Iterator[str]:
    if len(entries) < noted_digest.commits:
        yield (
            f"the manifest has {len(entries)} entries, fewer than the {noted_digest.commits} of the digest "
            f"{noted_digest} that was "
            f"{how}: its end is missing"
        )
    elif noted_digest.commits and entries[noted_digest.commits - 1].lake_digest != noted_digest:
        there = entries[noted_digest.commits - 1].lake_digest
        yield (
            f"the digest after {noted_digest.commits} entries is {there}, not {noted_digest} as {how}: the "
            "manifest was rewritten"
        )


def _signature_problems(entries: Sequence[Entry], key: Ed25519PublicKey) -> Iterator[str]:
    signed_entries = [entry for entry in entries if entry.signature is not None and entry.signature.key == name_of(key)]
    if not signed_entries:
        yield f"no entry of the manifest is signed by the key {name_of(key)}: nothing is proven"
        return
    for entry in signed_entries:
        signature = entry.signature
        if signature is None or not is_valid_signature(signature, key):
            yield f"the signature on the entry {entry.number} does not fit the key: it was made up"
        elif (signature.ledger, signature.digest) != (entry.lake, str(entry.lake_digest)):
            yield f"the entry {entry.number} is not the one that was signed: it was changed since"
    if after := [entry.number for entry in entries if entry.number > signed_entries[-1].number]:
        yield (
            f"the entries after {signed_entries[-1].number} ({len(after):,}) are not signed by the key: they "
            "may be anybody's"
        )


def _overlap_problems(entries: Sequence[Entry]) -> Iterator[str]:
    last: dict[str, Segment] = {}
    for segment in (segment for entry in entries for segment in entry.segments):
        before = last.get(segment.table)
        if before is not None and segment.first <= before.last:
            yield f"the segments {before.file} and {segment.file} hold the same places of {segment.table}"
        last[segment.table] = segment


def _unnamed_segments(store: Store, segment_files: Collection[str]) -> list[str]:
    tables = {name.split("/")[1] for name in segment_files}
    return [name for table in sorted(tables) for name in store.names(f"segments/{table}") if name not in segment_files]


@dataclass
class _Memory:
    """Cache of verified segments with their stamps, and the verified lake digest, for one lake and place."""

    path: Path
    segments: dict[str, list[str]] = field(default_factory=dict)
    digest: LedgerDigest | None = None

    @classmethod
    def from_cache(cls, lake: str, place: str) -> _Memory:
        where = place if "://" in place else str(Path(place).resolve())
        path = cache_folder() / "lakes" / f"{lake}-{blake2b(where.encode(), digest_size=8).hexdigest()}.json"
        # An unreadable cache only means that all segments are read again.
        with suppress(OSError, ValueError, KeyError, TypeError, InputError):
            content = json.loads(path.read_text())
            return cls(path, dict(content["segments"]), LedgerDigest.from_text(content["digest"]))
        return cls(path)

    def keep(self, digest: LedgerDigest) -> None:
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}.part")
            part.write_text(json.dumps({"digest": str(digest), "segments": self.segments}))
            part.rename(self.path)
