"""Losses beside TRL's, which defines what others train with: completion-only fine-tuning and DPO on the same rows."""

from __future__ import annotations

import warnings

import pytest

from fullbench.training.critic.data.encoding import Encoder, encode_answers
from fullbench.training.critic.data.tensors import collate_batch
from fullbench.training.critic.fit.objectives import PreferenceObjective, TokenObjective
from fullbench.training.critic.fit.training_loop import Loop
from fullbench.training.critic.train_critic import with_base_likelihoods
from fullbench.training.critic.training_settings import Settings
from tests.training.critic import tiny
from tests.training.critic.fit.test_training_loop import ASKING, loaded, scored

pytestmark = pytest.mark.slow
torch, transformers = tiny.torch, tiny.transformers
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    trl = pytest.importorskip("trl", reason="trl is not installed; scripts/localtorch.sh installs it")
    datasets = pytest.importorskip("datasets", reason="datasets is not installed; scripts/localtorch.sh installs it")


@pytest.fixture
def base(tmp_path):
    return tiny.model(tmp_path / "base")


def rows(words, settings: Settings) -> list[dict[str, str]]:
    """The same prompts and rulings as text, which TRL tokenises itself."""
    found = []
    for one in encode_answers(Encoder(words, ASKING, 200, 20), scored(6), settings):
        prompt, *said = (words.decode(part) for part in (one.pieces[0].ids[: one.pieces[0].start],))
        said = [words.decode(piece.ids[piece.start :]) for piece in one.pieces]
        names = ("completion",) if len(said) == 1 else ("chosen", "rejected")
        found.append({"prompt": prompt, **dict(zip(names, said, strict=True))})
    return found


def options(tmp_path, **more):
    return {
        "output_dir": str(tmp_path / "trl"), "per_device_train_batch_size": 6, "max_steps": 1, "report_to": "none",
        "use_cpu": True, "bf16": False, "fp16": False, "disable_tqdm": True, "save_strategy": "no",
        "logging_strategy": "no", "gradient_checkpointing": False, "dataloader_pin_memory": False, **more,
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_fine_tuning_has_trls_completion_only_loss(base, tmp_path):
    settings = Settings(batch=6, micro=6, source=200, target=20)
    model, words = loaded(base)
    examples = encode_answers(Encoder(words, ASKING, 200, 20), scored(6), settings)
    batch = collate_batch(examples, [[place] for place in range(6)], is_packed=False, pad=words.pad_token_id)
    model.eval()
    with torch.no_grad():
        ours = float(TokenObjective().total(model, batch)) / TokenObjective().count(examples)
    config = trl.SFTConfig(**options(tmp_path), completion_only_loss=True, max_length=220)
    words.eos_token = "<|end|>"
    trainer = trl.SFTTrainer(
        model=model,
        args=config,
        train_dataset=datasets.Dataset.from_list(rows(words, settings)),
        processing_class=words,
    )
    given = next(iter(trainer.get_train_dataloader()))
    model.eval()
    counted = int((given["labels"] != -100).sum())
    with torch.no_grad():
        theirs = float(trainer.compute_loss(model, {**given}))
    assert counted == TokenObjective().count(examples)
    assert ours == pytest.approx(theirs, rel=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("anchor", [0.0, 0.5])
def test_a_preference_has_trls_dpo_loss(base, tmp_path, anchor):
    settings = Settings(kind="dpo", batch=6, micro=6, source=200, target=20)
    model, words = loaded(base)
    examples = encode_answers(Encoder(words, ASKING, 200, 20), scored(6), settings)
    loop = Loop(model, PreferenceObjective(0.1, anchor), examples, settings, words.pad_token_id)
    examples = with_base_likelihoods(loop)
    with torch.no_grad():
        for one in model.parameters():
            one.mul_(1.05)
        model.eval()
        batch = collate_batch(examples, [[place] for place in range(6)], is_packed=False, pad=words.pad_token_id)
        ours = float(PreferenceObjective(0.1, anchor).total(model, batch)) / 6
    reference, _ = loaded(base)
    losses = {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, anchor]} if anchor else {}
    config = trl.DPOConfig(**options(tmp_path), beta=0.1, max_length=220, **losses)
    trainer = trl.DPOTrainer(
        model=model, ref_model=reference, args=config, processing_class=words,
        train_dataset=datasets.Dataset.from_list(rows(words, settings)),
    )  # fmt: skip
    given = next(iter(trainer.get_train_dataloader()))
    model.eval()
    with torch.no_grad():
        theirs = float(trainer.compute_loss(model, given))
    assert ours != pytest.approx(0.6931, abs=1e-3)
    assert ours == pytest.approx(theirs, rel=1e-3)
