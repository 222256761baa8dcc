"""Queries of a ledger's verdicts: as objects, records and columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from fullbench.core.panel_and_cascade import VIEW_PREFIXES, View, view_from_settings
from fullbench.core.response import Response
from fullbench.core.verdict import PILOT, Verdict
from fullbench.core.verdict_record import Record
from fullbench.ledger import (
    contents_and_cost,
    judge_and_contestant_settings,
    row_conversion,
    study_membership_of_items_and_cases,
)
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.item_response_and_cost_reader import ContentReader
from fullbench.ledger.name_aliases import Naming, normalize_voter
from fullbench.ledger.read_queries import (
    CHUNK,
    Names,
    current_item_keys,
    in_condition,
    load_verdict_texts,
    names_of,
    newest_revisions,
    rows_with_keys,
    where_clauses,
)
from fullbench.ledger.row_conversion import Row

if TYPE_CHECKING:
    from fullbench.columns.verdict_columns import Columns

_IS_PILOT = f"substr(rater, 1, {len(PILOT)}) = '{PILOT}'"


class VerdictReader(ContentReader):
    """Read methods of `Ledger`."""

    def verdicts(
        self,
        judge: Names = None,
        *,
        cases: Iterable[str] | None = None,
        texts: bool = True,
        study: str | None = None,
        revisions: bool = False,
    ) -> Iterator[Verdict]:
        """Stream verdicts in the order of entry.

        Args:
            judge: Names of judges; None for all.
            cases: Keys of cases; then verdicts come in groups of 500 cases.
            texts: Whether to read what judges wrote.
            study: One study; None for all.
            revisions: Whether to include votes that were changed later and replies that were parsed again.
        """
        columns = row_conversion.VERDICT if texts else row_conversion.WITHOUT_TEXTS
        with self.reader() as reader:
            naming = Naming.read(reader)
            newest = {} if revisions else newest_revisions(reader, naming)
            superseded_cases = (
                set() if study is None else study_membership_of_items_and_cases.superseded_cases(reader, study)
            )
            conditions = [
                naming.judge_condition(names_of(judge)),
                study_membership_of_items_and_cases.study_condition(study),
            ]
            for condition, values in where_clauses(conditions, "verdicts.case_key", cases):
                stream = reader.stream(f"SELECT {columns} FROM verdicts{condition} ORDER BY verdicts.rowid", values)
                while batch := list(islice(stream, CHUNK)):
                    verdict_texts = load_verdict_texts(reader, batch) if texts else row_conversion.NO_VERDICT_TEXTS
                    for row in batch:
                        if superseded_cases and row[0] in superseded_cases:
                            continue
                        verdict = naming.rename_verdict(row_conversion.verdict_of(row, verdict_texts))
                        if not newest or verdict.revision >= newest.get(
                            (verdict.case, verdict.judge, verdict.trial, verdict.rater), 0
                        ):
                            yield verdict

    def verdicts_since(self, place: int, limit: int) -> list[tuple[int, Verdict]]:
        """Return verdicts in the order of entry after `place` (0: from the start), each with its place."""
        columns = f"verdicts.rowid, {row_conversion.VERDICT}"
        sql = f"SELECT {columns} FROM verdicts WHERE verdicts.rowid > ? ORDER BY verdicts.rowid LIMIT ?"
        with self.reader() as reader, self._database.hold_back_commits(reader):
            naming = Naming.read(reader)
            numbered_rows = [(row[0], row[1:]) for row in reader.execute(sql, (place, limit)).fetchall()]
            verdict_texts = load_verdict_texts(reader, [row for _, row in numbered_rows])
        return [
            (number, naming.rename_verdict(row_conversion.verdict_of(row, verdict_texts)))
            for number, row in numbered_rows
        ]

    def last_place(self) -> int:
        """Return the place (see `verdicts_since`) of the last verdict, or 0 if there is none."""
        with self.reader() as reader:
            return int(reader.execute("SELECT coalesce(max(rowid), 0) FROM verdicts").fetchone()[0])

    def last_verdicts(self) -> dict[str, float]:
        """Return the time of each study's last verdict in seconds since 1970, or 0 if there is none."""
        last_times = {}
        with self.reader() as reader:
            for study in study_membership_of_items_and_cases.study_names(reader):
                condition, values = study_membership_of_items_and_cases.study_condition(study)
                sql = f"SELECT coalesce(max(at), 0) FROM verdicts WHERE {condition}"
                last_times[study] = float(reader.execute(sql, values).fetchone()[0])
        return last_times

    def studies_of(self, places: Sequence[int]) -> dict[int, list[str]]:
        """Return the studies of the verdicts at these places: the one each was added to, and all of its case."""
        studies_by_place: dict[int, list[str]] = {}
        with self.reader() as reader:
            study_condition, studies = in_condition(
                "study", tuple(study_membership_of_items_and_cases.study_names(reader))
            )
            for start in range(0, len(places), CHUNK):
                condition, values = in_condition("rowid", places[start : start + CHUNK])
                rows = reader.execute(
                    f"SELECT rowid, case_key, study FROM verdicts WHERE {condition}", values
                ).fetchall()
                case_condition, keys = in_condition("case_key", list({case for _, case, _ in rows}))
                # The index begins with the study: without it, SQLite reads every member of every study.
                sql = f"SELECT case_key, study FROM study_cases WHERE {study_condition} AND {case_condition}"
                members: dict[str, list[str]] = {}
                for case, study in reader.execute(sql, (*studies, *keys)):
                    members.setdefault(case, []).append(study)
                studies_by_place.update(
                    (number, sorted({own_study, *members.get(case, ())})) for number, case, own_study in rows
                )
        return studies_by_place

    def judged_keys(self, judge: str, keys: Iterable[tuple[str, int]], *, rater: str = "") -> set[tuple[str, int]]:
        """Return those of these cases that the judge has judged, in any study.

        Args:
            judge: Name of the judge.
            keys: Keys and trials of cases.
            rater: One person of a human judge.
        """
        judge, _, rater = normalize_voter(judge, 0, rater)
        requested_keys = set(keys)
        keys_with_verdict: set[tuple[str, int]] = set()

        def lookup_queries(naming: Naming) -> list[tuple[str, Row]]:
            conditions = where_clauses(
                [naming.judge_condition((judge,))], "verdicts.case_key", (key for key, _ in requested_keys)
            )
            return [
                (f"SELECT case_key, trial, judge, rater FROM verdicts{condition}", values)
                for condition, values in conditions
            ]

        with self.reader() as reader:
            naming, row_lists = Naming.read_with_queries(reader, *lookup_queries(Naming({}, {})))
            if naming.judges:  # rare; checking first would cost every ledger a round trip
                row_lists = reader.together(*lookup_queries(naming))
        for case, trial, who, person in chain.from_iterable(row_lists):
            _, when, voting_rater = normalize_voter(who, trial, person)
            if voting_rater == rater:
                keys_with_verdict.add((case, when))
        return keys_with_verdict & requested_keys

    def has_judged(self, judge: str, cases: Iterable[str] | None = None) -> bool:
        """True if the judge has a usable verdict in this ledger, or on one of these cases."""
        with self.reader() as reader:
            condition, values = in_condition("judge", Naming.read(reader).stored_names("judge", [judge]))
            conditions = where_clauses([("fault IS NULL", ()), (condition, values)], "case_key", cases)
            return any(
                reader.execute(f"SELECT 1 FROM verdicts{where} LIMIT 1", parameters).fetchall()
                for where, parameters in conditions
            )

    def twin_of(self, judge: str) -> str | None:
        """Return the name under which the same judge has verdicts here, if it has none under this name.

        Names of the same judge end with the same digest of settings.
        """
        _, mark, digest = judge.rpartition("#")
        if not mark:
            return None
        verdict_query = "SELECT 1 FROM verdicts WHERE judge = ? LIMIT 1"
        name_query = "SELECT name FROM judges WHERE substr(name, length(name) - ?) = ? ORDER BY 1"
        with self.reader() as reader:
            naming, (own_rows, name_rows) = Naming.read_with_queries(
                reader, (verdict_query, (judge,)), (name_query, (len(digest), f"{mark}{digest}"))
            )
            for (name,) in [] if own_rows else name_rows:
                is_other = name != judge and naming.judges.get(name) != judge
                if is_other and reader.execute(verdict_query, (name,)).fetchone():
                    return naming.judges.get(name, name)
        return None

    def set_aside(self, study: str | None = None) -> int:
        """Count the verdicts excluded from a study's record because their item's content was superseded."""
        study_name = self.one_study(study)
        with self.reader() as reader:
            return 0 if study_name is None else contents_and_cost.count_superseded(reader, study_name)

    def pilot_votes(self, study: str | None = None) -> int:
        """Count the votes from pilots, in a study or in all; a changed vote counts once. Records leave them out."""
        where, values = study_membership_of_items_and_cases.study_condition(study)
        votes = (
            f"SELECT DISTINCT judge, case_key, trial, rater FROM verdicts WHERE {_IS_PILOT}"
            f"{f' AND {where}' if where else ''}"
        )
        with self.reader() as reader:
            return int(reader.execute(f"SELECT count(*) FROM ({votes}) AS votes", values).fetchone()[0])

    def pilots_since(self, place: int) -> bool:
        """True if a vote from a pilot was entered after a place (see `verdicts_since`)."""
        sql = f"SELECT 1 FROM verdicts WHERE rowid > ? AND {_IS_PILOT} LIMIT 1"
        with self.reader() as reader:
            return reader.execute(sql, (place,)).fetchone() is not None

    def beginning_with(self, key: str) -> list[tuple[str, str]]:
        """Return cases whose key, and verdicts whose checksum, begins with `key`: case key, and checksum or ""."""
        begins = "substr({}, 1, ?) = ?"
        sql = (
            f"SELECT key, '' FROM cases WHERE {begins.format('key')} UNION "
            f"SELECT case_key, '' FROM verdicts WHERE {begins.format('case_key')} UNION "
            f"SELECT case_key, sum FROM verdicts WHERE {begins.format('sum')}"
        )
        with self.reader() as reader:
            return [(row[0], row[1]) for row in reader.execute(sql, (len(key), key) * 3)] if key else []

    def cases_of_item(self, item: str) -> list[str]:
        """Return the keys of an item's cases, also of those of which only verdicts are stored."""
        sql = (
            "SELECT cases.key FROM cases JOIN items ON items.key = cases.item_key WHERE items.item = ? UNION "
            "SELECT case_key FROM verdicts WHERE item = ? ORDER BY 1"
        )
        with self.reader() as reader:
            return [row[0] for row in reader.execute(sql, (item, item))]

    def sums(self, case: str) -> list[str]:
        """Return the checksums of a case's verdicts, all revisions, in the order of `verdicts`."""
        with self.reader() as reader:
            rows = reader.execute("SELECT sum FROM verdicts WHERE case_key = ? ORDER BY rowid", (case,))
            return [row[0] for row in rows]

    def views(self) -> list[View]:
        """Return the panels, cascades and rubrics that studies in this ledger declared."""
        begins = " OR ".join("name LIKE ?" for _ in VIEW_PREFIXES)
        sql = f"SELECT DISTINCT name FROM judges WHERE {begins} ORDER BY name"
        with self.reader() as reader:
            names = [str(name) for (name,) in reader.execute(sql, tuple(f"{start}%" for start in VIEW_PREFIXES))]
            setting_texts = {name: judge_and_contestant_settings.settings_of(reader, "judge", name) for name in names}
        return [
            view_from_settings(name, row_conversion.load_json(text))
            for name, text in setting_texts.items()
            if text is not None
        ]

    def record(
        self, judge: Names = None, *, cases: Iterable[str] | None = None, tags: Mapping[str, str] | None = None,
        texts: bool = True, study: str | None = None, pilots: bool = False,
    ) -> Record:  # fmt: skip
        """Return verdicts with their items and responses. `set_aside` counts the verdicts left out.

        Args:
            judge: Names of judges; None for all.
            cases: Keys of cases: verdicts on these, in any study.
            tags: Only verdicts on items with these tags.
            texts: Whether to read what judges wrote.
            study: The study; default: the one this ledger was opened for, or the only one.
            pilots: Whether to include votes from pilots; `pilot_votes` counts them.
        """
        study_name = self.one_study(study) if cases is None or study is not None else None
        verdicts = self.verdicts(judge, cases=cases, texts=texts, study=study_name)
        record_verdicts = tuple(verdict for verdict in verdicts if pilots or not verdict.rater.startswith(PILOT))
        return self._add_contents(record_verdicts, study_name, tags)

    def record_of_verdicts(self, verdicts: Iterable[Verdict], *, study: str | None = None) -> Record:
        """Return some verdicts of a study with their items and responses."""
        return self._add_contents(tuple(verdicts), self.one_study(study))

    def _add_contents(
        self, verdicts: tuple[Verdict, ...], study: str | None, tags: Mapping[str, str] | None = None
    ) -> Record:
        """Return verdicts with their items and responses; with `tags`, only those on items with these tags."""
        with self.reader() as reader:
            keys = _item_keys(reader, verdicts, study)
            items = {
                row[1]: row_conversion.item_of(row, self.media)
                for row in rows_with_keys(reader, row_conversion.ITEM, "items", keys)
            }
            if tags:
                items = {name: item for name, item in items.items() if tags.items() <= item.tags.items()}
                verdicts = tuple(verdict for verdict in verdicts if verdict.item in items)
            # Many verdicts share the same responses, so each combination is expanded once.
            distinct_verdicts = {(verdict.item, verdict.contestants, verdict.samples): verdict for verdict in verdicts}
            response_places = {
                (verdict.item, *shown_response)
                for verdict in distinct_verdicts.values()
                for shown_response in verdict.shown_responses
            }
            responses: dict[tuple[str, str, int], Response] = {}
            naming, (judge_rows,) = Naming.read_with_queries(reader, ("SELECT name, settings FROM judges", ()))
            for row in rows_with_keys(reader, row_conversion.RESPONSE, "responses", keys, "item_key"):
                _, contestant, item, _, sample, *_ = row
                place = (item, naming.contestants.get(contestant, contestant), sample)
                if place in response_places:
                    responses[place] = naming.rename_response(row_conversion.response_of(row, self.media))
        return Record(verdicts, items, responses, _models_by_judge(judge_rows, naming))

    def columns(
        self, judge: Names = None, *, extra_verdicts: Iterable[Verdict] | Mapping[str, Iterable[Verdict]] = (),
        study: str | None = None, pilots: bool = False,
    ) -> Columns:  # fmt: skip
        """Return verdicts as columns without texts.

        Args:
            judge: Names of judges; None for all.
            extra_verdicts: Verdicts to add, such as those of panels; by study if there are several.
            study: The study; default: the one this ledger was opened for, or all studies, kept separate.
            pilots: Whether to include votes from pilots.
        """
        from fullbench.ledger.columns_from_rows import load_columns  # imported late: needs numpy

        study_name = self.one_study(study) if study or self.study_named else None
        studies = None if study_name is None else [study_name]
        with self.reader() as reader:
            return load_columns(reader, names_of(judge), extra_verdicts, studies, pilots=pilots)


