"""Score models in another process or on another machine, by a small protocol over HTTP: for those whose pins clash.

    GET /         {"protocol": 1, "name": "...", "settings": {...}, "span": [LOW, HIGH] or null}
    POST /scores  {"prompts": ["...", ...], "pictures": ["BASE64", ...]}
              ->  {"scores": [0.25, {"unscorable": "why"}, ...]}

A score stands for a prompt and the picture at its place. Whoever cannot take a request answers with a status above 399
and {"error": "a sentence"}.
"""

from __future__ import annotations

import base64
import json
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
from fullbench.judges.scorers.decoded_pictures import UnscorableAmong
from fullbench.judges.scorers.scorer_judge import Span
from fullbench.picture_decoding import encoded

if TYPE_CHECKING:
    from PIL.Image import Image

PROTOCOL = 1
_WAITS = (0.5, 2.0, 5.0)
"""Seconds before a server that is not there, or that failed, is asked again."""


@dataclass(eq=False)
class RemoteScorer:
    """A score model behind a server. It is what the server says that it is, at this address; with `label`, that."""

    url: str
    label: str = ""
    given_span: Span | None = None
    timeout: float = 600.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InputError(f"a score server is named by its address, scores:http://HOST:PORT; found {self.url!r}")

    @cached_property
    def about(self) -> Mapping[str, Any]:
        """What the server says of itself."""
        said = self._asked("/", None)
        if said.get("protocol") != PROTOCOL or not isinstance(said.get("name"), str):
            raise ModelError(
                f"{self.url} is no score server of protocol {PROTOCOL}: it said {str(said)[:80]!r}; start one with "
                "`fullbench serve-scores`"
            )
        return said

    @property
    def name(self) -> str:
        return self.label or f"scores:{self.about['name']}@{urlsplit(self.url).netloc}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Where the server gives none, or a label stands for it, the address is all that is known of it."""
        return {"label": self.label} if self.label else {"server": self.url, **(self.about.get("settings") or {})}

    @property
    def span(self) -> Span | None:
        said = None if self.given_span else self.about.get("span")
        return self.given_span or ((float(said[0]), float(said[1])) if said else None)

    def raw(self, picture: Picture) -> bytes:
        """The file itself: the server decodes it."""
        return picture.data()

    def prepare(self, image: Image) -> bytes:
        return encoded(image)

    def score(self, prompts: Sequence[str], prepared: Sequence[bytes]) -> list[float]:
        pictures = [base64.b64encode(data).decode() for data in prepared]
        scores = self._asked("/scores", {"prompts": list(prompts), "pictures": pictures}).get("scores")
        if not isinstance(scores, list) or len(scores) != len(pictures):
            count = len(scores) if isinstance(scores, list) else "no"
            raise ModelError(f"{self.url} gave {count} scores for {len(pictures)} pictures; its server is broken")
        reasons = {
            place: str(score.get("unscorable")) for place, score in enumerate(scores) if isinstance(score, Mapping)
        }
        if reasons:
            raise UnscorableAmong(reasons)
        return [float(score) for score in scores]

    def _asked(self, path: str, sent: Mapping[str, Any] | None) -> dict[str, Any]:
        """One exchange; a server that is starting or stumbles is asked again some times."""
        body = None if sent is None else json.dumps(sent).encode()
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked above
            self.url.rstrip("/") + path, data=body, headers={"Content-Type": "application/json"}
        )
        for wait in (*_WAITS, None):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as answer:  # noqa: S310
                    said = json.loads(answer.read())
                if not isinstance(said, dict):
                    raise ModelError(f"{self.url} answered with something else than an object; is it a score server?")
                return said
            except urllib.error.HTTPError as error:
                reason = _reason(error)
                if error.code < 500 or wait is None:
                    raise ModelError(f"the score server {self.url} refused: {error.code}, {reason}") from error
            except (OSError, ValueError) as error:
                if wait is None:
                    why = getattr(error, "reason", error)
                    raise ModelError(f"the score server {self.url} does not answer ({why}); is it running?") from error
            time.sleep(wait)
        raise AssertionError("the last try returns or raises")


def _reason(error: urllib.error.HTTPError) -> str:
    """The sentence in a refusal."""
    try:
        return str(json.loads(error.read())["error"])[:300]
    except (ValueError, KeyError, TypeError, OSError):
        return str(error.reason)
