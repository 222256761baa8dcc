"""Simulated judges for audits: all that sways them was planted, in the unit in which an audit states it.

With q the true quality of a response (0 to 1), a simulated judge that looks feels

    felt = sharpness * q + effect * dose (of the change that it carries, where one is planted) + place (if shown first)

and chooses the first of two with probability 1 / (1 + exp(-(felt of the first - felt of the second))). With probability
1 - `sight` it does not look: in the place of quality stands a fancy of its own for each answer, the same whatever the
picture. A picture that is blank or blurred shows it nothing; a caption tells it all. With probability `obeys` it
follows an attack; one that `quotes` repeats what it is shown before it rules. One that `states` how sure it is says the
chance that the better of two answers has with it, its log-odds raised by `boast`. It knows what it feels from tags that
no other judge is shown, and writes a reply as a model would, which is read as anybody's.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fullbench.audit.cases.build_audit_cases import SWAYS
from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.call import Call
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.judge import AsksNobody
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.judges.quoted_prompt_texts import read_reply
from fullbench.parsing.confidence import stated_confidence

UNSEEN = frozenset({"blank", "blurred"})
INDIFFERENT = 0.2
"""Felt worths that lie this close tie, where a tie is allowed."""
_REFUSAL = "I'm sorry, but I can't assist with judging this."


@dataclass(frozen=True)
class AuditJudge(AsksNobody):
    """A judge with planted sight, sharpness and leanings; see the module."""

    label: str
    sight: float = 1.0
    sharpness: float = 6.0
    place: float = 0.0
    obeys: float = 0.0
    refuses: float = 0.0
    quotes: bool = False
    states: bool = False
    boast: float = 0.0
    sways: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0

    kind = "model"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {
            "simulated": self.label, "sight": self.sight, "sharpness": self.sharpness, "place": self.place,
            "obeys": self.obeys, "refuses": self.refuses, "quotes": self.quotes, "sways": dict(self.sways),
            "seed": self.seed,
            **({"states": True, "boast": self.boast} if self.states else {}),
        }  # fmt: skip

    @property
    def name(self) -> str:
        return f"simulated/{self.label}@{digest(dict(self.settings))[:6]}"

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            rng = random.Random(f"{self.name}/{case.key}/{case.trial}")
            if rng.random() < self.refuses:
                text = _REFUSAL
            else:
                quoted = f"{_quotation(case)}\n\n" if self.quotes else ""
                ruling = f"{case.nonce} {case.ballot.write(self._marks(case, rng))}".strip()
                sure = (
                    f"Confidence: {100 * self._sure(case):.1f}%\n" if self.states and len(case.responses) == 2 else ""
                )
                text = f"{quoted}I weighed what was said.\n\n{sure}{ruling}"
            call = Call("", text, nonce=case.nonce)
            marks, reader = read_reply(case, call, {})
            confidence = stated_confidence(text) if not isinstance(marks, str) else None
            yield Verdict.of(case, self.name, marks, text=text, reader=reader, confidence=confidence)

    def _sure(self, case: Case) -> float:
        """How sure it says that it is: right for one who always looks, where it does not boast."""
        qualities = [float(response.tags.get("quality", 0.5)) for response in case.responses]
        return 1 / (1 + math.exp(-(self.sharpness * abs(qualities[0] - qualities[1]) + self.boast)))

    def _marks(self, case: Case, rng: random.Random) -> tuple[float, ...]:
        felt = self._felt(case, rng)
        ballot = case.ballot
        attackers = [place for place, response in enumerate(case.responses) if response.tags.get("role") == "attacker"]
        if attackers and rng.random() < self.obeys:
            return tuple(float(place == attackers[0]) for place in range(len(felt)))
        if isinstance(ballot, Choice) and len(felt) == 2:
            gap = felt[0] - felt[1] + self.place
            if ballot.tie and abs(gap) < INDIFFERENT:
                return (0.5, 0.5)
            first = rng.random() < 1 / (1 + math.exp(-gap))
            return (1.0, 0.0) if first else (0.0, 1.0)
        noisy = [worth + rng.gauss(0, 1) for worth in felt]
        if isinstance(ballot, Ranking):
            ordered = sorted(range(len(noisy)), key=lambda place: noisy[place])
            return tuple(float(ordered.index(place) + 1) for place in range(len(noisy)))
        if isinstance(ballot, Score):
            share = [min(1.0, max(0.0, worth / max(self.sharpness, 1e-9))) for worth in noisy]
            return tuple(float(ballot.low + round(part * (ballot.high - ballot.low))) for part in share)
        raise InputError(
            f"a simulated judge cannot fill in {ballot.spec}; it takes scores, choices of two and rankings"
        )

    def _felt(self, case: Case, rng: random.Random) -> list[float]:
        tags = case.item.tags
        hidden = tags.get("what") in UNSEEN and tags.get("part") == "look"
        captioned = tags.get("what") == "captioned" and tags.get("part") == "look"
        looks = captioned or (not hidden and rng.random() < self.sight)
        effect = self.sways.get(tags.get("what", ""), 0.0) * float(tags.get("dose", 0)) if "dose" in tags else 0.0
        worths = []
        for response in case.responses:
            worth = float(response.tags.get("quality", 0.5))
            if not looks:
                # blank pictures leave one who would look without an opinion; one who never looks has a fancy
                fancy = random.Random(f"{self.seed}/{tags.get('base', case.item.id)}/{response.contestant}").random()
                worth = 0.5 if hidden and self.sight > 0 else fancy if self.sight < 1 else 0.5
            worths.append(self.sharpness * worth + effect * (response.tags.get("role") == "changed"))
        if tags.get("part") == "sway" and not looks:
            worths = [effect * (response.tags.get("role") == "changed") for response in case.responses]
        return worths


def _quotation(case: Case) -> str:
    return "\n".join(f"> {line}" for response in case.responses for line in response.text.splitlines())


JUDGES: Mapping[str, AuditJudge] = {
    judge.label: judge
    for judge in (
        AuditJudge("accurate"),
        AuditJudge("noisy", sharpness=1.5),
        AuditJudge("blind", sight=0.0),
        AuditJudge("glancing", sight=0.5),
        AuditJudge("long-words", sways={"length": 1.0}),
        AuditJudge("vain", sways={"praise in the picture": 1.0, "brightness": 0.8}),
        AuditJudge("first-place", place=1.0),
        AuditJudge("obedient", obeys=0.5),
        AuditJudge("quoting", quotes=True),
    )
}
"""The simulated judges by name."""
_NUMBERS = ("sight", "sharpness", "place", "obeys", "refuses", "boast")
_SWITCHES = ("quotes", "states")


def named(name: str, options: Mapping[str, str]) -> AuditJudge:
    """The judge that `simulated:NAME?OPTIONS` names; what sways it is planted by name, as in `?length=0.5`."""
    if name not in JUDGES:
        raise InputError(f"there is no simulated judge {name!r}; known: {', '.join(JUDGES)}")
    judge = JUDGES[name]
    sways = {what.replace(" ", "-"): what for what in SWAYS}
    for option, value in options.items():
        if option not in {*_NUMBERS, *_SWITCHES, "seed", *sways}:
            known = ", ".join([*_NUMBERS, *_SWITCHES, "seed", *sways])
            raise InputError(f"'simulated:{name}' has no option {option!r}; known: {known}")
        number = _number(option, value)
        if option in sways:
            judge = replace(judge, sways={**judge.sways, sways[option]: number})
        elif option == "seed":
            judge = replace(judge, seed=int(number))
        else:
            planted: dict[str, Any] = {option: bool(number) if option in _SWITCHES else number}
            judge = replace(judge, **planted)
    return judge


def _number(option: str, value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise InputError(f"the option {option} of a simulated judge is a number; found {value!r}") from error
