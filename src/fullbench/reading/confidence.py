"""How sure a judge says that it is, and how sure the chances of its tokens say that it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_STATED = re.compile(
    r"^[ \t*_#-]*(?:confidence|把握)[ \t*_]*[:：][ \t*_]*(\d{1,3}(?:\.\d+)?)[ \t]*[%％]", re.IGNORECASE | re.MULTILINE
)
_RULING = re.compile(r"\[\[\s*([A-Za-z]|\d{1,2})\s*\]\]|\"judgement\"\s*:\s*\"?([A-Za-z]|\d{1,2})\b")

Tokens = Sequence[tuple[str, Mapping[str, float]]]
"""The last tokens of a reply, each with the chances of all that might have stood in its place."""


def stated_confidence(text: str) -> float | None:
    """The last confidence on a line of its own, between 0 and 1; None where there is none, or it is no percentage.

    What stands behind a mark of quotation is not the judge's own.

    >>> stated_confidence("Confidence: 85%"), stated_confidence("> Confidence: 85%"), stated_confidence("把握：90％")
    (0.85, None, 0.9)
    """
    shares = [float(match[1]) for match in _STATED.finditer(text)]
    return shares[-1] / 100 if shares and shares[-1] <= 100 else None


def token_confidence(tokens: Tokens, rulings: Sequence[str]) -> float | None:
    """The chance of the ruling that was written, among all legal ones; None where the tokens do not show it.

    `rulings` are what might have stood in the brackets, such as A, B and C. Where a token holds the brackets too,
    so must the tokens that it is compared with.

    >>> chances = {"[[A": 0.6, "[[B": 0.2, "The": 0.2}
    >>> round(token_confidence([("[[A", chances), ("]]", {"]]": 1.0})], "AB"), 6)
    0.75
    """
    text = "".join(token for token, _ in tokens)
    found = list(_RULING.finditer(text))
    if not found:
        return None
    group = 1 if found[-1][1] is not None else 2
    start, end, ruling = found[-1].start(group), found[-1].end(group), found[-1][group]
    place = 0
    for token, chances in tokens:
        if place <= start and end <= place + len(token):
            before, after = token[: start - place], token[end - place :]
            weights = {
                legal: sum(
                    chance
                    for other, chance in chances.items()
                    if other.startswith(before) and other[len(before) :].removesuffix(after).strip() == legal
                )
                for legal in rulings
            }
            total = sum(weights.values())
            return weights[ruling] / total if ruling in weights and total > 0 else None
        place += len(token)
    return None
