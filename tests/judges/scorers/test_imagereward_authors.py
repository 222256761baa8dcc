"""Our scores beside those of the package of ImageReward's authors, on a model and in a file of theirs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from fullbench.judges.scorers.transformers_scorers import RewardScorer
from tests.judges.scorers import authors, models
from tests.judges.scorers.making import texture

PYTHON = os.environ.get("IMAGEREWARD_PYTHON", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="IMAGEREWARD_PYTHON names no Python; scripts/imagereward.sh makes one"),
]
PROMPTS = ["a red cat", "A Picture of blue dogs, 猫 [ENC] [DEC] zebra", "red " * 60, ""]
SIZES = [(224, 224), (512, 512), (333, 225), (225, 341), (640, 107), (30, 40)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("theirs")
    models.bert_words(folder / "bert-base-uncased")
    for place, size in enumerate(SIZES):
        texture(place).resize(size).save(folder / f"{place}.png")
    config = {"vocab_size": len(models.WORDS) + 3, "hidden_size": 768, "intermediate_size": 64, "layer_norm_eps": 1e-12,
              "num_hidden_layers": 2, "num_attention_heads": 12, "max_position_embeddings": 512, "hidden_act": "gelu",
              "pad_token_id": 0, "encoder_width": 768, "add_cross_attention": True}  # fmt: skip
    (folder / "med_config.json").write_text(json.dumps(config))
    (folder / "prompts.json").write_text(json.dumps(PROMPTS))
    subprocess.run([PYTHON, authors.__file__, str(folder)], check=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    return folder


def test_scores_and_pixels_are_the_authors_own(folder):
    scorer = RewardScorer(str(folder), "imagereward", processor=str(folder / "bert-base-uncased"))
    scores = json.loads((folder / "scores.json").read_text())
    pixels = models.torch.load(folder / "pixels.pt")
    assert len(scores) == len(SIZES)
    for name, theirs in scores.items():
        seen = scorer.prepare(Image.open(folder / name))
        assert models.torch.equal(scorer.collate([seen])[0], pixels[name]), name
        assert list(scorer.score(PROMPTS, [seen] * len(PROMPTS))) == pytest.approx(theirs, abs=2e-5), name
    everything = [score for row in scores.values() for score in row]
    assert max(everything) - min(everything) > 1


def test_without_their_configuration_the_scores_are_the_same(folder, tmp_path):
    """The number of heads that is taken for granted is theirs."""
    (tmp_path / "ImageReward.pt").write_bytes((folder / "ImageReward.pt").read_bytes())
    scorer = RewardScorer(str(tmp_path), "imagereward", processor=str(folder / "bert-base-uncased"))
    theirs = json.loads((folder / "scores.json").read_text())["1.png"]
    seen = scorer.prepare(Image.open(folder / "1.png"))
    assert list(scorer.score(PROMPTS, [seen] * len(PROMPTS))) == pytest.approx(theirs, abs=2e-5)
