"""Whether a model can be used: one tiny question with a picture, one for JSON, and what its server says of itself."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from io import BytesIO
from typing import Any

from fullbench.core.item import Turn
from fullbench.core.model import Model, Prompt, Reply, takes_schemas
from fullbench.core.picture import Picture
from fullbench.errors import ModelError
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import OpenAI
from fullbench.models.model_prices import is_local
from fullbench.models.net.error_meanings import plain
from fullbench.models.net.http_client import speaks_tls, why_unconnected
from fullbench.models.net.proxies import proxy_for

LEFT, RIGHT = "blue", "yellow"
QUESTION = (
    "The left half of this picture has one colour and the right half another. "
    "Name the two colours, the left one first, and nothing else."
)
SCHEMA = json.dumps({
    "type": "object", "properties": {"legs": {"type": "integer"}}, "required": ["legs"], "additionalProperties": False,
})  # fmt: skip
_WAIT = 20.0
LONGEST = 45.0
"""Seconds for one attempt: somebody sits there and waits. A model that is still being loaded has a second one."""


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
    if isinstance(model, ChatModel):
        own = model.limits
        soon = replace(
            own, timeout=min(own.timeout, LONGEST), attempts=min(own.attempts, 2), patience=min(own.patience, LONGEST)
        )
        model = replace(model, limits=soon)
    try:
        model.answer(())  # asks nothing, looks for the key, and loads what the model needs
    except ModelError as error:
        return Tried(model.name, str(error), price=model.price)
    started = time.monotonic()
    seen = _ask(model, Prompt((Turn("user", (_picture(), QUESTION)),)))
    seconds = time.monotonic() - started
    listed = _listed(model)
    if isinstance(seen, str):
        if "no whole answer within" in seen:
            return Tried(model.name, seen, listed=listed, price=model.price)
        words = _ask(model, Prompt((Turn("user", ("Reply with the one word: here",)),)))
        if isinstance(words, str):
            return Tried(model.name, words, listed=listed, price=model.price)
        limits, logprobs = _headers(model)
        return Tried(
            model.name, sees=False, json=_json(model), logprobs=logprobs, served=words.served, listed=listed,
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
    """The reply to a prompt, or why there is none; a model that no prompt can use says so after its last reply."""
    try:
        (reply,) = model.answer([prompt])
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


def served_at(url: str, key: str | None = None, wait: float = _WAIT) -> tuple[str, ...] | str:
    """Return the models that a server lists at `URL/models`, as OpenAI's dialect has it; else why none can be seen.

    Args:
        url: The address of the server.
        key: Its API key, or None if it needs none.
        wait: The most seconds to wait for the list.
    """
    got = _http(f"{url.rstrip('/')}/models", OpenAI().headers(key), wait=wait)
    if isinstance(got, str):
        return got
    if not isinstance(got[0], dict) or not isinstance(got[0].get("data"), list):
        return "its JSON is no list of models"
    return tuple(str(entry["id"]) for entry in got[0]["data"] if isinstance(entry, dict) and entry.get("id"))


def _listed(model: Model) -> tuple[str, ...] | None:
    if not isinstance(model, ChatModel) or not isinstance(model.dialect, OpenAI):
        return None
    listed = served_at(model.url, _key(model), _wait_for(model))
    return None if isinstance(listed, str) else listed


def _headers(model: Model) -> tuple[dict[str, str], bool | None]:
    """What a server says of its limits in the headers of a reply, and whether it gives the chances of tokens."""
    if not isinstance(model, ChatModel) or not isinstance(model.dialect, OpenAI):
        return {}, None
    body = {"model": model.model, model.dialect.length: 1, "logprobs": True, "top_logprobs": 2,
            "messages": [{"role": "user", "content": "Say A or B."}]}  # fmt: skip
    url = model.dialect.url(model.url, model.model)
    got = _http(url, model.dialect.headers(_key(model)), body, wait=_wait_for(model))
    if isinstance(got, str):
        return {}, False
    payload, headers = got
    limits = {name.removeprefix("x-ratelimit-limit-"): value for name, value in headers.items()
              if name.startswith("x-ratelimit-limit-")}  # fmt: skip
    choices = payload.get("choices") if isinstance(payload, dict) else None
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    given = first.get("logprobs")
    return limits, isinstance(given, dict) and bool(given.get("content"))


def _wait_for(model: ChatModel) -> float:
    """Return the seconds to wait for a reply: those of the user, if they are fewer than ours."""
    return min(_WAIT, model.limits.timeout)


def _key(model: ChatModel) -> str | None:
    return model.key.read(needed=not is_local(model.url), server=f"the server at {model.url}")


class _Staying(urllib.request.HTTPRedirectHandler):
    """No key follows a server that sends us elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _http(
    url: str, headers: Mapping[str, str], body: Any = None, *, wait: float = _WAIT
) -> tuple[Any, dict[str, str]] | str:
    """A JSON reply and its headers in small letters, or why there is none. Only addresses that the user named."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})  # noqa: S310 (ChatModel takes http alone)
    try:
        proxy = proxy_for(url)
        proxies = urllib.request.ProxyHandler({} if proxy is None else {url.partition(":")[0]: proxy})
        with urllib.request.build_opener(_Staying, proxies).open(request, timeout=wait) as reply:
            read = json.loads(reply.read(2**22))
            return read, {name.lower(): value for name, value in reply.headers.items()}
    except urllib.error.HTTPError as error:
        error.close()
        place = error.headers.get("Location")
        return f"it answers {error.code}" + (f" and sends us to {plain(place)[:200]}" if place else "")
    except urllib.error.URLError as error:
        return _why(url, error.reason) if isinstance(error.reason, OSError) else str(error.reason)
    except (OSError, HTTPException) as error:
        return _why(url, error)
    except ValueError:
        return "what it sends is no JSON"


def _why(url: str, error: OSError | HTTPException) -> str:
    """Why there is no reply. What breaks off at once may be a server that speaks TLS."""
    broken = isinstance(error, ConnectionError | HTTPException) and not isinstance(error, ConnectionRefusedError)
    if broken and url.startswith("http://") and asyncio.run(speaks_tls(url)):
        return "it speaks TLS there; write https:// in place of http://"
    return why_unconnected(error) if isinstance(error, OSError) else str(error)
