"""HPSv2's checkpoint in its authors' layout: small, random, compared with a computation of its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fullbench.errors import InputError
from fullbench.judges.scorers import hpsv2
from fullbench.judges.scorers.hpsv2 import HpsV2Scorer
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec
from tests.judges.scorers import models
from tests.judges.scorers.making import case, picture, texture

pytestmark = pytest.mark.slow
torch = models.torch
transformers = models.transformers
PROMPTS = ["a red cat", "two dogs, and a very long tail of words " * 9, "x"]
IMAGES = [texture(0), texture(1, 96).resize((96, 61)), texture(2).resize((21, 50))]
MEAN, DEVIATION = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
SMALL = {
    "vision": {"side": 42, "patch": 14, "width": 160, "heads": 2, "layers": 3, "inner": 96},
    "text": {"width": 128, "heads": 2, "layers": 2, "inner": 64},
    "length": 24,
    "joint": 32,
}
VIT_H_14 = {
    "vision": {"side": 224, "patch": 14, "width": 1280, "heads": 16, "layers": 32, "inner": 5120},
    "text": {"width": 1024, "heads": 16, "layers": 24, "inner": 4096},
    "length": 77,
    "joint": 1024,
}


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> Path:
    """CLIP's tokenizer in a folder: letters, two merges, and the two tokens that begin and end a text."""
    folder = tmp_path_factory.mktemp("words")
    letters = [chr(code) for code in range(33, 127)]
    tokens = [*letters, *(f"{letter}</w>" for letter in letters), "ca", "cat</w>"]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({token: place for place, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\nc a\nca t</w>\n")
    return folder


def small_model(tokens: int = 192):
    from tests.judges.scorers.open_clip_layout import OpenClip

    torch.manual_seed(0)
    model = OpenClip(**SMALL, tokens=tokens).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)  # biases and norms too, so that each one counts
    return model


@pytest.fixture(scope="module")
def tensors() -> dict:
    return small_model().state_dict()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, tensors) -> Path:
    """The authors' packing, whose keys are `state_dict` and others."""
    path = tmp_path_factory.mktemp("release") / "HPS_v2.1_compressed.pt"
    torch.save({"epoch": 1, "state_dict": tensors}, path)
    return path


def bicubic_weights(length: int, size: int) -> np.ndarray:
    """Weights of a bicubic filter (a = -0.5) that is widened when it shrinks: each row is one pixel of the result."""
    scale = length / size
    widened = max(scale, 1.0)
    rows = np.zeros((size, length))
    for row in range(size):
        centre = (row + 0.5) * scale
        for place in range(length):
            x = abs(place + 0.5 - centre) / widened
            near = 1.5 * x**3 - 2.5 * x**2 + 1
            far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
            rows[row, place] = near if x < 1 else far if x < 2 else 0
    return rows / rows.sum(1, keepdims=True)


def prepared(image: Image.Image, side: int = 42) -> np.ndarray:
    """The authors' preparation, written down again: colours from 0 to 1, longer side, black around, normalised."""
    colours = np.asarray(image, dtype=float) / 255
    height, width = colours.shape[:2]
    scale = side / max(height, width)
    rows, columns = round(height * scale), round(width * scale)
    small = np.einsum("rh,hwc,kw->rkc", bicubic_weights(height, rows), colours, bicubic_weights(width, columns))
    square = np.zeros((side, side, 3))
    top, left = (side - rows) // 2, (side - columns) // 2
    square[top : top + rows, left : left + columns] = small
    return ((square - MEAN) / DEVIATION).transpose(2, 0, 1)


def token_ids(prompt: str, length: int = 24) -> list[int]:
    """Tokens by hand: letters of words, the last one marked, `cat` in one piece."""
    ids = [190]
    for word in prompt.replace(",", " , ").split():
        if word == "cat":
            ids.append(189)
            continue
        ids += [ord(letter) - 33 for letter in word[:-1]] + [94 + ord(word[-1]) - 33]
    ids = [*ids[: length - 1], 191]
    return ids + [0] * (length - len(ids))


def expected_scores(model, prompts=PROMPTS, images=IMAGES) -> list[float]:
    normalize = torch.nn.functional.normalize
    with torch.inference_mode():
        pixels = torch.from_numpy(np.stack([prepared(image) for image in images])).float()
        seen = normalize(model.visual(pixels), dim=-1)
        read = normalize(model.encode_text(torch.tensor([token_ids(prompt) for prompt in prompts])), dim=-1)
    return (seen * read).sum(-1).tolist()


