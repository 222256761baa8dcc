"""Random scenes from a seed: things, charts, letters. Pictures are drawn from them; the truth is computed from them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

from fullbench.synthetic.vocabulary import COLOURS, SHAPES, Colour, Shape

WIDTH, HEIGHT = 360, 252
RADII = (9, 15, 23, 32)
LABELS = "ABCDE"
TEXT_LETTERS = "ACEHKLMNPTUVXYZ"
"""Letters in pictures: at most one of those that look alike when small (E and F, P and R, O and Q)."""
TOP = 20
"""Value at the upper end of a chart's axis."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A shape in a picture: its colour, centre and radius in pixels."""

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
    """Things on a sheet, bars of a chart, or letters; `earlier` has the things of the first of two pictures."""

    things: tuple[Thing, ...] = ()
    bars: tuple[Bar, ...] = ()
    text: str = ""
    earlier: tuple[Thing, ...] = ()

    def count(self, colour: Colour | None = None, shape: Shape | None = None) -> int:
        """Count the things of this colour and shape; None means any."""
        return len(self.things_of_kind(colour, shape))

    def things_of_kind(self, colour: Colour | None = None, shape: Shape | None = None) -> list[Thing]:
        """Return the things of this colour and shape; None means any."""
        return [thing for thing in self.things if colour in {None, thing.colour} and shape in {None, thing.shape}]

    def groups(self) -> Counter[tuple[Colour, Shape]]:
        """Count the things of each colour and shape."""
        return Counter((thing.colour, thing.shape) for thing in self.things)


def things_scene(rng: random.Random, *, fewest: int = 5, most: int = 10) -> Scene:
    """Draw a sheet of shapes that do not touch. Few kinds are used, so that counts get above one."""
    shapes = rng.sample(SHAPES, rng.choice((2, 3, 3)))
    colours = rng.sample(COLOURS, rng.choice((2, 3, 3)))
    things: list[Thing] = []
    thing_count = rng.randint(fewest, most)
    # A bounded number of attempts: large shapes may leave no room for the last ones.
    for _ in range(400):
        if len(things) == thing_count:
            break
        radius = rng.choice(RADII) + rng.uniform(-1, 1)
        x = rng.uniform(radius + 12, WIDTH - radius - 12)
        y = rng.uniform(radius + 12, HEIGHT - radius - 12)
        if all((x - thing.x) ** 2 + (y - thing.y) ** 2 > (1.25 * (radius + thing.radius) + 6) ** 2 for thing in things):
            things.append(Thing(rng.choice(shapes), rng.choice(colours), round(x, 1), round(y, 1), round(radius, 1)))
    return Scene(things=tuple(things))


def chart_scene(rng: random.Random) -> Scene:
    """Draw a chart of four or five bars with distinct whole values, so that one bar is the tallest."""
    labels = LABELS[: rng.choice((4, 5))]
    values = rng.sample(range(2, TOP), len(labels))
    colours = rng.sample(COLOURS, len(labels))
    return Scene(bars=tuple(Bar(*bar) for bar in zip(labels, colours, values, strict=True)))


def text_scene(rng: random.Random) -> Scene:
    """Draw a few capital letters that spell no word, so that they cannot be guessed."""
    return Scene(text="".join(rng.sample(TEXT_LETTERS, rng.choice((3, 4, 5)))))


def changed_scene(rng: random.Random) -> Scene:
    """Draw a sheet with one thing more or one thing less than in the earlier picture."""
    while True:
        all_things = things_scene(rng).things
        changed_thing = rng.choice(all_things)
        other_things = tuple(thing for thing in all_things if thing is not changed_thing)
        if len(other_things) > 1:
            return (
                Scene(things=all_things, earlier=other_things)
                if rng.random() < 0.5
                else Scene(things=other_things, earlier=all_things)
            )
