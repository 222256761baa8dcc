"""litellm against the fake server, where it is installed (it is no part of the development environment)."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import subprocess
import sys
import threading
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from fullbench import Picture, Prompt, Turn
from fullbench.errors import InputError, MissingExtra, ModelError
from fullbench.models import model_specs
from tests.models.conftest import ask
from tests.support.data_builders import png
from tests.support.fake_chat_server import KEY, FakeServer

there = importlib.util.find_spec("litellm") is not None
with_litellm = pytest.mark.skipif(not there, reason="litellm is not installed: pip install '.[litellm]'")


@pytest.mark.skipif(there, reason="litellm is installed")
def test_without_litellm_the_way_to_get_it_is_told():
    with pytest.raises(MissingExtra, match=r"pip install '\.\[litellm\]'"):
        model_specs.build_litellm_model("openai/x", {}).answer([])


def test_no_key_among_the_settings():
    with pytest.raises(InputError, match="'api_key' looks like a key"):
        model_specs.build_litellm_model("openai/x", {"extra": '{"api_key": "k"}'})


@with_litellm
def test_litellm():
    """In a process of its own: litellm leaves sockets open and warns as it likes."""
    env = {**os.environ, "OPENAI_API_KEY": KEY}
    subprocess.run([sys.executable, "-m", "tests.models.test_litellm"], check=True, env=env)


class Clouds:
    """Answers as Azure's deployments and as Bedrock's Converse do, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Message, dict[str, Any]]] = []
        arrived = self.asked

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                arrived.append((self.path, self.headers, body))
                said = {"role": "assistant", "content": "[[4]]"}
                reply: dict[str, Any] = {
                    "id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o",
                    "choices": [{"index": 0, "message": said, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105,
                              "prompt_tokens_details": {"cached_tokens": 60}},
                }  # fmt: skip
                if self.path.endswith("/converse"):
                    output = {"message": {"role": "assistant", "content": [{"text": "[[4]]"}]}}
                    # Converse counts what came from the cache apart
                    usage = {"inputTokens": 40, "cacheReadInputTokens": 60, "outputTokens": 5, "totalTokens": 105}
                    reply = {"output": output, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}
                data = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


def clouds() -> None:
    """Azure and Bedrock by way of litellm: the picture arrives, in each one's own form and with its own key."""
    there = Clouds()
    os.environ.update({
        "AZURE_API_KEY": "azure-key", "AZURE_API_BASE": there.url, "AZURE_API_VERSION": "2024-10-21",
        "AWS_ACCESS_KEY_ID": "amazon-key", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION_NAME": "us-east-1",
    })  # fmt: skip
    picture = png()
    prompt = Prompt((Turn("system", ("You judge.",)), Turn("user", (Picture.from_bytes(picture), "多少?"))))
    price = {"price_in": "1", "price_out": "2", "price_cached": "0.1", "attempts": "1", "max_tokens": "50"}
    ways = {
        "azure/mine": price,
        "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0": price
        | {"extra": json.dumps({"aws_bedrock_runtime_endpoint": there.url})},
    }
    for name, options in ways.items():
        (reply,) = model_specs.build_litellm_model(name, options).answer([prompt])
        assert (reply.error, reply.text) == (None, "[[4]]"), reply
        assert (reply.usage.tokens_in, reply.usage.cached) == (100, 60), name
        assert reply.usage.dollars == pytest.approx((40 * 1 + 60 * 0.1 + 5 * 2) / 1e6)
    (azure, headers, body), (bedrock, signed, converse) = there.asked
    assert azure == "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    assert headers["api-key"] == "azure-key"
    shown, words = body["messages"][1]["content"]
    assert base64.b64decode(shown["image_url"]["url"].partition(",")[2]) == picture
    assert words["text"] == "多少?"
    assert bedrock == "/model/anthropic.claude-3-5-sonnet-20240620-v1%3A0/converse"
    assert "Credential=amazon-key" in signed["Authorization"]
    shown, words = converse["messages"][0]["content"]
    assert base64.b64decode(shown["image"]["source"]["bytes"]) == picture
    assert (words["text"], converse["system"]) == ("多少?", [{"text": "You judge."}])
    there.server.shutdown()
    there.server.server_close()


def main() -> None:
    with FakeServer() as server:
        options = {"extra": json.dumps({"api_base": server.url}), "attempts": "2", "price_in": "1", "price_out": "1"}
        model = model_specs.build_litellm_model("openai/x", options)
        replies = list(model.answer(map(ask, range(40))))
        assert sorted(int(json.loads(reply.text)["id"]) for reply in replies) == list(range(40))
        assert {reply.usage.dollars for reply in replies} == {120 / 1e6}
        words = ["please refuse", "complain: policy", "complain: odd", "complain: always"]
        told = {reply.prompt.tag: reply for word in words for reply in model.answer([ask(1, word, tag=word)])}
        assert [told[word].stop for word in words] == ["refused", "refused", "", ""]
        assert "something is off" in (told["complain: odd"].error or "")
        assert "boom" in (told["complain: always"].error or "")
        assert KEY not in repr(told)
        for word in ("complain: key", "complain: model"):
            with pytest.raises(ModelError, match=r"openai .by way of litellm.") as caught:
                list(model.answer([ask(1, word)]))
            assert KEY not in str(caught.value)


if __name__ == "__main__":
    main()
    clouds()
