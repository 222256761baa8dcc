"""Duplicate and near-duplicate pictures of a benchmark, found by their bytes and by a difference hash."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.picture import SUFFIXES, Picture
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError, Unscorable
from fullbench.files.picture_access_policy import read_picture
from fullbench.judges.scorers.safe_picture_decoding import decode_picture

if TYPE_CHECKING:
    from PIL.Image import Image

SAME = "the same file"
ALIKE = "nearly the same picture"
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


def shared_pictures_table(
    pictures: Mapping[str, Picture], other_sets: Mapping[str, Mapping[str, Picture]], *, most: int = NEAR
) -> Table:
    """Return a table of pictures that also occur in another set: the same bytes, or a near-duplicate."""
    together = dict(pictures)
    owner: dict[str, str] = {}
    for name, other_pictures in other_sets.items():
        for path, picture in other_pictures.items():
            together[f"{name}: {path}"] = picture
            owner[f"{name}: {path}"] = name
    all_duplicates = duplicate_pictures_table(together, most=most, every=True)
    rows = [row for row in all_duplicates.rows if (str(row[0]) in owner) != (str(row[1]) in owner)]
    ordered_rows: list[list[Cell]] = [
        [b, a, *details] if str(a) in owner else [a, b, *details] for a, b, *details in rows
    ]
    note = Note("compose.across", n=len(pictures), others=len(owner), sets=", ".join(other_sets))
    title = Note("compose.title.across")
    return Table(
        "across",
        title,
        table_columns("picture", "picture beside", "alike", "bits"),
        ordered_rows,
        [note, *all_duplicates.notes[1:]],
    )


def duplicate_pictures_table(pictures: Mapping[str, Picture], *, most: int = NEAR, every: bool = False) -> Table:
    """Return a table of duplicates: the same bytes, or fingerprints that differ in at most `most` of 256 bits.

    A picture that cannot be decoded is compared only by its bytes, and named in the notes. Files with the same bytes
    are each paired with the first, or with `every` with each other.
    """
    first: dict[str, str] = {}
    rows: list[list[Cell]] = []
    copies: dict[str, list[str]] = {}
    for name, picture in pictures.items():
        first.setdefault(picture.digest, name)
        earlier = copies.setdefault(picture.digest, [])
        rows += [[original, name, SAME, 0] for original in (earlier if every else earlier[:1])]
        earlier.append(name)
    prints: dict[str, int] = {}
    notes = [Note("compose.pictures-different-files-near-of", n=len(pictures), n_2=len(first), most=most)]
    for name in first.values():
        try:
            prints[name] = picture_fingerprint(decode_picture(pictures[name]))
        except Unscorable as reason:
            notes.append(Note("compose.text", name=name, reason=str(reason)))
    for name, other_name, bits in near_fingerprints(prints, most=most):
        pairs = [(name, other_name)]
        if every:
            pairs = [
                (left, right) for left in copies[pictures[name].digest] for right in copies[pictures[other_name].digest]
            ]
        rows += [[left, right, ALIKE, bits] for left, right in pairs]
    return Table(
        "alike",
        Note("compose.title.pictures-that-are-alike"),
        table_columns("picture", "picture beside", "alike", "bits"),
        rows,
        notes,
        {"most": most},
    )


def read_pictures(folder: Path) -> tuple[dict[str, Picture], list[str]]:
    """Read all pictures of a folder and its subfolders by path; also return an error for each unreadable file."""
    if not folder.is_dir():
        raise InputError("this is not a folder of pictures", path=folder)
    pictures: dict[str, Picture] = {}
    wrong = []
    for file in sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES):
        try:
            pictures[str(file.relative_to(folder))] = read_picture(folder, str(file.relative_to(folder)))
        except InputError as reason:
            wrong.append(str(reason))
    if not pictures:
        raise InputError(f"the folder contains no readable picture; {len(wrong)} cannot", path=folder)
    return pictures, wrong
