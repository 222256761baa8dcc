"""Votes: by brute force, and honest voters trusted above dishonest ones."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.stats.agreement.majority_and_trust_weighted_pair_votes import majority_vote, rating_vote

votes = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0])).filter(
        lambda row: row[1] != row[2]
    ),
    min_size=1,
    max_size=30,
)


@given(votes)
def test_majority_is_counted_question_by_question(rows):
    leads = defaultdict(float)
    for question, one, two, vote in rows:
        low, high = sorted((one, two))
        leads[question, low, high] += (2 * vote - 1) * (1 if one < two else -1)
    won = defaultdict(list)
    for (_, low, high), lead in leads.items():
        share = 0.5 if lead == 0 else float(lead > 0)
        won[low].append(share)
        won[high].append(1 - share)
    found = majority_vote(*map(list, zip(*rows, strict=True)), contestants=4)
    assert found == [pytest.approx(np.mean(won[who])) if who in won else None for who in range(4)]


def court(wrong, seed=0):
    """Nine voters on 40 pairs of three contestants of known order; each voter is wrong in a share of its votes."""
    rng = np.random.default_rng(seed)
    rows = []
    for question in range(40):
        one, two = sorted(rng.choice(3, 2, replace=False).tolist())
        for voter, share in enumerate(wrong):
            rows.append((question, voter, one, two, float(rng.uniform() >= share)))
    return map(list, zip(*rows, strict=True))


def test_who_votes_with_the_others_is_trusted():
    found = rating_vote(*court([0.1] * 6 + [0.5] * 3))
    assert min(found.trust[:6]) > max(found.trust[6:])
    assert found.scores[0] > found.scores[1] > found.scores[2]
    assert 1 < found.rounds < 100


def test_trust_beats_counting_when_many_are_wrong():
    question, voter, one, two, vote = court([0.05] * 4 + [0.75] * 5, seed=1)
    counted = majority_vote(question, one, two, vote)
    trusted = rating_vote(question, voter, one, two, vote).scores
    assert trusted[0] - trusted[2] > counted[0] - counted[2]


def test_a_stranger_to_the_pairs_has_no_score():
    assert rating_vote([0], [0], [0], [1], [1.0], contestants=3).scores[2] is None
