"""What makes score models quick must not change what they say: the activation, the resizing, prompts read once."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench import Picture, Real
from fullbench.errors import InputError, Unscorable
from fullbench.judges.scorers import torch_scorer_base
from fullbench.judges.scorers.batch_preprocessing_and_gpu_jpeg_decoding import Recipe
from fullbench.judges.scorers.clip_activation_fusion_and_vision_compilation import fuse_activations
from fullbench.judges.scorers.safe_picture_decoding import decode_picture
from fullbench.judges.scorers.scorer_judge import ScorerJudge
from fullbench.judges.scorers.transformers_scorers import ContrastScorer
from tests.judges.scorers import models
from tests.judges.scorers.making import case, encoded, picture, texture

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
        assert fuse_activations(model) == 4
        after = model(pixel_values=pixels, **tokens)
    assert torch.allclose(before.image_embeds, after.image_embeds, atol=1e-5)
    assert torch.allclose(before.text_embeds, after.text_embeds, atol=1e-5)


def test_a_model_with_another_activation_is_left_as_it_is(tmp_path):
    model = transformers.SiglipModel.from_pretrained(models.siglip(tmp_path / "siglip"))
    assert fuse_activations(model) == 0


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
    embed = scorer._embed_prompts
    monkeypatch.setattr(scorer, "_embed_prompts", lambda prompts: (read.extend(prompts), embed(prompts))[1])
    kept = [verdict.marks for verdict in ScorerJudge(scorer, batch=4).judge(cases)]
    assert sorted(read) == ["a blue cat", "a red cat"]
    monkeypatch.setattr(torch_scorer_base, "_MAX_PROMPTS", 0)
    forgotten = ScorerJudge(ContrastScorer(str(clip), span=(-1.0, 1.0)), batch=4).judge(cases)
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
    scorers = [
        ContrastScorer(str(clip), span=(-1.0, 1.0), device="cpu"),
        ContrastScorer(str(clip), span=(-1.0, 1.0), decoder="pillow"),
        ContrastScorer(str(clip), span=(-1.0, 1.0)),
    ]
    assert [scorer.settings.get("decoder") for scorer in scorers] == [None, None, "gpu"]
    scores = [[verdict.marks[0] for verdict in ScorerJudge(scorer, batch=8).judge(cases)] for scorer in scorers]
    assert scores[1] == pytest.approx(scores[0], abs=0.05)
    assert scores[2] == pytest.approx(scores[0], abs=0.1)
    assert np.std(scores[0]) > 0.2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_what_the_card_does_not_decode_goes_to_pillow_and_the_others_are_scored(clip):
    good = encoded(texture(1, 256), "JPEG", quality=90)
    middle = len(good) // 2
    pictures = [
        Picture.from_bytes(good),
        Picture.from_bytes(good[:400] + good[-2:]),
        Picture.from_bytes(encoded(texture(2, 256), "JPEG", progressive=True)),
        Picture.from_bytes(good[:middle] + bytes(len(good) - middle - 2) + good[-2:]),
        Picture.from_bytes(encoded(texture(3, 256).convert("L"), "JPEG")),
        Picture.from_bytes(encoded(texture(4, 256).convert("CMYK"), "JPEG")),
        Picture.from_bytes(good[:-2] + b"\xff\xc0\x00\x03" + good[-2:]),
        Picture.from_bytes(encoded(texture(5, 256), "JPEG")),
    ]
    cases = [case(one, ballot=Real(0, 10), item=f"i{n}") for n, one in enumerate(pictures)]
    by_card = list(ScorerJudge(ContrastScorer(str(clip), span=(-1.0, 1.0)), batch=8).judge(cases))
    by_pillow = list(ScorerJudge(ContrastScorer(str(clip), span=(-1.0, 1.0), decoder="pillow"), batch=8).judge(cases))
    for place in (0, 2, 4, 5, 7):
        assert by_card[place].marks == pytest.approx(by_pillow[place].marks, abs=0.1)
    assert all(one.marks or one.fault == "abstained" for one in by_card)


def test_a_file_that_turns_out_broken_costs_its_own_case_alone(clip, monkeypatch):
    """The card's part is played by Pillow, so that the way from a failed batch to one abstention is walked anywhere."""

    def decoded(files, recipe, device, dtype):
        images = [decode_picture(Picture.from_bytes(one.numpy().tobytes())) for one in files]
        if any(image.size == (40, 40) for image in images):
            raise RuntimeError("this size is not decoded here")
        return torch.stack(
            [recipe.shrink(torch.from_numpy(np.array(one)).permute(2, 0, 1).to(device, dtype)) for one in images]
        )

    def refusing(files, *how):
        try:
            return decoded(files, *how)
        except Unscorable as error:
            raise RuntimeError("the card cannot decode this") from error

    monkeypatch.setattr(torch_scorer_base, "can_decode_on_gpu", lambda: True)
    monkeypatch.setattr(
        torch_scorer_base,
        "plain_jpeg",
        lambda one: (
            torch.frombuffer(bytearray(one.data()), dtype=torch.uint8) if one.media_type == "image/jpeg" else None
        ),
    )
    monkeypatch.setattr(torch_scorer_base, "decode_on_gpu", refusing)
    whole = encoded(texture(1), "JPEG")
    pictures = [
        Picture.from_bytes(whole),
        Picture.from_bytes(whole[:300]),
        picture(texture(2)),
        picture(texture(3).resize((40, 40)), "JPEG"),
        Picture.from_bytes(encoded(texture(4), "JPEG")),
    ]
    cases = [case(one, ballot=Real(0, 10), item=f"i{n}") for n, one in enumerate(pictures)]
    found = list(ScorerJudge(ContrastScorer(str(clip), span=(-1.0, 1.0), decoder="gpu"), batch=5).judge(cases))
    plain = list(ScorerJudge(ContrastScorer(str(clip), span=(-1.0, 1.0), decoder="pillow"), batch=5).judge(cases))
    assert [one.fault for one in found] == [None, "abstained", None, None, None]
    assert "cannot be decoded" in found[1].text
    for one, two in zip(found, plain, strict=True):
        assert one.fault == two.fault
        if one.marks:
            assert one.marks == pytest.approx(two.marks, abs=0.02)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_model_whose_pictures_the_card_cannot_prepare_takes_pillows(tmp_path):
    source = str(models.siglip(tmp_path / "siglip"))
    cases = [case(picture(texture(n), "JPEG"), ballot=Real(0, 10)) for n in range(4)]
    found = ScorerJudge(ContrastScorer(source, "siglip", span=(-1.0, 1.0))).judge(cases)
    plain = ScorerJudge(ContrastScorer(source, "siglip", span=(-1.0, 1.0), device="cpu")).judge(cases)
    assert [one.marks[0] for one in found] == pytest.approx([one.marks[0] for one in plain], abs=0.05)
    with pytest.raises(InputError, match="decoder=gpu needs"):
        list(ScorerJudge(ContrastScorer(source, "siglip", span=(-1.0, 1.0), decoder="gpu")).judge(cases))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*")
def test_a_compiled_model_says_what_it_said_before_and_fills_up_small_batches(clip):
    plain = ContrastScorer(str(clip), span=(-1.0, 1.0), device="cpu", decoder="pillow")
    compiled = ContrastScorer(str(clip), span=(-1.0, 1.0), device="cpu", decoder="pillow", compile="yes")
    prompts, images = ["a cat", "a dog", "a red cat"], [texture(seed, 64) for seed in range(3)]
    wanted = plain.score(prompts, plain.collate([plain.prepare(image) for image in images]))
    prepared = [compiled.prepare(image) for image in images]
    assert compiled.score(prompts, compiled.collate(prepared)) == pytest.approx(wanted, abs=1e-5)
    assert compiled.score(prompts[:1], compiled.collate(prepared[:1])) == pytest.approx(wanted[:1], abs=1e-5)
    assert ScorerJudge(compiled).name != ScorerJudge(plain).name  # rounding differs, so it is another judge


def test_compile_is_yes_or_no(clip):
    with pytest.raises(InputError, match="the option compile is no or yes; found 'maybe'"):
        ContrastScorer(str(clip), compile="maybe")
