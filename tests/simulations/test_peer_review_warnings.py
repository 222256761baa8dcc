"""Warnings of a peer review without truth: clean reviews are seldom warned of, planted biases are found."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from fullbench import Item, Record, Response, Verdict
from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.ranking_methods import RankingOptions
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.analysis.peer_review.shared_bias_warnings import bias_warning_table, warning_names
from fullbench.core.rubric import CORRECTNESS, VISUAL
from tests.simulations.records import at_most, logistic, show

SIZE = 6
NAMES = [f"model-{letter}" for letter in "abcdef"]
FAMILIES = {name: f"family {number // 2}" for number, name in enumerate(NAMES)}
LONGER, OWN, EACH_OTHER = (
    "longer answers win",
    "answers of the reviewer's family win",
    "two reviewers prefer each other",
)


def review(
    seed: int, *, images: int = 20, length: float = 0.0, own: float = 0.0, colluders: int = 0, wordy: float = 0.0
) -> Reviews:
    """Each model asks about each picture and reviews two others' answers, with logistic choices in both criteria.

    `length` and `own` are log-odds for a doubling of the words and for one's own family. Better models write longer
    answers where `wordy` is above 0, which is no bias. Reviewers differ in sharpness.
    """
    rng = np.random.default_rng(seed)
    skill = rng.permutation(np.linspace(-1, 1, SIZE))
    sharpness = rng.uniform(0.7, 2.0, SIZE)
    items, responses, verdicts = {}, {}, []
    for image in range(images):
        for reviewer in range(SIZE):
            item = Item.ask(f"p{image} | {NAMES[reviewer]}", "What is it?", tags={
                "image": f"p{image}", "reviewer": NAMES[reviewer],
            })  # fmt: skip
            items[item.id] = item
            doublings = wordy * skill + rng.normal(0, 0.6, SIZE)
            worth = skill + rng.normal(0, 0.5, SIZE)
            for who in range(SIZE):
                text = " ".join(["word"] * max(2, round(24 * 2 ** doublings[who])))
                responses[item.id, NAMES[who], 0] = Response.say(item.id, NAMES[who], text)
            for one, two in permutations(range(SIZE), 2):
                if reviewer in {one, two}:
                    continue
                kin = (one // 2 == reviewer // 2) * 1.0 - (two // 2 == reviewer // 2)
                gap = sharpness[reviewer] * (worth[one] - worth[two])
                gap += length * (doublings[one] - doublings[two]) + own * kin
                if reviewer < colluders and (one < colluders) != (two < colluders):
                    gap = 20.0 if one < colluders else -20.0
                for criterion in (CORRECTNESS, VISUAL):
                    won = float(rng.random() < logistic(gap))
                    verdicts.append(
                        Verdict(
                            f"{item.id}/{one}/{two}/{criterion}", f"{NAMES[reviewer]}+t0", item.id,
                            (NAMES[one], NAMES[two]), "choice", criterion, marks=(won, 1 - won),
                        )
                    )  # fmt: skip
    return Reviews.from_record(Record(tuple(verdicts), items, responses))


def warned(seed: int, **world) -> set[str]:
    table = bias_warning_table(review(seed, **world), terms=RankingOptions(), truth=Truth({}), families=FAMILIES)
    return {str(name) for name in warning_names(table)}


def test_planted_biases_are_found_and_clean_reviews_are_not_warned_of_in_a_few_runs():
    assert warned(1, images=8, length=1.2) == {LONGER}
    assert not warned(1, images=8, wordy=0.8)


@pytest.mark.slow
@pytest.mark.parametrize("wordy", [0.0, 0.8])
def test_clean_reviews_are_seldom_warned_of(wordy):
    runs = 100
    share = np.mean([bool(warned(seed, wordy=wordy)) for seed in range(runs)])
    show(f"peer review, clean, wordy {wordy}: {share:.3f} warned of")
    assert share <= at_most(0.05, runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "world"), [(LONGER, {"length": 0.8}), (OWN, {"own": 1.0}), (EACH_OTHER, {"colluders": 2})]
)
def test_planted_biases_are_found(name, world):
    found = [warned(seed, **world) for seed in range(30)]
    share = np.mean([name in names for names in found])
    show(f"peer review, {name}: {share:.3f} of 30")
    assert share >= 0.9
