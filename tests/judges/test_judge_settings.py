"""Judges report their settings, the models they call and the prompts they send."""

from __future__ import annotations

import pytest

from fullbench import Case, Choice
from fullbench.core.judge import kind_of, models_of, prompts_of, with_models
from fullbench.judges.fallback_reader import SecondReader
from fullbench.judges.prompted_judge import PromptedJudge
from fullbench.models.local.offline_models_for_tests import OfflineModel
from fullbench.studies.engines import wants_gpu
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec
from fullbench.synthetic.biased_judge import SimulatedJudge
from fullbench.synthetic.truth_judge import TruthJudge
from tests.support.data_builders import Talker, answers, item

PAIR = Case(item(), answers(alpha="It is red.", omega="It is blue."), Choice())


@pytest.mark.parametrize(
    ("spec", "kind"),
    [("length", "metric"), ("chance", "metric"), ("reference", "metric"), ("bleu", "metric"), ("rouge", "metric"),
     ("picture:noise", "scorer"), ("scorer:math:hypot", "scorer"), ("clip", "scorer"), ("imagereward", "scorer")],
)  # fmt: skip
def test_a_judge_that_asks_nobody_says_so(spec, kind):
    made = judge_from_spec(spec)
    assert (kind_of(made), models_of(made), prompts_of(made, PAIR)) == (kind, (), ())


def test_simulated_judges_and_the_truth_ask_nobody():
    truth = TruthJudge(())
    for made, kind in ((truth, "metric"), (SimulatedJudge("s", truth.qualities), "model")):
        assert (kind_of(made), models_of(made), prompts_of(made, PAIR)) == (kind, (), ())


@pytest.mark.parametrize("mode", ["direct", "analyze", "steps"])
def test_a_prompted_judge_says_what_it_sends_and_sends_it(mode):
    talker = Talker(lambda _: "[[A]]")
    made = PromptedJudge(talker, mode, steps=("picture", "question"))
    said = prompts_of(made, PAIR) or ()
    list(made.judge([PAIR]))
    assert (kind_of(made), models_of(made)) == ("model", (talker,))
    assert len(said) == len(talker.asked)
    assert said[0].digest == talker.asked[0].digest
    for before, sent in zip(said, talker.asked, strict=True):
        assert [turn.parts for turn in before.turns if turn.role == "user"] == [
            turn.parts for turn in sent.turns if turn.role == "user"
        ]
    abstained = PromptedJudge(talker, reference=True)
    assert prompts_of(abstained, PAIR) == ()


def test_a_second_reader_asks_two_models_and_both_can_be_replaced():
    one, two, three, four = (Talker(lambda _: "hm") for _ in range(4))
    made = SecondReader(PromptedJudge(one), two)
    assert (kind_of(made), models_of(made)) == ("model", (one, two))
    assert [prompt.digest for prompt in prompts_of(made, PAIR) or ()] == [PromptedJudge(one).prompt(PAIR).digest]
    other = with_models(made, (three, four))
    assert other is not None
    assert models_of(other) == (three, four)
    assert with_models(judge_from_spec("length"), ()) is None


class _Silent:
    name, settings = "silent", {}

    def judge(self, cases):
        return iter(())


def test_what_is_not_said_is_unknown():
    silent = _Silent()
    assert (kind_of(silent), models_of(silent), prompts_of(silent, PAIR)) == (None, None, None)
    wrapped = SecondReader(silent, OfflineModel("r", str))
    assert (kind_of(wrapped), models_of(wrapped), prompts_of(wrapped, PAIR)) == (None, None, None)
    assert wrapped.with_models((OfflineModel("s", str),)) is None


@pytest.mark.parametrize(
    ("spec", "gpu"),
    [("clip", True), ("clip?device=cpu", False), ("picture:noise", False), ("length", False), ("offline:echo", False),
     ("local:models/x", True), ("local:models/x?device=cpu", False), ("blind:local:models/x", True)],
)  # fmt: skip
def test_who_computes_by_itself_wants_a_gpu(spec, gpu):
    assert wants_gpu(judge_from_spec(spec)) == gpu
