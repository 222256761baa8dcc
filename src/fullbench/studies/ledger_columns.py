"""A ledger's verdicts with those of its panels and cascades, as every door reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fullbench.analysis.boards.leaderboard import Settings
from fullbench.analysis.boards.mean_leaderboards import tables as mean_tables
from fullbench.analysis.views import cascade_verdicts
from fullbench.analysis.views.member_verdicts import Place
from fullbench.analysis.views.panel_verdicts import rulings, with_views
from fullbench.columns.verdict_columns import Columns
from fullbench.core.note import Note
from fullbench.core.panel import View, is_view
from fullbench.core.record import Record
from fullbench.core.table import Table
from fullbench.core.text import one_beginning
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.studies.run.missing_pictures import counted


def judges_named(ledger: Ledger, wanted: Sequence[str]) -> list[str]:
    """The full names of judges that were named by their beginnings, as far as only one in the ledger begins so."""
    if all(ledger.has_ruled(name) or is_view(name) for name in wanted):
        return list(wanted)
    accounts = [account.name for account in ledger.bill() if account.role == "judge"]
    known = list(dict.fromkeys([*accounts, *(view.name for view in ledger.views())]))
    return [one_beginning(name, known, "judge") for name in wanted]


def columns(
    ledger: Ledger,
    judges: Sequence[str] | None = None,
    *,
    beside: Iterable[Verdict] = (),
    study: str | None = None,
    pilots: bool = False,
) -> Columns:
    """The verdicts of these judges (None: of all), panels and cascades among them, and others `beside` them.

    Votes of pilots are among them only where `pilots` asks for them. One beside that is a later revision of a vote in
    the ledger takes its place.
    """
    views, others = _wanted(ledger, judges), list(beside)
    if not views:
        return ledger.columns(judges, beside=others, study=study, pilots=pilots).latest()
    one = ledger.one_study(study) if study or ledger.study_named else None
    studies = ledger.studies() if one is None else [one]
    joined = {
        name: [ruling for view in views for ruling in rulings(view, [*_heard(ledger, view, name, pilots), *others])]
        for name in studies
    }
    joined[studies[0]] = [*others, *joined[studies[0]]]
    return ledger.columns(judges, beside=joined, study=study, pilots=pilots).latest()


def means(ledger: Ledger, judges: Sequence[str] | None, settings: Settings) -> list[Table]:
    """The mean marks by these judges (None: by all), one judge after the other: no more than one's verdicts is held."""
    there = {account.name for account in ledger.bill() if account.role == "judge" and account.given}
    wanted = sorted(there | {view.name for view in _wanted(ledger, None)}) if judges is None else judges
    study = ledger.one_study()
    shown: list[Table] = []
    for judge in wanted:
        own = columns(ledger, [judge], study=study)
        shown += noted(ledger, mean_tables(own, settings), own, study=study)
    return shown


def record(
    ledger: Ledger, judges: Sequence[str] | None = None, *, study: str | None = None, pilots: bool = False
) -> Record:
    """The record of a study: the verdicts of these judges, panels and cascades among them, items and responses."""
    views = _wanted(ledger, judges)
    members = None if judges is None else [*dict.fromkeys([*judges, *(name for view in views for name in view.heard)])]
    stored = ledger.record(members, study=study, pilots=pilots)
    verdicts = with_views(stored.verdicts, views)
    if judges is not None:
        verdicts = tuple(verdict for verdict in verdicts if verdict.judge in judges)
    return replace(stored, verdicts=verdicts)


def settled_by(
    ledger: Ledger, judges: Sequence[str] | None = None, *, study: str | None = None, pilots: bool = False
) -> list[Table]:
    """Who settled what of each cascade, where there is one."""
    tables = [
        cascade_verdicts.table([view], _heard(ledger, view, name, pilots))
        for name in ([ledger.one_study(study)] if study or ledger.study_named else ledger.studies())
        for view in cascade_verdicts.among(_wanted(ledger, judges))
    ]
    return [table for table in tables if table.rows]


def waiting(ledger: Ledger, cascade: str, *, study: str | None = None) -> set[Place]:
    """What a cascade leaves to people, who have not voted on it yet."""
    (name,) = judges_named(ledger, [cascade])
    known = {view.name: view for view in cascade_verdicts.among(ledger.views())}
    if name not in known:
        there = ", ".join(known) or "none"
        raise InputError(f"there is no cascade {cascade!r} in {ledger.place}; there are: {there}")
    return cascade_verdicts.pending(
        known[name], _heard(ledger, known[name], study or ledger.one_study(study), pilots=False)
    )


def around(ledger: Ledger, columns: Columns, *, study: str | None = None) -> Record:
    """The items and responses that columns of a study speak of, without verdicts: half of the time of a record."""
    spoken = set(columns.names["item"])
    items = {item.id: item for item in ledger.items(study=study) if item.id in spoken}
    answers = ledger.responses(None, item_keys=[item.key for item in items.values()])
    return Record((), items, {(answer.item, answer.contestant, answer.sample): answer for answer in answers})


def noted(
    ledger: Ledger, tables: Iterable[Table], columns: Columns, *, study: str | None = None, pilots: bool = False
) -> list[Table]:
    """The tables of some columns, each with how many of their items were judged without their pictures, and how many
    votes of pilots are left out (or, with `pilots`, among the votes)."""
    items = set(columns.names["item"])
    shown = counted(tables, len(items), len(items & ledger.lacking_pictures(study)))
    note = pilot_note(ledger, study, pilots=pilots)
    return shown if note is None else [replace(table, notes=[*table.notes, note]) for table in shown]


def pilot_note(ledger: Ledger, study: str | None, *, pilots: bool = False) -> Note | None:
    """How many votes of pilots a ledger holds, and whether they count; None where there are none."""
    count = ledger.pilot_votes(study)
    if not count:
        return None
    if pilots:
        return Note("votes.pilot.counted", "{n:,} votes that were cast in pilots are counted.", n=count)
    return Note(
        "votes.pilot.left-out",
        "{n:,} votes that were cast in pilots are left out; `fullbench report --pilot` counts them.",
        n=count,
    )


def _wanted(ledger: Ledger, judges: Sequence[str] | None) -> list[View]:
    return [view for view in ledger.views() if judges is None or view.name in judges]


def _heard(ledger: Ledger, view: View, study: str | None, pilots: bool) -> tuple[Verdict, ...]:
    return tuple(ledger.record(list(view.heard), study=study, texts=False, pilots=pilots).verdicts)
