"""`check_benchmark` exercises every hook, and fails on a broken one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from fullbench import Case, Choice, Item, Record, Response, Score, Table, Verdict, plugin_specs
from fullbench.analysis import standard_verdict_tables
from fullbench.core.benchmark import HOOKS, Benchmark, LoadedData, Reproduced, Reproduction
from fullbench.core.case import cases as cases_of
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.judges.baselines import LengthJudge
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted_judge import SLOTS
from fullbench.models.local.offline_models_for_tests import OfflineModel
from fullbench.testing import check_benchmark
from fullbench.testing.benchmark_hook_checks import CHECKS

ITEMS = [Item.ask(name, f"What is {name}?", reference=f"It is {name}.") for name in ("one", "two", "three")]
ECHO = OfflineModel("echo", lambda prompt: "Yes.")
WORDS = "=== user\n{question}\n--- analyze\n{text}\n"
"""A wording without its block `case`."""


def items(source=None):
    return list(ITEMS)


def cases(items, responses, *, trials=1):
    given = list(responses)
    yield from cases_of(items, given, Score(1, 5), trials=trials)
    yield from cases_of(items, given, Choice(), size=2, orders="both", trials=trials)


def answers():
    return [Response.say(item.id, name, f"{name} says {item.id}") for item in ITEMS for name in ("a", "b")]


def labels(source=None):
    given = answers()
    for item, one, two in zip(ITEMS, given[::2], given[1::2], strict=True):
        for rater in ("ann", "bob"):
            yield Verdict.from_case(Case(item, (one, two), Choice()), PEOPLE, (1.0, 0.0), rater=rater)


def bring(source=None):
    given = {(one.item, one.contestant): one for one in answers()}
    heard = tuple(LengthJudge().judge(cases(ITEMS, given.values())))
    return LoadedData(Record(heard, {item.id: item for item in ITEMS}, given))


def wording(text=None):
    from fullbench.judges.prompted_judge import default_template

    return {"template": default_template("en") if text is None else Template.parse(text, SLOTS)}


def reproduce(data):
    return Reproduction([Reproduced("wins/a", 0.5, 6, paper=0.5)])


def references(items):
    return [Response.say(item.id, "reference", item.reference or "") for item in items]


def submission(path, items, data, name):
    return [Response.say(item.id, name, "An answer.") for item in items]


def protocol(said):
    if said.keys() - {"orders"}:
        raise InputError("[protocol]: only orders is known")
    return WHOLE


WHOLE = Benchmark(
    name="whole",
    paper="a test",
    items=items,
    cases=cases,
    tables=standard_verdict_tables.verdict_tables,
    prompt_template=wording,
    asking=lambda: "=== user\n{question}\n",
    can_judge=lambda judge, case: True,
    protocol=protocol,
    labels=labels,
    contestants=lambda: [ECHO],
    judges=lambda: [LengthJudge()],
    references=references,
    submission=submission,
    tasks={"pair": "which is better"},
    commands={"simulate": "try it"},
    bring=bring,
    reproduce=reproduce,
)


def test_a_benchmark_with_every_hook_passes(tmp_path):
    assert sorted(WHOLE.hooks) == sorted(HOOKS) == sorted(CHECKS)
    check_benchmark(WHOLE, tmp_path)


def stateful_tables():
    calls = []

    def tables(record):
        calls.append(1)
        return [Table("calls", "Calls", ("n",), [[len(calls)]])]

    return tables


def strangers(source=None):
    item = Item.ask("nowhere", "?")
    yield Verdict.from_case(Case(item, (Response.say("nowhere", "a", "x"),), Score(1, 5)), PEOPLE, (3.0,))


def same_person_twice(source=None):
    for label in labels():
        yield replace(label, rater="ann")


def other_each_time():
    calls = []

    def bring_more(source=None):
        calls.append(1)
        record = bring().record
        return LoadedData(replace(record, verdicts=record.verdicts[len(calls) :]))

    return bring_more


class Mute:
    name = "mute"
    settings: Mapping[str, str] = MappingProxyType({})


BROKEN = {
    "asking": ({"asking": lambda: "=== user\nSay something.\n"}, "leave out the question"),
    "can_judge": ({"can_judge": lambda judge, case: False}, "has no case to judge"),
    "protocol": ({"protocol": lambda said: WHOLE}, "that it does not know is refused"),
    "tables": ({"tables": stateful_tables()}, "the same record must give the same tables"),
    "wording without a block": ({"prompt_template": lambda: wording(WORDS)}, "'prompt_template' fails.*case"),
    "wording without answers": (
        {"prompt_template": lambda: wording(WORDS + "--- case\n{verdict}\n")},
        "'prompt_template'.*does not show the answer",
    ),
    "prompt_styles": (
        {
            "prompt_template": lambda prompt_style="": wording(WORDS if prompt_style else None),
            "prompt_styles": ("odd",),
        },
        "'prompt_template' fails.*case",
    ),
    "labels of an unknown item": ({"labels": strangers}, "'labels'.*unknown item 'nowhere'"),
    "labels of one person": ({"labels": same_person_twice}, "'labels'.*two labels of one person"),
    "no label": ({"labels": lambda source=None: []}, "'labels'.*no label"),
    "contestants": ({"contestants": lambda: [ECHO, ECHO]}, "'contestants'.*one name"),
    "judges": ({"judges": lambda: [Mute()]}, "'judges'.*is no judge"),
    "references": ({"references": lambda items: []}, "'references'.*no reference"),
    "submission": (
        {"submission": lambda path, items, data, name: [Response.say("nowhere", name, "x")]},
        "'submission'.*unknown item 'nowhere'",
    ),
    "tasks": ({"tasks": {"juggle": "no such kind"}}, "'tasks'.*'juggle' is not installed"),
    "commands": ({"commands": {"juggle": "no such command"}}, "'commands'.*'juggle' is not installed"),
    "bring": ({"bring": other_each_time()}, "'bring'.*the same each time"),
    "reproduce": ({"reproduce": lambda data: Reproduction([])}, "'reproduce'.*computes no figure"),
    "reproduce that crashes": ({"reproduce": lambda data: {}["cells"]}, "'reproduce' fails"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_hook_is_caught(tmp_path, broken):
    change, sentence = BROKEN[broken]
    with pytest.raises(AssertionError, match=f"(?s){sentence}"):
        check_benchmark(replace(WHOLE, **change), tmp_path)


def test_every_hook_has_a_broken_one():
    assert set(HOOKS) <= {hook for change, _ in BROKEN.values() for hook in change}


def test_reproduce_without_data_may_say_what_is_missing(tmp_path: Path):
    def needs_a_file(data):
        if not (data / "votes.csv").exists():
            raise InputError("there is no votes.csv", path=data)
        return reproduce(data)

    bench = replace(WHOLE, reproduce=needs_a_file)
    check_benchmark(bench, tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(AssertionError, match=r"'reproduce' fails.*votes\.csv"):
        check_benchmark(bench, tmp_path / "empty", data=tmp_path)


def test_what_is_not_a_benchmark_is_refused(tmp_path, monkeypatch):
    with pytest.raises(AssertionError, match=r"a fullbench\.Benchmark, not Mute"):
        check_benchmark(Mute(), tmp_path)
    monkeypatch.setattr(plugin_specs, "load_plugin", lambda kind, name: Mute())
    with pytest.raises(InputError, match=r"'mute' is not a benchmark \(its type is Mute\)"):
        plugin_specs.load_benchmark("mute")
