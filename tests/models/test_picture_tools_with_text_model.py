"""Contestants made of tools and a model, by rules and by a real small model: what they ask, answer and rule."""

from __future__ import annotations

import random

import pytest

from fullbench.core.case import Case
from fullbench.core.item import Item, Turn
from fullbench.core.model import Model, Prompt
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.errors import InputError
from fullbench.judges.peer_review.review_items_and_cases import BALLOT, CRITERIA
from fullbench.judges.peer_review.review_prompts import default_review_template
from fullbench.judges.prompted_judge import PromptedJudge
from fullbench.models.local import rule_based_answers_questions_and_verdicts
from fullbench.models.local.offline_models_for_tests import OfflineModel, echo_prompt
from fullbench.models.picture_tools_with_text_model import ComposedModel, build_composed_model
from fullbench.models.tools.picture_notes_and_their_wording import Notes, Thing
from fullbench.models.tools.toolbox import Toolbox
from fullbench.studies import judge_contestant_and_benchmark_specs
from tests.support.offline_tools import blank, drawn, with_model, with_tools

STREET = Notes(
    (
        Thing("person", 0.9, (0.1, 0, 0.1, 1)),
        Thing("person", 0.8, (0.8, 0, 0.1, 1)),
        Thing("car", 0.7, (0.4, 0, 0.2, 1)),
    ),
    ("NO PARKING", "24 HOURS"),
    {"grey": 0.6, "blue": 0.2},
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many people are in the picture?", "There are 2 people."),
        ("How many dogs are there?", "There are no dogs."),
        ("图中有几个人？", "There are 2 people."),
        ("Is there a car?", "Yes, there is a car."),
        ("Are there a car and a dog?", "No, there is not a car and a dog."),
        ("What does the sign say?", 'It says: "NO PARKING"; "24 HOURS".'),
        ("Which colours do you see?", "The main colours are grey and blue."),
        ("What is shown?", "There is a person and a car."),
        ("How many quarks are there?", "There is a person and a car."),
    ],
)
def test_questions_are_answered_from_notes(question, answer):
    query = rule_based_answers_questions_and_verdicts.parse_question(question)
    assert (
        rule_based_answers_questions_and_verdicts.phrase_answer(
            query, rule_based_answers_questions_and_verdicts.answer_from_notes(query, STREET)
        )
        == answer
    )
    assert rule_based_answers_questions_and_verdicts.answer_question(question, STREET).endswith(answer)
    assert (
        rule_based_answers_questions_and_verdicts.answer_question(question, Notes())
        == rule_based_answers_questions_and_verdicts.UNKNOWN
    )


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("How many people are there?", "I count two people.", "There are three people."),
        ("How many people are there?", "A car and two people. So the answer is 2.", "2 cars, so 5."),
        ("How many cars are there?", "A car.", "It is a photograph of a street."),
        ("Is there a car?", "Yes, a grey one.", "I see no car."),
        ("Is there a dog?", "No.", "Yes, there is a dog."),
        ("What is written there?", "No parking, 24 hours.", "It says welcome."),
        ("Which colours are there?", "Grey and blue.", "Red and yellow."),
        ("What things are there?", "A man, and a car.", "A cat on a couch."),
        ("What things are there?", "A man, and a car.", rule_based_answers_questions_and_verdicts.UNKNOWN),
    ],
)
def test_right_answers_are_worth_more(question, right, wrong):
    query = rule_based_answers_questions_and_verdicts.parse_question(question)
    known = rule_based_answers_questions_and_verdicts.answer_from_notes(query, STREET)
    assert known is not None
    assert rule_based_answers_questions_and_verdicts.score_answer(query, known, right) == 1
    assert rule_based_answers_questions_and_verdicts.score_answer(query, known, wrong) < 0.5


def test_questions_are_about_what_was_noted():
    asked = {
        rule_based_answers_questions_and_verdicts.pose_question(STREET, random.Random(seed)) for seed in range(200)
    }
    assert asked == {
        "How many people are there in the picture?", "How many cars are there in the picture?",
        "Is there a person in the picture?", "Is there a car in the picture?",
        "What words are written in the picture?", "Which colours are spread widest in the picture?",
    }  # fmt: skip
    assert (
        rule_based_answers_questions_and_verdicts.pose_question(Notes(), random.Random(0))
        == "What things are there in the picture?"
    )
    for question in asked:
        assert (
            rule_based_answers_questions_and_verdicts.answer_from_notes(
                rule_based_answers_questions_and_verdicts.parse_question(question), STREET
            )
            is not None
        )


class Seen:
    """A tool that always notes the same."""

    name, version = "objects", "1"

    def look(self, image):
        return [["dog", 0.9, [0.1, 0.1, 0.2, 0.2]]]


