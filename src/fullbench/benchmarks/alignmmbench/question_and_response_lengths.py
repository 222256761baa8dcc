"""Lengths of questions, references and responses: characters in Chinese, words in other languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fullbench.core.ballot import Language
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.item import Item
from fullbench.core.language_and_words import language_of
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note

UNITS: Mapping[Language, str] = {"zh": "characters", "en": "words"}
_BINS = 12


def text_length(text: str, language: Language | None = None) -> int:
    """Count the characters of a Chinese text without spaces, or the words of any other text.

    >>> text_length("三个 苹果。"), text_length("Three red apples.")
    (5, 3)
    """
    if (language or language_of(text)) == "zh":
        return len("".join(text.split()))
    return len(text.split())


def length_table(items: Iterable[Item], responses: Iterable[Response] = ()) -> Table:
    """Return length statistics by language for questions, references and each contestant's responses."""
    counts_by_text: dict[tuple[str, Language], list[int]] = {}

    def add_length(text_kind: str, text: str) -> None:
        language = language_of(text)
        counts_by_text.setdefault((text_kind, language), []).append(text_length(text, language))

    for item in items:
        add_length("questions", item.question)
        if item.reference:
            add_length("references", item.reference)
    for response in responses:
        add_length(f"responses of {response.contestant}", response.text)
    rows: list[list[Cell]] = [
        [text_kind, language, UNITS[language], len(counts), sum(counts) / len(counts), *_length_quartiles(counts)]
        for (text_kind, language), counts in counts_by_text.items()
    ]
    columns = table_columns(
        "what", "language", "counted in", "texts", "mean", "least", "a quarter", "half", "three quarters", "most"
    )
    return Table("lengths", Note("align-mm.lengths.title.how-long-the-texts-are"), columns, rows)


def _length_quartiles(counts: Sequence[int]) -> list[Cell]:
    sorted_counts = sorted(counts)
    return [sorted_counts[round(share * (len(sorted_counts) - 1))] for share in (0, 0.25, 0.5, 0.75, 1)]


def length_histograms(items: Sequence[Item]) -> list[Table]:
    """Return histograms of the lengths of questions and references, in their most frequent language."""
    texts = {
        "questions": [item.question for item in items],
        "references": [item.reference for item in items if item.reference],
    }
    return [_length_histogram(text_kind, entries) for text_kind, entries in texts.items() if entries]


def _length_histogram(text_kind: str, texts: Sequence[str]) -> Table:
    languages = [language_of(text) for text in texts]
    language: Language = max(UNITS, key=languages.count)
    counts = sorted(
        text_length(text, language)
        for text, text_language in zip(texts, languages, strict=True)
        if text_language == language
    )
    # Bins cover 95 % of the texts; the last bin collects the longest ones.
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
            n=len(counts),
            what=text_kind,
            language=language,
            counts=len(texts) - len(counts),
        )
    ]
    hint = {"kind": "histogram", "bin": UNITS[language], "count": text_kind}
    return Table(
        f"lengths of {text_kind}",
        Note("align-mm.lengths.title.how-long-the-are", what=text_kind),
        table_columns(UNITS[language], data_column(text_kind, "count")),
        rows,
        notes,
        {},
        hint,
    )
