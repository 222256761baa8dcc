"""What a worker elsewhere makes of what it was sent."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Protocol, TypeVar

from fullbench.core.judge import Judge, models_of
from fullbench.errors import EngineError, FullbenchError


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Made = TypeVar("_Made", bound=_Named)


def wants_gpu(who: object) -> bool:
    """Whether it computes by itself, on a GPU where there is one: it, or a model it asks, has a device, not the CPU."""
    parts = (who, *(models_of(who) or () if isinstance(who, Judge) else ()))
    devices = (getattr(part, "device", "cpu") for part in parts)
    return any(isinstance(device, str) and not device.startswith("cpu") for device in devices)


def remade(name: str, make: Callable[[str], _Made], recipe: str | _Made) -> _Made:
    """The judge or contestant called `name`, made from its spec where one was given.

    The name tells what can change a ruling, so that a machine where the same spec means something else (other files,
    another precision, another version) is found out before it asks anything.
    """
    if not isinstance(recipe, str):
        return recipe
    try:
        judge_or_model = make(recipe)
    except FullbenchError as error:
        # A spec that the run itself could make, or it would not have come so far: something is not on this machine.
        raise EngineError(
            f"the worker on {platform.node()} cannot make {recipe!r}: {error}; install there what brings it, a "
            "plugin or an extra, as where the run was started"
        ) from error
    if judge_or_model.name != name:
        raise EngineError(
            f"the spec {recipe!r} means {judge_or_model.name!r} on the worker {platform.node()} and {name!r} "
            "where the run was started; use the same version of fullbench and the same files on all machines, and name "
            "precision and device in the spec"
        )
    return judge_or_model