def scores(source: Path, words: Path, prompts=PROMPTS, images=IMAGES) -> list[float]:
    scorer = HpsV2Scorer(str(source), processor=str(words), device="cpu")
    return list(scorer.score(prompts, [scorer.prepare(image) for image in images]))


def test_the_checkpoint_scores_as_the_authors_computation_does(checkpoint, words):
    expected = expected_scores(small_model())
    assert scores(checkpoint, words) == pytest.approx(expected, abs=1e-5)
    assert max(expected) - min(expected) > 0.1


def test_nothing_of_a_picture_is_cut_off():
    wide = Image.new("RGB", (200, 50), "white")
    pixels = hpsv2.pad_to_square(wide, 40).numpy()
    assert pixels == pytest.approx(prepared(wide, 40), abs=1e-5)
    black = -np.array(MEAN) / DEVIATION
    assert pixels[:, :15] == pytest.approx(np.broadcast_to(black[:, None, None], (3, 15, 40)), abs=1e-6)
    assert (pixels[:, 15:25] > 1.9).all()


def test_a_judge_is_named_by_a_file_or_a_version(checkpoint, words):
    judge = judge_from_spec(f"hpsv2:{checkpoint}?processor={words}&device=cpu")
    (verdict,) = judge.judge([case(*map(picture, IMAGES[:2]), prompt="a red cat")])
    expected = expected_scores(small_model(), ["a red cat"] * 2, IMAGES[:2])
    assert [float(score) for score in verdict.text.split(", ")] == pytest.approx(expected, abs=1e-5)
    assert verdict.marks == ((1.0, 0.0) if expected[0] > expected[1] else (0.0, 1.0))
    with pytest.raises(InputError, match="version is for the authors' checkpoints on the hub"):
        judge_from_spec(f"hpsv2:{checkpoint}?version=2.0")
    with pytest.raises(InputError, match="no such checkpoint"):
        judge_from_spec("hpsv2:./nowhere.pt")


def test_the_published_size_has_the_tensors_that_are_expected():
    """ViT-H/14 without its numbers: names and shapes alone."""
    from tests.judges.scorers.open_clip_layout import OpenClip

    with torch.device("meta"):
        model = OpenClip(**VIT_H_14, tokens=49408)
        tensors = hpsv2.ReleasedTensors(model.state_dict(), Path("x.pt"), "HPSv2", "x.pt")
        config = hpsv2._build_config(tensors)
        ours = transformers.CLIPModel(config)
    sources = {hpsv2._find_source(name, tuple(value.shape)) for name, value in ours.state_dict().items()}
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    assert {source.name: source.shape for source in sources} == expected
    assert (config.vision_config.num_attention_heads, config.text_config.num_attention_heads) == (16, 16)
    assert sum(value.numel() for value in ours.parameters()) == 986_109_441


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: {**t, "visual.extra": t["ln_final.bias"]}, "holds 'visual.extra' that HPSv2 does not have"),
        (lambda t: {n: v for n, v in t.items() if n != "ln_final.bias"}, "lacks 'ln_final.bias'"),
        (lambda t: {**t, "ln_final.bias": t["ln_final.bias"][:5]}, r"\(5,\) in place of \(128,\)"),
        (lambda t: {n: v[:100] if n == "visual.proj" else v for n, v in t.items()}, r"\(100, 32\) in place of"),
        (lambda t: {f"clip.{n}": v for n, v in t.items()}, "has no 'visual.positional_embedding'"),
    ],
)
def test_another_file_is_refused_in_one_sentence(tensors, words, tmp_path, change, message):
    torch.save({"state_dict": change(tensors)}, tmp_path / "HPS.pt")
    with pytest.raises(InputError, match=message) as error:
        scores(tmp_path / "HPS.pt", words)
    assert "\n" not in str(error.value)


def test_a_tokenizer_of_another_size_is_refused(tmp_path, words):
    torch.save({"state_dict": small_model(tokens=200).state_dict()}, tmp_path / "HPS.pt")
    with pytest.raises(InputError, match="has 192 tokens and the model 200"):
        scores(tmp_path / "HPS.pt", words)


def test_without_a_net_the_sentence_names_the_files(monkeypatch, tmp_path, checkpoint):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"ViT-H-14.* is not a folder.*Put its vocab.json .* processor=FOLDER"):
        list(judge_from_spec(f"hpsv2:{checkpoint}").judge([case(*map(picture, IMAGES[:2]))]))
