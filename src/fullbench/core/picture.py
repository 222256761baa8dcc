"""Pictures: what their bytes show without decoding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fullbench.core import media
from fullbench.core.media import LARGEST_BYTES, UNKNOWN, Audio, Kind, Media
from fullbench.errors import InputError

LARGEST = LARGEST_BYTES["image"]
"""Largest accepted picture file, in bytes."""

SUFFIXES = frozenset(suffix for suffix, kind in media.SUFFIXES.items() if kind == "image")


def media_type(data: bytes) -> str | None:
    r"""Return the media type shown by the first bytes, whatever the file's name, or None if it is no picture.

    >>> media_type(b"\x89PNG\r\n\x1a\n....")
    'image/png'
    >>> media_type(b"hello") is None
    True
    """
    found_type = media.recognise_type(data)
    return found_type if found_type and found_type.startswith("image/") else None


def is_cut_off(data: bytes, found_type: str) -> bool:
    r"""True if a picture's end is missing, as far as its bytes show without decoding.

    >>> is_cut_off(b"\x89PNG\r\n\x1a\n....", "image/png"), is_cut_off(b"GIF89a" + bytes(7) + b";", "image/gif")
    (True, False)
    """
    if found_type == "image/png":
        return b"IEND" not in data
    if found_type == "image/jpeg":
        # An embedded preview has its own end marker, so check that no scan begins after the last end marker. For a
        # complete picture this reads only the last bytes.
        return data.find(b"\xff\xda", max(0, data.rfind(b"\xff\xd9"))) >= 0
    if found_type == "image/webp":
        return int.from_bytes(data[4:8], "little") + 8 > len(data)
    return found_type == "image/gif" and _gif_lacks_trailer(data)


def has_no_pixels(data: bytes) -> bool:
    r"""Return True if a PNG, GIF or BMP picture says that it is 0 pixels wide or high. No viewer shows one.

    >>> has_no_pixels(b"GIF89a" + bytes([0, 0, 3, 0])), has_no_pixels(b"GIF89a" + bytes([2, 0, 3, 0]))
    (True, False)
    """
    if data.startswith(b"\x89PNG"):
        width, height = data[16:20], data[20:24]
    elif data.startswith(b"GIF8"):
        width, height = data[6:8], data[8:10]
    elif data.startswith(b"BM"):
        width, height = data[18:22], data[22:26]
    else:
        return False
    return bool(width and height) and not (any(width) and any(height))


def _gif_lacks_trailer(data: bytes) -> bool:
    """True if the blocks of a GIF run past the end of `data` before the trailer. A block we do not know is no proof."""

    def palette_size(flags: int) -> int:
        return 3 * 2 ** (flags % 8 + 1) if flags & 0x80 else 0

    position = 13 + palette_size(data[10]) if len(data) > 10 else 13
    while position < len(data):
        kind = data[position]
        if kind == 0:  # some writers pad blocks with zeros
            position += 1
            continue
        if kind == 0x21:  # extension
            position += 2
        elif kind == 0x2C and position + 9 < len(data):  # frame: descriptor, palette, code size
            position += 11 + palette_size(data[position + 9])
        else:
            return kind == 0x2C
        while position < len(data) and data[position]:
            position += data[position] + 1
        position += 1
    return True


@dataclass(frozen=True, slots=True)
class Picture(Media):
    """A picture: the digest of its bytes, the media type they show, and their location."""

    kind: ClassVar[Kind] = "image"

    @classmethod
    def from_bytes(
        cls, data: bytes, *, name: str | None = None, path: str | Path | None = None, line: int | None = None
    ) -> Picture:
        """Return a picture held in memory.

        Args:
            data: The bytes of the picture.
            name: Name of the picture in error messages.
            path: Data file that names it, for error messages.
            line: Line in that file, for error messages.
        """
        return cls(media.bytes_digest(data), _require_picture(data, name or "picture", path, line), data)

    @classmethod
    def read(cls, file: str | Path, *, path: str | Path | None = None, line: int | None = None) -> Picture:
        """Return a picture on disk.

        Args:
            file: The picture.
            path: Data file that names it, for error messages.
            line: Line in that file, for error messages.
        """
        data = _read_file(file, path, line)
        found_type = _require_picture(data, str(file), path, line)
        if is_cut_off(data, found_type):
            raise InputError(
                f"the picture {str(file)!r} is cut off: its end is missing; copy or download it again",
                path=path,
                line=line,
            )
        digest = media.bytes_digest(data)
        media.recent_files.put(digest, data)
        return cls(digest, found_type, file if isinstance(file, Path) else Path(file))

    @classmethod
    def read_any_file(cls, file: str | Path, *, path: str | Path | None = None, line: int | None = None) -> Picture:
        """Return a contestant's file without checking that it is a picture; see `from_any_bytes`."""
        data = _read_file(file, path, line)
        picture = cls.from_any_bytes(data, Path(file))
        media.recent_files.put(picture.digest, data)
        return picture

    @classmethod
    def from_any_bytes(cls, data: bytes, source: Path | bytes) -> Picture:
        """Wrap a contestant's bytes without checking them; judges abstain if they are no picture."""
        found_type = None if has_no_pixels(data) else media_type(data)
        return cls(media.bytes_digest(data), found_type or UNKNOWN, source)


def _read_file(file: str | Path, path: str | Path | None, line: int | None) -> bytes:
    try:
        return media.read_regular_file(file, "image")
    except (OSError, ValueError) as error:
        raise media.unreadable_file_error("picture", file, error, path, line) from error


def _require_picture(data: bytes, name: str, path: str | Path | None, line: int | None) -> str:
    found_type = media.require_type(data, "image", name, path, line)
    if has_no_pixels(data):
        raise InputError(f"the picture {name!r} is 0 pixels wide or high; replace it", path=path, line=line)
    return found_type


@dataclass(frozen=True, slots=True)
class Frame(Picture):
    """A picture that is sent in place of a video or a document: one of its frames or pages.

    `origin` is the digest of the file, `rule` the choice of frames, `place` the time or the page number.
    """

    origin: str = ""
    rule: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Sound(Audio):
    """The sound of a video, which is sent next to its frames; the fields are those of `Frame`."""

    origin: str = ""
    rule: str = ""
    place: str = ""


EXTRACTS = (Frame, Sound)
"""Classes of files that are sent in place of another one."""


def extract_class(media_type: str) -> type[Frame | Sound]:
    """Return the class of a frame, a page or a sound, by its media type."""
    return Sound if media_type.startswith("audio/") else Frame
