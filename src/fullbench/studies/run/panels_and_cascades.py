"""Panels and cascades as a study's file names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from fullbench.analysis.views.cascade_verdicts import for_the_large
from fullbench.core.case import Case
from fullbench.core.judge import Judge
from fullbench.core.note import Note
from fullbench.core.panel import CASCADE, PANEL, Cascade, Panel, View, is_view
from fullbench.core.rubric import RUBRIC
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.studies.engines import Budget, Engine, Insistence, Stop, Tally
from fullbench.studies.run.judge_cases import hear
from fullbench.studies.run.progress_display import watching
from fullbench.studies.study_file import Study


def listed(study: Study) -> tuple[Study, list[str]]:
    """The study with those panels, cascades and rubrics alone that it asks for, and the names of the others.

    Where it lists `judges`, one that is not among them is left out, unless all of its members are asked about every
    case anyway: then it costs nothing. A study that lists no judges asks for all that it names.
    """
    if not study.judges:
        return study, []
    panels, cascades, rubrics = (
        {name: table for name, table in named.items() if f"{kind}{name}" in study.judges}
        for kind, named in ((PANEL, study.panels), (CASCADE, study.cascades), (RUBRIC, study.rubrics))
    )
    asked = {spec for spec in study.judges if not is_view(spec)}
    asked |= {spec for table in panels.values() for spec in table["members"]}
    asked |= {table["small"] for table in cascades.values()}
    panels |= {name: table for name, table in study.panels.items() if asked.issuperset(table["members"])}
    cascades |= {name: table for name, table in study.cascades.items() if {table["small"], table["large"]} <= asked}
    idle = [f"{PANEL}{name}" for name in study.panels if name not in panels]
    idle += [f"{CASCADE}{name}" for name in study.cascades if name not in cascades]
    idle += [f"{RUBRIC}{name}" for name in study.rubrics if name not in rubrics]
    return replace(study, panels=panels, cascades=cascades, rubrics=rubrics), idle


def idle_note(names: Sequence[str]) -> Note:
    """That panels, cascades and rubrics of a study are asked by nobody."""
    return Note(
        "study.idle",
        "{names}: named in the study, not among its judges; nobody is asked for it, and no table shows it.",
        names=", ".join(names),
    )


def member_specs(study: Study) -> list[str]:
    """The specs of all judges that panels and cascades are made of, each once."""
    members = [spec for table in study.panels.values() for spec in table["members"]]
    members += [table[role] for table in study.cascades.values() for role in ("small", "large")]
    return list(dict.fromkeys(members))


def named_views(study: Study, names: Mapping[str, str]) -> list[View]:
    """The panels and cascades of a study; `names` gives the names of judges by their specs."""
    seated: list[View] = []
    try:
        for name, table in study.panels.items():
            members = tuple(names[spec] for spec in table["members"])
            seated.append(Panel(f"{PANEL}{name}", members, table.get("rule", "majority"), table.get("quorum", 0)))
        for name, table in study.cascades.items():
            people, threshold = table.get("people", False), float(table.get("threshold", 1.0))
            small, large = names[table["small"]], names[table["large"]]
            promised = {key: float(table[key]) for key in ("agreement", "risk") if key in table}
            seated.append(Cascade(f"{CASCADE}{name}", small, large, people, threshold, **promised))
    except InputError as error:
        raise InputError(str(error), path=study.path) from error
    return seated


def second_judges(study: Study, names: Mapping[str, str]) -> list[str]:
    """The judges that are asked only about what a small one leaves in doubt: no panel and no list names them."""
    first = {names[spec] for spec in study.judges if not is_view(spec)}
    first |= {names[spec] for table in study.panels.values() for spec in table["members"]}
    first |= {names[table["small"]] for table in study.cascades.values()}
    return [name for name in dict.fromkeys(names[t["large"]] for t in study.cascades.values()) if name not in first]


def left_in_doubt(judge: str, cases: Sequence[Case], ledger: Ledger, seated: Sequence[View]) -> list[Case]:
    """The cases about which a cascade's large judge is asked, as far as its small judges have ruled."""
    keys = {case.key for case in cases}
    chosen: list[Case] = []
    doubts = set()
    for view in seated:
        if isinstance(view, Cascade) and view.large == judge:
            verdicts = ledger.record([view.small], cases=keys, texts=False).verdicts
            # A label that came in a file may stand under a case of its own: it is found by what it is about.
            people = ledger.record([PEOPLE], study=ledger.study, texts=False).verdicts if view.waits else ()
            doubts |= for_the_large(view, [*verdicts, *people])
    for case in cases:
        shown = frozenset((response.contestant, response.sample) for response in case.responses)
        if (case.item.id, case.criterion, case.ballot.spec, shown) in doubts:
            chosen.append(case)
    return chosen


def hear_doubts(
    judges: Sequence[Judge],
    cases: Sequence[Case],
    ledger: Ledger,
    seated: Sequence[View],
    *,
    engine: Engine,
    specs: Mapping[str, str],
    budget: Budget | None,
    stop: Stop,
    insist: Insistence,
    quiet: bool,
) -> list[Tally]:
    """Let each large judge of a cascade hear what the small one left in doubt, one after the other."""
    tallies: list[Tally] = []
    for judge in judges:
        if stop.reason:
            break
        doubts = left_in_doubt(judge.name, cases, ledger, seated)
        with watching("verdicts", [judge.name], len(doubts), quiet=quiet) as watch:
            tallies += hear(
                [judge], partial(_same, doubts), ledger,
                engine=engine, specs=specs, budget=budget, stop=stop, watch=watch, insist=insist,
            )  # fmt: skip
    return tallies


def _same(cases: Sequence[Case], _judge: Judge) -> Sequence[Case]:
    return cases
