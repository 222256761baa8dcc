"""How far people agree: intervals hold the truth when pairs of an item are alike, and one share has one interval."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.agreement.among_people import people_agreement_table
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record

CONTESTANTS, RATERS = 5, 3
PAIRS = list(combinations(range(CONTESTANTS), 2))
WORTH = np.linspace(-0.8, 0.8, CONTESTANTS)


def votes(rng, items, strong):
    """Votes by item, pair and rater: 0 the first wins, 1 the second, 2 a tie. `strong`: items are easy or hopeless."""
    ease = np.where(rng.random(items) < 0.5, 0.25, 2.5) if strong else rng.gamma(8, 1 / 8, items)
    worth = WORTH + (1.0 if strong else 0.3) * rng.normal(size=(items, CONTESTANTS))
    gap = np.stack([worth[:, one] - worth[:, two] for one, two in PAIRS], axis=1) * ease[:, None]
    felt = gap[:, :, None] + rng.normal(size=(items, len(PAIRS), RATERS))
    return np.where(np.abs(felt) < 0.2, 2, (felt < 0).astype(int))


def alpha_and_share(ballots):
    """Krippendorff's nominal alpha and the share of equal pairs of votes, with every rater on every pair.

    Each pair counts in both directions: as many firsts as seconds win by chance.
    """
    one_way = ballots.reshape(-1, RATERS)
    flat = np.concatenate([one_way, np.array([1, 0, 2])[one_way]])
    equal = np.mean([flat[:, one] == flat[:, two] for one, two in combinations(range(RATERS), 2)])
    counts = np.bincount(flat.ravel())
    chance = (counts * (counts - 1)).sum() / (flat.size * (flat.size - 1))
    return 1 - (1 - equal) / (1 - chance), equal


def truth(strong):
    return alpha_and_share(votes(np.random.default_rng(99), 100_000, strong))


MARKS = {0: (1.0, 0.0), 1: (0.0, 1.0), 2: (0.5, 0.5)}


def record(ballots, judge=False):
    """The votes as verdicts, pairs shown in random order; each pair was voted on by three people with a chance."""
    rng = np.random.default_rng(1)
    verdicts = []
    for item, pairs in enumerate(ballots):
        for (one, two), cast in zip(PAIRS, pairs, strict=True):
            for rater, vote in enumerate(cast.tolist()):
                turn = int(rng.random() < 0.5)
                shown, marks = (f"c{one}", f"c{two}"), MARKS[vote]
                if turn:
                    shown, marks = shown[::-1], marks[::-1]
                case = f"{item}/{'/'.join(shown)}"
                verdicts.append(Verdict(case, "human", f"i{item}", shown, "choice+tie", marks=marks, rater=f"p{rater}"))
            for shown in ((f"c{one}", f"c{two}"), (f"c{two}", f"c{one}")) if judge else ():
                marks = (1.0, 0.0)
                verdicts.append(Verdict(f"{item}/{'/'.join(shown)}", "judge", f"i{item}", shown, "choice+tie",
                                        marks=marks))  # fmt: skip
    return Record(tuple(verdicts))


def table_estimates(ballots):
    (row,) = people_agreement_table(columns_from_verdicts(record(ballots))).rows
    return row[-2], row[-1]


def test_the_figures_are_those_of_a_loop_and_one_share_has_one_interval():
    ballots = votes(np.random.default_rng(2), 12, strong=True)
    alpha, share = table_estimates(ballots)
    expected = alpha_and_share(ballots)
    assert (alpha.value, share.value) == pytest.approx(expected)
    assert (alpha.units, share.units, share.n) == (12, 12, 12 * len(PAIRS))
    left_out = [alpha_and_share(np.delete(ballots, item, axis=0))[1] for item in range(12)]
    error = np.sqrt(11 / 12 * np.sum((np.array(left_out) - share.value) ** 2))
    assert share.high - share.low == pytest.approx(2 * 2.2 * error, rel=0.15)
    tables = {table.name: table for table in standard_verdict_tables.verdict_tables(record(ballots, judge=True))}
    printed = tables["votes"].rows[0][3]
    assert (printed.value, printed.low, printed.high, printed.n) == (share.value, share.low, share.high, share.n)


def test_alpha_does_not_depend_on_names_and_is_near_zero_for_votes_by_chance():
    ballots = votes(np.random.default_rng(5), 30, strong=False)
    alphas = []
    for names in (["c0", "c1", "c2", "c3", "c4"], ["c2", "c0", "c4", "c1", "c3"], ["c4", "c1", "c0", "c3", "c2"]):
        other = dict(zip(sorted(names), names, strict=True))
        renamed = [replace(one, contestants=tuple(map(other.get, one.contestants))) for one in record(ballots)]
        alphas.append(people_agreement_table(columns_from_verdicts(Record(tuple(renamed)))).rows[0][-2])
    assert len({(round(one.value, 9), round(one.low, 9), round(one.high, 9)) for one in alphas}) == 1
    coins = np.random.default_rng(6).integers(0, 3, (60, len(PAIRS), RATERS))
    assert table_estimates(coins)[0].value == pytest.approx(0, abs=0.05)


def coverage(items, runs, strong):
    expected = truth(strong)
    held = np.zeros(2)
    for run in range(runs):
        estimates = table_estimates(votes(np.random.default_rng([run, items, strong]), items, strong))
        held += [one.low <= value <= one.high for one, value in zip(estimates, expected, strict=True)]
    return held / runs


def least(wanted, runs):
    return wanted - 2 * (wanted * (1 - wanted) / runs) ** 0.5


def test_intervals_hold_the_truth_in_short():
    assert (coverage(8, 30, strong=True) >= least(0.92, 30)).all()


@pytest.mark.slow
@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize(("items", "runs"), [(5, 400), (8, 400), (12, 300), (20, 300), (60, 150), (150, 60)])
def test_intervals_hold_the_truth(items, runs, strong):
    wanted = 0.92 if items < 12 else 0.93
    assert (coverage(items, runs, strong) >= least(wanted, runs)).all()
