"""The command of docs/how-to/generators.md, with a small pipeline and small score models in place of large ones."""

from __future__ import annotations

import json
import re
import shlex
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fullbench.ledger.ledger import Ledger
from tests.training.generator import tiny
from tests.training.generator.test_tune import RED, redness

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")]
torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
pytest.importorskip("diffusers", reason="diffusers is not installed; pip install fullbench[diffusers]")
pytest.importorskip("peft", reason="peft is not installed; pip install fullbench[train]")
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "generators.md"
HELD_OUT = [f"a dog {letter}" for letter in "abcd"]


def documented_command() -> list[str]:
    (block,) = re.findall(r"```text\n(fullbench tune .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return shlex.split(block.replace("\\\n", " "))[1:]


def test_the_documented_command_tunes_on_the_processor_and_its_table_is_right(cli, tmp_path):
    torch.set_num_threads(1)
    tiny.pipeline(tmp_path)
    (tmp_path / "pipe").rename(tmp_path / "stable-diffusion")
    (tmp_path / "prompts.txt").write_text("\n".join(f"a cat {letter}" for letter in "abcdefgh"))
    (tmp_path / "held.txt").write_text("\n".join(HELD_OUT))
    (tmp_path / "tune_red.py").write_text(RED)
    (tmp_path / "tune_bright.py").write_text(
        "def bright(prompt, image):\n    return sum(image.resize((1, 1)).getpixel((0, 0)))\n"
    )
    stands_for = {
        "openai:gpt-4o": "scorer:tune_red:red",
        "imagereward": "scorer:tune_red:red",
        "gemini:gemini-2.5-flash": "scorer:tune_bright:bright",
        "diffusers:./stable-diffusion?steps=30": "diffusers:./stable-diffusion?steps=3&size=16x16&device=cpu",
    }
    words = [stands_for.get(word, word) for word in documented_command()]
    assert {"tune", "--compare", "--lora", "tuned"} <= set(words)
    assert set(stands_for.values()) <= set(words), "the documented command has other words now"
    small = ("--held-out", "held.txt", "--steps", "6", "--batch", "4", "--compared", "3", "--lr", "0.01", "--json")
    code, output, errors = cli(*words, *small)
    assert code == 0, errors
    (table,) = json.loads(output)
    found = {row[0]: row[1]["value"] for row in table["rows"]}
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        names = {item.id: item.question for item in ledger.record().items.values()}
        drawn = {
            (names[response.item], response.sample, "stable-diffusion" not in response.contestant): response.pictures[
                0
            ].data()
            for response in ledger.responses()
            if names[response.item] in HELD_OUT
        }
        contestants = {response.contestant for response in ledger.responses()}
    assert len(drawn) == 2 * 3 * len(HELD_OUT), contestants
    for judge, mark in (("tune_red", redness), ("tune_bright", brightness)):
        shares = []
        for prompt, sample, is_tuned in drawn:
            if is_tuned:
                before, after = mark(drawn[prompt, sample, False]), mark(drawn[prompt, sample, True])
                shares.append(0.5 + 0.5 * np.sign(after - before))
        (share,) = {value for name, value in found.items() if judge in name}
        assert share == pytest.approx(np.mean(shares)), judge
    assert (tmp_path / "tuned" / "generator").is_dir()


def brightness(data: bytes) -> float:
    return sum(Image.open(BytesIO(data)).convert("RGB").resize((1, 1)).getpixel((0, 0)))
