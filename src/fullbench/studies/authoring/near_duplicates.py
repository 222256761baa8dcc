"""Pictures kept apart and accounted for: near-duplicates, a manifest with digests, sensitive ones veiled."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fullbench.core.item import SENSITIVE
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.files.writers import replacing, write_rows
from fullbench.judges.scorers.decoded_pictures import decode
from fullbench.picture_decoding import encoded, veiled

if TYPE_CHECKING:
    from PIL.Image import Image

_SIDE = 16
_NOISE = 2
NEAR = 16
"""How many of 256 bits may differ between pictures that count as near-duplicates."""


def fingerprint(image: Image) -> int:
    """256 bits that stay the same when a picture is scaled, compressed or a little brighter: where it gets lighter from
    left to right, on a grid of 16 by 16 (a difference hash). In plain areas noise decides nothing."""
    from PIL import Image as Images

    small = image.convert("L").resize((_SIDE + 1, _SIDE), Images.Resampling.BOX)
    values = np.asarray(small, dtype=np.int16)
    bits = (values[:, 1:] > values[:, :-1] + _NOISE).flatten()
    return int("".join("1" if bit else "0" for bit in bits), 2)


def near_duplicates(pictures: Mapping[str, Picture], *, most: int = NEAR) -> list[tuple[str, str, int]]:
    """Every two pictures whose fingerprints differ in few bits, with the number of bits, nearest first."""
    return near({name: fingerprint(decode(picture)) for name, picture in pictures.items()}, most=most)


def near(prints: Mapping[str, int], *, most: int = NEAR) -> list[tuple[str, str, int]]:
    """Every two fingerprints that differ in few bits, with the number of bits, nearest first."""
    names = list(prints)
    bits = np.array(
        [np.frombuffer(prints[name].to_bytes(32, "big"), dtype=np.uint8) for name in names], dtype=np.uint8
    ).reshape(len(names), 32)
    pairs = []
    for place in range(len(names) - 1):
        apart = np.bitwise_count(bits[place + 1 :] ^ bits[place]).sum(axis=1)
        for other in np.flatnonzero(apart <= most):
            pairs.append((names[place], names[place + 1 + int(other)], int(apart[other])))
    return sorted(pairs, key=lambda pair: (pair[2], pair[0], pair[1]))


@dataclass(frozen=True)
class Made:
    """A picture that was made: its name, its bytes, from which picture and how; whether it is to be veiled."""

    name: str
    data: bytes
    source: str = ""
    how: str = ""
    sensitive: bool = False


def keep(pictures: Iterable[Made], folder: Path, *, unveiled: bool = False) -> list[dict[str, Any]]:
    """Write pictures and a manifest: name, digest, source, how it was made.

    A sensitive picture is written veiled; with `unveiled=True` it is written as it is, under `sensitive/`, and the
    veiled one beside the others all the same.
    """
    rows = list(_kept(pictures, folder, unveiled))
    write_rows(folder / "manifest.jsonl", rows)
    return rows


def _kept(pictures: Iterable[Made], folder: Path, unveiled: bool) -> Iterator[dict[str, Any]]:
    names: set[str] = set()
    for picture in pictures:
        if picture.name in names or "/" in picture.name or picture.name.startswith("."):
            raise InputError(f"a picture's name is its own and holds no slash; found {picture.name!r}")
        names.add(picture.name)
        shown = (
            encoded(veiled(decode(Picture.of(picture.data, name=picture.name)))) if picture.sensitive else picture.data
        )
        _write(folder / f"{picture.name}.png", shown)
        if picture.sensitive and unveiled:
            _write(folder / SENSITIVE / f"{picture.name}.png", picture.data)
        yield {
            "name": picture.name,
            "file": f"{picture.name}.png",
            "sha256": hashlib.sha256(picture.data).hexdigest(),
            "shown": hashlib.sha256(shown).hexdigest(),
            "source": picture.source,
            "how": picture.how,
            "sensitive": picture.sensitive,
        }


def _write(path: Path, data: bytes) -> None:
    with replacing(path) as part:
        part.write_bytes(data)


def verify(folder: Path, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a manifest's pictures lack: missing files and changed bytes, one sentence each."""
    faults = []
    for row in rows:
        path = folder / str(row["file"])
        if not path.is_file():
            faults.append(f"{row['name']}: the file is missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != row["shown"]:
            faults.append(f"{row['name']}: the bytes changed since the manifest was written")
    return faults
