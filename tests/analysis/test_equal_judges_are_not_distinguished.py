"""Equally good judges are distinguished on at most 5 % of cards, also if the pairs of an item are correlated."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench.analysis.agreement.judges_with_people import compare_with_people
from fullbench.analysis.judge_card import standing_table
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record

PAIRS = 10


def heard(draw: np.random.Generator, items: int, judges: int, better: float = 0.0) -> Record:
    """Judges that are right in 70 % of pairs, more on some items than on others, each on items of its own."""
    verdicts = []
    for item in range(items):
        ease = 0.7 + 0.9 * 0.3**0.5 * draw.uniform(-0.5, 0.5, judges)
        truth = draw.random(PAIRS) < 0.5
        for pair in range(PAIRS):
            for judge in ("human", *(f"j{number}" for number in range(judges))):
                right = 1.0 if judge == "human" else ease[int(judge[1:])] + (better if judge == "j0" else 0.0)
                first = bool(truth[pair]) == bool(draw.random() < right)
                marks = (1.0, 0.0) if first else (0.0, 1.0)
                verdicts.append(
                    Verdict(f"{item}/{pair}", judge, f"i{item}", (f"a{pair}", f"b{pair}"), "choice", marks=marks)
                )
    return Record(tuple(verdicts))


def told_apart(runs: int, items: int, judges: int, better: float = 0.0) -> float:
    """How often the card of one judge says of any other that they can be told apart."""
    draw = np.random.default_rng(8)
    tables = (standing_table(compare_with_people(heard(draw, items, judges, better)), "j0") for _ in range(runs))
    return float(np.mean(["yes" in table.column("distinguished") for table in tables]))


@pytest.mark.parametrize(("items", "judges"), [(8, 2), (20, 4)])
def test_equal_judges_are_not_told_apart(items, judges):
    """The audit found 29 to 32 % for two judges, 62 to 77 % for eight; two standard errors of room."""
    runs = 40
    assert told_apart(runs, items, judges) <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("items", "judges"), [(5, 2), (20, 2), (20, 8), (100, 2)])
def test_equal_judges_are_not_told_apart_in_full(items, judges):
    runs = 400 if items * judges < 100 else 150
    assert told_apart(runs, items, judges) <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


def test_a_better_judge_is():
    assert told_apart(5, 60, 2, better=0.2) == 1.0
