"""Scenes drawn as PNG with soft edges, shadows, shades and slight noise; the same seed gives the same picture."""

from __future__ import annotations

import colorsys
import math
import random
from typing import TYPE_CHECKING

from fullbench.picture_flattening_and_orientation import encode_image
from fullbench.synthetic.scenes import HEIGHT, TOP, WIDTH, Bar, Scene, Thing
from fullbench.synthetic.vocabulary import Colour, Shape

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

FINE = 3
"""Pictures are drawn this many times larger and then scaled down, which softens the edges."""
HUES: dict[Colour, tuple[float, float, float]] = {
    "red": (355, 0.74, 0.86),
    "orange": (26, 0.80, 0.96),
    "yellow": (49, 0.74, 0.96),
    "green": (140, 0.60, 0.66),
    "blue": (213, 0.68, 0.86),
    "purple": (279, 0.50, 0.74),
}
"""Hue in degrees, saturation and value of each colour."""
PAPERS = ((250, 247, 240), (244, 247, 250), (247, 250, 244), (250, 244, 246))
INK = (74, 78, 88)
LEFT, RIGHT, UPPER, LOWER = 46, 336, 24, 214
"""Frame of a chart's axes, in pixels."""
LETTER, STEP = 34, 38
"""Size of written letters and distance between them, in pixels."""


def draw_scene(scene: Scene, seed: int | str) -> bytes:
    """Draw the scene as PNG. Shades, paper and noise depend on `seed` only."""
    from PIL import Image, ImageDraw, ImageFilter

    rng = random.Random(f"draw/{seed}")
    paper = rng.choice(PAPERS)
    sheet = Image.new("RGB", (WIDTH * FINE, HEIGHT * FINE), paper)
    if scene.bars:
        _draw_axes(ImageDraw.Draw(sheet))
    if scene.things:
        shadow = Image.new("L", (WIDTH, HEIGHT), 0)
        for thing in scene.things:
            corners = shape_outline(thing.shape, thing.x + 1.5, thing.y + 3, thing.radius)
            ImageDraw.Draw(shadow).polygon(corners, fill=64)
        soft = shadow.filter(ImageFilter.GaussianBlur(2.5)).resize(sheet.size)
        sheet.paste(tuple(c * 7 // 10 for c in paper), mask=soft)
    pen = ImageDraw.Draw(sheet)
    for thing in scene.things:
        _draw_thing(pen, thing, rng)
    if scene.text:
        _draw_letters(pen, scene.text)
    for place, bar in enumerate(scene.bars):
        _draw_bar(pen, bar, bar_span(place, len(scene.bars)), rng)
    return _encode_png(sheet.reduce(FINE), rng)


def shape_outline(shape: Shape, x: float, y: float, radius: float, scale: float = 1.0) -> list[tuple[float, float]]:
    """Return the corners of a shape around its centre. All shapes of one radius look about equally large."""
    if shape == "square":
        half = 0.86 * radius
        corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
    elif shape == "triangle":
        half = 1.1 * radius
        corners = [(0.0, -half), (half, 0.85 * half), (-half, 0.85 * half)]
    elif shape == "diamond":
        corners = [(0.0, -1.2 * radius), (0.9 * radius, 0.0), (0.0, 1.2 * radius), (-0.9 * radius, 0.0)]
    elif shape == "star":
        reach = [1.25 * radius if k % 2 == 0 else 0.52 * radius for k in range(10)]
        corners = [(r * math.sin(k * math.pi / 5), -r * math.cos(k * math.pi / 5)) for k, r in enumerate(reach)]
    else:
        corners = [(radius * math.cos(k * math.pi / 36), radius * math.sin(k * math.pi / 36)) for k in range(72)]
    return [(scale * (x + dx), scale * (y + dy)) for dx, dy in corners]


def bar_span(place: int, bars: int) -> tuple[float, float]:
    """Return the left and right edge of a bar in pixels."""
    step = (RIGHT - LEFT) / bars
    return LEFT + step * (place + 0.2), LEFT + step * (place + 0.8)


def pick_shade(colour: Colour, rng: random.Random) -> tuple[int, int, int]:
    """Return a random shade of a colour as RGB."""
    hue, saturation, value = HUES[colour]
    hue, saturation = hue + rng.uniform(-5, 5), saturation + rng.uniform(-0.06, 0.06)
    red, green, blue = colorsys.hsv_to_rgb(hue % 360 / 360, saturation, min(1.0, value + rng.uniform(-0.05, 0.04)))
    return round(255 * red), round(255 * green), round(255 * blue)


def _draw_thing(pen: ImageDraw.ImageDraw, thing: Thing, rng: random.Random) -> None:
    inside = pick_shade(thing.colour, rng)
    pen.polygon(
        shape_outline(thing.shape, thing.x, thing.y, thing.radius, FINE), fill=tuple(c * 4 // 5 for c in inside)
    )
    pen.polygon(shape_outline(thing.shape, thing.x, thing.y, thing.radius - 1.2, FINE), fill=inside)


def _draw_axes(pen: ImageDraw.ImageDraw) -> None:
    from PIL import ImageFont

    font = ImageFont.load_default(11 * FINE)
    for value in range(0, TOP + 1, 5):
        y = LOWER - (LOWER - UPPER) * value / TOP
        colour = INK if value == 0 else (212, 214, 220)
        pen.line(
            [(LEFT * FINE, y * FINE), (RIGHT * FINE, y * FINE)], fill=colour, width=FINE * (2 if value == 0 else 1)
        )
        pen.text(((LEFT - 8) * FINE, y * FINE), str(value), fill=INK, font=font, anchor="rm")


def _draw_bar(pen: ImageDraw.ImageDraw, bar: Bar, span: tuple[float, float], rng: random.Random) -> None:
    from PIL import ImageFont

    top = LOWER - (LOWER - UPPER) * bar.value / TOP
    pen.rectangle([span[0] * FINE, top * FINE, span[1] * FINE, (LOWER - 1) * FINE], fill=pick_shade(bar.colour, rng))
    middle = ((span[0] + span[1]) / 2 * FINE, (LOWER + 8) * FINE)
    pen.text(middle, bar.label, fill=INK, font=ImageFont.load_default(13 * FINE), anchor="ma")


def _draw_letters(pen: ImageDraw.ImageDraw, text: str) -> None:
    from PIL import ImageFont

    font = ImageFont.load_default(LETTER * FINE)
    left = (WIDTH - STEP * (len(text) - 1)) / 2
    for place, letter in enumerate(text):
        pen.text(((left + STEP * place) * FINE, HEIGHT / 2 * FINE), letter, fill=INK, font=font, anchor="mm")


def _encode_png(sheet: Image.Image, rng: random.Random) -> bytes:
    import numpy as np
    from PIL import Image

    grain = np.frombuffer(rng.randbytes(WIDTH * HEIGHT), dtype=np.uint8).reshape(HEIGHT, WIDTH, 1)
    noisy = np.clip(np.asarray(sheet, dtype=np.int16) + (grain % 3).astype(np.int16) * 3 - 3, 0, 255)
    return encode_image(Image.fromarray(noisy.astype(np.uint8)), compress_level=3)
