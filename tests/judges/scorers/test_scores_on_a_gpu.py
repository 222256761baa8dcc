"""The six score models of MJ-Bench on a GPU: scores near those of the processor, in single and in half precision."""

from __future__ import annotations

from pathlib import Path

import pytest

from fullbench import Item, Response
from fullbench.core.ballot import ballot
from fullbench.core.case import cases as cases_of
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec
from tests.judges.scorers import models, test_hpsv2
from tests.judges.scorers.making import picture, texture

torch = models.torch
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
]
words = test_hpsv2.words
NEAR = {
    "clip": (1e-3, 1e-2),
    "pickscore": (1e-3, 1e-2),
    "blip-itm": (1e-3, 1e-2),
    "hpsv2": (1e-3, 1e-2),
    "imagereward": (1e-2, 0.3),
    "aesthetics": (1e-3, 1e-2),
}
"""Largest difference in single and in half precision. ImageReward's random network is deep and magnifies rounding."""


def spec(kind: str, folder: Path, words: Path) -> str:
    if kind == "hpsv2":
        torch.save({"state_dict": test_hpsv2.small_model().state_dict()}, folder / "HPS.pt")
        return f"hpsv2:{folder / 'HPS.pt'}?processor={words}"
    if kind == "imagereward":
        torch.save(models.released(models.reward_blip(), models.reward_head()), folder / "ImageReward.pt")
        return f"imagereward:{folder / 'ImageReward.pt'}?processor={models.bert_words(folder / 'bert')}"
    if kind == "aesthetics":
        head = models.head(folder / "head.safetensors", 16)
        return f"aesthetics:{models.clip(folder / 'clip')}?head={head}"
    if kind == "blip-itm":
        return f"blip-itm:{models.blip2(folder / 'blip2')}?margin=0"
    return f"{kind}:{models.clip(folder / 'clip')}?margin=0"


@pytest.mark.parametrize("kind", NEAR)
def test_scores_are_near_those_of_the_processor(kind, tmp_path, words):
    items = [Item.ask(f"i{n}", prompt) for n, prompt in enumerate(["a red cat", "a blue dog", "a picture of a dog"])]
    responses = [
        Response(item.id, f"c{k}", (picture(texture(9 * n + k, 96).resize((96, 61))),))
        for n, item in enumerate(items)
        for k in range(3)
    ]
    cases = list(cases_of(items, responses, ballot("number")))
    named = spec(kind, tmp_path, words)
    scores = [
        [verdict.marks[0] for verdict in judge_from_spec(f"{named}&device={device}&precision={precision}").judge(cases)]
        for device, precision in (("cpu", "float32"), ("cuda", "float32"), ("cuda", "float16"))
    ]
    assert len(scores[0]) == 9
    for found, tolerance in zip(scores[1:], NEAR[kind], strict=True):
        assert found == pytest.approx(scores[0], abs=tolerance)
