"""A batch that the first release wrote and nobody collected yet: it is found under today's names."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fullbench import Ledger

FIXTURE = Path(__file__).parents[1] / "ledger" / "fixtures" / "first_batch"
REQUESTS = 16


@pytest.fixture
def folder(tmp_path) -> Path:
    """A copy: what is checked in stays as the code of version 0.1.0 wrote it."""
    return shutil.copytree(FIXTURE, tmp_path / "first")


def fullbench(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fullbench", *words]
    env = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-none", "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


def test_its_requests_are_on_their_way_not_due(folder):
    done = fullbench(folder, "batch", "collect", "study.toml")
    assert f"{REQUESTS} on their way" in done.stderr
    assert "is called 'gpt-4o+t0+analyze" in done.stderr, "which names were adopted is said"
    assert "due" not in done.stderr
    written = fullbench(folder, "batch", "write", "study.toml")
    assert "written" not in written.stderr, "nothing is asked a second time"


def test_a_live_run_does_not_ask_what_is_in_it(folder):
    done = fullbench(folder, "run", "study.toml", "--quiet")
    assert done.returncode == 2
    assert "is being asked in the batch 0001-gpt-4o, which has not ended" in done.stderr


def test_its_replies_become_verdicts_under_todays_names(folder):
    (batch,) = (folder / "legs.ledger.batches").iterdir()
    asked = [json.loads(line) for line in (batch / "requests.jsonl").read_text(encoding="utf-8").splitlines()]
    replies = []
    for request in asked:
        ruling = "[[4]]" if "between 1 and 5" in json.dumps(request) else "[[A]]"
        message = {"role": "assistant", "content": ruling}
        body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "model": "gpt-4o",
                "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}}  # fmt: skip
        replies.append({"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}})
    (folder / "out.jsonl").write_text("\n".join(map(json.dumps, replies)), encoding="utf-8")
    done = fullbench(folder, "batch", "collect", "study.toml", "--from", "out.jsonl")
    assert done.returncode == 0, done.stderr
    assert f"{REQUESTS} new in the ledger" in done.stderr
    with Ledger(folder / "legs.ledger", read_only=True) as ledger:
        verdicts = list(ledger.verdicts())
        assert ledger.verify() == []
    assert len(verdicts) == REQUESTS
    assert {v.judge.partition("#")[0] for v in verdicts} == {"gpt-4o+t0+analyze", "gpt-4o+t0+direct"}
    assert {v.fault for v in verdicts} == {None}
    again = fullbench(folder, "run", "study.toml", "--quiet", "--json")
    assert again.returncode == 0, again.stderr
