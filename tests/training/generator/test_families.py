"""Pipelines of diffusers in three families, with real weights that are very small: Stable Diffusion, XL, and Flux."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.wait_until import until
from tests.training.generator import tiny
from tests.training.generator.test_tune import RED

# The scheduler of Stable Diffusion XL hands tensors to NumPy in a way that NumPy will drop.
# On a GPU, half-precision inputs meet norms of Flux in single precision: torch warns that it takes a slower kernel.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight:UserWarning"),
]
torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
pytest.importorskip("diffusers", reason="diffusers is not installed; pip install fullbench[diffusers]")
pytest.importorskip("peft", reason="peft is not installed; pip install fullbench[train]")

BUILDERS = {"sd": tiny.pipeline, "xl": tiny.pipeline_xl, "flux": tiny.pipeline_flux}
SPEC = "diffusers:pipe?steps=2&size=16x16&guidance=2"


@pytest.fixture(autouse=True)
def single_thread():
    torch.set_num_threads(1)


@pytest.fixture(params=BUILDERS)
def folder(request, tmp_path) -> Path:
    BUILDERS[request.param](tmp_path)
    (tmp_path / "words.txt").write_text("\n".join(f"a cat {letter}" for letter in "abcdef"))
    (tmp_path / "held.txt").write_text("a dog a\na dog b\n")
    (tmp_path / "tune_red.py").write_text(RED)
    return tmp_path


def command(out: str, way: str, lora: int, *more: str) -> list[str]:
    return [
        "tune", "--generator", SPEC, "--prompts", "words.txt", "--held-out", "held.txt", "--way", way, "--out", out,
        "--judge", "scorer:tune_red:red", "--samples", "3", "--batch", "4", "--lr", "0.001", "--lora", str(lora),
        "--quiet", *more,
    ]  # fmt: skip


def test_what_a_network_foretells_is_what_the_pipeline_itself_draws_by(folder):
    """Drawn in a single step, a pipeline's latents are the picture that its network sees in the noise."""
    from diffusers import DDIMScheduler

    from fullbench.models.local.diffusers_pipeline import PipelineModel
    from fullbench.training.generator.trainable_diffusers_pipeline import PipelineTrainee

    model = PipelineModel(str(folder / "pipe"), steps=1, size="16x16", guidance=1.0)
    pipe = model.load()
    if hasattr(pipe, "unet"):
        pipe.scheduler = DDIMScheduler(timestep_spacing="trailing", clip_sample=False)
    generator = PipelineTrainee(model).tunable
    start = generator.start([3, 4])
    prompts = ["a cat", "a dog"]
    with torch.no_grad():
        words = generator.conditions(prompts)
        clean, _ = generator.parts_of(
            generator.trained_network, start, words, torch.full((2,), 1.0, device=start.device)
        )
        given = start
        if not hasattr(pipe, "unet"):
            given = pipe._pack_latents(start, 2, *start.shape[1:])
        drawn = pipe(
            prompts, latents=given, num_inference_steps=1, guidance_scale=1.0, height=16, width=16, output_type="latent"
        ).images
    if not hasattr(pipe, "unet"):
        drawn = pipe._unpack_latents(drawn, 16, 16, pipe.vae_scale_factor)
    assert clean.shape == drawn.shape
    assert torch.allclose(clean, drawn, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("lora", [0, 2])
def test_it_is_tuned_by_dpo_with_adapters_and_as_a_whole_and_draws_again(cli, folder, lora):
    more = ("--steps", "4", "--beta", "100", "--compare", "scorer:tune_red:red", "--json")
    code, out, err = cli(*command("out", "dpo", lora, *more))
    assert code == 0, err
    (table,) = json.loads(out)
    assert table["rows"][0][-1] == 2 * 2, "both held-out prompts, two samples each, drawn by the tuned pipeline"
    losses = json.loads((folder / "out" / "tuned.json").read_text())["losses"]
    assert len(losses) == 4
    assert np.isfinite(losses).all()
    assert (folder / "out" / "generator" / "lora").is_dir() == bool(lora)
    (part,) = (part for part in ("unet", "transformer") if (folder / "pipe" / part).is_dir())
    (before,) = (folder / "pipe" / part).glob("*.safetensors")
    after = folder / "out" / "generator" / part / before.name
    assert before.read_bytes() != after.read_bytes(), "the network itself was changed"


@pytest.mark.parametrize("way", ["weighted", "ddpo"])
def test_other_ways_reach_their_end(cli, folder, way):
    code, _, err = cli(*command("out", way, 2, "--steps", "3", "--rounds", "2", "--round-prompts", "3"))
    assert code == 0, err
    note = json.loads((folder / "out" / "tuned.json").read_text())
    assert np.isfinite(note["losses"]).all()
    assert ("The mean mark of a round went from" in err) == (way == "ddpo")
    assert len(note.get("marks", [])) == (2 if way == "ddpo" else 0)


def test_killed_in_the_middle_it_ends_with_the_same_losses(folder):
    free = {**os.environ, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "fullbench", *command("killed", "dpo", 2, "--steps", "160", "--beta", "100")]
    process = subprocess.Popen(words, cwd=folder, env=free, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    until(lambda: (folder / "killed" / "state.pt").exists() or process.poll() is not None, seconds=240)
    assert process.poll() is None, "it was to be killed in the middle"
    process.send_signal(signal.SIGKILL)
    process.wait()
    reached = torch.load(folder / "killed" / "state.pt", weights_only=True)["step"]
    assert 0 < reached < 160
    for out in ("killed", "calm"):
        again = [sys.executable, "-m", "fullbench", *command(out, "dpo", 2, "--steps", "160", "--beta", "100")]
        done = subprocess.run(again, cwd=folder, env=free, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stderr
    killed, calm = (json.loads((folder / out / "tuned.json").read_text())["losses"] for out in ("killed", "calm"))
    assert len(killed) == 160
    assert killed == calm


def test_what_is_of_no_known_family_is_said(cli, folder):
    index = folder / "pipe" / "model_index.json"
    parts = json.loads(index.read_text())
    (name,) = (part for part in ("unet", "transformer") if part in parts)
    code, _, err = cli(*[word.replace("diffusers:pipe", "diffusers:elsewhere") for word in command("out", "dpo", 2)])
    assert code == 2
    (folder / "pipe" / name).rename(folder / "gone")
    code, _, err = cli(*command("out", "dpo", 2))
    assert code == 2
    assert f"lacks its part {name}" in err
    assert not (folder / "out").exists()
