"""ImageReward's checkpoint in its authors' layout, beside transformers' own modules and with something broken in it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fullbench.errors import InputError
from fullbench.judges.scorers import imagereward
from fullbench.judges.scorers.transformers_scorers import AestheticScorer, RewardScorer
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec as judge_of
from tests.judges.scorers import models
from tests.judges.scorers.making import case, picture, texture

pytestmark = pytest.mark.slow
torch = models.torch
transformers = models.transformers
PROMPTS = ["a red cat", "a picture of a blue dog and 猫 [ENC]", "red " * 60]
IMAGES = [texture(0), texture(1, 96).resize((96, 61)), texture(2).resize((50, 91))]
MEAN, DEVIATION = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> Path:
    return models.bert_words(tmp_path_factory.mktemp("words") / "bert")


@pytest.fixture(scope="module")
def tensors() -> dict:
    return models.released(models.reward_blip(), models.reward_head())


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, tensors) -> Path:
    path = tmp_path_factory.mktemp("release") / "ImageReward.pt"
    torch.save(tensors, path)
    return path


def scored(source: Path | str, words: Path | str = "", prompts=PROMPTS, images=IMAGES) -> list[float]:
    scorer = RewardScorer(str(source), "imagereward", processor=str(words), device="cpu")
    return list(scorer.score(prompts, [scorer.prepare(image) for image in images]))


def prepared(image: Image.Image, side: int = 48):
    """The shorter side to its length, the middle cut out, colours by CLIP's mean and deviation: step by step."""
    width, height = image.size
    size = (side, int(side * height / width)) if width <= height else (int(side * width / height), side)
    small = image.resize(size, Image.Resampling.BICUBIC)
    left, top = round((size[0] - side) / 2), round((size[1] - side) / 2)
    cut = np.asarray(small.crop((left, top, left + side, top + side)), dtype=np.float32) / 255
    return torch.from_numpy((cut - np.float32(MEAN)) / np.float32(DEVIATION)).permute(2, 0, 1)


def by_transformers(model, head, words: Path) -> list[float]:
    tokenizer = transformers.BertTokenizer(str(words / "vocab.txt"))
    tokenizer.add_tokens(["[DEC]", "[ENC]"], special_tokens=True)
    asked = tokenizer(PROMPTS, padding="max_length", truncation=True, max_length=35, return_tensors="pt")
    with torch.inference_mode():
        seen = model.vision_model(pixel_values=torch.stack([prepared(image) for image in IMAGES])).last_hidden_state
        read = model.text_encoder(asked.input_ids, attention_mask=asked.attention_mask, encoder_hidden_states=seen)
        rewards = head(read.last_hidden_state[:, 0]).flatten()
    return ((rewards - 0.16717362830052426) / 1.0333394966054072).tolist()


def test_the_checkpoint_scores_as_the_modules_it_was_made_of(checkpoint, words):
    theirs = by_transformers(models.reward_blip(), models.reward_head(), words)
    ours = scored(checkpoint, words)
    assert ours == pytest.approx(theirs, abs=1e-5)
    assert max(theirs) - min(theirs) > 0.1


def test_a_folder_with_everything_in_it_needs_no_option(checkpoint, words, tmp_path):
    folder = tmp_path / "release"
    models.bert_words(folder)
    (folder / "ImageReward.pt").write_bytes(checkpoint.read_bytes())
    assert scored(folder) == pytest.approx(scored(checkpoint, words), abs=1e-5)
    judge = judge_of(f"imagereward:{folder}")
    (verdict,) = judge.judge([case(*map(picture, IMAGES[:2]), prompt="a red cat")])
    marks = scored(folder, prompts=["a red cat"] * 2, images=IMAGES[:2])
    assert verdict.marks == ((1.0, 0.0) if marks[0] > marks[1] else (0.0, 1.0))
    assert str(tmp_path) not in judge.name


def test_the_number_of_heads_is_the_configurations(words, tmp_path):
    model, head = models.reward_blip(heads=4), models.reward_head()
    path = tmp_path / "ImageReward.pt"
    torch.save(models.released(model, head), path)
    theirs = by_transformers(model, head, words)
    assert scored(path, words) != pytest.approx(theirs, abs=1e-3)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "layer_norm_eps": 1e-12}
    (tmp_path / "med_config.json").write_text(json.dumps({**sizes, "encoder_width": 768, "hidden_act": "gelu"}))
    assert scored(path, words) == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("packing", ["nested", "parallel", "safetensors"])
def test_other_packings_hold_the_same(checkpoint, tensors, words, tmp_path, packing):
    path = tmp_path / "tuned.pt"
    if packing == "nested":
        torch.save({"epoch": 3, "state_dict": tensors}, path)
    elif packing == "parallel":
        torch.save({f"module.{name}": value for name, value in tensors.items()}, path)
    else:
        from safetensors.torch import save_file

        path = path.with_suffix(".safetensors")
        save_file(tensors, path)
    assert scored(path, words) == pytest.approx(scored(checkpoint, words), abs=1e-5)


