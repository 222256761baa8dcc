"""Colours, shapes and numbers in English and Chinese, and functions that find them in a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

Language = Literal["en", "zh"]
Colour = Literal["red", "orange", "yellow", "green", "blue", "purple"]
Shape = Literal["circle", "square", "triangle", "diamond", "star"]
COLOURS: tuple[Colour, ...] = get_args(Colour)
SHAPES: tuple[Shape, ...] = get_args(Shape)

COLOUR_ZH: dict[str, str] = {
    "red": "红色", "orange": "橙色", "yellow": "黄色", "green": "绿色", "blue": "蓝色", "purple": "紫色",
}  # fmt: skip
SHAPE_ZH: dict[str, str] = {
    "circle": "圆形", "square": "正方形", "triangle": "三角形", "diamond": "菱形", "star": "星形",
}  # fmt: skip
NUMBERS_EN = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
NUMBERS_ZH = ("零", "一", "两", "三", "四", "五", "六", "七", "八", "九", "十")

_COLOURS_ZH = {word[0]: name for name, word in COLOUR_ZH.items()}
_SHAPES_ZH = {word: name for name, word in SHAPE_ZH.items()} | {"方形": "square", "五角星": "star"}
_VALUES = (
    {word: value for value, word in enumerate(NUMBERS_EN)}
    | {word: value for value, word in enumerate(NUMBERS_ZH)}
    | {"no": 0, "a": 1, "an": 1, "二": 2, "〇": 0}
)
_NUMBER = (
    r"\d+|\b(?:" + "|".join(sorted(NUMBERS_EN, key=len, reverse=True)) + r")\b|[零〇一二两三四五六七八九十]+(?!角)"
)
_COLOUR = r"\b(?:" + "|".join(COLOURS) + r")\b|[" + "".join(_COLOURS_ZH) + "]"
_SHAPES_ZH_RE = "|".join(sorted(_SHAPES_ZH, key=len, reverse=True))
_SHAPE = r"\b(?:" + "|".join(SHAPES) + r")s?\b|" + _SHAPES_ZH_RE
_GROUP_EN = re.compile(
    rf"(\d+|\b(?:a|an|no|{'|'.join(NUMBERS_EN)}))\s+({'|'.join(COLOURS)})\s+({'|'.join(SHAPES)})s?\b"
)
_GROUP_ZH = re.compile(rf"(\d+|[零〇一二两三四五六七八九十]+)个([{''.join(_COLOURS_ZH)}])色?的?({_SHAPES_ZH_RE})")


def number_of(word: str) -> int:
    """Return the value of a number, in digits or in words of either language.

    >>> number_of("12"), number_of("three"), number_of("十二"), number_of("二十")
    (12, 3, 12, 20)
    """
    if word.isdecimal():
        return int(word)
    if word in _VALUES:
        return _VALUES[word]
    tens, _, ones = word.partition("十")
    return 10 * (_VALUES.get(tens, 1)) + _VALUES.get(ones, 0)


def numbers_in(text: str) -> list[int]:
    """Return the numbers in a sentence, in order. The "three" in the Chinese word for triangle does not count.

    >>> numbers_in("Bar C stands at 12."), numbers_in("图中有两个三角形。")
    ([12], [2])
    """
    return [number_of(word) for word in re.findall(_NUMBER, text.lower())]


def colours_in(text: str) -> list[Colour]:
    """Return the colours in a sentence, in order.

    >>> colours_in("It is red."), colours_in("它是红色的。")
    (['red'], ['red'])
    """
    words = (_COLOURS_ZH.get(word, word) for word in re.findall(_COLOUR, text.lower()))
    return [colour for word in words for colour in COLOURS if colour == word]


def shapes_in(text: str) -> list[Shape]:
    """Return the shapes in a sentence, in order, singular or plural.

    >>> shapes_in("more circles than squares"), shapes_in("正方形比五角星多")
    (['circle', 'square'], ['square', 'star'])
    """
    words = (_SHAPES_ZH.get(word, word.rstrip("s")) for word in re.findall(_SHAPE, text.lower()))
    return [shape for word in words for shape in SHAPES if shape == word]


def groups_in(text: str) -> list[tuple[int, Colour, Shape]]:
    """Return the groups of things in a description as (count, colour, shape).

    >>> groups_in("I see two red circles and a blue star.")
    [(2, 'red', 'circle'), (1, 'blue', 'star')]
    >>> groups_in("图中有两个红色的圆形和1个蓝色星形。")
    [(2, 'red', 'circle'), (1, 'blue', 'star')]
    """
    groups = [*_GROUP_EN.findall(text.lower()), *_GROUP_ZH.findall(text)]
    return [(number_of(number), colours_in(colour)[0], shapes_in(shape)[0]) for number, colour, shape in groups]


def count_of(number: int, colour: Colour | None, shape: Shape | None, language: Language) -> str:
    """Write a number of things in words.

    >>> count_of(2, "red", "circle", "en"), count_of(1, None, "star", "en"), count_of(2, "red", "circle", "zh")
    ('two red circles', 'one star', '两个红色的圆形')
    """
    number_word = (NUMBERS_ZH if language == "zh" else NUMBERS_EN)[number] if number <= 10 else str(number)
    noun = noun_of(colour, shape, language, plural=number != 1)
    return f"{number_word}个{noun}" if language == "zh" else f"{number_word} {noun}"


def noun_of(colour: Colour | None, shape: Shape | None, language: Language, *, plural: bool = False) -> str:
    """Write a kind of thing in words: `red circles`, `shapes`, `红色的圆形`."""
    if language == "zh":
        noun = SHAPE_ZH[shape] if shape else "图形"
        return f"{COLOUR_ZH[colour]}的{noun}" if colour else noun
    noun = (shape or "shape") + ("s" if plural else "")
    return f"{colour} {noun}" if colour else noun


def join_phrases(parts: Sequence[str], language: Language) -> str:
    """Join phrases to a list in a sentence.

    >>> join_phrases(["a", "b", "c"], "en"), join_phrases(["甲", "乙"], "zh")
    ('a, b and c', '甲和乙')
    """
    comma, last = ("、", "和") if language == "zh" else (", ", " and ")
    return last.join([comma.join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
