"""Display names of a ledger's judges and contestants, and the names that users type for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches

from fullbench.analysis.judge_card import Card
from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.core.plugin_entry_points import plugin_names
from fullbench.core.table import Table
from fullbench.core.verdict_record import Record
from fullbench.errors import FullbenchError, InputError
from fullbench.ledger.contents_and_cost import Role
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.stored_names import load_chosen_names, load_named_settings, store_chosen_names
from fullbench.reports.display_names import Display, DisplayNames
from fullbench.studies.judge_and_model_specs import contestant_from_spec, judge_from_spec

MOST_LISTED = 12
"""Number of names that an error lists."""


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
    """Return the full name of the judge or contestant that a user typed.

    An exact full name wins, then an exact display name, a spec, a name without its options, and a unique prefix of a
    full name or display name.

    Args:
        typed: What the user typed.
        known_names: Full names that are possible.
        names: Display names.
        role: What is named, such as `judge`, for the error.
        place: The ledger, for the error.
    """
    full_names = list(dict.fromkeys(known_names))
    forms = {full: (full, names.shown_name(full)) for full in full_names}

    def matches(test: Callable[[str], bool]) -> list[str]:
        return [full for full in full_names if any(map(test, forms[full]))]

    if typed in forms:
        return typed
    tests: Sequence[Callable[[], list[str]]] = (
        lambda: matches(lambda form: form == typed),
        lambda: [full for full in _full_names_of_spec(typed) if full in forms],
        lambda: matches(lambda form: form.startswith(tuple(typed + mark for mark in (" (", "@", "+", "#", "?")))),
        lambda: matches(lambda form: form.startswith(typed)),
        lambda: matches(lambda form: form.lower().startswith(typed.lower())),
    )
    for test in tests:
        found = test() if typed else []
        if len(found) == 1:
            return found[0]
        if found:
            listed = _list_names(names, found)
            raise InputError(f"{typed!r} may be several {role}s: {listed}. Give one of these names in full.")
    where = f"{place}: " if place else ""
    shown_names = [form[1] for form in forms.values()]
    names_by_base: dict[str, list[str]] = {}
    for shown in shown_names:
        names_by_base.setdefault(shown.partition(" (")[0].partition("@")[0], []).append(shown)
    near_bases = get_close_matches(typed, names_by_base, n=3)
    near_names = [shown for base in near_bases for shown in names_by_base[base]][:3]
    hint = f" Did you mean {' or '.join(map(repr, near_names))}?" if near_names else ""
    listed = _list_names(names, full_names)
    raise InputError(f"{where}there is no {role} {typed!r}.{hint} {role.capitalize()}s: {listed}.")


def _list_names(names: DisplayNames, full_names: Sequence[str]) -> str:
    """List display names in alphabetical order; the rest is counted."""
    shown_names = sorted(names.shown_names(full_names), key=str.lower)
    more = f" and {len(shown_names) - MOST_LISTED:,} more" if len(shown_names) > MOST_LISTED else ""
    return (", ".join(shown_names[:MOST_LISTED]) or "none") + more


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
