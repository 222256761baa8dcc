"""Consensus of several raters: majority labels, Dawid-Skene, and one joint verdict from several votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints, label_codes

# keeps logarithms finite if a rater never gave a label
_LEAST = 1e-10


@dataclass(frozen=True)
class Consensus:
    """Chances of each item's labels, and the errors of each rater.

    `chances` has a row per item and a column per label. `errors[rater][truth][label]` is how often a rater gives
    `label` if `truth` is true. `likelihood` is the log-likelihood after each round.
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    labels: tuple[str, ...]
    chances: Floats
    errors: Floats
    shares: Floats
    likelihood: tuple[float, ...]

    def label(self, item: str) -> tuple[str, float]:
        """Return the likeliest label of an item and its chance; among equals, the first in sorted order."""
        row = self.chances[self.items.index(item)]
        best = int(np.argmax(np.round(row, 12)))
        return self.labels[best], float(row[best])

    def accuracy(self, rater: str) -> float:
        """Return the chance that a rater is right on a random item."""
        table = self.errors[self.raters.index(rater)]
        return float(np.diag(table) @ self.shares)


def majority_labels(item: npt.ArrayLike, label: npt.ArrayLike) -> dict[str, tuple[str, ...]]:
    """Return the most common label of each item, or several if they are equally common.

    >>> majority_labels(["a", "a", "a", "b", "b"], ["x", "x", "y", "x", "y"])
    {'a': ('x',), 'b': ('x', 'y')}
    """
    items, row = label_codes(item)
    labels, place = label_codes(label)
    table = np.zeros((len(items), len(labels)))
    np.add.at(table, (row, place), 1)
    return {
        str(name): tuple(str(labels[at]) for at in np.flatnonzero(counts == counts.max()))
        for name, counts in zip(items, table, strict=True)
    }


def dawid_skene(
    item: npt.ArrayLike, rater: npt.ArrayLike, label: npt.ArrayLike, *, rounds: int = 100, tolerance: float = 1e-7
) -> Consensus:
    """Estimate labels and raters' errors by expectation maximisation (Dawid and Skene 1979, doi:10.2307/2346806).

    Starts with each item's shares of votes. Stops if the log-likelihood grows by less than `tolerance` per vote.

    >>> votes = [("a", "x"), ("b", "y"), ("c", "x"), ("d", "y")]
    >>> rows = [(i, r, l) for i, l in votes for r in ("ann", "bob")] + [(i, "eve", "x") for i, _ in votes]
    >>> found = dawid_skene(*zip(*rows))
    >>> found.label("b")[0], found.accuracy("ann") > found.accuracy("eve")
    ('y', True)
    """
    items, row = label_codes(item)
    raters, who = label_codes(rater)
    labels, vote = label_codes(label)
    if not len(row) == len(who) == len(vote):
        raise ValueError(f"the columns must have one length; found {len(row)}, {len(who)}, {len(vote)}")
    if len(row) == 0:
        raise Undefined(Note("undefined.nothing-was-observed"))
    chances = np.zeros((len(items), len(labels)))
    np.add.at(chances, (row, vote), 1)
    chances /= chances.sum(axis=1, keepdims=True)
    likelihood: list[float] = []
    while True:
        shares, errors = _maximisation_step(chances, (row, who, vote), len(raters))
        log = np.tile(np.log(np.maximum(shares, _LEAST)), (len(items), 1))
        np.add.at(log, row, np.log(np.maximum(errors[who, :, vote], _LEAST)))
        top = log.max(axis=1, keepdims=True)
        weights = np.exp(log - top)
        total = weights.sum(axis=1, keepdims=True)
        chances = weights / total
        likelihood.append(float((top + np.log(total)).sum()))
        still = len(likelihood) > 1 and likelihood[-1] - likelihood[-2] < tolerance * len(row)
        if still or len(likelihood) >= rounds:
            break
    label_names = (tuple(map(str, items)), tuple(map(str, raters)), tuple(map(str, labels)))
    return Consensus(*label_names, chances, errors, shares, tuple(likelihood))


def _maximisation_step(chances: Floats, votes: tuple[Ints, Ints, Ints], raters: int) -> tuple[Floats, Floats]:
    """A rater who never saw a true label is assumed to guess evenly on it."""
    row, who, vote = votes
    count = chances.shape[1]
    tallies = np.zeros((raters, count, count))
    np.add.at(tallies, (who, vote), chances[row])
    errors = tallies.transpose(0, 2, 1)
    sums = errors.sum(axis=2, keepdims=True)
    errors = np.where(sums > _LEAST, errors / np.maximum(sums, _LEAST), 1 / count)
    return chances.mean(axis=0), errors


# Joint verdicts: several votes on the same responses become one.

VoteRule = Literal["default", "mean", "median", "majority", "dawid-skene", "each", "adjudicated"]
VOTE_RULES: tuple[VoteRule, ...] = get_args(VoteRule)
Form = Literal["choice", "graded", "yes-no", "scale", "order"]
"""Kind of vote: the best of several, the better of two and how much, one of two words, marks on a scale, an order."""
DEFAULT_RULES: Mapping[Form, VoteRule] = {
    "choice": "majority", "graded": "median", "yes-no": "majority", "scale": "mean", "order": "mean",
}  # fmt: skip
"""Rule that `default` means. `adjudicated` is the same; the caller replaces votes by a lead's verdict, if there is one.
"""

