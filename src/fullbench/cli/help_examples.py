"""Examples in help, as they can be pasted: typer would fill their lines like prose and drop what continues them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from itertools import groupby

INDENT = " " * 4
WIDTH = 76
"""So many columns are left of 80 within the margins of a block."""

_WORDS = re.compile(r"""(?:[^\s"']+|"[^"]*"|'[^']*')+""")


def pasteable(text: str) -> str:
    """A command's help with its indented lines as blocks, whose long lines go on after a backslash.

    >>> print(pasteable("Judge.\\n\\nExamples:\\n\\n    fullbench run one.toml\\n\\n    fullbench run two.toml\\n"))
    Judge.
    <BLANKLINE>
    Examples:
    <BLANKLINE>
    ```console
    fullbench run one.toml
    fullbench run two.toml
    ```
    """
    paragraphs = cleandoc(text).split("\n\n")
    return "\n\n".join(
        _block(some) if indented else "\n\n".join(some)
        for indented, some in groupby(paragraphs, key=lambda paragraph: paragraph.startswith(INDENT))
    )


def _block(paragraphs: Iterator[str]) -> str:
    lines = (line for paragraph in paragraphs for line in _lines(paragraph))
    return "\n".join(["```console", *lines, "```"])


def _lines(paragraph: str) -> Iterator[str]:
    """The lines of one example, none of them longer than `WIDTH` unless a single word is."""
    for line in re.sub(r"\\\n\s*", "", cleandoc(paragraph)).splitlines():
        pieces = [line] if line.startswith((" ", "#")) else list(_pieces(line))
        begun = pieces[0]
        for piece in pieces[1:]:
            if len(begun) + len(piece) + 3 > WIDTH:
                yield f"{begun} \\"
                begun = INDENT + piece
            else:
                begun += f" {piece}"
        yield begun


def _pieces(line: str) -> Iterator[str]:
    """The words of a line; an option and what follows it stay together."""
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
