"""Preferences on answers held back: counted as by hand, and really learned where the words tell the mark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fullbench.training.critic.data.encoding import Encoder, encode_answers, wrong_mark
from fullbench.training.critic.load_critic import load_judge
from fullbench.training.critic.preference_accuracy_of_verdicts import Preferences, verdict_likelihoods
from fullbench.training.critic.train_critic import Training
from tests.training.critic import tiny
from tests.training.critic.fit.test_training_loop import ASKING, FEW, loaded, scored

pytestmark = pytest.mark.slow
torch = tiny.torch
DPO = replace(FEW, kind="dpo", epochs=30, beta=0.5)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny.model(tmp_path_factory.mktemp("base") / "base")


def test_likelihoods_are_those_that_transformers_computes(base):
    model, words = loaded(base)
    examples = encode_answers(Encoder(words, ASKING, 200, 20), scored(5), DPO)
    ours = verdict_likelihoods(model, examples, micro=2, pad=words.pad_token_id, device="cpu")
    for example, pair in zip(examples, ours, strict=True):
        for piece, found in zip(example.pieces, pair, strict=True):
            ids = torch.tensor([piece.ids])
            labels = ids.clone()
            labels[0, : piece.start] = -100
            with torch.no_grad():
                theirs = -float(model(input_ids=ids, labels=labels).loss) * piece.targets
            assert found == pytest.approx(theirs, abs=1e-4)


def test_one_that_knows_how_often_marks_are_given_prefers_them():
    held = [replace(one, split="internal") for one in scored(8)]
    pairs = Preferences(held, ASKING, DPO)
    wrong = [wrong_mark(one, ASKING, DPO.seed) for one in held]
    assert all(other != one.mark for one, other in zip(held, wrong, strict=True))
    assert pairs.frequency_scores([one for one in scored(8) if one.mark == 5]) == [
        1.0 if one.mark == 5 else 0.0 if other == 5 else 0.5 for one, other in zip(held, wrong, strict=True)
    ]


def test_what_was_learned_is_preferred_on_answers_held_back(base, tmp_path):
    given = [replace(one, split="internal" if place >= 60 else "train") for place, one in enumerate(scored(90))]
    training = Training(given, ASKING, DPO, str(base), tmp_path / "critic")
    assert training.run()
    table = training.preference_table()
    (_, before, _), (_, after, gained), _ = table.rows
    assert after.n == before.n == 30
    assert after.low > 0.7
    assert gained.low > 0
    judge = load_judge(tmp_path / "critic")
    assert all(verdict.fault is None for verdict in judge.judge([one.case for one in given[60:]])), "it still rules"
    assert replace(training, settings=replace(DPO, kind="sft")).preference_table() is None
