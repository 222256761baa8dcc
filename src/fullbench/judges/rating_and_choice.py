"""Ratings and a choice on the same pictures in one call, as MJ-Bench asks judges that see two pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from fullbench.core.ballot import Ballot, Choice, Language, Likert, Ranking, Score, Style
from fullbench.core.call import NOTHING
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.judge import Kind
from fullbench.core.model import Model, Prompt
from fullbench.core.verdict import Failure, Fault, Verdict
from fullbench.errors import InputError
from fullbench.judges.prompted import PromptedJudge
from fullbench.parsing import form_of
from fullbench.parsing.ballot_forms import Form
from fullbench.parsing.rating_lines import RatedForm, parts

USUAL = Score(1, 10)
"""The scale of the ratings where a choice is asked for alone."""


@dataclass(frozen=True)
class Rated(Ballot):
    """A rating of each picture on a scale, and the better picture, in lines of their own; its marks are the ratings."""

    scale: Ballot

    @property
    def spec(self) -> str:
        return f"rated+{self.scale.spec}"

    def check(self, n: int) -> None:
        self.scale.check(n)
        Choice().check(n)

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        lines = [*(f"IMAGE-{place} RATING: ..." for place in range(1, n + 1)), "BETTER IMAGE: ..."]
        value, _ = self.scale.values(n)
        if language == "zh":
            words = "、".join(value["enum"]) if "enum" in value else f"{value['minimum']} 到 {value['maximum']} 之间的"
            kind = "以下词语之一：" + words if "enum" in value else words + ("整数" if self._whole else "数")
            return "\n".join([f"最后请写下面几行。评分是{kind}；最后一行写更好的图的编号，分不出写 0。", *lines])
        if "enum" in value:
            rating = f"one of these words, worst to best: {', '.join(value['enum'])}"
        else:
            rating = f"{'a whole number' if self._whole else 'a number'} from {value['minimum']} to {value['maximum']}"
        about = (
            f"End with these lines. A rating is {rating}. The last line has the number of the better image, 1 to {n}, "
        )
        return "\n".join([f"{about}or 0 when none is ahead.", *lines])

    @property
    def _whole(self) -> bool:
        return isinstance(self.scale, Score)

    def allows(self, marks: Sequence[float]) -> bool:
        return self.scale.allows(marks)

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        raise InputError("ratings with a choice are not written by a ballot; write the ratings and the choice apart")

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return self.scale.values(n)


@form_of.register(Rated)
def _(ballot: Rated) -> Form:
    return RatedForm(ballot.scale)


class _Two(NamedTuple):
    """The case that asks for ratings and the one that asks for a choice; None for one that is not due."""

    ratings: Case | None
    choice: Case | None


@dataclass(frozen=True, eq=False)
class Together:
    """A prompted judge that gives ratings and a choice on the same responses in one call.

    Where a case with several responses on a scale is followed by the choice between the same responses, both are asked
    for at once: the first verdict carries what the call used, the second the same exchange. One that comes alone is
    asked for in the same words. All other cases are heard as the judge hears them.
    """

    kind: ClassVar[Kind] = "model"

    judge: PromptedJudge

    def __post_init__(self) -> None:
        if self.judge.form != "marker" or self.judge.constrained:
            raise InputError(
                "ratings and a choice are asked for together in lines; leave out form=json and constrained"
            )

    @property
    def models(self) -> tuple[Model, ...]:
        return self.judge.models

    def with_models(self, models: Sequence[Model]) -> Together:
        """The same judge, asking others in the place of its models."""
        return replace(self, judge=self.judge.with_models(models))

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        worded = [Rated(scale).ask(2, self.judge.language) for scale in (USUAL, Likert(("bad", "good")))]
        return {**self.judge.settings, "together": digest(worded)}

    @cached_property
    def name(self) -> str:
        return f"{self.judge.name.split('#', maxsplit=1)[0]}+together#{digest(self.settings)[:8]}"

    def prompts(self, case: Case) -> tuple[Prompt, ...]:
        """What is sent: nothing for a choice, which comes with the ratings before it."""
        if _is_choice(case):
            return ()
        return self.judge.prompts(_joint(_Two(case, None)) if _is_rating(case) else case)

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """One verdict or failure for each case, as they come."""
        asked: dict[tuple[str, int], _Two] = {}

        def joined() -> Iterator[Case]:
            for entry in _paired(cases):
                if isinstance(entry, Case):
                    yield entry
                else:
                    joint = _joint(entry)
                    asked[joint.key, joint.trial] = entry
                    yield joint

        for outcome in self.judge.hear(joined()):
            two = asked.pop((outcome.case, outcome.trial), None)
            if two is None:
                yield replace(outcome, judge=self.name)
            else:
                yield from self._apart(outcome, two)

    def _apart(self, outcome: Verdict | Failure, two: _Two) -> Iterator[Verdict | Failure]:
        """What one call brought, for each of the cases that it was asked for."""
        usage = outcome.usage
        rulings = None if isinstance(outcome, Failure) else _rulings(outcome, two)
        for place, case in enumerate(two):
            if case is None:
                continue
            if isinstance(outcome, Failure):
                yield replace(outcome, case=case.key, judge=self.name, usage=usage)
            elif rulings is not None:
                yield Verdict.of(
                    case, self.name, rulings[place], text=outcome.text, usage=usage, prompt=outcome.prompt,
                    earlier=outcome.earlier, at=outcome.at, exchanges=outcome.exchanges, reader=outcome.reader,
                )  # fmt: skip
            usage = NOTHING  # a call is paid for once


def _rulings(outcome: Verdict, two: _Two) -> tuple[tuple[float, ...] | Fault, tuple[float, ...] | Fault]:
    if outcome.fault in {"refused", "recused"}:
        return outcome.fault, outcome.fault
    ratings, choice = parts(outcome.text, _scale(two), len(outcome.contestants))
    return ratings or "unreadable", choice or "unreadable"


def _scale(two: _Two) -> Ballot:
    return two.ratings.ballot if two.ratings is not None else USUAL


def _joint(two: _Two) -> Case:
    case = two.ratings or two.choice
    if case is None:
        raise InputError("ratings and a choice together are of one case at least; found none")
    return replace(case, ballot=Rated(_scale(two)), nonce="")


def _paired(cases: Iterable[Case]) -> Iterator[Case | _Two]:
    """Cases as they are; ratings of several responses with the choice between the same ones where it follows."""
    waiting: Case | None = None
    for case in cases:
        if waiting is not None:
            if _is_choice(case) and _same(waiting, case):
                yield _Two(waiting, case)
                waiting = None
                continue
            yield _Two(waiting, None)
            waiting = None
        if _is_rating(case):
            waiting = case
        else:
            yield _Two(None, case) if _is_choice(case) else case
    if waiting is not None:
        yield _Two(waiting, None)


def _same(one: Case, other: Case) -> bool:
    places = [
        (case.item.key, [shown.key for shown in case.responses], case.criterion, case.trial) for case in (one, other)
    ]
    return places[0] == places[1]


def _is_choice(case: Case) -> bool:
    return isinstance(case.ballot, Choice) and case.ballot.tie


def _is_rating(case: Case) -> bool:
    return len(case.responses) > 1 and not isinstance(case.ballot, Choice | Ranking)
