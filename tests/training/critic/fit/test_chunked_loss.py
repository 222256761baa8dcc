"""The loss in chunks equals that of transformers for every kind of output layer and for packed rows."""

from __future__ import annotations

import random

import pytest

from fullbench.training.critic.data.encoding import Example, Piece
from fullbench.training.critic.data.tensors import collate_batch
from fullbench.training.critic.fit import forward
from fullbench.training.critic.fit.objectives import TokenObjective
from fullbench.training.critic.fit.training_loop import Loop
from fullbench.training.critic.training_settings import Settings
from tests.training.critic import tiny

pytestmark = pytest.mark.slow
torch, transformers = tiny.torch, tiny.transformers
SMALL = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 512, "max_position_embeddings": 512, "head_dim": 16,
}  # fmt: skip
KINDS = {
    "Qwen2": (True, {}),
    "Llama": (True, {"tie_word_embeddings": False}),
    "Gemma2": (False, {"final_logit_softcapping": 5.0}),
    "Granite": (False, {"logits_scaling": 4.0}),
    "Cohere": (False, {"logit_scale": 0.25}),
}


def model(kind: str):
    torch.manual_seed(1)
    config = getattr(transformers, f"{kind}Config")(**SMALL, **KINDS[kind][1])
    made = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    with torch.no_grad():  # scores that are far apart, so that scaling and squashing show
        made.get_output_embeddings().weight.mul_(20)
    return made


def examples(count: int = 9) -> list[Example]:
    rng = random.Random(3)
    lengths = [(rng.randint(20, 60), rng.randint(3, 40)) for _ in range(count)]
    return [
        Example((Piece(tuple(rng.randrange(1, 512) for _ in range(start + more)), start),), 1.0)
        for start, more in lengths
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_and_its_gradient_are_those_of_transformers_whatever_a_model_does_with_its_scores(kind, monkeypatch):
    monkeypatch.setattr(forward, "CHUNK", 7)
    ours, theirs = model(kind), model(kind)
    some = examples()
    batch = collate_batch(some, [[0, 1, 2, 3], [4, 5], [6, 7, 8]], is_packed=True, pad=0)
    assert forward.has_plain_head(ours) is KINDS[kind][0]
    TokenObjective().total(ours, batch).backward()
    expected = 0.0
    for example in some:
        piece = example.pieces[0]
        ids = torch.tensor([piece.ids])
        labels = ids.clone()
        labels[0, : piece.start] = -100
        loss = theirs(input_ids=ids, labels=labels).loss * piece.targets
        loss.backward()
        expected += float(loss.detach())
    assert float(TokenObjective().total(ours, batch).detach()) == pytest.approx(expected, rel=1e-4)
    for (name, one), (_, two) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert torch.allclose(one.grad, two.grad, rtol=1e-3, atol=1e-4), name


def test_a_block_mask_shows_a_token_its_own_piece_up_to_itself():
    from torch.nn.attention.flex_attention import create_mask

    batch = collate_batch(examples(), [[0, 1, 2], [3, 4]], is_packed=True, pad=0, width=384)
    mask = forward.block_mask(batch.positions, is_compiled=False)
    rows, width = batch.positions.shape
    assert width == 384
    seen = create_mask(mask.mask_mod, rows, 1, width, width, device="cpu")[:, 0]
    for row in range(rows):
        piece = -1
        pieces = []
        for position in batch.positions[row].tolist():
            piece += position == 0
            pieces.append(piece)
        for query in range(0, width, 5):
            visible = [key for key in range(width) if key <= query and pieces[key] == pieces[query]]
            assert seen[row, query].nonzero().flatten().tolist() == visible


@pytest.mark.skipif(not torch.cuda.is_available(), reason="compiled layers are for a GPU, and there is none")
def test_compiled_layers_give_the_losses_of_plain_ones():
    settings = Settings(epochs=2, batch=12, micro=2, lr=1e-3, source=200, target=56, pack=True, compile="always")

    def losses(compiled: bool) -> list[float]:
        from fullbench.training.critic.fit.distributed_training import Processes

        loop = Loop(
            model("Qwen2").to("cuda:0"), TokenObjective(), examples(36), settings, processes=Processes(device="cuda:0")
        )
        if compiled:
            loop.compile()
        return [float(loop.step(step)[0]) for step in range(6)]

    assert losses(True) == pytest.approx(losses(False), rel=2e-3)


def test_long_runs_on_a_gpu_are_compiled_and_short_ones_or_others_are_not():
    packed = Settings(pack=True)
    assert packed.should_compile(True, 10**8)
    assert not packed.should_compile(True, 10**6)
    assert not packed.should_compile(False, 10**8)
    assert not Settings().should_compile(True, 10**8)
    assert Settings(pack=True, compile="always").should_compile(True, 1)
    assert not Settings(pack=True, compile="never").should_compile(True, 10**8)
