"""A server's batch service: files go up, a batch is made of them, and what came of it goes down again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from yarl import URL

from fullbench.core.errors import ModelError
from fullbench.core.writers import replacing
from fullbench.models import complaints
from fullbench.models.batches import ENDPOINT
from fullbench.models.chat import ChatModel
from fullbench.models.prices import is_local
from fullbench.models.replies import Trouble, refusal
from fullbench.models.streaming import complete
from fullbench.models.transport import CONNECT_SECONDS, LONGEST_WAIT, proxy_for

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
TOKEN = "fullbench"  # noqa: S105
_PAGE = 100
_CHUNK = 1 << 20
Sender = Callable[[aiohttp.ClientSession], Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class Standing:
    """How a batch stands: the server's word for it, how many requests are done and failed, and where the files are."""

    status: str
    total: int = 0
    done: int = 0
    failed: int = 0
    output: str | None = None
    errors: str | None = None
    note: str = ""

    @classmethod
    def read(cls, payload: Mapping[str, Any]) -> Standing:
        counts = payload.get("request_counts") or {}
        faults = (payload.get("errors") or {}).get("data") or []
        note = "; ".join(str(fault.get("message")) for fault in faults[:3] if isinstance(fault, Mapping))
        return cls(
            str(payload["status"]), counts.get("total") or 0, counts.get("completed") or 0, counts.get("failed") or 0,
            payload.get("output_file_id"), payload.get("error_file_id"), note,
        )  # fmt: skip


@dataclass
class Unsure(Exception):
    """A request that changes something at the server, and of which it is not known whether it did."""

    why: str


@dataclass(frozen=True)
class BatchServer:
    """The batch service of the server that a model is asked at. What fails is tried again, as calls are."""

    model: ChatModel
    sleep: Callable[[float], None] = time.sleep
    _key: list[str | None] = field(default_factory=list, init=False, repr=False)

    @property
    def _secret(self) -> str | None:
        if not self._key:
            url = self.model.url
            self._key.append(self.model.key.read(needed=not is_local(url), server=f"the server at {url}"))
        return self._key[0]

    def upload(self, path: Path, name: str) -> str:
        """Send a file of requests; its id. Sent twice, it is two files of which one is never used."""

        async def send(session: aiohttp.ClientSession) -> Any:
            with path.open("rb") as file:
                form = aiohttp.FormData({"purpose": "batch"})
                form.add_field("file", file, filename=name, content_type="application/jsonl")
                return await self._json(session, "POST", "files", data=form)

        return str(self._tried(send)["id"])

    def create(self, file: str, token: str) -> str:
        """Make a batch of a file, marked with `token` so that it can be found; its id. Raises `Unsure`."""
        body = {
            "input_file_id": file, "endpoint": ENDPOINT, "completion_window": "24h", "metadata": {TOKEN: token},
        }  # fmt: skip

        async def send(session: aiohttp.ClientSession) -> Any:
            return await self._json(session, "POST", "batches", json=body)

        return str(self._tried(send, once=True)["id"])

    def find(self, token: str) -> str | None:
        """The id of the batch that bears this token; None where the server has none. `Unsure` where it lists none."""
        after = ""
        while True:

            async def send(session: aiohttp.ClientSession, after: str = after) -> Any:
                return await self._json(session, "GET", f"batches?limit={_PAGE}{after}")

            page = self._tried(send, unlisted=True)
            for batch in page["data"]:
                if (batch.get("metadata") or {}).get(TOKEN) == token:
                    return str(batch["id"])
            if not page.get("has_more") or not page["data"]:
                return None
            after = f"&after={page['data'][-1]['id']}"

    def standing(self, batch: str) -> Standing:
        """How a batch stands."""

        async def send(session: aiohttp.ClientSession) -> Any:
            return await self._json(session, "GET", f"batches/{batch}")

        return Standing.read(self._tried(send))

    def download(self, file: str, to: Path) -> None:
        """Fetch a file, whole or not at all."""

        async def send(session: aiohttp.ClientSession) -> Any:
            async with session.get(f"{self.model.url}/files/{file}/content") as response:
                if response.status != 200:
                    return refusal(response.status, await response.read(), response.headers)
                with replacing(to) as part, part.open("wb") as out:
                    async for chunk in response.content.iter_chunked(_CHUNK):
                        out.write(chunk)
            return {}

        self._tried(send)

    async def _json(self, session: aiohttp.ClientSession, method: str, path: str, **rest: Any) -> Any:
        url = f"{self.model.url}/{path}"
        async with session.request(method, url, allow_redirects=False, **rest) as response:
            raw = await response.read()
            if response.status != 200:
                return refusal(response.status, raw, response.headers)
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            return Trouble("again", "200 with a broken body")

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
        dialect, limits = self.model.dialect, self.model.limits
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=limits.timeout)
        headers, proxy = dialect.headers(self._secret), proxy_for(URL(self.model.url))
        try:
            async with aiohttp.ClientSession(headers=headers, timeout=timeout, proxy=proxy) as session:
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
            said = f"{server} does not know what was asked of it ({trouble.message}); does this server take batches?"
        elif trouble.complaint is not None and trouble.kind not in {"again", "busy"}:
            said = complaints.sentence(
                trouble.status, trouble.complaint, server=server, model=model.model, key=model.key.hint
            )
        else:
            said = f"{server} did not do it ({trouble.message}); the same command goes on from here"
        return said.replace(secret, "***") if secret else said
