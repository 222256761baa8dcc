"""Score models in another process or on another machine, over a small HTTP protocol: for conflicting dependencies.

    GET /         {"protocol": 1, "name": "...", "settings": {...}, "span": [LOW, HIGH] or null}
    POST /scores  {"prompts": ["...", ...], "pictures": ["BASE64", ...]}
              ->  {"scores": [0.25, {"unscorable": "why"}, ...]}

Each score belongs to the prompt and the picture at its position. A refused request gets a status above 399 and
{"error": "a sentence"}. A server with a token needs the header `Authorization: Bearer TOKEN`.
"""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fullbench.core.picture import Picture
from fullbench.errors import InputError, ModelError
from fullbench.judges.scorers.safe_picture_decoding import UnscorableAmong
from fullbench.judges.scorers.scorer_judge import Span
from fullbench.picture_flattening_and_orientation import encode_image

if TYPE_CHECKING:
    from PIL.Image import Image

PROTOCOL = 1
_WAITS = (0.5, 2.0, 5.0)
"""Seconds before each retry of a server that is down or failed."""


@dataclass(eq=False)
class RemoteScorer:
    """A score model behind a server. Its identity is the server's name and address, or `label` if given.

    `key_env` is the variable with the server's token.
    """

    url: str
    label: str = ""
    span_override: Span | None = None
    timeout: float = 600.0
    key_env: str = ""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InputError(f"a score server is named by its address, scores:http://HOST:PORT; found {self.url!r}")
        if self.key_env and not os.environ.get(self.key_env):
            raise InputError(f"the variable {self.key_env!r} with the token of {self.url} is not set")

    @cached_property
    def about(self) -> Mapping[str, Any]:
        """Return the server's description of itself."""
        description = self._request_json("/", None)
        if description.get("protocol") != PROTOCOL or not isinstance(description.get("name"), str):
            raise ModelError(
                f"{self.url} is not a score server of protocol {PROTOCOL}: it answered {str(description)[:80]!r}; "
                "start one with "
                "`fullbench serve-scores`"
            )
        return description

    @property
    def name(self) -> str:
        return self.label or f"scores:{self.about['name']}@{urlsplit(self.url).netloc}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the label if there is one, else the address and the settings that the server reports."""
        return {"label": self.label} if self.label else {"server": self.url, **(self.about.get("settings") or {})}

    @property
    def span(self) -> Span | None:
        server_span = None if self.span_override else self.about.get("span")
        return self.span_override or ((float(server_span[0]), float(server_span[1])) if server_span else None)

    def raw(self, picture: Picture) -> bytes:
        """Return the file itself: the server decodes it."""
        return picture.data()

    def prepare(self, image: Image) -> bytes:
        return encode_image(image)

    def score(self, prompts: Sequence[str], prepared_pictures: Sequence[bytes]) -> list[float]:
        pictures = [base64.b64encode(data).decode() for data in prepared_pictures]
        scores = self._request_json("/scores", {"prompts": list(prompts), "pictures": pictures}).get("scores")
        if not isinstance(scores, list) or len(scores) != len(pictures):
            count = len(scores) if isinstance(scores, list) else "no"
            raise ModelError(f"{self.url} gave {count} scores for {len(pictures)} pictures; its server is broken")
        reasons = {
            place: str(score.get("unscorable")) for place, score in enumerate(scores) if isinstance(score, Mapping)
        }
        if reasons:
            raise UnscorableAmong(reasons)
        return [float(score) for score in scores]

    def _request_json(self, path: str, payload: Mapping[str, Any] | None) -> dict[str, Any]:
        body = None if payload is None else json.dumps(payload).encode()
        headers = {"Content-Type": "application/json"}
        if self.key_env:
            headers["Authorization"] = f"Bearer {os.environ[self.key_env]}"
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked above
            self.url.rstrip("/") + path, data=body, headers=headers
        )
        for wait in (*_WAITS, None):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as answer:  # noqa: S310
                    reply = json.loads(answer.read())
                if not isinstance(reply, dict):
                    raise ModelError(f"{self.url} did not answer with an object; is it a score server?")
                return reply
            except urllib.error.HTTPError as error:
                reason = _refusal_reason(error)
                if error.code < 500 or wait is None:
                    raise ModelError(f"the score server {self.url} refused: {error.code}, {reason}") from error
            except (OSError, ValueError) as error:
                if wait is None:
                    why = getattr(error, "reason", error)
                    raise ModelError(f"the score server {self.url} does not answer ({why}); is it running?") from error
            time.sleep(wait)
        raise AssertionError("the last try returns or raises")


def _refusal_reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])[:300]
    except (ValueError, KeyError, TypeError, OSError):
        return str(error.reason)
