"""Gemini's batch mode: the upload takes two steps, the batch gets a display name, and results come in one file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from fullbench.models.batch_services.base import (
    PAGE_SIZE,
    BatchOrder,
    BatchServer,
    BatchStatus,
    CreatedBatch,
    read_count,
)
from fullbench.models.wire.reply_parsing import Trouble, trouble_from_response

_MEDIA = "application/jsonl"


class GeminiBatches(BatchServer):
    """Batch service of Google's Gemini API. The token is part of the batch's display name."""

    def prepare(self, order: BatchOrder) -> BatchOrder:
        """Upload the file; the server keeps it for two days."""

        async def send(session: aiohttp.ClientSession) -> Any:
            upload_url = await self._request_upload_url(session, order)
            if isinstance(upload_url, Trouble):
                return upload_url
            headers = {
                "X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0",
                "Content-Length": str(order.path.stat().st_size),
            }  # fmt: skip
            with order.path.open("rb") as file:
                return await self._request_json(session, "POST", upload_url, headers=headers, data=file)

        return replace(order, file=str(self._send_with_retries(send)["file"]["name"]))

    async def _request_upload_url(self, session: aiohttp.ClientSession, order: BatchOrder) -> str | Trouble:
        """Return the upload URL that the server names; it must be on the same server."""
        root, _, version = self.model.url.rpartition("/")
        headers = self._headers | {
            "X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(order.path.stat().st_size),
            "X-Goog-Upload-Header-Content-Type": _MEDIA,
        }  # fmt: skip
        about = {"file": {"displayName": _display_name(order), "mimeType": _MEDIA}}
        url = f"{root}/upload/{version}/files"
        async with session.post(url, headers=headers, json=about, allow_redirects=False) as response:
            raw = await response.read()
            if response.status != 200:
                return trouble_from_response(response.status, raw, response.headers)
            upload_url = response.headers.get("X-Goog-Upload-URL", "")
        if not upload_url or URL(upload_url).origin() != URL(self.model.url).origin():
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
