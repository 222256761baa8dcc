"""The interface's words. The English sentence is the key; `zh_*.json` hold the Chinese ones.

What tables, charts and errors say comes as notes, which know their ids; these have their words in `reports.words`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from fullbench.core.note import Note
from fullbench.reports.words import LANGUAGES, Language, messages

__all__ = ["LANGUAGES", "Language", "chinese", "key", "preferred", "translate"]

_FOLDER = Path(__file__).parent


def key(sentence: str) -> str:
    """Marks a sentence in Python code that is translated where it is shown; a test finds it by this name."""
    return sentence


@cache
def chinese() -> dict[str, str]:
    """All translations; the same key in two files must say the same."""
    merged: dict[str, str] = {}
    for path in sorted(_FOLDER.glob("zh_*.json")):
        merged |= json.loads(path.read_text(encoding="utf-8"))
    return merged


def translate(language: Language, sentence: str, **values: Any) -> str:
    """The sentence in that language, `{names}` filled in; one that has no translation stays English.

    >>> translate("en", "Signed in as {name}", name="安")
    'Signed in as 安'
    """
    if isinstance(sentence, Note):
        return sentence.said_in(messages(language))
    shown = sentence if language == "en" else chinese().get(sentence, sentence)
    return shown.format(**values) if values else shown


def preferred(header: str) -> Language:
    """The language that a browser asks for (`Accept-Language`), as far as we have it.

    >>> preferred("fr;q=0.9, zh-CN;q=0.8, en;q=0.5"), preferred("de"), preferred("zh;q=0, en")
    ('zh', 'en', 'en')
    """
    wishes: list[tuple[float, int, Language]] = []
    for place, part in enumerate(header[:400].split(",")):
        tag, _, weight = part.strip().partition(";q=")
        try:
            share = float(weight) if weight else 1.0
        except ValueError:
            continue
        for language in LANGUAGES:
            if tag.lower().split("-")[0] == language and share > 0:
                wishes.append((-share, place, language))
    return min(wishes)[2] if wishes else "en"
