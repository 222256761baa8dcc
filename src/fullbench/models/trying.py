"""Whether a model can be used: one tiny question with a picture, one for JSON, and what its server says of itself."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from fullbench.errors import ModelError
from fullbench.models.chat import ChatModel
from fullbench.models.dialects import OpenAI
from fullbench.models.prices import is_local
from fullbench.nouns.item import Turn
from fullbench.nouns.model import Model, Prompt, Reply, takes_schemas
from fullbench.nouns.picture import Picture

LEFT, RIGHT = "blue", "yellow"
QUESTION = (
    "The left half of this picture has one colour and the right half another. "
    "Name the two colours, the left one first, and nothing else."
)
SCHEMA = json.dumps({
    "type": "object", "properties": {"legs": {"type": "integer"}}, "required": ["legs"], "additionalProperties": False,
})  # fmt: skip
_WAIT = 20.0


@dataclass(frozen=True)
class Tried:
    """What came of trying a model; None is: nobody knows, or it does not apply."""

    name: str
    error: str = ""
    sees: bool | None = None
    json: bool | None = None
    logprobs: bool | None = None
    served: str = ""
    listed: tuple[str, ...] | None = None
    limits: Mapping[str, str] = field(default_factory=dict)
    price: tuple[float, float] | None = None
    seconds: float = 0.0
    said: str = ""

    @property
    def works(self) -> bool:
        return not self.error


def try_model(model: Model) -> Tried:
    """Ask a model what a picture shows and for a JSON object; ask its server for its models, limits and logprobs."""
    started = time.monotonic()
    seen = _ask(model, Prompt((Turn("user", (_picture(), QUESTION)),)))
    seconds = time.monotonic() - started
    listed = _listed(model)
    if isinstance(seen, str):
        plain = _ask(model, Prompt((Turn("user", ("Reply with the one word: here",)),)))
        if isinstance(plain, str):
            return Tried(model.name, plain, listed=listed, price=model.price)
        limits, logprobs = _headers(model)
        return Tried(
            model.name, sees=False, json=_json(model), logprobs=logprobs, served=plain.served, listed=listed,
            limits=limits, price=model.price, seconds=seconds, said=seen,
        )  # fmt: skip
    limits, logprobs = _headers(model)
    return Tried(
        model.name, sees=saw(seen.text), json=_json(model), logprobs=logprobs, served=seen.served, listed=listed,
        limits=limits, price=model.price, seconds=seconds, said=seen.text,
    )  # fmt: skip


def saw(text: str) -> bool:
    """Whether a reply names both colours, the left one first.

    >>> saw("Blue, yellow"), saw("yellow and blue"), saw("I see no picture")
    (True, False, False)
    """
    words = text.lower()
    return -1 < words.find(LEFT) < words.find(RIGHT)


def _picture() -> Picture:
    from PIL import Image

    image = Image.new("RGB", (128, 64), LEFT)
    image.paste(RIGHT, (64, 0, 128, 64))
    out = BytesIO()
    image.save(out, "PNG")
    return Picture.of(out.getvalue())


def _ask(model: Model, prompt: Prompt) -> Reply | str:
    """The reply to a prompt, or why there is none."""
    try:
        reply = next(iter(model.answer([prompt])))
    except ModelError as error:
        return str(error)
    return reply if reply.error is None else reply.error


def _json(model: Model) -> bool | None:
    if not takes_schemas(model):
        return None
    asked = "How many legs has a spider? Reply with a JSON object with the key legs."
    reply = _ask(model, Prompt((Turn("user", (asked,)),), json=True, schema=SCHEMA))
    if isinstance(reply, str):
        return False
    try:
        value = json.loads(reply.text)
    except ValueError:
        return False
    return isinstance(value, dict) and isinstance(value.get("legs"), int)


def served_at(url: str, key: str | None = None) -> tuple[str, ...] | None:
    """The models that a server lists at `URL/models`, as OpenAI's dialect has it; None where it lists none."""
    got = _http(f"{url.rstrip('/')}/models", OpenAI().headers(key))
    if got is None or not isinstance(got[0], dict) or not isinstance(got[0].get("data"), list):
        return None
    return tuple(str(entry["id"]) for entry in got[0]["data"] if isinstance(entry, dict) and entry.get("id"))


def _listed(model: Model) -> tuple[str, ...] | None:
    if not isinstance(model, ChatModel) or not isinstance(model.dialect, OpenAI):
        return None
    return served_at(model.url, _key(model))


def _headers(model: Model) -> tuple[dict[str, str], bool | None]:
    """What a server says of its limits in the headers of a reply, and whether it gives the chances of tokens."""
    if not isinstance(model, ChatModel) or not isinstance(model.dialect, OpenAI):
        return {}, None
    body = {"model": model.model, "max_tokens": 1, "logprobs": True, "top_logprobs": 2,
            "messages": [{"role": "user", "content": "Say A or B."}]}  # fmt: skip
    got = _http(model.dialect.url(model.url, model.model), model.dialect.headers(_key(model)), body)
    if got is None:
        return {}, False
    payload, headers = got
    limits = {name.removeprefix("x-ratelimit-limit-"): value for name, value in headers.items()
              if name.startswith("x-ratelimit-limit-")}  # fmt: skip
    choices = payload.get("choices") if isinstance(payload, dict) else None
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    given = first.get("logprobs")
    return limits, isinstance(given, dict) and bool(given.get("content"))


def _key(model: ChatModel) -> str | None:
    return model.key.read(needed=not is_local(model.url), server=f"the server at {model.url}")


def _http(url: str, headers: Mapping[str, str], body: Any = None) -> tuple[Any, dict[str, str]] | None:
    """A JSON reply and its headers in small letters; None where there is none. Only addresses that the user named."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})  # noqa: S310 (ChatModel takes http alone)
    try:
        with urllib.request.urlopen(request, timeout=_WAIT) as reply:  # noqa: S310
            read = json.loads(reply.read(2**22))
            return read, {name.lower(): value for name, value in reply.headers.items()}
    except (OSError, ValueError, urllib.error.URLError):
        return None
