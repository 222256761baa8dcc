"""Logos next to names: read from local files, redrawn at one size, never downloaded."""

from __future__ import annotations

import base64
import hashlib
import io
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.picture_flattening_and_orientation import apply_orientation, encode_image, to_eight_bits

SIDE = 64
"""Side of logos in pixels; sharp on any screen at a third of this size."""
LARGEST = 2 * 1024 * 1024
# A small file can unpack to gigabytes of pixels.
PIXELS = 16_000_000


@dataclass(frozen=True)
class Logo:
    """A square WebP image, identified by the digest of its bytes."""

    digest: str
    data: bytes = field(repr=False, compare=False)

    @property
    def file(self) -> str:
        """File name."""
        return f"{self.digest}.webp"

    @property
    def uri(self) -> str:
        """Data URI, for pages that are one file."""
        return "data:image/webp;base64," + base64.b64encode(self.data).decode()

    @classmethod
    def read(cls, name: str, path: Path) -> Logo:
        """Read a logo file; `name` is relative to the folder of `path`, the file that refers to it."""
        if "://" in name or name.startswith("data:"):
            raise InputError(
                f"the logo {name!r} is not a local file; save it next to this file and give its name", path=path
            )
        file = path.parent / name
        if file.suffix.lower() == ".svg":
            raise InputError(f"the logo {name!r} is an SVG, which may hold scripts; save it as PNG", path=path)
        data = Picture.read(file, path=path).data()
        if len(data) > LARGEST:
            raise InputError(f"the logo {name!r} has more than {LARGEST // 1024**2} MiB; make it smaller", path=path)
        return cls.from_bytes(data, name, path)

    @classmethod
    def from_bytes(cls, data: bytes, name: str, path: Path) -> Logo:
        """Decode a logo from bytes; `name` and `path` are used in errors."""
        from PIL import Image

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                with Image.open(io.BytesIO(data)) as image:
                    if image.width * image.height > PIXELS:
                        raise InputError(
                            f"the logo {name!r} has more than {PIXELS:,} pixels; make it smaller", path=path
                        )
                    image.load()  # otherwise a truncated file may go unnoticed below
                    small = to_eight_bits(apply_orientation(image)).convert("RGBA")
        except (
            OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError, Image.DecompressionBombWarning
        ) as error:  # fmt: skip
            raise InputError(f"the logo {name!r} cannot be decoded; save it as PNG", path=path) from error
        small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
        square = Image.new("RGBA", (SIDE, SIDE))
        square.paste(small, ((SIDE - small.width) // 2, (SIDE - small.height) // 2))
        webp_bytes = encode_image(square, "WEBP", lossless=True)
        return cls(hashlib.sha256(webp_bytes).hexdigest()[:16], webp_bytes)
