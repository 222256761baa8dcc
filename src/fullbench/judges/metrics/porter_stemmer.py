"""Porter stemmer for English words (Porter 1980, An algorithm for suffix stripping).

A word is a sequence of consonants and vowels; its measure is how often a run of vowels is followed by one of
consonants. A suffix is removed if the rest is long enough by that measure. Words of other scripts stay unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

_VOWELS = frozenset("aeiou")
Rule = tuple[str, str]

_STEP_2: Sequence[Rule] = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("abli", "able"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP_3: Sequence[Rule] = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4: Sequence[str] = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=65_536)
def porter_stem(word: str) -> str:
    """Return the stem of a lower-case word.

    >>> [porter_stem(word) for word in ("caresses", "ponies", "hopping", "relational", "猫")]
    ['caress', 'poni', 'hop', 'relat', '猫']
    """
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    word = _strip_plural(word)
    word = _strip_past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_suffix(word, _STEP_2, least=1)
    word = _replace_suffix(word, _STEP_3, least=1)
    word = _drop_suffix(word)
    return _trim_ending(word)


def _consonant_flags(word: str) -> list[bool]:
    """Return for each letter whether it is a consonant; `y` is one at the start and after a vowel."""
    kinds: list[bool] = []
    for letter in word:
        kinds.append(not kinds or not kinds[-1] if letter == "y" else letter not in _VOWELS)
    return kinds


def _stem_measure(stem: str) -> int:
    kinds = _consonant_flags(stem)
    return sum(not before and after for before, after in pairwise(kinds))


def _has_vowel(stem: str) -> bool:
    return not all(_consonant_flags(stem))


def _is_short(word: str) -> bool:
    """Return True for an ending of consonant, vowel, consonant, whose last letter is not w, x or y."""
    return len(word) > 2 and _consonant_flags(word)[-3:] == [True, False, True] and word[-1] not in "wxy"


def _strip_plural(word: str) -> str:
    for suffix, short in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(suffix):
            return word.removesuffix(suffix) + short
    return word


def _strip_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _stem_measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            return _restore_stem(stem) if _has_vowel(stem) else word
    return word


def _restore_stem(stem: str) -> str:
    """Restore the final e of a stem, or remove one of two doubled letters, after -ed or -ing was stripped."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if len(stem) > 1 and stem[-1] == stem[-2] and _consonant_flags(stem)[-1] and stem[-1] not in "lsz":
        return stem[:-1]
    return stem + "e" if _stem_measure(stem) == 1 and _is_short(stem) else stem


def _replace_suffix(word: str, rules: Sequence[Rule], *, least: int) -> str:
    fitting = [rule for rule in rules if word.endswith(rule[0])]
    if not fitting:
        return word
    suffix, short = max(fitting, key=lambda rule: len(rule[0]))
    stem = word.removesuffix(suffix)
    return stem + short if _stem_measure(stem) >= least else word


def _drop_suffix(word: str) -> str:
    suffix = max((suffix for suffix in _STEP_4 if word.endswith(suffix)), key=len, default="")
    stem = word.removesuffix(suffix)
    if not suffix or _stem_measure(stem) < 2 or (suffix == "ion" and not stem.endswith(("s", "t"))):
        return word
    return stem


def _trim_ending(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        if _stem_measure(stem) > 1 or (_stem_measure(stem) == 1 and not _is_short(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _stem_measure(word[:-1]) > 1 else word


STEMMERS: dict[str, Callable[[str], str]] = {"porter": porter_stem}
