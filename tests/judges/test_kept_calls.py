"""A verdict keeps all calls it came from; replies that were cut off are marked."""

from __future__ import annotations

import pytest

from fullbench import Case, Choice, Failure, Prompt, Ranking, Reply, Score, Usage, Verdict
from fullbench.judges.fallback_reader import SecondReader
from fullbench.judges.prompted_judge import PromptedJudge
from tests.support.data_builders import Talker, answers, item


def reply(text: str, stop: str = "stop", **rest: str):
    return lambda prompt: Reply(prompt, text, Usage(calls=1, tokens_out=7), stop=stop, **rest)


def pair(ballot=None) -> Case:
    return Case(item(), answers(alpha="It is red.", omega="It is blue."), ballot or Choice())


def ruled(judge: PromptedJudge | SecondReader, case: Case) -> Verdict:
    (verdict,) = judge.judge([case])
    assert isinstance(verdict, Verdict)
    return verdict


def in_turn(*replies):
    coming = iter(replies)

    def answer(prompt: Prompt) -> Reply:
        return next(coming)(prompt)

    return answer


def test_every_exchange_is_kept_the_resampled_one_and_the_second_readers_too():
    talker = Talker(in_turn(
        reply("hm", reasoning="A?", served="m-1", fingerprint="fp1"),
        reply("still hm", reasoning="B?", served="m-2", fingerprint="fp2"),
    ))  # fmt: skip
    reader = Talker(reply("[[B]]", served="r-1"))
    verdict = ruled(SecondReader(PromptedJudge(talker, resample=1), reader), pair())
    assert verdict.marks == (0.0, 1.0)
    first, second, third = verdict.exchanges
    assert [one.text for one in verdict.exchanges] == ["hm", "still hm", "[[B]]"]
    assert [one.reasoning for one in verdict.exchanges] == ["A?", "B?", ""]
    assert [one.served for one in verdict.exchanges] == ["m-1", "m-2", "r-1"]
    assert [one.fingerprint for one in verdict.exchanges] == ["fp1", "fp2", ""]
    assert [one.prompt for one in (first, second)] == [prompt.digest for prompt in talker.asked]
    assert third.prompt == reader.asked[0].digest
    assert len({one.id for one in verdict.exchanges}) == 3
    assert all(len(one.id) == 32 and int(one.id, 16) >= 0 for one in verdict.exchanges)
    assert sum((one.usage for one in verdict.exchanges), Usage()) == verdict.usage
    assert verdict.at >= third.at - 1 >= first.at - 1 > 0


def test_steps_are_exchanges_and_a_failure_keeps_those_that_came():
    failing = in_turn(reply("I look."), lambda prompt: Reply(prompt, error="gone", usage=Usage(retries=2)))
    (failure,) = PromptedJudge(Talker(failing), "steps").judge([pair()])
    assert isinstance(failure, Failure)
    assert [one.text for one in failure.exchanges] == ["I look."]
    verdict = ruled(PromptedJudge(Talker(in_turn(reply("I look."), reply("[[A]]"))), "steps"), pair())
    assert [one.text for one in verdict.exchanges] == ["I look.", "[[A]]"]


def test_no_exchange_no_entry():
    verdict = ruled(PromptedJudge(Talker(reply("[[4]]")), max_pictures=1), Case(item(), answers(a="x"), Score(1, 5)))
    assert len(verdict.exchanges) == 1
    abstained = ruled(PromptedJudge(Talker(reply("[[A]]")), reference=True), pair())
    assert (abstained.fault, abstained.exchanges) == ("abstained", ())


@pytest.mark.parametrize(
    ("ballot", "text", "marks"),
    [
        (Choice(), "Both see it. So: [[A]]", (1.0, 0.0)),
        (Choice(), "So: [[B]].\n", (0.0, 1.0)),
        (Choice(), "So: **[[B]]**", (0.0, 1.0)),
        (Choice(), "[[A]] at first sight, but then I notice that B", None),
        (Choice(), "At first [[A]]. But looking closer, [[", None),
        (Choice(), "Response A is better because", None),
        (Choice(), "The winner is A", None),
        (Choice(), '{"judgement": "A"} or rather [[B]]', (0.0, 1.0)),
        (Choice(), '{"analysis": "red", "judgement": "B"}', None),
        (Score(1, 5), "[[4]], [[2]]", (4.0, 2.0)),
        (Score(1, 5), "[[4]], [[2", None),
        (Score(1, 5), "First [[4]].", None),
        (Ranking(), "[[B > A]]", (1.0, 2.0)),
        (Ranking(), "[[B > A", None),
        (Choice(), "", None),
    ],
)
def test_a_reply_cut_off_rules_only_where_its_ruling_is_complete_and_last(ballot, text, marks):
    verdict = ruled(PromptedJudge(Talker(reply(text, "length")), resample=0), pair(ballot))
    assert (verdict.marks, verdict.fault) == (marks, None if marks else "unreadable")
    assert verdict.text == text
    assert verdict.exchanges[0].stop == "length"


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ('{"analysis": "red", "judgement": "B"}', (0.0, 1.0)),
        ('{"analysis": "red", "judgement": "B"', None),
        ('{"judgement": "A"} and yet I wonder whether {"x": 1}', None),
        ('{"judgement": "A"} or rather [[B]]', None),
        ("[[B]]", None),
    ],
)
def test_a_reply_in_json_cut_off_rules_only_where_the_object_is_whole(text, marks):
    verdict = ruled(PromptedJudge(Talker(reply(text, "length")), form="json", resample=0), pair())
    assert (verdict.marks, verdict.fault) == (marks, None if marks else "unreadable")


def test_the_same_words_rule_where_they_were_not_cut_off():
    for text in ("The winner is A", "[[A]] at first sight, but then I notice that B"):
        assert ruled(PromptedJudge(Talker(reply(text)), resample=0), pair()).marks == (1.0, 0.0)


@pytest.mark.parametrize("stop", ["refused", "filter"])
def test_what_a_model_or_a_filter_declined_is_refused(stop):
    assert ruled(PromptedJudge(Talker(reply("[[A]]", stop)), resample=0), pair()).fault == "refused"


def test_what_was_thought_never_rules():
    verdict = ruled(PromptedJudge(Talker(reply("I cannot decide.", reasoning="[[A]]")), resample=0), pair())
    assert verdict.fault in {"unreadable", "refused"}
    assert verdict.exchanges[0].reasoning == "[[A]]"
