"""Insert one batch of verdicts into the catalogue, with its cases, items, response sets, counts and search words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Connection, delete, select

from fullbench.analysis.agreement.judges_with_people import verdict_shape
from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.verdict import FAULTS, PILOT, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.accounts.users import load_pseudonyms, pseudonymize_tags
from fullbench.web.database import dialect_insert
from fullbench.web.results.catalogue import catalogue_tables, flag_counts, full_text_search
from fullbench.web.results.catalogue.case_cache_between_batches import CachedCase, CaseCache
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import (
    Row,
    assign_ids,
    catalogue_version,
    execute_many,
    get_state,
    insert_all,
    name_ids,
    next_id,
    set_state,
    split_into_chunks,
    study_ids_by_name,
    upsert_rows,
)
from fullbench.web.results.catalogue.rater_pseudonyms import load_rater_names
from fullbench.web.results.catalogue.verdict_flag_definitions import FLAGS

# Lists show one or two lines; the whole question is read from the ledger.
MAX_TITLE_LENGTH = 300
VerdictIdentity = tuple[str, str, int, str, int]
"""Case, judge, trial, rater and revision of a verdict."""
SHAPES = ("scores", "pairs", "rankings")
_NO_FLAGS = dict.fromkeys(FLAGS, 0)


@dataclass
class Batch:
    """One batch of verdicts to insert into the catalogue."""

    connection: Connection
    only_study: str | None = None
    """Only verdicts of this study are inserted; None: of every study."""
    superseded_cases: Mapping[str, set[str]] = field(default_factory=dict)
    """By study, cases on contents that later ones replaced."""
    case_cache: CaseCache = field(default_factory=CaseCache)
    """Cases of earlier batches of the same fill."""
    study: int = 0

    def take(self, ledger: Ledger, limit: int) -> tuple[int, bool]:
        """Insert the next batch of the ledger. Return the number of new verdicts, and True if there may be more."""
        count, has_more = self._enter_joined_cases(ledger, limit)
        place = int(get_state(self.connection, "place") or 0)
        if not place:
            # `fill_from_ledger` refills the catalogue if aliases are added after this place.
            set_state(self.connection, "aliased", ledger.last_alias_place())
        rater_names = load_rater_names(self.connection)
        batch = [
            (number, rater_names.rename_verdict(verdict)) for number, verdict in ledger.verdicts_since(place, limit)
        ]
        if not batch:
            return count, has_more
        by_study = _by_study(ledger, batch)
        by_study = by_study if self.only_study is None else {self.only_study: by_study.get(self.only_study, [])}
        self.case_cache.check(self.connection)
        uncached_keys = {
            verdict.case
            for study, verdicts in by_study.items()
            for verdict in verdicts
            if (study, verdict.case) not in self.case_cache.cases
        }
        cases = {case.key: case for case in ledger.cases(uncached_keys)}
        ledger_places = {_verdict_identity(verdict): number for number, verdict in reversed(batch)}
        for study, verdicts in by_study.items():
            count += self.enter(study, verdicts, cases, ledger_places)
        set_state(self.connection, "place", batch[-1][0])
        return count, has_more or len(batch) == limit

    def drop_superseded(self, ledger: Ledger) -> None:
        """Delete verdicts on contents that were replaced later. The analysis leaves them out too."""
        moment, superseded_cases = ledger.superseded_cases(int(get_state(self.connection, "revised") or 0))
        if not superseded_cases:
            return
        numbers = study_ids_by_name(self.connection)
        for study in superseded_cases.keys() & numbers.keys():
            for chunk in split_into_chunks(sorted(superseded_cases[study])):
                self._drop_cases(numbers[study], chunk)
        set_state(self.connection, "revised", moment)
        set_state(self.connection, "version", catalogue_version(self.connection) + 1)

    def _drop_cases(self, study: int, keys: Sequence[str]) -> None:
        """Also delete items without remaining cases."""
        c, v, i = catalogue_tables.cases.c, catalogue_tables.verdicts.c, catalogue_tables.items.c
        cases = list(self.connection.execute(select(c.id).where(c.study_id == study, c.key.in_(keys))).scalars())
        rows = list(self.connection.execute(select(v.id, v.response_set_id).where(v.case_id.in_(cases))))
        self._delete_verdicts([row.id for row in rows])
        self.connection.execute(delete(catalogue_tables.cases).where(c.id.in_(cases)))
        remaining_items = select(c.item_id).where(c.study_id == study)
        orphan_items = list(
            self.connection.execute(select(i.id).where(i.study_id == study, i.id.not_in(remaining_items))).scalars()
        )
        for chunk in split_into_chunks(orphan_items):
            self.connection.execute(delete(catalogue_tables.tags).where(catalogue_tables.tags.c.item_id.in_(chunk)))
            self.connection.execute(delete(catalogue_tables.items).where(i.id.in_(chunk)))
        response_sets = {row.response_set_id for row in rows}
        upsert_rows(
            self.connection,
            catalogue_tables.unflagged_response_sets,
            [{"response_set_id": id_} for id_ in response_sets],
            ["response_set_id"],
            ["response_set_id"],
        )

    def _enter_joined_cases(self, ledger: Ledger, limit: int) -> tuple[int, bool]:
        """Copy stored verdicts of cases that joined a study. Other verdicts come later with all their studies."""
        place = int(get_state(self.connection, "members") or 0)
        members = ledger.members_since(place, limit)
        if not members:
            return 0, False
        last, is_full = members[-1][0], len(members) == limit
        members = [member for member in members if self.only_study in {None, member[1]}]
        c = catalogue_tables.cases.c
        keys: set[str] = set()
        for chunk in split_into_chunks({key for _, _, key in members}):
            keys.update(self.connection.execute(select(c.key).where(c.key.in_(chunk))).scalars())
        count = 0
        for study in dict.fromkeys(study for _, study, _ in members):
            case_keys = {key for _, name, key in members if name == study and key in keys}
            if case_keys:
                cases = {case.key: case for case in ledger.cases(case_keys)}
                rename = load_rater_names(self.connection).rename_verdict
                verdicts = [rename(verdict) for verdict in ledger.verdicts(cases=case_keys)]
                count += self.enter(study, verdicts, cases)
        set_state(self.connection, "members", last)
        return count, is_full

    def enter(
        self,
        study: str,
        verdicts: Sequence[Verdict],
        cases_by_key: Mapping[str, Case],
        ledger_places: Mapping[VerdictIdentity, int] | None = None,
    ) -> int:
        """Insert verdicts of a study and return the number of new ones.

        Stored verdicts are skipped, newer revisions replace older ones, and votes of pilots are left out.
        `ledger_places` has the place of each verdict in the ledger.
        """
        connection, cached_cases = self.connection, self.case_cache.cases
        superseded_keys = self.superseded_cases.get(study, set())
        verdicts = [
            verdict
            for verdict in verdicts
            if verdict.case not in superseded_keys and not verdict.rater.startswith(PILOT)
        ]
        self.case_cache.check(connection)
        self._assign_names(study, verdicts)
        new_keys, new_case_ids = self._cache_new_cases(study, verdicts, cases_by_key)
        verdicts = self._select_new_verdicts(study, verdicts, new_case_ids)
        if verdicts:
            self._insert(study, verdicts, ledger_places or {})
            set_state(connection, "version", catalogue_version(connection) + 1)
        for key in new_keys - cases_by_key.keys():  # not cached: the ledger may get the case's content later
            del cached_cases[study, key]
        self.case_cache.remember_version(catalogue_version(connection))
        return len(verdicts)

    def _insert(self, study: str, verdicts: Sequence[Verdict], ledger_places: Mapping[VerdictIdentity, int]) -> None:
        connection, cached_cases = self.connection, self.case_cache.cases
        cases = [cached_cases[study, verdict.case] for verdict in verdicts]
        upsert_rows(
            connection,
            catalogue_tables.unflagged_response_sets,
            [{"response_set_id": id_} for id_ in dict.fromkeys(case.response_set for case in cases)],
            ["response_set_id"],
            ["response_set_id"],
        )
        # Words of a deleted verdict stay in the search index, so its id must never be used again.
        start = max(next_id(connection, catalogue_tables.verdicts), int(get_state(connection, "next verdict") or 0))
        set_state(connection, "next verdict", start + len(verdicts))
        rows = [
            self._verdict_row(id_, verdict, case, ledger_places.get(_verdict_identity(verdict)))
            for id_, (verdict, case) in enumerate(zip(verdicts, cases, strict=True), start)
        ]
        insert_all(connection, catalogue_tables.verdicts, rows)
        shown_rows = [
            {"contestant_id": contestant_id, "judge_id": row["judge_id"], "verdict_id": row["id"]}
            for row, case in zip(rows, cases, strict=True)
            for contestant_id in case.contestants
        ]
        insert_all(connection, catalogue_tables.shown_contestants, shown_rows)
        self._count_rows([(row, case.contestants) for row, case in zip(rows, cases, strict=True)], 1)
        words = (
            " ".join((case.words, *full_text_search.text_pieces(verdict.text)))
            for verdict, case in zip(verdicts, cases, strict=True)
        )
        full_text_search.add_documents(connection, enumerate(words, start))

    def _cache_new_cases(
        self, study: str, verdicts: Sequence[Verdict], cases_by_key: Mapping[str, Case]
    ) -> tuple[set[str], set[int]]:
        """Return the keys new to the cache and the ids new to the catalogue."""
        first_verdicts: dict[str, Verdict] = {}
        for verdict in verdicts:
            if (study, verdict.case) not in self.case_cache.cases:
                first_verdicts.setdefault(verdict.case, verdict)
        items = self._item_ids(first_verdicts.values(), cases_by_key)
        cases, new_case_ids = self._case_ids(first_verdicts.values(), items)
        keys = {case: response_set_key(study, verdict) for case, verdict in first_verdicts.items()}
        response_sets, missing_response_sets = assign_ids(
            self.connection, catalogue_tables.response_sets, "key", keys.values()
        )
        new_response_sets = {
            keys[case]: verdict for case, verdict in first_verdicts.items() if keys[case] in missing_response_sets
        }
        self._insert_response_sets(new_response_sets, response_sets, items)
        names = self.case_cache.names
        for key, verdict in first_verdicts.items():
            contestant_ids = [names["contestant", name] for name in verdict.contestants]
            self.case_cache.cases[study, key] = CachedCase(
                cases[key],
                items[verdict.item],
                response_sets[keys[key]],
                names["ballot", verdict.ballot],
                names["criterion", verdict.criterion],
                shape_code(verdict),
                orjson.dumps(contestant_ids).decode(),
                orjson.dumps(verdict.samples).decode() if any(verdict.samples) else "",
                tuple(set(contestant_ids)),
                _case_words(verdict.item, cases_by_key.get(key)),
            )
        return set(first_verdicts), new_case_ids

    def _insert_response_sets(
        self, verdicts_by_key: Mapping[str, Verdict], ids: Mapping[str, int], items: Mapping[str, int]
    ) -> None:
        """Each response set is described by one of its verdicts."""
        rows = [
            {"id": ids[key], "key": key, "study_id": self.study, "item_id": items[verdict.item], "doubt": 0}
            for key, verdict in verdicts_by_key.items()
        ]
        insert_all(self.connection, catalogue_tables.response_sets, rows)
        contestant_rows = [
            {"contestant_id": self.case_cache.names["contestant", name], "response_set_id": ids[key]}
            for key, verdict in verdicts_by_key.items()
            for name in set(verdict.contestants)
        ]
        insert_all(self.connection, catalogue_tables.compared_contestants, contestant_rows)

    def _assign_names(self, study: str, verdicts: Sequence[Verdict]) -> None:
        name_keys = {("study", study)}
        name_keys |= {("judge", name) for name in {verdict.judge for verdict in verdicts}}
        name_keys |= {("rater", name) for name in {verdict.rater for verdict in verdicts}}
        name_keys |= {("ballot", name) for name in {verdict.ballot for verdict in verdicts}}
        name_keys |= {("criterion", name) for name in {verdict.criterion for verdict in verdicts}}
        contestant_groups = {verdict.contestants for verdict in verdicts}
        name_keys |= {("contestant", name) for names in contestant_groups for name in names}
        if not name_keys <= self.case_cache.names.keys():
            self.case_cache.names = name_ids(self.connection, name_keys)
        self.study = self.case_cache.names["study", study]

    def _item_ids(self, verdicts: Collection[Verdict], cases_by_key: Mapping[str, Case]) -> dict[str, int]:
        names = dict.fromkeys(verdict.item for verdict in verdicts)
        places = {name: place_of(self.study, name) for name in names}
        by_place, new_places = assign_ids(self.connection, catalogue_tables.items, "place", places.values())
        ids = {name: by_place[place] for name, place in places.items()}
        cases = {verdict.case for verdict in verdicts}
        items_by_id = {case.item.id: case.item for case in cases_by_key.values() if case.key in cases}
        empty_fields = {"study_id": self.study, "title": ""}
        rows = [
            {"id": ids[name], "place": place, "name": name} | empty_fields
            for name, place in places.items()
            if place in new_places
        ]
        insert_all(self.connection, catalogue_tables.items, rows)
        titled_rows = [
            {"id": ids[name], "place": places[name], "name": name}
            | empty_fields
            | {"title": item.question[:MAX_TITLE_LENGTH]}
            for name, item in items_by_id.items()
        ]
        upsert_rows(self.connection, catalogue_tables.items, titled_rows, ["id"], ["title"])
        accounts = load_pseudonyms(self.connection)
        tags = [
            {"item_id": ids[name], "name": tag[:200], "value": value[:1000]}
            for name, item in items_by_id.items()
            for tag, value in pseudonymize_tags(item.tags, accounts).items()
        ]
        upsert_rows(self.connection, catalogue_tables.tags, tags, ["item_id", "name"], ["value"])
        return ids

    def _case_ids(self, verdicts: Collection[Verdict], items: Mapping[str, int]) -> tuple[dict[str, int], set[int]]:
        """Return the ids of the cases, and the set of new ids."""
        places = {verdict.case: place_of(self.study, verdict.case) for verdict in verdicts}
        by_place, new_places = assign_ids(self.connection, catalogue_tables.cases, "place", places.values())
        ids = {key: by_place[place] for key, place in places.items()}
        item_ids = {verdict.case: items[verdict.item] for verdict in verdicts}
        rows = [
            {"id": ids[key], "place": place, "study_id": self.study, "key": key, "item_id": item_ids[key]}
            for key, place in places.items()
            if place in new_places
        ]
        insert_all(self.connection, catalogue_tables.cases, rows)
        return ids, {by_place[place] for place in new_places}

    def _select_new_verdicts(
        self, study: str, verdicts: Sequence[Verdict], new_case_ids: Collection[int]
    ) -> list[Verdict]:
        """Return the latest revisions to insert and delete older ones. `new_case_ids` have no stored verdicts."""
        v, names = catalogue_tables.verdicts.c, self.case_cache.names
        cases = {verdict.case: self.case_cache.cases[study, verdict.case].id for verdict in verdicts}
        judges = [names["judge", name] for name in {verdict.judge for verdict in verdicts}]
        stored_verdicts: dict[tuple[int, ...], tuple[int, int]] = {}
        for chunk in split_into_chunks(set(cases.values()).difference(new_case_ids)):
            rows = self.connection.execute(
                select(v.case_id, v.judge_id, v.trial, v.rater_id, v.id, v.revision).where(
                    v.case_id.in_(chunk), v.judge_id.in_(judges)
                )
            )
            stored_verdicts.update((tuple(row[:4]), (row[4], row[5])) for row in rows)
        latest: dict[tuple[int, ...], Verdict] = {}
        for verdict in verdicts:
            place = (cases[verdict.case], names["judge", verdict.judge], verdict.trial, names["rater", verdict.rater])
            last_revision = (
                latest[place].revision
                if place in latest
                else stored_verdicts[place][1]
                if place in stored_verdicts
                else -1
            )
            if verdict.revision > last_revision:
                latest[place] = verdict
        self._delete_verdicts([stored_verdicts[place][0] for place in latest if place in stored_verdicts])
        return list(latest.values())

    def _delete_verdicts(self, ids: Iterable[int]) -> None:
        """Their words stay in the search index, but a search shows none of them."""
        for chunk in split_into_chunks(ids):
            query = select(catalogue_tables.verdicts).where(catalogue_tables.verdicts.c.id.in_(chunk))
            deleted_rows = [dict(row) for row in self.connection.execute(query).mappings()]
            self._count_rows([(row, set(orjson.loads(row["shown"]))) for row in deleted_rows], -1)
            self.connection.execute(delete(catalogue_tables.verdicts).where(catalogue_tables.verdicts.c.id.in_(chunk)))
            flag_decreases = Counter(
                (row["study_id"], row["judge_id"], name) for row in deleted_rows for name in FLAGS if row[name]
            )
            flag_counts.change_counts(self.connection, {place: -n for place, n in flag_decreases.items()})
            self.connection.execute(
                delete(catalogue_tables.shown_contestants).where(
                    catalogue_tables.shown_contestants.c.verdict_id.in_(chunk)
                )
            )

    def _verdict_row(self, id_: int, verdict: Verdict, case: CachedCase, place: int | None) -> Row:
        names = self.case_cache.names
        return {
            "id": id_,
            "study_id": self.study,
            "case_id": case.id,
            "judge_id": names["judge", verdict.judge],
            "trial": verdict.trial,
            "rater_id": names["rater", verdict.rater],
            "revision": verdict.revision,
            "item_id": case.item,
            "response_set_id": case.response_set,
            "ballot_id": case.ballot,
            "criterion_id": case.criterion,
            "fault": 0 if verdict.fault is None else FAULTS.index(verdict.fault) + 1,
            "shape": case.shape,
            "shown": case.shown_json,
            "samples": case.samples_json,
            "marks": None if verdict.marks is None else orjson.dumps(verdict.marks).decode(),
            **_NO_FLAGS,
            "place": place,
        }

    def _count_rows(self, rows_with_contestants: Sequence[tuple[Row, Collection[int]]], sign: int) -> None:
        """`sign` is 1 to add rows to the counts or -1 to subtract them, in total and by contestant."""
        counts: Counter[tuple[int, ...]] = Counter()
        for row, contestants in rows_with_contestants:
            judge = (row["study_id"], row["judge_id"])
            kind = (row["ballot_id"], row["criterion_id"], row["fault"], row["shape"])
            for contestant_id in (0, *contestants):
                counts[*judge, contestant_id, *kind] += sign
        last = max((row["id"] for row, _ in rows_with_contestants), default=0)
        keys = ["study_id", "judge_id", "contestant_id", "ballot_id", "criterion_id", "fault", "shape"]
        insertion = dialect_insert(self.connection, catalogue_tables.counts)
        change: dict[str, Any] = {"n": catalogue_tables.counts.c.n + insertion.excluded.n}
        if sign > 0:  # a deletion does not change which verdict came last
            change["last"] = insertion.excluded.last
        statement = insertion.on_conflict_do_update(index_elements=keys, set_=change)
        names = (*keys, "n", "last")
        execute_many(
            self.connection, statement, [dict(zip(names, (*key, n, last), strict=True)) for key, n in counts.items()]
        )


def _case_words(item: str, case: Case | None) -> str:
    texts = [item]
    if case is not None:
        texts += [turn.text for turn in case.item.turns]
        texts += [case.item.reference or "", *case.item.captions, *(response.text for response in case.responses)]
    return " ".join(full_text_search.text_pieces("\n".join(texts)))


def _by_study(ledger: Ledger, batch: Sequence[tuple[int, Verdict]]) -> dict[str, list[Verdict]]:
    """A verdict may belong to several studies."""
    studies_by_number = ledger.studies_of([number for number, _ in batch])
    by_study: dict[str, list[Verdict]] = {}
    for number, verdict in batch:
        for study in studies_by_number[number]:
            by_study.setdefault(study, []).append(verdict)
    return by_study


def _verdict_identity(verdict: Verdict) -> VerdictIdentity:
    return verdict.case, verdict.judge, verdict.trial, verdict.rater, verdict.revision


def place_of(study: int, name: str) -> str:
    """Return the unique key of an item or case within a study."""
    return digest([study, name])


def response_set_key(study: str, verdict: Verdict) -> str:
    """Return the key of a response set: a digest of study, item, criterion, ballot and the set of answers."""
    return digest([study, verdict.item, verdict.criterion, verdict.ballot, sorted(verdict.shown_responses)])


def shape_code(verdict: Verdict) -> int:
    """Return the catalogue's number for the shape of a verdict."""
    return SHAPES.index(verdict_shape(verdict))
