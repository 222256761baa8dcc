"""A single command or group is made without the others, and is the same."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from fullbench.cli.all_commands import app
from fullbench.cli.command_modules_and_help_panels import GROUPS, HELP_PANELS, application_for
from fullbench.core import plugin_entry_points

NAMES = [name for names in HELP_PANELS.values() for name in names]


def test_what_is_made_alone_is_what_stands_among_all():
    functions = {command.name: command.callback for command in app.registered_commands}
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    assert set(groups) == set(GROUPS)
    assert set(functions) | set(groups) == {*NAMES, *plugin_entry_points.plugin_names("commands")}
    for name in NAMES:
        single = application_for(name)
        alone = [*single.registered_commands, *single.registered_groups]
        assert [one.name for one in alone] == [name]
        if name in GROUPS:
            assert alone[0].typer_instance is groups[name]
        else:
            assert alone[0].callback is functions[name]


@pytest.mark.parametrize("name", NAMES)
def test_alone_it_has_the_same_help_and_the_same_complaints(name):
    for words in ([name, "--help"], [name, "--no-such-option"]):
        alone, among = (CliRunner().invoke(made, words) for made in (application_for(name), app))
        assert (alone.exit_code, alone.output) == (among.exit_code, among.output)


@pytest.mark.parametrize("first", ["", "--version", "--help", "no-such-command", "simulate"])
def test_any_other_word_meets_all_commands(first):
    assert application_for(first) is app


def test_a_metric_as_the_judge_loads_neither_other_commands_nor_what_speaks_to_servers(tmp_path):
    (tmp_path / "items.jsonl").write_text('{"id": "i", "question": "What is it?"}\n', encoding="utf-8")
    answers = '{"item": "i", "contestant": "a", "text": "红"}\n{"item": "i", "contestant": "b", "text": "blue"}\n'
    (tmp_path / "answers.jsonl").write_text(answers, encoding="utf-8")
    words = ["judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--judge", "length"]
    program = (
        f"import sys\nsys.argv = ['fullbench', *{words!r}, '--ballot', 'choice']\n"
        "from fullbench.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "fullbench.cli.judge" in loaded
    assert not loaded & {
        "fullbench.cli.all_commands",
        "fullbench.cli.people",
        "fullbench.models.chat_model",
        "httptools",
        "scipy",
    }


def test_a_start_does_not_pay_for_what_only_the_site_uses():
    code = "import sys; sys.argv = ['fullbench', 'list']; from fullbench.cli import main\ntry: main()\n"
    code += "except SystemExit: print(*sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "fullbench.cli.list_of_plugins" in done.stderr.split()
    assert "pydantic" not in done.stderr.split()


@pytest.mark.parametrize(("counting", "frozen"), [(False, True), (True, False)])
def test_a_command_that_ends_looks_for_cycles_once_more_only_for_libraries_that_count_what_is_left(counting, frozen):
    # What is registered first runs last. Libraries made with nanobind have classes of a kind like this one.
    code = (
        "import atexit, gc, sys; atexit.register(lambda: print('frozen', gc.get_freeze_count()));"
        f"kind = type('nb_type', (type,), {{'__module__': 'nanobind'}}) if {counting} else None;"
        "from fullbench.cli import main; sys.argv = ['fullbench', '--version']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (int(done.stdout.split("frozen ")[1]) > 10_000) is frozen


def test_the_library_of_lakes_is_known_for_one_that_counts_what_is_left():
    pytest.importorskip("duckdb")
    code = "import duckdb; print(any(kind.__module__ == 'nanobind' for kind in type.__subclasses__(type)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"
