"""OpenAI's batches: a file goes up, a batch is made of it, and what came of it goes down again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp

from fullbench.models.batch_services.base import PAGE, BatchServer, Order, Sent, Standing, count
from fullbench.models.wire.batch_lines import ENDPOINT

TOKEN = "fullbench"  # noqa: S105


class OpenAIBatches(BatchServer):
    """OpenAI's service, and every server's that has `/files` and `/batches`."""

    def prepare(self, order: Order) -> Order:
        """Send the file. Sent twice, it is two files of which one is never used."""

        async def send(session: aiohttp.ClientSession) -> Any:
            with order.path.open("rb") as file:
                form = aiohttp.FormData({"purpose": "batch"})
                name = f"fullbench-{order.token}.jsonl"
                form.add_field("file", file, filename=name, content_type="application/jsonl")
                return await self._json(session, "POST", f"{self.model.url}/files", data=form)

        return replace(order, file=str(self._tried(send)["id"]))

    def create(self, order: Order) -> str:
        body = {
            "input_file_id": order.file, "endpoint": ENDPOINT, "completion_window": "24h",
            "metadata": {TOKEN: order.token},
        }  # fmt: skip
        return str(self._ask("POST", "batches", once=True, json=body)["id"])

    def find(self, order: Order) -> Sent | None:
        after = ""
        while True:
            page = self._ask("GET", f"batches?limit={PAGE}{after}", unlisted=True)
            for batch in page["data"]:
                if (batch.get("metadata") or {}).get(TOKEN) == order.token:
                    return Sent(str(batch["id"]))
            if not page.get("has_more") or not page["data"]:
                return None
            after = f"&after={page['data'][-1]['id']}"

    def standing(self, batch: str) -> Standing:
        payload = self._ask("GET", f"batches/{batch}")
        counts = payload.get("request_counts") or {}
        faults = (payload.get("errors") or {}).get("data") or []
        note = "; ".join(str(fault.get("message")) for fault in faults[:3] if isinstance(fault, Mapping))
        return Standing(
            str(payload["status"]), count(counts, "total"), count(counts, "completed"), count(counts, "failed"),
            payload.get("output_file_id"), payload.get("error_file_id"), note,
        )  # fmt: skip

    def fetch(self, file: str, to: Path) -> None:
        self._download(f"files/{file}/content", to)

    def cancel(self, batch: str) -> None:
        self._ask("POST", f"batches/{batch}/cancel")
