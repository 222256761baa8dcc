"""Judges' analyses side by side: what several judges wrote on one case, as answers that others can compare.

People say which analysis is better (the comparison of MLLM-as-a-Judge's Figure 21) by the tools that compare answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from fullbench.core.ballot import LETTERS
from fullbench.core.item import Item, Part, Turn
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.rubric import is_review
from fullbench.core.verdict import PEOPLE, Verdict


def hearings(record: Record) -> Iterator[Item]:
    """Each case on which at least two judges wrote, as an item: what was asked, and the answers that were judged."""
    for verdicts in _side_by_side(record).values():
        verdict = verdicts[0]
        item = record.items[verdict.item]
        parts: list[Part] = []
        for letter, shown in zip(LETTERS, verdict.shown, strict=False):
            parts += [f"Answer {letter}:\n", *record.responses[verdict.item, *shown].parts, "\n\n"]
        tags = {**item.tags, "judged item": item.id, "judged by": verdict.criterion}
        yield Item(verdict.case, (*item.turns, Turn("user", tuple(parts[:-1]))), tags=tags)


def analyses(record: Record) -> Iterator[Response]:
    """What each of these judges wrote on these cases, as its answer; the first time where it ruled several times."""
    for verdicts in _side_by_side(record).values():
        for verdict in verdicts:
            yield Response(verdict.case, verdict.judge, (verdict.text,))


def _side_by_side(record: Record) -> dict[str, list[Verdict]]:
    """By case, one ruling with words of each judge, where there are two judges or more and all answers are at hand."""
    written: dict[str, dict[str, Verdict]] = {}
    for verdict in sorted(record, key=lambda verdict: verdict.trial):
        known = verdict.item in record.items and all((verdict.item, *one) in record.responses for one in verdict.shown)
        if known and verdict.text and verdict.judge != PEOPLE and not is_review(verdict):
            written.setdefault(verdict.case, {}).setdefault(verdict.judge, verdict)
    return {case: list(by_judge.values()) for case, by_judge in written.items() if len(by_judge) > 1}
