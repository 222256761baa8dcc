"""Every command that calls a model takes an engine."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import typer

from fullbench.cli.all_commands import app
from fullbench.errors import InputError


def commands(group, name: str = "") -> Iterator[tuple[str, object]]:
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name}{word} ")
        else:
            yield f"{name}{word}", command


def options(command) -> set[str]:
    return {word for each in command.params for word in each.opts}


def test_whatever_takes_a_budget_takes_an_engine():
    found = {name: options(command) for name, command in commands(typer.main.get_command(app))}
    # A server of rewards calls from its own process, since its callers wait for each verdict.
    asking = {name for name, words in found.items() if "--budget" in words} - {"serve-judge", "serve-scores"}
    assert asking == {name for name, words in found.items() if "--engine" in words}
    assert asking >= {"answer", "judge", "run", "rerank", "peer-review", "compose rewrite", "leaderboard add"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.jsonl").write_text(json.dumps({"id": "q", "question": "有几条腿?"}) + "\n", encoding="utf-8")
    rows = [{"item": "q", "contestant": name, "text": name * 3} for name in "ab"]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


ITEMS, ANSWERS = ("--items", "items.jsonl"), ("--responses", "answers.jsonl")


@pytest.mark.parametrize(
    "words",
    [
        ("answer", *ITEMS, "--contestant", "offline:echo", "--out", "out.jsonl"),
        ("judge", *ITEMS, *ANSWERS, "--judge", "length", "--ballot", "choice"),
        ("rerank", *ITEMS, *ANSWERS, "--judge", "length", "--out", "out.jsonl"),
        ("compose", "rewrite", *ITEMS, "--model", "offline:echo", "--out", "out.csv"),
        ("peer-review", "--limit", "1"),
        ("leaderboard", "add", "offline:echo", "--judge", "length"),
    ],
    ids=lambda words: words[0],
)
def test_an_engine_that_is_not_there_is_told_before_anything_is_made(folder, words):
    with pytest.raises(InputError, match="there is no engine 'spark'"):
        typer.main.get_command(app)([*words, "--engine", "spark"], standalone_mode=False)
    assert sorted(path.name for path in folder.iterdir()) == ["answers.jsonl", "items.jsonl"]
