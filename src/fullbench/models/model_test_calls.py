"""Test calls that show whether a model works: a picture, a JSON reply, and the server's model list and limits."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from typing import Any

from fullbench.core.item import Turn
from fullbench.core.model import Model, Prompt, Reply, takes_schemas
from fullbench.core.picture import Picture
from fullbench.errors import ModelError
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import OpenAI
from fullbench.models.model_prices import is_local
from fullbench.models.net.error_meanings import printable_line
from fullbench.models.net.http_client import connection_failure_reason, speaks_tls
from fullbench.models.net.proxies import proxy_for
from fullbench.picture_flattening_and_orientation import encode_image

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
"""Seconds for one attempt, since a person is waiting. A model that is still loading gets a second attempt."""


@dataclass(frozen=True)
class ModelCheck:
    """Result of trying a model. None means unknown or not applicable."""

    name: str
    error: str = ""
    sees: bool | None = None
    json: bool | None = None
    logprobs: bool | None = None
    served_model: str = ""
    listed_models: tuple[str, ...] | None = None
    limits: Mapping[str, str] = field(default_factory=dict)
    price: tuple[float, float] | None = None
    seconds: float = 0.0
    reply_text: str = ""

    @property
    def works(self) -> bool:
        return not self.error


def try_model(model: Model) -> ModelCheck:
    """Send a model a picture question and a JSON question; read models, limits and logprobs of its server."""
    if isinstance(model, ChatModel):
        user_limits = model.limits
        short_limits = replace(
            user_limits,
            timeout=min(user_limits.timeout, LONGEST),
            attempts=min(user_limits.attempts, 2),
            patience=min(user_limits.patience, LONGEST),
        )
        model = replace(model, limits=short_limits)
    try:
        model.answer(())  # sends nothing; raises if the key is missing, and loads the model
    except ModelError as error:
        return ModelCheck(model.name, str(error), price=model.price)
    start_time = time.monotonic()
    picture_reply = _call_model(model, Prompt((Turn("user", (_make_test_picture(), QUESTION)),)))
    seconds = time.monotonic() - start_time
    check = ModelCheck(model.name, listed_models=_fetch_listed_models(model), price=model.price)
    if isinstance(picture_reply, str):
        # The text of a timeout in `request_transport`: a second call would take as long again.
        if "no whole answer within" in picture_reply:
            return replace(check, error=picture_reply)
        reply = _call_model(model, Prompt((Turn("user", ("Reply with the one word: here",)),)))
        if isinstance(reply, str):
            return replace(check, error=reply)
        sees, reply_text = False, picture_reply
    else:
        reply, sees, reply_text = picture_reply, has_both_colours(picture_reply.text), picture_reply.text
    limits, logprobs = _read_limits_and_logprobs(model)
    return replace(
        check, sees=sees, json=_follows_schema(model), logprobs=logprobs, served_model=reply.served, limits=limits,
        seconds=seconds, reply_text=reply_text,
    )  # fmt: skip


def has_both_colours(text: str) -> bool:
    """Return True if a reply names both colours, the left one first.

    >>> has_both_colours("Blue, yellow"), has_both_colours("yellow and blue"), has_both_colours("I see no picture")
    (True, False, False)
    """
    words = text.lower()
    return -1 < words.find(LEFT) < words.find(RIGHT)


def _make_test_picture() -> Picture:
    from PIL import Image

    image = Image.new("RGB", (128, 64), LEFT)
    image.paste(RIGHT, (64, 0, 128, 64))
    return Picture.from_bytes(encode_image(image))


def _call_model(model: Model, prompt: Prompt) -> Reply | str:
    """Return the reply, or the reason why there is none. A fatal `ModelError` is raised only after the last reply."""
    try:
        (reply,) = model.answer([prompt])
    except ModelError as error:
        return str(error)
    return reply if reply.error is None else reply.error


def _follows_schema(model: Model) -> bool | None:
    if not takes_schemas(model):
        return None
    question = "How many legs has a spider? Reply with a JSON object with the key legs."
    reply = _call_model(model, Prompt((Turn("user", (question,)),), json=True, schema=SCHEMA))
    if isinstance(reply, str):
        return False
    try:
        value = json.loads(reply.text)
    except ValueError:
        return False
    return isinstance(value, dict) and isinstance(value.get("legs"), int)


def fetch_served_models(url: str, key: str | None = None, wait: float = _WAIT) -> tuple[str, ...] | str:
    """Return the models that a server lists at `URL/models` (OpenAI's format), or the reason why it lists none.

    Args:
        url: The address of the server.
        key: Its API key, or None if it needs none.
        wait: The most seconds to wait for the list.
    """
    response = _fetch_json(f"{url.rstrip('/')}/models", OpenAI().headers(key), wait=wait)
    if isinstance(response, str):
        return response
    if not isinstance(response[0], dict) or not isinstance(response[0].get("data"), list):
        return "its JSON is no list of models"
    return tuple(str(entry["id"]) for entry in response[0]["data"] if isinstance(entry, dict) and entry.get("id"))


def _fetch_listed_models(model: Model) -> tuple[str, ...] | None:
    if not isinstance(model, ChatModel) or not isinstance(model.dialect, OpenAI):
        return None
    served_models = fetch_served_models(model.url, _read_key(model), _wait_for(model))
    return None if isinstance(served_models, str) else served_models


def _read_limits_and_logprobs(model: Model) -> tuple[dict[str, str], bool | None]:
    if not isinstance(model, ChatModel) or not isinstance(model.dialect, OpenAI):
        return {}, None
    body = {"model": model.model, model.dialect.length: 1, "logprobs": True, "top_logprobs": 2,
            "messages": [{"role": "user", "content": "Say A or B."}]}  # fmt: skip
    url = model.dialect.url(model.url, model.model)
    response = _fetch_json(url, model.dialect.headers(_read_key(model)), body, wait=_wait_for(model))
    if isinstance(response, str):
        return {}, False
    payload, headers = response
    limits = {name.removeprefix("x-ratelimit-limit-"): value for name, value in headers.items()
              if name.startswith("x-ratelimit-limit-")}  # fmt: skip
    choices = payload.get("choices") if isinstance(payload, dict) else None
    first_choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    choice_logprobs = first_choice.get("logprobs")
    return limits, isinstance(choice_logprobs, dict) and bool(choice_logprobs.get("content"))


def _wait_for(model: ChatModel) -> float:
    """Return the seconds to wait for a reply: the user's timeout if it is shorter than ours."""
    return min(_WAIT, model.limits.timeout)


def _read_key(model: ChatModel) -> str | None:
    return model.key.read(is_required=not is_local(model.url), server=f"the server at {model.url}")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follow no redirect, so that the key is never sent to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _fetch_json(
    url: str, headers: Mapping[str, str], body: Any = None, *, wait: float = _WAIT
) -> tuple[Any, dict[str, str]] | str:
    """Return a JSON reply and its lower-case headers, or why there is none. Call only addresses that the user gave."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})  # noqa: S310 (ChatModel takes http alone)
    try:
        proxy = proxy_for(url)
        proxies = urllib.request.ProxyHandler({} if proxy is None else {url.partition(":")[0]: proxy})
        with urllib.request.build_opener(_NoRedirects, proxies).open(request, timeout=wait) as reply:
            payload = json.loads(reply.read(2**22))
            return payload, {name.lower(): value for name, value in reply.headers.items()}
    except urllib.error.HTTPError as error:
        error.close()
        location = error.headers.get("Location")
        return f"it answers {error.code}" + (f" and sends us to {printable_line(location)[:200]}" if location else "")
    except urllib.error.URLError as error:
        return _failure_reason(url, error.reason) if isinstance(error.reason, OSError) else str(error.reason)
    except (OSError, HTTPException) as error:
        return _failure_reason(url, error)
    except ValueError:
        return "what it sends is no JSON"


def _failure_reason(url: str, error: OSError | HTTPException) -> str:
    """Return why there is no reply. A connection that breaks off at once may be a TLS server."""
    is_broken_off = isinstance(error, ConnectionError | HTTPException) and not isinstance(error, ConnectionRefusedError)
    if is_broken_off and url.startswith("http://") and asyncio.run(speaks_tls(url)):
        return "it speaks TLS there; write https:// in place of http://"
    return connection_failure_reason(error) if isinstance(error, OSError) else str(error)
