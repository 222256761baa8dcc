"""One batch of verdicts on their way into the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from fullbench.figures.judging import shape
from fullbench.ledger.store import Ledger
from fullbench.nouns.case import Case
from fullbench.nouns.digests import digest
from fullbench.nouns.verdict import FAULTS, Verdict
from fullbench.web.results import search, tables
from fullbench.web.results.rows import (
    Row,
    chunks,
    get_state,
    insert_all,
    known,
    name_ids,
    next_id,
    put,
    set_state,
    version,
)
from fullbench.web.results.rulings import Flags

TITLE = 300
Once = tuple[str, str, int]
SHAPES = ("scores", "pairs", "rankings")


@dataclass
class Batch:
    """One batch of verdicts on their way into the catalogue."""

    connection: Connection
    names: dict[tuple[str, str], int] = field(default_factory=dict)
    pieces: dict[str, dict[str, None]] = field(default_factory=dict)

    def take(self, ledger: Ledger, limit: int) -> tuple[int, bool]:
        """Read the next batch from the ledger: how many verdicts are new, and whether there may be more."""
        place = int(get_state(self.connection, "place") or 0)
        found = ledger.since(place, limit)
        if not found and place and not ledger.since(place - 1, 1):
            set_state(self.connection, "place", 0)
            return 0, True
        if not found:
            return 0, False
        entered = [verdict for _, verdict in found]
        heard = {case.key: case for case in ledger.cases({one.case for one in entered})}
        count = self.enter(entered, heard, {_once(verdict): number for number, verdict in reversed(found)})
        set_state(self.connection, "place", found[-1][0])
        return count, len(found) == limit

    def enter(
        self, entered: Sequence[Verdict], heard: Mapping[str, Case], places: Mapping[Once, int] | None = None
    ) -> int:
        """Put verdicts into the catalogue; those that are there already are left out. `places` are the ledger's."""
        connection = self.connection
        self._name(entered)
        items = self._items(entered, heard)
        cases = self._cases(entered, items)
        entered = self._unknown(entered, cases)
        if not entered:
            return 0
        keys = [meeting_key(verdict) for verdict in entered]
        meetings, fresh = known(connection, tables.meetings, "key", keys)
        insert_all(connection, tables.meetings, [{"id": meetings[key], "key": key} for key in fresh])
        put(connection, tables.dirty, [{"meeting_id": id_} for id_ in {meetings[key] for key in keys}],
            ["meeting_id"], ["meeting_id"])  # fmt: skip
        start = next_id(connection, tables.verdicts)
        rows = [
            self._row(start + place, verdict, cases[verdict.case], items[verdict.item], meetings[key])
            | {"place": (places or {}).get(_once(verdict))}
            for place, (verdict, key) in enumerate(zip(entered, keys, strict=True))
        ]
        insert_all(connection, tables.verdicts, rows)
        shown = [
            {"contestant_id": self.names["contestant", name], "judge_id": row["judge_id"], "verdict_id": row["id"]}
            for row, verdict in zip(rows, entered, strict=True)
            for name in set(verdict.contestants)
        ]
        insert_all(connection, tables.shown, shown)
        self._count(rows, entered)
        search.add(connection, [(row["id"], self._words(one, heard)) for row, one in zip(rows, entered, strict=True)])
        set_state(connection, "version", version(connection) + 1)
        return len(rows)

    def _name(self, entered: Sequence[Verdict]) -> None:
        wanted = {("judge", verdict.judge) for verdict in entered} | {
            (kind, name)
            for verdict in entered
            for kind, name in (("ballot", verdict.ballot), ("criterion", verdict.criterion))
        }
        wanted |= {("contestant", name) for verdict in entered for name in verdict.contestants}
        self.names = name_ids(self.connection, wanted)

    def _items(self, entered: Sequence[Verdict], heard: Mapping[str, Case]) -> dict[str, int]:
        """The items' ids. A case that is heard of for the first time brings its item's question and tags."""
        ids, fresh = known(self.connection, tables.items, "name", (verdict.item for verdict in entered))
        told_of = {case.item.id: case.item for case in heard.values()}
        rows = [{"id": ids[name], "name": name, "title": ""} for name in fresh]
        insert_all(self.connection, tables.items, rows)
        told = [{"id": ids[name], "name": name, "title": one.question[:TITLE]} for name, one in told_of.items()]
        put(self.connection, tables.items, told, ["id"], ["title"])
        tags = [
            {"item_id": ids[name], "name": tag[:200], "value": value[:1000]}
            for name, one in told_of.items()
            for tag, value in one.tags.items()
        ]
        put(self.connection, tables.tags, tags, ["item_id", "name"], ["value"])
        return ids

    def _cases(self, entered: Sequence[Verdict], items: Mapping[str, int]) -> dict[str, int]:
        ids, fresh = known(self.connection, tables.cases, "key", (verdict.case for verdict in entered))
        of = {verdict.case: items[verdict.item] for verdict in entered}
        insert_all(self.connection, tables.cases, [{"id": ids[k], "key": k, "item_id": of[k]} for k in fresh])
        return ids

    def _unknown(self, entered: Sequence[Verdict], cases: Mapping[str, int]) -> list[Verdict]:
        """The verdicts that are not there yet, each judge, case and trial once."""
        columns = (tables.verdicts.c.case_id, tables.verdicts.c.judge_id, tables.verdicts.c.trial)
        there: set[tuple[int, int, int]] = set()
        for chunk in chunks({cases[verdict.case] for verdict in entered}):
            rows = self.connection.execute(select(*columns).where(tables.verdicts.c.case_id.in_(chunk)))
            there.update((row[0], row[1], row[2]) for row in rows)
        fresh = {(cases[v.case], self.names["judge", v.judge], v.trial): v for v in entered}
        return [verdict for place, verdict in fresh.items() if place not in there]

    def _row(self, id_: int, verdict: Verdict, case: int, item: int, meeting: int) -> Row:
        shown = [self.names["contestant", name] for name in verdict.contestants]
        pair = len(shown) == 2
        return {
            "id": id_,
            "case_id": case,
            "judge_id": self.names["judge", verdict.judge],
            "trial": verdict.trial,
            "item_id": item,
            "meeting_id": meeting,
            "ballot_id": self.names["ballot", verdict.ballot],
            "criterion_id": self.names["criterion", verdict.criterion],
            "fault": 0 if verdict.fault is None else FAULTS.index(verdict.fault) + 1,
            "shape": shape_code(verdict),
            "shown": orjson.dumps(shown).decode(),
            "marks": None if verdict.marks is None else orjson.dumps(verdict.marks).decode(),
            "first_id": shown[0] if len(shown) <= 2 else None,
            "second_id": shown[1] if pair else None,
            "value": value_of(verdict.marks),
            **dict.fromkeys(Flags._fields, 0),
        }

    def _count(self, rows: Sequence[Row], entered: Sequence[Verdict]) -> None:
        found: Counter[tuple[int, ...]] = Counter()
        for row, verdict in zip(rows, entered, strict=True):
            kind = (row["ballot_id"], row["criterion_id"], row["fault"], row["shape"])
            found[row["judge_id"], 0, *kind] += 1
            for name in set(verdict.contestants):
                found[row["judge_id"], self.names["contestant", name], *kind] += 1
        keys = ["judge_id", "contestant_id", "ballot_id", "criterion_id", "fault", "shape"]
        made: Any = (sqlite if self.connection.dialect.name == "sqlite" else postgresql).insert(tables.counts)
        more = made.on_conflict_do_update(index_elements=keys, set_={"n": tables.counts.c.n + made.excluded.n})
        self.connection.execute(more, [dict(zip([*keys, "n"], (*key, n), strict=True)) for key, n in found.items()])

    def _words(self, verdict: Verdict, heard: Mapping[str, Case]) -> dict[str, None]:
        """The pieces of what was asked, answered and said in a case; those of the case are cut once."""
        if verdict.case not in self.pieces:
            case = heard.get(verdict.case)
            asked = [] if case is None else [turn.text for turn in case.item.turns]
            if case is not None:
                asked += [case.item.reference or "", *case.item.captions, *(one.text for one in case.responses)]
            self.pieces[verdict.case] = search.pieces("\n".join([verdict.item, *asked]))
        return {**self.pieces[verdict.case], **search.pieces(verdict.text)}


def _once(verdict: Verdict) -> Once:
    return verdict.case, verdict.judge, verdict.trial


def meeting_key(verdict: Verdict) -> str:
    """Stands for item, criterion, ballot and the set of contestants."""
    return digest([verdict.item, verdict.criterion, verdict.ballot, sorted(verdict.contestants)])


def shape_code(verdict: Verdict) -> int:
    """The number under which the catalogue keeps the shape of a ruling."""
    return SHAPES.index(shape(verdict))


def value_of(marks: tuple[float, ...] | None) -> float | None:
    """The number that boards are made from: the mark of a single response, or who of two won."""
    if marks is None or len(marks) > 2:
        return None
    return marks[0] if len(marks) == 1 else 0.5 if marks[0] == marks[1] else float(marks[0] > marks[1])
