"""A ledger's verdicts with those of its panels and cascades, as every door reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fullbench.columns.table import Columns
from fullbench.errors import InputError
from fullbench.figures import cascades
from fullbench.figures.panels import rulings, with_views
from fullbench.figures.viewing import Place
from fullbench.ledger.store import Ledger
from fullbench.nouns.panel import View, is_view
from fullbench.nouns.record import Record
from fullbench.nouns.table import Table
from fullbench.nouns.text import one_beginning
from fullbench.nouns.verdict import Verdict
from fullbench.studies.sight import counted


def judges_named(ledger: Ledger, wanted: Sequence[str]) -> list[str]:
    """The full names of judges that were named by their beginnings, as far as only one in the ledger begins so."""
    if all(ledger.has_ruled(name) or is_view(name) for name in wanted):
        return list(wanted)
    accounts = [account.name for account in ledger.bill() if account.role == "judge"]
    known = list(dict.fromkeys([*accounts, *(view.name for view in ledger.views())]))
    return [one_beginning(name, known, "judge") for name in wanted]


def columns(
    ledger: Ledger, judges: Sequence[str] | None = None, *, beside: Iterable[Verdict] = (), study: str | None = None
) -> Columns:
    """The verdicts of these judges (None: of all), panels and cascades among them, and others `beside` them."""
    views, others = _wanted(ledger, judges), list(beside)
    if not views:
        return ledger.columns(judges, beside=others, study=study)
    one = ledger.one_study(study) if study or ledger.study_named else None
    studies = ledger.studies() if one is None else [one]
    joined = {
        name: [ruling for view in views for ruling in rulings(view, [*_heard(ledger, view, name), *others])]
        for name in studies
    }
    joined[studies[0]] = [*others, *joined[studies[0]]]
    return ledger.columns(judges, beside=joined, study=study)


def record(ledger: Ledger, judges: Sequence[str] | None = None, *, study: str | None = None) -> Record:
    """The record of a study: the verdicts of these judges, panels and cascades among them, items and responses."""
    views = _wanted(ledger, judges)
    members = None if judges is None else [*dict.fromkeys([*judges, *(name for view in views for name in view.heard)])]
    stored = ledger.record(members, study=study)
    verdicts = with_views(stored.verdicts, views)
    if judges is not None:
        verdicts = tuple(verdict for verdict in verdicts if verdict.judge in judges)
    return Record(verdicts, stored.items, stored.responses)


def settled_by(ledger: Ledger, judges: Sequence[str] | None = None, *, study: str | None = None) -> list[Table]:
    """Who settled what of each cascade, where there is one."""
    tables = [
        cascades.table([view], _heard(ledger, view, name))
        for name in ([ledger.one_study(study)] if study or ledger.study_named else ledger.studies())
        for view in cascades.among(_wanted(ledger, judges))
    ]
    return [table for table in tables if table.rows]


def waiting(ledger: Ledger, cascade: str, *, study: str | None = None) -> set[Place]:
    """What a cascade leaves to people, who have not voted on it yet."""
    (name,) = judges_named(ledger, [cascade])
    known = {view.name: view for view in cascades.among(ledger.views())}
    if name not in known:
        there = ", ".join(known) or "none"
        raise InputError(f"there is no cascade {cascade!r} in {ledger.place}; there are: {there}")
    return cascades.pending(known[name], _heard(ledger, known[name], study or ledger.one_study(study)))


def sighted(ledger: Ledger, tables: Iterable[Table], columns: Columns, *, study: str | None = None) -> list[Table]:
    """The tables of some columns, each with how many of their items were judged without their pictures."""
    items = set(columns.names["item"])
    return counted(tables, len(items), len(items & ledger.lacking_pictures(study)))


def _wanted(ledger: Ledger, judges: Sequence[str] | None) -> list[View]:
    return [view for view in ledger.views() if judges is None or view.name in judges]


def _heard(ledger: Ledger, view: View, study: str | None) -> tuple[Verdict, ...]:
    return tuple(ledger.record(list(view.heard), study=study, texts=False).verdicts)
