"""Simulations in which a leaning was planted, and simulations without any: who is warned, and who is flagged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.ranking_methods import RankingOptions
from fullbench.analysis.peer_review.shared_bias_warnings import ALPHA_EACH_OTHER, bias_warning_table, warning_names
from fullbench.core.rubric import CORRECTNESS
from fullbench.errors import InputError, Undefined
from fullbench.stats.peer_review.shared_and_mutual_reviewer_biases import fit_vote_model_with_truth, mutual_biases
from fullbench.studies.peer_review.simulation import SimulatedReviews, SimulationSetting, simulate_reviews

CLEAN = SimulationSetting(length=0, length_spread=0.5, families=True)
SIMULATIONS = {
    "clean": CLEAN,
    "mistakes in common": SimulationSetting(length=0, length_spread=0.5, families=True, correlated=0.5),
    "ability unrelated": SimulationSetting(length=0, length_spread=0.5, families=True, related=0),
    "own family": SimulationSetting(length=0, length_spread=0.5, families=True, own_family=0.5),
    "shared length": SimulationSetting(length=0, length_spread=0.5, families=True, shared_length=0.3),
    "colluders": SimulationSetting(length=0, length_spread=0.5, families=True, colluders=2),
}
PLANTED = {
    "own family": "answers of the reviewer's family win",
    "shared length": "longer answers win",
    "colluders": "two reviewers prefer each other",
}


def warned_in(made: SimulatedReviews) -> list[str]:
    kin = dict(zip(made.reviews.names, made.families, strict=True))
    return warning_names(bias_warning_table(made.reviews, terms=RankingOptions(), truth=Truth({}), families=kin))


def fired(name: str, seeds: range) -> float:
    """In what share of simulations there is the planted warning; in a clean one, any."""
    found = [warned_in(simulate_reviews(SIMULATIONS[name], seed)) for seed in seeds]
    return float(np.mean([PLANTED[name] in what if name in PLANTED else bool(what) for what in found]))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SIMULATIONS))
def test_a_planted_leaning_is_warned_of_and_a_clean_simulation_is_not(name):
    share = fired(name, range(100))
    assert share >= 0.9 if name in PLANTED else share <= 0.05


@pytest.mark.parametrize("name", ["clean", "own family", "shared length", "colluders"])
def test_the_same_in_a_few_courts(name):
    share = fired(name, range(3, 6))
    assert share == (name in PLANTED)


def accused(seed: int) -> tuple[set[frozenset[int]], frozenset[int]]:
    """Who is said to favour each other in a simulation with two colluders, and who these are."""
    made = simulate_reviews(SIMULATIONS["colluders"], seed)
    try:
        pairs = mutual_biases(made.reviews.joint_votes()[0], len(made.reviews.names), alpha=ALPHA_EACH_OTHER)
    except Undefined:  # the table says "not known"
        pairs = []
    return {
        frozenset((pair.first_reviewer, pair.second_reviewer)) for pair in pairs if pair.p < ALPHA_EACH_OTHER
    }, frozenset(made.colluders)


@pytest.mark.parametrize("seed", [1, 3])
def test_two_colluders_bring_nobody_else_under_suspicion(seed):
    """Their rulings for each other distort what is expected of the others: both accused two innocents' pairs."""
    named, colluders = accused(seed)
    assert named == {colluders}


@pytest.mark.slow
def test_innocents_are_seldom_accused_beside_colluders():
    simulations = [accused(seed) for seed in range(60)]
    assert np.mean([colluders in named for named, colluders in simulations]) >= 0.9
    assert np.mean([bool(named - {colluders}) for named, colluders in simulations]) <= 0.1


def votes(setting: SimulationSetting, seed: int):
    made = simulate_reviews(setting, seed)
    return made, made.reviews.joint_votes(CORRECTNESS)[0]


