"""Models from one line."""

from __future__ import annotations

import json

import pytest

from fullbench.core.model import Model
from fullbench.errors import InputError, ModelError
from fullbench.models import model_specs
from fullbench.models.chat_model import ChatModel
from fullbench.models.model_settings import Limits, Sampling
from tests.models.conftest import ask

HOMES = {
    "openai": ("https://api.openai.com/v1", "openai", "OPENAI_API_KEY", ""),
    "anthropic": ("https://api.anthropic.com/v1", "anthropic", "ANTHROPIC_API_KEY", ""),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta", "gemini", "GEMINI_API_KEY or GOOGLE_API_KEY", ""),
    "openrouter": ("https://openrouter.ai/api/v1", "openai", "OPENROUTER_API_KEY", "@openrouter.ai/api/v1"),
    "ollama": ("http://localhost:11434/v1", "openai", None, "@localhost:11434/v1"),
    "vllm": ("http://localhost:8000/v1", "openai", None, "@localhost:8000/v1"),
}


@pytest.mark.parametrize("name", HOMES)
def test_where_each_provider_is(name, monkeypatch):
    url, dialect, variable, place = HOMES[name]
    model = getattr(model_specs, f"build_{name}_model")("some/model-1", {})
    assert isinstance(model, ChatModel)
    assert isinstance(model, Model)
    assert (model.name, model.url, model.dialect.name) == (f"some/model-1{place}", url, dialect)
    if variable is not None:
        for each in variable.split(" or "):
            monkeypatch.delenv(each, raising=False)
        with pytest.raises(ModelError, match=rf"set {variable} \(or write it into a file .env here\), or"):
            model.answer([])


def test_all_options(server):
    options = {
        "temperature": "0", "top_p": "0.5", "max_tokens": "512", "seed": "7", "system": "Be brief.",
        "extra": '{"top_k": 1}', "pixels": "512", "rpm": "6000", "tpm": "9e6", "concurrency": "64", "timeout": "60",
        "attempts": "2", "patience": "30", "backoff": "0.1", "price_in": "1", "price_out": "2", "label": "lab",
        "key_env": "SOME_KEY",
    }  # fmt: skip
    model = model_specs.build_vllm_model(f"qwen@{server.url}", options)
    assert model.name.startswith("qwen@lab+t0+p0.5+max512+seed7+sys-")
    assert model.price == (1.0, 2.0)
    assert isinstance(model, ChatModel)
    assert model.limits == Limits(6000, 9e6, 64, timeout=60, attempts=2, patience=30, backoff=0.1)
    replies = list(model.answer(map(ask, range(5))))
    assert [reply.usage.dollars for reply in replies] == [pytest.approx((100 + 2 * 20) / 1e6)] * 5
    body = server.books()["last"]["body"]
    assert {name: body[name] for name in ("model", "temperature", "max_tokens", "seed", "top_k")} == {
        "model": "qwen", "temperature": 0, "max_tokens": 512, "seed": 7, "top_k": 1,
    }  # fmt: skip


