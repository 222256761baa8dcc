"""`fullbench tune` from prompts to a better generator, with real weights, a real judge and a real kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from tests.support.wait_until import until
from tests.training.generator import tiny
from tests.training.generator.toy.plugin import toy_plugin

__all__ = ["toy_plugin"]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("toy_plugin")]
torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
RED = "def red(prompt, image):\n    r, g, b = image.resize((1, 1)).getpixel((0, 0))\n    return r - (g + b) / 2 - 100\n"
LOT = "import hashlib\n\ndef lot(prompt, image):\n    return int(hashlib.sha256(image.tobytes()).hexdigest()[:8], 16)\n"


@pytest.fixture(autouse=True)
def single_thread():
    torch.set_num_threads(1)


def redness(data: bytes) -> float:
    r, g, b = Image.open(BytesIO(data)).convert("RGB").resize((1, 1)).getpixel((0, 0))
    return r - (g + b) / 2


def written(folder: Path) -> None:
    (folder / "prompts.txt").write_text("\n".join([*tiny.PROMPTS[:20], tiny.PROMPTS[0], ""]))
    (folder / "held.txt").write_text("\n".join(tiny.PROMPTS[20:]))
    (folder / "tune_red.py").write_text(RED)
    (folder / "tune_lot.py").write_text(LOT)


def command(judge: str, out: str, *more: str) -> list[str]:
    return [
        "tune", "--generator", "toy:base", "--prompts", "prompts.txt", "--held-out", "held.txt", "--judge", judge,
        "--out", out, "--samples", "8", "--compared", "8", "--lr", "0.002", "--batch", "16", *more,
    ]  # fmt: skip


def drawn(folder: Path, name: str) -> np.ndarray:
    with Ledger(folder / "fullbench.ledger") as ledger:
        asked = {item.id for item in ledger.record().items.values() if item.question in tiny.PROMPTS[20:]}
        found = [response for response in ledger.responses() if response.item in asked and name in response.contestant]
    return np.array([redness(response.pictures[0].data()) for response in found])


def test_a_judge_that_likes_red_makes_red_pictures_and_one_by_lot_does_not(cli, tmp_path):
    tiny.sheets(tmp_path / "base")
    written(tmp_path)
    tables = {}
    for judge, out in (("scorer:tune_red:red", "by_red"), ("scorer:tune_lot:lot", "by_lot")):
        code, said, err = cli(*command(judge, out, "--steps", "60", "--compare", "scorer:tune_red:red", "--json"))
        assert code == 0, err
        assert "1 prompt occurs more than once" in err
        (tables[out],) = json.loads(said)
    before = drawn(tmp_path, "toy:base")
    assert len(before) == 4 * 8
    won = {out: table["rows"][0][1] for out, table in tables.items()}
    assert won["by_red"]["low"] > 0.5, "the tuned one is redder, beyond chance"
    assert won["by_lot"]["low"] < 0.65
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        names = {response.contestant for response in ledger.responses()}
    assert len(names) == 3
    rows = tables["by_red"]["rows"]
    assert rows[0][-1] == 4 * 8, "every held-out prompt and sample is compared"
    code, said, err = cli(*command("scorer:tune_red:red", "by_red", "--steps", "60", "--json"))
    assert code == 0, err
    assert "Called 0" in err


def test_tuning_that_is_killed_goes_on_where_it_was(tmp_path):
    """The same losses as in a run that nobody disturbed."""
    tiny.sheets(tmp_path / "base")
    written(tmp_path)
    words = [sys.executable, "-m", "fullbench", *command("scorer:tune_red:red", "killed", "--steps", "400")]
    free = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(words, cwd=tmp_path, env=free, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    until(lambda: (tmp_path / "killed" / "state.pt").exists() or process.poll() is not None, seconds=240)
    assert process.poll() is None, "it was to be killed in the middle"
    process.send_signal(signal.SIGKILL)
    process.wait()
    reached = torch.load(tmp_path / "killed" / "state.pt", weights_only=True)["step"]
    assert 0 < reached < 400
    for out in ("killed", "calm"):
        args = [sys.executable, "-m", "fullbench", *command("scorer:tune_red:red", out, "--steps", "400", "--quiet")]
        done = subprocess.run(args, cwd=tmp_path, env=free, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stderr
    killed, calm = (json.loads((tmp_path / out / "tuned.json").read_text())["losses"] for out in ("killed", "calm"))
    assert len(killed) == 400
    assert killed == calm


@pytest.mark.parametrize("way", ["weighted", "dpo"])
def test_other_ways_learn_too(cli, tmp_path, way):
    tiny.sheets(tmp_path / "base")
    written(tmp_path)
    more = ("--steps", "20", "--way", way, "--quiet", "--beta", "100")
    code, _, err = cli(*command("scorer:tune_red:red", "out", *more))
    assert code == 0, err
    losses = json.loads((tmp_path / "out" / "tuned.json").read_text())["losses"]
    assert len(losses) == 20
    assert np.isfinite(losses).all()


def test_what_cannot_be_tuned_is_said(cli, tmp_path):
    tiny.sheets(tmp_path / "base", steps=1)
    written(tmp_path)
    (tmp_path / "tune_same.py").write_text("def same(prompt, image):\n    return -1.0\n")
    for words, sentence in (
        (command("scorer:tune_same:same", "out", "--quiet"), "all its marks are equal"),
        (command("scorer:tune_red:red", "out", "--way", "grpo"), "Unknown method 'grpo'"),
        (command("scorer:tune_red:red", "out", "--lora", "4", "--quiet"), "tuned as a whole"),
        ([w.replace("held.txt", "prompts.txt") for w in command("length", "out")], "used for training and test"),
        ([w.replace("toy:base", "offline:echo") for w in command("length", "out")], "answers with text"),
        ([w.replace("toy:base", "toy:nowhere") for w in command("length", "out")], "lacks generator.json"),
    ):
        code, _, err = cli(*words)
        assert code == 2, words
        assert sentence in err, err
    assert not (tmp_path / "out").exists()


def test_a_pipeline_of_diffusers_draws_by_seeds_and_is_tuned_with_adapters_and_as_a_whole(cli, tmp_path):
    pytest.importorskip("diffusers", reason="diffusers is not installed; pip install fullbench[diffusers]")
    pytest.importorskip("peft", reason="peft is not installed; pip install fullbench[train]")
    tiny.pipeline(tmp_path)
    (tmp_path / "words.txt").write_text("\n".join(f"a cat {letter}" for letter in "abcdefgh"))
    (tmp_path / "held.txt").write_text("a dog a\na dog b\n")
    (tmp_path / "tune_red.py").write_text(RED)
    pictures = {}
    for batch in (1, 5):
        spec = f"diffusers:pipe?steps=2&size=16x16&seed=3&batch={batch}&guidance=1"
        words = ["answer", "--items", "items.jsonl", "--contestant", spec, "--samples", "3", "--out", "o.jsonl"]
        rows = [json.dumps({"id": letter, "question": f"a cat {letter}"}) for letter in "abcd"]
        (tmp_path / "items.jsonl").write_text("\n".join(rows))
        code, _, err = cli(*words, "--ledger", f"{batch}.ledger", "--quiet")
        assert code == 0, err
        with Ledger(tmp_path / f"{batch}.ledger") as ledger:
            answers = list(ledger.responses())
        assert {answer.tags["seed"] for answer in answers} == {"3", "4", "5"}
        pictures[batch] = {
            (answer.item, answer.sample): np.asarray(Image.open(BytesIO(answer.pictures[0].data())), dtype=int)
            for answer in answers
        }
    assert len(pictures[1]) == 12
    for place, pixels in pictures[1].items():
        assert abs(pixels - pictures[5][place]).max() <= 2, "a picture does not depend on its batch"
    for lora in ("0", "2"):
        code, out, err = cli(
            "tune", "--generator", "diffusers:pipe?steps=2&size=16x16&guidance=1", "--prompts", "words.txt",
            "--held-out", "held.txt", "--judge", "scorer:tune_red:red", "--compare", "scorer:tune_red:red",
            "--out", f"out{lora}", "--samples", "3", "--steps", "3", "--batch", "4", "--lr", "0.001", "--lora", lora,
            "--quiet", "--json",
        )  # fmt: skip
        assert code == 0, err
        (table,) = json.loads(out)
        assert table["rows"][0][-1] == 2 * 2
        assert (tmp_path / f"out{lora}" / "generator" / "unet").is_dir()
        assert (tmp_path / f"out{lora}" / "generator" / "lora").is_dir() == (lora != "0")


def test_rounds_of_drawing_and_marking_make_red_pictures_and_go_on_after_a_kill(tmp_path):
    """DDPO: marks rise by a judge that likes red; a run that is killed has the same marks as one that was not, and no
    picture is judged twice."""
    tiny.sheets(tmp_path / "base")
    written(tmp_path)
    rounds = ("--way", "ddpo", "--rounds", "12", "--round-prompts", "10", "--quiet")
    free = {**os.environ, "OMP_NUM_THREADS": "1"}

    def start(out: str) -> list[str]:
        words = command("scorer:tune_red:red", out, *rounds, "--ledger", f"{out}.ledger")
        return [sys.executable, "-m", "fullbench", *words]

    process = subprocess.Popen(
        start("killed"), cwd=tmp_path, env=free, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    until(lambda: (tmp_path / "killed" / "state.pt").exists() or process.poll() is not None, seconds=240)
    assert process.poll() is None, "it was to be killed in the middle"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 0 < torch.load(tmp_path / "killed" / "state.pt", weights_only=True)["round"] < 12
    for out in ("killed", "calm"):
        done = subprocess.run(start(out), cwd=tmp_path, env=free, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stderr
    killed, calm = (json.loads((tmp_path / out / "tuned.json").read_text())["marks"] for out in ("killed", "calm"))
    assert killed == calm
    assert np.mean(killed[-3:]) > np.mean(killed[:3]) + 5, killed
    with Ledger(tmp_path / "killed.ledger") as ledger:
        verdicts = [verdict for verdict in ledger.verdicts() if verdict.fault is None]
    assert len(verdicts) == 12 * 10 * 8
    assert len({(verdict.case, verdict.trial) for verdict in verdicts}) == len(verdicts)


@pytest.mark.parametrize("way", ["best", "weighted", "dpo"])
def test_a_device_with_little_memory_learns_the_same_in_parts(tmp_path, capsys, way):
    from fullbench.training.generator.judge_preference_tuning_methods import Feedback, TuningSettings, tune_weights
    from tests.training.generator.toy.sheet_generator import SheetGenerator

    class Small(SheetGenerator):
        most = 100

        def errors(self, network, pictures, words, noise, moments):
            if len(pictures) > self.most:
                raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
            return super().errors(network, pictures, words, noise, moments)

    tiny.sheets(tmp_path / "base", steps=2)
    pictures = torch.randn((2, 12, *SheetGenerator.load(tmp_path / "base").start([1]).shape[1:]))
    weights = torch.rand(12) if way == "weighted" else None
    feedback = Feedback(tiny.PROMPTS[:12], pictures[0], weights, pictures[1] if way == "dpo" else None)
    losses = {}
    for most in (100, 3):
        generator = Small.load(tmp_path / "base")
        generator.most = most
        base = SheetGenerator.load(tmp_path / "base")
        losses[most] = tune_weights(
            generator, base, feedback, TuningSettings(way=way, batch=12, steps=4, lr=1e-3, beta=10.0)
        )
    assert losses[3] == pytest.approx(losses[100], rel=1e-4)
    said = capsys.readouterr().err
    assert "too little memory for 12 pictures at once; 6 now" in said
    assert "too little memory for 6 pictures at once; 3 now" in said
    generator.most = 0
    with pytest.raises(InputError, match="too little memory to train on one picture"):
        tune_weights(generator, base, feedback, TuningSettings(way=way, batch=12, steps=4))
