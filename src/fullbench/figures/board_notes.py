"""What a reader of a leaderboard must know of those who are not linked to the rest by wins both ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fullbench.nouns.note import Note
from fullbench.stats.everyone import Everyone


def outside(ratings: Everyone, names: Sequence[str]) -> Iterator[str]:
    """Who is not linked to the others by wins both ways, and who never met them."""
    stands: dict[str, list[str]] = {"above": [], "below": [], "beside": []}
    for who, side in ratings.outside.items():
        stands[side].append(names[who])
    if stands["above"]:
        yield Note(
            "leaderboard.above",
            "{contestants}: won every match that links to the rest, so the rating is that of a penalised likelihood "
            "and its interval has one end; the mean of the others is 1000.",
            contestants=", ".join(stands["above"]),
        )
    if stands["below"]:
        yield Note(
            "leaderboard.below",
            "{contestants}: lost every match that links to the rest, so the rating is that of a penalised likelihood "
            "and its interval has one end; the mean of the others is 1000.",
            contestants=", ".join(stands["below"]),
        )
    if stands["beside"]:
        yield Note(
            "leaderboard.beside",
            "{contestants}: every match links one way only, so the rating is that of a penalised likelihood.",
            contestants=", ".join(stands["beside"]),
        )
    if len(ratings.groups) > 1:
        yield Note(
            "leaderboard.groups",
            "{n} groups never met, not even through others: {groups}. Each has a scale of its own, with a mean of "
            "1000: ratings and ranks of different groups cannot be compared.",
            n=len(ratings.groups), groups="; ".join(", ".join(names[who] for who in part) for part in ratings.groups),
        )  # fmt: skip
    for who, reason in ratings.unrated.items():
        yield Note(
            "leaderboard.is-not-rated", "{contestant} is not rated: {reason}.", contestant=names[who], reason=reason
        )
