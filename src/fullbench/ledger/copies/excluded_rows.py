"""How something leaves a ledger: it is left out of a copy, with all that was made of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import orjson

from fullbench.errors import LedgerError
from fullbench.ledger import row_conversion, schema
from fullbench.ledger.aliases import voter
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Row

KINDS = ("study", "picture", "rater")
KEPT_EMPTY: tuple[str, list[str]] = ("", [])
"""What stands in the place of a text that left: the places of the others must stay."""


@dataclass
class Leaving:
    """What is left out: whole studies, pictures, raters, and the rows of every kind that go with them."""

    studies: set[str] = field(default_factory=set)
    pictures: set[str] = field(default_factory=set)
    raters: set[str] = field(default_factory=set)
    items: set[str] = field(default_factory=set)
    responses: set[str] = field(default_factory=set)
    cases: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)

    @classmethod
    def named(cls, reader: Connection, place: str, names: Sequence[str]) -> Leaving:
        """What these names stand for: `study:NAME`, `picture:DIGEST`, `rater:NAME`, or one of these names alone."""
        leaving = cls()
        voters = "SELECT DISTINCT judge, trial, rater FROM verdicts"
        known = {
            "study": {name for (name,) in reader.execute("SELECT study FROM studies")},
            "picture": {name for (name,) in reader.stream("SELECT digest FROM pictures")},
            "rater": {voter(*row)[2] for row in reader.stream(voters)} - {""},
        }
        for name in names:
            kind, colon, rest = name.partition(":")
            kinds = [kind] if colon and kind in KINDS else [kind for kind in KINDS if name in known[kind]]
            value = rest if colon and kind in KINDS else name
            if len(kinds) > 1:
                ways = " or ".join(f"{kind}:{name}" for kind in kinds)
                raise LedgerError(f"{place}: {name!r} is the name of several things; say which one: {ways}")
            if not kinds or value not in known[kinds[0]]:
                raise LedgerError(
                    f"{place}: there is no study, picture or rater {value!r} to leave out; name one as study:NAME, "
                    "picture:DIGEST or rater:NAME"
                )
            {"study": leaving.studies, "picture": leaving.pictures, "rater": leaving.raters}[kinds[0]].add(value)
        leaving._follow(reader)
        return leaving

    def _follow(self, reader: Connection) -> None:
        """From what was named to all that was made of it."""
        self.cases |= self._only_theirs(reader)
        shown_by = "SELECT key, item_key, responses FROM cases"
        needed = {item for key, item, _ in reader.stream(shown_by) if key not in self.cases}
        marks = ", ".join("?" * len(self.studies))
        if self.studies:
            members = f"SELECT item_key FROM study_items WHERE study {{}} IN ({marks})"
            inside = {key for (key,) in reader.execute(members.format(""), sorted(self.studies))}
            outside = {key for (key,) in reader.execute(members.format("NOT"), sorted(self.studies))}
            self.items |= inside - outside - needed
        kept: set[str] = set()
        for key, body in reader.stream("SELECT key, body FROM items"):
            pictures = {
                part["picture"] for _, parts in row_conversion.load(body)[1] for part in parts if isinstance(part, dict)
            }
            self._sort(key, pictures, self.items, kept)
        for key, item_key, body in reader.stream("SELECT key, item_key, body FROM responses"):
            pictures = {part["picture"] for part in row_conversion.load(body) if isinstance(part, dict)}
            if item_key in self.items:
                self.responses.add(key)
            self._sort(key, pictures, self.responses, kept)
        if self.items or self.responses:
            self.pictures |= {name for (name,) in reader.stream("SELECT digest FROM pictures") if name not in kept}
        for key, item, shown in reader.stream(shown_by):
            if item in self.items or self.responses.intersection(orjson.loads(shown)):
                self.cases.add(key)
        self._texts(reader)

    def _only_theirs(self, reader: Connection) -> set[str]:
        """Cases that belong to these studies and to no other."""
        if not self.studies:
            return set()
        names, marks = sorted(self.studies), ", ".join("?" * len(self.studies))
        sql = (
            f"SELECT case_key FROM study_cases WHERE study IN ({marks}) UNION "
            f"SELECT case_key FROM verdicts WHERE study IN ({marks}) EXCEPT "
            f"SELECT case_key FROM study_cases WHERE study NOT IN ({marks}) EXCEPT "
            f"SELECT case_key FROM verdicts WHERE study NOT IN ({marks})"
        )
        return {key for (key,) in reader.execute(sql, names * 4)}

    def _sort(self, key: str, pictures: set[str], leaving: set[str], kept: set[str]) -> None:
        if pictures & self.pictures:
            leaving.add(key)
        if key not in leaving:
            kept |= pictures

    def _texts(self, reader: Connection) -> None:
        """The texts and exchanges of verdicts that leave, and that no verdict which stays came from."""
        staying: set[str] = set()
        columns = schema.columns("verdicts")
        ids, words = columns.index("exchanges"), columns.index("words")
        for row in reader.stream(f"SELECT {row_conversion.VERDICT} FROM verdicts"):
            calls = orjson.loads(row[ids])
            if self._verdict(dict(zip(columns, row, strict=True))):
                self.words.add(row[words])
                self.calls.update(calls)
            else:
                staying.update(calls)
        self.calls -= staying

    def _verdict(self, named: dict[str, object]) -> bool:
        rater = voter(str(named["judge"]), int(str(named["trial"])), str(named["rater"]))[2]
        return named["case_key"] in self.cases or rater in self.raters

    def staying(self, table: str, found: Iterable[Row]) -> list[Row]:
        """Those rows of a table that are copied."""
        columns = schema.columns(table)
        named = ((row, dict(zip(columns, row, strict=True))) for row in found)
        if table == "texts":
            return [(row[0], self._without_texts(row[0], row[1])) for row, _ in named]
        return [row for row, values in named if not self._leaves(table, values)]

    def _without_texts(self, name: str, body: str) -> str:
        texts = orjson.loads(body)
        left = [KEPT_EMPTY if f"{name}.{place}" in self.words else text for place, text in enumerate(texts)]
        return orjson.dumps(left).decode()

    def _leaves(self, table: str, values: dict[str, object]) -> bool:
        if table == "verdicts":
            return self._verdict(values)
        if table in {"studies", "study_items", "study_cases"} and values["study"] in self.studies:
            return True
        if table == "adoptions" and values["role"] == "succession":
            return values["name"] in self.studies
        keys = {
            "pictures": ("digest", self.pictures), "items": ("key", self.items), "responses": ("key", self.responses),
            "cases": ("key", self.cases), "calls": ("id", self.calls), "study_items": ("item_key", self.items),
            "study_cases": ("case_key", self.cases),
            "failures": ("key", self.items | self.cases),
        }  # fmt: skip
        if table not in keys:
            return False
        column, leaving = keys[table]
        return values[column] in leaving
