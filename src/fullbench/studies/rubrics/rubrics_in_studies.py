"""Rubrics of a study file: their criteria, the judge that fills them in, and their cases."""

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
from fullbench.core.rubric import RUBRIC, Criterion, Rubric, criteria_of_items, parse_criteria
from fullbench.errors import InputError
from fullbench.files.toml_files import read_toml
from fullbench.studies import judge_and_model_specs
from fullbench.studies.study_file import Study

ONE, EACH = "one", "each"
CALLS = (ONE, EACH)
CONFIRMED_KEY = "confirmed"
_FILE_KEYS = ("criteria", "proposed", CONFIRMED_KEY)


def read_rubric(path: Path) -> tuple[Criterion, ...]:
    """Read the criteria of a rubric file. Refuse a model's proposal until a person has confirmed its text."""
    criteria, table = read_rubric_file(path)
    if "proposed" in table and table.get(CONFIRMED_KEY, {}).get("digest") != words_digest(criteria):
        state_text = "was changed since a person confirmed it" if CONFIRMED_KEY in table else "waits for a person"
        raise InputError(
            f"the rubric was proposed by a model and {state_text}; read it, then: fullbench rubric confirm {path}",
            path=path,
        )
    return criteria


def read_rubric_file(path: Path) -> tuple[tuple[Criterion, ...], Mapping[str, Any]]:
    """Return the criteria of a file, and its whole table."""
    table, _ = read_toml(path, "the rubric")
    if unknown := [key for key in table if key not in _FILE_KEYS]:
        raise InputError(f"unknown key {unknown[0]!r} in a rubric; known: {', '.join(_FILE_KEYS)}", path=path)
    try:
        return parse_criteria(table.get("criteria")), table
    except InputError as error:
        raise InputError(str(error), path=path) from error


def words_digest(criteria: Sequence[Criterion]) -> str:
    """Return a digest of what a person confirms: names, texts and ballots, but not weights."""
    return digest([[criterion.name, criterion.words, criterion.ballot] for criterion in criteria])[:16]


@dataclass(frozen=True)
class RubricWithJudge:
    """A rubric of a study with the judge that fills it in."""

    rubric: Rubric
    judge: Judge

    def cases(self, items: Sequence[Item], responses: Iterable[Response], trials: int) -> Iterator[Case]:
        """Yield a case for every response and criterion; the cases of a response are consecutive."""
        answers: dict[str, list[Response]] = {}
        for response in responses:
            answers.setdefault(response.item, []).append(response)
        forms = {criterion.ballot: ballot(criterion.ballot) for criterion in self.rubric.criteria}
        for item in items:
            lines = self.rubric.criteria_for_item(item.id)
            # SheetJudge groups consecutive cases of a response into one call: criteria must be the inner loop.
            for response in sorted(answers.get(item.id, ()), key=lambda answer: (answer.contestant, answer.sample)):
                for trial in range(trials):
                    for line in lines:
                        yield Case(item, (response,), forms[line.ballot], line.name, trial)


def rubrics_by(judges: Sequence[str], path: Path) -> dict[str, dict[str, Any]]:
    """Return rubric tables of one file for several judges, named after the file and, if needed, the judge."""
    names = {spec: path.stem if len(judges) == 1 else f"{path.stem} by {spec}" for spec in judges}
    file = str(path.resolve())
    return {name: {"judge": spec, "file": file, "calls": default_calls(spec)} for spec, name in names.items()}


def default_calls(spec: str) -> str:
    """Return `one` (one call for all criteria) for judges that prompt a model, else `each`."""
    return ONE if models_of(judge_and_model_specs.judge_from_spec(spec)) else EACH


def load_rubrics(study: Study, items: Sequence[Item]) -> list[RubricWithJudge]:
    """Return the rubrics of a study, each with its judge."""
    item_criteria = criteria_of_items(items)
    rubrics = []
    for name, table in study.rubrics.items():
        try:
            criteria = _load_criteria(table, item_criteria, study.path.parent)
            judge = _rubric_judge(str(table["judge"]), criteria, str(table.get("calls", ONE)))
            rubrics.append(RubricWithJudge(Rubric(f"{RUBRIC}{name}", judge.name, criteria), judge))
        except InputError as error:
            if error.path is not None:
                raise
            raise InputError(f"[rubrics.{name}]: {error}", path=study.path) from error
    return rubrics


def _load_criteria(
    table: Mapping[str, Any], item_criteria: tuple[Criterion, ...], folder: Path
) -> tuple[Criterion, ...]:
    if "file" in table:
        return read_rubric(folder / table["file"])
    if "criteria" in table:
        return parse_criteria(table["criteria"])
    if not item_criteria:
        raise InputError("no item has a column 'rubric'; name a file or criteria, or give the items theirs")
    return item_criteria


def _rubric_judge(spec: str, criteria: Sequence[Criterion], calls: str) -> Judge:
    from fullbench.judges.prompted_judge import PromptedJudge
    from fullbench.judges.rubric_in_one_call import SheetJudge

    judge = judge_and_model_specs.judge_from_spec(spec)
    if not isinstance(judge, PromptedJudge):
        if calls == ONE and len(criteria) > 1:
            raise InputError(f"{spec!r} is no model that is asked in words; say calls = {EACH!r}, or name a model")
        return judge
    words = {line.name: line.words for line in criteria if line.asks}
    judge_with_criteria = replace(judge, criteria={**judge.criteria, **words})
    return SheetJudge(judge_with_criteria, tuple(criteria)) if calls == ONE else judge_with_criteria
