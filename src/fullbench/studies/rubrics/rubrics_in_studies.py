"""Rubrics of a study file: their criteria, the judge that fills them in, and their cases."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Judge, models_of
from fullbench.core.response import Response
from fullbench.core.rubric import RUBRIC, Criterion, Rubric, criteria_of_items, parse_criteria
from fullbench.errors import DataWarning, InputError
from fullbench.files.toml_reader import read_toml
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.study_file import Study

ONE, EACH = "one", "each"
ITEMS = "items"
"""Name given for a rubric's file if each item has its own rubric."""
CALLS = (ONE, EACH)
CONFIRMED_KEY = "confirmed"
OPTION_KEYS = ("total", "cap")
"""Options of a rubric, in its file or its table in a study."""
_MERIT = re.compile(r"(?:^|: )(?:avoids?|refrains?)\b", re.IGNORECASE)
_FILE_KEYS = ("criteria", "proposed", CONFIRMED_KEY, *OPTION_KEYS)


def read_rubric(path: Path) -> tuple[tuple[Criterion, ...], dict[str, Any]]:
    """Read the criteria and options of a rubric file. Refuse a model's proposal until a person has confirmed it."""
    criteria, table = read_rubric_file(path)
    if "proposed" in table and table.get(CONFIRMED_KEY, {}).get("digest") != words_digest(criteria):
        state_text = "was changed since a person confirmed it" if CONFIRMED_KEY in table else "waits for a person"
        raise InputError(
            f"the rubric was proposed by a model and {state_text}; read it, then: fullbench rubric confirm {path}",
            path=path,
        )
    return criteria, _options(table)


def _options(table: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(table.get("cap", 0), int | float) or isinstance(table.get("cap"), bool):
        raise InputError(f"the cap of a rubric is a number; found {table['cap']!r}")
    return {key: table[key] for key in OPTION_KEYS if key in table}


def read_rubric_file(path: Path) -> tuple[tuple[Criterion, ...], Mapping[str, Any]]:
    """Return the criteria of a file, and its whole table. A .json file holds a list of criteria, as releases do."""
    table = _read_json_rubric(path) if path.suffix.lower() == ".json" else read_toml(path, "the rubric")[0]
    if unknown := [key for key in table if key not in _FILE_KEYS]:
        raise InputError(f"unknown key {unknown[0]!r} in a rubric; known: {', '.join(_FILE_KEYS)}", path=path)
    try:
        return parse_criteria(table.get("criteria")), table
    except InputError as error:
        raise InputError(str(error), path=path) from error


def _read_json_rubric(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"the rubric cannot be read ({error.strerror})", path=path) from error
    except ValueError as error:
        raise InputError(f"the rubric is not valid JSON ({error})", path=path) from error
    return value if isinstance(value, dict) else {"criteria": value}


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
    """Return rubric tables of one file for several judges, named after the file and, if needed, the judge.

    The path `items` means the items' own rubrics.
    """
    names = {spec: path.stem if len(judges) == 1 else f"{path.stem} by {spec}" for spec in judges}
    source = {} if str(path) == ITEMS else {"file": str(path.resolve())}
    return {name: {"judge": spec, **source, "calls": default_calls(spec)} for spec, name in names.items()}


def default_calls(spec: str) -> str:
    """Return `one` (one call for all criteria) for judges that prompt a model, else `each`."""
    return ONE if models_of(judge_contestant_and_benchmark_specs.judge_from_spec(spec)) else EACH


def load_rubrics(study: Study, items: Sequence[Item]) -> list[RubricWithJudge]:
    """Return the rubrics of a study, each with its judge."""
    item_criteria = criteria_of_items(items)
    rubrics = []
    for name, table in study.rubrics.items():
        try:
            criteria, file_options = _load_criteria(table, item_criteria, study.path.parent)
            spec = str(table["judge"])
            judge = judge_with_criteria(
                judge_contestant_and_benchmark_specs.judge_from_spec(spec), spec, criteria, str(table.get("calls", ONE))
            )
            rubric = Rubric(f"{RUBRIC}{name}", judge.name, criteria, **{**file_options, **_options(table)})
            rubrics.append(RubricWithJudge(rubric, judge))
            _warn_of_reversed_flaws(name, criteria)
        except InputError as error:
            if error.path is not None:
                raise
            path = study.path.parent / table["file"] if "file" in table else study.path
            raise InputError(f"[rubrics.{name}]: {error}", path=path) from error
    return rubrics


def _warn_of_reversed_flaws(name: str, criteria: Sequence[Criterion]) -> None:
    """Warn of flaws that are worded as merits, as most pitfalls of RaR-Science are."""
    flaws = [criterion for criterion in criteria if criterion.weight < 0]
    reversed_flaws = [criterion for criterion in flaws if _MERIT.search(criterion.words)]
    if reversed_flaws:
        sentence = (
            f"[rubrics.{name}]: {len(reversed_flaws):,} of {len(flaws):,} criteria with negative points are worded as "
            f"merits, the first: {reversed_flaws[0].words[:60]!r}. An answer that meets them loses points; turn their "
            "sign if that is not meant."
        )
        warnings.warn(sentence, DataWarning, stacklevel=2)


def _load_criteria(
    table: Mapping[str, Any], item_criteria: tuple[Criterion, ...], folder: Path
) -> tuple[tuple[Criterion, ...], dict[str, Any]]:
    if "file" in table:
        return read_rubric(folder / table["file"])
    if "criteria" in table:
        return parse_criteria(table["criteria"]), {}
    if not item_criteria:
        raise InputError("no item has a column 'rubric'; name a file or criteria, or give the items theirs")
    return item_criteria, {}


def judge_with_criteria(judge: Judge, spec: str, criteria: Sequence[Criterion], calls: str) -> Judge:
    """Return the judge that fills in a rubric: a prompted judge gets the texts of the criteria."""
    from fullbench.judges.prompted_judge import PromptedJudge
    from fullbench.judges.rubric_criterion_verdicts_in_one_call import SheetJudge

    if not isinstance(judge, PromptedJudge):
        if calls == ONE and len(criteria) > 1:
            raise InputError(f"{spec!r} is not a model that takes prompts; use calls = {EACH!r}, or name a model")
        return judge
    words = {line.name: line.words for line in criteria if line.asks}
    judge = replace(judge, criteria={**judge.criteria, **words})
    return SheetJudge(judge, tuple(criteria)) if calls == ONE else judge
