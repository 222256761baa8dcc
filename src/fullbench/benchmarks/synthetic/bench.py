"""The court: a benchmark with known truth. It measures the instrument, not any model; see README.md."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.benchmark import Benchmark, Cases, Late
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.errors import InputError

RANKED = 4
"""How many responses a ranking shows."""


def court_of(seed: int = 7, size: int = 60, *, wide: bool = False, name: str = "court") -> Benchmark:
    """Pictures with known truth, contestants that look at them, and judges whose faults are known.

    `seed` settles pictures, questions and every judge's draws; `size` is the number of items. A `wide` court has more
    kinds of questions: letters to read, two pictures to compare, sums, dialogues.
    """

    def items(source: Path | None = None) -> list[Item]:
        """The items, made afresh from the seed; there is nothing to read from a folder."""
        from fullbench.synthetic.sample_items import sample

        if source is not None:
            raise InputError("the court makes its own pictures; leave the source out", path=source)
        return [known.item for known in sample(seed, size, wide=wide)]

    return Benchmark(
        name=name,
        paper="none: an instrument of fullbench's own, with planted truth",
        items=items,
        cases=_cases(seed),
        tables=partial(Late("fullbench.benchmarks.synthetic.tables:tables"), seed=seed),
        contestants=Late("fullbench.synthetic.contestants:contestants"),
        judges=partial(Late("fullbench.synthetic.planted_judges:judges"), seed, size, wide=wide),
    )


def _cases(seed: int) -> Cases:
    """Every response scored alone, every pair in both orders, and for each item one ranking of four, both ways.

    Which four, and in which order, is drawn by the item's name: a place belongs to no contestant.
    """

    def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
        answers = list(responses)
        scores = cases_of(items, answers, Score(1, 5), trials=trials)
        pairs = cases_of(items, answers, Choice(tie=True), size=2, orders="both", trials=trials)
        return chain(scores, pairs, _rankings(seed, items, answers, trials))

    return cases


def _rankings(seed: int, items: Sequence[Item], responses: Sequence[Response], trials: int) -> Iterator[Case]:
    shown: dict[str, list[Response]] = {}
    for response in sorted(responses, key=lambda r: (r.contestant, r.sample)):
        shown.setdefault(response.item, []).append(response)
    for item in items:
        answers = shown.get(item.id, [])
        if len(answers) < RANKED:
            continue
        four = tuple(random.Random(f"{seed}/{item.id}").sample(answers, RANKED))
        for order in (four, four[::-1]):
            for trial in range(trials):
                yield Case(item, order, Ranking(), trial=trial)


court = court_of()
court_wide = court_of(size=66, wide=True, name="court-wide")
