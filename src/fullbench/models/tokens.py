"""How many tokens a prompt will take, before it is sent: a guess that the server's own count corrects."""

from __future__ import annotations

from fullbench.models.picture_tokens import tokens
from fullbench.models.pictures import measured
from fullbench.core.model import Prompt
from fullbench.core.picture import Picture


def estimate(prompt: Prompt, model: str = "") -> int:
    """About how many tokens a prompt takes: four letters of plain text, one or two of other scripts; pictures by the
    rule of the model's provider.

    >>> from fullbench.core.item import Turn
    >>> estimate(Prompt((Turn("user", ("How many cats are there?",)),)))
    10
    """
    total = 0
    for turn in prompt.turns:
        total += 4
        for part in turn.parts:
            total += words(part) if isinstance(part, str) else picture(part, model)
    return total


def words(text: str) -> int:
    """About how many tokens a text takes.

    >>> words("a" * 400), words("图" * 100)
    (100, 100)
    """
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + len(text) - plain


def picture(picture: Picture, model: str = "") -> int:
    """About how many tokens a picture takes when this model looks at it."""
    return tokens(measured(picture), model)
