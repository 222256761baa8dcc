"""Queue of pairs for people, in the order in which votes narrow the corrected leaderboard fastest.

Hand out tasks in this order and store the probability with each vote. Then `--corrected` results are unbiased after
any number of votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from fullbench.analysis.people import paired_verdicts_and_votes
from fullbench.analysis.people.votes_needed_for_ratings import Outlook, estimate_outlook
from fullbench.columns.verdict_columns import Columns, Family
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.stats.people.active_sampling import Gain, remaining_variance, sampling_order, vote_chances, vote_leverage

PLANNED_VOTES = 400


@dataclass(frozen=True, slots=True)
class PairToVoteOn:
    """A pair for people to vote on, and its probability of selection."""

    item: str
    contestants: tuple[str, str]
    samples: tuple[int, int]
    probability: float


@dataclass(frozen=True)
class VoteQueue:
    """Pairs in the order to vote on; `share` is the remaining variance relative to uniformly drawn votes."""

    pairs: tuple[PairToVoteOn, ...]
    share: float
    vote_outlook: Outlook

    def more_votes(self, width: float) -> tuple[int | None, float]:
        """Return how many more votes bring every rating to ± `width`, and the largest half-width now.
        The number is None if all pairs together would not be enough.
        """
        size = len(self.vote_outlook.names)
        metrics = [self.vote_outlook.votes_for(who) for who in range(size)]
        needs = [votes.votes_for_width(width) for votes in metrics]
        now = (
            max(votes.half_width(self.vote_outlook.cast) for votes in metrics)
            if self.vote_outlook.cast
            else float("inf")
        )
        if None in needs:
            return None, now
        most = max(need for need in needs if need is not None)
        return max(0, round((most - self.vote_outlook.cast) * self.share)), now

    def sentence(self, width: float) -> str:
        """Return the result of `more_votes` as a sentence."""
        more, now = self.more_votes(width)
        wide = "?" if now == float("inf") else f"{now:.0f}"
        if more is None:
            return Note("asking.never", width=width, now=wide)
        return Note("asking.more", n=more, width=width, now=wide)


def build_queue(
    columns: Columns,
    judges: Sequence[str],
    family: Family = "pair",
    *,
    planned_votes: int = PLANNED_VOTES,
    seed: int = 0,
    rho: float = 0.5,
    people: str = PEOPLE,
) -> VoteQueue:
    """Return the queue over all pairs that the judges compared, without those that people voted on.

    The order depends on the judges' verdicts, on uniformly drawn votes (those without a probability) and on the seed.
    Votes cast in this order do not change it. `planned_votes` is the approximate number of votes to be cast.
    """
    if not judges:
        raise InputError("no judge has verdicts to choose the pairs by")
    votes = paired_verdicts_and_votes.paired_outcomes(columns, judges, people, family)
    vote_outlook = estimate_outlook(columns, judges, family, rho=rho, people=people)
    codes, where = np.unique(np.concatenate(votes.sides), return_inverse=True)
    first_codes, second_codes = where[: len(votes)], where[len(votes) :]
    reach = vote_leverage(first_codes, second_codes, vote_outlook.strengths)
    says = 1 / (1 + np.exp(vote_outlook.strengths[second_codes] - vote_outlook.strengths[first_codes]))
    evenly = votes.vote if votes.chance is None else None
    left = remaining_variance(votes.judge_values, says, evenly)
    chance = vote_chances(reach * np.sqrt(left), min(planned_votes, len(votes)))
    names, items = columns.names["contestant"], columns.names["item"]
    keys = [
        f"{seed}/{items[item]}/{names[codes[a]]}/{names[codes[b]]}/{s}/{t}"
        for item, a, b, s, t in zip(
            votes.item.tolist(),
            first_codes.tolist(),
            second_codes.tolist(),
            votes.samples[0].tolist(),
            votes.samples[1].tolist(),
            strict=True,
        )
    ]
    luck = np.array([_stable_random(key) for key in keys])
    order = sampling_order(chance, luck, ~np.isnan(votes.vote))
    asks = tuple(
        PairToVoteOn(
            items[votes.item[row]],
            (names[codes[first_codes[row]]], names[codes[second_codes[row]]]),
            (int(votes.samples[0][row]), int(votes.samples[1][row])),
            float(chance[row]),
        )
        for row in order.tolist()
    )
    return VoteQueue(asks, Gain.from_chances(reach, left, chance).share, vote_outlook)


def _stable_random(key: str) -> float:
    """Return a number above 0 and up to 1 that is the same on every machine."""
    # `hash()` and random generators differ between machines or versions; a digest does not.
    return (int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") + 1) / 2**64
