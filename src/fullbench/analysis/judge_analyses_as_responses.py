"""Judges' analyses of one case as responses, so that people or judges can compare them.

People pick the better analysis (the comparison of MLLM-as-a-Judge's Figure 21) with the tools that compare answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from fullbench.core.ballot import LETTERS
from fullbench.core.item import Item, Part, Turn
from fullbench.core.response import Response
from fullbench.core.rubric import is_review
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record


def cases_as_items(record: Record) -> Iterator[Item]:
    """Yield each case with texts of at least two judges as an item: the question and the judged answers."""
    for verdicts in _analyses_by_case(record).values():
        verdict = verdicts[0]
        item = record.items[verdict.item]
        parts: list[Part] = []
        for letter, response_key in zip(LETTERS, verdict.shown_responses, strict=False):
            parts += [f"Answer {letter}:\n", *record.responses[verdict.item, *response_key].parts, "\n\n"]
        tags = {**item.tags, "judged item": item.id, "judged by": verdict.criterion}
        yield Item(verdict.case, (*item.turns, Turn("user", tuple(parts[:-1]))), tags=tags)


def analyses_as_responses(record: Record) -> Iterator[Response]:
    """Yield each judge's text on these cases as a response, from its first trial."""
    for verdicts in _analyses_by_case(record).values():
        for verdict in verdicts:
            yield Response(verdict.case, verdict.judge, (verdict.text,))


def _analyses_by_case(record: Record) -> dict[str, list[Verdict]]:
    """Return one verdict with text per judge and case, for cases with two judges and all answers available."""
    verdicts_by_case: dict[str, dict[str, Verdict]] = {}
    for verdict in sorted(record, key=lambda verdict: verdict.trial):
        has_content = verdict.item in record.items and all(
            (verdict.item, *response_key) in record.responses for response_key in verdict.shown_responses
        )
        if has_content and verdict.text and verdict.judge != PEOPLE and not is_review(verdict):
            verdicts_by_case.setdefault(verdict.case, {}).setdefault(verdict.judge, verdict)
    return {case: list(by_judge.values()) for case, by_judge in verdicts_by_case.items() if len(by_judge) > 1}
