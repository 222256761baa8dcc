"""How many tokens a prompt will take, before it is sent: a guess that the server's own count corrects."""

from __future__ import annotations

from fullbench.models.pictures import Limit, measured
from fullbench.nouns.model import Prompt
from fullbench.nouns.picture import Picture

PER_PICTURE = 1_600
PIXELS_PER_TOKEN = 750
_SHOWN = Limit(pixels=1_568)


def estimate(prompt: Prompt) -> int:
    """About how many tokens a prompt takes: four letters of plain text, one or two of other scripts; pictures by size.

    >>> from fullbench.nouns.item import Turn
    >>> estimate(Prompt((Turn("user", ("How many cats are there?",)),)))
    10
    """
    total = 0
    for turn in prompt.turns:
        total += 4
        for part in turn.parts:
            total += words(part) if isinstance(part, str) else picture(part)
    return total


def words(text: str) -> int:
    """About how many tokens a text takes.

    >>> words("a" * 400), words("图" * 100)
    (100, 100)
    """
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + len(text) - plain


def picture(picture: Picture) -> int:
    """About how many tokens a picture takes: by its area once it is scaled to what models look at."""
    size = measured(picture)
    if size is None:
        return PER_PICTURE
    width, height = _SHOWN.fit(size)
    return min(PER_PICTURE, -(-width * height // PIXELS_PER_TOKEN))
