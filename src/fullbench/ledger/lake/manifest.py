"""The manifest of a lake: entries that name sealed segments, each chained to the one before, and signed if wanted.

An entry is a file of its own, `manifest/00000001.json`, put there whole or not at all after all of its segments: a
writer that was killed leaves segments that no entry names, never an entry that names half a segment. The lake's head,
`NUMBER-DIGEST`, stands for all entries up to that one. Noted elsewhere, it shows a manifest that was shortened.
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
from fullbench.ledger.integrity.row_chain import Head
from fullbench.ledger.integrity.signatures import Signature
from fullbench.ledger.lake.storage import Store

FORMAT = 4
"""The format this code reads and writes; each entry names its own."""
FOLDER = "manifest"


@dataclass(frozen=True)
class Segment:
    """Rows of one table in a file that never changes: its places in the table, its Merkle root, what is in it."""

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
        """How many rows of which other tables stand within these, with their first and last places."""
        inside: Mapping[str, Sequence[int]] = self.statistics.get("within", {})
        return inside


@dataclass(frozen=True)
class Entry:
    """What was added to a lake at one time: up to which head of which ledger, in what segments."""

    number: int
    before: str
    lake: str
    ledger: str
    head: str
    at: float
    segments: tuple[Segment, ...]
    signature: Signature | None = None
    format: int = FORMAT

    @property
    def digest(self) -> str:
        """Of all but the signature; by `before`, of all entries up to this one."""
        said = {name: value for name, value in asdict(self).items() if name != "signature"}
        return blake2b(orjson.dumps(said, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()

    @property
    def lake_head(self) -> Head:
        return Head(self.number, self.digest)


def following(entries: Sequence[Entry], *, ledger: str, head: Head, at: float, segments: Iterable[Segment]) -> Entry:
    """The entry that comes after these."""
    before, lake = (entries[-1].digest, entries[-1].lake) if entries else ("", secrets.token_hex(8))
    return Entry(len(entries) + 1, before, lake, ledger, str(head), at, tuple(segments))


def append(store: Store, entry: Entry) -> None:
    """Add an entry; refused where another writer has added one of its number."""
    with tempfile.TemporaryDirectory(prefix="fullbench-lake-") as folder:
        source = Path(folder) / "entry.json"
        source.write_bytes(orjson.dumps(asdict(entry), option=orjson.OPT_INDENT_2))
        if not store.put(name_of(entry.number), source):
            raise LedgerError(
                f"{store.place}: another writer has written to the lake meanwhile, so nothing was added to its "
                "manifest; run again"
            )


def last_place(entries: Iterable[Entry], table: str) -> int:
    """The last place of a table that was sealed."""
    segments = [segment for entry in entries for segment in entry.segments]
    places = [segment.last for segment in segments if segment.table == table]
    return max((*places, *(segment.within[table][2] for segment in segments if table in segment.within)), default=0)


def name_of(number: int) -> str:
    return f"{FOLDER}/{number:08d}.json"


def read(store: Store) -> list[Entry]:
    """All entries; a chain that does not hold is refused."""
    entries, broken = examined(store)
    if broken:
        raise LedgerError(f"{store.place}: the lake's manifest is not sound: {broken[0]}; see `fullbench lake verify`")
    return entries


def examined(store: Store) -> tuple[list[Entry], list[str]]:
    """All entries that can be read, and what is wrong with their chain; another format is refused."""
    entries: list[Entry] = []
    broken: list[str] = []
    for name in store.names(FOLDER):
        try:
            entries.append(_entry(store.place, orjson.loads(store.read(name))))
        except (ValueError, TypeError, KeyError) as error:
            broken.append(f"{name} is no entry of a manifest ({error})")
            continue
        if name != name_of(entries[-1].number):
            broken.append(f"{name} holds the entry {entries[-1].number}: entries were put in another order")
    return entries, [*broken, *_chain(entries)]


def _chain(entries: Sequence[Entry]) -> Iterator[str]:
    before, lake = "", entries[0].lake if entries else ""
    for place, entry in enumerate(entries, 1):
        if entry.number != place:
            yield f"the entry {place} of the manifest is missing, before the entry {entry.number}"
            return
        elif entry.before != before or entry.lake != lake:
            yield f"the entry {entry.number} does not follow from the one before: one of the two was changed"
        before = entry.digest


def _entry(place: str, value: dict[str, Any]) -> Entry:
    found = value["format"]
    if found != FORMAT:
        advice = (
            "Write a new lake from a ledger of this version, or use the build that wrote it."
            if found < FORMAT
            else "Install a newer fullbench."
        )
        raise LedgerError(f"{place}: the lake has format {found}, and this fullbench reads format {FORMAT}. {advice}")
    signature = value.pop("signature")
    segments = tuple(Segment(**segment) for segment in value.pop("segments"))
    return Entry(**value, segments=segments, signature=None if signature is None else Signature(**signature))
