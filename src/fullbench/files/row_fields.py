"""One row of a file, and the ways to take a field from it that say where the row is when it does not fit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fullbench.core.verdict import Fault
from fullbench.errors import InputError
from fullbench.files.readers import parse_json

PAIRED = ("model_a", "model_b")
SIDES = {"model_a": 0, "model_b": 1, "a": 0, "b": 1}
TIES = {"tie", "draw", "both", "tie (bothbad)", "both_bad", "bothbad"}
"""What arenas call an even match; that both are bad is one too."""


class Fields:
    """The fields of one row under their one spelling. Each is taken once; what is left over becomes tags."""

    def __init__(self, path: Path, line: int, row: Mapping[str, Any], synonyms: Mapping[str, Sequence[str]]) -> None:
        self.path = path
        self.line = line
        self._row = {
            name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()
        }
        self._taken = {"tags"}
        for name, others in synonyms.items():
            if self._row.keys().isdisjoint(others):
                continue
            spelt = [other for other in (name, *others) if self._row.get(other) is not None]
            if len(spelt) > 1:
                raise self.error(f"{spelt[0]!r} and {spelt[1]!r} mean the same; keep one")
            for other in others:
                if other in self._row:
                    value = self._row.pop(other)
                    if self._row.get(name) is None:
                        self._row[name] = value

    def error(self, message: str) -> InputError:
        return InputError(message, path=self.path, line=self.line)

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Give an error that knows no place the place of this row."""
        try:
            yield
        except InputError as error:
            if error.path is not None:
                raise
            raise self.error(str(error)) from error

    def has(self, name: str) -> bool:
        """Whether the row has the field, if only an empty one."""
        return name in self._row

    def get(self, name: str) -> Any:
        self._taken.add(name)
        return self._row.get(name)

    def text(self, name: str, default: str | None = None) -> str | None:
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, str):
            return value
        if isinstance(value, (int, float)):
            return json.dumps(value)
        raise self.error(f"{name!r} must be a text; found {str(value)[:40]!r}")

    def name(self, name: str, default: str | None = None) -> str:
        """A text that must be there and not be empty."""
        value = self.text(name, default)
        if not value:
            raise self.error(self._missing(name))
        if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise self.error(f"the field {name!r} holds half a character: {value!r}")
        return value

    def _missing(self, name: str) -> str:
        if name in self._row:
            return f"the field {name!r} is empty here"
        spelt = next((other for other in self._row if other.strip().lower() == name), None)
        meant = f"; write {spelt!r} as {name!r}" if spelt else ""
        return f"the field {name!r} is missing; found {', '.join(self._row) or 'none'}{meant}"

    @property
    def columns(self) -> list[str]:
        """The names of what stands in the row."""
        return list(self._row)

    def integer(self, name: str, default: int) -> int:
        value = self.number(name, default)
        if value != int(value):
            raise self.error(f"{name!r} must be a whole number; found {value}")
        return int(value)

    def number(self, name: str, default: float) -> float:
        value = self.get(name)
        if value is None:
            return default
        return self._number(name, value)

    def _number(self, name: str, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.inf
        if isinstance(value, bool) or not math.isfinite(number):
            raise self.error(f"{name!r} must be a finite number; found {str(value)[:40]!r}")
        return number

    def json(self, name: str) -> Any:
        """A list or mapping, written as such or as JSON in a text; any other text stays a text."""
        value = self.get(name)
        if isinstance(value, str) and value[:1] in {"[", "{"}:
            try:
                return parse_json(value)
            except (ValueError, RecursionError):
                return value
        return value

    def texts(self, name: str) -> list[str]:
        value = self.json(name)
        listed = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(entry, (str, int)) and not isinstance(entry, bool) for entry in listed):
            raise self.error(f"{name!r} must be a text or a list of texts; found {str(value)[:40]!r}")
        return [str(entry) for entry in listed]

    def contestants(self) -> tuple[str, ...]:
        """Who was compared: `contestants`, or `model_a` and `model_b` as arenas write it."""
        named = self.texts("contestants")
        named = named or [name for side in PAIRED if self.has(side) and (name := self.text(side))]
        if not named:
            raise self.error(
                f"the verdict has no 'contestants' (nor 'model_a' and 'model_b'); found {', '.join(self._row)}"
            )
        if len(set(named)) < len(named) and not self.get("samples") and not self.get("case"):
            twice = next(name for name in named if named.count(name) > 1)
            raise self.error(f"the contestant {twice!r} is compared with itself; name each once")
        return tuple(named)

    @property
    def choice(self) -> str | None:
        """The ballot of a row that names a `winner`; None where it names none."""
        return "choice+tie" if self.has("winner") else None

    def marks(self, contestants: Sequence[str] = ()) -> tuple[float, ...] | None:
        """The marks of a row; one that names its `winner` gives that one all, a tie gives everybody the same."""
        value = self.json("marks")
        if value is None and self.has("winner"):
            winner = self.text("winner") or ""
            if winner.lower() in TIES and winner not in contestants:
                return (1 / len(contestants),) * len(contestants)
            if winner.lower() in SIDES and winner not in contestants and len(contestants) == 2:
                winner = contestants[SIDES[winner.lower()]]
            if winner not in contestants:
                names = ", ".join(map(repr, contestants))
                raise self.error(
                    f"'winner' is one of the contestants ({names}), 'model_a', 'model_b' or 'tie'; found {winner!r}"
                )
            return tuple(float(name == winner) for name in contestants)
        if value is None:
            if self.get("fault") is None:
                raise self.error(
                    f"a verdict has marks or a fault (or names a 'winner'); this row has only {', '.join(self._row)}"
                )
            return None
        if isinstance(value, str) and "," in value:
            raise self.error(
                f'several marks are a list, [1, 0], and so are contestants, ["a", "b"]; found {value[:40]!r}'
            )
        return tuple(self._number("marks", mark) for mark in (value if isinstance(value, list) else [value]))

    def fault(self) -> Fault | None:
        value: Any = self.text("fault")
        return value or None

    def tags(self) -> dict[str, str]:
        """The field `tags`, and every field that was not taken; values become texts."""
        value = self.json("tags")
        if value is not None and not isinstance(value, dict):
            raise self.error(f"'tags' must be a mapping; found {str(value)[:40]!r}")
        rest = {name: content for name, content in self._row.items() if name not in self._taken}
        return {str(name): _tag(content) for name, content in {**rest, **(value or {})}.items() if content is not None}


def _tag(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
