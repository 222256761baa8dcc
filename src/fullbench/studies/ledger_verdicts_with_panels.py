"""Verdicts of a ledger together with those of its panels, cascades and rubrics (its views)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from fullbench.analysis.boards.leaderboard import Settings
from fullbench.analysis.boards.mean_leaderboards import mean_tables
from fullbench.analysis.people.voted_rows_check import CaseFacts
from fullbench.analysis.views import cascade_verdicts
from fullbench.analysis.views.panel_cascade_and_rubric_verdicts import add_view_verdicts, view_verdicts
from fullbench.analysis.views.view_verdict_helpers import ResponseSetKey
from fullbench.columns.verdict_columns import Columns
from fullbench.core.panel_and_cascade import View
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.stored_settings_and_chosen_display_names import load_named_settings
from fullbench.studies.ledger_display_names_and_name_lookup import find_judges
from fullbench.studies.run.missing_pictures import note_missing_pictures


def load_columns(
    ledger: Ledger,
    judges: Sequence[str] | None = None,
    *,
    extra_verdicts: Iterable[Verdict] = (),
    study: str | None = None,
    pilots: bool = False,
) -> Columns:
    """Return the verdicts of these judges (None: all), including panels and cascades, plus `extra_verdicts`.

    Pilot votes are included only if `pilots` is set. An extra verdict replaces the vote in the ledger that it revises.
    """
    views, extras = _requested_views(ledger, judges), list(extra_verdicts)
    if not views:
        return ledger.columns(judges, extra_verdicts=extras, study=study, pilots=pilots).latest()
    study_name = ledger.one_study(study) if study or ledger.study_named else None
    studies = ledger.studies() if study_name is None else [study_name]
    verdicts_by_study = {
        name: [
            verdict
            for view in views
            for verdict in view_verdicts(view, [*_member_verdicts(ledger, view, name, pilots), *extras])
        ]
        for name in studies
    }
    verdicts_by_study[studies[0]] = [*extras, *verdicts_by_study[studies[0]]]
    return ledger.columns(judges, extra_verdicts=verdicts_by_study, study=study, pilots=pilots).latest()


def mean_mark_tables(ledger: Ledger, judges: Sequence[str] | None, settings: Settings) -> list[Table]:
    """Return tables of mean marks by these judges (None: all). Loads one judge at a time to save memory."""
    judges_with_verdicts = {
        account.name for account in ledger.bill() if account.role == "judge" and account.output_count
    }
    judge_names = (
        sorted(judges_with_verdicts | {view.name for view in _requested_views(ledger, None)})
        if judges is None
        else judges
    )
    study = ledger.one_study()
    tables: list[Table] = []
    for judge in judge_names:
        judge_columns = load_columns(ledger, [judge], study=study)
        tables += add_ledger_notes(ledger, mean_tables(judge_columns, settings), judge_columns, study=study)
    return tables


def load_record(
    ledger: Ledger, judges: Sequence[str] | None = None, *, study: str | None = None, pilots: bool = False
) -> Record:
    """Return the record of a study: items, responses and the verdicts of these judges, panels and cascades."""
    views = _requested_views(ledger, judges)
    members = (
        None
        if judges is None
        else [*dict.fromkeys([*judges, *(name for view in views for name in view.source_judges)])]
    )
    member_record = ledger.record(members, study=study, pilots=pilots)
    verdicts = add_view_verdicts(member_record.verdicts, views)
    if judges is not None:
        verdicts = tuple(verdict for verdict in verdicts if verdict.judge in judges)
    return replace(member_record, verdicts=verdicts)


def cascade_tables(
    ledger: Ledger, judges: Sequence[str] | None = None, *, study: str | None = None, pilots: bool = False
) -> list[Table]:
    """Return a table for each cascade that shows which stage decided how many cases."""
    tables = [
        cascade_verdicts.cascade_table([view], _member_verdicts(ledger, view, name, pilots))
        for name in ([ledger.one_study(study)] if study or ledger.study_named else ledger.studies())
        for view in cascade_verdicts.select_cascades(_requested_views(ledger, judges))
    ]
    return [table for table in tables if table.rows]


def cases_left_to_people(ledger: Ledger, cascade: str, *, study: str | None = None) -> set[ResponseSetKey]:
    """Return the cases that a cascade leaves to people and that have no vote yet."""
    (name,) = find_judges(ledger, [cascade])
    cascades = {view.name: view for view in cascade_verdicts.select_cascades(ledger.views())}
    if name not in cascades:
        cascade_names = ", ".join(cascades) or "none"
        raise InputError(f"there is no cascade {cascade!r} in {ledger.place}; there are: {cascade_names}")
    return cascade_verdicts.pending_cases(
        cascades[name], _member_verdicts(ledger, cascades[name], study or ledger.one_study(study), pilots=False)
    )


def record_without_verdicts(
    ledger: Ledger, columns: Columns, *, study: str | None = None, item_ids: Collection[str] | None = None
) -> Record:
    """Return the items and responses of these columns, or of some items. Takes half the time of a full record."""
    item_ids = set(columns.names["item"]) if item_ids is None else item_ids
    items = {item.id: item for item in ledger.items(study=study) if item.id in item_ids}
    answers = ledger.responses(None, item_keys=[item.key for item in items.values()])
    return Record((), items, {(answer.item, answer.contestant, answer.sample): answer for answer in answers})


def load_voted_texts(ledger: Ledger, columns: Columns, *, study: str | None = None) -> Record | None:
    """Return the items that people voted on, with their responses, for tests of length bias; None without votes."""
    if PEOPLE not in columns.judges():
        return None
    votes = columns.where(judge=PEOPLE)
    voted_items = {columns.names["item"][code] for code in np.unique(votes.item).tolist()}
    return record_without_verdicts(ledger, columns, study=study, item_ids=voted_items)


def load_case_facts(ledger: Ledger, columns: Columns, *, study: str | None = None) -> CaseFacts | None:
    """Return tags and lengths, on which corrected boards compare voted with unvoted pairs; None without votes."""
    if PEOPLE not in columns.judges():
        return None
    return CaseFacts.from_record(record_without_verdicts(ledger, columns, study=study))


def add_ledger_notes(
    ledger: Ledger, tables: Iterable[Table], columns: Columns, *, study: str | None = None, pilots: bool = False
) -> list[Table]:
    """Add notes to tables: items judged without their pictures, and pilot votes excluded or counted."""
    items = set(columns.names["item"])
    missing = len(items & ledger.lacking_pictures(study))
    settings = load_named_settings(ledger)[0] if missing else {}
    has_called_judges = any(settings.get(judge) is not None for judge in columns.judges())
    noted_tables = note_missing_pictures(tables, len(items), missing, has_called_judges=has_called_judges)
    note = pilot_note(ledger, study, pilots=pilots)
    return noted_tables if note is None else [replace(table, notes=[*table.notes, note]) for table in noted_tables]


def pilot_note(ledger: Ledger, study: str | None, *, pilots: bool = False) -> Note | None:
    """Return a note with the number of pilot votes and whether they count, or None if there are none."""
    count = ledger.pilot_votes(study)
    if not count:
        return None
    if pilots:
        return Note("votes.pilot.counted", n=count)
    return Note("votes.pilot.left-out", n=count)


def _requested_views(ledger: Ledger, judges: Sequence[str] | None) -> list[View]:
    return [view for view in ledger.views() if judges is None or view.name in judges]


def _member_verdicts(ledger: Ledger, view: View, study: str | None, pilots: bool) -> tuple[Verdict, ...]:
    return tuple(ledger.record(list(view.source_judges), study=study, texts=False, pilots=pilots).verdicts)
