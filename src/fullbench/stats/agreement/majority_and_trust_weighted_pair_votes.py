"""Pooling of several voters' votes on pairs of contestants: majority, and votes weighted by trust.

`question` identifies the pair voted on: votes of one question are about the same two contestants, in either order. A
vote is 1 for the first, 0 for the second, 0.5 for both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fullbench.stats.array_checks import Floats, Ints, Numbers, label_codes, match_arrays

# keeps a division defined if all voters have zero trust; the quotient is then 0
_LEAST = 1e-300


@dataclass(frozen=True)
class _Votes:
    """Votes reordered so that the contestant with the lower code comes first in every question."""

    question: Ints
    low: Ints
    high: Ints
    vote: Floats
    size: int

    @classmethod
    def from_arrays(
        cls, question: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, vote: Numbers, contestants: int
    ) -> _Votes:
        firsts, seconds, result, size = match_arrays(first, second, vote, contestants)
        labels = np.asarray(question)
        if labels.shape != firsts.shape:
            raise ValueError(f"the columns must have one length; found {len(labels)}, {len(firsts)}")
        is_reversed = firsts > seconds
        low, high = np.minimum(firsts, seconds), np.maximum(firsts, seconds)
        _, place = label_codes((label_codes(labels)[1] * size + low) * size + high)
        return cls(place, low, high, np.where(is_reversed, 1 - result, result), size)

    def means(self, shares: Floats) -> list[float | None]:
        questions, at = np.unique(self.question, return_index=True)
        totals, counts = np.zeros(self.size), np.zeros(self.size)
        for who, share in ((self.low[at], shares[questions]), (self.high[at], 1 - shares[questions])):
            totals += np.bincount(who, share, self.size)
            counts += np.bincount(who, minlength=self.size)
        return [float(points / n) if n else None for points, n in zip(totals, counts, strict=True)]


def majority_vote(
    question: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, vote: Numbers, *, contestants: int = 0
) -> list[float | None]:
    """Return the share of questions that each contestant wins by majority, half for a draw, or None if it has none.

    >>> majority_vote([1, 1, 1, 2], [0, 0, 1, 1], [1, 1, 0, 2], [1, 1, 1, 0.5])
    [1.0, 0.25, 0.5]
    """
    votes = _Votes.from_arrays(question, first, second, vote, contestants)
    lead = np.bincount(votes.question, 2 * votes.vote - 1)
    return votes.means((np.sign(np.round(lead, 9)) + 1) / 2)


@dataclass(frozen=True)
class RatingVote:
    """Mean rating of each contestant, trust of each voter, and number of rounds until convergence."""

    scores: tuple[float | None, ...]
    trust: tuple[float, ...]
    rounds: int


def rating_vote(
    question: npt.ArrayLike,
    voter: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    vote: Numbers,
    *,
    contestants: int = 0,
    voters: int = 0,
    power: float = 2.0,
    rounds: int = 100,
    tolerance: float = 1e-9,
) -> RatingVote:
    """Weight votes by trust, and earn trust by voting with the weighted majority, in turn until both converge.

    After Allahbakhsh and Ignjatovic 2015 (doi:10.1109/TPDS.2013.2297917). An option's rating is the trust, to `power`,
    of those who chose it, over the root of the squares of the question's ratings. A voter's trust is the sum of the
    ratings it chose, here divided by its number of votes, so that frequent voters are not trusted more. A tie is half
    a vote for each. A contestant's score is the mean of its options' shares.

    >>> found = rating_vote([1, 1, 1, 2, 2, 2], [0, 1, 2] * 2, [0] * 6, [1] * 6, [1, 1, 0, 1, 1, 0])
    >>> found.trust[0] > 0.9 > 0.2 > found.trust[2], found.scores[0] > 0.9
    (True, True)
    """
    votes = _Votes.from_arrays(question, first, second, vote, contestants)
    who = np.asarray(voter, dtype=np.int64)
    people = max(voters, int(who.max()) + 1)
    times = np.maximum(np.bincount(who, minlength=people), 1)
    trust, earned_trust, turns = np.zeros(people), np.ones(people), 0
    while turns < rounds and np.abs(earned_trust - trust).max() >= tolerance:
        trust, turns = earned_trust, turns + 1
        low, high = _side_ratings(votes, trust[who] ** power)
        root = np.maximum(np.hypot(low, high), _LEAST)
        chosen_ratings = votes.vote * (low / root)[votes.question] + (1 - votes.vote) * (high / root)[votes.question]
        earned_trust = np.bincount(who, chosen_ratings, people) / times
    low, high = _side_ratings(votes, earned_trust[who] ** power)
    shares = low / np.maximum(low + high, _LEAST)
    return RatingVote(tuple(votes.means(shares)), tuple(map(float, earned_trust)), turns)


def _side_ratings(votes: _Votes, weight: Floats) -> tuple[Floats, Floats]:
    low: Floats = np.bincount(votes.question, weight * votes.vote).astype(np.float64)
    high: Floats = np.bincount(votes.question, weight * (1 - votes.vote)).astype(np.float64)
    return low, high
