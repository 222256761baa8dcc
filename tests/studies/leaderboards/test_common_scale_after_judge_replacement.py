"""A copy of a judge is as sharp as the judge, however well it separates contestants; pooled trials are stated."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.studies.leaderboards.common_scale_after_judge_replacement import common_scale_table, fit_common_scales

WORTH = {"ada": 1.5, "ben": 0.5, "cid": -0.5, "dan": -1.5}


def judged(judge, sharpness, *, items=20, trials=1, seed=0, coin=True):
    """Pairs in both orders by a logistic judge; without `coin`, the better contestant always wins."""
    rng = np.random.default_rng(seed)
    verdicts = []
    for item in range(items):
        for one, two in combinations(WORTH, 2):
            for first, second in ((one, two), (two, one)):
                for trial in range(trials):
                    gap = sharpness * (WORTH[first] - WORTH[second]) + (rng.logistic() if coin else 0.0)
                    marks = (1.0, 0.0) if gap > 0 else (0.0, 1.0)
                    case = f"{item}/{first}/{second}"
                    verdicts.append(
                        Verdict(case, judge, f"i{item}", (first, second), "choice", trial=trial, marks=marks)
                    )
    return verdicts


def scale_of(*verdicts):
    (scale,) = fit_common_scales(Record(tuple(one for part in verdicts for one in part)), "old", "new")
    return scale, {note.id: note.values for note in common_scale_table(scale).notes}


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 3.0])
def test_a_copy_is_as_sharp_as_the_judge(sharpness):
    scale, notes = scale_of(judged("old", sharpness), judged("new", sharpness))
    assert notes["judge-replacement.as-sharp"]["times"] == pytest.approx(1.0, abs=1e-4)
    strengths = [scale.ratings[name].value for name in WORTH]
    assert strengths == sorted(strengths, reverse=True)


def test_complete_separation_is_said_instead_of_a_factor():
    _, notes = scale_of(judged("old", 1.0, coin=False), judged("new", 1.0, coin=False))
    assert notes["judge-replacement.separated"]["judges"] == "old; new"
    assert not {"judge-replacement.sharp", "judge-replacement.as-sharp"} & set(notes)
    _, notes = scale_of(judged("old", 1.0), judged("new", 1.0, coin=False))
    assert notes["judge-replacement.separated"]["judges"] == "new"


def test_trials_that_are_pooled_are_stated():
    scale, notes = scale_of(judged("old", 1.0), judged("new", 1.0, trials=3, seed=1))
    assert notes["judge-replacement.trials"] == {"old": "old", "old_trials": 1, "new": "new", "new_trials": 3}
    assert scale.matches["ada"] == (20 * 3 * 2, 20 * 3 * 2 * 3)
    assert "judge-replacement.trials" not in scale_of(judged("old", 1.0), judged("new", 1.0, seed=1))[1]


def sharpness_errors(runs, times, items):
    """Share of runs whose interval misses a planted ratio of sharpness, and share that claims a difference."""
    missed = claimed = 0
    for run in range(runs):
        old, new = judged("old", 1.0, items=items, seed=[run, 0]), judged("new", times, items=items, seed=[run, 1])
        fit = scale_of(old, new)[0].fit.judges[1].discrimination
        missed += not fit.low <= times <= fit.high
        claimed += not fit.low <= 1 <= fit.high
    return missed / runs, claimed / runs


@pytest.mark.slow
@pytest.mark.parametrize("times", [0.5, 1.0, 1.6])
def test_intervals_of_sharpness_hold_the_planted_ratio(times):
    runs = 200
    missed, claimed = sharpness_errors(runs, times, 40)
    assert missed <= 0.07 + 2 * (0.07 * 0.93 / runs) ** 0.5
    assert times != 1.0 or claimed <= 0.07 + 2 * (0.07 * 0.93 / runs) ** 0.5
