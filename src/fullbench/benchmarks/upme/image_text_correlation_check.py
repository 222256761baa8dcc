"""What a correlation is worth: does an answer fit the picture that it was given to better than other pictures?

No label is needed, so that any correlation can be tried on one's own pictures and answers before it is believed. Where
one of several is chosen that way, what it reaches on the pictures it was chosen on flatters it: `held_out` chooses on
some pictures and looks at others.
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
from fullbench.core.note import Note
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.rubric import CORRELATION
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError, Undefined
from fullbench.judges.peer_review.review_protocol import COSINE

Given = tuple[Picture, str]
"""An answer beside the picture that it was given to."""


@dataclass(frozen=True)
class Compared:
    """One answer: the picture it was given to, and what came of comparing that with each other picture.

    Own better than other is 1, equal 0.5. Pictures that the judge recused itself from are not there.
    """

    own: str
    wins: Mapping[str, float]

    def within(self, pictures: set[str]) -> list[float]:
        """What came of the comparisons among these pictures."""
        return [won for other, won in self.wins.items() if other in pictures] if self.own in pictures else []


def compared(judge: Judge, answered: Sequence[Given]) -> list[Compared]:
    """Every answer, its own picture compared with every other one."""
    pictures = list({picture.digest: picture for picture, _ in answered}.values())
    if len(pictures) < 2:
        raise InputError(f"a correlation is tried on two pictures or more; found {len(pictures)}")
    comparisons = []
    for picture, text in answered:
        marks = dict(_marks(judge, pictures, text))
        own_mark = marks.pop(picture.digest, None)
        wins = {} if own_mark is None else {other: _won(own_mark, mark) for other, mark in marks.items()}
        comparisons.append(Compared(picture.digest, wins))
    return comparisons


def _won(own: float, other: float) -> float:
    return 1.0 if own > other else 0.5 if own == other else 0.0


def separation(judge: Judge, answered: Sequence[Given]) -> Estimate:
    """The share of comparisons that an answer's own picture wins against another of these; equal marks count half.

    0.5 is chance. Comparisons in which the judge recused itself do not count. The interval draws pictures, with all
    answers that were given to them, anew.
    """
    from fullbench.stats.intervals.share_intervals import share

    answers = compared(judge, answered)
    wins = [won for answer in answers for won in answer.wins.values()]
    return share(wins, cluster=[answer.own for answer in answers for _ in answer.wins])


@dataclass(frozen=True)
class HeldOut:
    """What the best of some correlations reaches on pictures that it was not chosen on, and which ones were chosen."""

    separation: Estimate
    chosen: Mapping[str, int]


def held_out(
    judges: Sequence[Judge], answered: Sequence[Given], *, folds: int = 5, repeats: int = 20, seed: int = 0
) -> HeldOut:
    """Repeated cross-validation over pictures: the best of the judges on all parts but one is tried on that one.

    On the part left out an answer's own picture is compared with the others of that part. Every answer counts once,
    with the mean of its comparisons over all repeats; the interval draws pictures anew. `chosen` is how often each
    judge was the best, by name; of equals the first.
    """
    from fullbench.stats.intervals.share_intervals import share

    tables = {judge.name: compared(judge, answered) for judge in judges}
    pictures = sorted({picture.digest for picture, _ in answered})
    if not 2 <= folds <= len(pictures) // 2:
        raise InputError(f"each of {folds} parts needs two pictures or more; found {len(pictures)} pictures")
    wins: list[list[float]] = [[] for _ in answered]
    chosen: Counter[str] = Counter()
    rng = Random(seed)
    for _ in range(repeats):
        rng.shuffle(pictures)
        for fold in range(folds):
            left = set(pictures[fold::folds])
            best = max(tables, key=lambda name: _mean(tables[name], set(pictures) - left))
            chosen[best] += 1
            for place, answer in enumerate(tables[best]):
                wins[place] += answer.within(left)
    known = [(sum(some) / len(some), picture.digest) for some, (picture, _) in zip(wins, answered, strict=True) if some]
    estimate = share([won for won, _ in known], cluster=[own for _, own in known])
    return HeldOut(estimate, dict(chosen.most_common()))


def _mean(answers: Sequence[Compared], pictures: set[str]) -> float:
    wins = [won for answer in answers for won in answer.within(pictures)]
    if not wins:
        raise Undefined(
            Note("undefined.a-judge-recused-itself-from", "a judge recused itself from every comparison of a part")
        )
    return sum(wins) / len(wins)


def _marks(judge: Judge, pictures: Sequence[Picture], text: str) -> Iterator[tuple[str, float]]:
    """What the judge makes of a text beside each picture, by the picture's digest."""
    cases = [
        Case(Item.ask(picture.digest, "", picture), (Response.say(picture.digest, "", text),), COSINE, CORRELATION)
        for picture in pictures
    ]
    for verdict in judge.hear(cases):
        if isinstance(verdict, Verdict) and verdict.marks is not None:
            yield verdict.item, verdict.marks[0]
