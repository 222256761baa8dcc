"""Baseline judges that follow a simple rule: length, chance, overlap with the reference.

A good judge must beat them. One that agrees with them too well judges length, or nothing.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fullbench.core.ballot import Ballot, Choice, GradedChoice, Likert, Ranking, Real, Score
from fullbench.core.case import Case
from fullbench.core.judge import CallsNoModel
from fullbench.core.language_and_words import length_of, words_of
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError


def marks_from(
    ballot: Ballot, worths: Sequence[float], *, margin: float = 0.0, order: Sequence[str] | None = None
) -> tuple[float, ...] | None:
    """Convert worths from 0 to 1, one per response, into legal marks; None if the ballot or a NaN forbids it.

    A score or a scale of words spreads 0 to 1 over its range and rounds; a real number does not round. Values outside
    are clipped. A choice takes the best; worths within `margin` of it tie with it. If ties are not allowed, or not
    all responses tie, the first in `order` wins. A graded choice takes the level whose marks differ by about as much
    as the worths. A ranking sorts, and `order` breaks ties. `order` defaults to the order shown.

    >>> marks_from(Score(1, 5), [0.0, 0.6, 1.2]), marks_from(Real(0, 10), [0.25, 1.2])
    ((1.0, 3.0, 5.0), (2.5, 10.0))
    >>> marks_from(Choice(), [0.5, 0.5]), marks_from(Choice(), [0.2, 0.5])
    ((0.5, 0.5), (0.0, 1.0))
    >>> marks_from(GradedChoice(5), [0.9, 0.5]), marks_from(GradedChoice(5), [0.0, 1.0])
    ((0.75, 0.25), (0.0, 1.0))
    >>> marks_from(Ranking(), [0.1, 0.9, 0.5])
    (1.0, 3.0, 2.0)
    """
    if any(math.isnan(worth) for worth in worths):
        return None
    keys = order if order is not None else [f"{place:04d}" for place in range(len(worths))]
    if isinstance(ballot, Real):
        spread = [ballot.low + worth * (ballot.high - ballot.low) for worth in worths]
        return tuple(float(min(ballot.high, max(ballot.low, mark))) for mark in spread)
    if isinstance(ballot, Score | Likert):
        low, high = (1, len(ballot.words)) if isinstance(ballot, Likert) else (ballot.low, ballot.high)
        return tuple(float(low + min(high - low, max(0, math.floor((high - low) * w + 0.5)))) for w in worths)
    if isinstance(ballot, Choice):
        close = [place for place, worth in enumerate(worths) if worth >= max(worths) - margin]
        if ballot.tie and len(close) == len(worths):
            return (1 / len(worths),) * len(worths)
        best = min(close, key=lambda place: keys[place])
        return tuple(float(place == best) for place in range(len(worths)))
    if isinstance(ballot, GradedChoice):
        gap = worths[0] - worths[1]
        if abs(gap) <= margin and not (gap and not ballot.tie):
            gap = 0.0 if ballot.tie else 1e-9 if keys[0] <= keys[1] else -1e-9
        # The smallest strength without a tie is 1, however small the gap.
        return ballot.marks_of(min(ballot.steps, key=lambda step: abs(step / ballot.strengths - gap)))
    if isinstance(ballot, Ranking):
        ranking = sorted(range(len(worths)), key=lambda place: (-worths[place], keys[place]))
        return tuple(float(len(worths) - ranking.index(place)) for place in range(len(worths)))
    return None


def pictures_only_reason(case: Case) -> str:
    """Return why a judge of text cannot judge this case (a response is only pictures); empty if it can."""
    without_words = (response.media[0] for response in case.responses if response.media and not response.text.strip())
    media = next(without_words, None)
    return "" if media is None else f"the responses are {media.noun}s, and this judge reads words"


class _RuleJudge(CallsNoModel, ABC):
    kind = "metric"

    name: str

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"rule": self.name}

    def abstention_reason(self, case: Case) -> str:
        return pictures_only_reason(case)

    @abstractmethod
    def marks(self, case: Case) -> tuple[float, ...] | None:
        """Return the marks by the rule, or None for an unsupported ballot."""

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            reason = self.abstention_reason(case)
            marks = None if reason else self.marks(case)
            if marks is None:
                reason = reason or f"it cannot fill in {case.ballot.spec}"
                yield Verdict.from_case(case, self.name, "abstained", text=reason)
            else:
                yield Verdict.from_case(case, self.name, marks)


class LengthJudge(_RuleJudge):
    """Prefers longer responses. A score spreads 1 to 64 words over its range by doublings."""

    name = "length"

    def marks(self, case: Case) -> tuple[float, ...] | None:
        # log2(64) = 6: 64 words have the worth 1
        return marks_from(case.ballot, [math.log2(length_of(response.text)) / 6 for response in case.responses])


class ChanceJudge(_RuleJudge):
    """Draws fairly among all legal verdicts; the same for the same seed, case and trial."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.name = f"chance?seed={seed}" if seed else "chance"

    def abstention_reason(self, case: Case) -> str:
        return ""

    def marks(self, case: Case) -> tuple[float, ...] | None:
        rng = random.Random(f"{self.name}/{case.key}/{case.trial}")
        return _draw_marks(case.ballot, len(case.responses), rng)


