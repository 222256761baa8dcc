"""How long questions, references and responses are: characters in Chinese, words in other languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from fullbench.core.items import Item, Response
from fullbench.core.results import Cell, Table

Language = Literal["zh", "en"]
UNITS: Mapping[Language, str] = {"zh": "characters", "en": "words"}
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> Language:
    """The language that a text is mostly in: Chinese where it has at least as many Han characters as other words.

    >>> language_of("图中有几个苹果？"), language_of("How many apples?"), language_of("请把 Hello 译成中文")
    ('zh', 'en', 'zh')
    """
    han = len(_HAN.findall(text))
    others = len(_WORD.findall(_HAN.sub(" ", text)))
    return "zh" if han and han >= others else "en"


def length(text: str, language: Language | None = None) -> int:
    """Characters of a Chinese text, blanks left out; words of any other.

    >>> length("三个 苹果。"), length("Three red apples.")
    (5, 3)
    """
    if (language or language_of(text)) == "zh":
        return len("".join(text.split()))
    return len(text.split())


def lengths(items: Iterable[Item], responses: Iterable[Response] = ()) -> Table:
    """Least, middle and greatest lengths by language, of questions, references and each contestant's responses.

    A reference is counted in the language of its question's answer: its own.
    """
    found: dict[tuple[str, Language], list[int]] = {}

    def add(what: str, text: str) -> None:
        language = language_of(text)
        found.setdefault((what, language), []).append(length(text, language))

    for item in items:
        add("questions", item.question)
        if item.reference:
            add("references", item.reference)
    for response in responses:
        add(f"responses of {response.contestant}", response.text)
    rows: list[list[Cell]] = [
        [what, language, UNITS[language], len(counts), sum(counts) / len(counts), *_quartiles(counts)]
        for (what, language), counts in found.items()
    ]
    columns = (
        "what",
        "language",
        "counted in",
        "texts",
        "mean",
        "least",
        "a quarter",
        "half",
        "three quarters",
        "most",
    )
    return Table("lengths", "How long the texts are", columns, rows)


def _quartiles(counts: Sequence[int]) -> list[Cell]:
    ranked = sorted(counts)
    return [ranked[round(share * (len(ranked) - 1))] for share in (0, 0.25, 0.5, 0.75, 1)]
