"""One batch of verdicts on their way into the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Connection, delete, select

from fullbench.analysis.agreement.judges_with_people import shape
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.verdict import FAULTS, PILOT, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.accounts.users import pseudonyms, unnamed_tags
from fullbench.web.database import insert_here
from fullbench.web.results.catalogue import catalogue_tables, flag_counts, full_text_search
from fullbench.web.results.catalogue.case_cache import KnownCase, KnownCases
from fullbench.web.results.catalogue.rater_pseudonyms import unnamed
from fullbench.web.results.catalogue.row_helpers import (
    Row,
    chunks,
    get_state,
    insert_all,
    known,
    many,
    name_ids,
    next_id,
    put,
    set_state,
    studies,
    version,
)
from fullbench.web.results.catalogue.verdict_flags import FLAGS

TITLE = 300
Once = tuple[str, str, int, str, int]
"""Case, judge, trial, rater and revision of a verdict."""
SHAPES = ("scores", "pairs", "rankings")
_NO_FLAGS = dict.fromkeys(FLAGS, 0)


@dataclass
class Batch:
    """One batch of verdicts on their way into the catalogue."""

    connection: Connection
    only: str | None = None
    """The one study whose verdicts enter; None: of every study."""
    aside: Mapping[str, set[str]] = field(default_factory=dict)
    """By study, cases on contents that later ones took the place of."""
    known: KnownCases = field(default_factory=KnownCases)
    """What earlier batches of the same filler brought."""
    study: int = 0

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
        self.known.check(self.connection)
        unknown = {
            verdict.case
            for study, entered in by_study.items()
            for verdict in entered
            if (study, verdict.case) not in self.known.cases
        }
        cases = {case.key: case for case in ledger.cases(unknown)}
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
        c, v, i = catalogue_tables.cases.c, catalogue_tables.verdicts.c, catalogue_tables.items.c
        cases = list(self.connection.execute(select(c.id).where(c.study_id == study, c.key.in_(keys))).scalars())
        rows = list(self.connection.execute(select(v.id, v.meeting_id).where(v.case_id.in_(cases))))
        self._take_away([row.id for row in rows])
        self.connection.execute(delete(catalogue_tables.cases).where(c.id.in_(cases)))
        left = select(c.item_id).where(c.study_id == study)
        bare = list(self.connection.execute(select(i.id).where(i.study_id == study, i.id.not_in(left))).scalars())
        for chunk in chunks(bare):
            self.connection.execute(delete(catalogue_tables.tags).where(catalogue_tables.tags.c.item_id.in_(chunk)))
            self.connection.execute(delete(catalogue_tables.items).where(i.id.in_(chunk)))
        meetings = {row.meeting_id for row in rows}
        put(
            self.connection,
            catalogue_tables.dirty,
            [{"meeting_id": id_} for id_ in meetings],
            ["meeting_id"],
            ["meeting_id"],
        )

    def _joined(self, ledger: Ledger, limit: int) -> tuple[int, bool]:
        """Cases that became members of a study bring it the verdicts on them that the catalogue has in other studies;
        verdicts that it has not will come with all their studies."""
        place = int(get_state(self.connection, "members") or 0)
        members = ledger.members_since(place, limit)
        if not members:
            return 0, False
        last, full = members[-1][0], len(members) == limit
        members = [member for member in members if self.only in {None, member[1]}]
        c = catalogue_tables.cases.c
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
        connection, known = self.connection, self.known.cases
        aside = self.aside.get(study, set())
        entered = [verdict for verdict in entered if verdict.case not in aside and not verdict.rater.startswith(PILOT)]
        self.known.check(connection)
        self._name(study, entered)
        learnt, fresh = self._learn(study, entered, heard)
        entered = self._unknown(study, entered, fresh)
        if entered:
            self._insert(study, entered, places or {})
            set_state(connection, "version", version(connection) + 1)
        for key in learnt - heard.keys():  # the ledger may have such a case later
            del known[study, key]
        self.known.left(version(connection))
        return len(entered)

    def _insert(self, study: str, entered: Sequence[Verdict], places: Mapping[Once, int]) -> None:
        connection, known = self.connection, self.known.cases
        cases = [known[study, verdict.case] for verdict in entered]
        put(
            connection,
            catalogue_tables.dirty,
            [{"meeting_id": id_} for id_ in dict.fromkeys(case.meeting for case in cases)],
            ["meeting_id"],
            ["meeting_id"],
        )
        # The words of a verdict that a revision took away stay in the search: its id must not come back.
        start = max(next_id(connection, catalogue_tables.verdicts), int(get_state(connection, "next verdict") or 0))
        set_state(connection, "next verdict", start + len(entered))
        rows = [
            self._row(id_, verdict, case, places.get(_once(verdict)))
            for id_, (verdict, case) in enumerate(zip(entered, cases, strict=True), start)
        ]
        insert_all(connection, catalogue_tables.verdicts, rows)
        shown = [
            {"contestant_id": who, "judge_id": row["judge_id"], "verdict_id": row["id"]}
            for row, case in zip(rows, cases, strict=True)
            for who in case.contestants
        ]
        insert_all(connection, catalogue_tables.shown, shown)
        self._count([(row, case.contestants) for row, case in zip(rows, cases, strict=True)], 1)
        words = (
            " ".join((case.words, *full_text_search.pieces(verdict.text)))
            for verdict, case in zip(entered, cases, strict=True)
        )
        full_text_search.add(connection, enumerate(words, start))

    def _learn(self, study: str, entered: Sequence[Verdict], heard: Mapping[str, Case]) -> tuple[set[str], set[int]]:
        """Learn of the cases that are not known yet, and bring those that the catalogue lacks into it, with items and
        meetings: the keys of the former, the ids of the latter."""
        first: dict[str, Verdict] = {}
        for verdict in entered:
            if (study, verdict.case) not in self.known.cases:
                first.setdefault(verdict.case, verdict)
        items = self._items(first.values(), heard)
        cases, fresh = self._cases(first.values(), items)
        keys = {case: meeting_key(study, verdict) for case, verdict in first.items()}
        meetings, lacking = known(self.connection, catalogue_tables.meetings, "key", keys.values())
        brought = {keys[case]: verdict for case, verdict in first.items() if keys[case] in lacking}
        self._meetings(brought, meetings, items)
        names = self.known.names
        for key, verdict in first.items():
            shown = [names["contestant", name] for name in verdict.contestants]
            self.known.cases[study, key] = KnownCase(
                cases[key],
                items[verdict.item],
                meetings[keys[key]],
                names["ballot", verdict.ballot],
                names["criterion", verdict.criterion],
                shape_code(verdict),
                orjson.dumps(shown).decode(),
                orjson.dumps(verdict.samples).decode() if any(verdict.samples) else "",
                tuple(set(shown)),
                _words(verdict.item, heard.get(key)),
            )
        return set(first), fresh

    def _meetings(self, fresh: Mapping[str, Verdict], ids: Mapping[str, int], items: Mapping[str, int]) -> None:
        """Enter meetings by one verdict of each."""
        rows = [
            {"id": ids[key], "key": key, "study_id": self.study, "item_id": items[verdict.item], "doubt": 0}
            for key, verdict in fresh.items()
        ]
        insert_all(self.connection, catalogue_tables.meetings, rows)
        compared = [
            {"contestant_id": self.known.names["contestant", name], "meeting_id": ids[key]}
            for key, verdict in fresh.items()
            for name in set(verdict.contestants)
        ]
        insert_all(self.connection, catalogue_tables.compared, compared)

    def _name(self, study: str, entered: Sequence[Verdict]) -> None:
        wanted = {("study", study)}
        wanted |= {("judge", name) for name in {verdict.judge for verdict in entered}}
        wanted |= {("rater", name) for name in {verdict.rater for verdict in entered}}
        wanted |= {("ballot", name) for name in {verdict.ballot for verdict in entered}}
        wanted |= {("criterion", name) for name in {verdict.criterion for verdict in entered}}
        shown = {verdict.contestants for verdict in entered}
        wanted |= {("contestant", name) for names in shown for name in names}
        if not wanted <= self.known.names.keys():
            self.known.names = name_ids(self.connection, wanted)
        self.study = self.known.names["study", study]

    def _items(self, entered: Collection[Verdict], heard: Mapping[str, Case]) -> dict[str, int]:
        """The items' ids. A case that is heard of for the first time brings its item's question and tags."""
        names = dict.fromkeys(verdict.item for verdict in entered)
        places = {name: place_of(self.study, name) for name in names}
        by_place, fresh = known(self.connection, catalogue_tables.items, "place", places.values())
        ids = {name: by_place[place] for name, place in places.items()}
        cases = {verdict.case for verdict in entered}
        told_of = {case.item.id: case.item for case in heard.values() if case.key in cases}
        bare = {"study_id": self.study, "title": ""}
        rows = [
            {"id": ids[name], "place": place, "name": name} | bare for name, place in places.items() if place in fresh
        ]
        insert_all(self.connection, catalogue_tables.items, rows)
        titled = [
            {"id": ids[name], "place": places[name], "name": name} | bare | {"title": item.question[:TITLE]}
            for name, item in told_of.items()
        ]
        put(self.connection, catalogue_tables.items, titled, ["id"], ["title"])
        accounts = pseudonyms(self.connection)
        tags = [
            {"item_id": ids[name], "name": tag[:200], "value": value[:1000]}
            for name, item in told_of.items()
            for tag, value in unnamed_tags(item.tags, accounts).items()
        ]
        put(self.connection, catalogue_tables.tags, tags, ["item_id", "name"], ["value"])
        return ids

    def _cases(self, entered: Collection[Verdict], items: Mapping[str, int]) -> tuple[dict[str, int], set[int]]:
        """The cases' ids, and those that are new."""
        places = {verdict.case: place_of(self.study, verdict.case) for verdict in entered}
        by_place, fresh = known(self.connection, catalogue_tables.cases, "place", places.values())
        ids = {key: by_place[place] for key, place in places.items()}
        of = {verdict.case: items[verdict.item] for verdict in entered}
        rows = [
            {"id": ids[key], "place": place, "study_id": self.study, "key": key, "item_id": of[key]}
            for key, place in places.items()
            if place in fresh
        ]
        insert_all(self.connection, catalogue_tables.cases, rows)
        return ids, {by_place[place] for place in fresh}

    def _unknown(self, study: str, entered: Sequence[Verdict], fresh: Collection[int]) -> list[Verdict]:
        """The verdicts that are not there yet, of each judge, case, trial and rater the latest revision; an earlier
        one that is there is taken away. On the cases `fresh` there are none."""
        v, names = catalogue_tables.verdicts.c, self.known.names
        cases = {verdict.case: self.known.cases[study, verdict.case].id for verdict in entered}
        judges = [names["judge", name] for name in {verdict.judge for verdict in entered}]
        there: dict[tuple[int, ...], tuple[int, int]] = {}
        for chunk in chunks(set(cases.values()).difference(fresh)):
            rows = self.connection.execute(
                select(v.case_id, v.judge_id, v.trial, v.rater_id, v.id, v.revision).where(
                    v.case_id.in_(chunk), v.judge_id.in_(judges)
                )
            )
            there.update((tuple(row[:4]), (row[4], row[5])) for row in rows)
        latest: dict[tuple[int, ...], Verdict] = {}
        for verdict in entered:
            place = (cases[verdict.case], names["judge", verdict.judge], verdict.trial, names["rater", verdict.rater])
            before = latest[place].revision if place in latest else there[place][1] if place in there else -1
            if verdict.revision > before:
                latest[place] = verdict
        self._take_away([there[place][0] for place in latest if place in there])
        return list(latest.values())

    def _take_away(self, ids: Iterable[int]) -> None:
        """Drop verdicts that later revisions take the place of; a search that finds their words shows none of them."""
        for chunk in chunks(ids):
            asked = select(catalogue_tables.verdicts).where(catalogue_tables.verdicts.c.id.in_(chunk))
            gone = [dict(row) for row in self.connection.execute(asked).mappings()]
            self._count([(row, set(orjson.loads(row["shown"]))) for row in gone], -1)
            self.connection.execute(delete(catalogue_tables.verdicts).where(catalogue_tables.verdicts.c.id.in_(chunk)))
            fewer = Counter((row["study_id"], row["judge_id"], name) for row in gone for name in FLAGS if row[name])
            flag_counts.change(self.connection, {place: -n for place, n in fewer.items()})
            self.connection.execute(
                delete(catalogue_tables.shown).where(catalogue_tables.shown.c.verdict_id.in_(chunk))
            )

    def _row(self, id_: int, verdict: Verdict, case: KnownCase, place: int | None) -> Row:
        names = self.known.names
        return {
            "id": id_,
            "study_id": self.study,
            "case_id": case.id,
            "judge_id": names["judge", verdict.judge],
            "trial": verdict.trial,
            "rater_id": names["rater", verdict.rater],
            "revision": verdict.revision,
            "item_id": case.item,
            "meeting_id": case.meeting,
            "ballot_id": case.ballot,
            "criterion_id": case.criterion,
            "fault": 0 if verdict.fault is None else FAULTS.index(verdict.fault) + 1,
            "shape": case.shape,
            "shown": case.shown,
            "samples": case.samples,
            "marks": None if verdict.marks is None else orjson.dumps(verdict.marks).decode(),
            **_NO_FLAGS,
            "place": place,
        }

    def _count(self, shown: Sequence[tuple[Row, Collection[int]]], sign: int) -> None:
        """Count rows in, or out again, each with whom it shows."""
        counts: Counter[tuple[int, ...]] = Counter()
        for row, contestants in shown:
            judge = (row["study_id"], row["judge_id"])
            kind = (row["ballot_id"], row["criterion_id"], row["fault"], row["shape"])
            for who in (0, *contestants):
                counts[*judge, who, *kind] += sign
        last = max((row["id"] for row, _ in shown), default=0)
        keys = ["study_id", "judge_id", "contestant_id", "ballot_id", "criterion_id", "fault", "shape"]
        insertion = insert_here(self.connection, catalogue_tables.counts)
        change: dict[str, Any] = {"n": catalogue_tables.counts.c.n + insertion.excluded.n}
        if sign > 0:
            change["last"] = insertion.excluded.last
        more = insertion.on_conflict_do_update(index_elements=keys, set_=change)
        names = (*keys, "n", "last")
        many(self.connection, more, [dict(zip(names, (*key, n, last), strict=True)) for key, n in counts.items()])


def _words(item: str, case: Case | None) -> str:
    """The pieces of what was asked and answered in a case, with blanks between them."""
    texts = [item]
    if case is not None:
        texts += [turn.text for turn in case.item.turns]
        texts += [case.item.reference or "", *case.item.captions, *(response.text for response in case.responses)]
    return " ".join(full_text_search.pieces("\n".join(texts)))


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
