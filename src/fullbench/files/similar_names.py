"""Names that are nearly the same: what was meant by one that is nowhere, and those that look like one and are two."""

from __future__ import annotations

import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from pathlib import Path

from fullbench.errors import DataWarning

MOST = 2_000
"""Among more names none is looked for that is merely similar: that takes a while, and finds what nobody meant."""


def look(name: str) -> str:
    """What is left of a name when it is only looked at.

    >>> look(" GPT-4o\\u00a0"), look("cafe\\u0301") == look("CAF\\u00c9"), look("Model  A")
    ('gpt-4o', True, 'model a')
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def meant(name: str, known: Collection[str]) -> str | None:
    """The name among those known that somebody meant: one that looks the same, is the same number, or is similar.

    >>> meant("1.0", ["1", "2"]), meant("7", ["007"]), meant("Q1 ", ["q1", "q2"]), meant("zebra", ["q1"])
    ('1', '007', 'q1', None)
    """
    seen = look(name)
    for other in known:
        if look(other) == seen or (_number(other) is not None and _number(other) == _number(name)):
            return other
    return next(iter(get_close_matches(name, known, 1, 0.75)), None) if len(known) <= MOST else None


def _number(name: str) -> float | None:
    try:
        return float(name)
    except ValueError:
        return None


def warn_of_twins(place: Path, names: Iterable[str]) -> None:
    """Say which contestants look like one and are counted as several."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set(names)):
        groups[look(name)].append(name)
    for twins in filter(lambda group: len(group) > 1, groups.values()):
        spell = repr if len({unicodedata.normalize("NFC", name) for name in twins}) == len(twins) else ascii
        warnings.warn(
            f"{place}: {' and '.join(map(spell, twins))} are {len(twins)} contestants, though their names differ in no "
            "more than spaces, capitals or how letters are stored; if they are one, give it one name in all rows.",
            DataWarning,
            stacklevel=3,
        )
