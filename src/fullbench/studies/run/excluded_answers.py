"""Answers that are not judged: refusals, and what is too short to be an answer. They are counted, never just gone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, permutations
from typing import Protocol

from fullbench.core.case import Case, Orders
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError

LEFT_OUT = ("refusals", "short")
FEWEST = 3
"""An answer with fewer words is short; Chinese characters count as words."""
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
    """Whether an answer declines: its end says so, or its first words do.

    >>> [is_refusal(Response.say("i", "c", text)) for text in ("I am sorry.", "抱歉，我不能。", "A sorry sight.")]
    [True, True, False]
    """
    ended = response.stop in {"refused", "filter"} or response.tags.get("stop") in {"refused", "filter"}
    return ended or _REFUSAL.match(response.text) is not None


def is_short(response: Response) -> bool:
    """Whether an answer in words has too few of them; one with pictures is never short.

    >>> [is_short(Response.say("i", "c", text)) for text in ("Two.", "It is two.", "是两只猫")]
    [True, False, False]
    """
    return not response.pictures and len(_WORD.findall(response.text)) < FEWEST


@dataclass
class Cleaned:
    """The answers that are judged, and how many of each contestant are left out for what."""

    responses: list[Response] = field(default_factory=list)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def table(self) -> Table | None:
        """What was left out, by contestant; None where nothing was."""
        if not self.counts:
            return None
        names = sorted({name for name, _ in self.counts})
        rows: list[list[Cell]] = [[name, self.counts[name, "refusals"], self.counts[name, "short"]] for name in names]
        note = Note(
            "cleaning.left-out",
            "{n:,} answers were not judged: refusals decline to answer, short answers have fewer than {fewest} words.",
            n=self.counts.total(), fewest=FEWEST,
        )  # fmt: skip
        title = Note("cleaning.title", "Answers left out before judging")
        columns = headings("contestant", "refusals", "short answers")
        hint = {"kind": "stacked", "label": "contestant", "parts": ["refusals", "short answers"]}
        return Table("left out", title, columns, rows, [note], {}, hint)


def cleaned(responses: Iterable[Response], leave_out: Sequence[str]) -> Cleaned:
    """The answers without those that are to be left out."""
    done = Cleaned()
    for response in responses:
        if "refusals" in leave_out and is_refusal(response):
            done.counts[response.contestant, "refusals"] += 1
        elif "short" in leave_out and is_short(response):
            done.counts[response.contestant, "short"] += 1
        else:
            done.responses.append(response)
    return done


class Overriding(Protocol):
    """What a study says of orders and criteria, and whether it says so at all."""

    @property
    def orders(self) -> Orders: ...
    @property
    def criteria(self) -> tuple[str, ...]: ...
    @property
    def said(self) -> frozenset[str]: ...


def rearranged(cases: Iterable[Case], study: Overriding) -> Iterator[Case]:
    """A benchmark's cases in other orders and under other criteria than its own, where a study says so.

    Cases on the same responses stand together; `sorted` and `shuffled` show each of these sets once, `all` in every
    order. A criterion of one's own takes the place of `overall` and of nothing else.
    """
    orders = study.orders if "orders" in study.said else "both"
    if orders == "both":
        ordered: Iterable[Case] = cases
    else:
        sets = groupby(cases, key=lambda case: (case.item.id, frozenset(r.key for r in case.responses),
                                                case.ballot.spec, case.criterion))  # fmt: skip
        ordered = (case for _, group in sets for case in _in_order(list(group), orders))
    for case in ordered:
        if "criteria" not in study.said:
            yield case
        elif case.criterion != "overall":
            raise InputError(f"the benchmark has a criterion {case.criterion!r} of its own: leave out 'criteria'")
        else:
            yield from (replace(case, criterion=criterion) for criterion in study.criteria)


def _in_order(group: Sequence[Case], orders: Orders) -> Iterator[Case]:
    first = [case for case in group if case.contestants == group[0].contestants]
    for case in first:
        if orders == "all":
            yield from (replace(case, responses=shown) for shown in permutations(case.responses))
        elif orders == "sorted":
            shown = tuple(sorted(case.responses, key=lambda response: (response.contestant, response.sample)))
            yield replace(case, responses=shown)
        else:
            yield case
