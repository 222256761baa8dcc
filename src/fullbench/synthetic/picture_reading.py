"""Eyes: from the bytes of a picture to what can be made out in it, well or badly. They know no scene and no truth."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from fullbench.synthetic.drawing import HUES
from fullbench.synthetic.scenes import LABELS, TOP, WRITTEN, Bar, Scene, Thing
from fullbench.synthetic.vocabulary import COLOURS, Colour, Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.float32]
    Labels = NDArray[np.int64]

FILL: dict[Shape, float] = {"square": 1.0, "circle": 0.785, "diamond": 0.5, "star": 0.39}
"""How much of its bounding box each shape fills; a triangle fills as much as a diamond and is heavier below."""


@dataclass(frozen=True, slots=True)
class Sight:
    """How well a contestant sees.

    `blur`: the picture is first made this many times smaller. `overlooks`: things smaller than this radius, in pixels,
    go unseen. `confusion`: how far red and green run together, from 0 (not at all) to 1 (as one).
    """

    blur: int = 1
    overlooks: float = 4.0
    confusion: float = 0.0


def look(png: bytes, sight: Sight) -> Scene:
    """What these eyes make out in a picture: the things, the bars of a chart, or letters."""
    pixels = _confused(_decoded(png, sight.blur), sight.confusion)
    colours = _colours(pixels)
    lines = _lines(pixels)
    if lines.size and lines[-1] - lines[0] > pixels.shape[1] / 2:
        return Scene(bars=_bars(colours, top=int(lines[0]), base=int(lines[-1])))
    if (colours == len(COLOURS)).all():
        return Scene(text=_letters(pixels, sight))
    return Scene(things=tuple(_things(colours, sight)))


def things_in(pixels: Pixels, sight: Sight) -> list[Thing]:
    """The things that these eyes make out on a decoded sheet: its red, green and blue planes, from 0 to 1."""
    return _things(_colours(_confused(_smaller(pixels, sight.blur), sight.confusion)), sight)


def _smaller(pixels: Pixels, blur: int) -> Pixels:
    """Planes made so many times smaller, by the mean of each square of pixels."""
    planes, height, width = pixels.shape
    cut = pixels[:, : height - height % blur, : width - width % blur]
    small: Pixels = cut.reshape(planes, height // blur, blur, width // blur, blur).mean(axis=(2, 4))
    return small


def _decoded(png: bytes, blur: int) -> Pixels:
    """Red, green and blue as three planes of numbers from 0 to 1."""
    import numpy as np
    from PIL import Image

    with Image.open(io.BytesIO(png)) as picture:
        small = picture.convert("RGB").reduce(blur) if blur > 1 else picture.convert("RGB")
        planes = np.asarray(small).transpose(2, 0, 1)
        return np.ascontiguousarray(planes).astype(np.float32) / np.float32(255)


def _confused(pixels: Pixels, confusion: float) -> Pixels:
    if not confusion:
        return pixels
    import numpy as np

    red, green, blue = pixels
    both = (red + green) / 2
    return np.stack([red + confusion * (both - red), green + confusion * (both - green), blue])


def _colours(pixels: Pixels) -> Labels:
    """For every pixel the number of its colour in `COLOURS`; grey ones get the number after the last."""
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


def _lines(pixels: Pixels) -> Labels:
    """The rows of a chart's lines, from the top down: darker than the paper along half of their length.

    Where not even one of them is dark there is no chart.
    """
    import numpy as np

    brightness = np.median(pixels.mean(axis=0), axis=1)
    darker = np.median(brightness[:3]) - brightness
    return np.flatnonzero(darker > (0.012 if darker.max() > 0.09 else np.inf))


def _blobs(colours: Labels) -> list[tuple[Colour, Labels, slice, slice]]:
    """Each patch of one colour: its colour, its mask, and the rows and columns it spans."""
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


def _things(colours: Labels, sight: Sight) -> list[Thing]:
    import numpy as np

    seen = []
    for colour, mask, rows, columns in _blobs(colours):
        radius = float(np.sqrt(mask.sum() / np.pi)) * sight.blur
        if radius >= sight.overlooks and mask.sum() >= 3:
            x = (columns.start + columns.stop) / 2 * sight.blur
            y = (rows.start + rows.stop) / 2 * sight.blur
            seen.append(Thing(_shape(mask), colour, x, y, radius))
    return seen


def _shape(mask: Labels) -> Shape:
    """The shape whose share of the bounding box is nearest; what fills half of it is told apart by its weight."""
    import numpy as np

    height, width = mask.shape
    fill = float(mask.sum()) / (height * width)
    shape = min(FILL, key=lambda name: abs(FILL[name] - fill))
    upper = float(mask[: height // 2].sum())
    lower = float(mask[(height + 1) // 2 :].sum())
    if shape in {"diamond", "star"} and lower > 1.6 * upper:
        return "triangle"
    wide = np.flatnonzero(mask.sum(axis=1) == mask.sum(axis=1).max()).mean() / max(1, height - 1)
    if shape == "diamond" and wide < 0.45:
        return "star"
    return shape


def _bars(colours: Labels, *, top: int, base: int) -> tuple[Bar, ...]:
    """The bars from left to right, measured against the highest line and the lowest."""
    # a bar is wider than a letter or a line, and nearly fills its own box
    patches = [
        (columns.start, colour, rows.start)
        for colour, mask, rows, columns in _blobs(colours)
        if columns.stop - columns.start > 0.05 * colours.shape[1] and mask.mean() > 0.6
    ]
    scale = TOP / max(1, base - top)
    ordered = sorted(patches)[: len(LABELS)]
    return tuple(
        Bar(label, colour, round((base - start) * scale))
        for label, (_, colour, start) in zip(LABELS, ordered, strict=False)
    )


def _letters(pixels: Pixels, sight: Sight) -> str:
    """The letters from left to right: each dark patch is the letter whose shape it is nearest to."""
    import numpy as np
    from scipy import ndimage

    high, low = pixels.max(axis=0), pixels.min(axis=0)
    dark = (high < 0.55) & (high - low < 0.2)
    labels, _ = ndimage.label(dark, structure=np.ones((3, 3)))
    letters = []
    for index, (rows, columns) in enumerate(ndimage.find_objects(labels), start=1):
        patch = labels[rows, columns] == index
        if patch.shape[0] * sight.blur >= max(12, sight.overlooks):
            letters.append((columns.start, _nearest(patch)))
    return "".join(letter for _, letter in sorted(letters))


def _nearest(patch: Labels) -> str:
    import numpy as np

    shape = _fitted(np.asarray(patch, dtype=np.float32))
    known = _alphabet()
    wide = patch.shape[1] / patch.shape[0]
    return min(known, key=lambda letter: float(((known[letter][0] - shape) ** 2).mean()) + abs(known[letter][1] - wide))


@cache
def _alphabet() -> dict[str, tuple[Pixels, float]]:
    """Every letter as it is drawn: its shape in a small frame, and how wide it is for its height."""
    import numpy as np
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(96)
    shapes = {}
    for letter in WRITTEN:
        sheet = Image.new("L", (160, 160), 0)
        ImageDraw.Draw(sheet).text((80, 80), letter, fill=255, font=font, anchor="mm")
        inside = np.asarray(sheet.crop(sheet.getbbox()), dtype=np.float32) / np.float32(255)
        shapes[letter] = (_fitted(inside), inside.shape[1] / inside.shape[0])
    return shapes


def _fitted(patch: Pixels) -> Pixels:
    """A patch stretched to one small frame."""
    import numpy as np
    from PIL import Image

    small = Image.fromarray((patch * 255).astype(np.uint8)).resize((12, 16), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float32) / np.float32(255)
