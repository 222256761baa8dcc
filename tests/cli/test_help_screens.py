"""The first screen of help, the help on all commands, and commands that have another name now."""

from __future__ import annotations

import re
from typing import Any

import pytest
from typer.testing import CliRunner

from fullbench.cli.all_commands import app
from fullbench.cli.command_modules_and_help_panels import FIRST_SCREEN, HELP_PANELS, MOVED_COMMANDS
from fullbench.errors import InputError
from tests.support.commands import call

TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
COMMANDS = {name for names in HELP_PANELS.values() for name in names}


def printed(*words: str) -> str:
    done = CliRunner().invoke(app, words, env=TERMINAL)
    assert done.exit_code == 0, done.output
    return done.output


def listed(text: str) -> set[str]:
    """The commands that have a line of their own in the panels."""
    return set(re.findall(r"^│ ([a-z-]+) +[A-Z]", text, re.MULTILINE))


def test_the_first_screen_fits_a_small_terminal_and_names_every_command():
    text = printed("--help")
    assert len(text.splitlines()) <= 39, "the line that was typed needs one, too"
    assert max(map(len, text.splitlines())) <= 80
    assert listed(text) == FIRST_SCREEN
    others = " ".join(text.partition("More commands: ")[2].partition(".")[0].split())
    assert set(others.split(", ")) >= COMMANDS - FIRST_SCREEN
    assert "fullbench help --all" in text


def test_help_all_lists_every_command_also_after_the_first_screen():
    printed("--help")
    assert listed(printed("help", "--all")) >= COMMANDS


@pytest.mark.parametrize("words", [("ledger", "show"), ("audit", "watch"), ("run",)])
def test_help_on_a_command_is_its_own_help(words):
    (code, own), (_, option) = call("help", *words), call(*words, "--help")
    assert code == 0
    assert own.stdout == option.stdout
    assert f"Usage: fullbench {' '.join(words)} [OPTIONS]" in own.stdout


def test_an_unknown_command_is_one_sentence():
    done: Any = CliRunner().invoke(app, ["help", "ledger", "nothing"])
    assert isinstance(done.exception, InputError)
    assert "no command `fullbench ledger nothing`" in str(done.exception)


@pytest.mark.parametrize("name", MOVED_COMMANDS)
def test_a_moved_command_says_its_new_name(name):
    code, done = call(name, "openai:gpt-4o", "--dry-run")
    assert (code, done.stdout) == (2, "")
    assert done.stderr == f"fullbench: `fullbench {name}` is now `fullbench {MOVED_COMMANDS[name]}`.\n"


def test_audit_takes_a_judge_or_a_subcommand():
    assert "Usage: fullbench audit [OPTIONS] [judges]" in call("audit", "--help")[1].stdout
    assert "Usage: fullbench audit watch [OPTIONS] [judge]" in call("audit", "watch", "--help")[1].stdout
    assert "--calls is an option of 'watch'" in call("audit", "--calls", "3", "watch")[1].stderr


def test_plan_is_a_dry_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "i.jsonl").write_text('{"id": "i", "question": "?"}\n', encoding="utf-8")
    study = (
        'name = "s"\nitems = "i.jsonl"\ncontestants = ["offline:echo"]\njudges = ["length"]\nballots = ["score:1-5"]\n'
    )
    (tmp_path / "s.toml").write_text(study, encoding="utf-8")
    planned, dry = call("plan", "s.toml", "--json"), call("run", "s.toml", "--dry-run", "--json")
    assert planned[0] == dry[0] == 0
    assert planned[1].stdout == dry[1].stdout
    assert '"reused"' in planned[1].stdout
