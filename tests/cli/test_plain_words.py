"""Help texts, errors and notes of tables use the words of today: retired words do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import fullbench
from fullbench.cli.all_commands import app
from fullbench.cli.command_modules_and_help_panels import build_command
from fullbench.core.built_in_table_columns import HEADINGS
from fullbench.core.translatable_note import english_messages

SOURCE = Path(fullbench.__file__).parent
RETIRED = {
    r"hears?|heard|hearings?|dockets?": "judge, cases to judge",
    r"rul(?:ing|ings|ed)|rules? (?:on|nothing)": "verdict, decide",
    r"(?:is|are|was|were|be|been|being) asked|asks|unasked": "call, send; without permission",
    r"told|foresee\w*": "distinguished, shown; predict",
    r"stands?|beside": "is in, next to",
    r"(?:go|goes|went|going|gone) on": "continue",
    r"so (?:many|much)": "N, number of",
    r"whoever|whom": "anyone who",
    r"mend(?:s|ed|ing)?|dear(?:ly)?|heed\w*": "fix, expensive, respect",
    r"recused?": "abstained",
    r"nonces?": "check code",
    r"seams?|succession|equated?": "judge change, judge replacement",
    r"sway(?:s|ed)?": "bias",
}
"""Pattern of each retired word, and what to write instead."""
RETIRED_IN_NOTES = {
    r"lean(?:s|ed|ing|ings)?|favours?": "bias, is biased towards",
    r"figures?": "number, metric",
    r"faults?": "unusable verdicts",
    r"duels?|battles?": "match",
    r"wordings?": "prompt style",
    r"alike|set aside|cannot be told|told apart": "the same, excluded, cannot be estimated",
}
"""Further words that notes and titles of tables do not use; elsewhere some of them are names of files or fields."""


def plain(text: str) -> str:
    """Return a text without code: what is in backticks."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def retired_words(text: str, retired: Mapping[str, str] = RETIRED) -> list[str]:
    """Return the retired words of a text, each with its replacement.

    >>> retired_words("The judge hears so many cases; see `hearings`.")
    ["'hears': judge, cases to judge", "'so many': N, number of"]
    """
    return [
        f"{found[0]!r}: {instead}"
        for pattern, instead in retired.items()
        for found in re.finditer(rf"\b(?:{pattern})\b", plain(text), re.IGNORECASE)
    ]


def help_texts(command: Any, name: str) -> Iterator[tuple[str, str]]:
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.opts[0]}", getattr(parameter, "help", None) or ""
    for word, inner in getattr(command, "commands", {}).items():
        yield from help_texts(inner, f"{name} {word}")


def error_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the texts of raised errors, and of messages that commands print."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            call = node.exc
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print_message":
            call = node
        else:
            continue
        for argument in call.args:
            for part in ast.walk(argument):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and " " in part.value:
                    yield f"{path.relative_to(SOURCE)}:{part.lineno}", part.value


def test_no_help_text_has_a_retired_word():
    texts = dict(help_texts(build_command(app), "fullbench"))
    assert len(texts) > 500
    assert {place: words for place, text in texts.items() if (words := retired_words(text))} == {}


def test_no_error_has_a_retired_word():
    paths = sorted(SOURCE.rglob("*.py"))
    assert len(paths) > 500
    suspects = [path for path in paths if retired_words(path.read_text(encoding="utf-8"))]
    texts = [found for path in suspects for found in error_texts(path)]
    assert [(place, words) for place, text in texts if (words := retired_words(text))] == []


def test_no_note_or_title_of_a_table_has_a_retired_word():
    texts = {id_: re.sub(r"\{[^}]*\}", "0", text) for id_, text in english_messages().items()}
    texts |= {key: str(column) for key, column in HEADINGS.items()}
    assert len(texts) > 1200
    assert {
        id_: words for id_, text in texts.items() if (words := retired_words(text, RETIRED | RETIRED_IN_NOTES))
    } == {}


def test_no_text_leaves_the_number_of_a_noun_open():
    """A prompt or message says "1 answer" or "2 answers", never "answer(s)"."""
    prompts = {
        str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("prompts/*.txt")
    }
    assert len(prompts) > 15
    errors = [found for path in SOURCE.rglob("*.py") if "(s)" in path.read_text() for found in error_texts(path)]
    texts = [*prompts.items(), *english_messages().items(), *help_texts(build_command(app), "fullbench"), *errors]
    assert [place for place, text in texts if re.search(r"(?<!http)\b[a-z]+(?<!http)\(s\)", text)] == []


def test_a_retired_word_in_an_error_is_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    (tmp_path / "a.py").write_text('"""It goes on."""\nprint_message(f"{x} goes on")\nraise E("no ruling", b="told")\n')
    assert [retired_words(text) != [] for _, text in error_texts(tmp_path / "a.py")] == [True, True]


@pytest.mark.parametrize("text", ["It goes on.", "Whoever is asked", "the seam", "not told apart", "a ruling"])
def test_a_retired_word_is_found(text):
    assert retired_words(text)
    assert not retired_words(f"`{text}`")
