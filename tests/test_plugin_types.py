"""Every plugin type takes a plugin from a small package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fullbench.core.plugin_entry_points import PLUGIN_TYPES, plugin_names

MODULE = '''
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass

import typer

from fullbench import Benchmark, Choice, Item, Response
from fullbench.analysis import standard_verdict_tables as standard
from fullbench.core.ballot import Ballot
from fullbench.core.case import cases as cases_of
from fullbench.parsing import form_of
from fullbench.parsing.numbers_and_scale_words import WordForm
from fullbench.studies.engines import HERE


@dataclass(frozen=True)
class Thumbs(Ballot):
    """Thumb up or down, under the name `thumbs:NAME`."""

    @property
    def spec(self):
        return "thumbs:both"

    def check(self, n):
        pass

    def ask(self, n, language="en", form="marker"):
        return "End with [[up]] or [[down]]."

    def allows(self, marks):
        return all(mark in {1.0, 2.0} for mark in marks)

    def _tokens(self, marks):
        return [("down", "up")[int(mark) - 1] for mark in marks]

    def values(self, n):
        return {"type": "string", "enum": ["down", "up"]}, n


@form_of.register(Thumbs)
def _(ballot):
    return WordForm(("down", "up"))


def thumbs(rest):
    return Thumbs()


def exclaimed(texts, reference):
    """The share of exclamation marks."""
    return [min(1.0, text.count("!") / 3) for text in texts]


def greet(name: str = "world", code: int = 0) -> int:
    """Greet somebody."""
    typer.echo(f"hello {name}")
    return code


tools = typer.Typer(help="Tools of the plugin.")


@tools.command("count")
def count(words: str) -> None:
    """Count words."""
    typer.echo(len(words.split()))


@tools.command("shout")
def shout(words: str) -> None:
    """Say it louder."""
    typer.echo(words.upper())


def nearby(address, query):
    return nullcontext(HERE)


def counted(record, out, options: Mapping[str, str]):
    out.write_text(f"{len(record)} verdicts for {options.get('for', 'nobody')}")
    return {"verdicts": len(record)}


def items(source=None):
    return [Item.ask(name, f"What is {name}?", reference=f"It is {name}!") for name in ("one", "two")]


def cases(items, responses, *, trials=1):
    return cases_of(items, list(responses), Choice(), size=2, orders="both", trials=trials)


small_paper = Benchmark(name="small_paper", paper="small", items=items, cases=cases, tables=standard.verdict_tables)
methods = object()
'''
KIND = """
from fullbench.web.campaigns.votes import vote_form_fields as forms
from fullbench.web.campaigns.tasks.task_kinds import Grade


class Stars(Grade):
    name, title, ballot = "stars", "Give stars", "score:1-3"
"""
ENTRIES = """
[fullbench.benchmarks]
small_paper = small_plugin:small_paper
methods = small_plugin:methods
[fullbench.ballots]
thumbs = small_plugin:thumbs
[fullbench.metrics]
exclaimed = small_plugin:exclaimed
[fullbench.commands]
greet = small_plugin:greet
small-tools = small_plugin:tools
broken-command = small_plugin:nowhere
[fullbench.tasks]
stars = small_kind:Stars
[fullbench.engines]
nearby = small_plugin:nearby
[fullbench.exporters]
counted = small_plugin:counted
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory) -> Path:
    """A folder with the package as pip would leave it."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "small_plugin.py").write_text(MODULE, encoding="utf-8")
    (folder / "small_kind.py").write_text(KIND, encoding="utf-8")
    about = folder / "small_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: small-plugin\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(ENTRIES, encoding="utf-8")
    return folder


@pytest.fixture
def call(plugin, tmp_path):
    """Call Python or fullbench with the plugin installed."""

    def call(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            capture_output=True, text=True, cwd=tmp_path, timeout=120, env={**os.environ, "PYTHONPATH": str(plugin)},
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return call


def test_every_door_has_a_shape_and_ours_behind_it():
    assert len(PLUGIN_TYPES) == 12
    assert all(door.shape and door.what for door in PLUGIN_TYPES)
    assert [door.kind for door in PLUGIN_TYPES if not plugin_names(door.kind)] == []


def test_list_shows_every_door(call):
    shown = json.loads(call("-m", "fullbench", "list", "--json"))
    assert list(shown)[: len(PLUGIN_TYPES)] == [door.kind for door in PLUGIN_TYPES]
    assert "thumbs" in shown["ballots"]
    assert "exclaimed" in shown["metrics"]
    assert {"greet", "small-tools", "simulate"} <= set(shown["commands"])
    assert {"stars", "agree"} <= set(shown["tasks"])


def test_a_ballot_of_a_plugin_is_asked_read_and_kept(call):
    code = """
