"""The GitHub Action: its steps run in bash as GitHub runs them, on a ledger with a good and a bad judge."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

ACTION = Path(__file__).parents[2] / "action.yml"


@pytest.fixture(scope="module")
def action() -> dict:
    return yaml.safe_load(ACTION.read_text(encoding="utf-8"))


def run_step(action: dict, name: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run one step with the defaults of the inputs, except those given."""
    values = {key: entry["default"] for key, entry in action["inputs"].items()} | {
        key.replace("_", "-"): value for key, value in inputs.items()
    }
    (step,) = (step for step in action["runs"]["steps"] if step.get("name") == name)
    variables = {}
    for key, text in step["env"].items():
        variables[key] = values[text.removeprefix("${{ inputs.").removesuffix(" }}")]
    there = os.environ | variables | {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    there["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{there['PATH']}"
    # GitHub runs `shell: bash` with these options.
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(words, cwd=folder, env=there, capture_output=True, text=True, timeout=300)


def test_the_action_audits_and_gates(action, tmp_path):
    (tmp_path / "simulated:accurateXseed=1").touch()  # what the `?` of a spec would match
    done = run_step(action, "Audit", tmp_path, audit="simulated:accurate?seed=1 simulated:blind")
    assert done.returncode == 0, done.stderr
    (tmp_path / "gate.toml").write_text("[[audit]]\njudge = 'simulated/accurate'\npicture_use_index = 0.5\n")
    done = run_step(action, "Gate", tmp_path)
    assert done.returncode == 0, done.stderr
    assert ET.parse(tmp_path / "gate" / "gate.xml").getroot().get("failures") == "0"
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "picture_use_index" in summary
    assert "1 of 1 passed" in (tmp_path / "gate" / "gate.svg").read_text(encoding="utf-8")

    (tmp_path / "all.toml").write_text("[[audit]]\npicture_use_index = 0.5\n")
    done = run_step(action, "Gate", tmp_path, thresholds="all.toml", out="second folder")
    assert done.returncode == 1, "the blind judge fails, and so does the job"
    assert ET.parse(tmp_path / "second folder" / "gate.xml").getroot().get("failures") == "1"
    assert "1 of 2 passed" in (tmp_path / "second folder" / "gate.svg").read_text(encoding="utf-8")
    assert len((tmp_path / "summary.md").read_text(encoding="utf-8")) > len(summary)

    words = "--quick --media audio --ledger audio.ledger"
    done = run_step(action, "Audit", tmp_path, audit="simulated:accurate", audit_options=words)
    assert done.returncode == 0, done.stderr
    (tmp_path / "audio.toml").write_text("[[audit]]\naudio_use_index = 0.5\n")
    done = run_step(action, "Gate", tmp_path, thresholds="audio.toml", ledger="audio.ledger", out="third")
    assert done.returncode == 0, done.stderr
    assert "audio_use_index" in (tmp_path / "third" / "gate.md").read_text(encoding="utf-8")

    done = run_step(action, "Gate", tmp_path, thresholds="missing.toml")
    assert done.returncode == 2
    assert "missing.toml" in done.stderr


def test_every_input_is_described_and_used(action):
    text = ACTION.read_text(encoding="utf-8")
    for name, entry in action["inputs"].items():
        assert entry["description"]
        assert f"inputs.{name} " in text
