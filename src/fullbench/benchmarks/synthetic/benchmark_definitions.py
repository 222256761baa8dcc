"""The synthetic benchmark as a `Benchmark`: known truth, planted biases. It tests fullbench, not a model."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.benchmark import Benchmark, Cases, LazyFunction
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.errors import InputError

RANKING_SIZE = 4


def build_synthetic_benchmark(
    seed: int = 7, size: int = 60, *, wide: bool = False, name: str = "synthetic"
) -> Benchmark:
    """Build a benchmark with known truth, contestants that read pixels and judges with known faults.

    `seed` determines pictures, questions and the draws of every judge; `size` is the number of items. With `wide`,
    there are more question types: letters to read, two pictures to compare, sums, dialogues.
    """

    def items(source: Path | None = None) -> list[Item]:
        """Generate the items from the seed; a source folder is refused."""
        from fullbench.synthetic.item_generator import build_items

        if source is not None:
            raise InputError("the synthetic benchmark draws its own pictures; leave out the source", path=source)
        return [entry.item for entry in build_items(seed, size, wide=wide)]

    return Benchmark(
        name=name,
        paper="none: an instrument of fullbench's own, with planted truth",
        items=items,
        cases=_make_cases(seed),
        tables=partial(LazyFunction("fullbench.benchmarks.synthetic.tables:tables"), seed=seed),
        contestants=LazyFunction("fullbench.synthetic.pixel_reading_contestants:build_contestants"),
        judges=partial(
            LazyFunction("fullbench.synthetic.benchmark_judges_with_planted_faults:build_judges"), seed, size, wide=wide
        ),
    )


def _make_cases(seed: int) -> Cases:
    """Draw the four of a ranking and their order by the item's name, so no contestant has a fixed place."""

    def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
        answers = list(responses)
        scores = cases_of(items, answers, Score(1, 5), trials=trials)
        pairs = cases_of(items, answers, Choice(tie=True), size=2, orders="both", trials=trials)
        return chain(scores, pairs, _ranking_cases(seed, items, answers, trials))

    return cases


def _ranking_cases(seed: int, items: Sequence[Item], responses: Sequence[Response], trials: int) -> Iterator[Case]:
    responses_by_item: dict[str, list[Response]] = {}
    for response in sorted(responses, key=lambda r: (r.contestant, r.sample)):
        responses_by_item.setdefault(response.item, []).append(response)
    for item in items:
        answers = responses_by_item.get(item.id, [])
        if len(answers) < RANKING_SIZE:
            continue
        four = tuple(random.Random(f"{seed}/{item.id}").sample(answers, RANKING_SIZE))
        for order in (four, four[::-1]):
            for trial in range(trials):
                yield Case(item, order, Ranking(), trial=trial)


synthetic_benchmark = build_synthetic_benchmark()
wide_synthetic_benchmark = build_synthetic_benchmark(size=66, wide=True, name="synthetic-wide")
