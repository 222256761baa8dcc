"""The synthetic benchmark as an instrument: what is asked, and that the truth in its tags is what the pictures show."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from fullbench.audit.cases import picture_variants
from fullbench.audit.cases.attacks import all_attacks
from fullbench.audit.cases.build_audit_cases import (
    PICTURE_VARIANTS,
    SIZES,
    answers_by_quality,
    audit_cases,
    size_by_name,
)
from fullbench.audit.cases.synthetic_items import DIFFICULTIES, KINDS, draw_pictures, draw_question
from fullbench.core.case import Case
from fullbench.errors import InputError
from fullbench.synthetic.picture_reading import Sight, read_scene
from fullbench.synthetic.question_wording_parsing_and_solving import parse_question, solve_query, word_answer
from fullbench.synthetic.scenes import Scene


@pytest.fixture(scope="module")
def quick():
    return list(audit_cases(SIZES["quick"], 0))


def test_every_kind_is_asked_in_both_languages_at_all_difficulties():
    questions = [draw_question(3, "pairs", index) for index in range(78)]
    seen = Counter((known.kind, known.difficulty, known.language) for known in questions)
    assert seen == Counter(
        {(kind, level, tongue): 1 for kind in KINDS for level in DIFFICULTIES for tongue in ("en", "zh")}
    )
    assert len(KINDS) == 13


def test_what_is_right_and_what_is_wrong_can_be_read_from_the_pixels():
    """Eyes that know no scene read both pictures of a question and come to the answer that is called right for each."""
    agreed = total = 0
    for index in range(26):
        known = draw_question(5, "pairs", index)
        for scene, name, answer in (
            (known.scene, known.name, known.right),
            (known.other_scene, f"{known.name}-o", known.wrong),
        ):
            pictures = draw_pictures(scene, name)
            seen = read_scene(pictures[-1], Sight())
            if len(pictures) > 1:
                seen = Scene(seen.things, seen.bars, seen.text, read_scene(pictures[0], Sight()).things)
            query = parse_question(known.question)
            assert query == known.query
            read = solve_query(query, seen)
            total += 1
            agreed += read is not None and word_answer(query, read) == answer
    assert agreed >= 0.9 * total


def test_graded_answers_are_as_right_as_they_are_called():
    for index in range(26):
        known = draw_question(1, "scores", index)
        answers = answers_by_quality(known)
        assert {0.0, 1.0} <= set(answers)
        assert all(known.quality(text) == worth for worth, text in answers.items())
    assert {0.25, 0.5, 0.75} <= {
        worth for index in range(26) for worth in answers_by_quality(draw_question(1, "scores", index))
    }


def test_a_quick_audit_has_about_180_cases_and_a_seed_changes_them_all(quick):
    assert 150 <= len(quick) <= 190
    assert len({(case.key, case.trial) for case in quick}) == len(quick)
    assert [case.key for case in audit_cases(SIZES["quick"], 0)] == [case.key for case in quick]
    other = {case.key for case in audit_cases(SIZES["quick"], 1)}
    assert not other & {case.key for case in quick}


# All that a usual audit tries, on fewer items of each part.
SMALLER = replace(
    SIZES["default"],
    pairs=36,
    scores=20,
    rankings=6,
    picture_pairs=9,
    picture_use_pairs=18,
    hidden_picture_pairs=8,
    reversed_pairs=9,
    repeated_pairs=6,
    reworded_pairs=6,
    place_pairs=6,
    items_per_change=3,
    attacks=45,
)


@pytest.mark.parametrize("size", [SMALLER, pytest.param(SIZES["default"], marks=pytest.mark.slow)])
def test_one_ledger_may_hold_audits_of_all_sizes_an_item_and_an_answer_are_the_same_in_each(quick, size):
    contents: dict[object, str] = {}
    shared = 0
    known = {case.item.id for case in quick}
    for case in (*quick, *audit_cases(size, 0)):
        shared += case.item.id in known
        assert contents.setdefault(case.item.id, case.item.key) == case.item.key
        for said in case.responses:
            assert contents.setdefault((said.item, said.contestant), said.key) == said.key
    assert shared - len(quick) > 80, "many items of a quick audit are in the other"


def test_a_swapped_picture_turns_the_truth_round_and_hidden_ones_hold_nothing(quick):
    by_item: dict[str, Case] = {}
    for case in quick:
        by_item.setdefault(case.item.id, case)
    swapped = [case for case in quick if case.item.tags.get("what") == "swapped"]
    assert len(swapped) == SIZES["quick"].picture_use_pairs
    for case in swapped:
        first = by_item[case.item.tags["base"]]
        assert [one.contestant for one in case.responses] == [one.contestant for one in first.responses]
        worths = {one.contestant: float(one.tags["quality"]) for one in case.responses}
        assert worths["wrong"] == 1.0 > worths["right"]
        assert case.item.pictures[-1].digest != first.item.pictures[-1].digest
    seen = {case.item.tags["what"] for case in quick if case.item.tags["part"] == "picture use"}
    assert seen == set(PICTURE_VARIANTS)


def test_there_are_400_different_attacks_each_with_an_honest_twin(quick):
    every = all_attacks()
    assert len({(attack.carrier, attack.text(0)) for attack in every}) >= 400
    assert len({attack.name for attack in every}) == len(every)
    attacked = [case for case in quick if case.item.tags["part"] == "attack"]
    assert len(attacked) == 40
    assert {case.item.tags["where"] for case in attacked} == {"answer", "picture", "caption", "earlier turn"}
    twins: dict[str, Case] = {}
    for case in quick:
        twins.setdefault(case.item.id, case)
    for case in attacked:
        twin = twins[case.item.tags["base"]]
        assert case.contestants == twin.contestants


def test_changes_differ_by_dose_and_keep_the_picture_a_picture():
    picture = draw_pictures(draw_question(0, "drawings", 9).scene, "x")[-1]
    for what in picture_variants.CHANGES:
        one, two = picture_variants.apply_change(picture, what, 1), picture_variants.apply_change(picture, what, 2)
        assert len({picture, one, two}) == 3
    for name in picture_variants.PHOTO_STYLES:
        assert (
            picture_variants.apply_photo_style(picture, name, "a")
            == picture_variants.apply_photo_style(picture, name, "a")
            != picture
        )


def test_an_unknown_size_is_refused():
    with pytest.raises(InputError, match="known: quick, default, deep"):
        size_by_name("tiny")
