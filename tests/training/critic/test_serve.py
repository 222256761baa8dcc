"""The server of chat completions, in a process of its own, asked by the client that asks every other server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError

import pytest

from fullbench import Case, Item, Response, Score
from fullbench.models.local import TransformersModel
from fullbench.studies.specs import judge as judge_of
from fullbench.training.critic.asking import Asking
from fullbench.training.critic.description import Critic
from tests.training.critic import tiny

pytestmark = pytest.mark.slow
ASKING = Asking("plain", "score:1-5", "en", reference=False, template=tiny.WORDING)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve") / "critic"
    folder.mkdir()
    tiny.model(folder / "model")
    Critic("sft", ASKING, 200, 12, 3.0, 1.0).write(folder)
    command = [sys.executable, "-m", "fullbench", "critic", "serve", str(folder), "--port", "0"]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        url = re.search(r"at (http://\S+/v1);", line)
        assert url, line + process.stderr.read()
        yield folder, url[1]
        process.terminate()
        assert process.wait(timeout=120) == 0


def ask(url: str, body: object) -> dict:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/chat/completions", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


def test_it_says_what_the_model_says_in_this_process(served):
    folder, url = served
    item = Item.ask("i", "what colour is square 3?")
    cases = [Case(item, (Response.say("i", f"c{n}", f"good answer {n}"),), Score(1, 5)) for n in range(5)]
    here = {v.contestants: v.text for v in judge_of(f"trained:{folder}").hear(cases)}
    words = folder.parent / "w.txt"
    words.write_text(tiny.WORDING)
    spec = f"vllm:critic@{url}?mode=direct&sight=none&resample=0&max_tokens=12&template={words}"
    there = {v.contestants: v.text for v in judge_of(spec).hear(cases)}
    assert there == here
    assert len(here) == 5


def test_many_at_once_get_the_replies_they_would_get_alone(served):
    _, url = served
    bodies = [
        {"messages": [{"role": "user", "content": f"square {n}"}], "max_tokens": 4 + n % 2, "model": "critic"}
        for n in range(12)
    ]
    alone = [ask(url, body)["choices"][0]["message"]["content"] for body in bodies]
    with ThreadPoolExecutor(12) as pool:
        together = [
            reply["choices"][0]["message"]["content"] for reply in pool.map(lambda body: ask(url, body), bodies)
        ]
    assert together == alone


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{", "no JSON"),
        ({}, "needs 'messages'"),
        ({"messages": [{"role": "user", "content": "x"}], "stream": True}, "does not stream"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "a content is words"),
        ({"messages": [{"role": "user", "content": "x"}], "max_tokens": 0.5}, "a whole number above 0"),
        ({"messages": [{"role": "user", "content": "好 " * 3000}]}, "the model's window 1024"),
    ],
)
def test_a_request_that_does_not_do_is_refused_with_a_reason(served, body, told):
    _, url = served
    with pytest.raises(HTTPError) as caught:
        ask(url, body)
    assert caught.value.code == 400
    assert told in json.load(caught.value)["error"]["message"]


def test_a_critic_without_words_is_not_served(tmp_path):
    from fullbench.errors import InputError
    from fullbench.training.critic.serve import model_in

    Critic("light", ASKING, 200, 12, 3.0, 1.0).write(tmp_path)
    with pytest.raises(InputError, match="writes no words to serve"):
        model_in(tmp_path)
    with pytest.raises(InputError, match="it holds a critic: say trained:"):
        TransformersModel(str(tmp_path))
