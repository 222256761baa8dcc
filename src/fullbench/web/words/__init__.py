"""The interface's words. The English sentence is the key; `zh_*.json` hold the Chinese ones.

Sentences that come filled in, such as the notes of tables, the alternative text of charts and what errors say, are
known by their pattern (`zh_filled.json`): `{names}` stand for whatever is there, and what stands for `{why}`,
`{lean}`, `{figure}` and others of `WORDS` is translated in turn. A pattern that begins with `{title}` is of a title
with something behind it, such as the family of its ballots.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
WORDS = {"why", "lean", "figure", "kind", "rule", "title", "what"}
"""Names in patterns that stand for words of ours."""
NUMBERS = {"n", "all", "high", "lost", "low", "rows"}
"""Names in patterns that stand for numbers; all others stand for data."""
_FOLDER = Path(__file__).parent
_FILLED = _FOLDER / "zh_filled.json"


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
    shown = sentence if language == "en" else chinese().get(sentence) or _filled(sentence)
    return shown.format(**values) if values else shown


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """What filled-in sentences look like, and their translation: what stands behind a title first, so that no name in
    the title takes it for its own, then those with the most fixed letters."""
    known: dict[str, str] = json.loads(_FILLED.read_text(encoding="utf-8"))
    fixed = {english: re.split(r"\{(\w+)\}", english) for english in known if "{" in english}
    patterns = []
    letters = {english: sum(map(len, parts[::2])) for english, parts in fixed.items()}
    for english in sorted(fixed, key=lambda english: (not english.startswith("{title}"), -letters[english])):
        texts = [_any(part) if place % 2 else re.escape(part) for place, part in enumerate(fixed[english])]
        patterns.append((re.compile("".join(texts), re.DOTALL), known[english]))
    return patterns


def _any(name: str) -> str:
    return f"(?P<{name}>[-+]?[\\d.,]+%?)" if name in NUMBERS else f"(?P<{name}>.+?)"


@lru_cache(maxsize=4096)
def _filled(sentence: str) -> str:
    for pattern, translated in _patterns():
        match = pattern.fullmatch(sentence)
        if match:
            values = match.groupdict()
            return translated.format(**{name: translate("zh", v) if name in WORDS else v for name, v in values.items()})
    return sentence


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