def _item_keys(reader: Connection, verdicts: Sequence[Verdict], study: str | None) -> list[str]:
    """Return the item keys of verdicts: from the study, else from their cases, else the latest."""
    missing = dict.fromkeys(verdict.item for verdict in verdicts)
    current = {} if study is None else current_item_keys(reader, study)
    keys = {item: current[item] for item in missing if item in current}
    latest = {verdict.item: verdict.case for verdict in verdicts if verdict.item not in keys}
    places = {case: item for item, case in latest.items()}
    for case, key in rows_with_keys(reader, "key, item_key", "cases", places):
        keys[places[case]] = key
    if study is None:
        items = [item for item in missing if item not in keys]
        for key, item in rows_with_keys(reader, "key, item", "items", items, "item"):
            keys[item] = key
    return [keys[item] for item in missing if item in keys]


def _models_by_judge(judge_rows: Iterable[Row], naming: Naming) -> dict[str, str]:
    """Return the models of prompted judges whose name does not begin with the model's name."""
    models: dict[str, str] = {}
    for name, text in judge_rows:
        settings = row_conversion.load_json(text)
        model = settings.get("model") if "mode" in settings else None
        if isinstance(model, str) and not name.startswith(f"{model}+"):
            models[naming.judges.get(name, name)] = model
    return models