from fullbench import ballot
from fullbench.parsing import read
form = ballot("thumbs:both")
assert read(form, "I liked it. [[up]]", 1) == (2.0,)
assert read(form, "It is [[sideways]]", 1) == "unreadable"
assert form.read("[[down]]", 1) == (1.0,)
"""
    call("-c", code)


def test_a_metric_of_a_plugin_is_a_judge(call, tmp_path):
    (tmp_path / "items.jsonl").write_text('{"id": "q", "question": "Hm?", "reference": "Yes!"}\n')
    rows = [{"item": "q", "contestant": name, "text": text} for name, text in (("calm", "Yes."), ("keen", "Yes!!!"))]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    call("-m", "fullbench", "judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--judge", "exclaimed",
         "--ballot", "choice+tie", "--ledger", "a.ledger", "--quiet")  # fmt: skip
    code = """
from fullbench import Ledger
with Ledger("a.ledger", read_only=True) as book:
    verdicts = list(book.record())
assert {v.judge for v in verdicts} == {"exclaimed"}
assert {v.marks[v.contestants.index("keen")] for v in verdicts} == {1.0}, verdicts
"""
    call("-c", code)


def test_a_command_of_a_plugin_runs_and_its_number_is_the_exit_code(call):
    assert "hello you" in call("-m", "fullbench", "greet", "--name", "you")
    call("-m", "fullbench", "greet", "--code", "3", code=3)
    assert "2" in call("-m", "fullbench", "small-tools", "count", "two words")
    assert "greet" in call("-m", "fullbench", "--help")


def test_a_command_that_does_not_load_says_so_and_harms_no_other(call):
    assert "hello" in call("-m", "fullbench", "greet")
    assert "does not load" in call("-m", "fullbench", "broken-command", code=2)


def test_a_plugin_replaces_no_judge_of_ours_and_one_that_fails_on_import_is_a_sentence(call, plugin, tmp_path):
    (plugin / "hostile_plugin.py").write_text("def judge(name, options):\n    raise RuntimeError('taken over')\n")
    (plugin / "leaving_plugin.py").write_text("import sys\nsys.exit(0)\n")
    about = plugin / "hostile_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile-plugin\nVersion: 1.0\n")
    entries = "length = hostile_plugin:judge\nleaving = leaving_plugin:judge\nlost = hostile_plugin.nowhere:judge\n"
    (about / "entry_points.txt").write_text(f"[fullbench.judges]\n{entries}")
    (tmp_path / "items.jsonl").write_text('{"id": "i", "prompt": "?"}')
    rows = [{"item": "i", "contestant": name, "text": name} for name in ("red", "a red one")]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ("-m", "fullbench", "judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "choice")
    try:
        said = call(*words, "--judge", "length", "--ledger", "x.ledger")
        assert "Called 2, reused 0, failed 0" in said
        assert "the judge 'length' of hostile-plugin is ignored, because fullbench has one of that name" in said
        for name in ("leaving", "lost"):
            said = call(*words, "--judge", name, "--ledger", "y.ledger", code=2)
            assert f"the judge '{name}' of hostile-plugin does not load" in said
            assert "Traceback" not in said
    finally:
        shutil.rmtree(about)


def test_a_kind_of_task_of_a_plugin_is_offered_to_people(call):
    code = """
from fullbench.web.campaigns.tasks.task_kinds import kind_of, kinds_by_name
assert list(kinds_by_name())[:2] == ["pair", "score"] and "stars" in kinds_by_name()
assert kind_of("stars").title == "Give stars"
"""
    call("-c", code)


def test_an_engine_of_a_plugin_is_found_by_its_name(call):
    code = """
from fullbench.studies.engines import HERE, engine_from_spec
with engine_from_spec("nearby:somewhere") as found:
    assert found is HERE
"""
    call("-c", code)
    unknown = 'from fullbench.studies.engines import engine_from_spec\nengine_from_spec("far")'
    assert "nearby" in call("-c", unknown, code=1)


def test_a_benchmark_of_a_plugin_runs_and_one_of_the_wrong_type_is_refused(call, tmp_path):
    (tmp_path / "study.toml").write_text(
        'name = "small"\nbenchmark = "small_paper"\ncontestants = ["offline:echo", "offline:first"]\n'
        'judges = ["exclaimed"]\nledger = "small.ledger"\n'
    )
    assert "exclaimed" in call("-m", "fullbench", "run", "study.toml", "--quiet")
    (tmp_path / "wrong.toml").write_text('name = "wrong"\nbenchmark = "methods"\njudges = ["length"]\n')
    said = call("-m", "fullbench", "run", "wrong.toml", code=2)
    assert "the plugin 'methods' is not a benchmark (its type is object)" in said


def test_an_exporter_of_a_plugin_writes(call, tmp_path):
    test_a_metric_of_a_plugin_is_a_judge(call, tmp_path)
    where = ("--ledger", "a.ledger", "--out", "out.txt")
    said = call("-m", "fullbench", "export", "counted", *where, "--option", "for=you")
    assert "verdicts" in said
    assert (tmp_path / "out.txt").read_text() == "2 verdicts for you"
