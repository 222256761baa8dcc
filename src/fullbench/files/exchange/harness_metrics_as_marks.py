"""Conversion of a harness's metrics to marks: on the scale 0 to 1, a given scale, or the observed one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fullbench.core.ballot import Real, parse_real
from fullbench.core.verdict import Fault
from fullbench.errors import InputError
from fullbench.files.exchange.import_record_builder import RecordBuilder

SCALE = "scale"
"""Option for scales: `scale=0-10` for all metrics outside 0 to 1, `scale.NAME=0-10` for one."""


def number_of(value: Any) -> float | None:
    """Return a number from a number, a text, a boolean, or the `score` of a mapping; else None."""
    if isinstance(value, Mapping):
        value = value.get("score")
    try:
        number = {"true": 1.0, "false": 0.0}.get(str(value).lower(), math.nan)
        number = float(value) if math.isnan(number) else number
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


class _Measurement(NamedTuple):
    judge: str
    item: str
    shown_response: tuple[str, int]
    value: float | Fault
    criterion: str
    text: str
    task: str


_Name = tuple[str, str, str]
"""Judge, criterion, and task or benchmark."""


class Measures:
    """Collects metrics until all are known, since only then it is clear whether one stays between 0 and 1."""

    def __init__(self, builder: RecordBuilder, options: Mapping[str, str]) -> None:
        self._builder = builder
        self._named_scales = {name: _parse_scale(name, text) for name, text in options.items() if _names_a_scale(name)}
        self._measurements: list[_Measurement] = []
        self._less: set[_Name] = set()

    def add(
        self,
        judge: str,
        item: str,
        shown_response: tuple[str, int],
        value: float | Fault,
        *,
        criterion: str = "overall",
        text: str = "",
        task: str = "",
        less: bool = False,
    ) -> None:
        """Add a number or a fault of some `task`; if `less` is better, the number is negated."""
        value = -value if less and not isinstance(value, str) else value
        self._measurements.append(_Measurement(judge, item, shown_response, value, criterion, text, task))
        if less:
            self._less.add((judge, criterion, task))

    def settle(self) -> None:
        """Add all metrics as verdicts, each metric on one scale."""
        values: dict[_Name, list[float]] = {}
        for measurement in self._measurements:
            numbers = values.setdefault((measurement.judge, measurement.criterion, measurement.task), [])
            numbers += [] if isinstance(measurement.value, str) else [measurement.value]
        scales = {name: self._scale_of(name, measure_values) for name, measure_values in values.items()}
        measure_names = {part for name in values for part in _measure_names(name)}
        if unknown := {name.partition(".")[2] for name in self._named_scales} - {"", *measure_names}:
            there = ", ".join(sorted(measure_names - {"overall"})) or "none"
            raise InputError(f"the option {SCALE}.{min(unknown)} belongs to no measured metric; metrics: {there}")
        for measurement in self._measurements:
            form = scales[measurement.judge, measurement.criterion, measurement.task]
            if isinstance(measurement.value, str):
                marks_or_fault: list[float] | Fault = measurement.value
            elif form.low <= measurement.value <= form.high:
                marks_or_fault = [measurement.value]
            else:
                self._builder.leave_out(
                    f"values of {_measure_label(measurement.judge, measurement.criterion)} outside of "
                    f"{_scale_ends(form)}"
                )
                continue
            trial = self._builder.add_verdict(
                measurement.judge,
                measurement.item,
                [measurement.shown_response],
                form.spec,
                marks_or_fault,
                criterion=measurement.criterion,
                text=measurement.text,
            )
            if trial:
                self._builder.leave_out(
                    f"further values of {measurement.judge} on the same answers: taken as next trials"
                )

    def _scale_of(self, name: _Name, values: Sequence[float]) -> Real:
        judge, criterion, task = name
        for part in _measure_names(name):
            if (own_scale := self._named_scales.get(f"{SCALE}.{part}")) is not None:
                return _negated_scale(own_scale) if name in self._less else own_scale
        low, high = min(values, default=0), max(values, default=0)
        less = name in self._less
        if not less and low >= 0 and high <= 1:
            return Real(0, 1)
        named_scale = self._named_scales.get(SCALE)
        if named_scale is not None:
            form = _negated_scale(named_scale) if less else named_scale
        elif less and low >= -1 and high <= 0:
            form = Real(-1, 0)
        else:
            form = Real(math.floor(low), max(math.ceil(high), math.floor(low) + 1))
        what = f"values of {_measure_label(judge, criterion)}" + (f" in {task}" if task else "")
        if less:
            what += ", of which less is better: taken with a minus,"
        how = (
            ""
            if named_scale is not None
            else f", as observed; --option {SCALE}.{_measure_names(name)[-1]}=LOW-HIGH names another"
        )
        self._builder.leave_out(f"{what} on the scale from {_scale_ends(form)}{how}", len(values))
        return form


def _measure_names(name: _Name) -> tuple[str, ...]:
    """Return the names that an option may use for a metric, most specific first; the filter's name is optional.

    >>> _measure_names(("acc,strict", "overall", "")), _measure_names(("gpt-4o", "score", "MMVet"))
    (('acc,strict', 'acc'), ('gpt-4o', 'score'))
    """
    judge, criterion, _ = name
    return tuple(dict.fromkeys((judge, judge.partition(",")[0], *(() if criterion == "overall" else (criterion,)))))


def _measure_label(judge: str, criterion: str) -> str:
    return judge if criterion == "overall" else f"{judge} on {criterion}"


def _scale_ends(form: Real) -> str:
    return f"{form.low:g} to {form.high:g}"


def _negated_scale(form: Real) -> Real:
    return Real(-form.high, -form.low)


def _names_a_scale(option: str) -> bool:
    return option == SCALE or option.startswith(f"{SCALE}.")


def _parse_scale(name: str, text: str) -> Real:
    try:
        return parse_real(text)
    except InputError as error:
        raise InputError(f"a scale runs from low to high, as {name}=0-10; found {text!r}") from error
