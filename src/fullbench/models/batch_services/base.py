"""`BatchServer`, the base class of batch services, with their retries and downloads."""

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
from fullbench.files.row_writers import replace_atomically
from fullbench.models.chat_model import ChatModel
from fullbench.models.model_prices import is_local
from fullbench.models.net import error_meanings
from fullbench.models.net.concurrent_calls import run_awaitable
from fullbench.models.net.http_client import CONNECT_SECONDS
from fullbench.models.net.proxies import proxy_for
from fullbench.models.net.retries import LONGEST_WAIT
from fullbench.models.wire.reply_parsing import Trouble, trouble_from_response
from fullbench.secret_masking_and_text_escapes import mask_secret_in_bytes, mask_secrets

ENDED_STATUSES = frozenset({"completed", "failed", "expired", "cancelled"})
PAGE_SIZE = 100
_CHUNK = 1 << 20
_REDIRECTS = 5
Sender = Callable[[aiohttp.ClientSession], Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class BatchOrder:
    """A batch to create: the file of requests, their number, and the token that marks the batch.

    `file` is the id of the uploaded file, if the service takes files. `previous_batch` is the newest batch of the
    server before this one, for services that store no token. `foreign_batches` are known to belong to others.
    """

    path: Path
    requests: int
    token: str
    file: str = ""
    previous_batch: str = ""
    foreign_batches: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CreatedBatch:
    """A batch at the server. If not `is_confirmed`, it may be somebody else's, which shows when it has ended."""

    batch: str
    is_confirmed: bool = True


@dataclass(frozen=True)
class BatchStatus:
    """Status of a batch: one of `ENDED_STATUSES` or the server's own word, counts of completed and failed requests,
    files to fetch.
    """

    status: str
    total: int = 0
    completed_count: int = 0
    failed_count: int = 0
    output: str | None = None
    errors: str | None = None
    note: str = ""


@dataclass
class UnknownOutcome(Exception):
    """A request that changes the server's state, and may or may not have succeeded."""

    why: str


@dataclass(frozen=True)
class BatchServer(ABC):
    """The batch service of a model's server. Failed requests are retried like calls."""

    model: ChatModel
    sleep: Callable[[float], None] = time.sleep
    _key: list[str | None] = field(default_factory=list, init=False, repr=False)

    @abstractmethod
    def prepare(self, order: BatchOrder) -> BatchOrder:
        """Do what must precede the creation of a batch. It costs nothing and may be repeated."""

    @abstractmethod
    def create(self, order: BatchOrder) -> str:
        """Create a batch and return its id. Raises `UnknownOutcome`."""

    @abstractmethod
    def find(self, order: BatchOrder) -> CreatedBatch | None:
        """Return the batch created for an order, or None. Raises `UnknownOutcome` if the server lists no batches."""

    @abstractmethod
    def fetch_status(self, batch: str) -> BatchStatus:
        """Return the status of a batch."""

    @abstractmethod
    def fetch(self, file: str, to: Path) -> None:
        """Download a file named in a `BatchStatus`, completely or not at all."""

    @abstractmethod
    def cancel(self, batch: str) -> None:
        """Cancel a batch. It ends after a while; requests already answered are kept."""

    @property
    def _secret(self) -> str | None:
        if not self._key:
            url = self.model.url
            self._key.append(self.model.key.read(is_required=not is_local(url), server=f"the server at {url}"))
        return self._key[0]

    @property
    def _headers(self) -> dict[str, str]:
        return self.model.dialect.headers(self._secret)

    def _call_server(
        self, method: str, path: str, *, once: bool = False, may_be_unlisted: bool = False, **request_options: Any
    ) -> Any:
        async def send(session: aiohttp.ClientSession) -> Any:
            return await self._request_json(session, method, f"{self.model.url}/{path}", **request_options)

        return self._send_with_retries(send, once=once, may_be_unlisted=may_be_unlisted)

    async def _request_json(self, session: aiohttp.ClientSession, method: str, url: str, **request_options: Any) -> Any:
        headers = {**self._headers, **request_options.pop("headers", {})}
        async with session.request(method, url, headers=headers, allow_redirects=False, **request_options) as response:
            raw = await response.read()
            if response.status != 200:
                return trouble_from_response(response.status, raw, response.headers)
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            return Trouble("again", "200 with a broken body")

    def _download(self, path: str, to: Path) -> None:
        """Download a file, completely or not at all. The key is not sent to other servers after a redirect."""

        async def send(session: aiohttp.ClientSession) -> Any:
            home = url = URL(f"{self.model.url}/{path}", encoded=True)
            for _ in range(_REDIRECTS):
                headers = self._headers if url.origin() == home.origin() else {}
                async with session.get(url, headers=headers, allow_redirects=False) as response:
                    if response.status in {301, 302, 303, 307, 308} and "Location" in response.headers:
                        url = url.join(URL(response.headers["Location"]))
                        continue
                    if response.status != 200:
                        return trouble_from_response(
                            response.status, mask_secret_in_bytes(await response.read(), self._secret), response.headers
                        )
                    with replace_atomically(to) as part, part.open("wb") as out:
                        async for chunk in response.content.iter_chunked(_CHUNK):
                            out.write(chunk)
                return {}
            return Trouble("model", "the server sends us round in circles")

        self._send_with_retries(send)

    def _send_with_retries(self, send: Sender, *, once: bool = False, may_be_unlisted: bool = False) -> Any:
        """Retry while that helps. With `once`, a request that may have succeeded raises `UnknownOutcome`; with
        `may_be_unlisted`, so does a status that means the server lacks the endpoint.
        """
        for attempt in range(1, self.model.limits.attempts + 1):
            result = run_awaitable(self._send_in_session(send))
            if not isinstance(result, Trouble):
                return result
            trouble = result
            if may_be_unlisted and trouble.status in {404, 405}:
                raise UnknownOutcome("the server does not list its batches")
            if trouble.kind not in {"again", "busy"}:
                break
            if once and trouble.kind == "again" and not trouble.is_unconnected:
                raise UnknownOutcome(trouble.message)
            if attempt < self.model.limits.attempts:
                self.sleep(self._retry_wait(trouble, attempt))
        raise ModelError(self._error_sentence(trouble))

    async def _send_in_session(self, send: Sender) -> Any:
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=self.model.limits.timeout)
        proxy = proxy_for(self.model.url)
        try:
            async with aiohttp.ClientSession(timeout=timeout, proxy=proxy) as session:
                return await send(session)
        except aiohttp.ClientConnectorError as error:
            return Trouble("again", f"no connection ({error.strerror or error})", is_unconnected=True)
        except (aiohttp.ClientError, TimeoutError) as error:
            return Trouble("again", f"the connection broke off ({type(error).__name__})")

    def _retry_wait(self, trouble: Trouble, attempt: int) -> float:
        if trouble.wait is not None:
            return trouble.wait
        return random.uniform(0, min(LONGEST_WAIT, self.model.limits.backoff * 2.0**attempt))

    def _error_sentence(self, trouble: Trouble) -> str:
        server, model, secret = f"the batch service at {self.model.url}", self.model, self._secret
        if trouble.status in {404, 405}:
            reason = f"{server} does not know what was asked of it ({trouble.message}); does this server take batches?"
        elif trouble.complaint is not None and trouble.kind not in {"again", "busy"}:
            reason = error_meanings.describe_complaint(
                trouble.status, trouble.complaint, server=server, model=model.model, key=model.key.hint
            )
        else:
            reason = f"{server} did not do it ({trouble.message}); the same command goes on from here"
        return mask_secrets(reason, [secret])


def read_count(value: Mapping[str, Any], name: str) -> int:
    """Return a count that the server sends as a number, as digits, or not at all."""
    return int(value.get(name) or 0)
