"""Checks of each hook of a benchmark, for `fullbench.testing.check_benchmark`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fullbench.core import plugin_entry_points
from fullbench.core.ballot import ballot
from fullbench.core.benchmark import Benchmark
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Judge, explain_missing_parts, kind_of, models_of
from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Failure, Verdict
from fullbench.errors import InputError
from fullbench.parsing import read


@dataclass(frozen=True)
class HookContext:
    """The benchmark under check: its items and cases, and the location of its data."""

    benchmark: Benchmark
    items: Sequence[Item]
    cases: Sequence[Case]
    folder: Path
    source: Path | None
    data: Path | None


class CountingJudge:
    """A judge with pseudo-random but reproducible verdicts, which counts the cases it gets."""

    name = "counting"
    settings: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self.judged_count = 0

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """Yield a verdict for each case; abstained if the ballot takes neither a ranking nor a winner."""
        for case in cases:
            self.judged_count += 1
            order = sorted(range(len(case.responses)), key=lambda i: digest([case.key, i]))
            for text in _reply_texts(case, order):
                marks = read(case.ballot, text, len(case.responses))
                if not isinstance(marks, str):
                    yield Verdict.from_case(case, self.name, marks, text=text)
                    break
            else:
                yield Verdict.from_case(case, self.name, "abstained")


def _reply_texts(case: Case, order: list[int]) -> Iterator[str]:
    marks = [float(order.index(i) + 1) for i in range(len(order))]
    winner = [float(mark == max(marks)) for mark in marks]
    for guess in (marks, winner):
        if case.ballot.allows(guess):
            yield case.ballot.write(guess)


@dataclass
class _Listener:
    name: str = "listener"
    price: tuple[float, float] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    prompts: list[Prompt] = field(default_factory=list)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        for prompt in prompts:
            self.prompts.append(prompt)
            yield Reply(prompt, "I cannot tell.")


def _one_case_per_ballot(cases: Sequence[Case]) -> list[Case]:
    """One case for every ballot and criterion is enough, because prompts differ only between these."""
    return list({(case.ballot.spec, case.criterion): case for case in reversed(cases)}.values())


def _check_judging(judge: Judge, listener: _Listener, cases: Sequence[Case]) -> None:
    for case in _one_case_per_ballot(cases):
        listener.prompts.clear()
        outcomes = list(judge.judge([case]))
        assert len(outcomes) == 1, f"a case gets one verdict; found {len(outcomes)} for {case.ballot.spec}"
        assert listener.prompts, "the model was asked nothing"
        prompt_text = "\n".join(
            part for prompt in listener.prompts for turn in prompt.turns for part in turn.parts if isinstance(part, str)
        )
        lacking = [response.contestant for response in case.responses if response.text not in prompt_text]
        assert not lacking, f"the prompt for {case.ballot.spec} does not show the answer of {lacking[0]}"
        assert case.item.question in prompt_text, f"the prompt for {case.ballot.spec} does not show the question"


def _check_prompt_template(context: HookContext) -> None:
    from fullbench.judges.prompted_judge import PromptedJudge

    words = context.benchmark.prompt_template
    assert words is not None
    listener = _Listener()
    for prompt_style in ((), *((prompt_style,) for prompt_style in context.benchmark.prompt_styles)):
        judge = PromptedJudge(listener, **words(*prompt_style))
        assert judge.name == PromptedJudge(listener, **words(*prompt_style)).name, (
            "the words must be the same each time"
        )
        _check_judging(judge, listener, context.cases)


def _check_asking(context: HookContext) -> None:
    from fullbench.judges.contestant_with_templated_questions import SLOTS
    from fullbench.judges.prompt_templates import Template

    words = context.benchmark.asking
    assert words is not None
    turns = Template.parse(words(), SLOTS).fill({"question": ("What is asked?",), "pictures": ()})
    assert any("What is asked?" in turn.text for turn in turns), "the words for contestants leave out the question"


def _check_labels(context: HookContext) -> None:
    labels_of = context.benchmark.labels
    assert labels_of is not None
    labels = list(labels_of(context.source))
    assert labels, "it has no label"
    item_ids = {item.id for item in context.items}
    for label in labels:
        assert label.item in item_ids, f"a label speaks of the unknown item {label.item!r}"
        assert label.judge == PEOPLE, f"a label is a verdict of {PEOPLE!r}; found {label.judge!r}"
        legal = label.marks is None or ballot(label.ballot).allows(label.marks)
        assert legal, f"the marks {label.marks} are not legal on {label.ballot}"
    votes = [(label.case, label.rater, label.trial, label.revision) for label in labels]
    assert len(set(votes)) == len(votes), "two labels of one person on one case; give each person a rater"
    assert labels == list(labels_of(context.source)), "labels must be the same each time"


def _check_can_judge(context: HookContext) -> None:
    can_judge = context.benchmark.can_judge
    assert can_judge is not None
    judge = CountingJudge()
    cases = [case for case in context.cases if can_judge(judge, case)]
    assert cases, "a judge that says nothing of its kind has no case to judge"
    assert cases == [case for case in context.cases if can_judge(judge, case)], (
        "can_judge must return the same each time"
    )


def _check_protocol(context: HookContext) -> None:
    read_protocol = context.benchmark.protocol
    assert read_protocol is not None
    try:
        read_protocol({"no such key": 1})
    except InputError:
        return
    raise AssertionError("a key of [protocol] that it does not know is refused with an InputError")


def _check_contestants(context: HookContext) -> None:
    models = context.benchmark.contestants
    assert models is not None
    contestants = list(models())
    assert contestants, "it names no contestant"
    for model in contestants:
        assert isinstance(model, Model), f"{model!r} is no model: name, settings, price or answer is missing"
        assert not list(model.answer(())), f"{model.name} answers where nothing was asked"
    _check_unique_names([model.name for model in contestants])


def _check_judges(context: HookContext) -> None:
    judges = context.benchmark.judges
    assert judges is not None
    judge_list = list(judges())
    assert judge_list, "it names no judge"
    for judge in judge_list:
        assert isinstance(judge, Judge), f"{judge!r} is no judge. {explain_missing_parts(judge)}"
        free = models_of(judge) == () or kind_of(judge) in {"metric", "scorer"}
        cases = _one_case_per_ballot(context.cases) if free else []  # a judge that calls models may cost money
        assert len(list(judge.judge(cases))) == len(cases), f"{judge.name} does not rule on every case"
    _check_unique_names([judge.name for judge in judge_list])


def _check_unique_names(names: Sequence[str]) -> None:
    assert len(set(names)) == len(names), f"two have one name: {', '.join(sorted(names))}"


def _check_references(context: HookContext) -> None:
    references_of = context.benchmark.references
    assert references_of is not None
    responses = list(references_of(context.items))
    assert responses, "there is no reference"
    assert len({response.contestant for response in responses}) == 1, "references are answers of one contestant"
    _check_answers(responses, context)


def _check_answers(responses: Sequence[Response], context: HookContext) -> None:
    item_ids = {item.id for item in context.items}
    unknown = [response.item for response in responses if response.item not in item_ids]
    assert not unknown, f"an answer speaks of the unknown item {unknown[0]!r}"


def _check_submission(context: HookContext) -> None:
    from fullbench.files.item_response_verdict_files import write_responses

    read_submission = context.benchmark.submission
    assert read_submission is not None
    file = context.folder / "predictions.jsonl"
    write_responses(file, [Response.say(item.id, "newcomer", "An answer.") for item in context.items])
    try:
        responses = list(read_submission(file, context.items, None, "newcomer"))
    except InputError:
        return  # a benchmark with its own layout may refuse ours, with an error
    assert responses, "a file with an answer to every item gives no answer"
    assert {response.contestant for response in responses} == {"newcomer"}, "the answers are said to be somebody else's"
    _check_answers(responses, context)


def _check_installed(kind: plugin_entry_points.Kind, entry_points: Mapping[str, str] | None) -> None:
    for name in entry_points or {}:
        assert name in plugin_entry_points.plugin_names(kind), f"{name!r} is not installed as a plugin of type {kind}"


def _check_bring(context: HookContext) -> None:
    if not context.benchmark.asks and context.source is None:
        return  # only results were released, and the package has no sample of them
    record = context.benchmark.bring_with_labels(context.source).record
    assert len(record), "it brings no verdict"
    for verdict in record:
        legal = verdict.marks is None or ballot(verdict.ballot).allows(verdict.marks)
        assert legal, f"the marks {verdict.marks} are not legal on {verdict.ballot}"
    again = context.benchmark.bring_with_labels(context.source).record
    assert record.digest() == again.digest(), "what it brings must be the same each time"


def _check_reproduce(context: HookContext) -> None:
    compute_cells = context.benchmark.reproduce
    assert compute_cells is not None
    data = context.data
    if data is None:
        data = context.folder / "no data"
        data.mkdir(exist_ok=True)
    try:
        cells = list(compute_cells(data).cells)
    except InputError:
        if context.data is not None:
            raise
        return  # without data it may report what is missing
    assert cells, "it computes no figure"
    _check_unique_names([cell.id for cell in cells])
    for cell in cells:
        assert cell.n > 0, f"the cell {cell.id!r} rests on nothing: n is {cell.n}"
        assert cell.table_value is not None, f"the cell {cell.id!r} has no figure"


CHECKS: Mapping[str, Callable[[HookContext], None]] = {
    "prompt_template": _check_prompt_template,
    "asking": _check_asking,
    "can_judge": _check_can_judge,
    "protocol": _check_protocol,
    "labels": _check_labels,
    "contestants": _check_contestants,
    "judges": _check_judges,
    "references": _check_references,
    "submission": _check_submission,
    "tasks": lambda context: _check_installed("tasks", context.benchmark.tasks),
    "commands": lambda context: _check_installed("commands", context.benchmark.commands),
    "bring": _check_bring,
    "reproduce": _check_reproduce,
}
