"""Simulated judge with planted biases: it knows the true quality and distorts it by a known formula.

It computes a latent mark for each response, on the open scale behind a score of 1 to 5. With q the response's true
quality (0 to 1), w its length in words and e a standard normal draw per response:

    mark = 3 + picture_use * (4 q - 2) + leniency + length * log2(w / 12) + ego * [it is the favourite] + noise * e

- Score: the mark, rounded and clipped to the ballot's scale.
- Choice: the highest mark, or a tie if marks differ by at most half a mark. Ranking: sorted by mark.
- `position`: the share |position| of choices and rankings depends on place alone. The first response wins if
  `position` is above 0, the last if it is below.
- `lazy`: the share of verdicts that ignore the responses (a tie if allowed, the middle of a scale).
- `allies`: contestants that a colluding judge prefers to all others.
- `refuses`, `garbles`: the shares of refusals and of unreadable replies.

Each planted number has the unit of its estimate in `fullbench.stats.bias.position_bias_and_latent_mark_regression`.
Sight, leniency, length (marks per doubling), ego and noise use the units of `latent_marks`, position that of
`position_bias`. The sum refuses + garbles is a share of verdicts.

The judge writes a reply as a model would and the ballot parses it, so its faults take the usual path. Verdicts
depend only on the judge, the case and the trial.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fullbench.core.ballot import Choice, GradedChoice, Ranking
from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import CallsNoModel
from fullbench.core.language_and_words import length_of
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.judges.baselines import marks_from
from fullbench.parsing import read

Truth = Callable[[Case], Sequence[float] | None]
"""Return the true quality (0 to 1) of each response in the order shown, or None if it is unknown."""
# In words; at this length the length bias adds nothing.
USUAL_LENGTH = 12
TIE = 0.5
"""Latent marks that differ by at most this tie."""

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
class PlantedBiases:
    """Biases of a simulated judge; the module docstring has the formula. The default plants nothing."""

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
            raise InputError(f"a planted position bias is a share from -1 to 1; found {self.position}")
        if min(self.refuses, self.garbles) < 0 or self.refuses + self.garbles > 1:
            raise InputError(
                f"planted shares of refused and unreadable verdicts are at most 1; found {self.refuses} "
                f"and {self.garbles}"
            )
        if not 0 <= self.lazy <= 1:
            raise InputError(f"planted laziness is a share from 0 to 1; found {self.lazy}")
        if bool(self.ego) != bool(self.favourite):
            raise InputError("a planted self-preference needs a favourite, and a favourite needs a self-preference")

    @property
    def settings(self) -> dict[str, Any]:
        """Return the biases as judge settings; `lazy` and `allies` only if they are planted."""
        optional = {"lazy": self.lazy, "allies": list(self.allies)}
        base_settings = {name: value for name, value in asdict(self).items() if name not in optional}
        return base_settings | {name: value for name, value in optional.items() if value}

    @property
    def unusable_share(self) -> float:
        """Return the expected share of unusable verdicts."""
        return self.refuses + self.garbles


NO_BIASES = PlantedBiases()


class SimulatedJudge(CallsNoModel):
    """Judge that knows the true quality and distorts it by noise and planted biases.

    `picture_use` is the weight of the true quality, from 1 (full) to 0 (ignored); `noise` is a standard deviation in
    marks. The name is `label` and a digest of all settings, because they change verdicts.
    """

    kind = "model"

    def __init__(
        self,
        label: str,
        truth: Truth,
        *,
        picture_use: float = 1.0,
        noise: float = 0.5,
        biases: PlantedBiases = NO_BIASES,
        seed: int = 0,
    ) -> None:
        if noise < 0:
            raise InputError(f"noise is a standard deviation in marks, 0 or more; found {noise}")
        self.label = label
        self.picture_use = picture_use
        self.noise = noise
        self.biases = biases
        self.seed = seed
        self._truth = truth
        self.name = f"{label}@{digest(dict(self.settings))[:6]}"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"picture_use": self.picture_use, "noise": self.noise, "seed": self.seed, **self.biases.settings}

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            rng = random.Random(f"{self.name}/{case.key}/{case.trial}")
            marks = self._marks(case, rng)
            if marks is None:
                yield Verdict.from_case(case, self.name, "abstained")
                continue
            text = self._reply(case, marks, rng)
            texts = [response.text for response in case.responses]
            yield Verdict.from_case(case, self.name, read(case.ballot, text, len(texts), texts), text=text)

    def latent_marks(self, case: Case, rng: random.Random) -> list[float] | None:
        """Return the latent mark of each response by the module's formula, or None if the truth is unknown."""
        qualities = self._truth(case)
        if qualities is None:
            return None
        biases = self.biases
        return [
            3
            + self.picture_use * (4 * quality - 2)
            + biases.leniency
            + biases.length * math.log2(length_of(response.text) / USUAL_LENGTH)
            + biases.ego * (response.contestant == biases.favourite)
            + self.noise * rng.gauss()
            for quality, response in zip(qualities, case.responses, strict=True)
        ]

    def _marks(self, case: Case, rng: random.Random) -> tuple[float, ...] | None:
        latent_marks = self.latent_marks(case, rng)
        if latent_marks is None:
            return None
        biases = self.biases
        if biases.allies and (ally_marks := _ally_marks(case, biases.allies)) is not None:
            return marks_from(case.ballot, ally_marks)
        if biases.lazy and rng.random() < biases.lazy:
            return marks_from(case.ballot, [0.5] * len(latent_marks))
        if isinstance(case.ballot, Choice | GradedChoice | Ranking) and rng.random() < abs(biases.position):
            direction = -1.0 if biases.position > 0 else 1.0
            return marks_from(case.ballot, [direction * place for place in range(len(latent_marks))])
        # Map the scale of 1 to 5 to 0 to 1, which `marks_from` expects; the margin shrinks by the same factor.
        return marks_from(case.ballot, [(mark - 1) / 4 for mark in latent_marks], margin=TIE / 4)

    def _reply(self, case: Case, marks: Sequence[float], rng: random.Random) -> str:
        language = "zh" if case.item.tags.get("language") == "zh" else "en"
        draw = rng.random()
        if draw < self.biases.refuses:
            return _REFUSALS[language]
        if draw < self.biases.unusable_share:
            return rng.choice(_GARBLES[language])
        return f"{rng.choice(_PROSE[language])}\n\n{case.ballot.write(marks)}"


def _ally_marks(case: Case, allies: tuple[str, ...]) -> list[float] | None:
    """1 for allies and 0 for others, or None if all of several or no responses are by allies."""
    ally_marks = [float(response.contestant in allies) for response in case.responses]
    return ally_marks if any(ally_marks) and (len(ally_marks) == 1 or not all(ally_marks)) else None
