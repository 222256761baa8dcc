"""Confidence of a judge: as stated in its reply, and from its token probabilities."""

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
    ruling, shares = _shares(tokens, rulings)
    return shares.get(ruling)


def expected_mark(tokens: Tokens, rulings: Sequence[str]) -> float | None:
    """The mean of all marks that might have been written, each by its chance; None where the tokens do not show it.

    >>> chances = {"4": 0.6, "5": 0.3, "x": 0.1}
    >>> round(expected_mark([("[[", {}), ("4", chances), ("]]", {})], "12345"), 6)
    4.333333
    """
    ruling, shares = _shares(tokens, rulings)
    return sum(float(mark) * share for mark, share in shares.items()) if ruling in shares else None


def _shares(tokens: Tokens, rulings: Sequence[str]) -> tuple[str, Mapping[str, float]]:
    """The ruling that was written, and the share of each legal one in the chances there; no shares where none shows."""
    text = "".join(token for token, _ in tokens)
    written = list(_RULING.finditer(text))
    if not written:
        return "", {}
    group = 1 if written[-1][1] is not None else 2
    start, end, ruling = written[-1].start(group), written[-1].end(group), written[-1][group]
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
            shown = ruling in weights and total > 0
            return ruling, {legal: weight / total for legal, weight in weights.items()} if shown else {}
        place += len(token)
    return ruling, {}
