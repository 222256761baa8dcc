"""Ask where it counts: the pairs in the order in which people's votes shrink the corrected board fastest.

Whoever hands out tasks takes the pairs in this order and keeps the probability with the vote; then `--corrected`
figures are unbiased, however many votes came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from fullbench.analysis.people import paired_verdicts_and_votes
from fullbench.analysis.people.votes_needed import Outlook, outlook
from fullbench.columns.verdict_columns import Columns, Family
from fullbench.core.note import Note
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.stats.people.active_sampling import Gain, chances, doubt, drawn_order, leverage

PLANNED = 400


@dataclass(frozen=True, slots=True)
class Ask:
    """A pair to ask people about, and the chance that it had of being chosen."""

    item: str
    contestants: tuple[str, str]
    samples: tuple[int, int]
    probability: float


@dataclass(frozen=True)
class Queue:
    """Pairs in the order to be asked about; `share` is the variance left as a share of votes drawn evenly."""

    asks: tuple[Ask, ...]
    share: float
    seen: Outlook

    def more_votes(self, width: float) -> tuple[int | None, float]:
        """How many more votes in this order bring every rating to ± a width, and the widest half now.

        None where all pairs would not be enough.
        """
        size = len(self.seen.names)
        figures = [self.seen.of(who) for who in range(size)]
        needs = [votes.to_width(width) for votes in figures]
        now = max(votes.half_width(self.seen.cast) for votes in figures) if self.seen.cast else float("inf")
        if None in needs:
            return None, now
        most = max(need for need in needs if need is not None)
        return max(0, round((most - self.seen.cast) * self.share)), now

    def sentence(self, width: float) -> str:
        """The same in words."""
        more, now = self.more_votes(width)
        wide = "?" if now == float("inf") else f"{now:.0f}"
        if more is None:
            return Note(
                "asking.never", "All pairs together would not bring every rating to ±{width:g} points (now ±{now}).",
                width=width, now=wide,
            )  # fmt: skip
        return Note(
            "asking.more", "{n:,} more votes in this order to ±{width:g} points (now ±{now}).", n=more, width=width,
            now=wide,
        )  # fmt: skip


def queue(
    columns: Columns, judges: Sequence[str], family: Family = "pair", *, planned: int = PLANNED, seed: int = 0,
    rho: float = 0.5, people: str = PEOPLE,
) -> Queue:  # fmt: skip
    """The queue over all pairs that the judges ruled on, without those that people voted on.

    The order depends on the judges' rulings, on votes that were drawn evenly (those without a probability), and on the
    seed: votes that come in by this order do not change it. `planned` is about how many votes are to be cast.
    """
    if not judges:
        raise InputError("there is no judge whose rulings could say where votes count")
    votes = paired_verdicts_and_votes.pairs(columns, judges, people, family)
    seen = outlook(columns, judges, family, rho=rho, people=people)
    codes, where = np.unique(np.concatenate(votes.sides), return_inverse=True)
    one, two = where[: len(votes)], where[len(votes) :]
    reach = leverage(one, two, seen.strengths)
    says = 1 / (1 + np.exp(seen.strengths[two] - seen.strengths[one]))
    evenly = votes.vote if votes.chance is None else None
    left = doubt(votes.ruled, says, evenly)
    chance = chances(reach * np.sqrt(left), min(planned, len(votes)))
    names, items = columns.names["contestant"], columns.names["item"]
    keys = [
        f"{seed}/{items[item]}/{names[codes[a]]}/{names[codes[b]]}/{s}/{t}"
        for item, a, b, s, t in zip(
            votes.item.tolist(), one.tolist(), two.tolist(), votes.samples[0].tolist(), votes.samples[1].tolist(),
            strict=True,
        )
    ]  # fmt: skip
    luck = np.array([_luck(key) for key in keys])
    order = drawn_order(chance, luck, ~np.isnan(votes.vote))
    asks = tuple(
        Ask(
            items[votes.item[row]], (names[codes[one[row]]], names[codes[two[row]]]),
            (int(votes.samples[0][row]), int(votes.samples[1][row])), float(chance[row]),
        )
        for row in order.tolist()
    )  # fmt: skip
    return Queue(asks, Gain.of(reach, left, chance).share, seen)


def _luck(key: str) -> float:
    """A number from 0 to 1 that is the same on every machine, and above 0."""
    return (int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") + 1) / 2**64
