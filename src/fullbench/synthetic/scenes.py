"""Scenes: what is really there, made up from a seed. The pictures are drawn from them, the truth is read from them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

from fullbench.synthetic.vocabulary import COLOURS, SHAPES, Colour, Shape

WIDTH, HEIGHT = 360, 252
RADII = (9, 15, 23, 32)
LABELS = "ABCDE"
WRITTEN = "ACEHKLMNPTUVXYZ"
"""The letters that are written: of those that look alike in small (E and F, P and R, O and Q) one at most."""
TOP = 20
"""The value at the upper end of a chart's axis."""


@dataclass(frozen=True, slots=True)
class Thing:
    """One shape in a picture: its colour, its centre and its radius, in pixels."""

    shape: Shape
    colour: Colour
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart."""

    label: str
    colour: Colour
    value: int


@dataclass(frozen=True, slots=True)
class Scene:
    """What a picture shows: things on a sheet, the bars of a chart, or some letters.

    `earlier` holds the things of a picture before this one, where there are two.
    """

    things: tuple[Thing, ...] = ()
    bars: tuple[Bar, ...] = ()
    text: str = ""
    earlier: tuple[Thing, ...] = ()

    def count(self, colour: Colour | None = None, shape: Shape | None = None) -> int:
        """How many things have this colour and this shape; None stands for any."""
        return len(self.those(colour, shape))

    def those(self, colour: Colour | None = None, shape: Shape | None = None) -> list[Thing]:
        """The things of this colour and this shape; None stands for any."""
        return [thing for thing in self.things if colour in {None, thing.colour} and shape in {None, thing.shape}]

    def groups(self) -> Counter[tuple[Colour, Shape]]:
        """How many things there are of each colour and shape."""
        return Counter((thing.colour, thing.shape) for thing in self.things)


def things_scene(rng: random.Random, *, fewest: int = 5, most: int = 10) -> Scene:
    """A sheet with some shapes that do not touch. Few kinds are used, so that counting is worth the trouble."""
    shapes = rng.sample(SHAPES, rng.choice((2, 3, 3)))
    colours = rng.sample(COLOURS, rng.choice((2, 3, 3)))
    placed: list[Thing] = []
    wanted = rng.randint(fewest, most)
    for _ in range(400):
        if len(placed) == wanted:
            break
        radius = rng.choice(RADII) + rng.uniform(-1, 1)
        x = rng.uniform(radius + 12, WIDTH - radius - 12)
        y = rng.uniform(radius + 12, HEIGHT - radius - 12)
        if all((x - o.x) ** 2 + (y - o.y) ** 2 > (1.25 * (radius + o.radius) + 6) ** 2 for o in placed):
            placed.append(Thing(rng.choice(shapes), rng.choice(colours), round(x, 1), round(y, 1), round(radius, 1)))
    return Scene(things=tuple(placed))


def chart_scene(rng: random.Random) -> Scene:
    """A chart of four or five bars with whole values, the highest of them alone at the top."""
    labels = LABELS[: rng.choice((4, 5))]
    values = rng.sample(range(2, TOP), len(labels))
    colours = rng.sample(COLOURS, len(labels))
    return Scene(bars=tuple(Bar(*bar) for bar in zip(labels, colours, values, strict=True)))


def text_scene(rng: random.Random) -> Scene:
    """A few capital letters that spell nothing, so that nobody can guess them."""
    return Scene(text="".join(rng.sample(WRITTEN, rng.choice((3, 4, 5)))))


def changed_scene(rng: random.Random) -> Scene:
    """A sheet to which one thing was added, or from which one was taken, since the picture before."""
    while True:
        whole = things_scene(rng).things
        gone = rng.choice(whole)
        rest = tuple(thing for thing in whole if thing is not gone)
        if len(rest) > 1:
            return Scene(things=whole, earlier=rest) if rng.random() < 0.5 else Scene(things=rest, earlier=whole)
