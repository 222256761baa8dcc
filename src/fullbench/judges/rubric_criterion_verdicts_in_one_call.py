"""All criteria of a rubric in one call: a sheet with a line for each, and a verdict for each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

from fullbench.core.ballot import Ballot, Flaw, Language, Likert, Score, Style, ballot
from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.model import Prompt
from fullbench.core.rubric import Criterion, criterion_code
from fullbench.core.verdict import Failure, Fault, Verdict
from fullbench.errors import InputError
from fullbench.judges.prompted_judge import JointJudge
from fullbench.parsing import form_of
from fullbench.parsing.rubric_points import Point, PointsForm, point_in, reason_in
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import Form

_OVERALL = "overall"


@dataclass(frozen=True)
class Sheet(Ballot):
    """Several criteria of one response, each marked on its own line; the ballot's mark is that of the first."""

    points: tuple[Point, ...]
    words: tuple[str, ...]
    with_reasons: bool = False

    @property
    def spec(self) -> str:
        return "sheet:" + digest([[name, form.spec] for name, form in self.points])[:8]

    def check(self, n: int) -> None:
        if n != 1:
            raise InputError(f"a rubric is filled in for one response at a time; found {n}")

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        lines = []
        for name, _ in self.points:
            lines += [f"REASON {criterion_code(name)}: ..."] if self.with_reasons else []
            lines += [f"POINT {criterion_code(name)}: ..."]
        points = [
            f"POINT {criterion_code(name)} ({_allowed_values_text(scale, language)}): {words}"
            for (name, scale), words in zip(self.points, self.words, strict=True)
        ]
        if language == "zh":
            reasons = "（REASON 一行用一句话说明理由）" if self.with_reasons else ""
            return "\n".join([
                "请按以下每一项分别评判，各项互不影响：", *points,
                f"最后请逐项写出下面几行{reasons}，后面不要再写别的：", *lines,
            ])  # fmt: skip
        reasons = ", with a reason of one sentence before it" if self.with_reasons else ""
        return "\n".join([
            "Judge by each of these points, every one apart from the others:", *points,
            f"End with these lines, one for each point{reasons}, and write nothing after them:", *lines,
        ])  # fmt: skip

    def allows(self, marks: Sequence[float]) -> bool:
        return self.points[0][1].allows(marks)

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        raise InputError("a rubric is not one ballot; write each criterion's mark on its own ballot")

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return self.points[0][1].values(n)


@form_of.register(Sheet)
def _(sheet: Sheet) -> Form:
    return PointsForm(sheet.points)


def _allowed_values_text(form: Ballot, language: Language) -> str:
    value, _ = form.values(1)
    if "enum" in value:
        words, order = list(value["enum"]), (form if isinstance(form, Likert) else Likert).order[language]
        if language == "zh":
            return f"以下词语之一，{order}：{'、'.join(words)}"
        return f"one of these words, {order}: {', '.join(words)}"
    low, high, is_whole = value["minimum"], value["maximum"], isinstance(form, Score)
    if language == "zh":
        return f"{low} 到 {high} 之间的{'整数' if is_whole else '数'}，{high} 为最好"
    return f"a {'whole ' if is_whole else ''}number from {low} to {high}, {high} is best"


@dataclass(frozen=True, eq=False)
class SheetJudge(JointJudge):
    """A prompted judge that marks a response by all criteria of a rubric in one call.

    Consecutive cases on the same response, each with its own criterion, go into one call. The first verdict carries
    the usage of the call, the others the same exchange. If only one criterion is due, it gets the same prompt. An
    unreadable line makes only its criterion unreadable. Unless the judge is `direct`, the model writes a reason for
    each criterion, which is the text of that verdict.
    """

    style_word = "sheet"
    needs_lines = (
        'all criteria in one call are asked for in lines; leave out form=json and constrained, or say calls = "each"'
    )

    criteria: tuple[Criterion, ...]

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        common_criteria = [criterion for criterion in self.criteria if not criterion.item]
        points = (("a", Score(1, 5)), ("b", Likert(("no", "yes"))), ("c", Flaw(("no", "yes"))))
        request_text = Sheet(points, ("a", "b", "c"), self._has_reasons).ask(1, self.inner.language)
        # The lines of a sheet already say which end is good.
        judge_settings = {name: value for name, value in self.inner.settings.items() if name != "ends"}
        # The model reads all criteria of a sheet together, so another criterion makes another judge.
        return {
            **judge_settings,
            "sheet": digest([request_text, [[c.name, c.words, c.ballot] for c in common_criteria]]),
        }

    @cached_property
    def _criteria_by_item(self) -> Mapping[str, Sequence[Criterion]]:
        by_item: dict[str, list[Criterion]] = {"": [criterion for criterion in self.criteria if not criterion.item]}
        for criterion in self.criteria:
            if criterion.item:
                by_item.setdefault(criterion.item, [*by_item[""]]).append(criterion)
        return by_item

    def prompts(self, case: Case) -> tuple[Prompt, ...]:
        """Return the prompts of a case; none for a criterion that comes with the one before it."""
        of_item = self._criteria_by_item.get(case.item.id, self._criteria_by_item[""])
        if not of_item or of_item[0].name != case.criterion:
            return ()
        together = [replace(case, criterion=c.name, ballot=ballot(c.ballot)) for c in of_item]
        return self.inner.prompts(self._joint_case(together))

    def prompts_together(self, cases: Iterable[Case]) -> list[tuple[Prompt, ...]]:
        """Return the prompts of each call for consecutive cases."""
        sheets = [list(together) for _, together in groupby(cases, key=response_of)]
        return [self.inner.prompts(self._joint_case(sheet)) for sheet in sheets]

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """Yield one verdict or failure per case, as they arrive."""
        cases_by_key: dict[tuple[str, int], list[Case]] = {}

        def sheets() -> Iterator[Case]:
            for _, together in groupby(cases, key=response_of):
                sheet_cases = list(together)
                joint = self._joint_case(sheet_cases)
                cases_by_key[joint.key, joint.trial] = sheet_cases
                yield joint

        for outcome in self.inner.judge(sheets()):
            sheet_cases = cases_by_key.pop((outcome.case, outcome.trial))
            if isinstance(outcome, Verdict):
                marks = [_read_mark(outcome, case) for case in sheet_cases]
                reasons = [reason_in(outcome.text, case.criterion) for case in sheet_cases]
                yield from self.split_outcome(outcome, sheet_cases, marks, reasons)
            else:
                yield from self.split_outcome(outcome, sheet_cases, ())

    def _joint_case(self, cases: Sequence[Case]) -> Case:
        points = tuple((case.criterion, case.ballot) for case in cases)
        words = tuple(self.inner.criteria.get(name, name) for name, _ in points)
        return replace(cases[0], ballot=Sheet(points, words, self._has_reasons), criterion=_OVERALL, nonce="")

    @property
    def _has_reasons(self) -> bool:
        return self.inner.mode != "direct"


def response_of(case: Case) -> tuple[str, tuple[str, ...], int]:
    """Return the key of a call: consecutive cases that share it go on one sheet."""
    return case.item.key, tuple(response.key for response in case.responses), case.trial


def _read_mark(outcome: Verdict, case: Case) -> tuple[float, ...] | Fault:
    if outcome.fault in {"refused", "abstained"}:
        return outcome.fault
    return point_in(outcome.text, case.criterion, case.ballot, cut=outcome.reading.is_cut_off) or "unreadable"
