"""Is a lake as it was written? Segments that were read once and have not been touched since are not read again."""

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
from fullbench.ledger.integrity.row_chain import Head
from fullbench.ledger.integrity.signatures import name_of, valid
from fullbench.ledger.lake import manifest, parquet_segments
from fullbench.ledger.lake.manifest import Entry, Segment
from fullbench.ledger.lake.storage import Store

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


@dataclass
class Examined:
    """What a look at a lake showed."""

    entries: list[Entry]
    problems: list[str] = field(default_factory=list)
    read: int = 0
    passed_over: int = 0
    unnamed: list[str] = field(default_factory=list)
    """Segments that no entry names: what writers that were killed had put there. They are no part of the lake."""

    @property
    def head(self) -> Head | None:
        return self.entries[-1].lake_head if self.entries else None


def examined(
    store: Store, *, everything: bool = False, noted: Head | None = None, key: Ed25519PublicKey | None = None
) -> Examined:
    """Look at the manifest and at the segments.

    A segment is read again where `everything` is wanted, or where the store says that it was written anew since.
    """
    entries, broken = manifest.examined(store)
    found = Examined(entries, broken)
    if not entries and not broken:
        found.problems.append("there is no manifest here: this is no lake, or all of its entries are gone")
        return found
    memory = _Memory.of(entries[0].lake if entries else "", store.place)
    for head in filter(None, (noted, memory.head)):
        found.problems += _head(entries, head, "noted" if head == noted else "seen here before")
    found.problems += [] if key is None else _signatures(entries, key)
    found.problems += _places(entries)
    named = {segment.file for entry in entries for segment in entry.segments}
    for segment in (segment for entry in entries for segment in entry.segments):
        stamp = store.stamp(segment.file)
        if stamp is None:
            found.problems.append(
                f"the segment {segment.file} with {segment.rows:,} rows of {segment.table} is missing"
            )
        elif not everything and memory.segments.get(segment.file) == [segment.root, stamp]:
            found.passed_over += 1
        else:
            found.read += 1
            wrong = list(_segment(store, segment))
            found.problems += wrong
            if not wrong:
                memory.segments[segment.file] = [segment.root, stamp]
    found.unnamed = _unnamed(store, named)
    if not found.problems and found.head is not None:
        memory.keep(found.head)
    return found


def _segment(store: Store, segment: Segment) -> Iterator[str]:
    if parquet_segments.merkle_root(store.pieces(segment.file)) != segment.root:
        yield (
            f"the segment {segment.file} was changed: its {segment.rows:,} rows of {segment.table} do not have the "
            "content that the manifest promises"
        )


def _head(entries: Sequence[Entry], noted: Head, how: str) -> Iterator[str]:
    if len(entries) < noted.commits:
        yield (
            f"the manifest has {len(entries)} entries, fewer than the {noted.commits} of the head {noted} that was "
            f"{how}: its end is missing"
        )
    elif noted.commits and entries[noted.commits - 1].lake_head != noted:
        there = entries[noted.commits - 1].lake_head
        yield f"the head after {noted.commits} entries is {there}, not {noted} as {how}: the manifest was rewritten"


def _signatures(entries: Sequence[Entry], key: Ed25519PublicKey) -> Iterator[str]:
    signed = [entry for entry in entries if entry.signature is not None and entry.signature.key == name_of(key)]
    if not signed:
        yield f"no entry of the manifest is signed by the key {name_of(key)}: nothing is proven"
        return
    for entry in signed:
        signature = entry.signature
        if signature is None or not valid(signature, key):
            yield f"the signature on the entry {entry.number} does not fit the key: it was made up"
        elif (signature.ledger, signature.head) != (entry.lake, str(entry.lake_head)):
            yield f"the entry {entry.number} is not the one that was signed: it was changed since"
    if after := [entry.number for entry in entries if entry.number > signed[-1].number]:
        yield f"the entries after {signed[-1].number} ({len(after):,}) are not signed by the key: they may be anybody's"


def _places(entries: Sequence[Entry]) -> Iterator[str]:
    """Each table's segments must follow one another."""
    last: dict[str, Segment] = {}
    for segment in (segment for entry in entries for segment in entry.segments):
        before = last.get(segment.table)
        if before is not None and segment.first <= before.last:
            yield f"the segments {before.file} and {segment.file} hold the same places of {segment.table}"
        last[segment.table] = segment


def _unnamed(store: Store, named: Collection[str]) -> list[str]:
    tables = {name.split("/")[1] for name in named}
    return [name for table in sorted(tables) for name in store.names(f"segments/{table}") if name not in named]


@dataclass
class _Memory:
    """What this machine has verified of a lake in one place: which segments, as the store then had them, and up to
    which head."""

    path: Path
    segments: dict[str, list[str]] = field(default_factory=dict)
    head: Head | None = None

    @classmethod
    def of(cls, lake: str, place: str) -> _Memory:
        where = place if "://" in place else str(Path(place).resolve())
        path = cache_folder() / "lakes" / f"{lake}-{blake2b(where.encode(), digest_size=8).hexdigest()}.json"
        # What cannot be read is not known, and is looked at again.
        with suppress(OSError, ValueError, KeyError, TypeError, InputError):
            stored = json.loads(path.read_text())
            return cls(path, dict(stored["segments"]), Head.read(stored["head"]))
        return cls(path)

    def keep(self, head: Head) -> None:
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}.part")
            part.write_text(json.dumps({"head": str(head), "segments": self.segments}))
            part.rename(self.path)
