"""A judge with known faults: it sees the truth as well as it is told to, and every bias in it was planted.

It feels a mark for each response, on the open scale behind a score of 1 to 5. With q the response's true quality (0 to
1), w its length in words and e a standard normal draw of its own:

    felt = 3 + sight * (4 q - 2) + leniency + length * log2(w / 12) + ego * [it is the favourite] + noise * e

A score is the felt mark rounded and cut off at the ends of the ballot's scale; a choice goes to the highest felt mark,
or to a tie when they lie within half a mark; a ranking sorts by it. When several responses are shown, then with
probability |position| the judge rules by place alone: for the first shown when `position` is above 0, for the last when
it is below. With probability `lazy` it does not look: it ties where it may and gives the middle of a scale. One who
colludes rules for its `allies` against all others. With probability `refuses` it writes a refusal and with probability
`garbles` something nobody can read.

So each planted number has the unit of its estimate in `fullbench.stats.bias.bias_estimators`: sight, leniency, length
(marks for each doubling), ego and noise those of `latent_marks`; position that of `position_bias`; refuses + garbles is
a share of verdicts.

It writes a reply as a model would and the ballot reads it, so that its faults take the same way as anyone's. Rulings
depend only on the judge, the case and the trial.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fullbench.core.ballot import Choice, Ranking
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.judge import AsksNobody
from fullbench.core.text import length_of
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.judges.baselines import marks_from
from fullbench.parsing import read

Truth = Callable[[Case], Sequence[float] | None]
"""The true quality of each response of a case, 0 to 1, in the order shown; None when it is not known."""
USUAL_LENGTH = 12
TIE = 0.5
"""Felt marks that lie this close tie."""

_PROSE = {
    "en": (
        "I compared what was claimed with what the picture shows.",
        "I looked at the picture first and then at what was said about it.",
        "Weighing accuracy above everything else, this is my ruling.",
    ),
    "zh": ("我把回答的内容和图片逐项做了对照。", "我先看了图片，再看回答的内容。", "我最看重准确，裁决如下。"),
}
_REFUSALS = {"en": "I'm sorry, but I can't assist with judging this picture.", "zh": "抱歉，我无法对这幅图片作出评判。"}
_GARBLES = {
    "en": ("There is much to be said here, and my ruling is [[", "Good in parts, weak in others. [[?]]", "..."),
    "zh": ("这里值得说的很多，我的裁决是 [[", "好坏参半。[[？]]", "……"),
}


@dataclass(frozen=True, slots=True)
class Planted:
    """The biases put into a judge; the module says in which formula. Nothing is planted by default."""

    leniency: float = 0.0
    length: float = 0.0
    ego: float = 0.0
    favourite: str = ""
    position: float = 0.0
    refuses: float = 0.0
    garbles: float = 0.0
    lazy: float = 0.0
    allies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if abs(self.position) > 1:
            raise InputError(f"a planted position is a share from -1 to 1; found {self.position}")
        if min(self.refuses, self.garbles) < 0 or self.refuses + self.garbles > 1:
            raise InputError(f"planted faults are shares of at most 1; found {self.refuses} and {self.garbles}")
        if not 0 <= self.lazy <= 1:
            raise InputError(f"planted laziness is a share from 0 to 1; found {self.lazy}")
        if bool(self.ego) != bool(self.favourite):
            raise InputError("a planted ego needs a favourite, and a favourite an ego")

    @property
    def settings(self) -> dict[str, Any]:
        """All of it as a judge's settings; optional faults are named only if they are planted."""
        optional = {"lazy": self.lazy, "allies": list(self.allies)}
        usual = {name: value for name, value in asdict(self).items() if name not in optional}
        return usual | {name: value for name, value in optional.items() if value}

    @property
    def faults(self) -> float:
        """The share of rulings that will be no rulings."""
        return self.refuses + self.garbles


NOTHING_PLANTED = Planted()


class SimulatedJudge(AsksNobody):
    """A judge that sees the truth with `sight` (1 fully, 0 not at all) and `noise` (marks), and bends it as planted.

    `label` is what people call it; the name adds a digest of all settings, since what changes rulings changes the name.
    """

    kind = "model"

    def __init__(
        self,
        label: str,
        truth: Truth,
        *,
        sight: float = 1.0,
        noise: float = 0.5,
        planted: Planted = NOTHING_PLANTED,
        seed: int = 0,
    ) -> None:
        if noise < 0:
            raise InputError(f"noise is a standard deviation in marks, 0 or more; found {noise}")
        self.label = label
        self.sight = sight
        self.noise = noise
        self.planted = planted
        self.seed = seed
        self._truth = truth
        self.name = f"{label}@{digest(dict(self.settings))[:6]}"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"sight": self.sight, "noise": self.noise, "seed": self.seed, **self.planted.settings}

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            rng = random.Random(f"{self.name}/{case.key}/{case.trial}")
            marks = self._marks(case, rng)
            if marks is None:
                yield Verdict.of(case, self.name, "recused")
                continue
            text = self._reply(case, marks, rng)
            shown = [response.text for response in case.responses]
            yield Verdict.of(case, self.name, read(case.ballot, text, len(shown), shown), text=text)

    def felt(self, case: Case, rng: random.Random) -> list[float] | None:
        """The mark felt for each response, by the module's formula; None when the truth is not known."""
        qualities = self._truth(case)
        if qualities is None:
            return None
        planted = self.planted
        return [
            3
            + self.sight * (4 * quality - 2)
            + planted.leniency
            + planted.length * math.log2(length_of(response.text) / USUAL_LENGTH)
            + planted.ego * (response.contestant == planted.favourite)
            + self.noise * rng.gauss()
            for quality, response in zip(qualities, case.responses, strict=True)
        ]

    def _marks(self, case: Case, rng: random.Random) -> tuple[float, ...] | None:
        felt = self.felt(case, rng)
        if felt is None:
            return None
        planted = self.planted
        if planted.allies and (kin := _allied(case, planted.allies)) is not None:
            return marks_from(case.ballot, kin)
        if planted.lazy and rng.random() < planted.lazy:
            return marks_from(case.ballot, [0.5] * len(felt))
        if isinstance(case.ballot, Choice | Ranking) and rng.random() < abs(planted.position):
            toward = -1.0 if planted.position > 0 else 1.0
            return marks_from(case.ballot, [toward * place for place in range(len(felt))])
        return marks_from(case.ballot, [(mark - 1) / 4 for mark in felt], margin=TIE / 4)

    def _reply(self, case: Case, marks: Sequence[float], rng: random.Random) -> str:
        language = "zh" if case.item.tags.get("language") == "zh" else "en"
        draw = rng.random()
        if draw < self.planted.refuses:
            return _REFUSALS[language]
        if draw < self.planted.faults:
            return rng.choice(_GARBLES[language])
        return f"{rng.choice(_PROSE[language])}\n\n{case.ballot.write(marks)}"


def _allied(case: Case, allies: tuple[str, ...]) -> list[float] | None:
    """1 for allies and 0 for others, where some are and some are not; an ally alone gets 1."""
    kin = [float(response.contestant in allies) for response in case.responses]
    return kin if any(kin) and (len(kin) == 1 or not all(kin)) else None
