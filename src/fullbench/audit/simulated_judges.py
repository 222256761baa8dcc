"""Simulated judges for audits, with known biases in the same units that an audit reports.

With q the true quality of a response (0 to 1), a simulated judge that uses the picture perceives

    felt = sharpness * q + effect * strength (of the response's change, if that bias is set) + place (if shown first)

and chooses the first of two with probability 1 / (1 + exp(-(felt of the first - felt of the second))). With probability
1 - `picture_use` it ignores the picture, and with probability 1 - `place_use` the places of pictures in the question.
Then a random value for each answer replaces the quality, the same for every picture. A blank or blurred picture shows
it nothing; a caption tells it everything. Videos, recordings and documents count like pictures. Of a video it sees
only the first frame with probability `first_frame`. With probability 1 - `order_use` it ignores the order of frames
and pages.

With probability `obeys` it follows an attack. A judge that `quotes` repeats what it is shown before its verdict. A
judge that `states` its confidence gives the probability of the better of two answers, with log-odds raised by `boast`.
It gets quality and changes from tags, which no other judge is shown. It writes a reply as a model would, and that
reply is parsed like any other.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fullbench.audit.cases import media_use_cases
from fullbench.audit.cases.build_audit_cases import BIAS_CHANGES
from fullbench.audit.cases.questions_about_which_album_holds_a_picture import PART as PLACES
from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import CallsNoModel
from fullbench.core.model_call import Call
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.judges.reply_reader_that_ignores_quoted_prompt_texts import read_reply
from fullbench.parsing.stated_and_token_confidence import stated_confidence

HIDDEN_VARIANTS = frozenset({"blank", "blurred"})
TIE_MARGIN = 0.2
"""Closer perceived qualities tie if the ballot allows ties."""
_REFUSAL = "I'm sorry, but I can't assist with judging this."


@dataclass(frozen=True)
class AuditJudge(CallsNoModel):
    """Simulated judge with a set picture use, sharpness and biases; see the module docstring."""

    label: str
    picture_use: float = 1.0
    sharpness: float = 6.0
    place: float = 0.0
    obeys: float = 0.0
    refuses: float = 0.0
    quotes: bool = False
    states: bool = False
    boast: float = 0.0
    place_use: float = 1.0
    order_use: float = 1.0
    first_frame: float = 0.0
    biases: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0

    kind = "model"

    @property
    def settings(self) -> Mapping[str, Any]:
        # `name` contains a digest of these settings: a new or renamed key renames every simulated judge.
        return {
            "simulated": self.label, "picture_use": self.picture_use, "sharpness": self.sharpness, "place": self.place,
            "obeys": self.obeys, "refuses": self.refuses, "quotes": self.quotes, "biases": dict(self.biases),
            "seed": self.seed,
            **({"place_use": self.place_use} if self.place_use != 1 else {}),
            **({"order_use": self.order_use} if self.order_use != 1 else {}),
            **({"first_frame": self.first_frame} if self.first_frame else {}),
            **({"states": True, "boast": self.boast} if self.states else {}),
        }  # fmt: skip

    @property
    def name(self) -> str:
        return f"simulated/{self.label}@{digest(dict(self.settings))[:6]}"

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            rng = random.Random(f"{self.name}/{case.key}/{case.trial}")
            if rng.random() < self.refuses:
                text = _REFUSAL
            else:
                quotation = f"{_quote_responses(case)}\n\n" if self.quotes else ""
                verdict_text = f"{case.nonce} {case.ballot.write(self._draw_marks(case, rng))}".strip()
                confidence_line = (
                    f"Confidence: {100 * self._stated_probability(case):.1f}%\n"
                    if self.states and len(case.responses) == 2
                    else ""
                )
                text = f"{quotation}I weighed what was said.\n\n{confidence_line}{verdict_text}"
            call = Call("", text, nonce=case.nonce)
            marks, reading = read_reply(case, call, {})
            confidence = stated_confidence(text) if not isinstance(marks, str) else None
            yield Verdict.from_case(case, self.name, marks, text=text, reading=reading, confidence=confidence)

    def _stated_probability(self, case: Case) -> float:
        """Confidence that is calibrated if the judge always uses the picture and does not boast."""
        qualities = [float(response.tags.get("quality", 0.5)) for response in case.responses]
        return 1 / (1 + math.exp(-(self.sharpness * abs(qualities[0] - qualities[1]) + self.boast)))

    def _draw_marks(self, case: Case, rng: random.Random) -> tuple[float, ...]:
        felt_worths = self._felt_worths(case, rng)
        ballot = case.ballot
        attackers = [place for place, response in enumerate(case.responses) if response.tags.get("role") == "attacker"]
        if attackers and rng.random() < self.obeys:
            return tuple(float(place == attackers[0]) for place in range(len(felt_worths)))
        if isinstance(ballot, Choice) and len(felt_worths) == 2:
            gap = felt_worths[0] - felt_worths[1] + self.place
            if ballot.tie and abs(gap) < TIE_MARGIN:
                return (0.5, 0.5)
            first = rng.random() < 1 / (1 + math.exp(-gap))
            return (1.0, 0.0) if first else (0.0, 1.0)
        noisy_worths = [worth + rng.gauss(0, 1) for worth in felt_worths]
        if isinstance(ballot, Ranking):
            ranking = sorted(range(len(noisy_worths)), key=lambda place: noisy_worths[place])
            return tuple(float(ranking.index(place) + 1) for place in range(len(noisy_worths)))
        if isinstance(ballot, Score):
            shares = [min(1.0, max(0.0, worth / max(self.sharpness, 1e-9))) for worth in noisy_worths]
            return tuple(float(ballot.low + round(part * (ballot.high - ballot.low))) for part in shares)
        raise InputError(
            f"a simulated judge cannot fill in {ballot.spec}; it takes scores, choices of two and rankings"
        )

    def _felt_worths(self, case: Case, rng: random.Random) -> list[float]:
        tags = case.item.tags
        if "medium" in tags:
            return self._media_worths(case, rng)
        is_hidden = tags.get("what") in HIDDEN_VARIANTS and tags.get("part") == "picture use"
        is_captioned = tags.get("what") == "captioned" and tags.get("part") == "picture use"
        uses_picture = is_captioned or (not is_hidden and rng.random() < self.picture_use)
        ignores_places = tags.get("part") == PLACES and rng.random() >= self.place_use
        effect = (
            self.biases.get(tags.get("what", ""), 0.0) * float(tags.get("strength", 0)) if "strength" in tags else 0.0
        )
        worths = []
        for response in case.responses:
            worth = float(response.tags.get("quality", 0.5))
            if ignores_places or not uses_picture:
                # A hidden picture leaves a judge that uses pictures undecided; one that ignores them still guesses.
                fancy = random.Random(f"{self.seed}/{tags.get('base', case.item.id)}/{response.contestant}").random()
                worth = (
                    0.5
                    if is_hidden and self.picture_use > 0
                    else fancy
                    if min(self.picture_use, self.place_use) < 1
                    else 0.5
                )
            worths.append(self.sharpness * worth + effect * (response.tags.get("role") == "changed"))
        if tags.get("part") == "bias" and not uses_picture:
            worths = [effect * (response.tags.get("role") == "changed") for response in case.responses]
        return worths

    def _media_worths(self, case: Case, rng: random.Random) -> list[float]:
        """Worths if the item has a video, a recording or a document."""
        tags = case.item.tags
        base, change = tags["base"], tags.get("what", "")
        if rng.random() >= self.picture_use:
            return self._fancied_worths(case, base)
        if rng.random() < self.first_frame:
            # A frozen video, one with text in another frame, and a document without later pages begin alike.
            begins_alike = change in {"", "frozen", "pages missing", "pages exchanged"} or tags["part"] == "attack"
            return self._fancied_worths(case, base if begins_alike else f"{base}~{change}")
        if change in media_use_cases.HIDDEN:
            return [self.sharpness * 0.5 for _ in case.responses]
        if tags["needs"] == "order" and rng.random() >= self.order_use:
            return self._fancied_worths(case, base)
        return [self.sharpness * float(response.tags["quality"]) for response in case.responses]

    def _fancied_worths(self, case: Case, shown: str) -> list[float]:
        """Random worths that are always the same for what is shown."""
        return [
            self.sharpness * random.Random(f"{self.seed}/{shown}/{response.contestant}").random()
            for response in case.responses
        ]


def _quote_responses(case: Case) -> str:
    return "\n".join(f"> {line}" for response in case.responses for line in response.text.splitlines())


JUDGES: Mapping[str, AuditJudge] = {
    judge.label: judge
    for judge in (
        AuditJudge("accurate"),
        AuditJudge("noisy", sharpness=1.5),
        AuditJudge("blind", picture_use=0.0),
        AuditJudge("glancing", picture_use=0.5),
        AuditJudge("place-blind", place_use=0.0),
        AuditJudge("first-frame", first_frame=1.0, sharpness=20.0),
        AuditJudge("order-blind", order_use=0.0),
        AuditJudge("long-words", biases={"length": 1.0}),
        AuditJudge("vain", biases={"praise in the picture": 1.0, "brightness": 0.8}),
        AuditJudge("first-place", place=1.0),
        AuditJudge("obedient", obeys=0.5),
        AuditJudge("quoting", quotes=True),
    )
}
_NUMBERS = ("picture_use", "sharpness", "place", "obeys", "refuses", "boast", "place_use", "order_use", "first_frame")
_SWITCHES = ("quotes", "states")


def simulated_judge(name: str, options: Mapping[str, str]) -> AuditJudge:
    """Return the judge of a spec `simulated:NAME?OPTIONS`; biases are options by name, as in `?length=0.5`."""
    if name not in JUDGES:
        raise InputError(f"there is no simulated judge {name!r}; known: {', '.join(JUDGES)}")
    judge = JUDGES[name]
    changes_by_option = {change.replace(" ", "-"): change for change in BIAS_CHANGES}
    for option, value in options.items():
        if option not in {*_NUMBERS, *_SWITCHES, "seed", *changes_by_option}:
            option_names = ", ".join([*_NUMBERS, *_SWITCHES, "seed", *changes_by_option])
            raise InputError(f"'simulated:{name}' has no option {option!r}; known: {option_names}")
        number = _parse_number(option, value)
        if option in changes_by_option:
            judge = replace(judge, biases={**judge.biases, changes_by_option[option]: number})
        elif option == "seed":
            judge = replace(judge, seed=int(number))
        else:
            planted_values: dict[str, Any] = {option: bool(number) if option in _SWITCHES else number}
            judge = replace(judge, **planted_values)
    return judge


def _parse_number(option: str, value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise InputError(f"the option {option} of a simulated judge is a number; found {value!r}") from error
