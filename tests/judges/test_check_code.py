"""The check code as a setting of a judge: who requests it, where it is in the prompt, and what a reply is worth."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fullbench import Call, Case, Choice, Score, Verdict
from fullbench.benchmarks.mj_bench.picture_prompt_template_and_rubrics import build_judge as mj_bench_judge
from fullbench.benchmarks.mllm_judge.own_prompt_wording_and_criteria import build_judge as mllm_judge
from fullbench.benchmarks.visit_bench.prompt_styles_and_reference_correctness_by_caption import (
    build_judge as visit_bench_judge,
)
from fullbench.judges.critic_prompts_with_task_rules import build_critic
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted_judge import SLOTS, PromptedJudge
from fullbench.judges.reply_reader_that_ignores_quoted_prompt_texts import read_reply
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec
from tests.support.data_builders import Talker, answers, item

CODE = "kfmzqtwb"
OWN_WORDS = "=== user\n{question}\n--- case\n{responses}\n{verdict}\n--- analyze\n{text}\n--- direct\n{text}\n"
FIXED_FORM = OWN_WORDS.replace("{verdict}", "Write [[A]] or [[B]].")


def pair(code: str = CODE) -> Case:
    return Case(item(), answers(alpha="It is red.", omega="It is blue."), Choice()).with_nonce(code)


def sent_text(judge: PromptedJudge) -> str:
    (prompt,) = judge.prompts(pair())
    return "".join(str(part) for turn in prompt.turns for part in turn.parts)


class Schemas(Talker):
    """A model that takes schemas."""

    takes_schemas = True


@pytest.mark.parametrize("template", [None, OWN_WORDS, FIXED_FORM])
@pytest.mark.parametrize("form", ["marker", "json"])
def test_our_own_prompt_and_any_template_request_the_code_at_the_end(template, form):
    words = Template.parse(template, SLOTS) if template else None
    judge = PromptedJudge(Talker(lambda _: "[[A]]"), template=words, form=form)
    assert CODE in sent_text(judge).rstrip().rpartition("\n")[2]
    silent = replace(judge, check_code=False)
    assert CODE not in sent_text(silent)
    assert judge.name != silent.name
    (asked,), (unasked,) = judge.prompts(pair()), silent.prompts(pair())
    assert (asked.nonce, unasked.nonce) == (CODE, "")
    assert asked.digest == judge.prompts(pair("bbbbcccc"))[0].digest  # the code is no part of the question


@pytest.mark.parametrize("build", [mj_bench_judge, mllm_judge, visit_bench_judge, build_critic])
def test_prompts_of_papers_and_critics_go_without_unless_told_otherwise(build):
    talker = Talker(lambda _: "[[A]]")
    assert not build(talker).check_code
    assert build(talker).name != PromptedJudge(talker).name


def test_the_option_is_part_of_a_spec_and_of_the_name():
    names = {
        judge_from_spec(f"offline:echo{options}").name
        for options in (
            "",
            "?check_code=no",
            "?benchmark_template=mjbench",
            "?benchmark_template=mjbench&check_code=yes",
        )
    }
    assert len(names) == 4
    assert judge_from_spec("offline:echo?check_code=yes").name == judge_from_spec("offline:echo").name
    assert sum("+no-check-code" in name for name in names) == 1


def test_a_constrained_judge_gets_a_field_for_the_code_and_is_asked_for_it():
    judge = PromptedJudge(
        Schemas(lambda _: json.dumps({"analysis": "", "judgement": "B", "code": CODE})), constrained=True
    )
    (prompt,) = judge.prompts(pair())
    assert list(json.loads(prompt.schema)["properties"]) == ["analysis", "judgement", "code"]
    assert f'"code": "{CODE}"' in sent_text(judge)
    (verdict,) = judge.judge([pair()])
    assert isinstance(verdict, Verdict)
    assert (verdict.marks, verdict.reading.has_check_code) == ((0.0, 1.0), True)
    (unasked,) = replace(judge, check_code=False).prompts(pair())
    assert list(json.loads(unasked.schema)["properties"]) == ["analysis", "judgement"]


READINGS = [
    ("It is right.\n" + CODE + " [[B]]", (0.0, 1.0), True), ("It is right.\n[[B]]", (0.0, 1.0), False),
    (f"[[{CODE}]] [[A]]", (1.0, 0.0), True), ("[[A]] I think, or not.\n[[E]]", None, False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "marks", "has_code"), READINGS)
def test_a_verdict_says_whether_it_carries_the_code(text, marks, has_code):
    (verdict,) = PromptedJudge(Talker(lambda _: text), resample=0).judge([pair()])
    assert isinstance(verdict, Verdict)
    assert (verdict.marks, verdict.reading.has_check_code) == (marks, has_code)


def test_without_a_request_nothing_is_said_about_the_code():
    (verdict,) = PromptedJudge(Talker(lambda _: "[[A]]"), check_code=False).judge([pair()])
    assert isinstance(verdict, Verdict)
    assert verdict.reading.has_check_code is None


CONSTRAINED = {"mode": "analyze", "constrained": True, "language": "en"}


@pytest.mark.parametrize(
    ("text", "marks", "has_code"),
    [(json.dumps({"analysis": "B says [[2]]", "judgement": 4, "code": CODE}), (4.0,), True),
     (json.dumps({"analysis": "fine", "judgement": 4, "code": "other"}), (4.0,), False),
     ('It is fine. {"judgement": 4}', "unreadable", False), ("[[4]]", "unreadable", False),
     (json.dumps({"score": 4}), "unreadable", False), (json.dumps({"judgement": 9}), "unreadable", False)],
)  # fmt: skip
def test_only_a_constrained_reply_is_read_strictly(text, marks, has_code):
    case = Case(item(), answers(alpha="It is red."), Score(1, 5))
    read, reading = read_reply(case, Call("c" * 32, text, nonce=CODE), CONSTRAINED)
    assert (read, reading.has_check_code) == (marks, has_code)
    if text.startswith("[["):
        assert read_reply(case, Call("c" * 32, text, nonce=CODE), {**CONSTRAINED, "constrained": ""})[0] == (4.0,)
