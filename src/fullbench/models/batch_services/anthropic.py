"""Anthropic's Message Batches: the requests go up with the order itself, and results come down in one file.

A batch bears no mark of ours, so one whose creation was in doubt is recognised by what it is made of: it is newer than
what was there before, has as many requests, and, when it has ended, gives our names back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from fullbench.models.batch_services.base import PAGE, BatchServer, Order, Sent, Standing, count
from fullbench.models.wire.batch_lines import named

_OPENING, _CLOSING = b'{"requests":[', b"]}"
_STATES = ("processing", "succeeded", "errored", "canceled", "expired")


class AnthropicBatches(BatchServer):
    """Anthropic's service."""

    def prepare(self, order: Order) -> Order:
        """Note the newest batch that is there: whatever comes of the order is newer."""
        page = self._ask("GET", "messages/batches?limit=1")
        return replace(order, before=str(page["data"][0]["id"]) if page["data"] else "")

    def create(self, order: Order) -> str:
        size = order.path.stat().st_size + len(_OPENING) + len(_CLOSING) - 1

        async def send(session: aiohttp.ClientSession) -> Any:
            headers = {"Content-Type": "application/json", "Content-Length": str(size)}
            url = f"{self.model.url}/messages/batches"
            return await self._json(session, "POST", url, headers=headers, data=_body(order.path))

        return str(self._tried(send, once=True)["id"])

    def find(self, order: Order) -> Sent | None:
        maybe = None
        for batch in self._newer(order.before):
            if batch["id"] in order.others or _total(batch) != order.requests:
                continue
            if batch["processing_status"] != "ended":
                maybe = maybe or Sent(str(batch["id"]), sure=False)
            elif self._is(str(batch["id"]), order):
                return Sent(str(batch["id"]))
        return maybe

    def standing(self, batch: str) -> Standing:
        payload = self._ask("GET", f"messages/batches/{batch}")
        counts = payload.get("request_counts") or {}
        total, done = _total(payload), count(counts, "succeeded")
        if payload["processing_status"] != "ended":
            return Standing(str(payload["processing_status"]), total)
        status = "cancelled" if count(counts, "canceled") else "expired" if count(counts, "expired") else "completed"
        return Standing(status, total, done, total - done, output=batch)

    def fetch(self, file: str, to: Path) -> None:
        self._download(f"messages/batches/{file}/results", to)

    def cancel(self, batch: str) -> None:
        self._ask("POST", f"messages/batches/{batch}/cancel")

    def _newer(self, before: str) -> Iterator[Mapping[str, Any]]:
        """The batches that came after one, newest first."""
        after = ""
        while True:
            page = self._ask("GET", f"messages/batches?limit={PAGE}{after}", unlisted=True)
            for batch in page["data"]:
                if batch["id"] == before:
                    return
                yield batch
            if not page.get("has_more") or not page["data"]:
                return
            after = f"&after_id={page['data'][-1]['id']}"

    def _is(self, batch: str, order: Order) -> bool:
        """Whether a batch that ended is the one of this order: whether its names are ours."""
        with order.path.open("rb") as file:
            asked = {request[0] for line in file if (request := named(line))}
        with TemporaryDirectory() as folder:
            results = Path(folder) / "results.jsonl"
            self.fetch(batch, results)
            with results.open("rb") as file:
                return any(request[0] in asked for line in file if (request := named(line)))


def _total(batch: Mapping[str, Any]) -> int:
    counts = batch.get("request_counts") or {}
    return sum(count(counts, state) for state in _STATES)


async def _body(path: Path) -> AsyncIterator[bytes]:
    """The lines of a file as one list, a line at a time."""
    with path.open("rb") as file:
        opening = _OPENING
        for line in file:
            yield opening + line.rstrip(b"\n")
            opening = b","
    yield _CLOSING
