"""Simulated simulations: the same simulation as the one with simulated judges, and what each method finds in it."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from fullbench.analysis.peer_review.ranking_methods import ROBUST
from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.studies.peer_review import simulation
from fullbench.studies.peer_review.simulation import SimulationSetting, full_design, simulate_reviews
from fullbench.studies.peer_review.simulation_tables import cheats_table, method_nearness, simulation_tables
from fullbench.synthetic.biased_judge import PlantedBiases, SimulatedJudge

SEEDS = range(200)


def test_the_papers_size_is_fifteen_hundred_reviews():
    image, reviewer, one, two = full_design(6, 25)
    assert len(image) == 1500
    assert ((one < two) & (one != reviewer) & (two != reviewer)).all()
    assert np.bincount(reviewer).tolist() == [250] * 6


def test_a_review_is_ruled_as_a_simulated_judge_rules():
    """The fast simulation and the judge that goes through the interfaces: the same shares of wins and ties."""
    picture_use, noise, length = 0.6, 0.7, 0.4
    words = (6, 24)
    texts = tuple("word " * count for count in words)
    qualities = (0.75, 0.5)
    judge = SimulatedJudge(
        "one", lambda _: qualities, picture_use=picture_use, noise=noise, biases=PlantedBiases(length=length)
    )
    cases = [
        Case(
            Item.ask(f"q{place}", "?"),
            tuple(Response.say(f"q{place}", name, text) for name, text in zip("ab", texts, strict=True)),
            Choice(tie=True),
        )
        for place in range(3000)
    ]
    marks = [verdict.marks[0] for verdict in judge.judge(cases)]
    rng = np.random.default_rng(0)
    gap = picture_use * 4 * (qualities[0] - qualities[1]) + length * np.log2(words[0] / words[1])
    fast = simulation._outcomes_from_lead(gap + noise * 2**0.5 * rng.standard_normal(100_000))
    for ruling in (0.0, 0.5, 1.0):
        share = float((fast == ruling).mean())
        spread = (share * (1 - share) / len(marks)) ** 0.5
        assert abs(fmean(mark == ruling for mark in marks) - share) < 4 * spread


@pytest.fixture(scope="module")
def found():
    methods = ("UPME", "uniform", "majority vote", "rating vote")
    return {
        related: {
            method: [one.pearson for one in method_nearness(SimulationSetting(related=related), method, SEEDS)]
            for method in methods
        }
        for related in (1.0, 0.0)
    }


def test_learned_weights_beat_all_others_where_skill_and_judging_go_together(found):
    gain = np.array(found[1.0]["UPME"])
    for method in ("uniform", "majority vote", "rating vote"):
        ahead = gain - np.array(found[1.0][method])
        assert ahead.mean() > 3 * ahead.std(ddof=1) / len(ahead) ** 0.5, method


def test_they_do_not_where_the_two_have_nothing_to_do_with_each_other(found):
    assert fmean(found[0.0]["UPME"]) < fmean(found[0.0]["uniform"])


@pytest.mark.slow
def test_two_colluders_among_eight_hardly_move_the_robust_ranking():
    table = cheats_table(SimulationSetting(models=8, colluders=2), range(60))
    moved = dict(zip(table.column("method"), table.column("moved"), strict=True))
    assert abs(moved[ROBUST]) <= 0.05
    assert moved["UPME"] < moved[ROBUST]


def test_every_table_comes_out_with_cheats_and_faults():
    made = {
        table.name: table
        for table in simulation_tables(SimulationSetting(models=6, colluders=2, lazy=1, blind=1, unusable=0.3), seeds=3)
    }
    assert set(made) == {"methods", "readings", "pictures", "warnings", "cheats", "influence"}
    colluder, honest = (dict(zip(made["influence"].column("method"), made["influence"].column(kind), strict=True))
                        for kind in ("colluder", "honest"))  # fmt: skip
    assert colluder["uniform"] > honest["uniform"]
    assert made["pictures"].column("reviews") == [300, 600, 1500, 3000, 6000]


def test_a_simulation_is_the_same_again_and_its_people_are_the_same_for_any_size():
    one, two = simulate_reviews(SimulationSetting(), 3), simulate_reviews(SimulationSetting(), 3)
    assert (one.reviews.votes == two.reviews.votes).all()
    assert (one.skill == simulate_reviews(SimulationSetting(images=5), 3).skill).all()
    assert (one.skill == simulate_reviews(SimulationSetting(colluders=2), 3).skill).all()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"models": 2}, "at least three"),
        ({"images": 0}, "at least one picture"),
        ({"related": 2}, "from 0 to 1"),
        ({"colluders": 1}, "collude alone"),
        ({"blind": 4, "lazy": 4}, "more colluders, lazy and blind models"),
    ],
)
def test_a_simulation_that_cannot_be_says_so(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        SimulationSetting(**wrong)
