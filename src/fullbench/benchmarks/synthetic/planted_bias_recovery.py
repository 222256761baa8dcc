"""What the verdicts show of each planted number: the court's way from verdicts to the estimators of bias."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from fullbench.core.estimate import Estimate
from fullbench.core.record import Record
from fullbench.core.text import length_of
from fullbench.errors import Undefined
from fullbench.stats.bias.bias_estimators import latent_marks, position_bias
from fullbench.stats.intervals.share_intervals import wilson
from fullbench.synthetic.biased_judge import USUAL_LENGTH, SimulatedJudge
from fullbench.synthetic.planted_judges import FAVOURITE

TRUTH = "truth"
SCORES, PAIRS, RANKINGS = "score:1-5", "choice+tie", "ranking"
Key = tuple[str, str, int]
"""An item, a contestant, and which of its answers."""
T = TypeVar("T")


class Found(NamedTuple):
    """One planted number, what was recovered of it, and in which unit both are.

    `neutral` is the value that stands for no bias; None where there is no such value.
    """

    judge: SimulatedJudge
    what: str
    planted: float
    recovered: Estimate | None
    unit: str
    neutral: float | None


def recovered(own: Record, judge: SimulatedJudge, record: Record) -> Iterator[Found]:
    """Everything that was planted in a judge, beside what its verdicts show of it."""
    if not len(own):
        return
    planted = judge.planted
    effects = _effects(own, true_marks(record))
    yield Found(judge, "sight", judge.sight, effects.get("sight"), "marks per mark of the truth", 1.0)
    yield Found(judge, "noise", judge.noise, effects.get("noise"), "marks", None)
    yield Found(judge, "leniency", planted.leniency, effects.get("leniency"), "marks", 0.0)
    yield Found(judge, "length", planted.length, effects.get("length"), "marks per doubling", 0.0)
    yield Found(judge, "ego", planted.ego, effects.get("ego"), "marks", 0.0)
    forward, swapped, items = swaps(own)
    lean = tried(lambda: position_bias(forward, swapped, items))
    yield Found(judge, "position", planted.position, lean, "share ruled by place", 0.0)
    faults = sum(verdict.fault is not None for verdict in own)
    if planted.faults:
        yield Found(judge, "faults", planted.faults, wilson(faults, len(own)), "share of verdicts", 0.0)


def _effects(own: Record, true: dict[Key, float]) -> dict[str, Estimate]:
    """Sight, leniency, length, ego and noise of a judge, from its scores of single responses."""
    texts = {key: response.text for key, response in own.responses.items()}
    rows = [(key, mark) for key, mark in marked(own) if key in true and key in texts]
    if not rows:
        return {}
    regressors = {
        "sight": [true[key] - 3 for key, _ in rows],
        "leniency": [1.0] * len(rows),
        "length": [math.log2(length_of(texts[key]) / USUAL_LENGTH) for key, _ in rows],
        "ego": [float(key[1] == FAVOURITE) for key, _ in rows],
    }
    items = [key[0] for key, _ in rows]
    return tried(lambda: latent_marks([mark - 3 for _, mark in rows], regressors, items, low=-2, high=2)) or {}


def swaps(own: Record) -> tuple[list[float], list[float], list[str]]:
    """The leans of all pairs heard in both orders (see `position_bias`), and their items."""
    leans: dict[tuple[str, int, tuple[str, ...]], float] = {}
    for verdict in own.where(ballot=PAIRS, fault=None):
        if verdict.marks is not None:
            leans[verdict.item, verdict.trial, verdict.contestants] = verdict.marks[0] - verdict.marks[1]
    both = [
        (lean, leans[item, trial, names[::-1]], item)
        for (item, trial, names), lean in leans.items()
        if names < names[::-1] and (item, trial, names[::-1]) in leans
    ]
    return [forward for forward, _, _ in both], [swapped for _, swapped, _ in both], [item for _, _, item in both]


def true_marks(record: Record) -> dict[Key, float]:
    """The truth's mark of 1 to 5 for each item and contestant."""
    return dict(marked(record.where(judge=TRUTH)))


def marked(record: Record) -> Iterator[tuple[Key, float]]:
    """The scores of single responses."""
    for verdict in record.where(ballot=SCORES, fault=None):
        if verdict.marks is not None:
            yield (verdict.item, *verdict.shown[0]), verdict.marks[0]


def tried(compute: Callable[[], T]) -> T | None:
    """What a statistic gives, or None where it is not defined for so few rows."""
    try:
        return compute()
    except Undefined:
        return None


def inside(finding: Found) -> str | None:
    """Whether the planted number lies inside the recovered interval; None where there is no interval."""
    if finding.recovered is None or finding.recovered.why:
        return None
    return "yes" if finding.recovered.low <= finding.planted <= finding.recovered.high else "no"
