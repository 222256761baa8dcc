"""Mailbox of a batch study: looks up replies in files, and writes the missing requests."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.model import Prompt, Reply, sent_text
from fullbench.core.model_call import NOTHING
from fullbench.core.picture import Frame, Sound
from fullbench.core.verdict import Failure
from fullbench.errors import InputError
from fullbench.models.chat_model import ChatModel
from fullbench.models.wire.batch_lines import BATCH_PRICE_SHARE, parse_batch_line, reply_from_line, request_line
from fullbench.models.wire.video_frames_and_document_pages import Stills
from fullbench.studies.batches.batch_folders import (
    NAMES,
    REQUESTS,
    SENT,
    STILLS,
    BatchFolder,
    BatchState,
    BatchStore,
)
from fullbench.studies.engines.frames_and_pages_in_ledger import SentStills, index_sent_stills

# The lowest limits of the services: OpenAI's, for requests and for bytes of one batch.
REQUESTS_MAX = 50_000
BYTES_MAX = 200_000_000


@dataclass(frozen=True)
class FileLimits:
    """Limits of one request file. The defaults are OpenAI's."""

    requests: int = REQUESTS_MAX
    size: int = BYTES_MAX


@dataclass(frozen=True, slots=True)
class _LinePosition:
    folder: BatchFolder
    path: Path
    offset: int


class RequestContext:
    """The judge or contestant that sends requests, its current task, and its failures in the ledger."""

    def __init__(self, asks: str, failures: Iterable[Failure] = (), formers: Iterable[str] = ()) -> None:
        """`formers` are earlier names of the judge or contestant, which open requests may still use."""
        self.asks = asks
        self.failed_usage = NOTHING
        self._tails = [digest(name)[:8] for name in dict.fromkeys((asks, *formers))]
        self._at = ("", 0)
        self._errors_by_task: dict[tuple[str, int], list[str]] = {}
        for failure in failures:
            self._errors_by_task.setdefault((failure.case, failure.trial), []).append(failure.error)

    def set_task(self, key: str, trial: int) -> None:
        """Set the current case or item."""
        self._at = (key, trial)

    def names(self, prompt: Prompt) -> list[str]:
        """Return possible names of a request, the current one first.

        A name has the case or item, the trial, and digests of the sender's name and of the prompt.
        """
        return [f"{self._at[0]}-{self._at[1]}-{tail}-{prompt.digest[:8]}" for tail in self._tails]

    def knows(self, error: str) -> bool:
        """Return True if this failure of the current task is in the ledger."""
        return any(stored_error.endswith(error) for stored_error in self._errors_by_task.get(self._at, ()))


@dataclass
class PassCounts:
    """Counts of a pass: requests written or waiting, unreadable lines, unknown and repeated replies."""

    written_requests: int = 0
    waiting: int = 0
    due: int = 0
    unreadable: int = 0
    unknown: int = 0
    second: int = 0


