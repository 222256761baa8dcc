"""How an answer fits its picture: the rule of five windows, and the colours that are named and there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.judges.answer_picture_fit_judge import ClipMeasure, Correlation, build_clip_correlation, window_starts
from fullbench.judges.peer_review.review_items_and_cases import correlation_cases
from fullbench.models.tools.colour_words_and_picture_shares import colour_shares, colours_named
from fullbench.models.tools.toolbox import open_picture
from fullbench.studies.judge_contestant_and_benchmark_specs import correlation_from_spec
from fullbench.synthetic.item_generator import build_items

KNOWN = build_items(7, 14)


@given(st.integers(1, 2000), st.integers(2, 100))
def test_windows_begin_at_the_start_end_at_the_end_and_lie_evenly(tokens, size):
    begins = window_starts(tokens, size)
    if tokens <= size:
        assert begins == [0]
        return
    assert len(begins) == 5
    assert begins[0] == 0
    assert begins[-1] + size == tokens
    steps = np.diff(begins)
    assert steps.max() - steps.min() <= 1


class Words:
    """Two towers small enough to follow by hand: a word is a direction, a picture is the first direction."""

    name, window = "words", 4

    def tokens(self, text):
        return [0 if word == "fits" else 1 for word in text.split()]

    def picture(self, picture):
        return np.array([1.0, 0.0])

    def texts(self, windows):
        return np.array([np.bincount(tokens, minlength=2) for tokens in windows], dtype=float)


def fit(judge, text, pictures=KNOWN[0].item.pictures):
    item = Item.ask("q", "?", *pictures)
    (verdict,) = judge.judge(correlation_cases([item], [Response.say("q", "c", text)]))
    return verdict


def test_a_short_answer_is_one_cosine_and_a_long_one_the_mean_of_five():
    judge = Correlation(ClipMeasure(Words()))
    assert fit(judge, "fits").marks == (1.0,)
    assert fit(judge, "fits other").marks[0] == pytest.approx(0.5**0.5)
    long = "fits fits fits fits " + "other " * 4
    shares = [(4, 0), (3, 1), (2, 2), (1, 3), (0, 4)]
    assert fit(judge, long).marks[0] == pytest.approx(np.mean([a / np.hypot(a, b) for a, b in shares]))
    assert fit(judge, "fits " * 40).marks[0] == pytest.approx(1)


def test_nothing_to_compare_is_abstained():
    assert fit(Correlation(ClipMeasure(Words())), "").fault == "abstained"
    assert fit(Correlation(ClipMeasure(Words())), "fits", pictures=()).fault == "abstained"
    assert (
        fit(correlation_from_spec("colours"), "No hue is named here, nor is anything bored or predicted.").fault
        == "abstained"
    )


@pytest.mark.parametrize("known", [one for one in KNOWN if one.scene.things], ids=lambda one: one.item.id)
def test_the_colours_shown_are_those_of_the_scene(known):
    hues = colour_shares(open_picture(known.item.pictures[0])).keys() - {"black", "white", "grey"}
    assert hues == {thing.colour for thing in known.scene.things}


def test_naming_what_is_there_fits_better_than_naming_what_is_not():
    known = next(one for one in KNOWN if one.scene.things)
    there = sorted({thing.colour for thing in known.scene.things})
    missing = sorted({"red", "orange", "yellow", "green", "blue", "purple"} - set(there))
    judge = correlation_from_spec("colours")
    right, wrong = (
        fit(judge, f"I see {' and '.join(colours)}.", known.item.pictures).marks[0] for colours in (there, missing)
    )
    assert (right, wrong) == (1, -1)
    assert judge.name == "colours, tool-grounded"


def test_colours_are_words_not_parts_of_words():
    assert colours_named("bored, predicted, Greenland's whiteness, tired") <= {"green", "white"}
    assert colours_named("The hundred") == frozenset()


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(InputError, match=r"needs a config\.json"):
        build_clip_correlation(tmp_path)


def tiny_clip(folder):
    """A CLIP of random weights in a folder, as a hub would hold it."""
    transformers = pytest.importorskip("transformers", reason="the optional part 'clip' is not installed")
    torch = pytest.importorskip("torch", reason="the optional part 'clip' is not installed")
    torch.manual_seed(0)
    text = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "vocab_size": 600,
        "bos_token_id": 0,
        "eos_token_id": 1,  # the model reads a text off its last mark: unknown, every text would be alike
    }
    sizes = {
        name: text[name] for name in ("hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers")
    }
    seen = {**sizes, "image_size": 32, "patch_size": 16}
    config = transformers.CLIPConfig(text_config=text, vision_config=seen, projection_dim=8)
    transformers.CLIPModel(config).save_pretrained(folder)
    letters = [chr(code) for code in range(33, 127)]
    words = {token: place for place, token in enumerate(
        ["<|startoftext|>", "<|endoftext|>", *letters, *(letter + "</w>" for letter in letters)])}  # fmt: skip
    tokenizer = transformers.CLIPTokenizer(vocab=words, merges=[])
    size = {"shortest_edge": 32}
    images = transformers.CLIPImageProcessor(size=size, crop_size={"height": 32, "width": 32})
    transformers.CLIPProcessor(images, tokenizer).save_pretrained(folder)
    return transformers, torch


def by_hand(transformers, torch, folder, picture, text):
    """The mean cosine over the windows, one window at a time, by the library alone."""
    model = transformers.CLIPModel.from_pretrained(folder).eval()
    processor = transformers.CLIPProcessor.from_pretrained(folder)
    pixels = processor.image_processor(open_picture(picture).convert("RGB"), return_tensors="pt")
    ids = processor.tokenizer(text, add_special_tokens=False)["input_ids"]
    size = model.config.text_config.max_position_embeddings - 2
    begins = [0] if len(ids) <= size else [round(k * (len(ids) - size) / 4) for k in range(5)]
    cosines = []
    with torch.no_grad():
        for begin in begins:
            window = [processor.tokenizer.bos_token_id, *ids[begin : begin + size], processor.tokenizer.eos_token_id]
            scaled = model(input_ids=torch.tensor([window]), **pixels).logits_per_image / model.logit_scale.exp()
            cosines.append(float(scaled))
    return float(np.mean(cosines))


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_a_real_tiny_model_gives_the_librarys_cosine_on_any_device(tmp_path, device):
    transformers, torch = tiny_clip(tmp_path)
    judge = correlation_from_spec(f"clip:{tmp_path}?device={device}")
    cosines = []
    for text in ("two red stars", "two red stars " * 60, "one blue star", "a house"):
        wanted = by_hand(transformers, torch, tmp_path, KNOWN[0].item.pictures[0], text)
        assert fit(judge, text).marks[0] == pytest.approx(wanted, abs=1e-4)
        cosines.append(wanted)
    assert len({round(cosine, 3) for cosine in cosines}) == len(cosines), "the model tells the texts apart"
    assert judge.name == build_clip_correlation(tmp_path).name, "where it computes changes no name"


def test_a_device_that_is_not_there_is_named(tmp_path):
    tiny_clip(tmp_path)
    with pytest.raises(InputError, match="CLIP cannot be put on the device 'cuda:99'"):
        fit(correlation_from_spec(f"clip:{tmp_path}?device=cuda:99"), "two red stars")


def test_an_option_that_clip_has_not(tmp_path):
    with pytest.raises(InputError, match=r"has one option, as in clip:FOLDER\?device=cuda"):
        correlation_from_spec(f"clip:{tmp_path}?speed=high")
