"""What makes score models quick must not change what they say: the activation, the resizing, prompts read once."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench import Real
from fullbench.judges.scorers import running
from fullbench.judges.scorers.fused import fuse
from fullbench.judges.scorers.hub import ContrastScorer
from fullbench.judges.scorers.recipe import Recipe
from fullbench.judges.scorers.scorer import ScorerJudge
from tests.judges.scorers import models
from tests.judges.scorers.making import case, picture, texture

pytestmark = pytest.mark.slow
torch = models.torch
transformers = models.transformers
RECIPE = Recipe(48, 32, (0.5,) * 3, (0.5,) * 3)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return models.clip(tmp_path_factory.mktemp("speedups") / "clip")


def test_the_fused_activation_gives_what_transformers_gives(clip):
    model = transformers.CLIPModel.from_pretrained(clip).eval()
    tokens = {"input_ids": torch.tensor([[52, 3, 4, 53]]), "attention_mask": torch.ones(1, 4, dtype=torch.long)}
    pixels = torch.randn(3, 3, 32, 32)
    with torch.inference_mode():
        before = model(pixel_values=pixels, **tokens)
        assert fuse(model) == 4
        after = model(pixel_values=pixels, **tokens)
    assert torch.allclose(before.image_embeds, after.image_embeds, atol=1e-5)
    assert torch.allclose(before.text_embeds, after.text_embeds, atol=1e-5)


def test_a_model_with_another_activation_is_left_as_it_is(tmp_path):
    model = transformers.SiglipModel.from_pretrained(models.siglip(tmp_path / "siglip"))
    assert fuse(model) == 0


@pytest.mark.parametrize("size", [(64, 64), (96, 50), (50, 96), (33, 40), (48, 48), (500, 64)])
def test_two_products_resize_as_pillow_does(size):
    image = texture(3, 512).resize(size)
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float()
    ours = RECIPE.shrink(pixels)
    height, width = RECIPE.size(image.height, image.width)
    top, left = RECIPE.corner(height, width)
    whole = torch.nn.functional.interpolate(pixels, size=(height, width), mode="bicubic", antialias=True).clamp(0, 255)
    assert torch.allclose(ours, whole[:, :, top : top + 32, left : left + 32], atol=0.01)
    difference = np.abs(ours[0].permute(1, 2, 0).numpy() - RECIPE.cut(image).astype(float))
    assert np.quantile(difference, 0.99) < 1  # Pillow rounds between the two directions, and cuts off what overshoots
    assert difference.max() < 4


def test_a_prompt_is_read_once_and_forgetting_it_changes_nothing(clip, monkeypatch):
    cases = [case(picture(texture(n)), ballot=Real(0, 10), prompt=f"a {('red', 'blue')[n % 2]} cat") for n in range(12)]
    scorer = ContrastScorer(str(clip), span=(-1.0, 1.0))
    read: list[str] = []
    meaning = scorer._meaning
    monkeypatch.setattr(scorer, "_meaning", lambda prompts: (read.extend(prompts), meaning(prompts))[1])
    kept = [verdict.marks for verdict in ScorerJudge(scorer, batch=4).hear(cases)]
    assert sorted(read) == ["a blue cat", "a red cat"]
    monkeypatch.setattr(running, "_KEPT", 0)
    forgotten = ScorerJudge(ContrastScorer(str(clip), span=(-1.0, 1.0)), batch=4).hear(cases)
    for one, two in zip(kept, (verdict.marks for verdict in forgotten), strict=True):
        assert one == pytest.approx(two, abs=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_pictures_decoded_on_the_card_score_as_pillows_do(clip):
    images = [texture(n, 512).resize((300 + 40 * (n % 3), 320)) for n in range(24)]
    kinds = ["JPEG", "PNG", "JPEG"]
    cases = [
        case(picture(image, kinds[n % 3]), ballot=Real(0, 10), prompt=f"a {('red', 'blue')[n % 2]} cat")
        for n, image in enumerate(images)
    ]
    scores = [
        [verdict.marks[0] for verdict in ScorerJudge(scorer, batch=8).hear(cases)]
        for scorer in (
            ContrastScorer(str(clip), span=(-1.0, 1.0), device="cpu"),
            ContrastScorer(str(clip), span=(-1.0, 1.0)),
            ContrastScorer(str(clip), span=(-1.0, 1.0), decoder="gpu"),
        )
    ]
    assert scores[1] == pytest.approx(scores[0], abs=0.05)
    assert scores[2] == pytest.approx(scores[0], abs=0.1)
    assert np.std(scores[0]) > 0.2
