"""Similar names: suggestions for unknown names, and warnings about names that look the same."""

from __future__ import annotations

import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from pathlib import Path

from fullbench.errors import DataWarning

MOST = 2_000
"""Similar names are not searched among more names than this: it is slow and gives false suggestions."""


def visible_form(name: str) -> str:
    r"""Return a name without differences that readers do not see: case, spaces, Unicode form.

    >>> (visible_form(" GPT-4o\u00a0"), visible_form("cafe\u0301") == visible_form("CAF\u00c9"),
    ...  visible_form("Model  A"))
    ('gpt-4o', True, 'model a')
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def closest_name(name: str, known_names: Collection[str]) -> str | None:
    """Return the known name that looks the same, is the same number, or is similar; else None.

    >>> (closest_name("1.0", ["1", "2"]), closest_name("7", ["007"]), closest_name("Q1 ", ["q1", "q2"]),
    ...  closest_name("zebra", ["q1"]))
    ('1', '007', 'q1', None)
    """
    visible_name = visible_form(name)
    for candidate in known_names:
        if visible_form(candidate) == visible_name or (
            _parse_number(candidate) is not None and _parse_number(candidate) == _parse_number(name)
        ):
            return candidate
    return next(iter(get_close_matches(name, known_names, 1, 0.75)), None) if len(known_names) <= MOST else None


def _parse_number(name: str) -> float | None:
    try:
        return float(name)
    except ValueError:
        return None


def warn_of_twins(place: Path, names: Iterable[str]) -> None:
    """Warn about contestants whose names look the same but count as several."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set(names)):
        groups[visible_form(name)].append(name)
    for twins in filter(lambda group: len(group) > 1, groups.values()):
        # Names that differ only in Unicode form look the same in repr; ascii shows their code points.
        spell = repr if len({unicodedata.normalize("NFC", name) for name in twins}) == len(twins) else ascii
        warnings.warn(
            f"{place}: {' and '.join(map(spell, twins))} are {len(twins)} contestants, but their names differ only in "
            f"spaces, capitals or how letters are stored. If they are the same, use one name in all rows.",
            DataWarning,
            stacklevel=3,
        )
