"""Translations of the interface. The English sentence is the key; `zh_*.json` contain the Chinese sentences.

Texts of tables, charts and errors are notes with ids. Their translations are in `reports.words`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from fullbench.core.translatable_note import Note
from fullbench.number_agreement import agree_with_one
from fullbench.reports.words import LANGUAGES, Language, language_messages

__all__ = ["LANGUAGES", "Language", "chinese_translations", "key", "preferred_language", "translate_sentence"]

_FOLDER = Path(__file__).parent


def key(sentence: str) -> str:
    """Mark a sentence in Python code for translation. A test finds such sentences by this name."""
    return sentence


@cache
def chinese_translations() -> dict[str, str]:
    """Return all Chinese translations. A key in two files must have the same translation."""
    translations: dict[str, str] = {}
    for path in sorted(_FOLDER.glob("zh_*.json")):
        translations |= json.loads(path.read_text(encoding="utf-8"))
    return translations


def translate_sentence(language: Language, sentence: str, **values: Any) -> str:
    """Translate a sentence and fill in its `{names}`. Without a translation it stays English.

    >>> translate_sentence("en", "Signed in as {name}", name="安")
    'Signed in as 安'
    """
    if isinstance(sentence, Note):
        return sentence.translate_with(language_messages(language))
    text = sentence if language == "en" else chinese_translations().get(sentence, sentence)
    sentence_text = text.format(**values) if values else text
    return agree_with_one(sentence_text) if language == "en" else sentence_text


def preferred_language(header: str) -> Language:
    """Return the best supported language for an `Accept-Language` header.

    >>> (preferred_language("fr;q=0.9, zh-CN;q=0.8, en;q=0.5"), preferred_language("de"),
    ...  preferred_language("zh;q=0, en"))
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
