"""Build a judge or contestant on a remote worker, and check that it is the same as in the run."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Protocol, TypeVar

from fullbench.core.judge import Judge, models_of
from fullbench.errors import EngineError, FullbenchError


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


_NamedType = TypeVar("_NamedType", bound=_HasName)


def wants_gpu(who: object) -> bool:
    """Return True if a judge or one of its models computes on a device other than the CPU."""
    parts = (who, *(models_of(who) or () if isinstance(who, Judge) else ()))
    devices = (getattr(part, "device", "cpu") for part in parts)
    return any(isinstance(device, str) and not device.startswith("cpu") for device in devices)


def rebuild_from_spec(name: str, make: Callable[[str], _NamedType], recipe: str | _NamedType) -> _NamedType:
    """Return the judge or contestant called `name`, built from its spec if `recipe` is one.

    The name contains everything that can change a verdict. A machine where the same spec means something else (other
    files, another precision, another version) is therefore detected before its first call.
    """
    if not isinstance(recipe, str):
        return recipe
    try:
        judge_or_model = make(recipe)
    except FullbenchError as error:
        # The run has built this spec before, so something is missing on this machine.
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
