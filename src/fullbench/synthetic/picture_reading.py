"""Picture reading of synthetic contestants: from PNG bytes to a scene, accurate or degraded, without the truth."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from fullbench.synthetic.drawing import HUES
from fullbench.synthetic.scenes import LABELS, TEXT_LETTERS, TOP, Bar, Scene, Thing
from fullbench.synthetic.vocabulary import COLOURS, Colour, Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.float32]
    Labels = NDArray[np.int64]

FILL: dict[Shape, float] = {"square": 1.0, "circle": 0.785, "diamond": 0.5, "star": 0.39}
"""Share of its bounding box that each shape fills; a triangle fills as much as a diamond and is heavier below."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Quality of a contestant's picture reading.

    `blur`: factor by which the picture is first made smaller. `overlooks`: radius in pixels below which things are
    ignored. `confusion`: mix of red and green, from 0 (none) to 1 (identical).
    """

    blur: int = 1
    overlooks: float = 4.0
    confusion: float = 0.0


def read_scene(png: bytes, sight: Sight) -> Scene:
    """Read a picture: its things, the bars of its chart, or its letters."""
    pixels = _mix_red_and_green(_decode_planes(png, sight.blur), sight.confusion)
    colours = _classify_colours(pixels)
    lines = _chart_line_rows(pixels)
    if lines.size and lines[-1] - lines[0] > pixels.shape[1] / 2:
        return Scene(bars=_read_bars(colours, top=int(lines[0]), base=int(lines[-1])))
    if (colours == len(COLOURS)).all():
        return Scene(text=_read_letters(pixels, sight))
    return Scene(things=tuple(_find_things(colours, sight)))


def _decode_planes(png: bytes, blur: int) -> Pixels:
    import numpy as np
    from PIL import Image

    with Image.open(io.BytesIO(png)) as picture:
        small = picture.convert("RGB").reduce(blur) if blur > 1 else picture.convert("RGB")
        planes = np.asarray(small).transpose(2, 0, 1)
        return np.ascontiguousarray(planes).astype(np.float32) / np.float32(255)


def _mix_red_and_green(pixels: Pixels, confusion: float) -> Pixels:
    if not confusion:
        return pixels
    import numpy as np

    red, green, blue = pixels
    red_green_mean = (red + green) / 2
    return np.stack([red + confusion * (red_green_mean - red), green + confusion * (red_green_mean - green), blue])


def _classify_colours(pixels: Pixels) -> Labels:
    """Index of each pixel in `COLOURS`, or `len(COLOURS)` for grey."""
    import numpy as np

    high, low = pixels.max(axis=0), pixels.min(axis=0)
    vivid = (high - low > 0.22) & (high - low > 0.3 * high)
    red, green, blue = (plane[vivid] for plane in pixels)
    top, spread = high[vivid], (high - low)[vivid]
    sixths = np.select(
        [top == red, top == green], [(green - blue) / spread, (blue - red) / spread + 2], (red - green) / spread + 4
    )
    centres = np.array([HUES[colour][0] for colour in COLOURS])
    away = np.abs((60 * sixths[:, None] - centres + 180) % 360 - 180)
    colours = np.full(vivid.shape, len(COLOURS))
    colours[vivid] = np.argmin(away, axis=-1)
    return colours


def _chart_line_rows(pixels: Pixels) -> Labels:
    """Rows darker than the paper along half of their length; none if no line (the axis) is clearly dark."""
    import numpy as np

    brightness = np.median(pixels.mean(axis=0), axis=1)
    darker = np.median(brightness[:3]) - brightness
    return np.flatnonzero(darker > (0.012 if darker.max() > 0.09 else np.inf))


def _colour_patches(colours: Labels) -> list[tuple[Colour, Labels, slice, slice]]:
    import numpy as np
    from scipy import ndimage

    patches = []
    present = np.unique(colours)
    for number, colour in enumerate(COLOURS):
        if number not in present:
            continue
        labels, _ = ndimage.label(colours == number, structure=np.ones((3, 3)))
        for index, (rows, columns) in enumerate(ndimage.find_objects(labels), start=1):
            patches.append((colour, labels[rows, columns] == index, rows, columns))
    return patches


def _find_things(colours: Labels, sight: Sight) -> list[Thing]:
    import numpy as np

    things = []
    for colour, mask, rows, columns in _colour_patches(colours):
        radius = float(np.sqrt(mask.sum() / np.pi)) * sight.blur
        if radius >= sight.overlooks and mask.sum() >= 3:
            x = (columns.start + columns.stop) / 2 * sight.blur
            y = (rows.start + rows.stop) / 2 * sight.blur
            things.append(Thing(_classify_shape(mask), colour, x, y, radius))
    return things


def _classify_shape(mask: Labels) -> Shape:
    """Choose the nearest share of the bounding box; weight distinguishes shapes that fill about half."""
    import numpy as np

    height, width = mask.shape
    fill = float(mask.sum()) / (height * width)
    shape = min(FILL, key=lambda name: abs(FILL[name] - fill))
    upper = float(mask[: height // 2].sum())
    lower = float(mask[(height + 1) // 2 :].sum())
    if shape in {"diamond", "star"} and lower > 1.6 * upper:
        return "triangle"
    widest_row = np.flatnonzero(mask.sum(axis=1) == mask.sum(axis=1).max()).mean() / max(1, height - 1)
    if shape == "diamond" and widest_row < 0.45:
        return "star"
    return shape


def _read_bars(colours: Labels, *, top: int, base: int) -> tuple[Bar, ...]:
    # A bar is wider than a letter or a line, and nearly fills its bounding box.
    patches = [
        (columns.start, colour, rows.start)
        for colour, mask, rows, columns in _colour_patches(colours)
        if columns.stop - columns.start > 0.05 * colours.shape[1] and mask.mean() > 0.6
    ]
    scale = TOP / max(1, base - top)
    sorted_patches = sorted(patches)[: len(LABELS)]
    return tuple(
        Bar(label, colour, round((base - start) * scale))
        for label, (_, colour, start) in zip(LABELS, sorted_patches, strict=False)
    )


def _read_letters(pixels: Pixels, sight: Sight) -> str:
    import numpy as np
    from scipy import ndimage

    high, low = pixels.max(axis=0), pixels.min(axis=0)
    dark = (high < 0.55) & (high - low < 0.2)
    labels, _ = ndimage.label(dark, structure=np.ones((3, 3)))
    letters = []
    for index, (rows, columns) in enumerate(ndimage.find_objects(labels), start=1):
        patch = labels[rows, columns] == index
        if patch.shape[0] * sight.blur >= max(12, sight.overlooks):
            letters.append((columns.start, _nearest_letter(patch)))
    return "".join(letter for _, letter in sorted(letters))


def _nearest_letter(patch: Labels) -> str:
    import numpy as np

    shape = _fit_to_frame(np.asarray(patch, dtype=np.float32))
    alphabet = _drawn_alphabet()
    aspect_ratio = patch.shape[1] / patch.shape[0]
    return min(
        alphabet,
        key=lambda letter: float(((alphabet[letter][0] - shape) ** 2).mean()) + abs(alphabet[letter][1] - aspect_ratio),
    )


@cache
def _drawn_alphabet() -> dict[str, tuple[Pixels, float]]:
    import numpy as np
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(96)
    shapes = {}
    for letter in TEXT_LETTERS:
        sheet = Image.new("L", (160, 160), 0)
        ImageDraw.Draw(sheet).text((80, 80), letter, fill=255, font=font, anchor="mm")
        inside = np.asarray(sheet.crop(sheet.getbbox()), dtype=np.float32) / np.float32(255)
        shapes[letter] = (_fit_to_frame(inside), inside.shape[1] / inside.shape[0])
    return shapes


def _fit_to_frame(patch: Pixels) -> Pixels:
    import numpy as np
    from PIL import Image

    small = Image.fromarray((patch * 255).astype(np.uint8)).resize((12, 16), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float32) / np.float32(255)
