"""Replies that came back in files, and requests that are still to be sent."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from fullbench.core.call import NOTHING
from fullbench.core.digests import digest
from fullbench.core.model import Prompt, Reply
from fullbench.core.verdict import Failure
from fullbench.errors import InputError
from fullbench.models.chat_model import ChatModel
from fullbench.models.wire.batch_lines import RATE, named, reply_of, request_line
from fullbench.studies.batches.batch_folders import NAMES, REQUESTS, Folder, Shelf, State

REQUESTS_MAX = 50_000
BYTES_MAX = 200_000_000


@dataclass(frozen=True)
class Size:
    """What one file may hold. The defaults are OpenAI's."""

    requests: int = REQUESTS_MAX
    size: int = BYTES_MAX


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a line that came back lies."""

    folder: Folder
    path: Path
    offset: int


class Desk:
    """Who asks, and about what just now. `told` are the failures that the ledger knows of."""

    def __init__(self, asks: str, failures: Iterable[Failure] = (), formers: Iterable[str] = ()) -> None:
        """`formers` are names that whoever asks had before, under which requests may still be on their way."""
        self.asks = asks
        self.failed = NOTHING
        self._tails = [digest(name)[:8] for name in dict.fromkeys((asks, *formers))]
        self._at = ("", 0)
        self._told: dict[tuple[str, int], list[str]] = {}
        for failure in failures:
            self._told.setdefault((failure.case, failure.trial), []).append(failure.error)

    def sit(self, key: str, trial: int) -> None:
        """Turn to another case or item."""
        self._at = (key, trial)

    def names(self, prompt: Prompt) -> list[str]:
        """The names that a request from here may bear, today's first: case or item, trial, digests of who asks and of
        what is asked."""
        return [f"{self._at[0]}-{self._at[1]}-{tail}-{prompt.digest[:8]}" for tail in self._tails]

    def knows(self, error: str) -> bool:
        """Whether this failure is in the ledger."""
        return any(known.endswith(error) for known in self._told.get(self._at, ()))


@dataclass
class Count:
    """What a pass met: requests written, requests that wait for a batch, lines that nobody could read, replies that no
    request asked for, and further replies to one that was answered."""

    written: int = 0
    waiting: int = 0
    due: int = 0
    unreadable: int = 0
    unknown: int = 0
    second: int = 0


@dataclass
class Mailbox:
    """Gives each request its reply, where one came back, and writes down the others when `writing`.

    A failed line is handed out once, so that it becomes a failure in the ledger; after that its request is due again.
    """

    shelf: Shelf
    rate: float = RATE
    size: Size = field(default_factory=Size)
    writing: bool = False
    count: Count = field(default_factory=Count)
    sealed: list[Folder] = field(default_factory=list)
    _places: dict[str, list[_Place]] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)
    _files: dict[Path, IO[bytes]] = field(default_factory=dict)
    _outs: dict[tuple[str, str], _Out] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @contextmanager
    def opened(self) -> Iterator[Mailbox]:
        """Look through what came back; at the end, seal what was written. An error leaves no new batch behind."""
        self.shelf.sweep()
        for folder in self.shelf.folders():
            if folder.open:
                self._open.update(folder.names())
            for path in folder.replies:
                self._look_through(folder, path)
        try:
            yield self
            for out in self._outs.values():
                self.sealed.append(out.seal(self.shelf))
        finally:
            for file in (*self._files.values(), *(out.file for out in self._outs.values())):
                file.close()
            self.shelf.sweep()

    def _look_through(self, folder: Folder, path: Path) -> None:
        file = self._files[path] = path.open("rb")
        offset = 0
        for line in file:
            answer = named(line) if line.strip() else None
            if answer is not None:
                self._places.setdefault(answer[0], []).append(_Place(folder, path, offset))
            elif line.strip():
                self.count.unreadable += 1
            offset += len(line)

    def reply(self, model: ChatModel, desk: Desk, prompt: Prompt) -> Reply | None:
        """The reply to a prompt that is put from this desk; None while there is none."""
        names = desk.names(prompt)
        with self._lock:
            failed = None
            for place in reversed([place for name in reversed(names) for place in self._places.get(name, ())]):
                reply = self._at(place, model, prompt)
                if reply.error is None:
                    return reply
                if not place.folder.state.told and not desk.knows(reply.error):
                    failed = failed or reply
            if self._open.intersection(names):
                self.count.waiting += 1
                return None
            if failed is not None:
                return failed
            self._write(model, desk.asks, names[0], prompt)
            return None

    def _at(self, place: _Place, model: ChatModel, prompt: Prompt) -> Reply:
        file = self._files[place.path]
        file.seek(place.offset)
        answer = named(file.readline())
        if answer is None:
            raise InputError("this file changed while it was read; run the command again", path=place.path)
        reply = reply_of(model, prompt, answer[1], place.folder.state.rate)
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
            self.sealed.append(out.seal(self.shelf))
            out = None
        if out is None:
            out = self._outs[key] = _Out(self.shelf.start(), model, self.rate)
        out.write(line, name, asks)
        self._open.add(name)
        self.count.written += 1


class _Out:
    """A batch that is being written."""

    def __init__(self, part: Path, model: ChatModel, rate: float) -> None:
        self._part, self._model, self._rate = part, model, rate
        self.file = (part / REQUESTS).open("wb")
        self._names: list[str] = []
        self._asks: dict[str, None] = {}
        self.bytes = 0

    @property
    def requests(self) -> int:
        return len(self._names)

    def write(self, line: bytes, name: str, asks: str) -> None:
        self.file.write(line)
        self.bytes += len(line)
        self._names.append(name)
        self._asks[asks] = None

    def seal(self, shelf: Shelf) -> Folder:
        self.file.close()
        (self._part / NAMES).write_text("".join(f"{name}\n" for name in self._names), encoding="ascii")
        model = self._model
        state = State(model.name, model.url, tuple(self._asks), self.requests, self._rate, self._part.name[6:])
        return shelf.seal(self._part, state)
