"""Judges that follow a simple rule: by length, by chance, by overlap with the reference. Honest baselines.

Whoever judges well must beat them; whoever agrees with them too well judges length, or nothing.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fullbench.core.ballot import Ballot, Choice, Likert, Ranking, Real, Score
from fullbench.core.case import Case
from fullbench.core.judge import AsksNobody
from fullbench.core.text import length_of, words_of
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError


def marks_from(
    ballot: Ballot, worths: Sequence[float], *, margin: float = 0.0, order: Sequence[str] | None = None
) -> tuple[float, ...] | None:
    """Worths from 0 to 1, one for each response, as legal marks; None for a ballot that these judges cannot fill in,
    and where a worth is not a number.

    A score or a scale of words spreads 0 to 1 over its range and rounds, a real number does not round; what lies
    outside is cut off. A choice takes the best; worths within `margin` of it tie with it, and where no tie is allowed,
    or not all of the responses tie, the first in `order` wins. A ranking sorts; equal worths go by `order`. Without
    `order`, the earlier shown goes first.

    >>> marks_from(Score(1, 5), [0.0, 0.6, 1.2]), marks_from(Real(0, 10), [0.25, 1.2])
    ((1.0, 3.0, 5.0), (2.5, 10.0))
    >>> marks_from(Choice(), [0.5, 0.5]), marks_from(Choice(), [0.2, 0.5])
    ((0.5, 0.5), (0.0, 1.0))
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
    if isinstance(ballot, Ranking):
        ranked = sorted(range(len(worths)), key=lambda place: (-worths[place], keys[place]))
        return tuple(float(len(worths) - ranked.index(place)) for place in range(len(worths)))
    return None


def unread(case: Case) -> str:
    """Why a judge of words cannot rule in this case: what it is shown are pictures; empty where there are words."""
    drawn = any(response.pictures and not response.text.strip() for response in case.responses)
    return "the responses are pictures, and this judge reads words" if drawn else ""


class _Rule(AsksNobody, ABC):
    """A judge whose marks follow from the case alone."""

    kind = "metric"

    name: str

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"rule": self.name}

    def recuses(self, case: Case) -> str:
        """Why it cannot rule in this case; empty where it can."""
        return unread(case)

    @abstractmethod
    def marks(self, case: Case) -> tuple[float, ...] | None:
        """The marks by the rule; None for a ballot that it cannot fill in."""

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            reason = self.recuses(case)
            marks = None if reason else self.marks(case)
            if marks is None:
                reason = reason or f"it cannot fill in {case.ballot.spec}"
                yield Verdict.of(case, self.name, "recused", text=reason)
            else:
                yield Verdict.of(case, self.name, marks)


class LengthJudge(_Rule):
    """The longer, the better. A score spreads 1 to 64 words over its range by doublings."""

    name = "length"

    def marks(self, case: Case) -> tuple[float, ...] | None:
        return marks_from(case.ballot, [math.log2(length_of(response.text)) / 6 for response in case.responses])


class ChanceJudge(_Rule):
    """A fair draw among all legal rulings, the same for the same seed, case and trial."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.name = f"chance?seed={seed}" if seed else "chance"

    def recuses(self, case: Case) -> str:
        return ""

    def marks(self, case: Case) -> tuple[float, ...] | None:
        rng = random.Random(f"{self.name}/{case.key}/{case.trial}")
        return _drawn(case.ballot, len(case.responses), rng)


def _drawn(ballot: Ballot, n: int, rng: random.Random) -> tuple[float, ...] | None:
    if isinstance(ballot, Score):
        return tuple(float(rng.randint(ballot.low, ballot.high)) for _ in range(n))
    if isinstance(ballot, Likert):
        return tuple(float(rng.randint(1, len(ballot.words))) for _ in range(n))
    if isinstance(ballot, Choice) and ballot.tie and rng.randrange(n + 1) == n:
        return (1 / n,) * n
    return marks_from(ballot, [rng.random() for _ in range(n)])


class ReferenceJudge(_Rule):
    """The more words a response shares with the item's reference, the better; recused where there is none.

    The worth is the harmonic mean of precision and recall over words, counted as often as they occur.
    """

    name = "reference"

    def recuses(self, case: Case) -> str:
        return "the item has no reference" if case.item.reference is None else unread(case)

    def marks(self, case: Case) -> tuple[float, ...] | None:
        wanted = Counter(words_of(case.item.reference or ""))
        worths = [_shared(wanted, Counter(words_of(response.text))) for response in case.responses]
        return marks_from(case.ballot, worths)


def _shared(wanted: Counter[str], words: Counter[str]) -> float:
    total = wanted.total() + words.total()
    return 2 * (wanted & words).total() / total if total else 0.0


def length(rest: str, options: Mapping[str, str]) -> LengthJudge:
    """The judge that `length` names."""
    _nothing_more("length", rest, options, known=())
    return LengthJudge()


def chance(rest: str, options: Mapping[str, str]) -> ChanceJudge:
    """The judge that `chance` or `chance?seed=NUMBER` names."""
    _nothing_more("chance", rest, options, known=("seed",))
    seed = options.get("seed", "0")
    if not seed.isdecimal():
        raise InputError(f"the judge 'chance' takes a whole number as seed; found {seed!r}; say chance?seed=7")
    return ChanceJudge(int(seed))


def reference(rest: str, options: Mapping[str, str]) -> ReferenceJudge:
    """The judge that `reference` names."""
    _nothing_more("reference", rest, options, known=())
    return ReferenceJudge()


def _nothing_more(name: str, rest: str, options: Mapping[str, str], known: tuple[str, ...]) -> None:
    more = [rest] * bool(rest) + [option for option in options if option not in known]
    if more:
        takes = f"only {', '.join(known)}" if known else "no options"
        raise InputError(f"the judge {name!r} takes {takes}; found {', '.join(more)}; leave it out")
