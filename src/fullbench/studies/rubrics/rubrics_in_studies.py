"""Rubrics as a study's file names them: who fills them in, on which cases, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.item import Item
from fullbench.core.judge import Judge, models_of
from fullbench.core.response import Response
from fullbench.core.rubric import RUBRIC, Criterion, Rubric, criteria_of, own_criteria
from fullbench.errors import InputError
from fullbench.files.toml_files import read_toml
from fullbench.studies import judge_and_model_specs
from fullbench.studies.study_file import Study

ONE, EACH = "one", "each"
CALLS = (ONE, EACH)
"""All criteria in one call, or a call for each."""
CONFIRMED = "confirmed"
_FILE_KEYS = ("criteria", "proposed", CONFIRMED)


def read_rubric(path: Path, *, confirmed: bool = True) -> tuple[Criterion, ...]:
    """The criteria of a rubric's file. What a model proposed is refused until a person has confirmed these words."""
    criteria, table = read_file(path)
    if confirmed and "proposed" in table and table.get(CONFIRMED, {}).get("digest") != words_digest(criteria):
        changed = "was changed since a person confirmed it" if CONFIRMED in table else "waits for a person"
        raise InputError(
            f"the rubric was proposed by a model and {changed}; read it, then: fullbench rubric confirm {path}",
            path=path,
        )
    return criteria


def read_file(path: Path) -> tuple[tuple[Criterion, ...], Mapping[str, Any]]:
    """The criteria of a file, and all that stands in it."""
    table, _ = read_toml(path, "the rubric")
    if unknown := [key for key in table if key not in _FILE_KEYS]:
        raise InputError(f"unknown key {unknown[0]!r} in a rubric; known: {', '.join(_FILE_KEYS)}", path=path)
    try:
        return criteria_of(table.get("criteria")), table
    except InputError as error:
        raise InputError(str(error), path=path) from error


def words_digest(criteria: Sequence[Criterion]) -> str:
    """Stands for what a person confirmed: names, words and ballots, not the weights."""
    return digest([[criterion.name, criterion.words, criterion.ballot] for criterion in criteria])[:16]


@dataclass(frozen=True)
class Filled:
    """One rubric of a study with the judge that fills it in."""

    rubric: Rubric
    judge: Judge

    def cases(self, items: Sequence[Item], responses: Iterable[Response], trials: int) -> Iterator[Case]:
        """A case for every response and criterion, those of a response one after the other."""
        answers: dict[str, list[Response]] = {}
        for response in responses:
            answers.setdefault(response.item, []).append(response)
        forms = {criterion.ballot: ballot(criterion.ballot) for criterion in self.rubric.criteria}
        for item in items:
            lines = self.rubric.of_item(item.id)
            for response in sorted(answers.get(item.id, ()), key=lambda answer: (answer.contestant, answer.sample)):
                for trial in range(trials):
                    for line in lines:
                        yield Case(item, (response,), forms[line.ballot], line.name, trial)


def rubrics_by(judges: Sequence[str], path: Path) -> dict[str, dict[str, Any]]:
    """One file filled in by several judges: a rubric for each, named after the file, and the judge where needed."""
    names = {spec: path.stem if len(judges) == 1 else f"{path.stem} by {spec}" for spec in judges}
    file = str(path.resolve())
    return {name: {"judge": spec, "file": file, "calls": usual_calls(spec)} for spec, name in names.items()}


def usual_calls(spec: str) -> str:
    """One call for all criteria where a judge is asked in words, else one each."""
    return ONE if models_of(judge_and_model_specs.judge(spec)) else EACH


def filled(study: Study, items: Sequence[Item]) -> list[Filled]:
    """The rubrics of a study, each with its judge."""
    own = own_criteria(items)
    rubrics = []
    for name, table in study.rubrics.items():
        try:
            criteria = _criteria(table, own, study.path.parent)
            judge = _judge(str(table["judge"]), criteria, str(table.get("calls", ONE)))
            rubrics.append(Filled(Rubric(f"{RUBRIC}{name}", judge.name, criteria), judge))
        except InputError as error:
            if error.path is not None:
                raise
            raise InputError(f"[rubrics.{name}]: {error}", path=study.path) from error
    return rubrics


def _criteria(table: Mapping[str, Any], own: tuple[Criterion, ...], folder: Path) -> tuple[Criterion, ...]:
    if "file" in table:
        return read_rubric(folder / table["file"])
    if "criteria" in table:
        return criteria_of(table["criteria"])
    if not own:
        raise InputError("no item has a column 'rubric'; name a file or criteria, or give the items theirs")
    return own


def _judge(spec: str, criteria: Sequence[Criterion], calls: str) -> Judge:
    """The judge that a spec names, told what each criterion means."""
    from fullbench.judges.prompted import PromptedJudge
    from fullbench.judges.rubric_in_one_call import SheetJudge

    judge = judge_and_model_specs.judge(spec)
    if not isinstance(judge, PromptedJudge):
        if calls == ONE and len(criteria) > 1:
            raise InputError(f"{spec!r} is no model that is asked in words; say calls = {EACH!r}, or name a model")
        return judge
    words = {line.name: line.words for line in criteria if line.asks}
    worded = replace(judge, criteria={**judge.criteria, **words})
    return SheetJudge(worded, tuple(criteria)) if calls == ONE else worded
