"""Position bias shows in both orders of a pair alone; people's votes count once, however many trials a judge has."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from fullbench import Choice, Item, Record, Response, Score, Verdict
from fullbench.analysis.agreement.judges_with_people import compare_with_people
from fullbench.analysis.bias.judge_biases_compared_with_people import probe_biases
from fullbench.analysis.item_clustered_means_and_shares import share_estimate
from fullbench.analysis.judge_card import build_card
from fullbench.core.case import Case

NAMES = ("a", "b", "c", "d")
SCORED, CHOSEN = Score(1, 5), Choice(tie=True)


def world(seed, items=20, *, lean=0.0, people=0, trials=1, scores=False, orders=2):
    """Pairs of four contestants judged in both orders by a logistic judge that adds `lean` for the first shown."""
    rng = np.random.default_rng(seed)
    asked, responses, verdicts = {}, {}, []
    for number in range(items):
        item = asked[f"i{number}"] = Item.ask(f"i{number}", "?")
        worth = rng.normal(0, 1, 4) * rng.gamma(2, 0.5)
        shown = [Response.say(item.id, name, "word " * int(rng.integers(4, 60))) for name in NAMES]
        responses |= {(item.id, one.contestant, 0): one for one in shown}

        def choose(one, two, extra, worth=worth):
            z = worth[one] - worth[two] + extra + rng.logistic()
            return (0.5, 0.5) if abs(z) < 0.3 else (float(z > 0), float(z < 0))

        for one, two in combinations(range(4), 2):
            for trial in range(trials):
                for first, second in ((one, two), (two, one))[:orders]:
                    case = Case(item, (shown[first], shown[second]), CHOSEN, trial=trial)
                    verdicts.append(Verdict.from_case(case, "judge", choose(first, second, lean)))
            case = Case(item, (shown[one], shown[two]), CHOSEN)
            verdicts += [
                Verdict.from_case(case, "human", choose(one, two, 0.0), rater=f"p{person}") for person in range(people)
            ]
        for one, response in enumerate(shown if scores else ()):
            case = Case(item, (response,), SCORED)
            for judge, rater in (("judge", ""), *(("human", f"p{person}") for person in range(people))):
                mark = float(np.clip(np.rint(3 + worth[one] + 0.7 * rng.normal()), 1, 5))
                verdicts.append(Verdict.from_case(case, judge, (mark,), rater=rater))
    return Record(tuple(verdicts), asked, responses)


def findings(record, **options):
    return {one.metric: one for one in probe_biases(compare_with_people(record), "judge", **options)}


def test_both_orders_alone_show_the_bias_and_the_numbers_are_those_of_a_loop():
    record = world(1, lean=0.6)
    found = findings(record)["first shown wins"]
    assert found.is_flagged
    assert "biased towards the first shown" in found.says
    assert found.people is None
    by_item = {}
    for verdict in record:
        if verdict.marks[0] != verdict.marks[1]:
            by_item.setdefault(verdict.item, []).append(float(verdict.marks[0] > verdict.marks[1]))
    wins = [win for marks in by_item.values() for win in marks]
    share = np.mean(wins)
    assert (found.value.value, found.value.n, found.value.units) == (pytest.approx(share), len(wins), 20)
    left_out = [
        np.mean([win for item, marks in by_item.items() if item != other for win in marks]) for other in by_item
    ]
    error = np.sqrt(19 / 20 * np.sum((np.array(left_out) - share) ** 2))
    # On a scale with two ends the error is that at one half, as in a score test.
    error *= 0.5 / np.sqrt(share * (1 - share))
    assert found.p == pytest.approx(2 * stats.t.sf((share - 0.5) / error, 19), rel=0.5)


def claims_of_cards(runs, items, **options):
    """How often the card's first sentences say that the judge leans to a place."""
    leads = [build_card(world(seed, items, **options), "judge").lead for seed in range(runs)]
    return float(np.mean(["biased towards the" in lead for lead in leads]))


def test_cards_with_scores_and_votes_find_it_too():
    assert claims_of_cards(6, 20, lean=0.8, people=2, scores=True) == 1.0
    assert claims_of_cards(10, 20, people=1) <= 0.2


@pytest.mark.slow
@pytest.mark.parametrize("people", [0, 1, 3])
def test_a_place_bias_is_found_at_twenty_items(people):
    assert claims_of_cards(60, 20, lean=0.8, people=people, scores=people > 0) >= 0.95
    assert claims_of_cards(60, 20, lean=0.6, people=people, scores=people > 0) >= 0.75


@pytest.mark.slow
@pytest.mark.parametrize("items", [5, 20, 60])
def test_a_judge_without_place_bias_is_seldom_accused_of_it(items):
    runs = 300 if items < 60 else 150
    records = (world(seed, items) for seed in range(runs))
    flagged = np.mean([findings(record)["first shown wins"].p <= 0.05 for record in records])
    assert flagged <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


def logistic_pairs(rng, items, lean):
    """Item and "the first shown won" of each decided verdict; six pairs of an item, both orders, items differ."""
    worth = rng.normal(size=(items, 4)) * rng.gamma(2, 0.5, items)[:, None]
    gap = np.stack([worth[:, one] - worth[:, two] for one, two in combinations(range(4), 2)], axis=1)
    felt = np.stack([gap, -gap], axis=2) + lean + rng.logistic(size=(items, 6, 2))
    is_decided = np.abs(felt) >= 0.3
    item = np.broadcast_to(np.arange(items)[:, None, None], felt.shape)[is_decided]
    return item, (felt > 0)[is_decided].astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("lean", [0.0, 0.6])
@pytest.mark.parametrize("items", [5, 8, 12, 20, 60, 300])
def test_intervals_of_first_shown_wins_hold_the_truth(items, lean):
    truth = logistic_pairs(np.random.default_rng(1), 300_000, lean)[1].mean()
    runs, held = 1000 if items < 300 else 300, 0
    for run in range(runs):
        item, wins = logistic_pairs(np.random.default_rng([run, items, 5]), items, lean)
        found = share_estimate(wins, item)
        held += found.low <= truth <= found.high
    wanted = 0.92 if items < 12 else 0.93
    assert held / runs >= wanted - 2 * (wanted * (1 - wanted) / runs) ** 0.5


def test_people_count_once_whatever_the_number_of_trials_and_orders():
    repeated = world(3, people=3, trials=6)
    votes = [vote.marks[0] - vote.marks[1] for vote in repeated.where(judge="human")]
    ties = findings(repeated)["ties"]
    assert (ties.people.value, ties.people.n) == (pytest.approx(votes.count(0) / len(votes)), 20 * 6 * 3)
    one_order = world(3, people=3, trials=6, orders=1)
    votes = [vote.marks[0] - vote.marks[1] for vote in one_order.where(judge="human")]
    first = findings(one_order)["first shown wins"].people
    decided = [vote for vote in votes if vote]
    assert (first.value, first.n) == (pytest.approx(np.mean(np.array(decided) > 0)), len(decided))
