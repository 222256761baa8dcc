"""Words of the command line that would be misread: an option that stands twice, in the wrong place, with another dash,
or with a value that is no number. Each is refused with what to write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fullbench.errors import InputError

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
"""What word processors and pages make of a hyphen, or of two."""


def refuse_misread(command: Any, words: Sequence[str]) -> None:
    """Refuse words of the command line that would be taken for something else, or drop what was given before."""
    given: set[str] = set()
    for option, value in _options(command, words):
        name = option.opts[0]
        if name in given:
            raise InputError(f"{name} stands twice, and one value counts; leave one out{_joined(option)}")
        if not (option.multiple or option.count or option.is_flag):
            given.add(name)
        _refuse_no_number(name, option, value)


def _joined(option: Any) -> str:
    """Two files of items or responses can be one."""
    return ", or join the files into one" if {"--items", "--responses", "--labels"} & {*option.opts} else ""


def _refuse_no_number(name: str, option: Any, value: str | None) -> None:
    kind = {"whole number": int, "number": float}.get(option.type.name)
    if value is None or kind is None:
        return
    try:
        kind(value)
    except ValueError:
        form = "a whole number, such as 3" if kind is int else "a number, such as 0.5"
        raise InputError(f"{name} is {form}, without a unit; found {value!r}") from None


def _options(command: Any, words: Sequence[str]) -> Iterator[tuple[Any, str | None]]:
    """The options that the words name, of the command that they name, each with its value where it has one."""
    rest = iter(words)
    for word in rest:
        if word == "--":
            return
        if word[:1] in _DASHES and word.lstrip(_DASHES + "-"):
            meant = "--" + word.lstrip(_DASHES + "-")
            raise InputError(f"{word!r} begins with a dash of print; write it with two hyphens: {meant}")
        if not word.startswith("-"):
            command = getattr(command, "commands", {}).get(word, command)
            continue
        name, equals, value = word.partition("=")
        option = _named(command, name)
        if option is None:
            _refuse_misplaced(command, name, words)
            continue
        taken = [value] if equals else []
        if not (option.is_flag or option.count or equals):
            taken = [next(rest, "") for _ in range(option.nargs)]
        yield option, taken[0] if len(taken) == 1 else None


def _named(command: Any, name: str) -> Any:
    options = (param for param in command.params if name in getattr(param, "opts", ()))
    return next((param for param in options if hasattr(param, "is_flag")), None)


def _refuse_misplaced(command: Any, name: str, words: Sequence[str]) -> None:
    """Refuse an option of a command that stands before it, and a long one with a single hyphen."""
    if len(name) > 2 and not name.startswith("--") and _named(command, f"-{name}") is not None:
        raise InputError(f"{name} has one hyphen; write -{name}")
    for word, inner in getattr(command, "commands", {}).items():
        if word in words and name.startswith("--") and _named(inner, name) is not None:
            raise InputError(f"{name} is an option of {word!r} and stands behind it: fullbench {word} {name} ...")
