"""Access to the fields of one row, with errors that name its file and line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fullbench.core.ballot import Ballot, GradedChoice
from fullbench.core.verdict import Fault
from fullbench.errors import InputError
from fullbench.files.row_readers import parse_json

PAIR_COLUMNS = ("model_a", "model_b")
SIDES = {"model_a": 0, "model_b": 1, "a": 0, "b": 1, "1": 0, "2": 1}
TIES = {"tie", "draw", "both", "tie (bothbad)", "both_bad", "bothbad"}
"""Names of a tie in arenas; "both bad" counts as a tie."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


class Fields:
    """Fields of one row under their canonical names. Fields that are never read become tags."""

    def __init__(
        self,
        path: Path,
        line: int,
        row: Mapping[str, Any],
        synonyms: Mapping[str, Sequence[str]],
        fallbacks: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Take a row of a file.

        Args:
            path: The file.
            line: Its line.
            row: The row.
            synonyms: Other spellings of a name; a row has only one of them.
            fallbacks: Names that mean something else next to the name itself, and the same without it: `id` of a row
                of answers is that of the item only if no column `item` is there.
        """
        self.path = path
        self.line = line
        self._row = {
            name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()
        }
        self._taken = {"tags"}
        self._spelt: dict[str, str] = {}
        for name, spellings in synonyms.items():
            if self._row.keys().isdisjoint(spellings):
                continue
            spelt = [spelling for spelling in (name, *spellings) if self._row.get(spelling) is not None]
            if len(spelt) > 1:
                raise self.error(f"{spelt[0]!r} and {spelt[1]!r} mean the same; keep one")
            for spelling in spellings:
                if spelling in self._row:
                    value = self._row.pop(spelling)
                    self._spelt[name] = spelling
                    if self._row.get(name) is None:
                        self._row[name] = value
        for name, spellings in fallbacks.items():
            spelt = [spelling for spelling in spellings if spelling in self._row]
            if spelt and name not in self._row:
                self._row[name] = self._row.pop(spelt[0])
                self._spelt[name] = spelt[0]

    def error(self, message: str) -> InputError:
        return InputError(message, path=self.path, line=self.line)

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Add this row's file and line to errors without them."""
        try:
            yield
        except InputError as error:
            if error.path is not None:
                raise
            raise self.error(str(error)) from error

    def has(self, name: str) -> bool:
        """True if the row has the field, even an empty one."""
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
        """Return a text that must exist and not be empty."""
        value = self.text(name, default)
        if not value:
            raise self.error(self._missing(name))
        if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise self.error(f"the field {name!r} holds half a character: {value!r}")
        return value

    def _missing(self, name: str) -> str:
        if name in self._row:
            return f"the field {name!r} is empty here"
        spelt = next((column for column in self._row if column.strip().lower() == name), None)
        hint = f"; write {spelt!r} as {name!r}" if spelt else ""
        if name == "ballot" and not spelt:
            hint = "; add a column 'ballot', such as score:1-5"
        return f"the field {name!r} is missing; found {self.spelt_columns or 'none'}{hint}"

    @property
    def columns(self) -> list[str]:
        """Names of the row's columns."""
        return list(self._row)

    @property
    def spelt_columns(self) -> str:
        """Names of the row's columns as the file spells them."""
        return ", ".join(self._spelt.get(name, name) for name in self._row)

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
            raise self.error(f"{self._spelt.get(name, name)!r} must be a finite number; found {str(value)[:40]!r}")
        return number

    def json(self, name: str) -> Any:
        """Return a list or mapping, stored as such or as JSON text; any other text is returned unchanged."""
        value = self.get(name)
        if isinstance(value, str) and value[:1] in {"[", "{"}:
            try:
                return parse_json(value)
            except (ValueError, RecursionError):
                return value
        return value

    def texts(self, name: str) -> list[str]:
        value = self.json(name)
        entries = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(entry, (str, int)) and not isinstance(entry, bool) for entry in entries):
            raise self.error(f"{name!r} must be a text or a list of texts; found {str(value)[:40]!r}")
        return [str(entry) for entry in entries]

    def contestants(self) -> tuple[str, ...]:
        """Return the compared contestants: `contestants`, or `model_a` and `model_b` as in arenas."""
        names = self.texts("contestants")
        names = names or [name for side in PAIR_COLUMNS if self.has(side) and (name := self.text(side))]
        if not names:
            raise self.error(
                f"the verdict has no 'contestants' (nor 'model_a' and 'model_b'); found {self.spelt_columns}"
            )
        if len(set(names)) < len(names) and not self.get("samples") and not self.get("case"):
            twice = next(name for name in names if names.count(name) > 1)
            raise self.error(f"the contestant {twice!r} is compared with itself; name each once")
        return tuple(names)

    @property
    def choice(self) -> str | None:
        """Ballot of a row with a `winner` (`A>>B` is one of five levels), or None if it has no such column."""
        if not self.has("winner"):
            return None
        return "choice:5" if re.search("[<>=]", str(self._row["winner"])) else "choice+tie"

    def marks(self, contestants: Sequence[str] = (), form: Ballot | None = None) -> tuple[float, ...] | None:
        """Return the marks of a row; a `winner` gets the whole mark, and a tie is shared equally.

        On a graded choice (`form`), the winner is a level such as `A>>B`; A is the first contestant.
        """
        value = self.json("marks")
        if value is None and self.has("winner") and isinstance(form, GradedChoice):
            winner = self.text("winner") or ""
            step = form.step_of_token("A=B" if winner.lower() in TIES else winner)
            if step is None:
                levels = ", ".join(map(form.token, form.steps))
                raise self.error(
                    f"'winner' on {form.spec} is one of {levels}, where A is {contestants[0]!r}; found {winner!r}"
                )
            return form.marks_of(step)
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
            if self.get("fault") is None and "marks" in self._row:
                spelt = self._spelt.get("marks", "marks")
                raise self.error(f"{spelt!r} is empty here: leave the row out, or name a fault such as abstained")
            if self.get("fault") is None:
                raise self.error(
                    f"a verdict has marks or a fault (or names a 'winner'); this row has only {self.spelt_columns}"
                )
            return None
        # With "a,b" as its one contestant, "1,0" is two marks of two contestants.
        is_one_mark = len(contestants) == 1 and "," not in contestants[0]
        if isinstance(value, str) and is_one_mark and _DECIMAL_COMMA.fullmatch(value.strip()):
            value = value.replace(",", ".")
        if isinstance(value, str) and "," in value:
            raise self.error(
                f'several marks are a list, [1, 0], and so are contestants, ["a", "b"]; found {value[:40]!r}'
            )
        return tuple(self._number("marks", mark) for mark in (value if isinstance(value, list) else [value]))

    def fault(self) -> Fault | None:
        value: Any = self.text("fault")
        return value or None

    def tags(self) -> dict[str, str]:
        """Return the field `tags` and every field that was not read, with values as text."""
        value = self.json("tags")
        if value is not None and not isinstance(value, dict):
            raise self.error(f"'tags' must be a mapping; found {str(value)[:40]!r}")
        other_fields = {name: content for name, content in self._row.items() if name not in self._taken}
        return {
            str(name): _tag_text(content)
            for name, content in {**other_fields, **(value or {})}.items()
            if content is not None
        }


def _tag_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
