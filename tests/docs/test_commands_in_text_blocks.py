"""Commands that the docs only show are checked against the options that the command line has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from fullbench.cli.all_commands import app
from fullbench.cli.command_modules_and_help_panels import SUBCOMMANDS
from tests.docs.test_docs import BLOCK, PAGES, ROOT

SHOWN = [*PAGES, ROOT / "llms.txt", ROOT / "skills" / "fullbench" / "SKILL.md"]
INLINE = re.compile(r"`(fullbench [a-z][^`]*)`")
SHELL_WORDS = {"|", ">", ">>", "&&", "&", ";", "2>"}


def shown_commands(page: Path) -> Iterator[str]:
    """Yield the commands in blocks that are not run, and between backticks."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        if block[1] in {"text", "sh", "bash"} and not block[2].startswith("# file:"):
            for line in re.sub(r"\\\n\s*", " ", block[2]).splitlines():
                if line.strip().startswith("fullbench "):
                    yield line.strip()
    for found in INLINE.finditer(BLOCK.sub("", text)):
        yield " ".join(found[1].split())


def unknown_options(command: str) -> list[str]:
    """Return the words that the command line does not know: a command, or options of a command."""
    import typer.main

    words = shlex.split(command, comments=True)[1:]
    found = typer.main.get_command(app)
    while words and (commands := getattr(found, "commands", None)) and not words[0].startswith("-"):
        # `audit` takes judges as well as sub-commands.
        inner = commands.get(words[0])
        if inner is None:
            if found.name in SUBCOMMANDS or not re.fullmatch(r"[a-z-]+", words[0]):
                break
            return [words[0]]
        found, words = inner, words[1:]
    known = {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"--help", "-h"}
    end = next((place for place, word in enumerate(words) if word in SHELL_WORDS), len(words))
    options = [word.partition("=")[0] for word in words[:end] if re.match(r"--[a-z]", word)]
    return [option for option in options if option not in known]


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_shown_exist(page: Path):
    wrong = {command: words for command in shown_commands(page) if (words := unknown_options(command))}
    assert not wrong


def test_a_wrong_option_would_be_found():
    assert unknown_options("fullbench judge --items a.jsonl --jugde length") == ["--jugde"]
    assert unknown_options("fullbench ledger vacum") == ["vacum"]
    assert unknown_options("fullbench report --ledger x.ledger > out.txt") == []
