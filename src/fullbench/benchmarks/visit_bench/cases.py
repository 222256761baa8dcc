"""What is judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fullbench.benchmarks.visit_bench.sources import REFERENCE, is_judged, references
from fullbench.errors import InputError
from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.response import Response


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """Every two answers to an item, the verified reference among them, in both orders.

    An item whose reference was found wrong, or was not verified yet, is not judged.
    """
    answers = list(responses)
    verified = [item for item in items if is_judged(item)]
    if items and not verified:
        raise InputError(f"none of the {len(items):,} items has a verified reference, and only such items are judged")
    if not any(response.contestant == REFERENCE for response in answers):
        answers += references(verified)
    yield from cases_of(verified, answers, Choice(tie=False), size=2, orders="both", trials=trials)
