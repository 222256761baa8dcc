"""Label-free check of an image-text correlation: an answer should fit its own picture better than others.

Run it on your own pictures and answers before you trust a correlation. If you choose the best of several this way,
its result on the pictures used for the choice is too good. `held_out_separation` chooses on some pictures and
evaluates on others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from fullbench.core.case import Case
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.rubric import CORRELATION
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError, Undefined
from fullbench.judges.peer_review.review_items_and_cases import COSINE

PictureAnswer = tuple[Picture, str]
"""A picture and the answer about it."""


@dataclass(frozen=True)
class AnswerComparison:
    """One answer: its own picture, and the outcome of the comparison with each other picture.

    The outcome is 1 if the own picture fits better, 0.5 if equal. Pictures on which the judge abstained are missing.
    """

    own_picture: str
    wins: Mapping[str, float]

    def within(self, pictures: set[str]) -> list[float]:
        """Return the outcomes of the comparisons among these pictures."""
        return (
            [outcome for picture, outcome in self.wins.items() if picture in pictures]
            if self.own_picture in pictures
            else []
        )


def compare_answers(judge: Judge, picture_answers: Sequence[PictureAnswer]) -> list[AnswerComparison]:
    """Compare the own picture of every answer with every other picture."""
    pictures = list({picture.digest: picture for picture, _ in picture_answers}.values())
    if len(pictures) < 2:
        raise InputError(f"a correlation needs at least two pictures; found {len(pictures)}")
    comparisons = []
    for picture, text in picture_answers:
        marks = dict(_picture_marks(judge, pictures, text))
        own_mark = marks.pop(picture.digest, None)
        wins = (
            {}
            if own_mark is None
            else {other_picture: _comparison_outcome(own_mark, mark) for other_picture, mark in marks.items()}
        )
        comparisons.append(AnswerComparison(picture.digest, wins))
    return comparisons


def _comparison_outcome(own_mark: float, other_mark: float) -> float:
    return 1.0 if own_mark > other_mark else 0.5 if own_mark == other_mark else 0.0


def picture_separation(judge: Judge, picture_answers: Sequence[PictureAnswer]) -> Estimate:
    """Estimate the share of comparisons that an answer's own picture wins; equal marks count half.

    0.5 is chance. Comparisons in which the judge abstained do not count. The interval resamples pictures together with
    all their answers.
    """
    from fullbench.stats.intervals.share_intervals import share_estimate

    answers = compare_answers(judge, picture_answers)
    wins = [outcome for answer in answers for outcome in answer.wins.values()]
    return share_estimate(wins, cluster=[answer.own_picture for answer in answers for _ in answer.wins])


@dataclass(frozen=True)
class HeldOut:
    """Separation of the best correlation on pictures not used to choose it, and how often each was chosen."""

    separation: Estimate
    choice_counts: Mapping[str, int]


def held_out_separation(
    judges: Sequence[Judge],
    picture_answers: Sequence[PictureAnswer],
    *,
    folds: int = 5,
    repeats: int = 20,
    seed: int = 0,
) -> HeldOut:
    """Run repeated cross-validation over pictures: choose the best judge on all folds but one, evaluate it there.

    On the fold left out, an answer's own picture is compared with the others of that fold. Every answer counts once,
    with the mean of its comparisons over all repeats. The interval resamples pictures. `choice_counts` says how often
    each judge was the best, by name; the first of equals wins.
    """
    from fullbench.stats.intervals.share_intervals import share_estimate

    tables = {judge.name: compare_answers(judge, picture_answers) for judge in judges}
    pictures = sorted({picture.digest for picture, _ in picture_answers})
    if not 2 <= folds <= len(pictures) // 2:
        raise InputError(f"each of {folds} parts needs at least two pictures; found {len(pictures)} pictures")
    wins: list[list[float]] = [[] for _ in picture_answers]
    choice_counts: Counter[str] = Counter()
    rng = Random(seed)
    for _ in range(repeats):
        rng.shuffle(pictures)
        for fold in range(folds):
            test_pictures = set(pictures[fold::folds])
            best = max(tables, key=lambda name: _mean_outcome(tables[name], set(pictures) - test_pictures))
            choice_counts[best] += 1
            for place, answer in enumerate(tables[best]):
                wins[place] += answer.within(test_pictures)
    answer_shares = [
        (sum(outcomes) / len(outcomes), picture.digest)
        for outcomes, (picture, _) in zip(wins, picture_answers, strict=True)
        if outcomes
    ]
    estimate = share_estimate(
        [win_share for win_share, _ in answer_shares], cluster=[picture_digest for _, picture_digest in answer_shares]
    )
    return HeldOut(estimate, dict(choice_counts.most_common()))


def _mean_outcome(answers: Sequence[AnswerComparison], pictures: set[str]) -> float:
    wins = [outcome for answer in answers for outcome in answer.within(pictures)]
    if not wins:
        raise Undefined(Note("undefined.a-judge-abstained-from"))
    return sum(wins) / len(wins)


def _picture_marks(judge: Judge, pictures: Sequence[Picture], text: str) -> Iterator[tuple[str, float]]:
    cases = [
        Case(Item.ask(picture.digest, "", picture), (Response.say(picture.digest, "", text),), COSINE, CORRELATION)
        for picture in pictures
    ]
    for verdict in judge.judge(cases):
        if isinstance(verdict, Verdict) and verdict.marks is not None:
            yield verdict.item, verdict.marks[0]
