"""Item rows of released rubric benchmarks (HealthBench, PRBench, RaR), as rows with our column names.

HealthBench
    `prompt` (a list of `role` and `content`), `rubrics` (criteria with `criterion` and `points`), `prompt_id`, and an
    ideal completion in `ideal_completions_data`.
PRBench
    `prompt_0`, `response_0`, `reference_texts_0`, `prompt_1`..., `rubric` (criteria with `title` and `annotations`),
    `task`. Reference texts are put before their prompt in the words of the authors' evaluator.
RaR
    `question`, `reference_answer`, `rubric` (criteria with `title`, `description` and `weight`), and no id.

Criteria are not changed. Columns that are not named here become tags of the item, as in any other file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fullbench.core.rubric import RUBRIC_TAG

_TURNS = 10
"""PRBench has columns for ten turns."""


def convert_rubric_row(row: Mapping[str, Any], line: int) -> Mapping[str, Any]:
    """Return the row of an item under our column names; a row of any other form is returned as it is."""
    if isinstance(row.get("rubrics"), list) and isinstance(row.get("prompt"), list):
        return _from_health_bench(row, line)
    criteria = row.get(RUBRIC_TAG)
    if not isinstance(criteria, list) or not all(isinstance(criterion, Mapping) for criterion in criteria):
        return row
    if "prompt_0" in row:
        return _from_pr_bench(row, line)
    if "reference_answer" in row and "question" in row and "reference" not in row:
        row = {**_without(row, ["reference_answer"]), "reference": row["reference_answer"]}
    return row if "id" in row else {"id": f"row-{line}", **row}


def _from_health_bench(row: Mapping[str, Any], line: int) -> Mapping[str, Any]:
    ideal = row.get("ideal_completions_data")
    reference = ideal.get("ideal_completion") if isinstance(ideal, Mapping) else None
    turns = [
        {"role": turn.get("role"), "parts": [turn.get("content")]} if isinstance(turn, Mapping) else turn
        for turn in row["prompt"]
    ]
    left = _without(row, ["prompt", "rubrics", "prompt_id"])
    names = {"id": row.get("prompt_id") or row.get("id") or f"row-{line}", RUBRIC_TAG: row["rubrics"]}
    return {**left, **names, "turns": turns, **({} if reference is None else {"reference": reference})}


def _from_pr_bench(row: Mapping[str, Any], line: int) -> Mapping[str, Any]:
    turns, taken = [], ["task"]
    for place in range(_TURNS):
        references = row.get(f"reference_texts_{place}") or []
        before = "".join(f"Reference Text {number}:\n{text}\n\n" for number, text in enumerate(references))
        for role, name in (("user", f"prompt_{place}"), ("assistant", f"response_{place}")):
            text = row.get(name)
            if isinstance(text, str) and text.strip():
                turns.append({"role": role, "parts": [before + text if role == "user" else text]})
        taken += [f"prompt_{place}", f"response_{place}", f"reference_texts_{place}"]
    return {**_without(row, taken), "id": row.get("task") or row.get("id") or f"row-{line}", "turns": turns}


def _without(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
