"""Created pictures on disk with a manifest: name, digest, source and method of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fullbench.core.item import SENSITIVE
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.files.row_writers import replace_atomically, write_rows
from fullbench.judges.scorers.safe_picture_decoding import decode_picture
from fullbench.picture_flattening_and_orientation import encode_image, veil_picture


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
