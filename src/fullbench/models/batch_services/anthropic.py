"""Anthropic's Message Batches: requests are sent when the batch is created; results come in one file.

A batch carries no token of ours. One whose creation is in doubt is recognised by its content: it is newer than the
batch seen before, has as many requests and, once ended, returns our request names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fullbench.models.batch_services.base import (
    PAGE_SIZE,
    BatchOrder,
    BatchServer,
    BatchStatus,
    CreatedBatch,
    read_count,
)
from fullbench.models.net.large_requests import RequestBody
from fullbench.models.wire.batch_lines import parse_batch_line

_OPENING, _CLOSING = b'{"requests":[', b"]}"
_STATES = ("processing", "succeeded", "errored", "canceled", "expired")


class AnthropicBatches(BatchServer):
    """Anthropic's batch service."""

    def prepare(self, order: BatchOrder) -> BatchOrder:
        """Note the newest existing batch: the batch of this order will be newer."""
        page = self._call_server("GET", "messages/batches?limit=1")
        return replace(order, previous_batch=str(page["data"][0]["id"]) if page["data"] else "")

    def create(self, order: BatchOrder) -> str:
        # Each line break becomes a comma, except the last one, which is dropped.
        size = order.path.stat().st_size + len(_OPENING) + len(_CLOSING) - 1
        body = RequestBody("application/json", size, lambda: _stream_body(order.path))

        async def send() -> Any:
            return await self._sender.send_for_json("POST", f"{self.model.url}/messages/batches", body)

        return str(self._send_with_retries(send, once=True)["id"])

    def find(self, order: BatchOrder) -> CreatedBatch | None:
        unconfirmed_batch = None
        for batch in self._list_newer_batches(order.previous_batch):
            if batch["id"] in order.foreign_batches or _count_requests(batch) != order.requests:
                continue
            if batch["processing_status"] != "ended":
                unconfirmed_batch = unconfirmed_batch or CreatedBatch(str(batch["id"]), is_confirmed=False)
            elif self._is_batch_of_order(str(batch["id"]), order):
                return CreatedBatch(str(batch["id"]))
        return unconfirmed_batch

    def fetch_status(self, batch: str) -> BatchStatus:
        payload = self._call_server("GET", f"messages/batches/{batch}")
        counts = payload.get("request_counts") or {}
        total, succeeded_count = _count_requests(payload), read_count(counts, "succeeded")
        if payload["processing_status"] != "ended":
            return BatchStatus(str(payload["processing_status"]), total)
        status = (
            "cancelled"
            if read_count(counts, "canceled")
            else "expired"
            if read_count(counts, "expired")
            else "completed"
        )
        return BatchStatus(status, total, succeeded_count, total - succeeded_count, output=batch)

    def fetch(self, file: str, to: Path) -> None:
        self._download(f"messages/batches/{file}/results", to)

    def cancel(self, batch: str) -> None:
        self._call_server("POST", f"messages/batches/{batch}/cancel")

    def _list_newer_batches(self, before: str) -> Iterator[Mapping[str, Any]]:
        after = ""
        while True:
            page = self._call_server("GET", f"messages/batches?limit={PAGE_SIZE}{after}", may_be_unlisted=True)
            for batch in page["data"]:
                if batch["id"] == before:
                    return
                yield batch
            if not page.get("has_more") or not page["data"]:
                return
            after = f"&after_id={page['data'][-1]['id']}"

    def _is_batch_of_order(self, batch: str, order: BatchOrder) -> bool:
        with order.path.open("rb") as file:
            request_names = {request[0] for line in file if (request := parse_batch_line(line))}
        with TemporaryDirectory() as folder:
            results = Path(folder) / "results.jsonl"
            self.fetch(batch, results)
            with results.open("rb") as file:
                return any(request[0] in request_names for line in file if (request := parse_batch_line(line)))


def _count_requests(batch: Mapping[str, Any]) -> int:
    counts = batch.get("request_counts") or {}
    return sum(read_count(counts, state) for state in _STATES)


def _stream_body(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        opening = _OPENING
        for line in file:
            yield opening + line.rstrip(b"\n")
            opening = b","
    yield _CLOSING
