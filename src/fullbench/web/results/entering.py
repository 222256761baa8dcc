"""One batch of verdicts on their way into the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from fullbench.figures.judging import shape
from fullbench.ledger.store import Ledger
from fullbench.nouns.case import Case
from fullbench.nouns.digests import digest
from fullbench.nouns.verdict import FAULTS, PILOT, Verdict
from fullbench.web.accounts.users import pseudonyms, unnamed_tags
from fullbench.web.results import search, tables
from fullbench.web.results.flags import FLAGS
from fullbench.web.results.pseudonyms import unnamed
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
    studies,
    version,
)

TITLE = 300
Once = tuple[str, str, int, str, int]
"""Case, judge, trial, rater and revision of a verdict."""
SHAPES = ("scores", "pairs", "rankings")


@dataclass
class Batch:
    """One batch of verdicts on their way into the catalogue."""

    connection: Connection
    names: dict[tuple[str, str], int] = field(default_factory=dict)
    study: int = 0
    only: str | None = None
    """The one study whose verdicts enter; None: of every study."""
    pieces: dict[str, dict[str, None]] = field(default_factory=dict)
    aside: Mapping[str, set[str]] = field(default_factory=dict)
    """By study, cases on contents that later ones took the place of."""

    def take(self, ledger: Ledger, limit: int) -> tuple[int, bool]:
        """Read the next batch from the ledger: how many verdicts are new, and whether there may be more."""
        count, more = self._joined(ledger, limit)
        place = int(get_state(self.connection, "place") or 0)
        if not place:
            set_state(self.connection, "aliased", ledger.aliased())
        known_accounts = pseudonyms(self.connection)
        batch = [(number, unnamed(verdict, known_accounts)) for number, verdict in ledger.since(place, limit)]
        if not batch:
            return count, more
        by_study = _by_study(ledger, batch)
        by_study = by_study if self.only is None else {self.only: by_study.get(self.only, [])}
        cases = {case.key: case for case in ledger.cases({verdict.case for _, verdict in batch})}
        places = {_once(verdict): number for number, verdict in reversed(batch)}
        for study, entered in by_study.items():
            count += self.enter(study, entered, cases, places)
        set_state(self.connection, "place", batch[-1][0])
        return count, more or len(batch) == limit

    def set_aside(self, ledger: Ledger) -> None:
        """Take away what was ruled on contents that later ones took the place of, as every figure leaves it out."""
        moment, changed = ledger.superseded(int(get_state(self.connection, "revised") or 0))
        if not changed:
            return
        numbers = studies(self.connection)
        for study in changed.keys() & numbers.keys():
            for chunk in chunks(sorted(changed[study])):
                self._drop(numbers[study], chunk)
        set_state(self.connection, "revised", moment)
        set_state(self.connection, "version", version(self.connection) + 1)

    def _drop(self, study: int, keys: Sequence[str]) -> None:
        """Take away cases of a study with their verdicts, and items of which no case is left."""
        c, v, i = tables.cases.c, tables.verdicts.c, tables.items.c
        cases = list(self.connection.execute(select(c.id).where(c.study_id == study, c.key.in_(keys))).scalars())
        rows = list(self.connection.execute(select(v.id, v.meeting_id).where(v.case_id.in_(cases))))
        self._take_away([row.id for row in rows])
        self.connection.execute(delete(tables.cases).where(c.id.in_(cases)))
        left = select(c.item_id).where(c.study_id == study)
        bare = list(self.connection.execute(select(i.id).where(i.study_id == study, i.id.not_in(left))).scalars())
        for chunk in chunks(bare):
            self.connection.execute(delete(tables.tags).where(tables.tags.c.item_id.in_(chunk)))
            self.connection.execute(delete(tables.items).where(i.id.in_(chunk)))
        meetings = {row.meeting_id for row in rows}
        put(self.connection, tables.dirty, [{"meeting_id": id_} for id_ in meetings], ["meeting_id"], ["meeting_id"])

    def _joined(self, ledger: Ledger, limit: int) -> tuple[int, bool]:
        """Cases that became members of a study bring it the verdicts on them that the catalogue has in other studies;
        verdicts that it has not will come with all their studies."""
        place = int(get_state(self.connection, "members") or 0)
        members = ledger.members_since(place, limit)
        if not members:
            return 0, False
        last, full = members[-1][0], len(members) == limit
        members = [member for member in members if self.only in {None, member[1]}]
        c = tables.cases.c
        keys: set[str] = set()
        for chunk in chunks({key for _, _, key in members}):
            keys.update(self.connection.execute(select(c.key).where(c.key.in_(chunk))).scalars())
        count = 0
        for study in dict.fromkeys(study for _, study, _ in members):
            wanted = {key for _, name, key in members if name == study and key in keys}
            if wanted:
                cases = {case.key: case for case in ledger.cases(wanted)}
                known_accounts = pseudonyms(self.connection)
                entered = [unnamed(verdict, known_accounts) for verdict in ledger.verdicts(cases=wanted)]
                count += self.enter(study, entered, cases)
        set_state(self.connection, "members", last)
        return count, full

    def enter(
        self,
        study: str,
        entered: Sequence[Verdict],
        heard: Mapping[str, Case],
        places: Mapping[Once, int] | None = None,
    ) -> int:
        """Put verdicts of a study into the catalogue; those that are there already are left out, those that take the
        place of an earlier revision replace it, votes of pilots stay out. `places` are the ledger's."""
        connection = self.connection
        aside = self.aside.get(study, set())
        entered = [verdict for verdict in entered if verdict.case not in aside and not verdict.rater.startswith(PILOT)]
        self._name(study, entered)
        items = self._items(entered, heard)
        cases = self._cases(entered, items)
        entered = self._unknown(entered, cases)
        if not entered:
            return 0
        keys = [meeting_key(study, verdict) for verdict in entered]
        meetings, fresh = known(connection, tables.meetings, "key", keys)
        self._meetings(
            {key: verdict for key, verdict in zip(keys, entered, strict=True) if key in fresh}, meetings, items
        )
        put(connection, tables.dirty, [{"meeting_id": id_} for id_ in {meetings[key] for key in keys}],
            ["meeting_id"], ["meeting_id"])  # fmt: skip
        # The words of a verdict that a revision took away stay in the search: its id must not come back.
        start = max(next_id(connection, tables.verdicts), int(get_state(connection, "next verdict") or 0))
        set_state(connection, "next verdict", start + len(entered))
        rows = [
            self._row(start + place, verdict, cases[verdict.case], items[verdict.item], meetings[key])
            | {"place": (places or {}).get(_once(verdict))}
            for place, (verdict, key) in enumerate(zip(entered, keys, strict=True))
        ]
        insert_all(connection, tables.verdicts, rows)
        shown = [
            {"contestant_id": who, "judge_id": row["judge_id"], "verdict_id": row["id"]}
            for row in rows
            for who in set(orjson.loads(row["shown"]))
        ]
        insert_all(connection, tables.shown, shown)
        self._count(rows, 1)
        search.add(
            connection, [(row["id"], self._words(verdict, heard)) for row, verdict in zip(rows, entered, strict=True)]
        )
        set_state(connection, "version", version(connection) + 1)
        return len(rows)

    def _meetings(self, fresh: Mapping[str, Verdict], ids: Mapping[str, int], items: Mapping[str, int]) -> None:
        """Enter meetings by one verdict of each."""
        rows = [
            {"id": ids[key], "key": key, "study_id": self.study, "item_id": items[verdict.item], "doubt": 0}
            for key, verdict in fresh.items()
        ]
        insert_all(self.connection, tables.meetings, rows)
        compared = [
            {"contestant_id": self.names["contestant", name], "meeting_id": ids[key]}
            for key, verdict in fresh.items()
            for name in set(verdict.contestants)
        ]
        insert_all(self.connection, tables.compared, compared)

    def _name(self, study: str, entered: Sequence[Verdict]) -> None:
        wanted = {("study", study)}
        for verdict in entered:
            wanted |= {("judge", verdict.judge), ("ballot", verdict.ballot), ("criterion", verdict.criterion)}
            wanted |= {("rater", verdict.rater), *(("contestant", name) for name in verdict.contestants)}
        self.names = name_ids(self.connection, wanted)
        self.study = self.names["study", study]

    def _items(self, entered: Sequence[Verdict], heard: Mapping[str, Case]) -> dict[str, int]:
        """The items' ids. A case that is heard of for the first time brings its item's question and tags."""
        names = dict.fromkeys(verdict.item for verdict in entered)
        places = {name: place_of(self.study, name) for name in names}
        by_place, fresh = known(self.connection, tables.items, "place", places.values())
        ids = {name: by_place[place] for name, place in places.items()}
        cases = {verdict.case for verdict in entered}
        told_of = {case.item.id: case.item for case in heard.values() if case.key in cases}
        bare = {"study_id": self.study, "title": ""}
        rows = [
            {"id": ids[name], "place": place, "name": name} | bare for name, place in places.items() if place in fresh
        ]
        insert_all(self.connection, tables.items, rows)
        titled = [
            {"id": ids[name], "place": places[name], "name": name} | bare | {"title": item.question[:TITLE]}
            for name, item in told_of.items()
        ]
        put(self.connection, tables.items, titled, ["id"], ["title"])
        accounts = pseudonyms(self.connection)
        tags = [
            {"item_id": ids[name], "name": tag[:200], "value": value[:1000]}
            for name, item in told_of.items()
            for tag, value in unnamed_tags(item.tags, accounts).items()
        ]
        put(self.connection, tables.tags, tags, ["item_id", "name"], ["value"])
        return ids

    def _cases(self, entered: Sequence[Verdict], items: Mapping[str, int]) -> dict[str, int]:
        places = {verdict.case: place_of(self.study, verdict.case) for verdict in entered}
        by_place, fresh = known(self.connection, tables.cases, "place", places.values())
        ids = {key: by_place[place] for key, place in places.items()}
        of = {verdict.case: items[verdict.item] for verdict in entered}
        rows = [
            {"id": ids[key], "place": place, "study_id": self.study, "key": key, "item_id": of[key]}
            for key, place in places.items()
            if place in fresh
        ]
        insert_all(self.connection, tables.cases, rows)
        return ids

    def _unknown(self, entered: Sequence[Verdict], cases: Mapping[str, int]) -> list[Verdict]:
        """The verdicts that are not there yet, of each judge, case, trial and rater the latest revision; an earlier
        one that is there is taken away."""
        v = tables.verdicts.c
        there: dict[tuple[int, ...], tuple[int, int]] = {}
        for chunk in chunks({cases[verdict.case] for verdict in entered}):
            rows = self.connection.execute(
                select(v.case_id, v.judge_id, v.trial, v.rater_id, v.id, v.revision).where(v.case_id.in_(chunk))
            )
            there.update((tuple(row[:4]), (row[4], row[5])) for row in rows)
        fresh: dict[tuple[int, ...], Verdict] = {}
        for verdict in entered:
            place = (cases[verdict.case], self.names["judge", verdict.judge], verdict.trial,
                     self.names["rater", verdict.rater])  # fmt: skip
            before = fresh[place].revision if place in fresh else there[place][1] if place in there else -1
            if verdict.revision > before:
                fresh[place] = verdict
        self._take_away([there[place][0] for place in fresh if place in there])
        return list(fresh.values())

    def _take_away(self, ids: Iterable[int]) -> None:
        """Drop verdicts that later revisions take the place of; a search that finds their words shows none of them."""
        for chunk in chunks(ids):
            gone = self.connection.execute(select(tables.verdicts).where(tables.verdicts.c.id.in_(chunk))).mappings()
            self._count([dict(row) for row in gone], -1)
            self.connection.execute(delete(tables.verdicts).where(tables.verdicts.c.id.in_(chunk)))
            self.connection.execute(delete(tables.shown).where(tables.shown.c.verdict_id.in_(chunk)))

    def _row(self, id_: int, verdict: Verdict, case: int, item: int, meeting: int) -> Row:
        shown = [self.names["contestant", name] for name in verdict.contestants]
        return {
            "id": id_,
            "study_id": self.study,
            "case_id": case,
            "judge_id": self.names["judge", verdict.judge],
            "trial": verdict.trial,
            "rater_id": self.names["rater", verdict.rater],
            "revision": verdict.revision,
            "item_id": item,
            "meeting_id": meeting,
            "ballot_id": self.names["ballot", verdict.ballot],
            "criterion_id": self.names["criterion", verdict.criterion],
            "fault": 0 if verdict.fault is None else FAULTS.index(verdict.fault) + 1,
            "shape": shape_code(verdict),
            "shown": orjson.dumps(shown).decode(),
            "samples": orjson.dumps(verdict.samples).decode() if any(verdict.samples) else "",
            "marks": None if verdict.marks is None else orjson.dumps(verdict.marks).decode(),
            **dict.fromkeys(FLAGS, 0),
        }

    def _count(self, rows: Sequence[Row], sign: int) -> None:
        """Count rows in, or out again."""
        counts: Counter[tuple[int, ...]] = Counter()
        last = max((row["id"] for row in rows), default=0)
        for row in rows:
            kind = (row["ballot_id"], row["criterion_id"], row["fault"], row["shape"])
            for who in {0, *orjson.loads(row["shown"])}:
                counts[row["study_id"], row["judge_id"], who, *kind] += sign
        keys = ["study_id", "judge_id", "contestant_id", "ballot_id", "criterion_id", "fault", "shape"]
        insertion: Any = (sqlite if self.connection.dialect.name == "sqlite" else postgresql).insert(tables.counts)
        change = {"n": tables.counts.c.n + insertion.excluded.n} | (
            {"last": insertion.excluded.last} if sign > 0 else {}
        )
        more = insertion.on_conflict_do_update(index_elements=keys, set_=change)
        if counts:
            counted = [dict(zip([*keys, "n", "last"], (*key, n, last), strict=True)) for key, n in counts.items()]
            self.connection.execute(more, counted)

    def _words(self, verdict: Verdict, heard: Mapping[str, Case]) -> dict[str, None]:
        """The pieces of what was asked, answered and said in a case; those of the case are cut once."""
        if verdict.case not in self.pieces:
            case = heard.get(verdict.case)
            asked = [] if case is None else [turn.text for turn in case.item.turns]
            if case is not None:
                asked += [
                    case.item.reference or "",
                    *case.item.captions,
                    *(response.text for response in case.responses),
                ]
            self.pieces[verdict.case] = search.pieces("\n".join([verdict.item, *asked]))
        return {**self.pieces[verdict.case], **search.pieces(verdict.text)}


def _by_study(ledger: Ledger, batch: Sequence[tuple[int, Verdict]]) -> dict[str, list[Verdict]]:
    """The verdicts of a batch under every study that they belong to."""
    belonging = ledger.studies_of([number for number, _ in batch])
    by_study: dict[str, list[Verdict]] = {}
    for number, verdict in batch:
        for study in belonging[number]:
            by_study.setdefault(study, []).append(verdict)
    return by_study


def _once(verdict: Verdict) -> Once:
    return verdict.case, verdict.judge, verdict.trial, verdict.rater, verdict.revision


def place_of(study: int, name: str) -> str:
    """Stands for an item or a case within a study."""
    return digest([study, name])


def meeting_key(study: str, verdict: Verdict) -> str:
    """Stands for study, item, criterion, ballot and the set of answers shown."""
    return digest([study, verdict.item, verdict.criterion, verdict.ballot, sorted(verdict.shown)])


def shape_code(verdict: Verdict) -> int:
    """The number under which the catalogue keeps the shape of a ruling."""
    return SHAPES.index(shape(verdict))
