"""What a judge said of responses or pairs beside people's votes on the same, as the columns that a fit takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.figures.judging import Met
from fullbench.core.verdict import Verdict
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.bias.errors_in_variables import Votes

Place = tuple[str, str, frozenset[tuple[str, int]]]
"""Item, ballot, and the responses shown: what a judge and people meet on."""


@dataclass(frozen=True)
class Rows:
    """What a judge said of responses or pairs, and people's votes on the same, in the order that it was shown.

    `verdicts`, `marks` and `item` have an entry for each row (a response, or a pair), `rulings` and `ruled` for each
    ruling on a row, the rest for each vote. `marks` are the means of several trials.
    """

    verdicts: Sequence[Verdict]
    marks: Floats
    """Of the response; of a pair 1 where the first shown won, -1 where it lost, 0 for a tie."""
    rulings: Floats
    """The marks as they were given."""
    ruled: Ints
    """The row that a ruling is on."""
    item: Ints
    response: Ints
    """The row that a vote is about."""
    vote: Floats
    rater: Ints

    def votes(self, *, lenient: bool) -> Votes:
        return Votes.of(self.response, self.vote, self.rater if lenient else None, len(self.marks))

    def vote_item(self) -> Ints:
        """The item of each vote."""
        owner: Ints = self.item[self.response]
        return owner

    def people(self) -> Floats:
        """The mean of people's votes on each row."""
        means: Floats = np.bincount(self.response, self.vote, len(self.marks)) / np.bincount(self.response)
        return means


def _codes(labels: Sequence[str]) -> Ints:
    return np.unique(np.array(labels, dtype=str), return_inverse=True)[1].astype(np.int64)


def _place(verdict: Verdict) -> Place:
    return verdict.item, verdict.ballot, frozenset(verdict.shown)


def _votes_by_place(meetings: Met, size: int) -> dict[Place, list[Verdict]]:
    votes: dict[Place, list[Verdict]] = {}
    for verdict in meetings.record:
        voted = verdict.judge == meetings.people and verdict.marks is not None and len(verdict.shown) == size
        if voted and meetings.counts(verdict):
            votes.setdefault(_place(verdict), []).append(verdict)
    return votes


def _gathered(
    verdicts: Sequence[Verdict], rulings: Sequence[Sequence[float]], votes: Mapping[Place, list[Verdict]]
) -> Rows:
    """Rows of verdicts that people voted on too; of two responses the lead of the first shown is compared."""
    response, vote, rater = [], [], []
    for number, verdict in enumerate(verdicts):
        for other in votes[_place(verdict)]:
            response.append(number)
            vote.append(_vote_on(other, verdict))
            # Where votes name no rater, the number of the trial tells people apart.
            rater.append(f"{other.rater}/{other.trial}")
    return Rows(
        verdicts, np.array([np.mean(each) for each in rulings], dtype=np.float64),
        np.array([mark for each in rulings for mark in each], dtype=np.float64),
        np.repeat(np.arange(len(rulings)), [len(each) for each in rulings]),
        _codes([verdict.item for verdict in verdicts]),
        np.array(response, dtype=np.int64), np.array(vote, dtype=np.float64), _codes(rater),
    )  # fmt: skip


def _vote_on(vote: Verdict, verdict: Verdict) -> float:
    """What a vote says of the response of a verdict, or for the first shown of its two."""
    marks = dict(zip(vote.shown, vote.marks or (), strict=True))
    first, *rest = (marks[shown] for shown in verdict.shown)
    return first if not rest else float(np.sign(first - rest[0]))


def scores(meetings: Met, judge: str) -> Iterator[tuple[str, Rows]]:
    """For each ballot the responses that a judge scored, each by the mean of its scores, beside people's votes."""
    votes = _votes_by_place(meetings, 1)
    ruled: dict[str, dict[Place, list[Verdict]]] = {}
    for verdict in meetings.record:
        if verdict.judge == judge and verdict.marks is not None and _place(verdict) in votes:
            ruled.setdefault(verdict.ballot, {}).setdefault(_place(verdict), []).append(verdict)
    for ballot, places in sorted(ruled.items()):
        rulings = [[(verdict.marks or (0.0,))[0] for verdict in heard] for heard in places.values()]
        yield ballot, _gathered([heard[0] for heard in places.values()], rulings, votes)


def pairs(meetings: Met, judge: str) -> Rows | None:
    """The pairs that a judge chose from, every ruling a row, beside people's votes; None where there are none."""
    votes = _votes_by_place(meetings, 2)
    ruled = [
        verdict for verdict in meetings.record
        if verdict.judge == judge and verdict.marks is not None and len(verdict.shown) == 2 and _place(verdict) in votes
    ]  # fmt: skip
    rulings = [[float(np.sign(verdict.marks[0] - verdict.marks[1]))] for verdict in ruled if verdict.marks is not None]
    return _gathered(ruled, rulings, votes) if ruled else None
