"""Majority and Dawid-Skene: against a plain second implementation, planted truth, and the rule of EM."""

import math
import random
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullbench.errors import Undefined
from fullbench.stats.agreement.vote_rules_and_dawid_skene import dawid_skene, majority_labels

VOTES = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("rst"), st.sampled_from("xyz")), min_size=1, max_size=40
)


def plain(rows, rounds):
    """Dawid and Skene's steps written out with dictionaries, for a fixed number of rounds."""
    labels = sorted({label for _, _, label in rows})
    seen = defaultdict(list)
    for item, rater, label in rows:
        seen[item].append((rater, label))
    chance = {i: {one: sum(v == one for _, v in votes) / len(votes) for one in labels} for i, votes in seen.items()}
    for _ in range(rounds):
        share = {one: sum(chance[i][one] for i in seen) / len(seen) for one in labels}
        told = defaultdict(float)
        for item, rater, label in rows:
            for truth in labels:
                told[rater, truth, label] += chance[item][truth]
        sums = defaultdict(float)
        for (rater, truth, _), value in told.items():
            sums[rater, truth] += value

        def says(rater, truth, label, told=told, sums=sums):
            total = sums[rater, truth]
            return told[rater, truth, label] / total if total > 1e-10 else 1 / len(labels)

        for item, votes in seen.items():
            weight = {
                one: max(share[one], 1e-10) * math.prod(max(says(r, one, v), 1e-10) for r, v in votes) for one in labels
            }
            chance[item] = {one: w / sum(weight.values()) for one, w in weight.items()}
    return chance


@settings(max_examples=60)
@given(VOTES)
def test_as_written_out(rows):
    found = dawid_skene(*zip(*rows, strict=True))
    other = plain(rows, len(found.likelihood))
    for item, row in zip(found.items, found.chances, strict=True):
        for label, chance in zip(found.labels, row, strict=True):
            assert chance == pytest.approx(other[item][label], abs=1e-6)


@settings(max_examples=60)
@given(VOTES)
def test_each_round_is_at_least_as_likely(rows):
    steps = dawid_skene(*zip(*rows, strict=True)).likelihood
    assert all(later >= earlier - 1e-6 for earlier, later in pairwise(steps))


def test_planted_errors_are_found_and_beat_the_majority():
    """Two careful people and three who mostly say `no`: the majority says no, Dawid-Skene knows better."""
    draw = random.Random(7)
    truth = {f"i{n}": draw.choice(["no", "yes"]) for n in range(400)}
    right = {"ann": 0.95, "bob": 0.93}
    rows = []
    for item, label in truth.items():
        for name, share in right.items():
            rows.append((item, name, label if draw.random() < share else {"no": "yes", "yes": "no"}[label]))
        rows += [(item, name, "no" if draw.random() < 0.85 else label) for name in ("eve", "dan", "fay")]
    found = dawid_skene(*zip(*rows, strict=True))
    voted = majority_labels([i for i, _, _ in rows], [one for _, _, one in rows])
    ours = sum(found.label(item)[0] == label for item, label in truth.items())
    theirs = sum(voted[item] == (label,) for item, label in truth.items())
    assert ours > 380
    assert theirs < 330
    assert found.accuracy("ann") == pytest.approx(0.95, abs=0.03)
    table = found.errors[found.raters.index("eve")]
    assert table[found.labels.index("yes"), found.labels.index("no")] == pytest.approx(0.85, abs=0.06)


@given(VOTES)
def test_majority_counts(rows):
    counts = defaultdict(Counter)
    for item, _, label in rows:
        counts[item][label] += 1
    found = majority_labels([i for i, _, _ in rows], [one for _, _, one in rows])
    assert found == {
        item: tuple(sorted(one for one, n in votes.items() if n == max(votes.values())))
        for item, votes in counts.items()
    }


def test_nothing_is_no_consensus():
    with pytest.raises(Undefined):
        dawid_skene([], [], [])
