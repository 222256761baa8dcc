"""Panels and cascades of a study file: select them, build them, and run the large judges of cascades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fullbench.analysis.views.cascade_verdicts import cases_for_large_judge
from fullbench.core.case import Case
from fullbench.core.panel_and_cascade import CASCADE, PANEL, Cascade, Panel, View, is_view
from fullbench.core.rubric import RUBRIC
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.studies.study_file import Study


def select_requested_views(study: Study, imported_judges: Sequence[str] = ()) -> tuple[Study, list[str]]:
    """Return the study with only the requested panels, cascades and rubrics, and the names of the others.

    If the study lists `judges`, views that are not listed are dropped. A view stays if its members judge every case
    anyway, because it costs nothing. A study without `judges` requests all of them. The verdicts of `imported_judges`
    exist already.
    """
    if not study.judges:
        return study, []
    requested_panels, requested_cascades, requested_rubrics = (
        {name: table for name, table in tables_by_name.items() if f"{kind}{name}" in study.judges}
        for kind, tables_by_name in ((PANEL, study.panels), (CASCADE, study.cascades), (RUBRIC, study.rubrics))
    )
    called_specs = {spec for spec in study.judges if not is_view(spec)}
    called_specs |= {spec for table in requested_panels.values() for spec in table["members"]}
    called_specs |= {table["small"] for table in requested_cascades.values()}
    called_specs.update(imported_judges)
    requested_panels |= {
        name: table for name, table in study.panels.items() if called_specs.issuperset(table["members"])
    }
    requested_cascades |= {
        name: table for name, table in study.cascades.items() if {table["small"], table["large"]} <= called_specs
    }
    dropped_specs = [f"{PANEL}{name}" for name in study.panels if name not in requested_panels]
    dropped_specs += [f"{CASCADE}{name}" for name in study.cascades if name not in requested_cascades]
    dropped_specs += [f"{RUBRIC}{name}" for name in study.rubrics if name not in requested_rubrics]
    return replace(
        study, panels=requested_panels, cascades=requested_cascades, rubrics=requested_rubrics
    ), dropped_specs


def dropped_views_note(names: Sequence[str]) -> Note:
    """Return a note about panels, cascades and rubrics that are defined but not used."""
    return Note("study.idle", names=", ".join(names))


def member_specs(study: Study) -> list[str]:
    """Return the specs of all members of panels and cascades, each once."""
    members = [spec for table in study.panels.values() for spec in table["members"]]
    members += [table[role] for table in study.cascades.values() for role in ("small", "large")]
    return list(dict.fromkeys(members))


def build_views(study: Study, names: Mapping[str, str]) -> list[View]:
    """Build the panels and cascades of a study; `names` maps specs to names of judges."""
    views: list[View] = []
    try:
        for name, table in study.panels.items():
            members = tuple(names[spec] for spec in table["members"])
            views.append(Panel(f"{PANEL}{name}", members, table.get("rule", "majority"), table.get("quorum", 0)))
        for name, table in study.cascades.items():
            people, threshold = table.get("people", False), float(table.get("threshold", 1.0))
            small, large = names[table["small"]], names[table["large"]]
            guarantees = {key: float(table[key]) for key in ("agreement", "risk") if key in table}
            views.append(Cascade(f"{CASCADE}{name}", small, large, people, threshold, **guarantees))
    except InputError as error:
        raise InputError(str(error), path=study.path) from error
    return views


def second_judges(study: Study, names: Mapping[str, str]) -> list[str]:
    """Return the judges that only get cases that a small judge left in doubt: they are in no panel or list."""
    first = {names[spec] for spec in study.judges if not is_view(spec)}
    first |= {names[spec] for table in study.panels.values() for spec in table["members"]}
    first |= {names[table["small"]] for table in study.cascades.values()}
    return [name for name in dict.fromkeys(names[t["large"]] for t in study.cascades.values()) if name not in first]


def doubtful_cases(judge: str, cases: Sequence[Case], ledger: Ledger, views: Sequence[View]) -> list[Case]:
    """Return the cases for a cascade's large judge, given the small judge's verdicts so far."""
    keys = {case.key for case in cases}
    selected_cases: list[Case] = []
    doubts = set()
    for view in views:
        if isinstance(view, Cascade) and view.large == judge:
            verdicts = ledger.record([view.small], cases=keys, texts=False).verdicts
            # A label from a file may have another case key, so labels are matched by item and responses.
            people = ledger.record([PEOPLE], study=ledger.study, texts=False).verdicts if view.waits else ()
            doubts |= cases_for_large_judge(view, [*verdicts, *people])
    for case in cases:
        shown_responses = frozenset((response.contestant, response.sample) for response in case.responses)
        if (case.item.id, case.criterion, case.ballot.spec, shown_responses) in doubts:
            selected_cases.append(case)
    return selected_cases
