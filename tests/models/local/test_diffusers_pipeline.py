"""A pipeline on a device with too little memory, and one whose safety checker takes pictures out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from PIL import Image

from fullbench import Item
from fullbench.core.model import Prompt
from fullbench.models.local.diffusers_pipeline import PipelineModel

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
pytest.importorskip("diffusers", reason="diffusers is not installed; pip install fullbench[diffusers]")


class SmallCard:
    """Draws at most so many pictures at once, each in the shade that its seed draws; a gun is filtered."""

    def __init__(self, most: int) -> None:
        self.most, self.batches = most, []

    def __call__(self, prompt, generator):
        self.batches.append(len(prompt))
        if len(prompt) > self.most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        shades = [int(torch.randint(20, 250, (1,), generator=one)) for one in generator]
        images = [Image.new("RGB", (8, 8), (shade, 9, 9)) for shade in shades]
        return SimpleNamespace(images=images, nsfw_content_detected=["gun" in words for words in prompt])


def drawn(card: SmallCard, batch: int = 8):
    model = PipelineModel("somebody/pipeline", batch=batch, seed=5)
    model._pipeline = card
    words = [f"cat {n}" for n in range(9)] + ["a gun"]
    prompts = [Prompt(Item.ask("i", text).turns, seed=place) for place, text in enumerate(words)]
    return model, list(model.answer(prompts))


def test_the_batch_halves_until_it_fits_and_no_picture_is_lost(capsys):
    small, large = SmallCard(2), SmallCard(100)
    model, replies = drawn(small)
    assert len(replies) == 10
    assert all(reply.error is None for reply in replies)
    assert model.batch == 2
    assert "too little memory for 8 pictures at once; 4 now" in capsys.readouterr().err
    _, others = drawn(large)
    for reply, other in zip(replies[:-1], others[:-1], strict=True):
        assert reply.tags == other.tags
        assert reply.pictures == other.pictures, "the same picture from a small card and from a large one"
    assert (replies[-1].stop, replies[-1].pictures) == ("filter", ())


def test_a_card_without_room_for_one_picture_says_so():
    _, replies = drawn(SmallCard(0), batch=2)
    assert all("too little memory for one picture" in (reply.error or "") for reply in replies)
