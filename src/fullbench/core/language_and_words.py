"""Text helpers: language, words, length, and expansion of name prefixes."""

from __future__ import annotations

import re
from typing import get_args

from fullbench.core.ballot import Language
from fullbench.errors import InputError

_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


def parse_language(name: str) -> Language:
    """Return the language of that name: `zh` or `en`."""
    languages: tuple[Language, ...] = get_args(Language)
    if name not in languages:
        raise InputError(f"the language of a critic is {' or '.join(languages)}; found {name!r}")
    return languages[languages.index(name)]


def language_of(text: str) -> Language:
    """Return the main language of a text: Chinese if it has at least as many Han characters as other words.

    >>> language_of("图中有几个苹果？"), language_of("How many apples?"), language_of("请把 Hello 译成中文")
    ('zh', 'en', 'zh')
    """
    han = len(_HAN.findall(text))
    other_words = len(_LETTERS.findall(_HAN.sub(" ", text)))
    return "zh" if han and han >= other_words else "en"


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case; every Chinese character is one word.

    >>> words_of("Three red circles"), words_of("三个圆形")
    (['three', 'red', 'circles'], ['三', '个', '圆', '形'])
    """
    return _WORD.findall(text.lower())


def length_of(text: str) -> int:
    """Return the number of words, at least 1, so that it has a logarithm."""
    return max(1, len(words_of(text)))
