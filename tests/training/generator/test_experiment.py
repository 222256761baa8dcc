"""The experiment for one GPU, very small and on the processor: that it runs to its end and says what it must."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")


def test_every_judge_is_measured_and_its_pupil_compared(tmp_path):
    from tests.training.generator.toy.experiment import Experiment, Plan, tiny

    torch.set_num_threads(1)
    Experiment(tiny(Plan(tmp_path, seconds=15.0, limit=3600.0)), None).run()
    results = json.loads((tmp_path / "results.json").read_text())
    judges = {row["judge"]: row for row in results["judges"]}
    assert set(judges) == {"exact", "chance", "errs in 30 %"}
    assert "not run" not in results
    for row in judges.values():
        assert row["gain"]["low"] <= row["gain"]["value"] <= row["gain"]["high"]
        assert row["gain"]["prompts"] > 40
    told = judges["exact"]["pairs"]
    if told:  # a base that draws nothing right has no pair of which one is better
        assert judges["exact"]["accuracy"] == 1.0


def test_the_best_of_eight_is_the_best_for_exact_eyes_and_any_for_chance():
    import numpy as np

    from tests.training.generator.toy.eyes_judging import EyeJudge, accuracy, best_of

    rng = np.random.default_rng(0)
    groups = rng.random((4000, 8))
    exact = best_of(groups, EyeJudge("exact"), rng)
    assert (exact == groups.argmax(axis=1)).all()
    chance = best_of(groups, EyeJudge("chance", flips=0.5), rng)
    assert np.bincount(chance, minlength=8) == pytest.approx(500, abs=90)
    often = best_of(groups, EyeJudge("errs", flips=0.15), rng)
    won = np.take_along_axis(groups, often[:, None], axis=1).mean()
    assert 0.6 < won < groups.max(axis=1).mean()
    marks = rng.random(8000)
    assert accuracy(marks, marks, EyeJudge("errs", flips=0.15), rng)["accuracy"] == pytest.approx(0.85, abs=0.02)


def test_prompts_of_the_three_parts_do_not_meet():
    from tests.training.generator.toy.sheets import every_prompt, prompts_for

    parts = [set(prompts_for(part)) for part in ("known", "new", "held out")]
    assert sum(map(len, parts)) == len(set().union(*parts)) == len(every_prompt()) == 2924
    assert all(len(part) > 480 for part in parts)
