"""Words for what the detector knows: which kinds of things a text names, in English or Chinese, and how many."""

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
def _table() -> dict[str, str]:
    """Every word that names a kind of thing, by the kind."""
    text = (resources.files("fullbench.models.tools") / "words.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines()]
    return {word: label for label, english, chinese in rows for word in f"{english}|{chinese}".split("|")}


@cache
def _pattern() -> re.Pattern[str]:
    words = sorted(_table(), key=len, reverse=True)
    english = "|".join(word.replace(" ", r"[\s-]") for word in words if word.isascii())
    return re.compile(rf"\b({english})(?:e?s)?\b|({'|'.join(word for word in words if not word.isascii())})")


def labels_named(text: str) -> list[str]:
    """The kinds of things that a text names, in order, each once. A hot dog is no dog.

    >>> labels_named("Two men beside a hot dog stand; 一只猫在桌子上。")
    ['person', 'hot dog', 'cat', 'dining table']
    """
    return list(dict.fromkeys(label for label, _ in _named(text)))


def _named(text: str) -> list[tuple[str, int]]:
    """Each kind named and where."""
    table = _table()
    return [
        (table[re.sub(r"[\s-]", " ", match[1]) if match[1] else match[2]], match.start())
        for match in _pattern().finditer(text.lower())
    ]


def numbers_in(text: str) -> list[int]:
    """The numbers that a text says, in digits or words; an article is none.

    >>> numbers_in("There are two cats, 3 dogs, a car and no bird; 还有四个人。")
    [2, 3, 0, 4]
    """
    return [_value(match) for match in _NUMBER.finditer(text) if (match["word"] or "").lower() not in {"a", "an"}]


def _value(match: re.Match[str]) -> int:
    if match["digits"]:
        return int(match["digits"])
    if match["chinese"]:
        return _CHINESE[match["chinese"]]
    word = match["word"].lower()
    return 0 if word in {"none", "zero"} else 1 if word in {"a", "an"} else NUMBERS.index(word)


def count_of(text: str, label: str) -> int | None:
    """How many things of a kind a text says there are: the number last said right before a word for it.

    >>> count_of("I see a car and two people. So there are 2 people.", "person")
    2
    >>> count_of("There is a car.", "dog") is None
    True
    """
    count = None
    for named, begin in _named(text):
        if named == label and (before := list(_NUMBER.finditer(text[max(0, begin - 24) : begin]))):
            count = _value(before[-1])
    return count


def plural(label: str) -> str:
    """More than one of a kind.

    >>> plural("person"), plural("dog"), plural("bus")
    ('people', 'dogs', 'buses')
    """
    return _PLURALS.get(label, f"{label}s")


def counted(label: str, count: int) -> str:
    """So many of a kind, in words.

    >>> counted("person", 2), counted("apple", 1), counted("tv", 0)
    ('2 people', 'an apple', 'no TVs')
    """
    if count == 1:
        single = label.removesuffix("s") if label == "skis" else f"pair of {label}" if _paired(label) else label
        return f"a{'n' if single[0] in 'aeiou' else ''} {single}"
    return f"{count or 'no'} {plural(label)}"


def _paired(label: str) -> bool:
    return label in {"scissors", "eye glasses"}


def listed(words: Sequence[str]) -> str:
    """Words as one speaks them.

    >>> listed(["a car"]), listed(["a car", "2 dogs", "a kite"])
    ('a car', 'a car, 2 dogs and a kite')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
