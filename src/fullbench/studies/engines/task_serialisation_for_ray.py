"""Serialisation of tasks for workers: each file goes to a machine once, through the Ray object store."""

from __future__ import annotations

import io
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fullbench.core.media import Kind, Media, media_from_digest
from fullbench.errors import InputError

MEMORY_BYTES = 256 * 2**20
"""Bytes of pictures that a worker caches. The run uses the same rule, so it knows which ones."""


class PictureMemory:
    """Cache of recent pictures by digest, limited by total size.

    The worker's cache has their bytes, the run's cache only their sizes. Both evict the same pictures, so the run knows
    what the worker still has.
    """

    def __init__(self, limit: int = MEMORY_BYTES) -> None:
        self._limit, self._total = limit, 0
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._data: dict[str, bytes] = {}

    def __contains__(self, digest: str) -> bool:
        return digest in self._sizes

    def add(self, digest: str, size: int, data: bytes | None = None) -> None:
        if digest in self._sizes:
            return
        self._sizes[digest] = size
        self._total += size
        if data is not None:
            self._data[digest] = data
        # A single file above the limit is kept: neighbouring tasks are about the same one.
        while self._total > self._limit and len(self._sizes) > 1:
            oldest, freed_bytes = self._sizes.popitem(last=False)
            self._total -= freed_bytes
            self._data.pop(oldest, None)

    def data(self, digest: str) -> bytes:
        return self._data[digest]


class PictureStore:
    """Recent pictures in the Ray object store, shared by all jobs of a run."""

    def __init__(self, put: Callable[[bytes], Any], limit: int = MEMORY_BYTES) -> None:
        self._put, self._limit, self._total = put, limit, 0
        self._places: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def place(self, picture: Media) -> tuple[Any, int]:
        """Return the reference and size of a picture, and store it first if needed."""
        with self._lock:
            if picture.digest not in self._places:
                data = picture.data()
                self._places[picture.digest] = self._put(data), len(data)
                self._total += len(data)
            self._places.move_to_end(picture.digest)
            place_and_size = self._places[picture.digest]
            # References that were already sent stay valid: Ray counts them and keeps the object.
            while self._total > self._limit and len(self._places) > 1:
                _, (_, freed_bytes) = self._places.popitem(last=False)
                self._total -= freed_bytes
            return place_and_size


@dataclass
class WorkerLink:
    """Connection to a remote worker: the pictures it has, and references to the new ones."""

    memory: PictureMemory
    shelf: PictureStore
    places: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _MediaReference:
    kind: Kind
    digest: str
    media_type: str


class _TaskPickler(pickle.Pickler):
    """Pickles picture files as absolute paths on this machine, and as references to the store for others."""

    def __init__(self, file: io.BytesIO, line: WorkerLink | None) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._line = line

    def persistent_id(self, value: Any) -> _MediaReference | None:
        if self._line is None or not isinstance(value, Media):
            return None
        if value.digest not in self._line.memory:
            try:
                place, size = self._line.shelf.place(value)
            except InputError:  # the worker gets the same error and reports it
                return None
            self._line.memory.add(value.digest, size)
            self._line.places[value.digest] = place
        return _MediaReference(value.kind, value.digest, value.media_type)

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, Media) or not isinstance(value.source, Path):
            return NotImplemented
        return media_from_digest, (value.kind, value.digest, value.media_type, value.source.absolute())


class _TaskUnpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, memory: PictureMemory, pictures: Mapping[str, bytes]) -> None:
        super().__init__(file)
        self._memory, self._pictures = memory, pictures

    def persistent_load(self, reference: _MediaReference) -> Media:
        data = self._pictures.get(reference.digest)
        if data is None:
            data = self._memory.data(reference.digest)
        self._memory.add(reference.digest, len(data), data)
        return media_from_digest(reference.kind, reference.digest, reference.media_type, data)


def pack_tasks(tasks: list[Any], line: WorkerLink | None) -> bytes:
    """Pickle tasks for a worker; `line` is the link to another machine, or None for this one."""
    if not tasks:
        return b""
    file = io.BytesIO()
    _TaskPickler(file, line).dump(tasks)
    return file.getvalue()


def carry_frames(outcome: Any, carried: set[str]) -> Any:
    """Return an outcome with the bytes of its frames in memory: their files are on the worker's machine.

    Each frame is carried once; `carried` has the digests of those before.
    """
    exchanges = getattr(outcome, "exchanges", ())
    if not any(call.frames for call in exchanges):
        return outcome
    carried_exchanges = []
    for call in exchanges:
        new_frames = [frame for frame in call.frames if frame.digest not in carried]
        carried.update(frame.digest for frame in new_frames)
        frames = tuple(replace(frame, source=frame.cached_data()) for frame in new_frames)
        carried_exchanges.append(replace(call, frames=frames))
    return replace(outcome, exchanges=tuple(carried_exchanges))


def unpack_tasks(upload: bytes, memory: PictureMemory, pictures: Mapping[str, bytes]) -> list[Any]:
    """Unpickle tasks of our own run; `pictures` has the new ones by digest."""
    tasks: list[Any] = _TaskUnpickler(io.BytesIO(upload), memory, pictures).load() if upload else []
    return tasks
