"""Pictures out of a folder, those that cannot be read named."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fullbench.errors import InputError
from fullbench.files.pictures import read_picture
from fullbench.core.picture import SUFFIXES, Picture


@dataclass(frozen=True)
class Pictures:
    """The pictures of a folder by the name of their file, and why others could not be read."""

    images: Mapping[str, Picture]
    unreadable: Sequence[str] = ()

    @classmethod
    def read(cls, folder: str | Path, limit: int | None = None, *, drawn: int | None = None) -> Pictures:
        """The first `limit` of the pictures that can be read, by name; one that cannot is named, and left out.

        Which are first is drawn from the seed `drawn` where one is given.
        """
        path = Path(folder)
        if not path.is_dir():
            raise InputError("this is no folder of pictures", path=path)
        images: dict[str, Picture] = {}
        bad: list[str] = []
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
        if drawn is not None:
            random.Random(drawn).shuffle(files)
        for file in files:
            if limit is not None and len(images) == limit:
                break
            try:
                picture = read_picture(path, file.name)
                _decode(picture, file)
            except InputError as error:
                bad.append(str(error))
                continue
            images[file.name] = picture
        if not images:
            unread = f"; {len(bad)} could not be read: {bad[0]}" if bad else ""
            raise InputError(f"the folder holds no picture{unread}", path=path)
        return cls(images, bad)


def _decode(picture: Picture, file: Path) -> None:
    """Refuse a picture that begins well and does not go on."""
    from PIL import Image

    try:
        with Image.open(file) as opened:
            opened.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"the picture {str(file)!r} ({picture.media}) cannot be decoded: {error}") from error
