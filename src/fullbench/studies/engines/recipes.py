"""What a worker elsewhere makes of what it was sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from fullbench.errors import EngineError
from fullbench.nouns.judge import Judge, models_of


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
    judge_or_model = make(recipe)
    if judge_or_model.name != name:
        raise EngineError(
            f"the spec {recipe!r} means {judge_or_model.name!r} on a worker and {name!r} where the run was started; "
            "use the same version of fullbench and the same files on all machines, and name precision and device in "
            "the spec"
        )
    return judge_or_model
