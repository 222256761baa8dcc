"""Gemini's batch mode: a file goes up in two steps, a batch is made of it under a name, and a file comes down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from fullbench.models.batch_services.base import PAGE, BatchServer, Order, Sent, Standing, count
from fullbench.models.wire.reply_parsing import Trouble, refusal

_MEDIA = "application/jsonl"


class GeminiBatches(BatchServer):
    """The service of Google's Gemini API. The token is in the name that a batch is given."""

    def prepare(self, order: Order) -> Order:
        """Send the file; the server keeps it for two days."""

        async def send(session: aiohttp.ClientSession) -> Any:
            place = await self._place(session, order)
            if isinstance(place, Trouble):
                return place
            headers = {
                "X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0",
                "Content-Length": str(order.path.stat().st_size),
            }  # fmt: skip
            with order.path.open("rb") as file:
                return await self._json(session, "POST", place, headers=headers, data=file)

        return replace(order, file=str(self._tried(send)["file"]["name"]))

    async def _place(self, session: aiohttp.ClientSession, order: Order) -> str | Trouble:
        """Where the bytes go: the server says so, and only a place of its own is taken."""
        root, _, version = self.model.url.rpartition("/")
        headers = self._headers | {
            "X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(order.path.stat().st_size),
            "X-Goog-Upload-Header-Content-Type": _MEDIA,
        }  # fmt: skip
        about = {"file": {"displayName": _name(order), "mimeType": _MEDIA}}
        url = f"{root}/upload/{version}/files"
        async with session.post(url, headers=headers, json=about, allow_redirects=False) as response:
            raw = await response.read()
            if response.status != 200:
                return refusal(response.status, raw, response.headers)
            place = response.headers.get("X-Goog-Upload-URL", "")
        if not place or URL(place).origin() != URL(self.model.url).origin():
            return Trouble("model", f"the server named no place of its own for the file ({place or 'none'})")
        return place

    def create(self, order: Order) -> str:
        body = {"batch": {"displayName": _name(order), "inputConfig": {"fileName": order.file}}}
        path = f"models/{quote(self.model.model)}:batchGenerateContent"
        return str(self._ask("POST", path, once=True, json=body)["name"])

    def find(self, order: Order) -> Sent | None:
        token = ""
        while True:
            page = self._ask("GET", f"batches?pageSize={PAGE}{token}", unlisted=True)
            for batch in page.get("operations") or ():
                if (batch.get("metadata") or {}).get("displayName") == _name(order):
                    return Sent(str(batch["name"]))
            if not page.get("nextPageToken"):
                return None
            token = f"&pageToken={quote(page['nextPageToken'], safe='')}"

    def standing(self, batch: str) -> Standing:
        payload = self._ask("GET", batch)
        about = payload.get("metadata") or {}
        stats = about.get("batchStats") or {}
        state = str(about.get("state") or "").removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_").lower()
        output = payload.get("response") or about.get("output") or {}
        return Standing(
            "completed" if state == "succeeded" else state or "pending", count(stats, "requestCount"),
            count(stats, "successfulRequestCount"), count(stats, "failedRequestCount"), output.get("responsesFile"),
            note=str((payload.get("error") or {}).get("message") or ""),
        )  # fmt: skip

    def fetch(self, file: str, to: Path) -> None:
        self._download(f"{file}:download?alt=media", to)

    def cancel(self, batch: str) -> None:
        self._ask("POST", f"{batch}:cancel")


def _name(order: Order) -> str:
    return f"fullbench-{order.token}"
