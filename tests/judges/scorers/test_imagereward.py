"""ImageReward's checkpoint in its authors' layout, against transformers' own modules and against what is broken in it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fullbench.core.errors import InputError
from fullbench.judges.scorers import release
from fullbench.judges.scorers.hub import AestheticScorer, RewardScorer
from fullbench.runs.specs import judge as judge_of
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
    scorer = RewardScorer(str(source), "imagereward", processor=str(words))
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
