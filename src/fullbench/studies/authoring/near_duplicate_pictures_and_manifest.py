"""Near-duplicate pictures by difference hash, and a manifest of created pictures with digests."""

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
from fullbench.files.row_writers import replace_atomically, write_rows
from fullbench.judges.scorers.safe_picture_decoding import decode_picture
from fullbench.picture_flattening_and_orientation import encode_image, veil_picture

if TYPE_CHECKING:
    from PIL.Image import Image

_SIDE = 16
_NOISE = 2
NEAR = 16
"""Maximum number of differing bits (of 256) between near-duplicates."""


def picture_fingerprint(image: Image) -> int:
    """Return a 256-bit difference hash: each bit says whether a 16 x 16 grid gets lighter from left to right.

    The hash survives scaling, compression and small changes of brightness. A margin of 2 levels ignores noise in flat
    areas.
    """
    from PIL import Image as Images

    small = image.convert("L").resize((_SIDE + 1, _SIDE), Images.Resampling.BOX)
    values = np.asarray(small, dtype=np.int16)
    bits = (values[:, 1:] > values[:, :-1] + _NOISE).flatten()
    return int("".join("1" if bit else "0" for bit in bits), 2)


def near_duplicates(pictures: Mapping[str, Picture], *, most: int = NEAR) -> list[tuple[str, str, int]]:
    """Return pairs of pictures whose fingerprints differ in at most `most` bits, nearest first."""
    return near_fingerprints(
        {name: picture_fingerprint(decode_picture(picture)) for name, picture in pictures.items()}, most=most
    )


def near_fingerprints(prints: Mapping[str, int], *, most: int = NEAR) -> list[tuple[str, str, int]]:
    """Return pairs of fingerprints that differ in at most `most` bits, nearest first."""
    names = list(prints)
    bits = np.array(
        [np.frombuffer(prints[name].to_bytes(32, "big"), dtype=np.uint8) for name in names], dtype=np.uint8
    ).reshape(len(names), 32)
    pairs = []
    for place in range(len(names) - 1):
        bit_distances = np.bitwise_count(bits[place + 1 :] ^ bits[place]).sum(axis=1)
        for offset in np.flatnonzero(bit_distances <= most):
            pairs.append((names[place], names[place + 1 + int(offset)], int(bit_distances[offset])))
    return sorted(pairs, key=lambda pair: (pair[2], pair[0], pair[1]))


@dataclass(frozen=True)
class CreatedPicture:
    """A created picture: name, bytes, source picture, method, and whether it is sensitive."""

    name: str
    data: bytes
    source: str = ""
    how: str = ""
    sensitive: bool = False


def write_pictures(
    pictures: Iterable[CreatedPicture], folder: Path, *, include_sensitive: bool = False
) -> list[dict[str, Any]]:
    """Write pictures and a manifest (name, digest, source, method).

    A sensitive picture is written veiled; with `include_sensitive` also as it is, under `sensitive/`.
    """
    rows = list(_write_each_picture(pictures, folder, include_sensitive))
    write_rows(folder / "manifest.jsonl", rows)
    return rows


def _write_each_picture(
    pictures: Iterable[CreatedPicture], folder: Path, include_sensitive: bool
) -> Iterator[dict[str, Any]]:
    names: set[str] = set()
    for picture in pictures:
        if picture.name in names or "/" in picture.name or picture.name.startswith("."):
            raise InputError(f"a picture's name is its own and holds no slash; found {picture.name!r}")
        names.add(picture.name)
        visible_bytes = (
            encode_image(veil_picture(decode_picture(Picture.from_bytes(picture.data, name=picture.name))))
            if picture.sensitive
            else picture.data
        )
        _write_bytes(folder / f"{picture.name}.png", visible_bytes)
        if picture.sensitive and include_sensitive:
            _write_bytes(folder / SENSITIVE / f"{picture.name}.png", picture.data)
        yield {
            "name": picture.name,
            "file": f"{picture.name}.png",
            "sha256": hashlib.sha256(picture.data).hexdigest(),
            "shown": hashlib.sha256(visible_bytes).hexdigest(),
            "source": picture.source,
            "how": picture.how,
            "sensitive": picture.sensitive,
        }


def _write_bytes(path: Path, data: bytes) -> None:
    with replace_atomically(path) as part:
        part.write_bytes(data)


def verify_manifest(folder: Path, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one sentence for each file of a manifest that is missing or has changed."""
    faults = []
    for row in rows:
        path = folder / str(row["file"])
        if not path.is_file():
            faults.append(f"{row['name']}: the file is missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != row["shown"]:
            faults.append(f"{row['name']}: the bytes changed since the manifest was written")
    return faults
