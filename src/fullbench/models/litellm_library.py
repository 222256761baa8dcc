"""litellm itself: how it is loaded, what it finds in `.env`, what it takes, and what its errors mean."""

from __future__ import annotations

import os
import re
from typing import Any

from fullbench.errors import MissingExtra
from fullbench.models import dotenv
from fullbench.models.net import error_meanings
from fullbench.models.wire.reply_parsing import Trouble
from fullbench.text_safety import masked

_LISTS = {
    "azure": "azure", "azure_ai": "azure", "bedrock": "aws", "vertex_ai": "google", "gemini": "google",
    "together_ai": "together", "fireworks_ai": "fireworks", "xai": "x-ai",
    **{name: name for name in ("anthropic", "cohere", "deepseek", "groq", "mistral", "openai", "openrouter")},
}  # fmt: skip
"""litellm's names of providers, and those of the list of prices."""
_WHOLE = ("openrouter", "together_ai", "fireworks_ai", "groq")
"""Providers whose models have a maker's name in front, which is part of their own."""
_KEYS = {
    "azure": "AZURE_API_KEY, AZURE_API_BASE and AZURE_API_VERSION",
    "bedrock": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION_NAME",
}
_ADDRESSES = {"azure": "AZURE_API_BASE", "bedrock": "AWS_REGION_NAME or AWS_BEDROCK_RUNTIME_ENDPOINT"}
_SECRETS = ("_KEY", "_KEY_ID", "_TOKEN", "_SECRET")
_PLACES = ("_API_BASE", "_BASE_URL", "_ENDPOINT", "_ENDPOINT_URL")
_CLOUDS = ("AWS", "AZURE")
_NEVER = re.compile(
    r"(missing|unable to locate|no) credentials|must provide one of|LLM provider not provided|UnsupportedParamsError"
    r"|model identifier is invalid|on-demand throughput|access to the model",
    re.IGNORECASE,
)
"""What no prompt mends, whatever the status."""
_KEYLESS = re.compile(r"credentials|security token|AuthenticationError|PermissionDenied|api.?key", re.IGNORECASE)
_PREFIX = re.compile(
    r"^(?:litellm\.)?(?:\w+(?:Error|Exception)\b(?: \w+(?:Error|Exception))?(?: Invalid Authentication)?[: -]+)+"
)


def loaded() -> Any:
    """litellm, told not to fetch its price list from the network and not to advertise itself."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    for name in _from_file(dotenv.names()):
        os.environ.setdefault(name, dotenv.variable(name))
    try:
        import litellm
    except ImportError as error:
        raise MissingExtra("asking through litellm", "litellm") from error
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


def _from_file(names: list[str]) -> list[str]:
    """What litellm may find of `.env`: keys, and what a cloud needs besides.

    An address counts where the key for it stands in the same file and the environment has none: a file that came with
    somebody's data sends no key of the user's elsewhere.
    """
    own = {name.split("_")[0] for name in os.environ if _is_secret(name)}
    filed = {name.split("_")[0] for name in names if _is_secret(name)}
    trusted = filed - own
    return [
        name for name in names
        if (name.split("_")[0] in trusted if name.endswith(_PLACES) else _is_secret(name) or name.startswith(_CLOUDS))
    ]  # fmt: skip


def taken(litellm: Any, model: str) -> frozenset[str]:
    """The settings that the provider of a model takes, by litellm's own list."""
    try:
        return frozenset(litellm.get_supported_openai_params(model) or ())
    except Exception:  # noqa: BLE001 (a name that it does not know is told by the first call)
        return frozenset()


def provider_of(model: str) -> str:
    return model.split("/", maxsplit=1)[0].lower() if "/" in model else ""


def listed_as(model: str) -> tuple[str, str, str]:
    """A model's name, address and provider in the list of prices.

    >>> listed_as("bedrock/converse/us.anthropic.claude-opus-4-7-v1:0"), listed_as("openrouter/qwen/qwen3-vl")
    (('us.anthropic.claude-opus-4-7-v1:0', '', 'aws'), ('qwen/qwen3-vl', '', 'openrouter'))
    """
    provider = provider_of(model)
    bare = model.partition("/")[2] if provider in _WHOLE else model.rsplit("/", 1)[-1]
    return bare, "", _LISTS.get(provider, "-")


def trouble(error: Exception) -> Trouble:
    """What an error of litellm means: its kind, its status, and the wait that the server asked for."""
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else 500
    headers = getattr(error, "litellm_response_headers", None) or getattr(
        getattr(error, "response", None), "headers", None
    )
    known = {"kind": type(error).__name__, "code": getattr(error, "code", None), "message": _shown(error)}
    complaint = error_meanings.read(known)
    kind = "model" if _NEVER.search(complaint.words) else error_meanings.sort(status, complaint)
    unconnected = "connect" in complaint.words.lower() and not headers
    wait = error_meanings.retry_after(dict(headers)) if headers else None
    return Trouble(kind, f"{status}: {complaint.message}", wait, status, complaint, unconnected=unconnected)


def sentence(model: str, trouble: Trouble) -> str:
    """One sentence for the user: what, which provider, what to do."""
    provider = provider_of(model)
    words = "" if trouble.complaint is None else trouble.complaint.words
    who = f"{provider or 'the provider'} (by way of litellm)"
    keys = _KEYS.get(provider, "the variables that litellm reads for it")
    if trouble.unconnected or "must provide" in words.lower():
        place = _ADDRESSES.get(provider, "the variables that litellm reads for it")
        return f"{who} cannot be reached for {model!r} ({trouble.message}); check its address, {place}"
    if (trouble.status in {401, 403} and "access to the model" not in words) or _KEYLESS.search(words):
        return f"{who} has no key for {model!r} that it takes ({trouble.message}); check {keys}"
    if trouble.status == 402 or re.search(r"quota|billing|balance|credit", words, re.IGNORECASE):
        return f"{who} says that the account is used up ({trouble.message}); top it up or use another key"
    if "temperature" in words.lower():
        hint = "say temperature=default to leave it to the server"
        return f"{who} will not serve {model!r} as it is asked ({trouble.message}); {hint}"
    return f"{who} will not serve {model!r} as it is asked ({trouble.message}); check its name and its settings"


def _is_secret(name: str) -> bool:
    return name.endswith(_SECRETS)


def _shown(error: Exception) -> str:
    """What an error says, in one line without keys: litellm reads them from variables, and a server may repeat them."""
    keys = [value for name, value in os.environ.items() if _is_secret(name)]
    line = _PREFIX.sub("", masked(" ".join(str(error).split()), keys))
    told = re.match(r'\{"[Mm]essage": ?"(.*?)"', line)
    # What follows is litellm's advice to its own users.
    return (told[1] if told else re.split(r" To drop |\. Pass model as|\. Set `| Learn more", line)[0])[:300]
