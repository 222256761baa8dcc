"""Frames, pages and sounds that earlier calls sent, found in a ledger: a later call sends the same bytes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fullbench.models.wire.video_frames_and_document_pages import Stills

if TYPE_CHECKING:
    from fullbench.ledger.ledger import Ledger

SentStills = dict[tuple[str, str], tuple[str, list[Any]]]
"""Sentence on the whole and parts of the prompt, by the digest of a file and the rule."""


class StoredStills:
    """Index of the frames and pages in a ledger by the digest of their file and the rule; built on first use."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._index: SentStills | None = None

    def __call__(self, digest: str, rule: str) -> Stills | None:
        """Return what was sent for a file under a rule, or None if no call has sent it."""
        with self._lock:
            if self._index is None:
                self._index = index_sent_stills(self._ledger.sent_texts_with_frames())
        stored = self._index.get((digest, rule))
        if stored is None:
            return None
        summary, parts = stored
        rows = []
        for part in parts:
            name = part.get("picture") or part["audio"]
            rows.append((name, part["type"], self._ledger.media(name).source, part["place"]))
        return Stills.from_rows(summary, rows, digest, rule)


def index_sent_stills(sent_texts: Iterable[str]) -> SentStills:
    """Return what prompts sent in place of each file, from their texts as `core.model.sent_text` writes them."""
    index: SentStills = {}
    for text in sent_texts:
        for turn in json.loads(text)["turns"]:
            stored_frames: SentStills = {}
            for place, part in enumerate(turn["parts"]):
                if isinstance(part, dict) and "of" in part:
                    # The sentence on the whole comes before the first frame and its time.
                    summary = str(turn["parts"][place - 2]).strip()[1:-1]
                    parts = stored_frames.setdefault((part["of"], part["rule"]), (summary, []))[1]
                    if part["place"] not in {earlier["place"] for earlier in parts}:
                        parts.append(part)
            for key, stills in stored_frames.items():
                index.setdefault(key, stills)
    return index
