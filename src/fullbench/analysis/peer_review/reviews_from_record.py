"""A record as reviews: who ruled on which two, by which picture, and what each part of the score says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from fullbench.core.record import Record
from fullbench.core.rubric import CORRECTNESS, CORRELATION, VISUAL
from fullbench.core.text import length_of
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Bools, Floats, Ints
    from fullbench.stats.peer_review.peer_rankings import Peers
    from fullbench.stats.ratings.joint_rating_model import Votes

Gamma = Mapping[str, float]
PARTS = (CORRECTNESS, VISUAL, CORRELATION)
GAMMA: Gamma = {CORRECTNESS: 0.4, VISUAL: 0.4, CORRELATION: 0.2}
"""The paper's weights of the three parts of a score."""
TRUTHS = ("human", "truth")
"""Judges that stand for what is right; they are compared with, and review nobody."""


@dataclass(frozen=True)
class Reviews:
    """Reviews, a row each; `first` and `second` are contestants in the order of their names.

    `worth[part]` says what the part gives either (a column each), where `known[part]` is true. `lead` is how many
    doublings `first` is longer than `second`, NaN where a text is not at hand. `outside` counts reviews by somebody who
    was never reviewed, whose weight could not be learned, and `own` those of one's own answers: both are left out.
    """

    names: tuple[str, ...]
    images: tuple[str, ...]
    items: tuple[str, ...]
    image: Ints
    reviewer: Ints
    first: Ints
    second: Ints
    worth: Mapping[str, Floats]
    known: Mapping[str, Bools]
    outside: int = 0
    own: int = 0
    lead: Floats | None = None
    _kept: dict[tuple[tuple[str, float], ...], tuple[Floats, Floats]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.items)

    @classmethod
    def of(cls, record: Record) -> Reviews:
        """The reviews of a record. Both orders of a pair, and repeated trials, are one review: their mean.

        Who reviewed is who asked, by the item's tag `reviewer`; a question that nobody asked was given, and its
        reviewers are the judges that are contestants.
        """
        marks, cosines, own = _gathered(record)
        keys, names = _among_peers(sorted(marks))
        image = {item: record.items[item].tags.get("image", item) for item, *_ in keys if item in record.items}
        images = sorted({image.get(item, item) for item, *_ in keys})
        worth, known = _parts(keys, marks, cosines)
        return cls(
            tuple(names), tuple(images), tuple(item for item, *_ in keys),
            _places(images, [image.get(item, item) for item, *_ in keys]),
            _places(names, [reviewer for *_, reviewer in keys]),
            _places(names, [first for _, first, _, _ in keys]),
            _places(names, [second for _, _, second, _ in keys]),
            worth, known, len(marks) - len(keys), own, _leads(record, keys),
        )  # fmt: skip

    def points(self, gamma: Gamma = GAMMA) -> tuple[Floats, Bools]:
        """What each review gives either contestant, and which reviews have any of the parts asked for.

        Where a part is not known its weight goes to the others in proportion.
        """
        import numpy as np

        total, weight = np.zeros((len(self), 2)), np.zeros(len(self))
        for part, share in gamma.items():
            if part not in PARTS or share < 0:
                raise InputError(f"a score has the parts {', '.join(PARTS)} with weights of 0 or more; found {part!r}")
            total += share * np.where(self.known[part][:, None], self.worth[part], 0.0)
            weight += share * self.known[part]
        heard = weight > 0
        return total / np.where(heard, weight, 1.0)[:, None], heard

    def peers(self, gamma: Gamma = GAMMA, images: Sequence[int] | None = None) -> Peers:
        """The reviews as matrices: all of them, or those of some images, each as often as it is named."""
        import numpy as np

        from fullbench.stats.peer_review.peer_rankings import Peers

        if images is not None:
            times = np.bincount(np.asarray(images, dtype=np.int64), minlength=len(self.images)).astype(np.float64)
            return Peers(*(np.tensordot(times, each, 1) for each in self._by_image(gamma)))
        points, heard = self.points(gamma)
        rows = np.flatnonzero(heard)
        return Peers.of(
            self.reviewer[rows], self.first[rows], self.second[rows], points[rows, 0], points[rows, 1],
            contestants=len(self.names),
        )  # fmt: skip

    def _by_image(self, gamma: Gamma) -> tuple[Floats, Floats]:
        """For each image the matrices of points and counts; those of the last gamma are kept."""
        import numpy as np

        key = tuple(sorted(gamma.items()))
        if key not in self._kept:
            points, heard = self.points(gamma)
            size, shape = len(self.names), (len(self.images), len(self.names), len(self.names))
            summed, counts = np.zeros(shape), np.zeros(shape)
            for place, who in enumerate((self.first, self.second)):
                cell = ((self.image * size + self.reviewer) * size + who)[heard]
                summed += np.bincount(cell, points[heard, place], summed.size).reshape(shape)
                counts += np.bincount(cell, minlength=summed.size).reshape(shape)
            self._kept.clear()
            self._kept[key] = summed, counts
        return self._kept[key]

    @cached_property
    def votes(self) -> Floats:
        """Each review as a vote: 1 for `first`, 0 for `second`, 0.5 where its points are even."""
        import numpy as np

        points, _ = self.points({part: share for part, share in GAMMA.items() if part != CORRELATION})
        return (np.sign(np.round(points[:, 0] - points[:, 1], 9)) + 1) / 2

    def rulings(self, part: str | None = None) -> tuple[Votes, Ints]:
        """The reviews as votes for `stats.ratings.joint_rating_model`, by one part or by both rulings' mean; and the
        rows that they are of.

        Where lengths are not known, nothing leads.
        """
        import numpy as np

        from fullbench.stats.ratings.joint_rating_model import Votes

        if part is None:
            points, heard = self.points({CORRECTNESS: 0.5, VISUAL: 0.5})
        else:
            points, heard = self.worth[part], self.known[part]
        rows = np.flatnonzero(heard)
        lead = np.zeros(len(self)) if self.lead is None else np.nan_to_num(self.lead)
        votes = Votes(
            self.first[rows], self.second[rows], points[rows, 0], self.reviewer[rows], self.image[rows],
            np.zeros(len(rows)), lead[rows],
        )  # fmt: skip
        return votes, rows

    @property
    def questions(self) -> Ints:
        """What votes are counted over: the same two contestants on the same picture."""
        asked: Ints = (self.image * len(self.names) + self.first) * len(self.names) + self.second
        return asked


