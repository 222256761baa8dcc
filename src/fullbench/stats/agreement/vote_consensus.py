"""What several people say together, when some of them err more than others, and in their own ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints, codes

# keeps logarithms finite where a rater never gave a label
_LEAST = 1e-10


@dataclass(frozen=True)
class Consensus:
    """The label of each item, how sure it is, and how each rater errs.

    `chances` has a row for each item and a column for each label. `errors[rater][truth][said]` is how often a rater
    says `said` where the truth is `truth`. `likelihood` is the log-likelihood after each round.
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    labels: tuple[str, ...]
    chances: Floats
    errors: Floats
    shares: Floats
    likelihood: tuple[float, ...]

    def label(self, item: str) -> tuple[str, float]:
        """The likeliest label of an item and its chance; of equal ones, the first in sorted order."""
        row = self.chances[self.items.index(item)]
        best = int(np.argmax(np.round(row, 12)))
        return self.labels[best], float(row[best])

    def accuracy(self, rater: str) -> float:
        """The chance that a rater is right on an item drawn at random."""
        table = self.errors[self.raters.index(rater)]
        return float(np.diag(table) @ self.shares)


def majority(item: npt.ArrayLike, label: npt.ArrayLike) -> dict[str, tuple[str, ...]]:
    """The commonest label of each item; several where they are equally common.

    >>> majority(["a", "a", "a", "b", "b"], ["x", "x", "y", "x", "y"])
    {'a': ('x',), 'b': ('x', 'y')}
    """
    items, row = codes(item)
    labels, place = codes(label)
    table = np.zeros((len(items), len(labels)))
    np.add.at(table, (row, place), 1)
    return {
        str(name): tuple(str(labels[at]) for at in np.flatnonzero(counts == counts.max()))
        for name, counts in zip(items, table, strict=True)
    }


def dawid_skene(
    item: npt.ArrayLike, rater: npt.ArrayLike, label: npt.ArrayLike, *, rounds: int = 100, tolerance: float = 1e-7
) -> Consensus:
    """Labels and raters' errors by expectation maximisation (Dawid and Skene 1979, doi:10.2307/2346806).

    Begins with each item's shares of votes; ends when the log-likelihood grows by less than `tolerance` a vote.

    >>> votes = [("a", "x"), ("b", "y"), ("c", "x"), ("d", "y")]
    >>> rows = [(i, r, l) for i, l in votes for r in ("ann", "bob")] + [(i, "eve", "x") for i, _ in votes]
    >>> found = dawid_skene(*zip(*rows))
    >>> found.label("b")[0], found.accuracy("ann") > found.accuracy("eve")
    ('y', True)
    """
    items, row = codes(item)
    raters, who = codes(rater)
    labels, vote = codes(label)
    if not len(row) == len(who) == len(vote):
        raise ValueError(f"the columns must have one length; found {len(row)}, {len(who)}, {len(vote)}")
    if len(row) == 0:
        raise Undefined(Note("undefined.nothing-was-observed", "nothing was observed"))
    chances = np.zeros((len(items), len(labels)))
    np.add.at(chances, (row, vote), 1)
    chances /= chances.sum(axis=1, keepdims=True)
    likelihood: list[float] = []
    while True:
        shares, errors = _maximise(chances, (row, who, vote), len(raters))
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
    named = (tuple(map(str, items)), tuple(map(str, raters)), tuple(map(str, labels)))
    return Consensus(*named, chances, errors, shares, tuple(likelihood))


def _maximise(chances: Floats, votes: tuple[Ints, Ints, Ints], raters: int) -> tuple[Floats, Floats]:
    """The shares of labels and each rater's table of errors that fit these chances best.

    A rater who never met a truth is taken to guess it evenly.
    """
    row, who, vote = votes
    count = chances.shape[1]
    tallies = np.zeros((raters, count, count))
    np.add.at(tallies, (who, vote), chances[row])
    errors = tallies.transpose(0, 2, 1)
    sums = errors.sum(axis=2, keepdims=True)
    errors = np.where(sums > _LEAST, errors / np.maximum(sums, _LEAST), 1 / count)
    return chances.mean(axis=0), errors


# One ruling from several votes on the same responses.

VoteRule = Literal["default", "mean", "median", "majority", "dawid-skene", "each", "adjudicated"]
VOTE_RULES: tuple[VoteRule, ...] = get_args(VoteRule)
Form = Literal["choice", "yes-no", "scale", "order"]
"""What a vote is: the best of several, one of two words, marks on a scale, or an order."""
USUAL: Mapping[Form, VoteRule] = {"choice": "majority", "yes-no": "majority", "scale": "mean", "order": "mean"}
"""What the rule `default` is for each form. `adjudicated` is the same where no lead ruled; whoever calls `join` puts a
lead's ruling in the place of the votes."""

