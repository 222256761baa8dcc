"""Ratings and a choice on the same pictures in one call, as MJ-Bench requests from judges of two pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from fullbench.core.ballot import Ballot, Choice, GradedChoice, Language, Likert, Ranking, Score, Style
from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.model import Prompt
from fullbench.core.verdict import Failure, Fault, Verdict
from fullbench.errors import InputError
from fullbench.judges.prompted_judge import JointJudge
from fullbench.parsing import form_of
from fullbench.parsing.ratings_and_choice import RatedForm, parts
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import Form

DEFAULT_SCALE = Score(1, 10)
"""Scale of the ratings if only a choice is requested."""


@dataclass(frozen=True)
class RatingAndChoice(Ballot):
    """A rating of each picture on a scale, then the better picture, each on its own line; the marks are the ratings."""

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
            kind = "以下词语之一：" + words if "enum" in value else words + ("整数" if self._is_whole else "数")
            return "\n".join([f"最后请写下面几行。评分是{kind}；最后一行写更好的图的编号，分不出写 0。", *lines])
        if "enum" in value:
            rating = f"one of these words, worst to best: {', '.join(value['enum'])}"
        else:
            rating = (
                f"{'a whole number' if self._is_whole else 'a number'} from {value['minimum']} to {value['maximum']}"
            )
        about = (
            f"End with these lines. A rating is {rating}. The last line has the number of the better image, 1 to {n}, "
        )
        return "\n".join([f"{about}or 0 when none is ahead.", *lines])

    @property
    def _is_whole(self) -> bool:
        return isinstance(self.scale, Score)

    def allows(self, marks: Sequence[float]) -> bool:
        return self.scale.allows(marks)

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        raise InputError("ratings with a choice are not one ballot; write the ratings and the choice separately")

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return self.scale.values(n)


@form_of.register(RatingAndChoice)
def _(ballot: RatingAndChoice) -> Form:
    return RatedForm(ballot.scale)


class _CasePair(NamedTuple):
    """The case that requests ratings and the one that requests a choice; None for one that is not due."""

    ratings: Case | None
    choice: Case | None


@dataclass(frozen=True, eq=False)
class RatingAndChoiceJudge(JointJudge):
    """A prompted judge that gives ratings and a choice on the same responses in one call.

    If a case with several responses on a scale is followed by the choice between the same responses, one call
    requests both. The first verdict carries the usage of the call, the second the same exchange. A case without its
    partner gets the same prompt. All other cases go to the inner judge unchanged.
    """

    style_word = "together"
    needs_lines = "ratings and a choice are asked for together in lines; leave out form=json and constrained"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        request_texts = [
            RatingAndChoice(scale).ask(2, self.inner.language) for scale in (DEFAULT_SCALE, Likert(("bad", "good")))
        ]
        return {**self.inner.settings, "together": digest(request_texts)}

    def prompts(self, case: Case) -> tuple[Prompt, ...]:
        """Return the prompts of a case; none for a choice, which comes with the ratings before it."""
        if _is_choice(case):
            return ()
        return self.inner.prompts(_joint_case(_CasePair(case, None)) if _is_rating(case) else case)

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """Yield one verdict or failure per case, as they arrive."""
        pairs_by_key: dict[tuple[str, int], _CasePair] = {}

        def joint_cases() -> Iterator[Case]:
            for entry in _pair_cases(cases):
                if isinstance(entry, Case):
                    yield entry
                else:
                    joint = _joint_case(entry)
                    pairs_by_key[joint.key, joint.trial] = entry
                    yield joint

        for outcome in self.inner.judge(joint_cases()):
            case_pair = pairs_by_key.pop((outcome.case, outcome.trial), None)
            if case_pair is None:
                yield replace(outcome, judge=self.name)
            else:
                marks = _read_marks(outcome, case_pair) if isinstance(outcome, Verdict) else ()
                yield from self.split_outcome(outcome, [case for case in case_pair if case is not None], marks)


def _read_marks(outcome: Verdict, case_pair: _CasePair) -> list[tuple[float, ...] | Fault]:
    """Return the marks of those of the two cases that are due."""
    if outcome.fault in {"refused", "abstained"}:
        return [outcome.fault for case in case_pair if case is not None]
    both_marks = parts(outcome.text, _rating_scale(case_pair), len(outcome.contestants))
    return [marks or "unreadable" for marks, case in zip(both_marks, case_pair, strict=True) if case is not None]


def _rating_scale(case_pair: _CasePair) -> Ballot:
    return case_pair.ratings.ballot if case_pair.ratings is not None else DEFAULT_SCALE


def _joint_case(case_pair: _CasePair) -> Case:
    case = case_pair.ratings or case_pair.choice
    if case is None:
        raise InputError("ratings and a choice need at least one case; found none")
    return replace(case, ballot=RatingAndChoice(_rating_scale(case_pair)), nonce="")


def _pair_cases(cases: Iterable[Case]) -> Iterator[Case | _CasePair]:
    """Yield cases, with ratings of several responses paired with the choice between the same ones if it follows."""
    waiting: Case | None = None
    for case in cases:
        if waiting is not None:
            if _is_choice(case) and _is_same_question(waiting, case):
                yield _CasePair(waiting, case)
                waiting = None
                continue
            yield _CasePair(waiting, None)
            waiting = None
        if _is_rating(case):
            waiting = case
        else:
            yield _CasePair(None, case) if _is_choice(case) else case
    if waiting is not None:
        yield _CasePair(waiting, None)


def _is_same_question(first: Case, second: Case) -> bool:
    places = [
        (case.item.key, [response.key for response in case.responses], case.criterion, case.trial)
        for case in (first, second)
    ]
    return places[0] == places[1]


def _is_choice(case: Case) -> bool:
    return isinstance(case.ballot, Choice) and case.ballot.tie


def _is_rating(case: Case) -> bool:
    return len(case.responses) > 1 and not isinstance(case.ballot, Choice | GradedChoice | Ranking)
