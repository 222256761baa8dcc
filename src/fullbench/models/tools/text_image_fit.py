"""How well a text fits a picture, by what tools noted: the cosine of two bags.

One bag holds the kinds of things seen, each by how sure the detector is of it, the words read, and the colours, by the
root of their share; the other what the text names of these, and its other words, which no tool can confirm. So a text
loses by naming what is not there and by talking about other things, as it does before CLIP. This is no CLIP score.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from math import sqrt
from typing import Any

from fullbench.core.digests import digest
from fullbench.core.picture import Picture
from fullbench.models.tools.colour_tool import HUES, LEAST, colours_named
from fullbench.models.tools.detector_words import labels_named
from fullbench.models.tools.picture_notes import Notes
from fullbench.models.tools.toolbox import Toolbox


@dataclass(frozen=True)
class Weights:
    """What a thing and a colour weigh beside a word; a colour of the picture by the root of its share as well.

    The defaults were chosen on real pictures and answers by `scripts/weigh.py`, which also says what such a choice is
    worth on pictures that it did not see.
    """

    thing: float = 1.0
    colour: float = 1.0


DEFAULT = Weights()
_WORD = re.compile(r"[a-z]{3,}|\d+(?:\.\d+)?|[\u4e00-\u9fff]")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for are with this that from you your have has not but was were all can its which there their will one "
        "they image picture shows what 的 了 是 在 和 有 这 个 图 中 一",
    )
)

Bag = Mapping[tuple[str, str], float]


def words_in(text: str) -> frozenset[str]:
    """The words that say something: of three letters or more, numbers, and Chinese characters.

    >>> sorted(words_in("The sign says STOP 24 hours; 禁止停车"))
    ['24', 'hours', 'says', 'sign', 'stop', '停', '止', '禁', '车']
    """
    return frozenset(_WORD.findall(text.lower())) - _COMMON


def shown(notes: Notes, weights: Weights = DEFAULT) -> Bag:
    """What is in the picture, as a bag."""
    bag = {("thing", label): weights.thing * sure for label, sure in (notes.seen or {}).items()}
    bag |= {("word", word): 1.0 for line in notes.text or () for word in words_in(line)}
    return bag | {("colour", name): weights.colour * sqrt(share) for name, share in (notes.colours or {}).items()}


@lru_cache(maxsize=4096)
def said(text: str, weights: Weights = DEFAULT) -> Bag:
    """What a text says, as a bag."""
    things = {("thing", label): weights.thing for label in labels_named(text)}
    words = {("word", word): 1.0 for word in words_in(text)}
    return things | words | {("colour", name): weights.colour for name in colours_named(text)}


def fit(notes: Notes, text: str, weights: Weights = DEFAULT) -> float | None:
    """The cosine, from 0 to 1; None where the picture gave no notes or the text says nothing."""
    there, spoken = shown(notes, weights), said(text, weights)
    lengths = _length(there) * _length(spoken)
    if not lengths:
        return None
    return min(1.0, sum(weight * spoken[key] for key, weight in there.items() if key in spoken) / lengths)


def _length(bag: Bag) -> float:
    return sqrt(sum(weight * weight for weight in bag.values()))


# How well a text fits a picture, measured by tools: where no CLIP can be had. Neither of the two is a CLIP score.
#
# `ColourMeasure` compares the colours that a text names with those that the picture has, `ToolMeasure` all that the
# tools note, things and writing too, with all that the text says.


@dataclass(frozen=True)
class ColourMeasure:
    """The share of the colours named that the picture has, from -1 (none) to 1 (all). None where none is named."""

    tools: Toolbox = field(default_factory=lambda: Toolbox.named("colours"))

    @property
    def name(self) -> str:
        return "colours, tool-grounded"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"least": LEAST, "hues": {name: list(span) for name, span in HUES.items()}}

    def fit(self, picture: Picture, text: str) -> float | None:
        named, there = colours_named(text), self.tools.notes(picture).colours
        if there is None or not named:
            return None
        return 2 * len(named & there.keys()) / len(named) - 1


@dataclass(frozen=True)
class ToolMeasure:
    """The cosine of what the tools noted and what the text says, from 0 to 1: see `models.tools.text_image_fit`."""

    tools: Toolbox = field(default_factory=lambda: Toolbox.named("objects+text+colours"))
    weights: Weights = DEFAULT

    @cached_property
    def name(self) -> str:
        return f"{self.tools.name}, tool-grounded#{digest(self.settings)[:8]}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {"tools": self.tools.versions, "bags": 1, **asdict(self.weights)}

    def fit(self, picture: Picture, text: str) -> float | None:
        return fit(self.tools.notes(picture), text, self.weights)
