"""Manifest of a lake: entries that list segments, each chained to the entry before, and optionally signed.

An entry is a file, `manifest/00000001.json`, written atomically after all of its segments. A killed writer can leave
segments that no entry lists, but never an entry with an incomplete segment. The lake digest, `NUMBER-DIGEST`, covers
all entries up to that one. A copy kept elsewhere reveals a manifest that was shortened.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from fullbench.errors import LedgerError
from fullbench.ledger.integrity.row_chain import LedgerDigest
from fullbench.ledger.integrity.signatures import Signature
from fullbench.ledger.lake.storage import Store

FORMAT = 5
"""Format that this code reads and writes; each entry names its own."""
FOLDER = "manifest"


@dataclass(frozen=True)
class Segment:
    """Rows of one table in a file that never changes: rowid range, Merkle root, statistics."""

    table: str
    file: str
    rows: int
    first: int
    last: int
    bytes: int
    root: str
    statistics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def within(self) -> Mapping[str, Sequence[int]]:
        """Count, first and last rowid of inlined rows, by table."""
        inside: Mapping[str, Sequence[int]] = self.statistics.get("within", {})
        return inside


@dataclass(frozen=True)
class Entry:
    """One addition to a lake: its segments, and the ledger and ledger digest they come from."""

    number: int
    before: str
    lake: str
    ledger: str
    ledger_digest: str
    at: float
    segments: tuple[Segment, ...]
    signature: Signature | None = None
    format: int = FORMAT

    @property
    def digest(self) -> str:
        """Digest of everything but the signature; through `before` it covers all earlier entries."""
        fields = {name: value for name, value in asdict(self).items() if name != "signature"}
        return blake2b(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()

    @property
    def lake_digest(self) -> LedgerDigest:
        return LedgerDigest(self.number, self.digest)


def next_entry(
    entries: Sequence[Entry], *, ledger: str, ledger_digest: LedgerDigest, at: float, segments: Iterable[Segment]
) -> Entry:
    """Return the entry that follows these."""
    before, lake = (entries[-1].digest, entries[-1].lake) if entries else ("", secrets.token_hex(8))
    return Entry(len(entries) + 1, before, lake, ledger, str(ledger_digest), at, tuple(segments))


def append_entry(store: Store, entry: Entry) -> None:
    """Write an entry; raise if another writer has added one with its number."""
    with tempfile.TemporaryDirectory(prefix="fullbench-lake-") as folder:
        source = Path(folder) / "entry.json"
        source.write_bytes(orjson.dumps(asdict(entry), option=orjson.OPT_INDENT_2))
        if not store.put(entry_name(entry.number), source):
            raise LedgerError(
                f"{store.place}: another process wrote to the lake at the same time, so nothing was added to its "
                f"manifest; run again"
            )


def last_place(entries: Iterable[Entry], table: str) -> int:
    """Return the last rowid of a table that the lake holds."""
    segments = [segment for entry in entries for segment in entry.segments]
    places = [segment.last for segment in segments if segment.table == table]
    return max((*places, *(segment.within[table][2] for segment in segments if table in segment.within)), default=0)


def entry_name(number: int) -> str:
    return f"{FOLDER}/{number:08d}.json"


def read_entries(store: Store) -> list[Entry]:
    """Return all entries; raise if their chain is broken."""
    entries, problems = check_entries(store)
    if problems:
        raise LedgerError(f"{store.place}: the lake's manifest is damaged: {problems[0]}; see `fullbench lake verify`")
    return entries


def check_entries(store: Store) -> tuple[list[Entry], list[str]]:
    """Return all readable entries and the problems of their chain; raise on another format."""
    entries: list[Entry] = []
    problems: list[str] = []
    for name in store.names(FOLDER):
        try:
            entries.append(_parse_entry(store.place, orjson.loads(store.read(name))))
        except (ValueError, TypeError, KeyError) as error:
            problems.append(f"{name} is no entry of a manifest ({error})")
            continue
        if name != entry_name(entries[-1].number):
            problems.append(f"{name} holds the entry {entries[-1].number}: entries were put in another order")
    return entries, [*problems, *_chain_problems(entries)]


def _chain_problems(entries: Sequence[Entry]) -> Iterator[str]:
    before, lake = "", entries[0].lake if entries else ""
    for place, entry in enumerate(entries, 1):
        if entry.number != place:
            yield f"the entry {place} of the manifest is missing, before the entry {entry.number}"
            return
        elif entry.before != before or entry.lake != lake:
            yield f"the entry {entry.number} does not follow from the one before: one of the two was changed"
        before = entry.digest


def _parse_entry(place: str, value: dict[str, Any]) -> Entry:
    entry_format = value["format"]
    if entry_format != FORMAT:
        advice = (
            "Write a new lake from a ledger of this version, or use the build that wrote it."
            if entry_format < FORMAT
            else "Install a newer fullbench."
        )
        raise LedgerError(
            f"{place}: the lake has format {entry_format}, and this fullbench reads format {FORMAT}. {advice}"
        )
    signature = value.pop("signature")
    segments = tuple(Segment(**segment) for segment in value.pop("segments"))
    return Entry(**value, segments=segments, signature=None if signature is None else Signature(**signature))
