"""Lines of batch files, as the services write them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Anthropic, Gemini
from fullbench.models.local.offline_models_for_tests import OfflineModel, echo_prompt
from fullbench.models.wire.batch_lines import parse_batch_line, reply_from_line, request_line, takes_batches
from tests.models.conftest import ask
from tests.support.batch_server import AnthropicService, GeminiService, chat

MODEL = ChatModel("m", "http://localhost:1/v1", listed_price=(2.0, 10.0))
CLAUDE = ChatModel("claude", "http://localhost:1/v1", Anthropic(), listed_price=(2.0, 10.0))
FLASH = ChatModel("flash", "http://localhost:1/v1beta", Gemini(), listed_price=(2.0, 10.0))
TOO_LONG = {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}
REFUSED = {"message": "rejected by our safety system", "code": "content_policy_violation"}


def test_a_line_asks_what_a_call_asks():
    prompt = ask(1, '图 with "quotes"\n')
    line = request_line(MODEL, "name-1", prompt)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    name, content = parse_batch_line(line) or ("", {})
    assert (name, content["method"], content["url"]) == ("name-1", "POST", "/v1/chat/completions")
    assert content["body"] == orjson.loads(MODEL.dialect.body("m", prompt, MODEL.sampling))


@pytest.mark.parametrize(("model", "name", "body"), [(CLAUDE, "custom_id", "params"), (FLASH, "key", "request")])
def test_the_others_lines_hold_what_a_call_asks(model: ChatModel, name: str, body: str):
    prompt = ask(1, '图 with "quotes"\n')
    found, content = parse_batch_line(request_line(model, "name-1", prompt)) or ("", {})
    assert (found, set(content)) == ("name-1", {name, body})
    assert content[body] == orjson.loads(model.dialect.body(model.model, prompt, model.sampling))


def fault(kind: str, message: str) -> dict[str, Any]:
    return {"result": {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": message}}}}


@pytest.mark.parametrize(
    ("model", "line", "error"),
    [
        (CLAUDE, fault("api_error", "boom"), "500: boom"),
        (CLAUDE, fault("invalid_request_error", "messages.0: too long"), "400: messages.0: too long"),
        (CLAUDE, fault("overloaded_error", "busy"), "529: busy"),
        (CLAUDE, {"result": {"type": "expired"}}, "the batch expired before this was asked"),
        (CLAUDE, {"result": {"type": "canceled"}}, "the batch was cancelled before this was asked"),
        (CLAUDE, {"result": {"type": "succeeded"}}, "500: error"),
        (CLAUDE, {"result": "strange"}, "500: error"),
        (FLASH, {"error": {"code": 13, "message": "boom"}}, "500: boom"),
        (FLASH, {"error": {"code": 3, "message": "bad picture"}}, "400: bad picture"),
        (FLASH, {"error": {"code": 429, "message": "much"}}, "429: much"),
        (FLASH, {"status": {"code": 14, "message": "away"}}, "503: away"),
        (FLASH, {"response": {"candidates": []}}, "200 without an answer in it"),
        (FLASH, {"error": "strange"}, "500: error"),
        (FLASH, {}, "500: error"),
    ],
)
def test_what_brings_no_answer_elsewhere_is_an_error(model: ChatModel, line: dict[str, Any], error: str):
    reply = reply_from_line(model, ask(1), line)
    assert (reply.error, reply.text, reply.usage.calls + reply.usage.retries) == (error, "", 1)
    assert reply.usage.dollars == 0.0 or reply.usage.calls


def test_answers_and_refusals_elsewhere():
    good = AnthropicService().said("好")
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    for model, line in (
        (CLAUDE, {"result": {"type": "succeeded", "message": good}}),
        (FLASH, {"response": GeminiService().said("好")}),
    ):
        reply = reply_from_line(model, ask(1), line)
        assert (reply.text, reply.error, reply.stop) == ("好", None, "stop")
        assert reply.usage.dollars == pytest.approx(0.5 * (1000 * 2 + 100 * 10) / 1e6)
    for model, line, stop in (
        (CLAUDE, {"result": {"type": "succeeded", "message": {**good, "stop_reason": "refusal"}}}, "refused"),
        (FLASH, {"response": blocked}, "filter"),
    ):
        reply = reply_from_line(model, ask(1), line)
        assert (reply.error, reply.stop) == (None, stop)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ({"response": {"status_code": 500, "body": {"error": {"message": "boom"}}}}, "500: boom"),
        (
            {"response": None, "error": {"code": "batch_expired", "message": "too late"}},
            "the batch expired before this was asked",
        ),
        ({"response": {"status_code": 400, "body": None}, "error": {"message": "no such model"}}, "400: no such model"),
        ({"response": {"status_code": 400, "body": {"error": TOO_LONG}}}, f"400: {TOO_LONG['message']}"),
        ({"response": {"status_code": 200, "body": {"choices": []}}}, "200 without an answer in it"),
        ({"response": {"status_code": 200, "body": None}, "error": None}, "500: error"),
        ({"response": "strange"}, "500: error"),
        ({}, "500: error"),
    ],
)
def test_what_brings_no_answer_is_an_error(line: dict[str, Any], error: str):
    reply = reply_from_line(MODEL, ask(1), line)
    assert (reply.error, reply.text, reply.usage.calls + reply.usage.retries) == (error, "", 1)


def test_an_answer_costs_its_share_and_a_refusal_is_no_error():
    good = reply_from_line(MODEL, ask(1), {"response": {"status_code": 200, "body": chat("好")}}, price_share=0.25)
    assert (good.text, good.error, good.stop) == ("好", None, "stop")
    assert good.usage.dollars == pytest.approx(0.25 * (1000 * 2 + 100 * 10) / 1e6)
    refused = reply_from_line(MODEL, ask(1), {"response": {"status_code": 400, "body": {"error": REFUSED}}})
    assert (refused.error, refused.stop) == (None, "refused")


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'"x"', b"{}", b'{"custom_id": 5}', b'{"custom_id": null}\n'])
def test_what_bears_no_name_is_passed_over(line):
    assert parse_batch_line(line) is None


def test_who_takes_batches():
    assert takes_batches(MODEL)
    assert takes_batches(CLAUDE)
    assert takes_batches(FLASH)
    assert not takes_batches(OfflineModel("echo", echo_prompt))
