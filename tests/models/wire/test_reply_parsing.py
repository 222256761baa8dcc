"""What comes back beside the words: how it ended, what was thought, who served it; in every dialect, every way."""

from __future__ import annotations

import json

import pytest

from fullbench.core.model import Reply
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Anthropic, Dialect, Gemini, OpenAI, Responses
from fullbench.models.model_settings import Limits
from fullbench.models.wire.batch_lines import FORMS, reply_from_line
from fullbench.models.wire.reply_parsing import Trouble, UsageCounter, read_body
from fullbench.models.wire.token_estimates import estimate_tokens
from tests.models.conftest import ask
from tests.support.fake_chat_server import FINGERPRINT, SERVED, SPEAK, THOUGHT

FAST = Limits(backoff=0.01, attempts=2)
DIALECTS = (OpenAI(), Anthropic(), Gemini())
by_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
PATHS = {"openai": "chat/completions", "anthropic": "messages", "gemini": "generateContent"}


def live(server, dialect: Dialect, words: str) -> Reply:
    (reply,) = ChatModel("m", server.url, dialect, limits=FAST).answer([ask(1, words)])
    return reply


@by_dialect
def test_what_was_thought_is_kept_and_is_no_part_of_the_answer(server, dialect):
    reply = live(server, dialect, "please think")
    assert (reply.reasoning, reply.stop) == (THOUGHT, "stop")
    assert json.loads(reply.text)["id"] == "1"
    assert THOUGHT not in reply.text


@by_dialect
def test_the_server_says_who_it_is(server, dialect):
    reply = live(server, dialect, "tell")
    assert reply.served == SERVED
    assert reply.fingerprint == (FINGERPRINT if dialect.name == "openai" else "")


def test_what_is_thought_aloud_in_front_of_an_answer_is_taken_apart(server):
    reply = live(server, OpenAI(), "please mumble")
    assert reply.reasoning == THOUGHT
    assert json.loads(reply.text)["id"] == "1"


@by_dialect
@pytest.mark.parametrize("mood", ["think", "length", "refuse", "filter", "tool", ""])
def test_a_batch_brings_what_a_live_call_brings(server, dialect, mood):
    words = {"think": "please think", "length": "please be long", "refuse": "please refuse", "filter": "please filter",
             "tool": "please call", "": "tell"}[mood]  # fmt: skip
    called = live(server, dialect, words)
    body = SPEAK[PATHS[dialect.name]][1](called.text, mood)
    line = {
        "openai": {"response": {"status_code": 200, "body": body}},
        "anthropic": {"result": {"type": "succeeded", "message": body}},
        "gemini": {"response": body},
    }[dialect.name]
    assert set(FORMS) == set(PATHS)
    filed = reply_from_line(ChatModel("m", server.url, dialect), called.prompt, line)
    for each in ("text", "stop", "reasoning", "served", "fingerprint", "error"):
        assert getattr(filed, each) == getattr(called, each), each


@pytest.mark.parametrize(
    ("message", "reasoning"),
    [
        ({"content": "[[A]]", "reasoning_content": "hm"}, "hm"),
        ({"content": "[[A]]", "reasoning": "hm"}, "hm"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                      {"type": "text", "text": "[[A]]"}]}, "hm"),
        ({"content": "<think>hm</think>[[A]]"}, "hm"),
        ({"content": "hm\n</think>\n[[A]]"}, "hm"),
        ({"content": "[[A]]", "reasoning_content": None}, ""),
        ({"content": "[[A]]", "provider_specific_fields": {"reasoning_content": "hm"}}, "hm"),
    ],
)  # fmt: skip
def test_servers_put_their_thoughts_in_several_places(message, reasoning):
    answer = OpenAI().parse({"choices": [{"message": message, "finish_reason": "stop"}]}, ask(1))
    assert answer is not None
    assert (answer.text, answer.reasoning) == ("[[A]]", reasoning)


def test_a_reply_cut_off_while_thinking_has_said_nothing():
    cut = {"choices": [{"message": {"content": "<think>It is A, or"}, "finish_reason": "length"}]}
    answer = OpenAI().parse(cut, ask(1))
    assert answer is not None
    assert (answer.text, answer.reasoning, answer.stop) == ("", "It is A, or", "length")


@pytest.mark.parametrize(
    ("dialect", "payload"),
    [
        (OpenAI(), {"choices": [], "usage": {"prompt_tokens": 700, "completion_tokens": 30}}),
        (OpenAI(), {"choices": [{"message": 5}], "usage": {"prompt_tokens": 700, "completion_tokens": 30}}),
        (Responses(), {"output": [], "usage": {"input_tokens": 700, "output_tokens": 30}}),
        (Anthropic(), {"content": [], "usage": {"input_tokens": 650, "cache_read_input_tokens": 50,
                                                 "output_tokens": 30}}),
        (Gemini(), {"usageMetadata": {"promptTokenCount": 700, "candidatesTokenCount": 10, "thoughtsTokenCount": 20}}),
    ],
)  # fmt: skip
def test_a_reply_without_an_answer_is_billed_by_what_the_server_counted(dialect, payload):
    tally = UsageCounter()
    assert isinstance(read_body(dialect, json.dumps(payload).encode(), ask(1), tally), Trouble)
    assert (tally.tokens_in, tally.tokens_out) == (700, 30)


def test_a_reply_without_answer_and_count_is_billed_by_what_was_sent():
    tally = UsageCounter()
    assert isinstance(read_body(OpenAI(), b'{"choices": []}', ask(1), tally), Trouble)
    assert (tally.tokens_in, tally.tokens_out) == (estimate_tokens(ask(1)), 0)
