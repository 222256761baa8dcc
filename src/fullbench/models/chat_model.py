"""`ChatModel`: a model behind an HTTP server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from fullbench.core.model import Prompt, Reply
from fullbench.errors import InputError
from fullbench.models.dialects import Dialect, OpenAI
from fullbench.models.media_as_sent import expand_media, hears_with_frames, refused_media_option
from fullbench.models.model_prices import Price, Shares, audio_share, cache_shares, is_local, price_of, shares_at
from fullbench.models.model_settings import Key, Limits, Sampling
from fullbench.models.net.concurrent_calls import stream_replies
from fullbench.models.net.file_handles import reserve_connections
from fullbench.models.net.rate_limits import CEILING, START, current_rate_limits
from fullbench.models.net.server_rates_and_circuit_breakers import Provider, get_provider
from fullbench.models.wire.server_url_checks import check_url


@dataclass(frozen=True, eq=False)
class ChatModel:
    """A model behind a server that speaks one of the dialects.

    `url` is the server's address without the dialect's path (`http://localhost:8000/v1`). The name is the model's,
    followed by the address of a server that is not the provider's own (`qwen2-vl@localhost:8000/v1`). A `label`
    replaces that address (`qwen2-vl@lab`). A suffix for each sampling setting follows. `listed_price` is dollars per
    million tokens in and out, `cached_price` that of cached tokens in. Both default to the price list.

    `answer` runs its event loop in the calling thread. The model remembers the concurrency that it learned. All
    models with the same server and key share its requests and tokens per minute, across calls of `answer` and across
    threads.
    """

    model: str
    url: str
    dialect: Dialect = field(default_factory=OpenAI)
    key: Key = field(default_factory=Key)
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = field(default_factory=Limits)
    listed_price: Price | None = None
    label: str = ""
    cached_price: float | None = None
    _learned_limits: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_url(self.model, self.url)
        parts = urlsplit(self.url)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise InputError(
                f"the URL of {self.model!r} must contain no user, password or query; give the key with key_env or "
                f"key_file"
            )
        if self.sampling.seed is not None and not self.dialect.takes_seed:
            raise InputError(f"the {self.dialect.name} dialect takes no seed; leave it out for {self.model!r}")
        if reason := refused_media_option(
            self.sampling, self.dialect.native_kinds, chooses_frames=self.dialect.chooses_frames
        ):
            raise InputError(f"{self.model!r} by the {self.dialect.name} dialect: {reason}")
        object.__setattr__(self, "url", self.url.rstrip("/"))

    @cached_property
    def name(self) -> str:
        place = self.label or self.address
        return self.model + (f"@{place}" if place else "") + self.dialect.tail + self.sampling.tail

    @cached_property
    def address(self) -> str:
        """Return host, port and path of the server in one spelling; empty for the provider's own server."""
        return "" if _server_address(self.url) == _server_address(self.dialect.home) else _server_address(self.url)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings that change answers, as a JSON value. Request limits and price do not."""
        server = {"server": self.address} if self.address else {}
        dialect_settings = {"model": self.model, "dialect": self.dialect.name, "label": self.label}
        return {**dialect_settings, "sampling": self.sampling.explicit_values(), **server}

    def as_judge(self) -> ChatModel:
        """Return this model for judging: temperature 0, unless sampling is set or the model takes none."""
        judge_sampling = self.sampling.as_judge(self.model)
        return self if judge_sampling is self.sampling else replace(self, sampling=judge_sampling)

    @property
    def media_kinds(self) -> frozenset[str]:
        """Kinds of media that this model takes, as they are or as frames and pages."""
        return self._sent_kinds | {"image", "video", "document"}

    @cached_property
    def _sent_kinds(self) -> frozenset[str]:
        return self.dialect.sent_kinds(self.sampling)

    def prepare(self, prompt: Prompt) -> Prompt:
        """Return the prompt as it is sent: frames and pages in place of media that the dialect does not take."""
        return expand_media(prompt, self.sampling, self._sent_kinds, sends_sound=self._sends_sound)

    @cached_property
    def _sends_sound(self) -> bool:
        if self.sampling.sound is not None or "audio" not in self._sent_kinds:
            return bool(self.sampling.sound)
        return self.dialect.takes_sound_with_frames or hears_with_frames(self.model)

    @property
    def draws(self) -> bool:
        return self.dialect.draws

    @property
    def takes_schemas(self) -> bool:
        return self.dialect.takes_schemas

    @cached_property
    def price(self) -> Price | None:
        return self.listed_price if self.listed_price is not None else price_of(self.model, self.url)

    @cached_property
    def shares(self) -> Shares:
        """Return the price of a token read from the cache and of one written to it; a fresh token costs 1."""
        if self.cached_price is None:
            return cache_shares(self.model, self.url)
        return shares_at(self.price, self.cached_price)

    @cached_property
    def audio_share(self) -> float:
        """Return the price of a token of sound; one of text costs 1. The user's own price holds for both."""
        return 1.0 if self.listed_price is not None else audio_share(self.model, self.url)

    @cached_property
    def _provider(self) -> Provider:
        shared_provider = get_provider(self.url, self.key)
        shared_provider.join(self.limits)
        return shared_provider

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Send every prompt and yield the replies as they arrive. A missing key raises before anything is sent."""
        from fullbench.models.net.prompt_call_with_retries import Caller, CallTarget

        secret = self.key.read(is_required=not is_local(self.url), server=f"the server at {self.url}")
        target = CallTarget(
            self.dialect,
            self.url,
            self.model,
            self.sampling,
            self.limits,
            self.price,
            self.key,
            secret,
            self.shares,
            self.audio_share,
        )
        concurrency = self.limits.concurrency

        def replies() -> Iterator[Reply]:
            with reserve_connections(
                concurrency or CEILING, self.model, is_explicit=concurrency is not None
            ) as allowed_calls:
                ceiling = allowed_calls if concurrency is not None or allowed_calls < CEILING else None
                start = self._learned_limits.get("width", ceiling or START)
                throttle = current_rate_limits().throttle(
                    f"{self.model} at {self.url}", min(start, allowed_calls), ceiling
                )
                try:
                    yield from stream_replies(prompts, Caller(target, throttle, self._provider))
                finally:
                    self._learned_limits["width"] = throttle.width

        return replies()


def _server_address(url: str) -> str:
    """Return host, port and path of a server, without the port that `https` implies, so that no two servers share one.

    >>> _server_address("HTTPS://Api.Example.com:443/v1/"), _server_address("http://localhost/v1"), _server_address("http://[::1]:8000")
    ('api.example.com/v1', 'localhost:80/v1', '[::1]:8000')
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    bracketed_host = f"[{host}]" if ":" in host else host
    return bracketed_host + ("" if (parts.scheme, port) == ("https", 443) else f":{port}") + parts.path.rstrip("/")
