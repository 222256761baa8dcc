"""Settings of a chat model: sampling (changes answers), limits of calls (does not), and the API key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.errors import InputError, ModelError
from fullbench.models.dotenv import read_variable

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Each provider accepts some of these words and refuses the others itself."""


RESERVED_FIELDS = frozenset({"model", "messages", "input", "contents", "stream", "n"})
"""Fields that define the model and the prompt; in `extra` they would change the request under the same name."""


@dataclass(frozen=True)
class Sampling:
    """Settings that change a model's answers. Each one set appears in the model's name; None leaves it to the server.

    `temperature` is a number or `default`, the server's own. Judges run at 0 if it is None, so `default` is explicit.
    `extra` is merged into the request body (for example `{"top_k": 1}`). `pixels` is the longest side of a picture
    sent, if it should differ from the dialect's. `effort` is how hard a reasoning model thinks, in the provider's own
    format.

    `video` is `native` (the file is sent) or `frames`; `frames` is their number, at even times, and `fps` their rate.
    A moving GIF or WebP is sent as frames if one of these is set, else as one still. Of a video, only what is between
    `start` and `end` is sent, in seconds. `sound` tells whether its sound is sent next to its frames; None leaves that
    to the model's kind. `pages` is the number of first pages of a document that are sent as pictures.
    """

    temperature: float | Literal["default"] | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    system: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    pixels: int | None = None
    effort: str | None = None
    video: Literal["native", "frames"] | None = None
    frames: int | None = None
    fps: float | None = None
    pages: int | None = None
    start: float | None = None
    end: float | None = None
    sound: bool | None = None

    def __post_init__(self) -> None:
        if self.video == "native" and self.frames is not None:
            raise InputError("'frames' is the number of frames that we choose; leave it out with video=native")
        if self.fps is not None and self.fps <= 0:
            raise InputError(f"'fps' is a number of frames per second above 0; found {self.fps:g}")
        if (self.start or 0.0) < 0 or (self.end is not None and self.end <= (self.start or 0.0)):
            raise InputError(
                "'start' and 'end' are seconds of a video, 0 or more, and the end is after the start; found "
                f"start={self.start or 0.0:g}" + ("" if self.end is None else f" and end={self.end:g}")
            )
        if self.effort is not None and self.effort not in EFFORTS:
            raise InputError(f"the effort of reasoning is {', '.join(EFFORTS)}; found {self.effort!r}")
        for name in self.extra:
            if name in RESERVED_FIELDS:
                raise InputError(f"'extra' cannot contain {name!r}, because fullbench sets or reads it itself")
            if "key" in name.lower() or name.lower() == "token" or "secret" in name.lower():
                raise InputError(f"{name!r} looks like a key and would be shown; give keys with key_env or key_file")

    @property
    def moves(self) -> bool:
        """True if a moving GIF or WebP is sent as frames."""
        return self.video != "native" and (self.video, self.frames, self.fps) != (None, None, None)

    @property
    def sent_temperature(self) -> float | None:
        """Return the temperature of the request, or None to leave it to the server."""
        return None if self.temperature == "default" else self.temperature

    def as_judge(self, model: str) -> Sampling:
        """Return these settings for a judge: temperature 0 if no sampling is set and the model takes a temperature.

        >>> Sampling().as_judge("gpt-4o").temperature, Sampling().as_judge("o3").temperature
        (0.0, None)
        >>> Sampling().as_judge("bedrock/us.anthropic.claude-opus-4-7-v1:0").temperature
        """
        sampling_values = (self.temperature, self.top_p, self.effort)
        has_own_sampling = any(value is not None for value in sampling_values) or _SAMPLING_FIELDS.intersection(
            self.extra
        )
        return self if has_own_sampling or _REASONING_MODELS.search(model) else replace(self, temperature=0.0)

    @property
    def tail(self) -> str:
        """Return the settings that change answers, as a suffix of the model's name.

        >>> Sampling(temperature=0.7, max_tokens=512).tail
        '+t0.7+max512'
        >>> Sampling().tail
        ''
        """
        words = [
            ("t", self.sent_temperature),
            ("p", self.top_p),
            ("max", self.max_tokens),
            ("seed", self.seed),
            ("sys-", None if self.system is None else digest(self.system)[:8]),
            ("extra-", digest(dict(self.extra))[:8] if self.extra else None),
            ("px", self.pixels),
            ("effort-", self.effort),
            ("video-", self.video),
            ("frames", self.frames),
            ("fps", self.fps),
            ("pages", self.pages),
            ("start", self.start),
            ("end", self.end),
            ("", None if self.sound is None else "sound" if self.sound else "no-sound"),
        ]
        return "".join(f"+{word}{value:g}" if isinstance(value, float) else f"+{word}{value}" for word, value in words
                       if value is not None)  # fmt: skip

    def explicit_values(self) -> dict[str, Any]:
        """Return the values that are set, as a JSON value."""
        return {name: value for name, value in asdict(self).items() if value not in (None, {}, "default")}


