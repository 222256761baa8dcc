"""Small pictures beside names, from a lab's own files: read from disk, drawn again at one size, never fetched."""

from __future__ import annotations

import base64
import hashlib
import io
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.picture_decoding import eight_bits, upright

SIDE = 64
"""Logos are squares of so many pixels: sharp at a third of it on any screen."""
LARGEST = 2 * 1024 * 1024
PIXELS = 16_000_000


@dataclass(frozen=True)
class Logo:
    """A square WebP, known by the digest of its bytes."""

    digest: str
    data: bytes = field(repr=False, compare=False)

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.digest}.webp"

    @property
    def uri(self) -> str:
        """The picture within an address, for pages that are one file."""
        return "data:image/webp;base64," + base64.b64encode(self.data).decode()

    @classmethod
    def read(cls, name: str, path: Path) -> Logo:
        """The logo in a file that `path` names, as seen from the folder of `path`."""
        if "://" in name or name.startswith("data:"):
            raise InputError(f"the logo {name!r} is no local file; save it beside this file and name it", path=path)
        file = path.parent / name
        if file.suffix.lower() == ".svg":
            raise InputError(f"the logo {name!r} is an SVG, which may hold scripts; save it as PNG", path=path)
        data = Picture.read(file, path=path).data()
        if len(data) > LARGEST:
            raise InputError(f"the logo {name!r} has more than {LARGEST // 1024**2} MiB; make it smaller", path=path)
        return cls.of(data, name, path)

    @classmethod
    def of(cls, data: bytes, name: str, path: Path) -> Logo:
        """The logo in these bytes; `name` and `path` say in an error which it is and where it was named."""
        from PIL import Image

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                with Image.open(io.BytesIO(data)) as image:
                    if image.width * image.height > PIXELS:
                        raise InputError(
                            f"the logo {name!r} has more than {PIXELS:,} pixels; make it smaller", path=path
                        )
                    image.load()  # else what follows may pass over an end that is missing
                    small = eight_bits(upright(image)).convert("RGBA")
        except (
            OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError, Image.DecompressionBombWarning
        ) as error:  # fmt: skip
            raise InputError(f"the logo {name!r} cannot be decoded; save it as PNG", path=path) from error
        small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
        square = Image.new("RGBA", (SIDE, SIDE))
        square.paste(small, ((SIDE - small.width) // 2, (SIDE - small.height) // 2))
        out = io.BytesIO()
        square.save(out, "WEBP", lossless=True)
        drawn = out.getvalue()
        return cls(hashlib.sha256(drawn).hexdigest()[:16], drawn)