def heard(criterion, one, two, question="How many dogs are there?"):
    judge = PromptedJudge(ComposedModel(Toolbox([Seen()])), criteria=CRITERIA)
    item = Item.ask("q", question, blank((8, 8)))
    shown = tuple(Response.say("q", name, text) for name, text in (("a", one), ("b", two)))
    (verdict,) = judge.judge([Case(item, shown, BALLOT, criterion)])
    return verdict.marks


def test_rules_review_by_their_own_notes():
    assert heard(CORRECTNESS, "One dog.", "Four dogs.") == (1, 0)
    assert heard(CORRECTNESS, "Four dogs.", "One dog.") == (0, 1)
    assert heard(CORRECTNESS, "There is 1 dog.", "One dog.") == (0.5, 0.5)
    assert heard(VISUAL, "A dog.", "A dog, a cat and a couch.") == (1, 0)
    assert heard(CORRECTNESS, "It says A.", "It says B.", "What is written there?") == (0.5, 0.5)


def test_notes_stand_where_the_picture_stood_and_everything_else_stays():
    speaker = ComposedModel(Toolbox([Seen()]), OfflineModel("echo", echo_prompt))
    turns = (Turn("system", ("Be brief.",)), Turn("user", ("[1] ", blank((8, 8)), "\nWhat is shown? {notes}")))
    prompt = Prompt(turns, seed=3, tag="mine")
    (reply,) = speaker.answer([prompt])
    assert reply.text.startswith("[1] (You cannot see the picture.")
    assert "Things seen: a dog (left)." in reply.text
    assert reply.text.endswith("\nWhat is shown? {notes}")
    assert (reply.prompt.tag, reply.prompt.seed, reply.prompt.turns[0]) == ("mine", 3, turns[0])
    assert not reply.prompt.turns[1].pictures
    (blind,) = ComposedModel(Toolbox([]), OfflineModel("echo", echo_prompt)).answer([prompt])
    assert "nothing was noted" in blind.text


@pytest.mark.parametrize("llm", [None, OfflineModel("echo", echo_prompt)])
def test_a_broken_picture_fails_its_own_prompt_alone(llm):
    whole = drawn("mllm_judge", "menu")
    broken = Picture.from_bytes(whole.data()[:400])
    prompts = [Prompt((Turn("user", (picture, "What is shown?")),), tag=n) for n, picture in enumerate([broken, whole])]
    errors = {
        reply.prompt.tag: reply.error for reply in ComposedModel(Toolbox.from_names("colours"), llm).answer(prompts)
    }
    assert "cannot be decoded" in errors[0]
    assert errors[1] is None


def test_what_changes_answers_changes_the_name(monkeypatch):
    assert isinstance(build_composed_model("colours", {}), Model)
    names = [
        build_composed_model(tools, {"llm": llm}).name
        for tools in ("none", "colours")
        for llm in ("none", "offline:echo")
    ]
    assert len(set(names)) == 4
    assert names[3].startswith("echo+colours#")
    monkeypatch.setattr(Seen, "version", "2")
    assert ComposedModel(Toolbox([Seen()])).name != build_composed_model("none", {}).name
    older = ComposedModel(Toolbox([Seen()])).name
    monkeypatch.setattr(Seen, "version", "3")
    assert ComposedModel(Toolbox([Seen()])).name != older


def test_specs():
    assert judge_contestant_and_benchmark_specs.contestant_from_spec(
        "composed:colours?llm=offline:canned&text=hello"
    ).name.startswith("canned:hello+colours#")
    assert build_composed_model("colours", {}).price == (0.0, 0.0)
    for spec, sentence in [
        ("composed:smell", "no tool 'smell'"),
        ("composed:none?temperature=0", "follows fixed rules and takes no 'temperature'"),
        ("composed:none?llm=nobody", "no model 'nobody'"),
    ]:
        with pytest.raises(InputError, match=sentence):
            judge_contestant_and_benchmark_specs.contestant_from_spec(spec)


@with_tools
@with_model
def test_a_small_model_repeats_what_the_tools_saw():
    """It can do little; but a word that stands in the notes and nowhere else comes through."""
    picture = drawn("mllm_judge", "menu")
    prompt = Prompt((Turn("user", (picture, "Repeat the words that were seen in the picture.")),))
    sighted, blind = [
        next(
            iter(
                judge_contestant_and_benchmark_specs.contestant_from_spec(
                    f"composed:{tools}?llm=smollm2&max_tokens=40"
                ).answer([prompt])
            )
        ).text.lower()
        for tools in ("text", "none")
    ]
    assert any(word in sighted for word in ("soup", "bread", "tea"))
    assert not any(word in blind for word in ("soup", "bread"))


def test_a_question_is_written_from_the_notes_of_the_last_picture():
    asked = Turn("user", (drawn("mllm_judge", "light"), default_review_template().write))
    (reply,) = build_composed_model("colours", {}).answer([Prompt((asked,))])
    assert reply.text == "Which colours are spread widest in the picture?"
