"""Import of litellm, the `.env` variables it may use, the parameters it supports, and the meaning of its errors."""

from __future__ import annotations

import os
import re
from typing import Any

from fullbench.errors import MissingExtra
from fullbench.models import dotenv
from fullbench.models.net import error_meanings
from fullbench.models.wire.reply_parsing import Trouble
from fullbench.text_safety import mask_secrets

_LISTS = {
    "azure": "azure", "azure_ai": "azure", "bedrock": "aws", "vertex_ai": "google", "gemini": "google",
    "together_ai": "together", "fireworks_ai": "fireworks", "xai": "x-ai",
    **{name: name for name in ("anthropic", "cohere", "deepseek", "groq", "mistral", "openai", "openrouter")},
}  # fmt: skip
"""Provider names of litellm, mapped to those of the price list."""
_WHOLE = ("openrouter", "together_ai", "fireworks_ai", "groq")
"""Providers whose model names include the maker's name."""
_KEYS = {
    "azure": "AZURE_API_KEY, AZURE_API_BASE and AZURE_API_VERSION",
    "bedrock": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION_NAME",
}
_ADDRESSES = {"azure": "AZURE_API_BASE", "bedrock": "AWS_REGION_NAME or AWS_BEDROCK_RUNTIME_ENDPOINT"}
_SECRETS = ("_KEY", "_KEY_ID", "_TOKEN", "_SECRET")
_PLACES = ("_API_BASE", "_BASE_URL", "_ENDPOINT", "_ENDPOINT_URL")
_CLOUDS = ("AWS", "AZURE")
_PERMANENT_ERRORS = re.compile(
    r"(missing|unable to locate|no) credentials|must provide one of|LLM provider not provided|UnsupportedParamsError"
    r"|model identifier is invalid|on-demand throughput|access to the model",
    re.IGNORECASE,
)
"""Errors that no retry or other prompt fixes, whatever the status."""
_KEYLESS = re.compile(r"credentials|security token|AuthenticationError|PermissionDenied|api.?key", re.IGNORECASE)
_PREFIX = re.compile(
    r"^(?:litellm\.)?(?:\w+(?:Error|Exception)\b(?: \w+(?:Error|Exception))?(?: Invalid Authentication)?[: -]+)+"
)


def import_litellm() -> Any:
    """Import litellm without its download of a price list, its telemetry and its advertising."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    for name in _usable_file_variables(dotenv.variable_names()):
        os.environ.setdefault(name, dotenv.read_variable(name))
    try:
        import litellm
    except ImportError as error:
        raise MissingExtra("asking through litellm", "litellm") from error
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


def _usable_file_variables(names: list[str]) -> list[str]:
    """Return the variables of `.env` that litellm may use: keys, and the other settings of a cloud.

    An address counts only if its key is in the same file and the environment has none. Otherwise a `.env` file that
    came with somebody's data could send the user's key to another server.
    """
    environment_prefixes = {name.split("_")[0] for name in os.environ if _is_secret(name)}
    file_prefixes = {name.split("_")[0] for name in names if _is_secret(name)}
    trusted_prefixes = file_prefixes - environment_prefixes
    return [
        name
        for name in names
        if (
            name.split("_")[0] in trusted_prefixes
            if name.endswith(_PLACES)
            else _is_secret(name) or name.startswith(_CLOUDS)
        )
    ]


def supported_params(litellm: Any, model: str) -> frozenset[str]:
    """Return the settings that the model's provider accepts, according to litellm."""
    try:
        return frozenset(litellm.get_supported_openai_params(model) or ())
    except Exception:  # noqa: BLE001 (the first call reports an unknown name)
        return frozenset()


def provider_of(model: str) -> str:
    return model.split("/", maxsplit=1)[0].lower() if "/" in model else ""


def price_list_entry(model: str) -> tuple[str, str, str]:
    """Return a model's name, address and provider in the price list.

    >>> (price_list_entry("bedrock/converse/us.anthropic.claude-opus-4-7-v1:0"),
    ...  price_list_entry("openrouter/qwen/qwen3-vl"))
    (('us.anthropic.claude-opus-4-7-v1:0', '', 'aws'), ('qwen/qwen3-vl', '', 'openrouter'))
    """
    provider = provider_of(model)
    bare = model.partition("/")[2] if provider in _WHOLE else model.rsplit("/", 1)[-1]
    return bare, "", _LISTS.get(provider, "-")


def trouble_from_error(error: Exception) -> Trouble:
    """Translate a litellm error into its kind, its status and the wait that the server requested."""
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else 500
    headers = getattr(error, "litellm_response_headers", None) or getattr(
        getattr(error, "response", None), "headers", None
    )
    error_fields = {"kind": type(error).__name__, "code": getattr(error, "code", None), "message": _error_text(error)}
    complaint = error_meanings.read_complaint(error_fields)
    kind = (
        "model" if _PERMANENT_ERRORS.search(complaint.words) else error_meanings.classify_complaint(status, complaint)
    )
    is_unconnected = "connect" in complaint.words.lower() and not headers
    wait = error_meanings.retry_after(dict(headers)) if headers else None
    return Trouble(kind, f"{status}: {complaint.message}", wait, status, complaint, is_unconnected=is_unconnected)


def describe_trouble(model: str, trouble: Trouble) -> str:
    """Return one sentence for the user: what is wrong, which provider, what to do."""
    provider = provider_of(model)
    words = "" if trouble.complaint is None else trouble.complaint.words
    who = f"{provider or 'the provider'} (by way of litellm)"
    keys = _KEYS.get(provider, "the variables that litellm reads for it")
    if trouble.is_unconnected or "must provide" in words.lower():
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


def _error_text(error: Exception) -> str:
    """Return an error's message on one line with keys masked: a server may repeat a key that litellm read itself."""
    keys = [value for name, value in os.environ.items() if _is_secret(name)]
    line = _PREFIX.sub("", mask_secrets(" ".join(str(error).split()), keys))
    message_match = re.match(r'\{"[Mm]essage": ?"(.*?)"', line)
    # The rest is advice to users of litellm itself.
    return (
        message_match[1] if message_match else re.split(r" To drop |\. Pass model as|\. Set `| Learn more", line)[0]
    )[:300]
