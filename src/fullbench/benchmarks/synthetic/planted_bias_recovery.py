"""Estimates of each planted bias from the verdicts of the simulated judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from fullbench.core.estimate import Estimate
from fullbench.core.record import Record
from fullbench.core.text import length_of
from fullbench.errors import Undefined
from fullbench.stats.bias.bias_estimators import latent_marks, position_bias
from fullbench.stats.intervals.share_intervals import wilson_interval
from fullbench.synthetic.biased_judge import USUAL_LENGTH, SimulatedJudge
from fullbench.synthetic.planted_judges import FAVOURITE

TRUTH = "truth"
SCORES, PAIRS, RANKINGS = "score:1-5", "choice+tie", "ranking"
Key = tuple[str, str, int]
"""Item, contestant and sample number."""
T = TypeVar("T")


class BiasFinding(NamedTuple):
    """A planted number, its estimate and unit; `neutral` is the value without bias, or None if there is none."""

    judge: SimulatedJudge
    bias_name: str
    planted_value: float
    estimate: Estimate | None
    unit: str
    neutral: float | None


def bias_findings(judge_record: Record, judge: SimulatedJudge, record: Record) -> Iterator[BiasFinding]:
    """Yield each number planted in a judge with its estimate from the verdicts."""
    if not len(judge_record):
        return
    biases = judge.biases
    effects = _estimate_effects(judge_record, true_marks(record))
    yield BiasFinding(
        judge, "picture use", judge.picture_use, effects.get("picture use"), "marks per mark of the truth", 1.0
    )
    yield BiasFinding(judge, "noise", judge.noise, effects.get("noise"), "marks", None)
    yield BiasFinding(judge, "leniency", biases.leniency, effects.get("leniency"), "marks", 0.0)
    yield BiasFinding(judge, "length", biases.length, effects.get("length"), "marks per doubling", 0.0)
    yield BiasFinding(judge, "ego", biases.ego, effects.get("ego"), "marks", 0.0)
    forward, backward, items = swapped_pair_margins(judge_record)
    position_estimate = compute_or_none(lambda: position_bias(forward, backward, items))
    yield BiasFinding(judge, "position", biases.position, position_estimate, "share judged by position", 0.0)
    unusable_count = sum(verdict.fault is not None for verdict in judge_record)
    if biases.unusable_share:
        yield BiasFinding(
            judge,
            "unusable",
            biases.unusable_share,
            wilson_interval(unusable_count, len(judge_record)),
            "share of verdicts",
            0.0,
        )


def _estimate_effects(judge_record: Record, true: dict[Key, float]) -> dict[str, Estimate]:
    texts = {key: response.text for key, response in judge_record.responses.items()}
    rows = [(key, mark) for key, mark in single_scores(judge_record) if key in true and key in texts]
    if not rows:
        return {}
    # Same centring as in the formula of `SimulatedJudge`, so that estimates and planted numbers are comparable.
    regressors = {
        "picture use": [true[key] - 3 for key, _ in rows],
        "leniency": [1.0] * len(rows),
        "length": [math.log2(length_of(texts[key]) / USUAL_LENGTH) for key, _ in rows],
        "ego": [float(key[1] == FAVOURITE) for key, _ in rows],
    }
    items = [key[0] for key, _ in rows]
    return (
        compute_or_none(lambda: latent_marks([mark - 3 for _, mark in rows], regressors, items, low=-2, high=2)) or {}
    )


def swapped_pair_margins(judge_record: Record) -> tuple[list[float], list[float], list[str]]:
    """Return the margins of all pairs judged in both orders (see `position_bias`), and their items."""
    margins: dict[tuple[str, int, tuple[str, ...]], float] = {}
    for verdict in judge_record.where(ballot=PAIRS, fault=None):
        if verdict.marks is not None:
            margins[verdict.item, verdict.trial, verdict.contestants] = verdict.marks[0] - verdict.marks[1]
    paired_margins = [
        (margin, margins[item, trial, names[::-1]], item)
        for (item, trial, names), margin in margins.items()
        if names < names[::-1] and (item, trial, names[::-1]) in margins
    ]
    return (
        [forward for forward, _, _ in paired_margins],
        [backward for _, backward, _ in paired_margins],
        [item for _, _, item in paired_margins],
    )


def true_marks(record: Record) -> dict[Key, float]:
    """Return the truth's mark of 1 to 5 for each item and contestant."""
    return dict(single_scores(record.where(judge=TRUTH)))


def single_scores(record: Record) -> Iterator[tuple[Key, float]]:
    """Yield the scores of single responses."""
    for verdict in record.where(ballot=SCORES, fault=None):
        if verdict.marks is not None:
            yield (verdict.item, *verdict.shown_responses[0]), verdict.marks[0]


def compute_or_none(compute: Callable[[], T]) -> T | None:
    """Return a statistic, or None if it is undefined for these rows."""
    try:
        return compute()
    except Undefined:
        return None


def interval_coverage(finding: BiasFinding) -> str | None:
    """Return "yes" if the interval contains the planted number, "no" if not, None if there is no interval."""
    if finding.estimate is None or finding.estimate.why:
        return None
    return "yes" if finding.estimate.low <= finding.planted_value <= finding.estimate.high else "no"
