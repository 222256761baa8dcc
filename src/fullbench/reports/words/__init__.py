"""Translations of tables and charts by id: notes and titles, columns by key, and single words.

`en_notes.json` and `zh_notes.json` have the notes, `zh_columns.json` the labels of columns, `zh_words.json` words that
are their own ids.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from fullbench.core.translatable_note import WORD

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
_FOLDER = Path(__file__).parent


@cache
def language_messages(language: Language) -> Mapping[str, str]:
    """Return the messages of a language by id, including words; empty for English, the language of notes."""
    if language == "en":
        return {}
    words = _read_words(f"{language}_words.json")
    return _read_words(f"{language}_notes.json") | {f"{WORD}{name}": translation for name, translation in words.items()}


@cache
def column_translations(language: Language) -> Mapping[str, str]:
    """Return the labels of columns by key; empty for English."""
    return {} if language == "en" else _read_words(f"{language}_columns.json")


def _read_words(name: str) -> dict[str, str]:
    translations: dict[str, str] = json.loads((_FOLDER / name).read_text(encoding="utf-8"))
    return translations
