"""Votes joined by Dawid and Skene's model if response sets differ in size."""

from __future__ import annotations

from fullbench.stats.agreement.vote_rules_and_dawid_skene import joint_votes_by_set


def test_likeliest_orders_have_as_many_marks_as_responses_were_shown():
    """Few votes, on sets of four and of five: fitted together, an order of four was the likeliest label of five."""
    votes = {
        1: [("bob", (3.0, 1.0, 2.0, 5.0, 4.0))],
        2: [("ann", (1.0, 5.0, 4.0, 2.0, 3.0))],
        3: [("cy", (1.0, 4.0, 3.0, 2.0))],
        4: [("ann", (5.0, 4.0, 3.0, 2.0, 1.0)), ("cy", (3.0, 1.0, 4.0, 5.0, 2.0))],
        5: [("ann", (1.0, 2.0, 4.0, 3.0, 5.0))],
    }
    joint = joint_votes_by_set(votes, "order", "dawid-skene")
    assert list(joint) == list(votes)
    assert {panel: len(one.marks) for panel, one in joint.items()} == {1: 5, 2: 5, 3: 4, 4: 5, 5: 5}
    assert joint[3].marks == (1.0, 4.0, 3.0, 2.0)


def test_a_rater_who_errs_often_is_outvoted_within_each_size():
    """Two careful raters and one who turns every order round, whatever the number of responses."""
    votes = {}
    for number in range(30):
        size = 2 + number % 3
        best = tuple(float(size - place) for place in range(size))
        votes[number] = [("careful", best), ("steady", best), ("turned", best[::-1])]
    joint = joint_votes_by_set(votes, "order", "dawid-skene")
    assert all(joint[number].marks == cast[0][1] for number, cast in votes.items())
    assert joint_votes_by_set({}, "order", "dawid-skene") == {}
