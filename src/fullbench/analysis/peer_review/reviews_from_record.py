"""Reviews as arrays, built from a record: reviewer, pair, picture and the points of each part of the score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from fullbench.core.language_and_words import length_of
from fullbench.core.rubric import CORRECTNESS, CORRELATION, VISUAL
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Bools, Floats, Ints
    from fullbench.stats.peer_review.peer_rankings import Peers
    from fullbench.stats.ratings.joint_rating_model import Votes

Gamma = Mapping[str, float]
PARTS = (CORRECTNESS, VISUAL, CORRELATION)
GAMMA: Gamma = {CORRECTNESS: 0.4, VISUAL: 0.4, CORRELATION: 0.2}
"""Weights of the three parts of a score in the paper."""
TRUTHS = ("human", "truth")
"""Judges whose verdicts are the truth. Others are compared with them; they review nobody."""


@dataclass(frozen=True)
class Reviews:
    """Reviews, one per row; `first` and `second` are contestants in the order of their names.

    `worth[part]` has the points of both contestants (a column each) where `is_known[part]` is true. `lead` is the log2
    ratio of the lengths of `first` and `second`, NaN if a text is missing. Two kinds of reviews are left out and only
    counted. `outside`: the reviewer was never reviewed, so its weight cannot be learned. `own_answer_count`: the
    reviewer judged its own answer.
    """

    names: tuple[str, ...]
    images: tuple[str, ...]
    items: tuple[str, ...]
    image: Ints
    reviewer: Ints
    first: Ints
    second: Ints
    worth: Mapping[str, Floats]
    is_known: Mapping[str, Bools]
    outside: int = 0
    own_answer_count: int = 0
    lead: Floats | None = None
    _matrix_cache: dict[tuple[tuple[str, float], ...], tuple[Floats, Floats]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.items)

    @classmethod
    def from_record(cls, record: Record) -> Reviews:
        """Return the reviews of a record. Both orders of a pair and repeated trials are averaged to one review.

        The reviewer is the author of the question, from the item's tag `reviewer`. Questions without an author were
        provided with the data; their reviewers are the judges that are contestants.
        """
        marks, cosines, own_answer_count = _collect_marks(record)
        keys, names = _among_peers(sorted(marks))
        image = {item: record.items[item].tags.get("image", item) for item, *_ in keys if item in record.items}
        images = sorted({image.get(item, item) for item, *_ in keys})
        worth, is_known = _part_points(keys, marks, cosines)
        return cls(
            tuple(names), tuple(images), tuple(item for item, *_ in keys),
            _name_codes(images, [image.get(item, item) for item, *_ in keys]),
            _name_codes(names, [reviewer for *_, reviewer in keys]),
            _name_codes(names, [first for _, first, _, _ in keys]),
            _name_codes(names, [second for _, _, second, _ in keys]),
            worth, is_known, len(marks) - len(keys), own_answer_count, _length_leads(record, keys),
        )  # fmt: skip

    def points(self, gamma: Gamma = GAMMA) -> tuple[Floats, Bools]:
        """Return the points of both contestants in each review, and a mask of reviews with any of the parts.
        The weight of an unknown part goes to the other parts in proportion.
        """
        import numpy as np

        total, weight = np.zeros((len(self), 2)), np.zeros(len(self))
        for part, share in gamma.items():
            if part not in PARTS or share < 0:
                raise InputError(f"a score has the parts {', '.join(PARTS)} with weights of 0 or more; found {part!r}")
            total += share * np.where(self.is_known[part][:, None], self.worth[part], 0.0)
            weight += share * self.is_known[part]
        has_points = weight > 0
        return total / np.where(has_points, weight, 1.0)[:, None], has_points

    def peers(self, gamma: Gamma = GAMMA, images: Sequence[int] | None = None) -> Peers:
        """Return the reviews as matrices: all of them, or those of `images`, repeated as often as listed."""
        import numpy as np

        from fullbench.stats.peer_review.peer_rankings import Peers

        if images is not None:
            times = np.bincount(np.asarray(images, dtype=np.int64), minlength=len(self.images)).astype(np.float64)
            return Peers(*(np.tensordot(times, each, 1) for each in self._by_image(gamma)))
        points, has_points = self.points(gamma)
        rows = np.flatnonzero(has_points)
        return Peers.from_reviews(
            self.reviewer[rows], self.first[rows], self.second[rows], points[rows, 0], points[rows, 1],
            contestants=len(self.names),
        )  # fmt: skip

    def _by_image(self, gamma: Gamma) -> tuple[Floats, Floats]:
        """Return the matrices of points and counts per image. The last gamma is cached."""
        import numpy as np

        key = tuple(sorted(gamma.items()))
        if key not in self._matrix_cache:
            points, has_points = self.points(gamma)
            size, shape = len(self.names), (len(self.images), len(self.names), len(self.names))
            point_sums, counts = np.zeros(shape), np.zeros(shape)
            for place, who in enumerate((self.first, self.second)):
                cell = ((self.image * size + self.reviewer) * size + who)[has_points]
                point_sums += np.bincount(cell, points[has_points, place], point_sums.size).reshape(shape)
                counts += np.bincount(cell, minlength=point_sums.size).reshape(shape)
            self._matrix_cache.clear()
            self._matrix_cache[key] = point_sums, counts
        return self._matrix_cache[key]

    @cached_property
    def votes(self) -> Floats:
        """Each review as a vote: 1 for `first`, 0 for `second`, 0.5 if the points are equal."""
        import numpy as np

        points, _ = self.points({part: share for part, share in GAMMA.items() if part != CORRELATION})
        # Rounded, so that sums of weighted points that are equal on paper count as ties.
        return (np.sign(np.round(points[:, 0] - points[:, 1], 9)) + 1) / 2

    def joint_votes(self, part: str | None = None) -> tuple[Votes, Ints]:
        """Return votes for `stats.ratings.joint_rating_model`, by one part or by the mean of both, and their rows.
        Unknown lengths count as equal.
        """
        import numpy as np

        from fullbench.stats.ratings.joint_rating_model import Votes

        if part is None:
            points, has_points = self.points({CORRECTNESS: 0.5, VISUAL: 0.5})
        else:
            points, has_points = self.worth[part], self.is_known[part]
        rows = np.flatnonzero(has_points)
        lead = np.zeros(len(self)) if self.lead is None else np.nan_to_num(self.lead)
        votes = Votes(
            self.first[rows], self.second[rows], points[rows, 0], self.reviewer[rows], self.image[rows],
            np.zeros(len(rows)), lead[rows],
        )  # fmt: skip
        return votes, rows

    @property
    def questions(self) -> Ints:
        """Unit over which votes are counted: the same two contestants on the same picture."""
        question_codes: Ints = (self.image * len(self.names) + self.first) * len(self.names) + self.second
        return question_codes


_Key = tuple[str, str, str, str]
"""Item, two contestants in the order of their names, reviewer."""


def match_judges_to_contestants(record: Record) -> dict[str, str]:
    """Return the contestant, if any, whose name begins each judge's name or the name of the model behind its label."""
    names = sorted({name for verdict in record for name in verdict.contestants}, key=len, reverse=True)
    same = {judge: _matching_contestant(record.spellings(judge), names) for judge in record.judges}
    return {judge: name for judge, name in same.items() if name}