def test_half_precision_is_close_and_another_judge(checkpoint, words):
    scorer = RewardScorer(str(checkpoint), "imagereward", processor=str(words), precision="bfloat16")
    half = list(scorer.score(PROMPTS, [scorer.prepare(image) for image in IMAGES]))
    assert half == pytest.approx(scored(checkpoint, words), abs=0.2)
    assert half != scored(checkpoint, words)


def test_what_changes_a_score_changes_the_name(checkpoint, tensors, words, tmp_path):
    again, other = tmp_path / "a" / "ImageReward.pt", tmp_path / "b" / "ImageReward.pt"
    for path in (again, other):
        path.parent.mkdir()
        path.write_bytes(checkpoint.read_bytes())
    (other.parent / "med_config.json").write_text("{}")
    shuffled = models.bert_words(tmp_path / "shuffled")
    (shuffled / "vocab.txt").write_text("\n".join([*models.WORDS[:5], *models.WORDS[:4:-1], "猫"]))
    first = judge_of(f"imagereward:{checkpoint}?processor={words}").name
    assert judge_of(f"imagereward:{again}?processor={words}").name == first
    others = {
        judge_of(f"imagereward:{other}?processor={words}").name,
        judge_of(f"imagereward:{checkpoint}?processor={shuffled}").name,
        judge_of(f"imagereward:{checkpoint}").name,
        judge_of("imagereward").name,
    }
    assert len(others | {first}) == 5


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """The hub's cache on a machine that reaches nothing."""
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))

    def cached(name: str, files: dict[str, bytes]) -> None:
        repository = tmp_path / "hub" / f"models--{name.replace('/', '--')}"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text("0" * 40)
        (repository / "snapshots" / ("0" * 40)).mkdir(parents=True)
        for file, data in files.items():
            (repository / "snapshots" / ("0" * 40) / file).write_bytes(data)

    return cached


def test_names_on_the_hub_are_what_is_taken_unless_said_otherwise(hub, checkpoint, words):
    hub("zai-org/ImageReward", {"ImageReward.pt": checkpoint.read_bytes()})
    hub("bert-base-uncased", {"vocab.txt": (words / "vocab.txt").read_bytes()})
    (verdict,) = judge_of("imagereward").judge([case(*map(picture, IMAGES[:2]), prompt="a red cat")])
    expected = scored(checkpoint, words, ["a red cat"] * 2, IMAGES[:2])
    assert [float(score) for score in verdict.text.split(", ")] == pytest.approx(expected, abs=1e-5)


@pytest.mark.usefixtures("hub")
def test_without_a_net_the_sentence_says_what_to_put_where(checkpoint):
    with pytest.raises(InputError, match=r"bert-base-uncased .* vocab.txt .* processor=FOLDER"):
        scored(checkpoint)
    with pytest.raises(InputError, match=r"zai-org/ImageReward .* ImageReward.pt .* imagereward:FOLDER"):
        scored("zai-org/ImageReward")


def renamed(tensors: dict, old: str, new: str) -> dict:
    return {name.replace(old, new): value for name, value in tensors.items()}


@pytest.mark.parametrize(
    ("change", "words_of_it"),
    [
        (lambda t: {**t, "blip.text_decoder.bias": t["mlp.layers.7.bias"]}, "holds 'blip.text_decoder.bias' that"),
        (lambda t: renamed(t, "blocks.2.", "blocks.5."), "lacks 12 tensors such as 'blip.visual_encoder.blocks.2"),
        (lambda t: {n: v for n, v in t.items() if "norm.bias" not in n}, "lacks 'blip.visual_encoder.norm.bias'"),
        (lambda t: {n: v[:5] if n.endswith("norm.bias") else v for n, v in t.items()}, r"\(5,\) in place of \(128,\)"),
        (lambda t: renamed(t, "blip.", "model."), "has no 'blip.visual_encoder.pos_embed', but 'mlp"),
        (lambda t: renamed(t, "mlp.layers", "mlp.steps"), "holds 10 tensors such as 'mlp.steps"),
        (lambda t: {n: v for n, v in t.items() if n != "mlp.layers.2.bias"}, "'mlp.layers.2.bias' does not fit"),
        (lambda t: {n: v for n, v in t.items() if "mlp.layers.2" not in n}, "fit each other"),
        (lambda t: {n: v[..., :100] if "visual" in n else v for n, v in t.items()}, "100 wide, no multiple of 64"),
        (lambda t: {"epoch": 3, "optimizer": {}}, "something other than named tensors"),
        (lambda t: [1, 2], "something other than named tensors"),
    ],
)  # fmt: skip
def test_a_checkpoint_that_does_not_fit_is_told_in_one_sentence(tensors, words, tmp_path, change, words_of_it):
    path = tmp_path / "ImageReward.pt"
    torch.save(change(tensors), path)
    with pytest.raises(InputError, match=words_of_it) as told:
        scored(path, words)
    assert "\n" not in str(told.value)


