"""Requests of judges and contestants keep each provider's rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from fullbench import Case, Item, Response, ballot
from fullbench.core.item import Turn
from fullbench.core.model import Prompt, Reply
from fullbench.core.picture import Picture
from fullbench.judges.prompted_judge import PromptedJudge
from fullbench.models import model_specs
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Anthropic, Dialect, Gemini, OpenAI, Responses
from fullbench.models.model_settings import Sampling
from tests.models.conftest import noise

DATA = re.compile(r"data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+=*")


@dataclass(frozen=True)
class Asked:
    """A model that is never asked: what a judge would send it is all that is wanted."""

    name: str = "m"
    takes_schemas: bool = True
    price: tuple[float, float] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {}

    def answer(self, prompts: Iterator[Prompt]) -> Iterator[Reply]:
        raise AssertionError("nobody asks")


def prompts() -> Iterator[Prompt]:
    """All kinds of prompts: of every mode, with pictures in items and answers, with empty answers and turns."""
    picture = Picture.from_bytes(noise(64, 48))
    item = Item(
        "i",
        (Turn("user", (picture, "What is it?")), Turn("assistant", ("",)), Turn("user", ("图里有什么？",))),
        "A cat.",
    )
    answers = (Response.say("i", "a", "\n"), Response("i", "b", ("See: ", picture)))
    for settings in (
        {"mode": "direct"}, {"mode": "analyze"}, {"mode": "steps"}, {"form": "json"}, {"constrained": True},
        {"picture_mode": "none"}, {"reference": True}, {"language": "zh"},
    ):  # fmt: skip
        judge = PromptedJudge(Asked(), **({"picture_mode": "image"} | settings))
        for spec in ("score:1-5", "choice+tie"):
            shown = answers[:1] if spec.startswith("score") or settings.get("picture_mode") == "none" else answers
            if len(shown) == 1 and not spec.startswith("score"):
                continue
            yield from judge.prompts(Case(item, shown, ballot(spec)))
    yield Prompt(item.turns)
    yield Prompt((Turn("system", (" \n",)), Turn("user", ("", picture, "\n", picture, "  "))))
    yield Prompt((Turn("user", ("",)),), seed=3)


def roles(turns: list[dict[str, Any]], known: set[str]) -> None:
    assert turns
    assert {turn["role"] for turn in turns} <= known
    assert turns[-1]["role"] == "user", "the model has the next word"


def check_openai(body: dict[str, Any]) -> None:
    """Chat completions: content is text or a list of parts; the limit is `max_completion_tokens`; a schema is named."""
    roles(body["messages"], {"system", "developer", "user", "assistant"})
    assert "max_tokens" not in body, "deprecated, and refused by reasoning models"
    for message in body["messages"]:
        content = message["content"]
        if isinstance(content, list):
            assert content, "an array of parts is not empty"
            for part in content:
                assert part["type"] in {"text", "image_url"}
                if part["type"] == "image_url":
                    assert message["role"] == "user", "pictures are the user's"
                    assert DATA.fullmatch(part["image_url"]["url"])
    if (form := body.get("response_format")) is not None and form["type"] == "json_schema":
        assert re.fullmatch(r"[\w-]{1,64}", form["json_schema"]["name"])
        assert form["json_schema"]["schema"]["type"] == "object"
        assert form["json_schema"]["schema"]["additionalProperties"] is False, "strict wants it said"
    if form is not None and form["type"] == "json_object":
        assert "json" in json.dumps(body["messages"]).lower(), "the word must stand in the prompt"


def check_responses(body: dict[str, Any]) -> None:
    """Responses: `input` of messages with typed parts, `max_output_tokens`, the form under `text`, no seed."""
    roles(body["input"], {"system", "developer", "user", "assistant"})
    assert not {"messages", "max_tokens", "max_completion_tokens", "seed", "response_format", "reasoning_effort"} & set(
        body
    )
    assert body["store"] is False
    for message in body["input"]:
        for part in message["content"]:
            said = "output_text" if message["role"] == "assistant" else "input_text"
            assert part["type"] in {said, "input_image"}
            if part["type"] == "input_image":
                assert DATA.fullmatch(part["image_url"])
    if (form := body.get("text")) is not None:
        assert form["format"]["type"] in {"json_schema", "json_object"}


def check_anthropic(body: dict[str, Any]) -> None:
    """Messages: a limit is wanted, system stands apart, the first turn is the user's, no text block is blank."""
    assert body["max_tokens"] >= 1
    roles(body["messages"], {"user", "assistant"})
    assert body["messages"][0]["role"] == "user"
    assert body.get("system", "x").strip()
    assert not {"seed", "response_format", "reasoning_effort"} & set(body)
    for message in body["messages"]:
        assert message["content"], "a message has content"
        for block in message["content"]:
            if block["type"] == "text":
                assert block["text"].strip(), "text content blocks must contain non-whitespace text"
            else:
                assert block["source"]["type"] == "base64"
                assert block["source"]["media_type"] in {"image/png", "image/jpeg", "image/webp", "image/gif"}
    thinking = body.get("thinking")
    if thinking is not None:
        assert "temperature" not in body, "thinking takes no temperature"
        if thinking["type"] == "enabled":
            assert 1024 <= thinking["budget_tokens"] < body["max_tokens"]
        else:
            assert thinking == {"type": "adaptive", "display": "summarized"}, "else the newest send empty thoughts"
            assert body["output_config"]["effort"]
            assert body["max_tokens"] > 1024, "what is thought counts within the limit"


