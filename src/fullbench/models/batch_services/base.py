"""What every batch service does, and the patience with which it is asked."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from yarl import URL

from fullbench.errors import ModelError
from fullbench.files.writers import replacing
from fullbench.models.chat_model import ChatModel
from fullbench.models.model_prices import is_local
from fullbench.models.net import error_meanings
from fullbench.models.net.concurrent_calls import complete
from fullbench.models.net.http_client import CONNECT_SECONDS
from fullbench.models.net.proxies import proxy_for
from fullbench.models.net.retries import LONGEST_WAIT
from fullbench.models.wire.reply_parsing import Trouble, refusal
from fullbench.text_safety import masked, masked_bytes

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
PAGE = 100
_CHUNK = 1 << 20
_REDIRECTS = 5
Sender = Callable[[aiohttp.ClientSession], Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class Order:
    """A batch that is to be created: the file of requests, how many they are, and the token that marks it.

    `file` is the id of the file at the server, where the service takes files. `before` is the newest batch that the
    server had before this one, where the service has no place for a token. `others` are batches known to be others'.
    """

    path: Path
    requests: int
    token: str
    file: str = ""
    before: str = ""
    others: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Sent:
    """A batch at the server. Not `sure`: it may be somebody else's, which shows when it has ended."""

    batch: str
    sure: bool = True


@dataclass(frozen=True)
class Standing:
    """How a batch stands: one word, how many requests are done and failed, and the files that are to be fetched.

    The word is one of `ENDED` when it has ended, and else the server's own.
    """

    status: str
    total: int = 0
    done: int = 0
    failed: int = 0
    output: str | None = None
    errors: str | None = None
    note: str = ""


@dataclass
class Unsure(Exception):
    """A request that changes something at the server, and of which it is not known whether it did."""

    why: str


@dataclass(frozen=True)
class BatchServer(ABC):
    """The batch service of the server that a model is asked at. What fails is tried again, as calls are."""

    model: ChatModel
    sleep: Callable[[float], None] = time.sleep
    _key: list[str | None] = field(default_factory=list, init=False, repr=False)

    @abstractmethod
    def prepare(self, order: Order) -> Order:
        """What is to be done before a batch is created. It costs nothing and may be done twice."""

    @abstractmethod
    def create(self, order: Order) -> str:
        """Create a batch; its id. Raises `Unsure`."""

    @abstractmethod
    def find(self, order: Order) -> Sent | None:
        """The batch that was created for an order; None where the server has none. `Unsure` where it lists none."""

    @abstractmethod
    def standing(self, batch: str) -> Standing:
        """How a batch stands."""

    @abstractmethod
    def fetch(self, file: str, to: Path) -> None:
        """Fetch a file that a standing names, whole or not at all."""

    @abstractmethod
    def cancel(self, batch: str) -> None:
        """Ask no more of a batch; it ends in a while, with what was answered by then."""

    # What the services share

    @property
    def _secret(self) -> str | None:
        if not self._key:
            url = self.model.url
            self._key.append(self.model.key.read(needed=not is_local(url), server=f"the server at {url}"))
        return self._key[0]

    @property
    def _headers(self) -> dict[str, str]:
        return self.model.dialect.headers(self._secret)

    def _ask(self, method: str, path: str, *, once: bool = False, unlisted: bool = False, **rest: Any) -> Any:
        """Ask the server something that it answers in JSON."""

        async def send(session: aiohttp.ClientSession) -> Any:
            return await self._json(session, method, f"{self.model.url}/{path}", **rest)

        return self._tried(send, once=once, unlisted=unlisted)

    async def _json(self, session: aiohttp.ClientSession, method: str, url: str, **rest: Any) -> Any:
        headers = {**self._headers, **rest.pop("headers", {})}
        async with session.request(method, url, headers=headers, allow_redirects=False, **rest) as response:
            raw = await response.read()
            if response.status != 200:
                return refusal(response.status, raw, response.headers)
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            return Trouble("again", "200 with a broken body")

    def _download(self, path: str, to: Path) -> None:
        """Fetch a file, whole or not at all. Where the server points elsewhere, the key is not sent along."""

        async def send(session: aiohttp.ClientSession) -> Any:
            home = url = URL(f"{self.model.url}/{path}", encoded=True)
            for _ in range(_REDIRECTS):
                headers = self._headers if url.origin() == home.origin() else {}
                async with session.get(url, headers=headers, allow_redirects=False) as response:
                    if response.status in {301, 302, 303, 307, 308} and "Location" in response.headers:
                        url = url.join(URL(response.headers["Location"]))
                        continue
                    if response.status != 200:
                        return refusal(
                            response.status, masked_bytes(await response.read(), self._secret), response.headers
                        )
                    with replacing(to) as part, part.open("wb") as out:
                        async for chunk in response.content.iter_chunked(_CHUNK):
                            out.write(chunk)
                return {}
            return Trouble("model", "the server sends us round in circles")

        self._tried(send)

    def _tried(self, send: Sender, *, once: bool = False, unlisted: bool = False) -> Any:
        """Send, and again while it helps. With `once`, what may have gone through raises `Unsure` instead; with
        `unlisted`, what the server has no place for."""
        for attempt in range(1, self.model.limits.attempts + 1):
            result = complete(self._within(send))
            if not isinstance(result, Trouble):
                return result
            trouble = result
            if unlisted and trouble.status in {404, 405}:
                raise Unsure("the server does not list its batches")
            if trouble.kind not in {"again", "busy"}:
                break
            if once and trouble.kind == "again" and not trouble.unconnected:
                raise Unsure(trouble.message)
            if attempt < self.model.limits.attempts:
                self.sleep(self._wait(trouble, attempt))
        raise ModelError(self._sentence(trouble))

    async def _within(self, send: Sender) -> Any:
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=self.model.limits.timeout)
        proxy = proxy_for(self.model.url)
        try:
            async with aiohttp.ClientSession(timeout=timeout, proxy=proxy) as session:
                return await send(session)
        except aiohttp.ClientConnectorError as error:
            return Trouble("again", f"no connection ({error.strerror or error})", unconnected=True)
        except (aiohttp.ClientError, TimeoutError) as error:
            return Trouble("again", f"the connection broke off ({type(error).__name__})")

    def _wait(self, trouble: Trouble, attempt: int) -> float:
        if trouble.wait is not None:
            return trouble.wait
        return random.uniform(0, min(LONGEST_WAIT, self.model.limits.backoff * 2.0**attempt))

    def _sentence(self, trouble: Trouble) -> str:
        server, model, secret = f"the batch service at {self.model.url}", self.model, self._secret
        if trouble.status in {404, 405}:
            reason = f"{server} does not know what was asked of it ({trouble.message}); does this server take batches?"
        elif trouble.complaint is not None and trouble.kind not in {"again", "busy"}:
            reason = error_meanings.sentence(
                trouble.status, trouble.complaint, server=server, model=model.model, key=model.key.hint
            )
        else:
            reason = f"{server} did not do it ({trouble.message}); the same command goes on from here"
        return masked(reason, [secret])


def count(value: Mapping[str, Any], name: str) -> int:
    """A number that a server gives as a number or as digits, or leaves out."""
    return int(value.get(name) or 0)
