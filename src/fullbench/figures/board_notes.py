"""What a reader of a leaderboard must know: who is not linked to the rest by wins both ways, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fullbench.figures.matches import Matches
from fullbench.figures.viewing import waiting_note
from fullbench.core.note import Note
from fullbench.stats.ratings.penalised_ratings import Everyone


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


def left_out(
    settled: Matches,
    *,
    reference: str | None,
    waiting: bool,
    faults: int,
    pending: int,
    verdicts: int,
    due: int,
    older: int,
) -> Iterator[str]:
    """What stands in no figure here, and what a reader of the columns must know."""
    if len(settled):
        yield Note(
            "leaderboard.ranks",
            "Rank: the ranks that hold for the whole board at once, with a chance of 5% that any is wrong; rank alone: "
            "those of one contestant looked at by itself.",
        )
    if reference is not None and reference in settled.names:
        yield Note(
            "leaderboard.reference",
            "Wins against {reference}: ties are left out of both wins and n.",
            reference=reference,
        )
    if faults:
        yield Note(
            "leaderboard.faults", "{n:,} of {all:,} verdicts of this judge are faults and count nowhere here.",
            n=faults, all=verdicts,
        )  # fmt: skip
    if pending:
        yield waiting_note(pending, verdicts)
    if due:
        yield Note("leaderboard.due", "{n:,} cases are due: their calls failed, so they are missing here.", n=due)
    if settled.half_heard:
        waits = Note("leaderboard.no-matches-yet", "are no matches yet")
        rests = Note("leaderboard.one-order", "rest on that order")
        yield Note(
            "leaderboard.half-heard", "{n:,} pairs were ruled on in one order only and {rest}.",
            n=settled.half_heard, rest=waits if waiting else rests,
        )  # fmt: skip
    if settled.set_aside:
        yield Note(
            "leaderboard.set-aside", "{n:,} verdicts that show a contestant beside itself are set aside.",
            n=settled.set_aside,
        )  # fmt: skip
    if older:
        yield Note("leaderboard.older", "{n:,} votes that their raters changed later are set aside.", n=older)
