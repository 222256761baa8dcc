"""Small sheets of the synthetic benchmark: prompts that say what is on them, and pictures of them drawn by the batch.

A sheet has one to three things of four shapes and six colours in 48 x 48 pixels, so that a network of a few million
weights can learn to draw them in minutes, and the synthetic eyes can say of any picture whether it is right. Stars
are left out: at this size the eyes take one in twenty for a diamond.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any, Literal

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.synthetic.drawing import HUES, shape_outline
from fullbench.synthetic.picture_reading import Sight, _classify_colours, _find_things, _mix_red_and_green
from fullbench.synthetic.vocabulary import COLOURS, SHAPES, Colour, Shape, count_of, groups_in, join_phrases

if TYPE_CHECKING:
    from fullbench.synthetic.picture_reading import Pixels
    from fullbench.synthetic.scenes import Thing

SIZE = 48
DRAWN: tuple[Shape, ...] = tuple(shape for shape in SHAPES if shape != "star")
MOST = 3
"""The most things on a sheet."""
SMALLEST, LARGEST = 5.0, 8.0
"""The radius of a thing, in pixels."""
LAYOUTS = 256
"""Drawn for each sheet: about one in twenty will do for three things, so that none does once in half a million."""
ANGLES = 720
PAPER = (0.98, 0.97, 0.95)
SHARP = Sight(overlooks=2.5)
"""Eyes that miss nothing on a sheet: its smallest thing has twice this radius, and specks have less."""

Kinds = Counter[tuple[Colour, Shape]]
"""How many things there are of each colour and shape."""


def prompt_of(kinds: Kinds) -> str:
    """What a sheet shows, in words."""
    return join_phrases([count_of(number, colour, shape, "en") for (colour, shape), number in kinds.items()], "en")


def kinds_of(prompt: str) -> Kinds:
    """What a prompt asks for.

    >>> kinds_of("two red circles and one blue diamond")
    Counter({('red', 'circle'): 2, ('blue', 'diamond'): 1})
    """
    kinds: Kinds = Counter()
    for number, colour, shape in groups_in(prompt):
        kinds[colour, shape] += number
    return kinds


def things_in(pixels: Pixels, sight: Sight) -> list[Thing]:
    """Find the things on a decoded picture. `pixels` are its red, green and blue planes, from 0 to 1."""
    planes, height, width = pixels.shape
    blur = sight.blur
    cut = pixels[:, : height - height % blur, : width - width % blur]
    small = cut.reshape(planes, height // blur, blur, width // blur, blur).mean(axis=(2, 4))
    return _find_things(_classify_colours(_mix_red_and_green(small, sight.confusion)), sight)


def rightness(asked: Kinds, pixels: Pixels, sight: Sight = SHARP) -> float:
    """How far a picture shows what was asked for, to these eyes: 1 when just that is there, less for every thing that
    is missing or too many."""
    seen: Kinds = Counter((thing.colour, thing.shape) for thing in things_in(pixels, sight))
    wrong = sum((asked - seen).values()) + sum((seen - asked).values())
    return 1 - wrong / (sum(asked.values()) + sum(seen.values()))


def every_prompt(most: int = MOST) -> list[str]:
    """All that a sheet of so many things can show, in words, always in the same order: 2,924 prompts for three."""
    kinds = list(product(COLOURS, DRAWN))
    sheets = (chosen for count in range(1, most + 1) for chosen in combinations_with_replacement(kinds, count))
    return [prompt_of(Counter(chosen)) for chosen in sheets]


Part = Literal["held out", "new", "known"]


def part_of(prompt: str) -> Part:
    """What a prompt is for: a fifth is held out from all training, a fifth is new to a generator when it is tuned, and
    the others are those that it learned to draw from."""
    place = int(digest(["held out", prompt])[:8], 16) % 5
    return "held out" if place == 0 else "new" if place == 1 else "known"


def prompts_for(part: Part, most: int = MOST) -> list[str]:
    """The prompts of one part."""
    return [prompt for prompt in every_prompt(most) if part_of(prompt) == part]


class Painter:
    """Draws sheets by the batch on a device: every picture of a prompt is a new one."""

    def __init__(self, device: str = "cpu") -> None:
        import torch

        self.device = device
        self.reach = torch.tensor([_reach(shape) for shape in DRAWN], device=device)
        self.hues = torch.tensor([HUES[colour] for colour in COLOURS], device=device)

    def things(self, prompts: Sequence[str]) -> Any:
        """Shape and colour of each thing that each prompt names, by their numbers; -1 where there is none."""
        import torch

        rows = [
            [(DRAWN.index(shape), COLOURS.index(colour)) for colour, shape in kinds_of(prompt).elements()]
            for prompt in prompts
        ]
        return torch.tensor([[*row, *[(-1, -1)] * (MOST - len(row))] for row in rows], device=self.device)

    def draw(self, things: Any, noise: Any) -> Any:
        """A picture of each row of `things`, as values from -1 to 1 in the order batch, colour plane, row, column.

        `noise` is torch's generator on the device. Of many layouts for each sheet the first is taken in which nothing
        touches.
        """
        import torch

        shape = (len(things), LAYOUTS, MOST)
        radius = SMALLEST + (LARGEST - SMALLEST) * torch.rand(shape, device=self.device, generator=noise)
        radius = radius * (things[:, None, :, 0] >= 0)
        margin = (1.25 * radius + 1)[..., None]
        place = margin + (SIZE - 2 * margin) * torch.rand((*shape, 2), device=self.device, generator=noise)
        apart = (place[..., :, None, :] - place[..., None, :, :]).norm(dim=-1)
        needed = 1.25 * (radius[..., :, None] + radius[..., None, :]) + 2
        both = (radius[..., :, None] > 0) & (radius[..., None, :] > 0)
        both = both & ~torch.eye(MOST, dtype=torch.bool, device=self.device)
        free = ~((apart < needed) & both).flatten(2).any(-1)
        layout = free.int().argmax(1)
        rows = torch.arange(len(things), device=self.device)
        chosen = torch.cat([things.clamp(0).float(), place[rows, layout], radius[rows, layout][..., None]], dim=-1)
        return self._paint(chosen, noise)

    def _paint(self, sheets: Any, noise: Any) -> Any:
        """`sheets` holds shape, colour, x, y and radius of each thing; a radius of 0 is no thing."""
        import torch

        line = torch.arange(SIZE, device=self.device) + 0.5
        y, x = torch.meshgrid(line, line, indexing="ij")
        count = len(sheets)
        picture = torch.tensor(PAPER, device=self.device).view(1, 3, 1, 1).expand(count, 3, SIZE, SIZE)
        for thing in sheets.unbind(1):
            shape, colour = thing[:, 0].long(), thing[:, 1].long()
            across, down = x - thing[:, 2, None, None], y - thing[:, 3, None, None]
            angle = (torch.atan2(down, across) % (2 * math.pi)) * (ANGLES / (2 * math.pi))
            edge = self.reach[shape[:, None, None], angle.round().long() % ANGLES] * thing[:, 4, None, None]
            cover = (edge - torch.hypot(across, down) + 0.5).clamp(0, 1) * (thing[:, 4, None, None] > 0)
            shade = self._shade(self.hues[colour], noise)
            picture = picture * (1 - cover[:, None]) + shade[:, :, None, None] * cover[:, None]
        return picture * 2 - 1

    def _shade(self, hues: Any, noise: Any) -> Any:
        """One of the many shades of each colour, as red, green and blue."""
        import torch

        drawn = torch.rand(hues.shape, device=self.device, generator=noise) * 2 - 1
        spread = torch.tensor([5.0, 0.06, 0.04], device=self.device)
        hue, saturation, value = (hues + drawn * spread).unbind(1)
        steps = torch.tensor([5.0, 3.0, 1.0], device=self.device)
        sixth = (steps + hue[:, None] / 60) % 6
        return value[:, None] * (1 - saturation[:, None] * torch.minimum(sixth, 4 - sixth).clamp(0, 1))


def _reach(shape: Shape) -> list[float]:
    """How far the outline of a shape of radius 1 is from its centre, in each direction."""
    corners = shape_outline(shape, 0.0, 0.0, 1.0)
    sides = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    return [max(_crossing(2 * math.pi * step / ANGLES, *side) for side in sides) for step in range(ANGLES)]


def _crossing(angle: float, start: tuple[float, float], end: tuple[float, float]) -> float:
    """How far a ray from the centre goes until it crosses a side; 0 where it does not."""
    ray = math.cos(angle), math.sin(angle)
    along = end[0] - start[0], end[1] - start[1]
    turn = ray[0] * along[1] - ray[1] * along[0]
    if abs(turn) < 1e-9:
        return 0.0
    distance = (start[0] * along[1] - start[1] * along[0]) / turn
    place = (start[0] * ray[1] - start[1] * ray[0]) / turn
    return distance if distance > 0 and -1e-9 <= place <= 1 + 1e-9 else 0.0