class Evil:
    """A pickle that would make a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_pickle_that_does_something_is_not_run(words, tmp_path):
    path = tmp_path / "ImageReward.pt"
    torch.save({"blip.visual_encoder.pos_embed": Evil(tmp_path / "done")}, path)
    with pytest.raises(InputError, match="not a file of tensors"):
        scored(path, words)
    assert not (tmp_path / "done").exists()


@pytest.mark.parametrize("data", [b"", b"<html>404</html>", b"PK\x03\x04 cut short"])
def test_a_broken_download_is_told(words, tmp_path, data):
    for name in ("ImageReward.pt", "ImageReward.safetensors"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match="download it again"):
            scored(tmp_path / name, words)


def test_parts_that_do_not_belong_together_are_told(checkpoint, words, tmp_path):
    (tmp_path / "ImageReward.pt").write_bytes(checkpoint.read_bytes())
    head = models.head(tmp_path / "head.safetensors", 32)
    scorer = AestheticScorer(str(models.clip(tmp_path / "clip")), "aesthetics", head=str(head))
    with pytest.raises(InputError, match="head takes 32 numbers and the model gives 16"):
        scorer.score(PROMPTS[:1], [scorer.prepare(IMAGES[0])])
    empty, larger = tmp_path / "empty", models.bert_words(tmp_path / "larger")
    empty.mkdir()
    with (larger / "vocab.txt").open("a") as vocabulary:
        vocabulary.write("zebra\n")
    for processor, sentence in ((larger, "has 17 tokens and the model 16"), (empty, "no vocab.txt or tokenizer.json")):
        with pytest.raises(InputError, match=sentence):
            scored(checkpoint, processor)
    for config, sentence in (
        ('{"hidden_size": 768}', "hidden_size is 768, but 64"),
        ("{", "not JSON"),
        ("[]", "not a configuration object"),
    ):
        (tmp_path / "med_config.json").write_text(config)
        with pytest.raises(InputError, match=sentence):
            scored(tmp_path / "ImageReward.pt", words)


def test_what_cannot_be_is_told_before_anything_is_loaded(checkpoint, tmp_path):
    for source, head, sentence in (
        (tmp_path, "", "no ImageReward.pt in this folder; .* head=FILE"),
        (tmp_path / "nowhere.pt", "", "no such file"),
        (checkpoint, str(checkpoint), "has its own head"),
    ):
        with pytest.raises(InputError, match=sentence):
            RewardScorer(str(source), "imagereward", head=head)
    assert imagereward.find_release("zai-org/ImageReward") is None


def test_the_aesthetics_head_as_its_authors_save_it(tmp_path):
    """`layers.0` to `layers.7` in a .pth file, on embeddings of length one, with nothing between the layers."""
    clip, head = models.clip(tmp_path / "clip"), models.reward_head(16)
    path = tmp_path / "sac+logos+ava1-l14-linearMSE.pth"
    torch.save({f"layers.{name}": value for name, value in head.state_dict().items()}, path)
    (verdict,) = judge_of(f"aesthetics:{clip}?head={path}&device=cpu").judge([case(*map(picture, IMAGES))])
    ours = [float(score) for score in verdict.text.split(", ")]
    model = transformers.CLIPModel.from_pretrained(clip).eval()
    tools = transformers.AutoProcessor.from_pretrained(clip, backend="pil")
    with torch.inference_mode():
        features = model.get_image_features(**tools.image_processor(images=IMAGES, return_tensors="pt")).pooler_output
        theirs = head(torch.nn.functional.normalize(features, dim=-1)).flatten()
    assert ours == pytest.approx(theirs.tolist(), abs=1e-5)
    assert max(ours) - min(ours) > 0.01


def test_a_head_with_activations_is_refused_and_not_scored_without_them(tmp_path):
    """The same authors' `...-reluMSE.pth`: its layers are numbered 0, 3, 6, 9, 11."""
    path, head = tmp_path / "ava+logos-l14-reluMSE.pth", models.reward_head(16).state_dict()
    places = dict(zip("02467", ("0", "3", "6", "9", "11"), strict=True))
    torch.save({f"layers.{places[name[0]]}{name[1:]}": value for name, value in head.items()}, path)
    scorer = AestheticScorer(str(models.clip(tmp_path / "clip")), "aesthetics", head=str(path))
    with pytest.raises(InputError, match="activations between its layers"):
        scorer.prepare(IMAGES[0])
