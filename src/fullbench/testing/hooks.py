"""What each hook of a benchmark must give, for `fullbench.testing.check_benchmark`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fullbench.core import plugin_entry_points
from fullbench.core.ballot import ballot
from fullbench.core.benchmark import Benchmark
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.item import Item
from fullbench.core.judge import Judge, kind_of, models_of
from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Failure, Verdict
from fullbench.errors import InputError
from fullbench.parsing import read


@dataclass(frozen=True)
class Checked:
    """A benchmark that is being checked: its items and cases, and where its data are."""

    benchmark: Benchmark
    items: Sequence[Item]
    cases: Sequence[Case]
    folder: Path
    source: Path | None
    data: Path | None


class CountingJudge:
    """A judge that rules by lot, the same each time, and counts what it hears."""

    name = "counting"
    settings: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self.heard = 0

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """A verdict for each case; recused where the ballot takes neither a ranking nor a winner."""
        for case in cases:
            self.heard += 1
            order = sorted(range(len(case.responses)), key=lambda i: digest([case.key, i]))
            for text in _rulings(case, order):
                ruling = read(case.ballot, text, len(case.responses))
                if not isinstance(ruling, str):
                    yield Verdict.of(case, self.name, ruling, text=text)
                    break
            else:
                yield Verdict.of(case, self.name, "recused")


def _rulings(case: Case, order: list[int]) -> Iterator[str]:
    """Rulings in one form after another, until the ballot takes one."""
    marks = [float(order.index(i) + 1) for i in range(len(order))]
    winner = [float(mark == max(marks)) for mark in marks]
    for guess in (marks, winner):
        if case.ballot.allows(guess):
            yield case.ballot.write(guess)


@dataclass
class _Listener:
    """A model that keeps what it is asked, and says nothing of use."""

    name: str = "listener"
    price: tuple[float, float] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    asked: list[Prompt] = field(default_factory=list)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        for prompt in prompts:
            self.asked.append(prompt)
            yield Reply(prompt, "I cannot tell.")


def _some(cases: Sequence[Case]) -> list[Case]:
    """One case for every ballot and criterion: what can be worded differently."""
    return list({(case.ballot.spec, case.criterion): case for case in reversed(cases)}.values())


def _heard(judge: Judge, listener: _Listener, cases: Sequence[Case]) -> None:
    """Every case gets one verdict, and every answer of it was shown."""
    for case in _some(cases):
        listener.asked.clear()
        outcomes = list(judge.hear([case]))
        assert len(outcomes) == 1, f"a case gets one verdict; found {len(outcomes)} for {case.ballot.spec}"
        assert listener.asked, "the model was asked nothing"
        shown = "\n".join(
            part for prompt in listener.asked for turn in prompt.turns for part in turn.parts if isinstance(part, str)
        )
        lacking = [response.contestant for response in case.responses if response.text not in shown]
        assert not lacking, f"the prompt for {case.ballot.spec} does not show the answer of {lacking[0]}"
        assert case.item.question in shown, f"the prompt for {case.ballot.spec} does not show the question"


def _wording(checked: Checked) -> None:
    from fullbench.judges.prompted import PromptedJudge

    words = checked.benchmark.wording
    assert words is not None
    listener = _Listener()
    for manner in ((), *((manner,) for manner in checked.benchmark.manners)):
        judge = PromptedJudge(listener, **words(*manner))
        assert judge.name == PromptedJudge(listener, **words(*manner)).name, "the words must be the same each time"
        _heard(judge, listener, checked.cases)


def _asking(checked: Checked) -> None:
    from fullbench.judges.prompt_templates import Template
    from fullbench.judges.prompted_contestant import SLOTS

    words = checked.benchmark.asking
    assert words is not None
    turns = Template.parse(words(), SLOTS).fill({"question": ("What is asked?",), "pictures": ()})
    assert any("What is asked?" in turn.text for turn in turns), "the words for contestants leave out the question"


def _labels(checked: Checked) -> None:
    labels_of = checked.benchmark.labels
    assert labels_of is not None
    labels = list(labels_of(checked.source))
    assert labels, "it has no label"
    known = {item.id for item in checked.items}
    for label in labels:
        assert label.item in known, f"a label speaks of the unknown item {label.item!r}"
        assert label.judge == PEOPLE, f"a label is a verdict of {PEOPLE!r}; found {label.judge!r}"
        legal = label.marks is None or ballot(label.ballot).allows(label.marks)
        assert legal, f"the marks {label.marks} are not legal on {label.ballot}"
    votes = [(label.case, label.rater, label.trial, label.revision) for label in labels]
    assert len(set(votes)) == len(votes), "two labels of one person on one case; give each person a rater"
    assert labels == list(labels_of(checked.source)), "labels must be the same each time"


def _hears(checked: Checked) -> None:
    hears = checked.benchmark.hears
    assert hears is not None
    judge = CountingJudge()
    cases = [case for case in checked.cases if hears(judge, case)]
    assert cases, "a judge that says nothing of its kind has no case to hear"
    assert cases == [case for case in checked.cases if hears(judge, case)], "who hears what must be the same each time"


def _protocol(checked: Checked) -> None:
    asked_by = checked.benchmark.protocol
    assert asked_by is not None
    try:
        asked_by({"no such key": 1})
    except InputError:
        return
    raise AssertionError("a key of [protocol] that it does not know is refused with an InputError")


def _contestants(checked: Checked) -> None:
    models = checked.benchmark.contestants
    assert models is not None
    contestants = list(models())
    assert contestants, "it names no contestant"
    for model in contestants:
        assert isinstance(model, Model), f"{model!r} is no model: name, settings, price or answer is missing"
        assert not list(model.answer(())), f"{model.name} answers where nothing was asked"
    _unique([model.name for model in contestants])


def _judges(checked: Checked) -> None:
    judges = checked.benchmark.judges
    assert judges is not None
    bench = list(judges())
    assert bench, "it names no judge"
    for judge in bench:
        assert isinstance(judge, Judge), f"{judge!r} is no judge: name, settings or hear is missing"
        free = models_of(judge) == () or kind_of(judge) in {"metric", "scorer"}
        cases = _some(checked.cases) if free else []  # a judge that asks models may cost something
        assert len(list(judge.hear(cases))) == len(cases), f"{judge.name} does not rule on every case"
    _unique([judge.name for judge in bench])


def _unique(names: Sequence[str]) -> None:
    assert len(set(names)) == len(names), f"two have one name: {', '.join(sorted(names))}"


def _references(checked: Checked) -> None:
    references_of = checked.benchmark.references
    assert references_of is not None
    responses = list(references_of(checked.items))
    assert responses, "there is no reference"
    assert len({response.contestant for response in responses}) == 1, "references are answers of one contestant"
    _answers(responses, checked)


def _answers(responses: Sequence[Response], checked: Checked) -> None:
    known = {item.id for item in checked.items}
    unknown = [response.item for response in responses if response.item not in known]
    assert not unknown, f"an answer speaks of the unknown item {unknown[0]!r}"


def _submission(checked: Checked) -> None:
    from fullbench.files.item_files import write_responses

    read = checked.benchmark.submission
    assert read is not None
    file = checked.folder / "predictions.jsonl"
    write_responses(file, [Response.say(item.id, "newcomer", "An answer.") for item in checked.items])
    try:
        responses = list(read(file, checked.items, None, "newcomer"))
    except InputError:
        return  # a layout of its own may refuse ours, with a sentence
    assert responses, "a file with an answer to every item gives no answer"
    assert {response.contestant for response in responses} == {"newcomer"}, "the answers are said to be somebody else's"
    _answers(responses, checked)


def _entered(kind: plugin_entry_points.Kind, named: Mapping[str, str] | None) -> None:
    for name in named or {}:
        assert name in plugin_entry_points.names(kind), f"{name!r} is not installed behind the door {kind}"


def _tasks(checked: Checked) -> None:
    _entered("tasks", checked.benchmark.tasks)


def _commands(checked: Checked) -> None:
    _entered("commands", checked.benchmark.commands)


def _bring(checked: Checked) -> None:
    if not checked.benchmark.asks and checked.source is None:
        return  # only results were released, and no sample of them ships with us
    record = checked.benchmark.brought(checked.source).record
    assert len(record), "it brings no verdict"
    for verdict in record:
        legal = verdict.marks is None or ballot(verdict.ballot).allows(verdict.marks)
        assert legal, f"the marks {verdict.marks} are not legal on {verdict.ballot}"
    again = checked.benchmark.brought(checked.source).record
    assert record.digest() == again.digest(), "what it brings must be the same each time"


def _reproduce(checked: Checked) -> None:
    computed = checked.benchmark.reproduce
    assert computed is not None
    data = checked.data
    if data is None:
        data = checked.folder / "no data"
        data.mkdir(exist_ok=True)
    try:
        cells = list(computed(data).cells)
    except InputError:
        if checked.data is not None:
            raise
        return  # it says what is missing
    assert cells, "it computes no figure"
    _unique([cell.id for cell in cells])
    for cell in cells:
        assert cell.n > 0, f"the cell {cell.id!r} rests on nothing: n is {cell.n}"
        assert cell.shown is not None, f"the cell {cell.id!r} has no figure"


CHECKS: Mapping[str, Callable[[Checked], None]] = {
    "wording": _wording,
    "asking": _asking,
    "hears": _hears,
    "protocol": _protocol,
    "labels": _labels,
    "contestants": _contestants,
    "judges": _judges,
    "references": _references,
    "submission": _submission,
    "tasks": _tasks,
    "commands": _commands,
    "bring": _bring,
    "reproduce": _reproduce,
}
