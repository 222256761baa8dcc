"""A narrowed tool tells a part of what the whole one tells, and never anything against it."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullbench.models.local import rule_based_answers_questions_and_verdicts
from fullbench.models.local.rule_based_answers_questions_and_verdicts import Query
from fullbench.models.response_fences_and_parser import JudgingRequest
from fullbench.models.tools.picture_notes_and_their_wording import Notes
from fullbench.models.tools.text_image_fit_from_notes import picture_bag
from fullbench.models.tools.toolbox import LIMITED_TOOLS, Toolbox
from tests.cli.test_offline_peer_review import CHAIN
from tests.support.offline_tools import drawn

SEEN = st.fixed_dictionaries({
    "objects": st.lists(st.tuples(st.sampled_from(["dog", "car", "person"]), st.floats(0.5, 1), st.just([0, 0, 1, 1]))),
    "text": st.lists(st.sampled_from(["NO PARKING", "24 HOURS", "禁止停车", "exit"])),
    "colours": st.dictionaries(st.sampled_from(["red", "blue", "grey"]), st.floats(0.01, 0.3)),
})  # fmt: skip
QUERIES = [
    Query("count", ("dog",)), Query("whether", ("dog",)), Query("whether", ("car", "person")), Query("writing"),
    Query("colours"), Query("things"),
]  # fmt: skip


def noted(tools, seen):
    """What a toolbox of these names would note of a picture that is seen so by the whole tools."""
    names = [] if tools == "none" else tools.split("+")
    return Notes.from_json(
        {
            name: LIMITED_TOOLS[name][1](seen[LIMITED_TOOLS[name][0]]) if name in LIMITED_TOOLS else seen[name]
            for name in names
        }
    )


@given(SEEN, st.sampled_from(QUERIES))
def test_each_of_the_chain_knows_all_that_the_next_knows(seen, query):
    for more, less in pairwise(CHAIN):
        wide, narrow = noted(more, seen), noted(less, seen)
        assert picture_bag(narrow).items() <= picture_bag(wide).items()
        known, part = (
            rule_based_answers_questions_and_verdicts.answer_from_notes(query, wide),
            rule_based_answers_questions_and_verdicts.answer_from_notes(query, narrow),
        )
        if part is None:
            continue
        assert known is not None
        assert set(part) <= set(known) if isinstance(part, tuple) else part == known


@settings(max_examples=400)
@given(SEEN, st.permutations(range(len(CHAIN))), st.integers(0, 9))
def test_nobody_is_ruled_down_for_knowing_more_than_another(seen, places, seed):
    """Whoever reviews answers to its own question: what it does not know it does not hold against anybody."""
    (one, two), reviewer = sorted(places[:2]), noted(CHAIN[places[2]], seen)
    question = rule_based_answers_questions_and_verdicts.pose_question(reviewer, Random(seed))
    answers = tuple(
        rule_based_answers_questions_and_verdicts.answer_question(question, noted(CHAIN[place], seen))
        for place in (one, two)
    )
    for criterion in ("right", "how well it understands"):
        assert not rule_based_answers_questions_and_verdicts.judge_answers(
            JudgingRequest(question, answers, criterion), reviewer
        ).endswith("[[B]]")


@pytest.mark.parametrize(
    ("more", "less", "question"),
    [
        (CHAIN[0], CHAIN[1], "How many dogs are there?"),
        (CHAIN[1], CHAIN[2], "Is there a dog?"),
        (CHAIN[2], CHAIN[3], "What is written?"),
        (CHAIN[3], CHAIN[4], "What is written?"),
        (CHAIN[4], CHAIN[5], "Which colours are there?"),
        (CHAIN[5], CHAIN[6], "Which colours are there?"),
    ],
)
def test_and_each_knows_something_that_the_next_does_not(more, less, question):
    seen = {
        "objects": [("dog", 0.9, [0, 0, 1, 1]), ("dog", 0.8, [0, 0, 1, 1])],
        "text": ["NO PARKING", "24 HOURS"],
        "colours": {"grey": 0.4, "red": 0.2},
    }
    query = rule_based_answers_questions_and_verdicts.parse_question(question)
    assert rule_based_answers_questions_and_verdicts.answer_from_notes(
        query, noted(more, seen)
    ) != rule_based_answers_questions_and_verdicts.answer_from_notes(query, noted(less, seen))


def test_a_part_is_named_and_versioned_after_its_whole():
    part, whole = Toolbox.from_names("colour"), Toolbox.from_names("colours")
    picture = drawn("mllm_judge", "light")
    assert part.name == "colour"
    assert whole.versions["colours"] in part.versions["colour"]
    assert part.notes(picture).main_colours == whole.notes(picture).main_colours[:1]
    assert "Kinds of things seen: dog and car." in Notes(kinds={"dog": 0.9, "car": 0.8}).to_text()