@dataclass
class Mailbox:
    """Returns the reply to each request if there is one; writes the other requests if `writing` is set.

    A failed line is returned once, so that it becomes a failure in the ledger. After that its request is due again.
    """

    store: BatchStore
    rate: float = BATCH_PRICE_SHARE
    size: FileLimits = field(default_factory=FileLimits)
    writing: bool = False
    count: PassCounts = field(default_factory=PassCounts)
    new_batches: list[BatchFolder] = field(default_factory=list)
    _places: dict[str, list[_LinePosition]] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)
    _files: dict[Path, IO[bytes]] = field(default_factory=dict)
    _outs: dict[tuple[str, str], _BatchWriter] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _stills: dict[Path, SentStills] = field(default_factory=dict)

    def find_stills(self, digest: str, rule: str) -> Stills | None:
        """Return the frames, pages or sound that a request sent for a file under a rule, or None.

        Drawn again by another version of a decoder they might differ, and the reply would not be found.
        """
        for path, index in self._stills.items():
            if (stored := index.get((digest, rule))) is not None:
                summary, parts = stored
                names = [part.get("picture") or part["audio"] for part in parts]
                rows = [
                    (name, part["type"], path / STILLS / name, part["place"])
                    for name, part in zip(names, parts, strict=True)
                ]
                return Stills.from_rows(summary, rows, digest, rule)
        return None

    @contextmanager
    def open_files(self) -> Iterator[Mailbox]:
        """Index the replies; at the end, seal the new batches. An error leaves no new batch."""
        self.store.sweep()
        for folder in self.store.folders():
            if folder.is_open:
                self._open.update(folder.names())
            if sent_texts := folder.sent_texts():
                self._stills[folder.path] = index_sent_stills(sent_texts)
            for path in folder.replies:
                self._look_through(folder, path)
        try:
            yield self
            for out in self._outs.values():
                self.new_batches.append(out.seal(self.store))
        finally:
            for file in (*self._files.values(), *(out.file for out in self._outs.values())):
                file.close()
            self.store.sweep()

    def _look_through(self, folder: BatchFolder, path: Path) -> None:
        file = self._files[path] = path.open("rb")
        offset = 0
        for line in file:
            answer = parse_batch_line(line) if line.strip() else None
            if answer is not None:
                self._places.setdefault(answer[0], []).append(_LinePosition(folder, path, offset))
            elif line.strip():
                self.count.unreadable += 1
            offset += len(line)

    def reply(self, model: ChatModel, context: RequestContext, prompt: Prompt) -> Reply | None:
        """Return the reply to a prompt in this context, or None if there is none yet."""
        names = context.names(prompt)
        with self._lock:
            failed_reply = None
            for place in reversed([place for name in reversed(names) for place in self._places.get(name, ())]):
                reply = self._at(place, model, prompt)
                if reply.error is None:
                    return reply
                if not place.folder.state.is_settled and not context.knows(reply.error):
                    failed_reply = failed_reply or reply
            if self._open.intersection(names):
                self.count.waiting += 1
                return None
            if failed_reply is not None:
                return failed_reply
            if self.writing and (large_files := model.dialect.files_to_upload(prompt)):
                noun, digest = large_files[0].noun, large_files[0].digest[:12]
                reason = f"the {noun} {digest} is too large for a batch; a live call uploads it (fullbench run)"
                return Reply(prompt, error=reason)
            self._write(model, context.asks, names[0], prompt)
            return None

    def _at(self, place: _LinePosition, model: ChatModel, prompt: Prompt) -> Reply:
        file = self._files[place.path]
        file.seek(place.offset)
        answer = parse_batch_line(file.readline())
        if answer is None:
            raise InputError("this file changed while it was read; run the command again", path=place.path)
        reply = reply_from_line(model, prompt, answer[1], place.folder.state.rate)
        if reply.error is None:
            return reply
        why = f"batch {place.folder.path.name}: {reply.error}"
        return Reply(prompt, usage=reply.usage, error=why, failure=reply.failure)

    def _write(self, model: ChatModel, asks: str, name: str, prompt: Prompt) -> None:
        if not self.writing:
            self.count.due += 1
            return
        line = request_line(model, name, prompt)
        if len(line) > self.size.size:
            raise InputError(
                f"one request of {asks!r} takes {len(line):,} bytes, and a file may hold {self.size.size:,}; "
                "send smaller pictures (?pixels=...)"
            )
        key = (model.url, model.name)
        out = self._outs.get(key)
        if out is not None and (out.requests >= self.size.requests or out.bytes + len(line) > self.size.size):
            self.new_batches.append(out.seal(self.store))
            out = None
        if out is None:
            out = self._outs[key] = _BatchWriter(self.store.start(), model, self.rate)
        out.write(line, name, asks)
        out.store_stills(prompt)
        self._open.add(name)
        self.count.written_requests += 1


class _BatchWriter:
    def __init__(self, part: Path, model: ChatModel, rate: float) -> None:
        self._part, self._model, self._rate = part, model, rate
        self.file = (part / REQUESTS).open("wb")
        self._names: list[str] = []
        self._asks: dict[str, None] = {}
        self.bytes = 0
        self._stills: set[tuple[str, str]] = set()

    @property
    def requests(self) -> int:
        return len(self._names)

    def write(self, line: bytes, name: str, asks: str) -> None:
        self.file.write(line)
        self.bytes += len(line)
        self._names.append(name)
        self._asks[asks] = None

    def store_stills(self, prompt: Prompt) -> None:
        """Store the frames, pages and sounds of a prompt, each once."""
        extracts = [part for turn in prompt.turns for part in turn.media if isinstance(part, Frame | Sound)]
        new_keys = {(part.origin, part.rule) for part in extracts} - self._stills
        if not new_keys:
            return
        self._stills |= new_keys
        folder = self._part / STILLS
        folder.mkdir(exist_ok=True)
        for part in extracts:
            (folder / part.digest).write_bytes(part.cached_data())
        with (self._part / SENT).open("a", encoding="utf-8") as file:
            file.write(sent_text(prompt) + "\n")

    def seal(self, store: BatchStore) -> BatchFolder:
        self.file.close()
        (self._part / NAMES).write_text("".join(f"{name}\n" for name in self._names), encoding="ascii")
        model = self._model
        state = BatchState(model.name, model.url, tuple(self._asks), self.requests, self._rate, self._part.name[6:])
        return store.seal(self._part, state)
