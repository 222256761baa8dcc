"""The `number` ballot: any unbounded number for every response, as score models give them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fullbench.core.ballot import Ballot, Language, Style
from fullbench.errors import InputError


@dataclass(frozen=True)
class Number(Ballot):
    """Any finite number for every response, in a score model's own units; only their order has a meaning."""

    @property
    def spec(self) -> str:
        return "number"

    def check(self, n: int) -> None:
        if n < 1:
            raise InputError("a number ballot takes one response or more; found none")

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        several = f", one for each of the {n} responses in the order shown" if n > 1 else ""
        example = "[[number]]" if form == "marker" else '{"judgement": "number"}'
        if language == "zh":
            several = f"，按展示顺序每个回答给一个，共 {n} 个" if n > 1 else ""
            return f"最后请给出一个数，越大越好，不限范围{several}，格式为：{example}"
        return f"End with a number, higher for better, of any size{several}. The form is {example}"

    def allows(self, marks: Sequence[float]) -> bool:
        return bool(marks) and all(map(math.isfinite, marks))

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        return [
            str(int(mark)) if float(mark).is_integer() and abs(mark) < 1e15 else repr(float(mark)) for mark in marks
        ]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "number"}, n


def parse_number(argument: str) -> Number:
    """Return the ballot `number`."""
    if argument:
        raise InputError(f"the ballot 'number' has no ends and takes nothing behind it; found 'number:{argument}'")
    return Number()
