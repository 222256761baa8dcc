"""Examples in help texts that can be pasted: Typer would join their lines like prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from itertools import groupby

INDENT = " " * 4
WIDTH = 76
"""Columns of an 80-column terminal within the margins of a block."""

_WORDS = re.compile(r"""(?:[^\s"']+|"[^"]*"|'[^']*')+""")


def format_examples(text: str) -> str:
    """Return a help text with its indented lines as code blocks; long lines continue after a backslash.

    >>> print(format_examples("Judge.\\n\\nExamples:\\n\\n    fullbench run 1.toml\\n\\n    fullbench run 2.toml\\n"))
    Judge.
    <BLANKLINE>
    Examples:
    <BLANKLINE>
    ```console
    fullbench run 1.toml
    fullbench run 2.toml
    ```
    """
    paragraphs = cleandoc(text).split("\n\n")
    return "\n\n".join(
        _console_block(group) if is_example else "\n\n".join(group)
        for is_example, group in groupby(paragraphs, key=lambda paragraph: paragraph.startswith(INDENT))
    )


def _console_block(paragraphs: Iterator[str]) -> str:
    lines = (line for paragraph in paragraphs for line in _example_lines(paragraph))
    return "\n".join(["```console", *lines, "```"])


def _example_lines(paragraph: str) -> Iterator[str]:
    """Yield the lines of one example, at most `WIDTH` long unless a single word is longer."""
    for line in re.sub(r"\\\n\s*", "", cleandoc(paragraph)).splitlines():
        pieces = [line] if line.startswith((" ", "#")) else list(_split_words(line))
        current_line = pieces[0]
        for piece in pieces[1:]:
            if len(current_line) + len(piece) + 3 > WIDTH:
                yield f"{current_line} \\"
                current_line = INDENT + piece
            else:
                current_line += f" {piece}"
        yield current_line


def _split_words(line: str) -> Iterator[str]:
    """Yield the words of a line; an option and its value stay together."""
    option = ""
    for word in _WORDS.findall(line):
        if option and not word.startswith("-"):
            yield f"{option} {word}"
            option = ""
            continue
        if option:
            yield option
        option = word if word.startswith("--") else ""
        if not option:
            yield word
    if option:
        yield option