Panel = TypeVar("Panel", bound=Hashable)
Value = TypeVar("Value", bound=Hashable)
Marks = tuple[float, ...]
Vote = tuple[str, Marks]
"""Who voted, and the marks, in an order of the responses that all votes on them share."""


@dataclass(frozen=True, slots=True)
class Joint:
    """What several votes on the same responses make together; `split` where no vote was the commonest."""

    marks: Marks
    votes: int
    split: bool = False


def join(votes: Mapping[Panel, Sequence[Vote]], form: Form, rule: VoteRule = "default") -> dict[Panel, Joint]:
    """The joint marks of every panel of responses, and how many votes they come from.

    `mean` and `median` are taken response by response. `majority` is the commonest vote: the whole of it for a choice
    or an order, response by response on a scale. Where several votes are equally common the panel is split: a choice
    is then a tie of those that lead (of all, where a tie is among them), anything else the mean of the leading votes.
    `dawid-skene` is the likeliest label once each rater's own errors are allowed for; it looks at all panels together.

    >>> join({"a": [("ann", (6.0,)), ("bob", (7.0,)), ("eve", (8.0,))]}, "scale")["a"].marks
    (7.0,)
    >>> join({"a": [("ann", (1.0, 0.0)), ("bob", (0.0, 1.0))]}, "choice")["a"]
    Joint(marks=(0.5, 0.5), votes=2, split=True)
    """
    chosen = usual(rule, form)
    if chosen == "each":
        raise ValueError("votes that count each on its own are not joined")
    if chosen == "dawid-skene":
        return _by_size(votes, form)
    joint = {}
    for panel, cast in votes.items():
        marks = [given for _, given in cast]
        if chosen == "majority":
            joint[panel] = _commonest(marks, form)
        else:
            middle = fmean if chosen == "mean" else median
            joint[panel] = Joint(tuple(float(middle(column)) for column in zip(*marks, strict=True)), len(marks))
    return joint


def usual(rule: VoteRule, form: Form) -> VoteRule:
    """The rule that joins votes of a form where one is chosen that depends on the form."""
    return USUAL[form] if rule in {"default", "adjudicated"} else rule


def _commonest(marks: Sequence[Marks], form: Form) -> Joint:
    if form in {"scale", "yes-no"}:
        columns = [_leading(column) for column in zip(*marks, strict=True)]
        return Joint(tuple(fmean(lead) for lead in columns), len(marks), any(len(lead) > 1 for lead in columns))
    leading = _leading(marks)
    if len(leading) == 1:
        return Joint(leading[0], len(marks))
    if form == "choice" and any(max(lead) == min(lead) for lead in leading):
        return Joint((1 / len(leading[0]),) * len(leading[0]), len(marks), split=True)
    return Joint(tuple(fmean(column) for column in zip(*leading, strict=True)), len(marks), split=True)


def _leading(values: Sequence[Value]) -> list[Value]:
    """The commonest values; several where they are equally common."""
    counts = Counter(values)
    most = max(counts.values())
    return [value for value, count in counts.items() if count == most]


def _by_size(votes: Mapping[Panel, Sequence[Vote]], form: Form) -> dict[Panel, Joint]:
    """Dawid and Skene's labels, for each number of responses shown: an order of four is no label of five."""
    sizes = {len(cast[0][1]) for cast in votes.values()}
    together: dict[Panel, Joint] = {}
    for size in sorted(sizes):
        together |= _likeliest({panel: cast for panel, cast in votes.items() if len(cast[0][1]) == size}, form)
    return {panel: together[panel] for panel in votes}


def _likeliest(votes: Mapping[Panel, Sequence[Vote]], form: Form) -> dict[Panel, Joint]:
    """Dawid and Skene's labels: of the whole vote for a choice or an order, of each response's mark on a scale."""
    apart = form in {"scale", "yes-no"}
    rows: list[tuple[str, str, str]] = []
    numbers = {panel: str(number) for number, panel in enumerate(votes)}
    for panel, cast in votes.items():
        for rater, marks in cast:
            for place, part in enumerate([(mark,) for mark in marks] if apart else [marks]):
                rows.append((f"{numbers[panel]}.{place}", rater, ",".join(map(repr, part))))
    labels = dawid_skene(*zip(*rows, strict=True))
    place_of = {item: place for place, item in enumerate(labels.items)}
    best = labels.chances.round(12).argmax(axis=1)
    joint = {}
    for panel, cast in votes.items():
        parts = range(len(cast[0][1])) if apart else range(1)
        said = [labels.labels[best[place_of[f"{numbers[panel]}.{part}"]]] for part in parts]
        joint[panel] = Joint(tuple(float(mark) for text in said for mark in text.split(",")), len(cast))
    return joint
