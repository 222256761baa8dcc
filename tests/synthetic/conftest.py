"""The whole synthetic benchmark, heard once for all tests that look at what came of it."""

from __future__ import annotations

import pytest

from fullbench.benchmarks.synthetic.benchmark_definitions import build_synthetic_benchmark
from fullbench.core.model import Prompt
from fullbench.core.response import Response
from fullbench.core.verdict_record import Record
from fullbench.synthetic.item_generator import build_items


def answers(model, items):
    """What a model answers to items, asked as a run would ask: with the item's turns and nothing else."""
    replies = model.answer(Prompt(item.turns, tag=item.id) for item in items)
    return {reply.prompt.tag: reply.text for reply in replies}


@pytest.fixture(scope="session")
def known():
    """Two hundred items with their scenes."""
    return build_items(7, 200)


@pytest.fixture(scope="session")
def answered(known):
    """What every contestant says to the two hundred."""
    items = [one.item for one in known]
    return {model.label: answers(model, items) for model in build_synthetic_benchmark().contestants()}


@pytest.fixture(scope="session")
def heard(answered):
    """The default synthetic: its items, cases and record."""
    benchmark = build_synthetic_benchmark()
    items = benchmark.items()
    responses = [
        Response.say(item.id, model.name, answered[model.label][item.id])
        for model in benchmark.contestants()
        for item in items
    ]
    cases = list(benchmark.cases(items, responses))
    verdicts = [verdict for judge in benchmark.judges() for verdict in judge.judge(cases)]
    by_name = {(response.item, response.contestant): response for response in responses}
    return benchmark, cases, Record(tuple(verdicts), {item.id: item for item in items}, by_name)
