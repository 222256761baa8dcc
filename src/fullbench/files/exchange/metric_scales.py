"""Numbers that a harness measured, as marks: on the scale from 0 to 1, on one that is named, or on the one observed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fullbench.core.ballot import Real, real_of
from fullbench.core.verdict import Fault
from fullbench.errors import InputError
from fullbench.files.exchange.importer_base import Gathering

SCALE = "scale"
"""The option that names a scale: `scale=0-10` for all that go beyond 0 to 1, `scale.NAME=0-10` for one."""


def number_of(value: Any) -> float | None:
    """A number, as a sheet or a metric has it: also as text, as a truth, or as the `score` of a mapping."""
    if isinstance(value, Mapping):
        value = value.get("score")
    try:
        number = {"true": 1.0, "false": 0.0}.get(str(value).lower(), math.nan)
        number = float(value) if math.isnan(number) else number
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


class _Measured(NamedTuple):
    judge: str
    item: str
    shown: tuple[str, int]
    value: float | Fault
    criterion: str
    text: str
    of: str


_Name = tuple[str, str, str]
"""A judge, a criterion, and the task or benchmark that they were of."""


class Measures:
    """What was measured, kept until all of it is known: whether a measure stays between 0 and 1 shows at the end."""

    def __init__(self, held: Gathering, options: Mapping[str, str]) -> None:
        self._held = held
        self._named = {name: _scale(name, text) for name, text in options.items() if _names_a_scale(name)}
        self._measured: list[_Measured] = []
        self._less: set[_Name] = set()

    def add(
        self, judge: str, item: str, shown: tuple[str, int], value: float | Fault, *, criterion: str = "overall",
        text: str = "", of: str = "", less: bool = False,
    ) -> None:  # fmt: skip
        """Enter a number or a fault, `of` some task or benchmark; where `less` is better, it is taken with a minus."""
        value = -value if less and not isinstance(value, str) else value
        self._measured.append(_Measured(judge, item, shown, value, criterion, text, of))
        if less:
            self._less.add((judge, criterion, of))

    def settle(self) -> None:
        """Enter all of it as verdicts, each measure on one scale."""
        values: dict[_Name, list[float]] = {}
        for one in self._measured:
            ruled = values.setdefault((one.judge, one.criterion, one.of), [])
            ruled += [] if isinstance(one.value, str) else [one.value]
        scales = {name: self._on(name, of_one) for name, of_one in values.items()}
        known = {part for name in values for part in _parts(name)}
        if unknown := {name.partition(".")[2] for name in self._named} - {"", *known}:
            there = ", ".join(sorted(known - {"overall"})) or "none"
            raise InputError(f"the option {SCALE}.{min(unknown)} is of nothing that was measured; there is {there}")
        for one in self._measured:
            form = scales[one.judge, one.criterion, one.of]
            if isinstance(one.value, str):
                ruling: list[float] | Fault = one.value
            elif form.low <= one.value <= form.high:
                ruling = [one.value]
            else:
                self._held.leave_out(f"values of {_called(one.judge, one.criterion)} outside of {_ends(form)}")
                continue
            trial = self._held.rule(
                one.judge, one.item, [one.shown], form.spec, ruling, criterion=one.criterion, text=one.text
            )
            if trial:
                self._held.leave_out(f"further values of {one.judge} on the same answers: taken as next trials")

    def _on(self, name: _Name, values: Sequence[float]) -> Real:
        """The scale of one measure, which is said where it is not the usual one."""
        judge, criterion, of = name
        for part in _parts(name):
            if (own := self._named.get(f"{SCALE}.{part}")) is not None:
                return _turned(own) if name in self._less else own
        low, high = min(values, default=0), max(values, default=0)
        less = name in self._less
        if not less and low >= 0 and high <= 1:
            return Real(0, 1)
        named = self._named.get(SCALE)
        if named is not None:
            form = _turned(named) if less else named
        elif less and low >= -1 and high <= 0:
            form = Real(-1, 0)
        else:
            form = Real(math.floor(low), max(math.ceil(high), math.floor(low) + 1))
        what = f"values of {_called(judge, criterion)}" + (f" in {of}" if of else "")
        if less:
            what += ", of which less is better: taken with a minus,"
        how = "" if named is not None else f", as observed; --option {SCALE}.{_parts(name)[-1]}=LOW-HIGH names another"
        self._held.leave_out(f"{what} on the scale from {_ends(form)}{how}", len(values))
        return form


def _parts(name: _Name) -> tuple[str, ...]:
    """The names by which an option may call a measure, the most exact one first: a filter's name may be left out.

    >>> _parts(("acc,strict", "overall", "")), _parts(("gpt-4o", "score", "MMVet"))
    (('acc,strict', 'acc'), ('gpt-4o', 'score'))
    """
    judge, criterion, _ = name
    return tuple(dict.fromkeys((judge, judge.partition(",")[0], *(() if criterion == "overall" else (criterion,)))))


def _called(judge: str, criterion: str) -> str:
    return judge if criterion == "overall" else f"{judge} on {criterion}"


def _ends(form: Real) -> str:
    return f"{form.low:g} to {form.high:g}"


def _turned(form: Real) -> Real:
    return Real(-form.high, -form.low)


def _names_a_scale(option: str) -> bool:
    return option == SCALE or option.startswith(f"{SCALE}.")


def _scale(name: str, text: str) -> Real:
    try:
        return real_of(text)
    except InputError as error:
        raise InputError(f"a scale runs from low to high, as {name}=0-10; found {text!r}") from error
