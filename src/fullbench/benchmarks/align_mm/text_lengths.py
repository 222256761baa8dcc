"""How long questions, references and responses are: characters in Chinese, words in other languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fullbench.core.ballot import Language
from fullbench.core.column_labels import headings, named
from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.text import language_of

UNITS: Mapping[Language, str] = {"zh": "characters", "en": "words"}
_BINS = 12


def length(text: str, language: Language | None = None) -> int:
    """Characters of a Chinese text, blanks left out; words of any other.

    >>> length("三个 苹果。"), length("Three red apples.")
    (5, 3)
    """
    if (language or language_of(text)) == "zh":
        return len("".join(text.split()))
    return len(text.split())


def lengths(items: Iterable[Item], responses: Iterable[Response] = ()) -> Table:
    """Least, middle and greatest lengths by language, of questions, references and each contestant's responses."""
    counts_by_text: dict[tuple[str, Language], list[int]] = {}

    def add(what: str, text: str) -> None:
        language = language_of(text)
        counts_by_text.setdefault((what, language), []).append(length(text, language))

    for item in items:
        add("questions", item.question)
        if item.reference:
            add("references", item.reference)
    for response in responses:
        add(f"responses of {response.contestant}", response.text)
    rows: list[list[Cell]] = [
        [what, language, UNITS[language], len(counts), sum(counts) / len(counts), *_quartiles(counts)]
        for (what, language), counts in counts_by_text.items()
    ]
    columns = headings(
        "what", "language", "counted in", "texts", "mean", "least", "a quarter", "half", "three quarters", "most"
    )
    return Table(
        "lengths", Note("align-mm.lengths.title.how-long-the-texts-are", "How long the texts are"), columns, rows
    )


def _quartiles(counts: Sequence[int]) -> list[Cell]:
    ranked = sorted(counts)
    return [ranked[round(share * (len(ranked) - 1))] for share in (0, 0.25, 0.5, 0.75, 1)]


def distributions(items: Sequence[Item]) -> list[Table]:
    """How many questions and references are how long, in the language that most of them are in."""
    texts = {
        "questions": [item.question for item in items],
        "references": [item.reference for item in items if item.reference],
    }
    return [_distribution(what, entries) for what, entries in texts.items() if entries]


def _distribution(what: str, texts: Sequence[str]) -> Table:
    languages = [language_of(text) for text in texts]
    language: Language = max(UNITS, key=languages.count)
    counts = sorted(length(text, language) for text, spoken in zip(texts, languages, strict=True) if spoken == language)
    width = max(1, -(-counts[round(0.95 * (len(counts) - 1))] // _BINS))
    bins = [min(count // width, _BINS) for count in counts]
    rows: list[list[Cell]] = []
    for place in range(max(bins) + 1):
        low, high = place * width, (place + 1) * width - 1
        name = f"{low}+" if place == _BINS else str(low) if low == high else f"{low}-{high}"
        rows.append([name, bins.count(place)])
    notes = [
        Note(
            "align-mm.lengths.in-in-another-language-are",
            "{n:,} {what} in {language}; {counts} in another language are left out.",
            n=len(counts),
            what=what,
            language=language,
            counts=len(texts) - len(counts),
        )
    ]
    hint = {"kind": "histogram", "bin": UNITS[language], "count": what}
    return Table(
        f"lengths of {what}",
        Note("align-mm.lengths.title.how-long-the-are", "How long the {what} are", what=what),
        headings(UNITS[language], named(what, "count")),
        rows,
        notes,
        {},
        hint,
    )