def test_a_paper_s_chi_square_flags_the_unbiased_and_like_with_like_does_not():
    """Reviewers without any leaning, in simulations where the better contestants write longer answers."""
    setting = SimulationSetting(length=0, length_spread=0.5, wordy_weak=-0.9, families=True)
    paper, ours = [], []
    for seed in range(40):
        made, heard = votes(setting, seed)
        chosen = (heard.outcome != 0.5) & (made.truth != 0.5)
        right, longer = heard.outcome == made.truth, (heard.outcome == 1) == (heard.lead > 0)
        table = [[np.sum(chosen & (right == of) & (longer == kind)) for kind in (True, False)] for of in (False, True)]
        paper.append(stats.chi2_contingency(table, correction=False).pvalue < 0.05)
        ours.append(fit_vote_model_with_truth(heard, 6, made.truth).estimate_bias(heard.lead).p < 0.01)
    assert np.mean(paper) > 0.8
    assert np.mean(ours) <= 0.05


@pytest.mark.parametrize("planted", [{"shared_length": 0.3}, {"own_family": 0.5}])
def test_a_planted_leaning_is_found_beside_the_truth(planted):
    setting = SimulationSetting(length=0, length_spread=0.5, families=True, **planted)
    found = []
    for seed in range(20):
        made, heard = votes(setting, seed)
        family = np.array([int(name.split()[1]) for name in made.families])
        own = (family[heard.judge] == family[heard.first]) * 1.0 - (family[heard.judge] == family[heard.second])
        toward = heard.lead if "shared_length" in planted else own
        leaning = fit_vote_model_with_truth(heard, 6, made.truth).estimate_bias(toward)
        found.append(leaning.p < 0.01 and leaning.size > 0)
    assert np.mean(found) >= 0.9


def test_the_size_of_a_leaning_is_that_of_a_logistic_regression():
    """One step from the fitted model lies near the coefficient that another library finds."""
    import statsmodels.api as sm

    made, heard = votes(SimulationSetting(length=0, length_spread=0.5, families=True, shared_length=0.3), 2)
    model = fit_vote_model_with_truth(heard, 6, made.truth)
    design = np.column_stack([model.slopes[:, :5], model.slopes[:, 6:], heard.lead])
    fitted = sm.GLM(heard.outcome, design, family=sm.families.Binomial()).fit()
    leaning = model.estimate_bias(heard.lead)
    assert leaning.size == pytest.approx(fitted.params[-1], rel=0.1)


def test_plain_courts_are_what_they_were():
    """What makes a simulation less convenient is drawn apart: without it, nothing in a simulation changes."""
    plain, wobbling = (
        simulate_reviews(SimulationSetting(length=0), 3),
        simulate_reviews(SimulationSetting(length=0, length_spread=0.5, families=True), 3),
    )
    assert plain.reviews.worth[CORRECTNESS].tolist() == wobbling.reviews.worth[CORRECTNESS].tolist()


def test_clones_have_one_skill_and_rule_alike():
    made = simulate_reviews(SimulationSetting(clones=2, length=0), 1)
    assert made.skill[2] == made.skill[3]
    heard = made.reviews
    columns = (heard.image, heard.reviewer, heard.first, heard.second)
    rows = {key: row for row, key in enumerate(zip(*(column.tolist() for column in columns), strict=True))}
    both = [(row, rows[i, 2, a, b]) for (i, r, a, b), row in rows.items() if r == 3 and (i, 2, a, b) in rows]
    assert both
    assert all((heard.worth[CORRECTNESS][one] == heard.worth[CORRECTNESS][two]).all() for one, two in both)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"own_family": 1.0}, "own_family needs families"),
        ({"clones": 1}, "at least two clones"),
        ({"wordy_weak": 2.0}, "'wordy weak' is from -1 to 1"),
        ({"length_spread": -1.0}, "deviations, 0 or more"),
    ],
)
def test_a_simulation_that_cannot_be(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        SimulationSetting(**wrong)
