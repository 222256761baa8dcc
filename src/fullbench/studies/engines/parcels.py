"""Tasks on their way to a worker, with the pictures that they show: each goes once, however many tasks show it."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.nouns.picture import Picture

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


class _Sent:
    """Stands in a parcel for a picture: with its bytes the first time."""

    def __init__(self, digest: str, media: str, data: bytes | None) -> None:
        self.digest, self.media, self.data = digest, media, data


class _Parcel(pickle.Pickler):
    """Pictures that lie in files travel by their full path on this machine, and as bytes, once, to another."""

    def __init__(self, file: io.BytesIO, memory: Memory | None) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._memory = memory

    def persistent_id(self, value: Any) -> _Sent | None:
        if self._memory is None or not isinstance(value, Picture):
            return None
        if value.digest in self._memory:
            return _Sent(value.digest, value.media, None)
        with suppress(InputError):  # the worker will find the same, and say so
            data = value.data()
            self._memory.add(value.digest, len(data))
            return _Sent(value.digest, value.media, data)
        return None

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not Picture or not isinstance(value.source, Path):
            return NotImplemented
        return Picture, (value.digest, value.media, value.source.absolute())


class _Opened(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, memory: Memory) -> None:
        super().__init__(file)
        self._memory = memory

    def persistent_load(self, sent: _Sent) -> Picture:
        data = self._memory.data(sent.digest) if sent.data is None else sent.data
        self._memory.add(sent.digest, len(data), data)
        return Picture(sent.digest, sent.media, data)


def packed(tasks: list[Any], memory: Memory | None) -> bytes:
    """Tasks as bytes; `memory` is what the other machine remembers, None where it is this one."""
    if not tasks:
        return b""
    file = io.BytesIO()
    _Parcel(file, memory).dump(tasks)
    return file.getvalue()


def unpacked(parcel: bytes, memory: Memory) -> list[Any]:
    """The tasks in a parcel of our own run."""
    tasks: list[Any] = _Opened(io.BytesIO(parcel), memory).load() if parcel else []
    return tasks