def test_openai_itself_and_others_that_speak_alike_name_the_length_differently(server):
    own = model_specs.build_openai_model("gpt-4o", {"max_tokens": "5"})
    other = model_specs.build_openai_model(f"m@{server.url}", {"max_tokens": "5"})
    assert isinstance(own, ChatModel)
    assert isinstance(other, ChatModel)
    assert "max_completion_tokens" in json.loads(own.dialect.body("m", ask(1), own.sampling))
    assert "max_tokens" in json.loads(other.dialect.body("m", ask(1), other.sampling))


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("gpt-4o@https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("gpt-5-mini@https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("o3@http://localhost:4000/v1", "max_completion_tokens"),
        ("openai/gpt-5.2@http://localhost:4000/v1", "max_completion_tokens"),
        ("gpt-4o@https://mine.openai.azure.com/openai/v1", "max_tokens"),
        ("gpt-oss-120b@http://localhost:4000/v1", "max_tokens"),
        ("olmo-2@http://localhost:4000/v1", "max_tokens"),
    ],
)
def test_models_that_know_the_newer_name_of_the_length_alone_are_told_by_it_wherever_they_are_served(name, limit):
    model = model_specs.build_openai_model(name, {"max_tokens": "5"})
    assert isinstance(model, ChatModel)
    body = json.loads(model.dialect.body("m", ask(1), model.sampling))
    assert {key for key in body if key.startswith("max_")} == {limit}


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("gemini-2.5-pro", 0.0), ("gemini-3-pro-preview", None), ("google/gemini-3.5-flash", None),
        ("gemini-10-pro", None),
        ("bedrock/us.anthropic.claude-opus-4-7-v1:0", None), ("bedrock/anthropic.claude-sonnet-4-5-v1:0", 0.0),
        ("azure/gpt-5.2", None), ("azure/gpt-4o", 0.0), ("qwen/qwen2.5-vl-72b-instruct", 0.0),
    ],
)  # fmt: skip
def test_a_judge_is_sent_no_temperature_where_its_provider_takes_none_or_asks_for_none(model, sent):
    assert Sampling().as_judge(model).temperature == sent
    assert Sampling(temperature=0.0).as_judge(model).temperature == 0.0, "said is said"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"temprature": "0"}, "no option 'temprature'; did you mean 'temperature'. known: "),
        ({"api_key": "sk-secret"}, "no option 'api_key'; known: .*key_env, key_file"),
        ({"temperature": "hot"}, "'temperature' of 'openai:x' cannot be 'hot'"),
        ({"temperature": "nan"}, "cannot be 'nan'"),
        ({"max_tokens": "1.5"}, "'max_tokens' of 'openai:x' cannot be '1.5'"),
        ({"extra": "{"}, "'extra' of 'openai:x' cannot be"),
        ({"extra": "[1]"}, "must be a JSON object"),
        ({"price_in": "1"}, "give both price_in and price_out"),
        ({"rpm": "0"}, "'rpm' must be above zero"),
    ],
)
def test_options_that_will_not_do(options, said):
    with pytest.raises(InputError, match=said) as caught:
        model_specs.build_openai_model("x", options)
    assert "sk-secret" not in str(caught.value)


def test_no_name():
    with pytest.raises(InputError, match="has no model name"):
        model_specs.build_vllm_model("@http://localhost:1/v1", {})


def test_offline_models():
    prompts = [ask(1, "hello"), ask(2, "world")]
    echo = model_specs.build_offline_model("echo", {})
    assert [reply.text for reply in echo.answer(prompts)] == ["hello #1", "world #2"]
    assert [reply.text for reply in model_specs.build_offline_model("first", {}).answer(prompts)] == ["[[A]]", "[[A]]"]
    canned = model_specs.build_offline_model("canned", {"text": "[[3]]"})
    (reply, _) = canned.answer(prompts)
    assert (reply.text, reply.stop, reply.usage.calls, reply.usage.dollars) == ("[[3]]", "stop", 1, 0.0)
    assert canned.name != model_specs.build_offline_model("canned", {"text": "[[4]]"}).name
    assert isinstance(echo, Model)
    with pytest.raises(InputError, match="no offline model 'x'; known: canned, echo, first"):
        model_specs.build_offline_model("x", {})
    with pytest.raises(InputError, match="no option 'text'; known: none"):
        model_specs.build_offline_model("echo", {"text": "a"})


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o@localhost:8000/v1", "gpt-4o@localhost", "gpt-4o@10.0.0.1", "gpt-4o@[::1]:8000", "m@gpu-box:8000",
        "m@api.example.com/v1", "m@example.com", "m@htp://localhost/v1", "http://localhost:8000/v1", "localhost:8000",
        "127.0.0.1:8000/v1", "ws://localhost:1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("provider", ["openai", "responses", "anthropic", "gemini", "openrouter"])
def test_what_looks_like_an_address_never_goes_to_a_public_service_as_a_name(provider, name):
    with pytest.raises(InputError, match="http://"):
        getattr(model_specs, f"build_{provider}_model")(name, {})


def test_a_version_after_the_name_is_no_address(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert model_specs.build_anthropic_model("claude-3-opus@20240229", {}).name == "claude-3-opus@20240229"


def test_a_providers_key_does_not_go_to_another_host(server, monkeypatch):
    """The key of OpenAI is OpenAI's: a server of one's own is sent none, or the one that is named for it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("MINE", "sk-of-mine")
    list(model_specs.build_openai_model(f"m@{server.url}", {}).answer([ask(1)]))
    assert "sk-of-openai" not in server.last()[0]
    list(model_specs.build_openai_model(f"m@{server.url}", {"key_env": "MINE"}).answer([ask(1)]))
    assert "Bearer sk-of-mine" in server.last()[0]
    with pytest.raises(ModelError, match="needs a key, but none was found; name the variable that holds it"):
        model_specs.build_openai_model("m@https://elsewhere.example/v1", {}).answer([])


def test_two_apis_of_one_provider_are_two_names():
    assert model_specs.build_openai_model("gpt-5", {}).name != model_specs.build_responses_model("gpt-5", {}).name
