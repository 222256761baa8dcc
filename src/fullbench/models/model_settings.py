"""What a chat model is told once: how to sample (changes answers), how to behave on the wire (does not), which key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from fullbench.core.digests import digest
from fullbench.errors import InputError, ModelError
from fullbench.models.dotenv import found_here, variable

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Providers know some of these words each, and say so where they do not know one."""


OUR_OWN = frozenset({"model", "messages", "input", "contents", "stream", "n"})
"""Parts of a request that say who is asked what: in `extra` they would ask something else under the same name."""


@dataclass(frozen=True)
class Sampling:
    """What changes a model's answers. Whatever is set here shows in the model's name; None leaves it to the server.

    `temperature` is a number or `default`: the server's own, said on purpose, since judges are asked at 0 where nothing
    is said. `extra` goes into the request body as it is (for example `{"top_k": 1}`). `pixels` is the longest side a
    picture is sent with, where it should differ from what the dialect takes. `effort` is how hard a reasoning model is
    to think, said in each provider's own way.
    """

    temperature: float | Literal["default"] | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    system: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    pixels: int | None = None
    effort: str | None = None

    def __post_init__(self) -> None:
        if self.effort is not None and self.effort not in EFFORTS:
            raise InputError(f"the effort of reasoning is {', '.join(EFFORTS)}; found {self.effort!r}")
        for name in self.extra:
            if name in OUR_OWN:
                raise InputError(f"'extra' cannot hold {name!r}: that is what fullbench itself sends, or reads")
            if "key" in name.lower() or name.lower() == "token" or "secret" in name.lower():
                raise InputError(f"{name!r} looks like a key and would be shown; give keys with key_env or key_file")

    @property
    def sent_temperature(self) -> float | None:
        """The temperature that stands in a request; None where it is left to the server."""
        return None if self.temperature == "default" else self.temperature

    def as_judge(self, model: str) -> Sampling:
        """The same for a judge: at temperature 0 where nothing is said and the model takes a temperature.

        >>> Sampling().as_judge("gpt-4o").temperature, Sampling().as_judge("o3").temperature
        (0.0, None)
        >>> Sampling().as_judge("bedrock/us.anthropic.claude-opus-4-7-v1:0").temperature
        """
        said = (self.temperature, self.top_p, self.effort)
        settled = any(value is not None for value in said) or _SETTLES.intersection(self.extra)
        return self if settled or _REASONS.search(model) else replace(self, temperature=0.0)

    @property
    def tail(self) -> str:
        """What a name needs so that two models that may answer differently never share one.

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
        ]
        return "".join(f"+{word}{value:g}" if isinstance(value, float) else f"+{word}{value}" for word, value in words
                       if value is not None)  # fmt: skip

    def set(self) -> dict[str, Any]:
        """What is set, as a JSON value."""
        return {name: value for name, value in asdict(self).items() if value not in (None, {}, "default")}


_REASONS = re.compile(
    r"(?:^|[/.])(?:o[1-9](?:-|$)|gpt-[5-9](?!.*chat)|claude-opus-4[-.][7-9]|claude-[a-z]+-[5-9]|claude-mythos"
    r"|gemini-(?:[3-9]|\d\d)|o_series/|gpt5_series/)"
)
"""Models that refuse a request with a temperature in it, since they sample in their own way while they reason, or whose
provider asks to leave it alone: Gemini 3 may repeat itself without end below its own."""
LIMITS_COMPLETIONS = re.compile(r"(?:^|[/.])(?:o[1-9](?:-|$)|gpt-[5-9])")
"""OpenAI's models that take the limit on a reply under its newer name alone, whoever serves them."""
_SETTLES = frozenset({"temperature", "thinking", "reasoning", "reasoning_effort", "generationConfig"})
"""What in `extra` says how to sample, or makes a model reason, which some then refuse to do at temperature 0."""


@dataclass(frozen=True)
class Limits:
    """How to behave on the wire. Nothing here changes an answer, so nothing here shows in a name.

    `rpm` and `tpm` are requests and tokens a minute. `concurrency` calls at most are in flight; without it the number
    starts at 8 and adapts. One attempt may take `timeout` seconds; a prompt gets `attempts` attempts and `patience`
    seconds in all. The n-th wait is drawn from 0 to `backoff` * 2**n seconds (30 at most) unless the server names one.
    After `breaks` failures in a row the server is left alone for `rest` seconds, and twice as long each time that a
    single call then fails; after `patience` seconds of that the run ends. With `hedge`, a call that takes longer than
    this share of the calls before it is sent a second time, on top of `concurrency`.
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
    """Where the key is: the first variable of `env` that is set, or a file. The key itself is never kept."""

    env: tuple[str, ...] = ()
    file: Path | None = None

    @property
    def hint(self) -> str:
        """Where the user should look, in words."""
        if self.file is not None:
            return f"the key file {self.file}"
        return f"the variable {' or '.join(self.env)}" if self.env else "the key (give key_env=NAME or key_file=PATH)"

    def read(self, *, needed: bool, server: str) -> str | None:
        """The key; None where there is none and none is `needed`."""
        if self.file is not None:
            return self._from_file(self.file)
        for name in self.env:
            if key := variable(name).strip():
                return _plain(key, f"the variable {name}")
        if needed:
            what = (
                f"set {' or '.join(self.env)} (or write it into a file .env here{'' if not found_here() else _IN_VAIN})"
                if self.env
                else "name the variable that holds it (key_env=NAME)"
            )
            raise ModelError(f"{server} wants a key and none was found; {what}, or give key_file=PATH")
        return None

    @staticmethod
    def _from_file(file: Path) -> str:
        try:
            key = file.expanduser().read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise ModelError(f"the key file {file} cannot be read ({reason})") from error
        if not key:
            raise ModelError(f"the key file {file} is empty; put the key into it, alone")
        return _plain(key, f"the key file {file}")


_IN_VAIN = ": there is one, without a line NAME=VALUE of that name"


def _plain(key: str, where: str) -> str:
    if not (key.isascii() and key.isprintable()) or set(" \"'") & set(key):
        raise ModelError(
            f"{where} holds spaces, quotes, line breaks or letters that no key has; put the key into it, alone"
        )
    return key
