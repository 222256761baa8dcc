"""Display names of a ledger's judges and contestants, and the names that users type for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from fullbench.analysis.judge_card import Card
from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.core.plugin_entry_points import plugin_names
from fullbench.core.table import Table
from fullbench.core.verdict_record import Record
from fullbench.errors import FullbenchError
from fullbench.ledger.contents_and_cost import Role
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.stored_settings_and_chosen_display_names import (
    load_chosen_names,
    load_named_settings,
    store_chosen_names,
)
from fullbench.reports.display_names_of_judges_and_contestants import Display, DisplayNames
from fullbench.studies.judge_contestant_and_benchmark_specs import contestant_from_spec, judge_from_spec


def load_display_names(
    ledger: Ledger,
    chosen: DisplayNames | None = None,
    *,
    judges: Iterable[Judge] = (),
    contestants: Iterable[Model] = (),
) -> DisplayNames:
    """Return the display names of all judges and contestants of a ledger.

    Args:
        ledger: An open ledger.
        chosen: Names from a file, by full name or spec. They override those that studies stored in the ledger.
        judges: Judges that the ledger may not know yet.
        contestants: Contestants that the ledger may not know yet.
    """
    judge_settings, contestant_settings = load_named_settings(ledger)
    judge_settings |= {judge.name: judge.settings for judge in judges}
    contestant_settings |= {model.name: model.settings for model in contestants}
    stored_displays = {
        full: Display(entry["name"], entry.get("organisation", ""), entry.get("date", ""))
        for full, entry in load_chosen_names(ledger).items()
    }
    resolved = {} if chosen is None else names_by_full_name(chosen, {*judge_settings, *contestant_settings}).displays
    displays = DisplayNames({**stored_displays, **resolved})
    return DisplayNames.from_settings(judge_settings, contestant_settings, displays)


def study_display_names(ledger: Ledger, chosen: DisplayNames, full_names: Collection[str]) -> DisplayNames:
    """Return the display names of a study's judges and contestants, whatever else the ledger has.

    Args:
        ledger: An open ledger.
        chosen: Names that the study chose, by full name or spec.
        full_names: Full names of the study's judges and contestants.
    """
    judges, contestants = (
        {name: settings for name, settings in named_settings.items() if name in full_names}
        for named_settings in load_named_settings(ledger)
    )
    return DisplayNames.from_settings(judges, contestants, names_by_full_name(chosen, full_names))


def names_by_full_name(
    chosen: DisplayNames, full_names: Collection[str], specs: Mapping[str, Iterable[str]] | None = None
) -> DisplayNames:
    """Return chosen names with full names in place of specs.

    Args:
        chosen: Names by full name or spec.
        full_names: Full names of all judges and contestants.
        specs: Full names by spec, if known; other specs are built.
    """
    displays: dict[str, Display] = {}
    for key, display in chosen.displays.items():
        found = [key] if key in full_names else [*(specs or {}).get(key, [])] or _full_names_of_spec(key)
        displays |= dict.fromkeys([name for name in found if name in full_names] or [key], display)
    return replace(chosen, displays=displays)


def store_study_names(
    ledger: Ledger, chosen: DisplayNames, full_names: Collection[str], specs: Mapping[str, Iterable[str]]
) -> None:
    """Store the names that a study chose for its judges and contestants, so that every output shows them."""
    displays = names_by_full_name(chosen, full_names, specs).displays
    entries = {
        full: {"name": display.name, "organisation": display.organisation, "date": display.date}
        for full, display in displays.items()
        if full in full_names
    }
    store_chosen_names(ledger, entries)


def with_display_names(ledger: Ledger, tables: Iterable[Table]) -> list[Table]:
    """Return tables with the display names of a ledger attached."""
    names = load_display_names(ledger)
    return [names.attach_to(table) for table in tables]


def record_display_names(record: Record) -> DisplayNames:
    """Return the display names of a record: those of its ledger, else as short as possible."""
    if record.names:
        return DisplayNames.from_names(record.names)
    return DisplayNames.from_settings(dict.fromkeys(record.judges), dict.fromkeys(record.contestants))


def with_card_names(card: Card, names: DisplayNames) -> Card:
    """Return a card with display names attached to it and to its tables."""
    sections = {name: [names.attach_to(table) for table in tables] for name, tables in card.sections.items()}
    return replace(card, sections=sections, names=names.names)


def find_judges(ledger: Ledger, typed_names: Iterable[str], *, also_known: Iterable[str] = ()) -> list[str]:
    """Return the full names of judges, panels and cascades that a user typed; see `find_name`.

    Args:
        ledger: An open ledger.
        typed_names: What the user typed.
        also_known: Full names of judges that are not in the ledger, as of labels in a file.
    """
    return _find_names(ledger, typed_names, "judge", also_known)


def find_contestants(ledger: Ledger, typed_names: Iterable[str]) -> list[str]:
    """Return the full names of contestants that a user typed; see `find_name`."""
    return _find_names(ledger, typed_names, "contestant")


def _find_names(ledger: Ledger, typed_names: Iterable[str], role: Role, also_known: Iterable[str] = ()) -> list[str]:
    requested_names = list(typed_names)
    if all(role == "judge" and ledger.has_judged(name) for name in requested_names):
        return requested_names
    judges, contestants = load_named_settings(ledger)
    known_names = [*judges, *(view.name for view in ledger.views())] if role == "judge" else [*contestants]
    known_names += also_known
    names = load_display_names(ledger)
    return [find_name(name, known_names, names, role, place=ledger.place) for name in requested_names]


def find_name(typed: str, known_names: Iterable[str], names: DisplayNames, role: str, *, place: str = "") -> str:
    """Return the full name of the judge or contestant that a user typed; see `DisplayNames.find`. A spec is found too.

    Args:
        typed: What the user typed.
        known_names: Full names that are possible.
        names: Display names.
        role: What is named, such as `judge`, for the error.
        place: The ledger, for the error.
    """
    full_names = list(dict.fromkeys(known_names))
    if typed not in full_names:
        of_spec = [full for full in _full_names_of_spec(typed) if full in full_names]
        if len(of_spec) == 1:
            return of_spec[0]
    return names.find(typed, full_names, role, place=place)


def _full_names_of_spec(spec: str) -> list[str]:
    """Return the full names of a judge and a contestant with this spec; empty if it is none."""
    full_names: list[str] = []
    if not {":", "?"} & set(spec) or spec.partition(":")[0].partition("?")[0] not in _buildable_kinds():
        return full_names
    for build in (judge_from_spec, contestant_from_spec):
        with suppress(FullbenchError, OSError):
            full_names.append(build(spec).name)
    return full_names


def _buildable_kinds() -> set[str]:
    """Return the kinds of specs that are built without calls and programs."""
    return {*plugin_names("models"), *plugin_names("metrics")}
