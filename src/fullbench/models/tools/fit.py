"""How well a text fits a picture, by what tools noted: the cosine of two bags.

One bag holds the kinds of things seen, each by how sure the detector is of it, the words read, and the colours, by the
root of their share; the other what the text names of these, and its other words, which no tool can confirm. So a text
loses by naming what is not there and by talking about other things, as it does before CLIP. This is no CLIP score.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from math import sqrt

from fullbench.models.tools.colours import colours_named
from fullbench.models.tools.notes import Notes
from fullbench.models.tools.words import labels_named

COLOUR = 0.3
"""What a colour weighs beside a thing or a word: nearly every picture has grey."""
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


def shown(notes: Notes) -> Bag:
    """What is in the picture, as a bag."""
    bag = {("thing", label): sure for label, sure in (notes.seen or {}).items()}
    bag |= {("word", word): 1.0 for line in notes.text or () for word in words_in(line)}
    return bag | {("colour", name): COLOUR * sqrt(share) for name, share in (notes.colours or {}).items()}


@lru_cache(maxsize=4096)
def said(text: str) -> Bag:
    """What a text says, as a bag."""
    things = {("thing", label): 1.0 for label in labels_named(text)}
    words = {("word", word): 1.0 for word in words_in(text)}
    return things | words | {("colour", name): COLOUR for name in colours_named(text)}


def fit(notes: Notes, text: str) -> float | None:
    """The cosine, from 0 to 1; None where the picture gave no notes or the text says nothing."""
    there, told = shown(notes), said(text)
    if not there or not told:
        return None
    both = sum(weight * told[key] for key, weight in there.items() if key in told)
    return min(1.0, both / (_length(there) * _length(told)))


def _length(bag: Bag) -> float:
    return sqrt(sum(weight * weight for weight in bag.values()))
