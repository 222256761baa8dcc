"""Texts: their language, their words, how long they are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import get_args

from fullbench.core.ballot import Language
from fullbench.errors import InputError

_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


def language_named(name: str) -> Language:
    """The language of that name: `zh` or `en`."""
    known: tuple[Language, ...] = get_args(Language)
    if name not in known:
        raise InputError(f"the critic is asked in {' or '.join(known)}; found {name!r}")
    return known[known.index(name)]


def language_of(text: str) -> Language:
    """The language that a text is mostly in: Chinese where it has at least as many Han characters as other words.

    >>> language_of("图中有几个苹果？"), language_of("How many apples?"), language_of("请把 Hello 译成中文")
    ('zh', 'en', 'zh')
    """
    han = len(_HAN.findall(text))
    others = len(_LETTERS.findall(_HAN.sub(" ", text)))
    return "zh" if han and han >= others else "en"


def words_of(text: str) -> list[str]:
    """The words of a text in lower case; every Chinese character is a word of its own.

    >>> words_of("Three red circles"), words_of("三个圆形")
    (['three', 'red', 'circles'], ['三', '个', '圆', '形'])
    """
    return _WORD.findall(text.lower())


def length_of(text: str) -> int:
    """How long a text is: its words, at least 1, so that it has a logarithm."""
    return max(1, len(words_of(text)))


def one_beginning(name: str, known: Iterable[str], what: str) -> str:
    """The one of the known names that begins so; the name itself where none does, or where it is one of them.

    >>> one_beginning("gpt-4o+a", ["gpt-4o+analyze#12", "gpt-4o+direct#34", "length"], "judge")
    'gpt-4o+analyze#12'
    """
    listed = list(known)
    begun = [other for other in listed if other.startswith(name)]
    if name in listed or not begun:
        return name
    if len(begun) > 1:
        raise InputError(f"the {what} {name!r} may be {' or '.join(sorted(begun))}; give more of the name")
    return begun[0]
