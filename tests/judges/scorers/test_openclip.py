"""A small model of open_clip's own making, through its real loading and our scoring code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fullbench import Choice
from fullbench.errors import InputError
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec as judge_of
from tests.judges.scorers.making import case, picture, texture

pytestmark = pytest.mark.slow
SMALL = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "patch_size": 8},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2},
}


def opened():
    """open_clip, or skip: it needs a torchvision of the same build as torch, which CPU-only machines often lack."""
    try:
        import open_clip
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"open_clip cannot be imported here: {str(error).splitlines()[0]}")
    return open_clip


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    open_clip = opened()
    import torch

    folder = tmp_path_factory.mktemp("openclip")
    (folder / "tiny.json").write_text(json.dumps(SMALL))
    open_clip.add_model_config(folder / "tiny.json")
    torch.manual_seed(0)
    model = open_clip.create_model("tiny")
    torch.save({"state_dict": {f"module.{name}": value for name, value in model.state_dict().items()}}, folder / "w.pt")
    return folder / "w.pt"


def test_the_cosine_is_open_clips_own(checkpoint):
    """The file is packed as training scripts leave it, HPSv2's authors' among them."""
    open_clip = opened()
    import torch

    images, prompt = [texture(1), texture(2)], "a red cat 猫"
    judge = judge_of(f"openclip:tiny?weights={checkpoint}&device=cpu")
    (verdict,) = judge.judge([case(*(picture(image) for image in images), prompt=prompt)])
    model, _, prepare = open_clip.create_model_and_transforms("tiny", str(checkpoint))
    model.eval()
    with torch.inference_mode():
        seen = model.encode_image(torch.stack([prepare(image) for image in images]), normalize=True)
        read = model.encode_text(open_clip.get_tokenizer("tiny")([prompt]), normalize=True)
    theirs = (seen @ read.T).flatten().tolist()
    assert [float(score) for score in verdict.text.split(", ")] == pytest.approx(theirs, abs=1e-5)
    assert isinstance(verdict.marks, tuple)
    assert (verdict.marks[0] > verdict.marks[1]) == (theirs[0] > theirs[1])


def test_other_weights_are_another_judge(checkpoint):
    import torch

    other = checkpoint.with_name("other.pt")
    held = torch.load(checkpoint)["state_dict"]
    torch.save({"state_dict": {name: value + 0.01 for name, value in held.items()}}, other)
    names = {judge_of(f"openclip:tiny?weights={path}").name for path in (checkpoint, other)}
    assert len(names) == 2


def test_bad_names_get_one_sentence(checkpoint):
    with pytest.raises(InputError, match="no weights"):
        judge_of("openclip:ViT-H-14")
    judge = judge_of("openclip:no-such-model?weights=laion2b")
    with pytest.raises(InputError, match="cannot be loaded"):
        list(judge.judge([case(picture(texture(1)), picture(texture(2)), ballot=Choice())]))