def _draw_marks(ballot: Ballot, n: int, rng: random.Random) -> tuple[float, ...] | None:
    if isinstance(ballot, Score):
        return tuple(float(rng.randint(ballot.low, ballot.high)) for _ in range(n))
    if isinstance(ballot, Likert):
        return tuple(float(rng.randint(1, len(ballot.words))) for _ in range(n))
    if isinstance(ballot, Choice) and ballot.tie and rng.randrange(n + 1) == n:
        return (1 / n,) * n
    if isinstance(ballot, GradedChoice):
        return ballot.marks_of(rng.choice(ballot.steps))
    return marks_from(ballot, [rng.random() for _ in range(n)])


class ReferenceJudge(_RuleJudge):
    """Prefers responses that share more words with the item's reference; abstains if there is none.
    The worth is the harmonic mean of precision and recall over words, counted as often as they occur.
    """

    name = "reference"

    def abstention_reason(self, case: Case) -> str:
        return "the item has no reference" if case.item.reference is None else pictures_only_reason(case)

    def marks(self, case: Case) -> tuple[float, ...] | None:
        reference_words = Counter(words_of(case.item.reference or ""))
        worths = [_word_overlap(reference_words, Counter(words_of(response.text))) for response in case.responses]
        return marks_from(case.ballot, worths)


def _word_overlap(reference_words: Counter[str], words: Counter[str]) -> float:
    total = reference_words.total() + words.total()
    return 2 * (reference_words & words).total() / total if total else 0.0


def build_length_judge(argument: str, options: Mapping[str, str]) -> LengthJudge:
    """Build the judge `length`."""
    _refuse_extra_options("length", argument, options, known_options=())
    return LengthJudge()


def build_chance_judge(argument: str, options: Mapping[str, str]) -> ChanceJudge:
    """Build the judge for `chance` or `chance?seed=NUMBER`."""
    _refuse_extra_options("chance", argument, options, known_options=("seed",))
    seed = options.get("seed", "0")
    if not seed.isdecimal():
        raise InputError(f"the judge 'chance' takes a whole number as seed; found {seed!r}; write chance?seed=7")
    return ChanceJudge(int(seed))


def build_reference_judge(argument: str, options: Mapping[str, str]) -> ReferenceJudge:
    """Build the judge `reference`."""
    _refuse_extra_options("reference", argument, options, known_options=())
    return ReferenceJudge()


def _refuse_extra_options(name: str, argument: str, options: Mapping[str, str], known_options: tuple[str, ...]) -> None:
    extras = [argument] * bool(argument) + [option for option in options if option not in known_options]
    if extras:
        takes = f"only {', '.join(known_options)}" if known_options else "no options"
        raise InputError(f"the judge {name!r} takes {takes}; found {', '.join(extras)}; leave it out")
