"""Fit of a text to a picture, computed from tools' notes. Neither measure is a CLIP score; use them if CLIP is missing.

`ToolMeasure` is the cosine of two bags. The picture's bag holds the kinds of objects (by confidence), the words read,
and the colours (by the square root of their share). The text's bag holds what the text names of these, and its other
words, which no tool can confirm. So, as with CLIP, a text loses by naming what is not there and by other talk.
`ColourMeasure` compares only the colours that a text names with those of the picture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from math import sqrt
from typing import Any

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.picture import Picture
from fullbench.models.tools.colour_words_and_picture_shares import HUES, LEAST, colours_named
from fullbench.models.tools.detector_words import labels_named
from fullbench.models.tools.picture_notes_and_their_wording import Notes
from fullbench.models.tools.toolbox import Toolbox


@dataclass(frozen=True)
class Weights:
    """Weights of an object and a colour relative to a word. `scripts/weigh.py` chose the defaults on real pictures and
    answers, and estimates how well they hold on other pictures.
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
    """Return the content words: three letters or more, numbers, and Chinese characters.

    >>> sorted(words_in("The sign says STOP 24 hours; 禁止停车"))
    ['24', 'hours', 'says', 'sign', 'stop', '停', '止', '禁', '车']
    """
    return frozenset(_WORD.findall(text.lower())) - _COMMON


def picture_bag(notes: Notes, weights: Weights = DEFAULT) -> Bag:
    """Return the content of the picture as a bag."""
    bag = {("thing", label): weights.thing * sure for label, sure in (notes.confidence_by_kind or {}).items()}
    bag |= {("word", word): 1.0 for line in notes.text or () for word in words_in(line)}
    return bag | {("colour", name): weights.colour * sqrt(share) for name, share in (notes.colours or {}).items()}


@lru_cache(maxsize=4096)
def text_bag(text: str, weights: Weights = DEFAULT) -> Bag:
    """Return the content of a text as a bag."""
    things = {("thing", label): weights.thing for label in labels_named(text)}
    words = {("word", word): 1.0 for word in words_in(text)}
    return things | words | {("colour", name): weights.colour for name in colours_named(text)}


def text_image_cosine(notes: Notes, text: str, weights: Weights = DEFAULT) -> float | None:
    """Return the cosine, from 0 to 1, or None if there are no notes or the text has no content."""
    picture_weights, text_weights = picture_bag(notes, weights), text_bag(text, weights)
    lengths = _bag_norm(picture_weights) * _bag_norm(text_weights)
    if not lengths:
        return None
    return min(
        1.0, sum(weight * text_weights[key] for key, weight in picture_weights.items() if key in text_weights) / lengths
    )


def _bag_norm(bag: Bag) -> float:
    return sqrt(sum(weight * weight for weight in bag.values()))


@dataclass(frozen=True)
class ColourMeasure:
    """Share of the named colours that the picture has, from -1 (none) to 1 (all). None if the text names none."""

    tools: Toolbox = field(default_factory=lambda: Toolbox.from_names("colours"))

    @property
    def name(self) -> str:
        return "colours, tool-grounded"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"least": LEAST, "hues": {name: list(span) for name, span in HUES.items()}}

    def fit(self, picture: Picture, text: str) -> float | None:
        named_colours, picture_colours = colours_named(text), self.tools.notes(picture).colours
        if picture_colours is None or not named_colours:
            return None
        return 2 * len(named_colours & picture_colours.keys()) / len(named_colours) - 1


@dataclass(frozen=True)
class ToolMeasure:
    """Cosine of the tools' notes and the text's content, from 0 to 1."""

    tools: Toolbox = field(default_factory=lambda: Toolbox.from_names("objects+text+colours"))
    weights: Weights = DEFAULT

    @cached_property
    def name(self) -> str:
        return f"{self.tools.name}, tool-grounded#{digest(self.settings)[:8]}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {"tools": self.tools.versions, "bags": 1, **asdict(self.weights)}

    def fit(self, picture: Picture, text: str) -> float | None:
        return text_image_cosine(self.tools.notes(picture), text, self.weights)
