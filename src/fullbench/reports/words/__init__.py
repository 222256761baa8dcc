"""What tables and charts say in other languages, by id: notes and titles, columns by their keys, and words of ours.

`zh_notes.json` has the notes, `zh_columns.json` the labels of columns, `zh_words.json` words that are their own ids.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from fullbench.core.note import WORD

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
_FOLDER = Path(__file__).parent


@cache
def messages(language: Language) -> Mapping[str, str]:
    """The sentences of a language by id, those of words among them; none for English, which notes say themselves."""
    if language == "en":
        return {}
    words = _read(f"{language}_words.json")
    return _read(f"{language}_notes.json") | {f"{WORD}{name}": said for name, said in words.items()}


@cache
def labels(language: Language) -> Mapping[str, str]:
    """The labels of columns by their keys; none for English."""
    return {} if language == "en" else _read(f"{language}_columns.json")


def _read(name: str) -> dict[str, str]:
    read: dict[str, str] = json.loads((_FOLDER / name).read_text(encoding="utf-8"))
    return read
