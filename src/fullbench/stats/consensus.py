"""What several people say together, when some of them err more than others, and in their own ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fullbench.errors import Undefined
from fullbench.core.note import Note
from fullbench.stats.arrays import Floats, Ints, codes

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