def check_gemini(body: dict[str, Any]) -> None:
    """generateContent: roles `user` and `model`, every part has one kind of data, no text is empty, camel case."""
    roles(body["contents"], {"user", "model"})
    assert set(body) <= {"contents", "systemInstruction", "generationConfig"}
    known = {"temperature", "topP", "maxOutputTokens", "seed", "responseMimeType", "thinkingConfig"}
    assert set(body.get("generationConfig", {})) <= known
    for content in body["contents"]:
        assert content["parts"]
        for part in content["parts"]:
            assert len(part) == 1
            if "text" in part:
                assert part["text"].strip()
            else:
                assert part["inlineData"]["mimeType"] in {"image/png", "image/jpeg", "image/webp"}


CHECKS = [
    (OpenAI("max_completion_tokens"), "gpt-5", check_openai), (Responses(), "gpt-5", check_responses),
    (Anthropic(), "claude-sonnet-4-0", check_anthropic), (Anthropic(), "claude-opus-4-6", check_anthropic),
    (Anthropic(), "claude-opus-4-8", check_anthropic),
    (Gemini(), "gemini-2.5-flash", check_gemini), (Gemini(), "gemini-3-pro", check_gemini),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "model", "check"),
    CHECKS,
    ids=lambda value: getattr(value, "__name__", None) or getattr(value, "name", str(value)),
)
@pytest.mark.parametrize("effort", [None, "low", "high"])
def test_every_request_keeps_the_rules_of_its_api(dialect, model, check, effort):
    sampling = Sampling(max_tokens=500, effort=effort, system="Be fair." if effort is None else None)
    bodies = [json.loads(dialect.body(model, prompt, sampling)) for prompt in prompts()]
    assert len(bodies) > 15
    for body in bodies:
        check(body)


def test_the_words_of_a_prompt_arrive_whole_where_blank_blocks_are_left_out():
    prompt = Prompt((Turn("user", ("[1] ", Picture.from_bytes(noise(8, 8)), "\n", "Look.", "\n", "好")),))
    (message,) = json.loads(Anthropic().body("m", prompt, Sampling()))["messages"]
    assert [block.get("text") for block in message["content"]] == ["[1] ", None, "\nLook.\n好"]


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("https://api.mistral.ai/v1", "random_seed"),
        ("https://api.deepseek.com", "seed"),
        ("http://localhost:1/v1", "seed"),
    ],
)
def test_a_seed_has_the_name_that_its_server_knows(address, word):
    model = model_specs.build_openai_model(f"pixtral-large@{address}", {"key_env": "ANY"})
    assert isinstance(model, ChatModel)
    resampled = Prompt((Turn("user", ("Hi",)),), seed=3)
    body = json.loads(model.dialect.body(model.model, resampled, model.sampling))
    assert {name: body[name] for name in ("seed", "random_seed") if name in body} == {word: 3}


