"""Words for the detector's labels: the labels and counts that a text names, in English or Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_CHINESE = {"零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}
_NUMBER = re.compile(
    rf"(?<![\w.])(?:(?P<digits>\d{{1,4}})(?![\w.]*\d)|(?P<word>{'|'.join(NUMBERS)}|none|zero|an?)\b)"
    rf"|(?P<chinese>[{''.join(_CHINESE)}])(?=[个只辆张把条位台头匹架艘列块件本])",
    re.IGNORECASE,
)
_PLURALS = {"person": "people", "knife": "knives", "mouse": "mice", "sheep": "sheep", "skis": "skis", "tv": "TVs",
            "scissors": "pairs of scissors", "eye glasses": "pairs of glasses", "sandwich": "sandwiches",
            "bench": "benches", "bus": "buses", "couch": "couches", "toothbrush": "toothbrushes",
            "hair brush": "hair brushes", "wine glass": "wine glasses"}  # fmt: skip


@cache
def _labels_by_word() -> dict[str, str]:
    text = (resources.files("fullbench.models.tools") / "words.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines()]
    return {word: label for label, english, chinese in rows for word in f"{english}|{chinese}".split("|")}


@cache
def _word_pattern() -> re.Pattern[str]:
    words = sorted(_labels_by_word(), key=len, reverse=True)
    english = "|".join(word.replace(" ", r"[\s-]") for word in words if word.isascii())
    return re.compile(rf"\b({english})(?:e?s)?\b|({'|'.join(word for word in words if not word.isascii())})")


def labels_named(text: str) -> list[str]:
    """Return the labels that a text names, in order and without repeats. A hot dog is no dog.

    >>> labels_named("Two men beside a hot dog stand; 一只猫在桌子上。")
    ['person', 'hot dog', 'cat', 'dining table']
    """
    return list(dict.fromkeys(label for label, _ in _find_labels(text)))


def _find_labels(text: str) -> list[tuple[str, int]]:
    table = _labels_by_word()
    return [
        (table[re.sub(r"[\s-]", " ", match[1]) if match[1] else match[2]], match.start())
        for match in _word_pattern().finditer(text.lower())
    ]


def numbers_in(text: str) -> list[int]:
    """Return the numbers in a text, as digits or words; an article is not a number.

    >>> numbers_in("There are two cats, 3 dogs, a car and no bird; 还有四个人。")
    [2, 3, 0, 4]
    """
    return [
        _number_value(match) for match in _NUMBER.finditer(text) if (match["word"] or "").lower() not in {"a", "an"}
    ]


def _number_value(match: re.Match[str]) -> int:
    if match["digits"]:
        return int(match["digits"])
    if match["chinese"]:
        return _CHINESE[match["chinese"]]
    word = match["word"].lower()
    return 0 if word in {"none", "zero"} else 1 if word in {"a", "an"} else NUMBERS.index(word)


def count_of(text: str, label: str) -> int | None:
    """Return how many things of a kind a text claims: the last number right before a word for it.

    >>> count_of("I see a car and two people. So there are 2 people.", "person")
    2
    >>> count_of("There is a car.", "dog") is None
    True
    """
    count = None
    for mention, begin in _find_labels(text):
        if mention == label and (before := list(_NUMBER.finditer(text[max(0, begin - 24) : begin]))):
            count = _number_value(before[-1])
    return count


def plural_form(label: str) -> str:
    """Return the plural of a label.

    >>> plural_form("person"), plural_form("dog"), plural_form("bus")
    ('people', 'dogs', 'buses')
    """
    return _PLURALS.get(label, f"{label}s")


def count_phrase(label: str, count: int) -> str:
    """Return a count of things in words.

    >>> count_phrase("person", 2), count_phrase("apple", 1), count_phrase("tv", 0)
    ('2 people', 'an apple', 'no TVs')
    """
    if count == 1:
        single = (
            label.removesuffix("s")
            if label == "skis"
            else f"pair of {label}"
            if label in {"scissors", "eye glasses"}
            else label
        )
        return f"a{'n' if single[0] in 'aeiou' else ''} {single}"
    return f"{count or 'no'} {plural_form(label)}"


def join_words(words: Sequence[str]) -> str:
    """Join phrases with commas and a final "and".

    >>> join_words(["a car"]), join_words(["a car", "2 dogs", "a kite"])
    ('a car', 'a car, 2 dogs and a kite')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
