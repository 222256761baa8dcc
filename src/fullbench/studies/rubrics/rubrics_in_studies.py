"""Rubrics of a study file: their criteria, the judge that fills them in, and their cases."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Judge, models_of
from fullbench.core.panel_and_cascade import View
from fullbench.core.response import Response
from fullbench.core.rubric import RUBRIC, Criterion, Rubric, criteria_of_items, parse_criteria
from fullbench.errors import DataWarning, InputError, LedgerError
from fullbench.files.toml_reader import read_toml
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.study_file import Study

ONE, EACH = "one", "each"
ITEMS = "items"
"""Name given for a rubric's file if each item has its own rubric."""
CALLS = (ONE, EACH)
CONFIRMED_KEY = "confirmed"
OPTION_KEYS = ("total", "cap")
"""Options of a rubric, in its file or its table in a study."""
_LONGEST_NAME = 60
"""Longest name of a criterion in an error; criteria of items are named by their full text."""
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


def rubrics_by(
    judges: Sequence[str], stem: str, source: Mapping[str, Any], ledger: Ledger | str | Path
) -> dict[str, dict[str, Any]]:
    """Return a table of the same rubric for each judge, by names that the ledger does not have for another judge.

    Args:
        judges: Specs of the judges.
        stem: Name of the rubric. One judge alone has it; others are `STEM by JUDGE`.
        source: Entries of the tables, such as `file` or `criteria`; none for the items' own rubrics.
        ledger: The ledger that will store the verdicts, open or by its place; it may not exist yet.
    """
    words = {spec: re.split("[@?]", spec.partition(":")[2] or spec)[0] or spec for spec in judges}
    tables: dict[str, dict[str, Any]] = {}
    with _readable_ledger(ledger) as book:
        for spec in judges:
            head = judge_contestant_and_benchmark_specs.judge_from_spec(spec).name.partition("#")[0]
            for name in (stem, f"{stem} by {words[spec]}", f"{stem} by {spec}"):
                known = book.settings_behind("judge", f"{RUBRIC}{name}") if book is not None else None
                owner = None if known is None else str(known["judge"]).partition("#")[0].removesuffix("+sheet")
                is_free = owner is None and (name != stem or len(judges) == 1)
                if name not in tables and (is_free or owner == head):
                    break
            tables[name] = {"judge": spec, **source, "calls": default_calls(spec)}
    return tables


def rubric_source(path: Path) -> dict[str, Any]:
    """Return the entries of a rubric's table for a path; the path `items` means the items' own rubrics."""
    return {} if str(path) == ITEMS else {"file": str(path.resolve())}


@contextmanager
def _readable_ledger(ledger: Ledger | str | Path) -> Iterator[Ledger | None]:
    if isinstance(ledger, Ledger):
        yield ledger
        return
    with ExitStack() as contexts:
        book = None
        with suppress(LedgerError):  # there is none yet, or the run itself will say what is wrong with it
            book = contexts.enter_context(Ledger(ledger, read_only=True))
        yield book


def declare_view(ledger: Ledger, view: View) -> None:
    """Declare a panel, a cascade or a rubric in a ledger; refuse a rubric that was changed under the same name.

    A rubric of the items' own criteria grows with the items that are judged.
    """
    settings = view.settings
    stored_settings = ledger.settings_behind("judge", view.name) if isinstance(view, Rubric) else None
    if stored_settings is not None:
        if change := _change_of_rubric(stored_settings, settings):
            raise InputError(
                f"{ledger.place}: {view.name} is in this ledger already, and {change}. Give the rubric another name "
                "(the name of its file or table), or use another ledger"
            )
        items = {**stored_settings.get("items", {}), **settings.get("items", {})}
        settings = {**settings, **({"items": items} if items else {})}
    ledger.declare("judge", view.name, settings)


def _change_of_rubric(known: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the first difference between two settings of a rubric, or ""."""
    if known["judge"] != now["judge"]:
        return f"its judge was {known['judge']} and is now {now['judge']}"
    for key, default in (("total", "clipped"), ("cap", None)):
        if known.get(key, default) != now.get(key, default):
            return f"its {key} was {known.get(key, default)} and is now {now.get(key, default)}"
    both = [("", known["criteria"], now["criteria"])]
    of_items, known_items = now.get("items", {}), known.get("items", {})
    both += [(f" of item {item!r}", rows, of_items[item]) for item, rows in known_items.items() if item in of_items]
    for whose, before, after in both:
        rows = {row[0]: row[1:] for row in before}
        for name, *rest in after:
            if rows.pop(name, None) != rest:
                return f"its criterion {_cut(name)}{whose} is new or has other points, another ballot or requirement"
        if rows:
            return f"its criterion {_cut(next(iter(rows)))}{whose} is missing now"
    return ""


def _cut(name: str) -> str:
    return repr(name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…")


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
        raise InputError("no item has a column 'rubric'; give a file or criteria, or add the column")
    return item_criteria, {}


def judge_with_criteria(judge: Judge, spec: str, criteria: Sequence[Criterion], calls: str) -> Judge:
    """Return the judge that fills in a rubric: a prompted judge gets the texts of the criteria."""
    from fullbench.judges.prompted_judge import PromptedJudge
    from fullbench.judges.rubric_criterion_verdicts_in_one_call import SheetJudge

    if not isinstance(judge, PromptedJudge):
        if calls == ONE and len(criteria) > 1:
            raise InputError(f"{spec!r} is not a model that takes prompts; use calls = {EACH!r}, or use a model")
        return judge
    words = {line.name: line.words for line in criteria if line.asks}
    judge = replace(judge, criteria={**judge.criteria, **words})
    return SheetJudge(judge, tuple(criteria)) if calls == ONE else judge