EFFORTS = [
    (OpenAI(), "gpt-5", {"reasoning_effort": "high"}),
    (Responses(), "gpt-5", {"reasoning": {"effort": "high", "summary": "auto"}}),
    *(
        (Anthropic(), model, {"thinking": {"type": "adaptive", "display": "summarized"},
                              "output_config": {"effort": "high"}, "max_tokens": 20480})
        for model in ("claude-opus-4-6", "claude-opus-4-8", "claude-fable-5", "claude-mythos-preview")
    ),
    (Anthropic(), "claude-3-7-sonnet", {"thinking": {"type": "enabled", "budget_tokens": 16384}, "max_tokens": 20480}),
    (Gemini(), "gemini-3-pro",
     {"generationConfig": {"thinkingConfig": {"thinkingLevel": "high", "includeThoughts": True}}}),
    (Gemini(), "gemini-2.5-pro",
     {"generationConfig": {"thinkingConfig": {"thinkingBudget": 24576, "includeThoughts": True}}}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "model", "said"), EFFORTS, ids=lambda value: str(value) if isinstance(value, str) else ""
)
def test_an_effort_is_said_in_each_providers_own_way(dialect, model, said):
    body = json.loads(dialect.body(model, Prompt((Turn("user", ("Hi",)),)), Sampling(effort="high")))
    assert said.items() <= body.items()


@pytest.mark.parametrize("model", ["claude-3-7-sonnet", "claude-opus-4-6", "claude-opus-5"])
def test_no_effort_is_no_thinking(model):
    body = json.loads(Anthropic().body(model, Prompt((Turn("user", ("Hi",)),)), Sampling(effort="none")))
    assert not {"thinking", "output_config"} & set(body)
    assert body["max_tokens"] == 4096


@pytest.mark.parametrize(
    ("model", "temperature"),
    [("claude-sonnet-4-6", 0.0), ("claude-opus-4-7", None), ("claude-sonnet-5", None), ("claude-mythos-preview", None)],
)
def test_a_judge_sends_no_temperature_to_models_that_refuse_one(model, temperature):
    assert Sampling().as_judge(model).temperature == temperature


REPLIES: list[tuple[Dialect, dict[str, Any], tuple[str, str, str, int | None, int | None]]] = [
    (Responses(), {
        "model": "gpt-5-2025", "status": "completed", "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "It is red."}]},
            {"type": "message", "content": [{"type": "output_text", "text": "[[A]]"}]},
        ], "usage": {"input_tokens": 9, "output_tokens": 40, "output_tokens_details": {"reasoning_tokens": 30}},
    }, ("[[A]]", "stop", "It is red.", 9, 40)),
    (Responses(), {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]},
     ("No.", "refused", "", None, None)),
    (Responses(), {"output": [], "incomplete_details": {"reason": "max_output_tokens"}},
     ("", "length", "", None, None)),
    (Responses(), {"output": [], "incomplete_details": {"reason": "content_filter"}}, ("", "filter", "", None, None)),
    (Responses(), {"output": [{"type": "function_call", "name": "f"}]}, ("", "tool", "", None, None)),
    (OpenAI(), {"choices": [{"message": {"content": None, "tool_calls": [{"id": "1"}]}, "finish_reason": "stop"}]},
     ("", "tool", "", None, None)),
    (OpenAI(), {"choices": [{"message": {"content": "", "reasoning": "Hm."}, "finish_reason": "length"}]},
     ("", "length", "Hm.", None, None)),
    (Anthropic(), {"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "redacted_thinking", "data": "x"}],
                   "stop_reason": "max_tokens", "usage": {"input_tokens": 5, "cache_read_input_tokens": 7,
                                                          "output_tokens": 3}}, ("", "length", "Hm.", 12, 3)),
    (Gemini(), {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 4, "thoughtsTokenCount": 6}}, ("", "tool", "", 4, 6)),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "payload", "said"), REPLIES)
def test_replies_are_read_as_each_api_means_them(dialect, payload, said):
    reply = dialect.parse(payload, Prompt(()))
    assert reply is not None
    assert (reply.text, reply.stop, reply.reasoning, *dialect.token_usage(payload)) == said


@pytest.mark.parametrize(
    ("dialect", "payload", "cached"),
    [
        (OpenAI(), {"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}}, (4, None)),
        (
            OpenAI(),
            {"usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 3}},
            (6, None),
        ),
        (OpenAI(), {"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}}, (0, None)),
        (OpenAI(), {"usage": {"prompt_tokens": 9}}, (None, None)),
        (
            OpenAI(),
            {"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 5}}},
            (2, 5),
        ),
        (Responses(), {"usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}}}, (4, None)),
        (Gemini(), {"usageMetadata": {"promptTokenCount": 9, "cachedContentTokenCount": 5}}, (5, None)),
    ],
)
def test_tokens_from_a_cache_are_counted_by_each_apis_own_words(dialect, payload, cached):
    assert dialect.cache_usage(payload) == cached
