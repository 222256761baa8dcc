"""Mistakes on the command line that would be misread, such as an option given twice or in the wrong place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fullbench.errors import InputError

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
"""Dashes that word processors and web pages put in place of hyphens."""


def refuse_misread(command: Any, words: Sequence[str]) -> None:
    """Refuse words that would be misread or would drop an earlier value."""
    option_names: set[str] = set()
    for option, value in _parse_options(command, words):
        name = option.opts[0]
        if name in option_names:
            is_file = {"--items", "--responses", "--labels"} & {*option.opts}
            join_hint = ", or join the files into one" if is_file else ""
            raise InputError(f"{name} was given twice. Give it once{join_hint}.")
        if not (option.multiple or option.count or option.is_flag):
            option_names.add(name)
        _refuse_no_number(name, option, value)


def _refuse_no_number(name: str, option: Any, value: str | None) -> None:
    kind = {"integer": int, "number": float}.get(option.type.name)
    if value is None or kind is None:
        return
    try:
        kind(value)
    except ValueError:
        form = "an integer, such as 3" if kind is int else "a number, such as 0.5"
        raise InputError(f"{name} needs {form}, without a unit; found {value!r}.") from None


def _parse_options(command: Any, words: Sequence[str]) -> Iterator[tuple[Any, str | None]]:
    """Yield the options among the words with their values, for the command among them."""
    remaining_words = iter(words)
    for word in remaining_words:
        if word == "--":
            return
        if word[:1] in _DASHES and word.lstrip(_DASHES + "-"):
            corrected_word = "--" + word.lstrip(_DASHES + "-")
            raise InputError(f"{word!r} starts with a typographic dash. Write it with two hyphens: {corrected_word}")
        if not word.startswith("-"):
            inner_command = getattr(command, "commands", {}).get(word)
            if inner_command is None:
                _refuse_stray_file(command, word)
            command = inner_command or command
            continue
        name, equals, value = word.partition("=")
        option = _find_option(command, name)
        if option is None:
            _refuse_misplaced(command, name, words)
            return  # the words after an unknown option may be its values
        values = [value] if equals else []
        if not (option.is_flag or option.count or equals):
            values = [next(remaining_words, "") for _ in range(option.nargs)]
        yield option, values[0] if len(values) == 1 else None


def _refuse_stray_file(command: Any, word: str) -> None:
    """Refuse a file without an option in commands whose first option is --ledger, such as `fullbench report FILE`."""
    if hasattr(command, "commands") or not command.params or command.params[0].opts != ["--ledger"]:
        return
    if word.endswith(".toml"):
        advice = f"fullbench replay {word} for the tables of a study"
    else:
        advice = f"--ledger {word} to read this ledger"
    raise InputError(f"{word!r} has no option in front of it. Write {advice}.")


def _find_option(command: Any, name: str) -> Any:
    options = (param for param in command.params if name in getattr(param, "opts", ()))
    return next((param for param in options if hasattr(param, "is_flag")), None)


def _refuse_misplaced(command: Any, name: str, words: Sequence[str]) -> None:
    """Refuse an option before its command, and a long option with one hyphen."""
    if len(name) > 2 and not name.startswith("--") and _find_option(command, f"-{name}") is not None:
        raise InputError(f"{name} has one hyphen. Write -{name}.")
    for word, inner in getattr(command, "commands", {}).items():
        if word in words and name.startswith("--") and _find_option(inner, name) is not None:
            raise InputError(f"{name} is an option of {word!r} and must come after it: fullbench {word} {name} ...")
