"""What the light critic measures beside single words: how an answer is written, and how like the reference it is.

Numbers, negation and characters are compared, in English and Chinese alike: "three" and 三 are the number 3, and runs
of characters need no segmentation into words. Every measure is a number; a random map bends them, so that a linear
head can learn that two of them count together.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fullbench.core.case import Case
from fullbench.core.text import words_of

Floats = npt.NDArray[np.float64]
BENDS = 256
"""How many directions the random map has."""
_WIDTH = 0.2
"""How fast the map bends along a measure of deviation 1; chosen on the court's answers, whose truth is known."""
_FARTHEST = 5.0
"""Measures are cut off at so many deviations: nothing was learned beyond."""
_COMPARED = 80
"""Words of both texts of which the longest common order is sought."""
_ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_CHINESE = {**{sign: value for value, sign in enumerate("零一二三四五六七八九十")}, "两": 2}
_SPOKEN = {**{word: value for value, word in enumerate(_ENGLISH)}, **_CHINESE}
_NUMBER = re.compile(rf"\d+(?:\.\d+)?|\b(?:{'|'.join(_ENGLISH)})\b|一(?![共样起些般定直切])|[零二两三四五六七八九十]")
"""A Chinese one is also part of words that count nothing: altogether, alike, together."""
_NEGATION = re.compile(r"\b(?:no|not|none|never|nothing|cannot|without|neither|nor)\b|n['’]t\b|[不没无非未]")
_EXCUSE = re.compile(r"\b(?:sorry|unable|cannot|can['’]t|as an ai|i don['’]t)\b|抱歉|无法|不能")
_SENTENCE = re.compile(r"[.!?。！？]+")
_LISTED = re.compile(r"^\s*(?:[-*•]|\d+[.)])", re.MULTILINE)


def figures_in(text: str) -> list[float]:
    """The numbers of a text in order: digits, decimals, English and Chinese number words, with or without a unit.

    >>> figures_in("Three of 12 cost 2.50; 答案是四")
    [3.0, 12.0, 2.5, 4.0]
    """
    found = _NUMBER.findall(text.lower())
    return [float(_SPOKEN[word]) if word in _SPOKEN else float(word) for word in found]


def measures(case: Case) -> list[float]:
    """An answer as numbers: its manner, and beside a reference how like that it is (zeros where there is none)."""
    answer = case.responses[0].text
    wanted = case.item.reference or ""
    words, asked = words_of(answer), words_of(case.item.question)
    return [*_manner(answer, words, asked), *_likeness(answer, words, wanted, words_of(wanted), set(asked))]


def _manner(answer: str, words: Sequence[str], asked: Sequence[str]) -> list[float]:
    length, sentences, low = max(1, len(words)), len(_SENTENCE.findall(answer)), answer.lower()
    pairs = list(pairwise(words))
    known = set(asked)
    return [
        math.log(length), math.log(length) ** 2, math.log1p(len(asked)),
        len(set(words)) / length, len(set(pairs)) / max(1, len(pairs)),
        math.log1p(sentences), length / max(1, sentences), answer.count("\n"), len(_LISTED.findall(answer)),
        float(answer.rstrip("\"'）) ")[-1:] in {*".!?。！？"}), float(bool(_EXCUSE.search(low))),
        len(figures_in(answer)), len(_NEGATION.findall(low)), len(known & set(words)) / max(1, len(known)),
        sum(character.isupper() for character in answer) / max(1, len(answer)),
    ]  # fmt: skip


def _likeness(answer: str, words: Sequence[str], wanted: str, right: Sequence[str], asked: set[str]) -> list[float]:
    """How like the reference an answer is; what the question says already is compared once with and once without."""
    if not right:
        return [0.0] * 27
    news = [[word for word in text if word not in asked] for text in (words, right)]
    said, true = figures_in(answer), figures_in(wanted)
    low, low_wanted = answer.lower(), wanted.lower()
    longer = math.log(max(1, len(words)) / len(right))
    return [
        *_shared(words, right), *_shared(*news), float(not news[1]),
        *_shared(list(pairwise(words)), list(pairwise(right))),
        *(share for size in (2, 3, 5) for share in _shared(_runs(low, size), _runs(low_wanted, size))),
        float(bool(true)), float(bool(said)), float(set(said) == set(true)), *_shared(said, true),
        float(said[-1:] == true[-1:]), min(5.0, abs(said[-1] - true[-1])) if said and true else 2.5,
        float(bool(_NEGATION.search(low)) == bool(_NEGATION.search(low_wanted))),
        float(low_wanted.strip(" .。") in low), longer, abs(longer),
        float(list(words[:1]) == list(right[:1])), float(list(words[-1:]) == list(right[-1:])),
        _in_order(words[:_COMPARED], right[:_COMPARED]) / min(_COMPARED, len(right)),
    ]  # fmt: skip


def _runs(text: str, size: int) -> list[str]:
    """All runs of so many characters."""
    plain = " ".join(text.split())
    return [plain[start : start + size] for start in range(len(plain) - size + 1)]


def _shared(these: Sequence[Hashable], those: Sequence[Hashable]) -> tuple[float, float]:
    """What both have, as a share of the first and of the second."""
    both = sum((Counter(these) & Counter(those)).values())
    return both / max(1, len(these)), both / max(1, len(those))


def _in_order(these: Sequence[str], those: Sequence[str]) -> int:
    """The length of the longest sequence of words that both have in the same order."""
    row = [0] * (len(those) + 1)
    for word in these:
        corner = 0
        for place, other in enumerate(those, 1):
            row[place], corner = (corner + 1 if word == other else max(row[place], row[place - 1])), row[place]
    return row[-1]


@dataclass(frozen=True)
class Bending:
    """A random map that bends measures (Rahimi and Recht 2007, Random Features for Large-Scale Kernel Machines).

    It is stored with a critic, since random generators of other versions may draw otherwise. A measure that did not
    vary in training has a scale of 0: nothing was learned about it.
    """

    middle: Floats
    scale: Floats
    directions: Floats
    phases: Floats

    @classmethod
    def of(cls, rows: Floats, seed: int = 0) -> Bending:
        rng = np.random.default_rng(seed)
        deviation = rows.std(axis=0)
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-9)
        directions = _WIDTH * rng.standard_normal((rows.shape[1], BENDS))
        return cls(rows.mean(axis=0), scale, directions, rng.uniform(0, 2 * np.pi, BENDS))

    def __call__(self, rows: Floats) -> Floats:
        standard = np.clip((rows - self.middle) * self.scale, -_FARTHEST, _FARTHEST)
        bent: Floats = np.sqrt(2 / BENDS) * np.cos(standard @ self.directions + self.phases)
        return bent
