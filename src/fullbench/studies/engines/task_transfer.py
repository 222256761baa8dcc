"""Tasks on their way to a worker, with the pictures that they show: each goes once to every machine, by way of the
cluster's object store, however many tasks and judges show it there."""

from __future__ import annotations

import io
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fullbench.core.picture import Picture
from fullbench.errors import InputError

REMEMBERED = 256 * 2**20
"""So many bytes of pictures a worker remembers; the run knows which, since it remembers by the same rule."""


class Memory:
    """The latest pictures by their digest, as many as fit: both ends of a line forget the same ones.

    The worker's has their bytes; the run's has their sizes alone.
    """

    def __init__(self, limit: int = REMEMBERED) -> None:
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
        while self._total > self._limit:
            oldest, freed = self._sizes.popitem(last=False)
            self._total -= freed
            self._data.pop(oldest, None)

    def data(self, digest: str) -> bytes:
        return self._data[digest]


class Shelf:
    """The latest pictures in the cluster's object store, for all judges and contestants of a run."""

    def __init__(self, put: Callable[[bytes], Any], limit: int = REMEMBERED) -> None:
        self._put, self._limit, self._total = put, limit, 0
        self._places: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def place(self, picture: Picture) -> tuple[Any, int]:
        """Where a picture lies, and its size; it is put there where it does not."""
        with self._lock:
            if picture.digest not in self._places:
                data = picture.data()
                self._places[picture.digest] = self._put(data), len(data)
                self._total += len(data)
            self._places.move_to_end(picture.digest)
            wanted = self._places[picture.digest]
            while self._total > self._limit:  # whoever was sent its place still finds it: the store counts them
                _, (_, freed) = self._places.popitem(last=False)
                self._total -= freed
            return wanted


@dataclass
class Line:
    """The way to a worker on another machine: what that remembers, and where it finds what it is now to remember."""

    memory: Memory
    shelf: Shelf
    places: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Shown:
    """Stands in a parcel for a picture."""

    digest: str
    media: str


class _Parcel(pickle.Pickler):
    """Pictures that lie in files travel by their full path on this machine, and by way of the store to another."""

    def __init__(self, file: io.BytesIO, line: Line | None) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._line = line

    def persistent_id(self, value: Any) -> _Shown | None:
        if self._line is None or not isinstance(value, Picture):
            return None
        if value.digest not in self._line.memory:
            try:
                place, size = self._line.shelf.place(value)
            except InputError:  # the worker will find the same, and say so
                return None
            self._line.memory.add(value.digest, size)
            self._line.places[value.digest] = place
        return _Shown(value.digest, value.media)

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not Picture or not isinstance(value.source, Path):
            return NotImplemented
        return Picture, (value.digest, value.media, value.source.absolute())


class _Opened(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, memory: Memory, pictures: Mapping[str, bytes]) -> None:
        super().__init__(file)
        self._memory, self._pictures = memory, pictures

    def persistent_load(self, shown: _Shown) -> Picture:
        data = self._pictures.get(shown.digest)
        if data is None:
            data = self._memory.data(shown.digest)
        self._memory.add(shown.digest, len(data), data)
        return Picture(shown.digest, shown.media, data)


def packed(tasks: list[Any], line: Line | None) -> bytes:
    """Tasks as bytes; `line` leads to another machine, None where it is this one."""
    if not tasks:
        return b""
    file = io.BytesIO()
    _Parcel(file, line).dump(tasks)
    return file.getvalue()


def unpacked(parcel: bytes, memory: Memory, pictures: Mapping[str, bytes]) -> list[Any]:
    """The tasks in a parcel of our own run; `pictures` are those that are new to this memory, by their digest."""
    tasks: list[Any] = _Opened(io.BytesIO(parcel), memory, pictures).load() if parcel else []
    return tasks
