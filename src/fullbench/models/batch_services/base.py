"""`BatchServer`, the base class of batch services, with their retries and downloads."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urljoin

from fullbench.errors import ModelError
from fullbench.files.row_writers import replace_atomically
from fullbench.models.chat_model import ChatModel
from fullbench.models.model_prices import is_local
from fullbench.models.net import error_meanings
from fullbench.models.net.concurrent_calls import run_awaitable
from fullbench.models.net.http_client import NoConnection, ProxyRefusal
from fullbench.models.net.http_response_parser import BrokenOff, Exchange, NoHttp
from fullbench.models.net.large_requests import RequestBody, RequestSender, is_same_origin
from fullbench.models.net.retries import LONGEST_WAIT
from fullbench.models.wire.reply_parsing import Trouble, trouble_from_response
from fullbench.models.wire.server_url_checks import fault_of
from fullbench.models.wire.untrusted_json import TooLarge
from fullbench.secret_masking_and_text_escapes import mask_secret_in_bytes, mask_secrets

ENDED_STATUSES = frozenset({"completed", "failed", "expired", "cancelled"})
PAGE_SIZE = 100
# Services store result files with another provider; the key is not sent there.
_REDIRECTS = 5
_LONGEST_LINE = 64 << 20
"""A longer line is written in parts, so that it needs no more memory."""
_URL_CHARACTERS = "!#$%&'()*+,/:;=?@[]~"
_REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
Sender = Callable[[], Coroutine[Any, Any, Any]]


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
        self, method: str, path: str, *, once: bool = False, may_be_unlisted: bool = False, json: Any = None
    ) -> Any:
        async def send() -> Any:
            body = None if json is None else RequestBody.from_json(json)
            return await self._sender.send_for_json(method, f"{self.model.url}/{path}", body)

        return self._send_with_retries(send, once=once, may_be_unlisted=may_be_unlisted)

    @property
    def _sender(self) -> RequestSender:
        secret = self._secret
        hide = partial(mask_secret_in_bytes, secret=secret)
        return RequestSender(self.model.dialect.headers(secret), self.model.limits.timeout, hide)

    def _download(self, path: str, to: Path) -> None:
        """Download a file, completely or not at all. The key is not sent to other servers after a redirect."""

        async def send() -> Any:
            home = url = f"{self.model.url}/{path}"
            for _ in range(_REDIRECTS):
                exchange = await self._fetch_file(url, self._headers if is_same_origin(url, home) else {}, to)
                location = exchange.headers.get("location")
                if exchange.status in _REDIRECT_STATUSES and location is not None:
                    url = urljoin(url, quote(location, safe=_URL_CHARACTERS))
                    if fault_of(url) is not None:
                        return Trouble("model", f"the server sends us to {url[:200]!r}, which is no http address")
                elif exchange.status != 200:
                    return trouble_from_response(exchange.status, exchange.body, exchange.headers)
                elif _is_packed(exchange):
                    return Trouble("model", "the server sends a compressed file, which was not requested")
                else:
                    return {}
            return Trouble("model", "the server sends us round in circles")

        self._send_with_retries(send)

    async def _fetch_file(self, url: str, headers: Mapping[str, str], to: Path) -> Exchange:
        """Send one request for a file, and store it if the status is 200."""
        with suppress(_NotServed), replace_atomically(to) as part, part.open("wb") as out:
            lines = _MaskedLines(out, self._secret)
            exchange = Exchange(sink=lines.write)
            await self._sender.send("GET", url, exchange, headers=headers)
            lines.finish()
            if exchange.status != 200 or _is_packed(exchange):
                raise _NotServed
        return exchange

    def _send_with_retries(self, send: Sender, *, once: bool = False, may_be_unlisted: bool = False) -> Any:
        """Retry while that helps. With `once`, a request that may have succeeded raises `UnknownOutcome`; with
        `may_be_unlisted`, so does a status that means the server lacks the endpoint.
        """
        for attempt in range(1, self.model.limits.attempts + 1):
            result = run_awaitable(self._send_once(send))
            if not isinstance(result, Trouble):
                return result
            trouble = result
            if may_be_unlisted and trouble.status in {404, 405}:
                raise UnknownOutcome("the server does not list its batches")
            if trouble.kind not in {"again", "busy"} or 300 <= trouble.status < 400:
                break
            if once and trouble.kind == "again" and not trouble.is_unconnected:
                raise UnknownOutcome(trouble.message)
            if attempt < self.model.limits.attempts:
                self.sleep(self._retry_wait(trouble, attempt))
        raise ModelError(self._error_sentence(trouble))

    async def _send_once(self, send: Sender) -> Any:
        try:
            return await send()
        except ProxyRefusal as error:
            raise ModelError(
                error_meanings.describe_proxy_refusal(f"the batch service at {self.model.url}", str(error))
            ) from error
        except NoConnection as error:
            return Trouble("again", str(error), is_unconnected=True)
        except (BrokenOff, NoHttp, TooLarge) as error:
            return Trouble("again", f"the connection broke off ({error})")

    def _retry_wait(self, trouble: Trouble, attempt: int) -> float:
        if trouble.wait is not None:
            return trouble.wait
        return random.uniform(0, min(LONGEST_WAIT, self.model.limits.backoff * 2.0**attempt))

    def _error_sentence(self, trouble: Trouble) -> str:
        server, model, secret = f"the batch service at {self.model.url}", self.model, self._secret
        if trouble.status in {404, 405}:
            reason = f"{server} does not know what was asked of it ({trouble.message}); does this server take batches?"
        elif trouble.complaint is not None and (trouble.kind not in {"again", "busy"} or 300 <= trouble.status < 400):
            reason = error_meanings.describe_complaint(
                trouble.status, trouble.complaint, server=server, model=model.model, key=model.key.hint
            )
        else:
            reason = f"{server} did not do it ({trouble.message}); the same command goes on from here"
        return mask_secrets(reason, [secret])


class _MaskedLines:
    """Lines written to a file, with the key masked in case the server repeats it."""

    def __init__(self, file: IO[bytes], secret: str | None) -> None:
        self._file, self._secret = file, secret
        self._waiting = bytearray()

    def write(self, part: bytes) -> None:
        end = part.rfind(b"\n") + 1
        if not end and len(self._waiting) < _LONGEST_LINE:
            self._waiting += part
            return
        self._file.write(mask_secret_in_bytes(bytes(self._waiting) + part[:end], self._secret))
        self._waiting[:] = part[end:]

    def finish(self) -> None:
        self._file.write(mask_secret_in_bytes(bytes(self._waiting), self._secret))


class _NotServed(Exception):
    """The reply to a request for a file contains no file."""


def _is_packed(exchange: Exchange) -> bool:
    return exchange.headers.get("content-encoding", "identity").lower() not in {"", "identity"}


def read_count(value: Mapping[str, Any], name: str) -> int:
    """Return a count that the server sends as a number, as digits, or not at all."""
    return int(value.get(name) or 0)
