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
    RequestBody,
    is_same_origin,
    read_count,
)
from fullbench.models.net.http_response_parser import Exchange
from fullbench.models.wire.reply_parsing import Trouble, trouble_from_response
from fullbench.models.wire.server_url_checks import fault_of

_MEDIA = "application/jsonl"


class GeminiBatches(BatchServer):
    """Batch service of Google's Gemini API. The token is part of the batch's display name."""

    def prepare(self, order: BatchOrder) -> BatchOrder:
        """Upload the file; the server keeps it for two days."""

        async def send() -> Any:
            upload_url = await self._request_upload_url(order)
            if isinstance(upload_url, Trouble):
                return upload_url
            headers = {"X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0"}
            return await self._request_json("POST", upload_url, RequestBody.from_file(order.path, _MEDIA), headers)

        return replace(order, file=str(self._send_with_retries(send)["file"]["name"]))

    async def _request_upload_url(self, order: BatchOrder) -> str | Trouble:
        """Return the upload URL that the server names; it must be on the same server."""
        root, _, version = self.model.url.rpartition("/")
        headers = self._headers | {
            "X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(order.path.stat().st_size),
            "X-Goog-Upload-Header-Content-Type": _MEDIA,
        }  # fmt: skip
        about = {"file": {"displayName": _display_name(order), "mimeType": _MEDIA}}
        url, exchange = f"{root}/upload/{version}/files", Exchange()
        await self._run_exchange("POST", url, headers, exchange, RequestBody.from_json(about))
        if exchange.status != 200:
            return trouble_from_response(exchange.status, exchange.body, exchange.headers)
        upload_url = exchange.headers.get("x-goog-upload-url", "")
        if fault_of(upload_url) is not None or not is_same_origin(upload_url, self.model.url):
            return Trouble("model", f"the server named no place of its own for the file ({upload_url or 'none'})")
        return upload_url

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