_REASONING_MODELS = re.compile(
    r"(?:^|[/.])(?:o[1-9](?:-|$)|gpt-[5-9](?!.*chat)|claude-opus-4[-.][7-9]|claude-[a-z]+-[5-9]|claude-mythos"
    r"|gemini-(?:[3-9]|\d\d)|o_series/|gpt5_series/)"
)
"""Models that refuse a temperature because they reason, or whose provider advises against setting it.
Gemini 3 may repeat itself endlessly below its default.
"""
LIMITS_COMPLETIONS = re.compile(r"(?:^|[/.])(?:o[1-9](?:-|$)|gpt-[5-9])")
"""OpenAI models that accept the reply limit only under its newer name, on any server."""
_SAMPLING_FIELDS = frozenset({"temperature", "thinking", "reasoning", "reasoning_effort", "generationConfig"})
"""Fields of `extra` that set sampling, or turn on reasoning, which some models refuse at temperature 0."""


@dataclass(frozen=True)
class Limits:
    """Limits of calls. They change no answer, so they do not appear in a name.

    `rpm` and `tpm` are requests and tokens per minute. At most `concurrency` calls are in flight; if None, the number
    starts at 8 and adapts. One attempt may take `timeout` seconds. A prompt gets `attempts` attempts and `patience`
    seconds in all. The n-th wait is drawn from 0 to `backoff` * 2**n seconds (30 at most) unless the server names
    one.

    After `breaks` failures in a row, calls pause for `rest` seconds, then one call tries. The pause doubles each time
    that call fails; after `patience` seconds of failures the run ends. `hedge` is a quantile of recent durations: a
    call that takes longer is sent a second time, on top of `concurrency`.
    """

    rpm: float | None = None
    tpm: float | None = None
    concurrency: int | None = None
    timeout: float = 120.0
    attempts: int = 6
    patience: float = 600.0
    backoff: float = 0.5
    breaks: int = 20
    rest: float = 1.0
    hedge: float | None = None

    def __post_init__(self) -> None:
        if self.hedge is not None and not 0 < self.hedge < 1:
            raise InputError(f"the limit 'hedge' is a share of calls between 0 and 1, such as 0.95; found {self.hedge}")
        for name, value in asdict(self).items():
            if value is not None and (value < 0 if name == "backoff" else value <= 0):
                raise InputError(f"the limit {name!r} must be above zero; found {value}")


@dataclass(frozen=True)
class Key:
    """Source of the API key: the first variable of `env` that is set, or a file. The key itself is never stored."""

    env: tuple[str, ...] = ()
    file: Path | None = None

    @property
    def hint(self) -> str:
        """Return where the user should look for the key, in words."""
        if self.file is not None:
            return f"the key file {self.file}"
        return f"the variable {' or '.join(self.env)}" if self.env else "the key (give key_env=NAME or key_file=PATH)"

    def read(self, *, is_required: bool, server: str) -> str | None:
        """Return the API key, or None if it is optional and not set."""
        if self.file is not None:
            return self._from_file(self.file)
        for name in self.env:
            if key := read_variable(name).strip():
                return _check_key(key, f"the variable {name}")
        if is_required:
            what = (
                f"set {' or '.join(self.env)} (or write it into a file .env "
                f"here{_DOTENV_LACKS_NAME if Path('.env').exists() else ''})"
                if self.env
                else "name the variable that holds it (key_env=NAME)"
            )
            raise ModelError(f"{server} needs a key, but none was found; {what}, or give key_file=PATH")
        return None

    @staticmethod
    def _from_file(file: Path) -> str:
        try:
            key = file.expanduser().read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise ModelError(f"the key file {file} cannot be read ({reason})") from error
        if not key:
            raise ModelError(f"the key file {file} is empty; put only the key into it")
        return _check_key(key, f"the key file {file}")


_DOTENV_LACKS_NAME = ": there is one, without a line NAME=VALUE of that name"


def _check_key(key: str, where: str) -> str:
    if not (key.isascii() and key.isprintable()) or set(" \"'") & set(key):
        raise ModelError(
            f"{where} contains spaces, quotes, line breaks or letters that no key has; put only the key into it"
        )
    return key
