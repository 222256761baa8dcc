"""Synthetic reviewers with their own preferences, and a peer review among them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fullbench.errors import InputError
from fullbench.synthetic.answer_quality_measure import measure_quality
from fullbench.synthetic.contestants_as_question_writers_and_reviewers import (
    Reviewer,
    ReviewRequest,
    Taste,
    answer_worth,
)
from fullbench.synthetic.parsed_question_and_answer_types import Query
from fullbench.synthetic.pixel_reading_contestants import build_contestants, contestant_from_options
from fullbench.synthetic.question_wording_parsing_and_solving import parse_question
from fullbench.synthetic.scenes import Scene, things_scene
from tests.support.commands import cells, cli

FAR = "The picture shows something else entirely."


def hearing() -> tuple[ReviewRequest, Scene, int]:
    import random

    scene = things_scene(random.Random(3))
    colour, shape = scene.things[0].colour, scene.things[0].shape
    query = parse_question(f"How many {colour} {shape}s are in the picture?")
    assert isinstance(query, Query)
    there = sum((thing.colour, thing.shape) == (colour, shape) for thing in scene.things)
    return ReviewRequest(query, (), by_understanding=False), scene, there


def test_a_reviewer_of_its_own_measures_otherwise_than_the_truth_does():
    asked, scene, there = hearing()
    own, near = f"There are {there}.", f"There are {there + 1}."
    assert measure_quality(asked.query, scene, near) == 0.5, (
        "the synthetic benchmark gives half for a count that is off by one"
    )
    facts_alone = Reviewer(scene, own, Taste(echo=0.0))
    assert answer_worth(asked, facts_alone, own) == 1
    assert answer_worth(asked, facts_alone, near) == answer_worth(asked, facts_alone, FAR) == 0
    assert answer_worth(asked, Reviewer(scene), near) == 0.5, "without a taste it is the synthetic benchmark's measure"


def test_it_likes_words_like_its_own_and_length_as_far_as_it_was_told():
    asked, scene, there = hearing()
    mine = f"Let me look with care. I count {there}."
    echoing, plain = Reviewer(scene, mine, Taste(echo=0.5)), Reviewer(scene, mine, Taste(echo=0.0))
    assert answer_worth(asked, echoing, mine) > answer_worth(asked, echoing, f"{there}.")
    assert answer_worth(asked, plain, mine) == answer_worth(asked, plain, f"{there}.")
    long = Reviewer(scene, mine, Taste(echo=0.0, length=0.2))
    twice = f"{there} " + "and so it is " * 2
    assert answer_worth(asked, long, twice) - answer_worth(asked, long, f"{there} and so it") == pytest.approx(
        0.2 * np.log2(9 / 4), abs=1e-9
    )


def test_options_make_clones_and_wrong_ones_are_refused():
    clone = contestant_from_options("colourblind", {"label": "twin", "rules": "own"})
    assert (clone.name, clone.sight) == ("synthetic/twin", contestant_from_options("colourblind", {}).sight)
    assert "taste" not in contestant_from_options("keen", {}).settings, "ledgers know the usual ones without"
    assert contestant_from_options("keen", {"echo": "0.4"}).settings["taste"] == {"echo": 0.4, "length": 0.0}
    for options, words in (({"sees": "1"}, "found sees"), ({"echo": "2"}, "from 0 to 1"), ({"rules": "x"}, "own or"),
                           ({"style": "loud"}, "plain, terse, wordy")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            contestant_from_options("keen", options)


def test_whoever_names_nobody_gets_reviewers_with_measures_of_their_own(tmp_path):
    """Not the truth's measure: what `rules=own` would ask is known, and what `rules=truth` would ask is not."""
    words = ["peer-review", "--limit", 1, "--quiet", "--json", "--ledger", tmp_path / "u.ledger"]
    usual = json.loads(cli(*words).stdout)

    def named(options: str) -> str:
        return ",".join(
            f"synthetic:{member.label}?{options.format(label=member.label)}" for member in build_contestants()
        )

    own = cli(*words, "--contestants", named("rules=own&label={label}-own"))
    assert "Called 0, reused" in own.stderr
    assert [table["rows"] for table in json.loads(own.stdout) if table["name"] == "ranking"] == [
        table["rows"] for table in usual if table["name"] == "ranking"
    ]
    assert "Called 0, reused" not in cli(*words, "--contestants", named("rules=truth")).stderr, "a ledger takes in both"


def test_a_peer_review_among_them_says_how_near_each_method_came(tmp_path):
    """On the command line, with a clone; what is printed as nearness is numpy's correlation of what is printed."""
    names = ("keen?rules=own", "wordy?echo=0.5", "colourblind?rules=own", "colourblind?rules=own&label=twin")
    told = cli("peer-review", "--contestants", ",".join(f"synthetic:{name}" for name in names), "--limit", 2, "--quiet",
               "--json", "--all", "--ledger", tmp_path / "c.ledger")  # fmt: skip
    tables = {table["name"]: table for table in json.loads(told.stdout)}
    ranking = tables["ranking"]
    assert {"synthetic/keen", "synthetic/twin"} <= set(cells(ranking, "contestant", "contestant"))
    truth = cells(ranking, "truth", "contestant")
    for method, pearson in cells(tables["nearness"], "pearson", "method").items():
        if method in ranking["columns"]:
            scores = cells(ranking, method, "contestant")
            expected = np.corrcoef([scores[name] for name in truth], list(truth.values()))[0, 1]
            assert pearson == pytest.approx(expected, abs=1e-6), method