def _matching_contestant(spellings: Sequence[str], names: Sequence[str]) -> str:
    """Return the first name that one of the spellings equals or begins with, or an empty string."""
    spelling_prefixes = tuple(f"{spelling}+" for spelling in spellings)
    return next((name for name in names if any(spelling.startswith(f"{name}+") for spelling in spelling_prefixes)), "")


def reviewer_of(record: Record, verdict: Verdict, contestant_by_judge: Mapping[str, str]) -> str:
    """Return the reviewer of a verdict: the author of the question, or else the contestant that the judge is."""
    return record.tag(verdict, "reviewer") or contestant_by_judge.get(verdict.judge, "")


def _collect_marks(record: Record) -> tuple[dict[_Key, dict[str, float]], dict[tuple[str, str], float], int]:
    """Return mean marks of the first by name per key and criterion, cosines per answer, and own-answer count."""
    verdicts: dict[tuple[_Key, str], list[float]] = {}
    cosines: dict[tuple[str, str], float] = {}
    contestant_by_judge, own_answer_count = match_judges_to_contestants(record), 0
    for verdict in record:
        if verdict.marks is None or verdict.judge in TRUTHS:
            continue
        if verdict.criterion == CORRELATION and len(verdict.contestants) == 1:
            cosines[verdict.item, verdict.contestants[0]] = verdict.marks[0]
        elif verdict.criterion in {CORRECTNESS, VISUAL} and len(verdict.contestants) == 2:
            reviewer = reviewer_of(record, verdict, contestant_by_judge)
            if reviewer in verdict.contestants:
                own_answer_count += 1
                continue
            first, second = sorted(verdict.contestants)
            mark = verdict.marks[verdict.contestants.index(first)]
            verdicts.setdefault(((verdict.item, first, second, reviewer), verdict.criterion), []).append(mark)
    marks: dict[_Key, dict[str, float]] = {}
    for (key, criterion), review_marks in verdicts.items():
        marks.setdefault(key, {})[criterion] = fmean(review_marks)
    return marks, cosines, own_answer_count


def _length_leads(record: Record, keys: Sequence[_Key]) -> Floats | None:
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
    """Return the reviews by reviewed contestants, and their names. Dropping one can drop another, hence the loop."""
    remaining = list(keys)
    while True:
        names = sorted({name for _, first, second, _ in remaining for name in (first, second)})
        inside = [key for key in remaining if key[3] in names]
        if len(inside) == len(remaining):
            return remaining, names
        remaining = inside


def _name_codes(names: Sequence[str], labels: Sequence[str]) -> Ints:
    import numpy as np

    place = {name: index for index, name in enumerate(names)}
    return np.array([place[label] for label in labels], dtype=np.int64)


def _part_points(
    keys: Sequence[_Key], marks: Mapping[_Key, Mapping[str, float]], cosines: Mapping[tuple[str, str], float]
) -> tuple[dict[str, Floats], dict[str, Bools]]:
    import numpy as np

    worth, is_known = {}, {}
    for part in (CORRECTNESS, VISUAL):
        first_marks = [marks[key].get(part) for key in keys]
        is_known[part] = np.array([mark is not None for mark in first_marks], dtype=bool)
        first = np.array([0.0 if mark is None else mark for mark in first_marks])
        worth[part] = np.stack([first, 1 - first], axis=1)
    both = [(cosines.get((item, first)), cosines.get((item, second))) for item, first, second, _ in keys]
    is_known[CORRELATION] = np.array([None not in pair for pair in both], dtype=bool)
    worth[CORRELATION] = np.array([[first or 0.0, second or 0.0] for first, second in both]).reshape(len(keys), 2)
    return worth, is_known
