"""Gemini's batch mode: the upload takes two steps, the batch gets a display name, and results come in one file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fullbench.models.batch_services.base import (
    PAGE_SIZE,
    BatchOrder,
    BatchServer,
    BatchStatus,
    CreatedBatch,
    read_count,
)
from fullbench.models.net.large_requests import RequestBody

_MEDIA = "application/jsonl"


class GeminiBatches(BatchServer):
    """Batch service of Google's Gemini API. The token is part of the batch's display name."""

    def prepare(self, order: BatchOrder) -> BatchOrder:
        """Upload the file; the server keeps it for two days."""

        async def send() -> Any:
            return await self._sender.upload_to_google(
                self.model.url, RequestBody.from_file(order.path, _MEDIA), _display_name(order)
            )

        return replace(order, file=str(self._send_with_retries(send)["name"]))

    def create(self, order: BatchOrder) -> str:
        body = {"batch": {"displayName": _display_name(order), "inputConfig": {"fileName": order.file}}}
        path = f"models/{quote(self.model.model)}:batchGenerateContent"
        return str(self._call_server("POST", path, once=True, json=body)["name"])

    def find(self, order: BatchOrder) -> CreatedBatch | None:
        token = ""
        while True:
            page = self._call_server("GET", f"batches?pageSize={PAGE_SIZE}{token}", may_be_unlisted=True)
            for batch in page.get("operations") or ():
                if (batch.get("metadata") or {}).get("displayName") == _display_name(order):
                    return CreatedBatch(str(batch["name"]))
            if not page.get("nextPageToken"):
                return None
            token = f"&pageToken={quote(page['nextPageToken'], safe='')}"

    def fetch_status(self, batch: str) -> BatchStatus:
        payload = self._call_server("GET", batch)
        about = payload.get("metadata") or {}
        stats = about.get("batchStats") or {}
        state = str(about.get("state") or "").removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_").lower()
        output = payload.get("response") or about.get("output") or {}
        return BatchStatus(
            "completed" if state == "succeeded" else state or "pending",
            read_count(stats, "requestCount"),
            read_count(stats, "successfulRequestCount"),
            read_count(stats, "failedRequestCount"),
            output.get("responsesFile"),
            note=str((payload.get("error") or {}).get("message") or ""),
        )

    def fetch(self, file: str, to: Path) -> None:
        self._download(f"{file}:download?alt=media", to)

    def cancel(self, batch: str) -> None:
        self._call_server("POST", f"{batch}:cancel")


def _display_name(order: BatchOrder) -> str:
    return f"fullbench-{order.token}"
