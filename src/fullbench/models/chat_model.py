"""A model behind a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from fullbench.core.model import Prompt, Reply
from fullbench.errors import InputError
from fullbench.models.dialects import Dialect, OpenAI
from fullbench.models.model_prices import Price, Shares, cache_shares, is_local, price_of, shares_at
from fullbench.models.model_settings import Key, Limits, Sampling
from fullbench.models.net.circuit_breaker import Provider, provider
from fullbench.models.net.concurrent_calls import stream
from fullbench.models.net.file_handles import connections
from fullbench.models.net.rate_limits import CEILING, START, office
from fullbench.models.wire.server_urls import check_url


@dataclass(frozen=True, eq=False)
class ChatModel:
    """A model behind a server, spoken to in one of three dialects.

    `url` is the address without the dialect's last steps (`http://localhost:8000/v1`). The name is the model's, with
    the address of any server that is not the provider's own (`qwen2-vl@localhost:8000/v1`), or a `label` in its place
    (`qwen2-vl@lab`), and a tail for every sampling setting. `listed` is the price in dollars per million tokens in and
    out, and `cached_price` that of cached tokens in. Both default to the price list.

    `answer` runs its event loop in the calling thread. What it learned of the server's limits stays with the model, and
    all models that ask one server with one key share its requests and tokens a minute, so that several calls of
    `answer`, one after another or from several threads, keep within them.
    """

    model: str
    url: str
    dialect: Dialect = field(default_factory=OpenAI)
    key: Key = field(default_factory=Key)
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = field(default_factory=Limits)
    listed: Price | None = None
    label: str = ""
    cached_price: float | None = None
    _learned: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_url(self.model, self.url)
        parts = urlsplit(self.url)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise InputError(
                f"the URL of {self.model!r} must hold no user, password or query; give the key with key_env or key_file"
            )
        if self.sampling.seed is not None and not self.dialect.takes_seed:
            raise InputError(f"the {self.dialect.name} dialect takes no seed; leave it out for {self.model!r}")
        object.__setattr__(self, "url", self.url.rstrip("/"))

    @cached_property
    def name(self) -> str:
        place = self.label or self.address
        return self.model + (f"@{place}" if place else "") + self.dialect.tail + self.sampling.tail

    @cached_property
    def address(self) -> str:
        """Host, port and path of the server, spelled in one way; empty where it is the provider's own."""
        return "" if _address(self.url) == _address(self.dialect.home) else _address(self.url)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """What changes answers, as a JSON value. How fast the server is asked and its price do not."""
        server = {"server": self.address} if self.address else {}
        spoken = {"model": self.model, "dialect": self.dialect.name, "label": self.label}
        return {**spoken, "sampling": self.sampling.set(), **server}

    def as_judge(self) -> ChatModel:
        """The same model as judges ask it: at temperature 0, unless something is said or the model takes none."""
        settled = self.sampling.as_judge(self.model)
        return self if settled is self.sampling else replace(self, sampling=settled)

    @property
    def draws(self) -> bool:
        return self.dialect.draws

    @property
    def takes_schemas(self) -> bool:
        return self.dialect.takes_schemas

    @cached_property
    def price(self) -> Price | None:
        return self.listed if self.listed is not None else price_of(self.model, self.url)

    @cached_property
    def shares(self) -> Shares:
        """What a token from the server's cache costs, and one that goes into it, where a fresh one costs 1."""
        if self.cached_price is None:
            return cache_shares(self.model, self.url)
        return shares_at(self.price, self.cached_price)

    @cached_property
    def _provider(self) -> Provider:
        shared = provider(self.url, self.key)
        shared.join(self.limits)
        return shared

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Ask every prompt and yield the replies as they come. A missing key is told before anything is asked."""
        from fullbench.models.net.request_transport import Caller, Line

        secret = self.key.read(needed=not is_local(self.url), server=f"the server at {self.url}")
        line = Line(
            self.dialect, self.url, self.model, self.sampling, self.limits, self.price, self.key, secret, self.shares
        )
        most = self.limits.concurrency

        def replies() -> Iterator[Reply]:
            with connections(most or CEILING, self.model, asked_for=most is not None) as allowed:
                ceiling = allowed if most is not None or allowed < CEILING else None
                start = self._learned.get("width", ceiling or START)
                throttle = office().throttle(f"{self.model} at {self.url}", min(start, allowed), ceiling)
                try:
                    yield from stream(prompts, Caller(line, throttle, self._provider))
                finally:
                    self._learned["width"] = throttle.width

        return replies()


def _address(url: str) -> str:
    """Host, port and path of a server. The port is left out where `https` implies it, so that no two servers share one.

    >>> _address("HTTPS://Api.Example.com:443/v1/"), _address("http://localhost/v1"), _address("http://[::1]:8000")
    ('api.example.com/v1', 'localhost:80/v1', '[::1]:8000')
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    shown = f"[{host}]" if ":" in host else host
    return shown + ("" if (parts.scheme, port) == ("https", 443) else f":{port}") + parts.path.rstrip("/")
