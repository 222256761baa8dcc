"""OpenAI's batches: upload a file, create a batch from it, download the results."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
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
from fullbench.models.wire.batch_lines import ENDPOINT

TOKEN = "fullbench"  # noqa: S105


class OpenAIBatches(BatchServer):
    """Batch service of OpenAI and of every server that has `/files` and `/batches`."""

    def prepare(self, order: BatchOrder) -> BatchOrder:
        """Upload the file. A second upload leaves one file unused."""

        async def send() -> Any:
            return await self._sender.send_for_json("POST", f"{self.model.url}/files", _upload_form(order))

        return replace(order, file=str(self._send_with_retries(send)["id"]))

    def create(self, order: BatchOrder) -> str:
        body = {
            "input_file_id": order.file, "endpoint": ENDPOINT, "completion_window": "24h",
            "metadata": {TOKEN: order.token},
        }  # fmt: skip
        return str(self._call_server("POST", "batches", once=True, json=body)["id"])

    def find(self, order: BatchOrder) -> CreatedBatch | None:
        after = ""
        while True:
            page = self._call_server("GET", f"batches?limit={PAGE_SIZE}{after}", may_be_unlisted=True)
            for batch in page["data"]:
                if (batch.get("metadata") or {}).get(TOKEN) == order.token:
                    return CreatedBatch(str(batch["id"]))
            if not page.get("has_more") or not page["data"]:
                return None
            after = f"&after={page['data'][-1]['id']}"

    def fetch_status(self, batch: str) -> BatchStatus:
        payload = self._call_server("GET", f"batches/{batch}")
        counts = payload.get("request_counts") or {}
        error_entries = (payload.get("errors") or {}).get("data") or []
        note = "; ".join(str(entry.get("message")) for entry in error_entries[:3] if isinstance(entry, Mapping))
        return BatchStatus(
            str(payload["status"]),
            read_count(counts, "total"),
            read_count(counts, "completed"),
            read_count(counts, "failed"),
            payload.get("output_file_id"),
            payload.get("error_file_id"),
            note,
        )

    def fetch(self, file: str, to: Path) -> None:
        self._download(f"files/{file}/content", to)

    def cancel(self, batch: str) -> None:
        self._call_server("POST", f"batches/{batch}/cancel")


def _upload_form(order: BatchOrder) -> RequestBody:
    """Return a form of two fields, the purpose and the file. No file contains the random boundary."""
    boundary = secrets.token_hex(16)
    disposition = f"--{boundary}\r\nContent-Disposition: form-data; name="
    before = (
        f'{disposition}"purpose"\r\n\r\nbatch\r\n'
        f'{disposition}"file"; filename="fullbench-{order.token}.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n'
    )
    after = f"\r\n--{boundary}--\r\n"
    media_type = f"multipart/form-data; boundary={boundary}"
    return RequestBody.from_file(order.path, media_type, before=before.encode(), after=after.encode())
