"""Options that stand twice where one value counts: the last would be taken, and the others dropped, in silence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fullbench.errors import InputError


def refuse_twice(command: Any, words: Sequence[str]) -> None:
    """Refuse words of the command line that give an option of one value a second one."""
    given: set[str] = set()
    for option in _options(command, words):
        name = option.opts[0]
        if name in given:
            raise InputError(f"{name} stands twice, and one value counts; leave one out, or join the files into one")
        if not (option.multiple or option.count or option.is_flag):
            given.add(name)


def _options(command: Any, words: Sequence[str]) -> Iterator[Any]:
    """The options that the words name, of the command that they name."""
    rest = iter(words)
    for word in rest:
        if word == "--":
            return
        if not word.startswith("-"):
            command = getattr(command, "commands", {}).get(word, command)
            continue
        name, equals, _ = word.partition("=")
        options = (param for param in command.params if name in getattr(param, "opts", ()))
        option = next((param for param in options if hasattr(param, "is_flag")), None)
        if option is None:
            continue
        if not (option.is_flag or option.count or equals):
            for _ in range(option.nargs):
                next(rest, None)
        yield option