ResponseSet = TypeVar("ResponseSet", bound=Hashable)
Value = TypeVar("Value", bound=Hashable)
Marks = tuple[float, ...]
Vote = tuple[str, Marks]
"""Rater and marks, with the responses in the same order in all votes on them."""


@dataclass(frozen=True, slots=True)
class JointVote:
    """Joint marks of several votes on the same responses; `split` if several votes were equally common."""

    marks: Marks
    votes: int
    split: bool = False


def joint_votes_by_set(
    votes: Mapping[ResponseSet, Sequence[Vote]], form: Form, rule: VoteRule = "default"
) -> dict[ResponseSet, JointVote]:
    """Return the joint marks of every set of responses, and the number of votes behind them.

    `mean` and `median` are taken per response. `majority` is the most common vote: the whole vote for a choice or an
    order, per response on a scale. If several votes are equally common, the set is split. A choice is then a tie of
    the leading responses, or of all if one leading vote is a tie; anything else is the mean of the leading votes.
    `dawid-skene` is the likeliest label given each rater's own errors; it uses all sets together.

    >>> joint_votes_by_set({"a": [("ann", (6.0,)), ("bob", (7.0,)), ("eve", (8.0,))]}, "scale")["a"].marks
    (7.0,)
    >>> joint_votes_by_set({"a": [("ann", (1.0, 0.0)), ("bob", (0.0, 1.0))]}, "choice")["a"]
    JointVote(marks=(0.5, 0.5), votes=2, split=True)
    """
    effective_rule = resolve_rule(rule, form)
    if effective_rule == "each":
        raise ValueError("votes that count each on its own are not joined")
    if effective_rule == "dawid-skene":
        return _likeliest_by_size(votes, form)
    joint_votes = {}
    for response_set, cast in votes.items():
        marks = [vote_marks for _, vote_marks in cast]
        if effective_rule == "majority":
            joint_votes[response_set] = _commonest_vote(marks, form)
        else:
            middle = fmean if effective_rule == "mean" else median
            joint_votes[response_set] = JointVote(
                tuple(float(middle(column)) for column in zip(*marks, strict=True)), len(marks)
            )
    return joint_votes


def resolve_rule(rule: VoteRule, form: Form) -> VoteRule:
    """Return the rule for votes of this form, with `default` and `adjudicated` resolved."""
    return DEFAULT_RULES[form] if rule in {"default", "adjudicated"} else rule


def _commonest_vote(marks: Sequence[Marks], form: Form) -> JointVote:
    if form in {"scale", "yes-no"}:
        columns = [_commonest_values(column) for column in zip(*marks, strict=True)]
        return JointVote(tuple(fmean(lead) for lead in columns), len(marks), any(len(lead) > 1 for lead in columns))
    leading = _commonest_values(marks)
    if len(leading) == 1:
        return JointVote(leading[0], len(marks))
    if form == "choice" and any(max(lead) == min(lead) for lead in leading):
        return JointVote((1 / len(leading[0]),) * len(leading[0]), len(marks), split=True)
    return JointVote(tuple(fmean(column) for column in zip(*leading, strict=True)), len(marks), split=True)


def _commonest_values(values: Sequence[Value]) -> list[Value]:
    counts = Counter(values)
    most = max(counts.values())
    return [value for value, count in counts.items() if count == most]


def _likeliest_by_size(votes: Mapping[ResponseSet, Sequence[Vote]], form: Form) -> dict[ResponseSet, JointVote]:
    """Dawid-Skene separately per number of responses: an order of four is no label of five."""
    sizes = {len(cast[0][1]) for cast in votes.values()}
    joint_votes: dict[ResponseSet, JointVote] = {}
    for size in sorted(sizes):
        joint_votes |= _likeliest_votes(
            {response_set: cast for response_set, cast in votes.items() if len(cast[0][1]) == size}, form
        )
    return {response_set: joint_votes[response_set] for response_set in votes}


def _likeliest_votes(votes: Mapping[ResponseSet, Sequence[Vote]], form: Form) -> dict[ResponseSet, JointVote]:
    is_per_response = form in {"scale", "yes-no"}
    rows: list[tuple[str, str, str]] = []
    numbers = {response_set: str(number) for number, response_set in enumerate(votes)}
    for response_set, cast in votes.items():
        for rater, marks in cast:
            for place, part in enumerate([(mark,) for mark in marks] if is_per_response else [marks]):
                rows.append((f"{numbers[response_set]}.{place}", rater, ",".join(map(repr, part))))
    labels = dawid_skene(*zip(*rows, strict=True))
    place_of = {item: place for place, item in enumerate(labels.items)}
    best = labels.chances.round(12).argmax(axis=1)
    joint_votes = {}
    for response_set, cast in votes.items():
        parts = range(len(cast[0][1])) if is_per_response else range(1)
        likeliest_labels = [labels.labels[best[place_of[f"{numbers[response_set]}.{part}"]]] for part in parts]
        joint_votes[response_set] = JointVote(
            tuple(float(mark) for text in likeliest_labels for mark in text.split(",")), len(cast)
        )
    return joint_votes
