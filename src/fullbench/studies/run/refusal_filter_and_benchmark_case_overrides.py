"""Answers excluded from judging (refusals, very short ones; counted), and overrides of a benchmark's cases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, permutations
from typing import Protocol

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case, Orders
from fullbench.core.dialogue_turn_answers_and_criteria import criteria_of_items
from fullbench.core.response import REFUSAL_STOPS, Response, split_refused_drawings
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError

EXCLUSION_KINDS = ("refusals", "short")
DRAWINGS = "drawings"
_KIND_COLUMNS = {"refusals": "refusals", "short": "short answers", DRAWINGS: "refused drawings"}
MIN_WORDS = 3
"""An answer with fewer words is short; each Chinese character counts as a word."""
_REFUSAL = re.compile(
    r"""\s*["'\u201c]?(
        (i\W?m|i\s+am)\s+(very\s+|so\s+|really\s+)?(sorry|afraid)\b
      | (sorry|apologies)\b[^.!?]{0,60}\b(can\W?t|cannot|can\s+not|unable|not\s+able)\b
      | i\s+(can\W?t|cannot|can\s+not|won\W?t|am\s+unable\s+to|am\s+not\s+able\s+to)\s+(help|assist|answer|provide|
            comply|do\s+that|process|discuss|identify|fulfil|continue|view|see|look)\b
      | as\s+an?\s+(ai|language|large)\b[^.!?]{0,80}\b(can\W?t|cannot|unable|not\s+able)\b
      | (很)?抱歉 | 对不起 | 我(无法|不能|没有办法)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+")


def is_refusal(response: Response) -> bool:
    """Return True if an answer declines, by its stop reason or its first words.

    >>> [is_refusal(Response.say("i", "c", text)) for text in ("I am sorry.", "抱歉，我不能。", "A sorry sight.")]
    [True, True, False]
    """
    return (
        bool(REFUSAL_STOPS & {response.stop, response.tags.get("stop", "")})
        or _REFUSAL.match(response.text) is not None
    )


def is_short(response: Response) -> bool:
    """Return True if a text answer has too few words. An answer with pictures is never short.

    >>> [is_short(Response.say("i", "c", text)) for text in ("Two.", "It is two.", "是两只猫")]
    [True, False, False]
    """
    return not response.pictures and len(_WORD.findall(response.text)) < MIN_WORDS


@dataclass
class FilteredAnswers:
    """The answers to judge, and counts of the excluded ones by contestant and reason."""

    responses: list[Response] = field(default_factory=list)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def table(self) -> Table | None:
        """Return the excluded answers by contestant, or None if there are none."""
        if not self.counts:
            return None
        names = sorted({name for name, _ in self.counts})
        # Refused drawings are always excluded; the other kinds only if a study names them.
        is_used = {kind: any(kind == counted for _, counted in self.counts) for kind in _KIND_COLUMNS}
        kinds = [kind for kind in _KIND_COLUMNS if is_used[kind] or (kind != DRAWINGS and not is_used[DRAWINGS])]
        rows: list[list[Cell]] = [[name, *(self.counts[name, kind] for kind in kinds)] for name in names]
        drawings = sum(count for (_, kind), count in self.counts.items() if kind == DRAWINGS)
        notes = [Note("cleaning.drawings", n=drawings)] if drawings else []
        if answers := self.counts.total() - drawings:
            notes.append(Note("cleaning.left-out", n=answers, fewest=MIN_WORDS))
        title = Note("cleaning.title")
        heads = [_KIND_COLUMNS[kind] for kind in kinds]
        hint = {"kind": "stacked", "label": "contestant", "parts": heads}
        return Table("left out", title, table_columns("contestant", *heads), rows, notes, {}, hint)


def exclude_answers(responses: Iterable[Response], leave_out: Sequence[str]) -> FilteredAnswers:
    """Remove refused drawings and the kinds of answers named in `leave_out`, and count them."""
    filtered_answers = FilteredAnswers()
    answers, drawings = split_refused_drawings(responses)
    filtered_answers.counts.update((response.contestant, DRAWINGS) for response in drawings)
    for response in answers:
        if "refusals" in leave_out and is_refusal(response):
            filtered_answers.counts[response.contestant, "refusals"] += 1
        elif "short" in leave_out and is_short(response):
            filtered_answers.counts[response.contestant, "short"] += 1
        else:
            filtered_answers.responses.append(response)
    return filtered_answers


class CaseOverrides(Protocol):
    """Criteria of a study, and whether its file sets them."""

    @property
    def criteria(self) -> tuple[str, ...]: ...
    @property
    def keys_in_file(self) -> frozenset[str]: ...


def apply_case_overrides(cases: Iterable[Case], study: CaseOverrides, orders: Orders) -> Iterator[Case]:
    """Yield a benchmark's cases in these orders, and by the criteria that a study file sets.

    Cases on the same responses must be adjacent. `sorted` and `shuffled` show each set of responses once, `all` in
    every order. A study's criteria may only replace `overall`.
    """
    if orders == "both":
        reordered_cases: Iterable[Case] = cases
    else:
        sets = groupby(cases, key=lambda case: (case.item.id, frozenset(r.key for r in case.responses),
                                                case.ballot.spec, case.criterion))  # fmt: skip
        reordered_cases = (case for _, group in sets for case in _reorder_cases(list(group), orders))
    for case in reordered_cases:
        if "criteria" not in study.keys_in_file:
            yield case
        elif case.criterion != "overall":
            raise InputError(f"the benchmark has its own criterion {case.criterion!r}: leave out 'criteria'")
        else:
            for requested_criterion in study.criteria:
                for criterion, items in criteria_of_items(requested_criterion, [case.item]):
                    yield from (replace(case, criterion=criterion) for _ in items)


def _reorder_cases(group: Sequence[Case], orders: Orders) -> Iterator[Case]:
    first = [case for case in group if case.contestants == group[0].contestants]
    for case in first:
        if orders == "all":
            yield from (replace(case, responses=response_order) for response_order in permutations(case.responses))
        elif orders == "sorted":
            response_order = tuple(sorted(case.responses, key=lambda response: (response.contestant, response.sample)))
            yield replace(case, responses=response_order)
        else:
            yield case