_Key = tuple[str, str, str, str]
"""A question, two contestants in the order of their names, and who reviewed them."""


def reviewers(record: Record) -> dict[str, str]:
    """Which contestant each judge is: the one whose name its own, or that of the model behind its label, begins with;
    judges that are none are left out."""
    names = sorted({name for verdict in record for name in verdict.contestants}, key=len, reverse=True)
    same = {judge: _same(record.spellings(judge), names) for judge in record.judges}
    return {judge: name for judge, name in same.items() if name}


def _same(spellings: Sequence[str], names: Sequence[str]) -> str:
    """The first of the names that one of the spellings is, or begins with; nothing where there is none."""
    begun = tuple(f"{spelling}+" for spelling in spellings)
    return next((name for name in names if any(spelling.startswith(f"{name}+") for spelling in begun)), "")


def reviewer_of(record: Record, verdict: Verdict, known: Mapping[str, str]) -> str:
    """Who reviews in a verdict: who asked the question or, where it was given, the contestant that the judge is."""
    return record.tag(verdict, "reviewer") or known.get(verdict.judge, "")


def _gathered(record: Record) -> tuple[dict[_Key, dict[str, float]], dict[tuple[str, str], float], int]:
    """For each question, pair and reviewer the mean mark of the first by name, by criterion; for each answer its
    cosine; and how many rulings were on one's own answers."""
    rulings: dict[tuple[_Key, str], list[float]] = {}
    cosines: dict[tuple[str, str], float] = {}
    known, own = reviewers(record), 0
    for verdict in record:
        if verdict.marks is None or verdict.judge in TRUTHS:
            continue
        if verdict.criterion == CORRELATION and len(verdict.contestants) == 1:
            cosines[verdict.item, verdict.contestants[0]] = verdict.marks[0]
        elif verdict.criterion in {CORRECTNESS, VISUAL} and len(verdict.contestants) == 2:
            reviewer = reviewer_of(record, verdict, known)
            if reviewer in verdict.contestants:
                own += 1
                continue
            first, second = sorted(verdict.contestants)
            mark = verdict.marks[verdict.contestants.index(first)]
            rulings.setdefault(((verdict.item, first, second, reviewer), verdict.criterion), []).append(mark)
    marks: dict[_Key, dict[str, float]] = {}
    for (key, criterion), won in rulings.items():
        marks.setdefault(key, {})[criterion] = fmean(won)
    return marks, cosines, own


def _leads(record: Record, keys: Sequence[_Key]) -> Floats | None:
    """By how many doublings the first answer is longer than the second; None where no text is at hand."""
    import numpy as np

    lengths: dict[tuple[str, str], float] = {}
    for item, first, second, _ in keys:
        for name in (first, second):
            if (item, name) not in lengths and (response := record.responses.get((item, name))) is not None:
                lengths[item, name] = np.log2(max(1, length_of(response.text)))
    if not lengths:
        return None
    missing = float("nan")
    return np.array([
        lengths.get((item, first), missing) - lengths.get((item, second), missing) for item, first, second, _ in keys
    ])  # fmt: skip


def _among_peers(keys: Sequence[_Key]) -> tuple[list[_Key], list[str]]:
    """The reviews by those who are reviewed in them, and who these are; found in rounds, as one leads to another."""
    remaining = list(keys)
    while True:
        names = sorted({name for _, first, second, _ in remaining for name in (first, second)})
        inside = [key for key in remaining if key[3] in names]
        if len(inside) == len(remaining):
            return remaining, names
        remaining = inside


def _places(names: Sequence[str], labels: Sequence[str]) -> Ints:
    """Each label's place among the names."""
    import numpy as np

    place = {name: index for index, name in enumerate(names)}
    return np.array([place[label] for label in labels], dtype=np.int64)


def _parts(
    keys: Sequence[_Key], marks: Mapping[_Key, Mapping[str, float]], cosines: Mapping[tuple[str, str], float]
) -> tuple[dict[str, Floats], dict[str, Bools]]:
    """What each part gives either contestant of each review, and where it is known."""
    import numpy as np

    worth, known = {}, {}
    for part in (CORRECTNESS, VISUAL):
        won = [marks[key].get(part) for key in keys]
        known[part] = np.array([mark is not None for mark in won], dtype=bool)
        first = np.array([0.0 if mark is None else mark for mark in won])
        worth[part] = np.stack([first, 1 - first], axis=1)
    both = [(cosines.get((item, first)), cosines.get((item, second))) for item, first, second, _ in keys]
    known[CORRELATION] = np.array([None not in pair for pair in both], dtype=bool)
    worth[CORRELATION] = np.array([[first or 0.0, second or 0.0] for first, second in both]).reshape(len(keys), 2)
    return worth, known
