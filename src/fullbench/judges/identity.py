"""The name of a prompted judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from fullbench.core.digests import digest
from fullbench.core.model import Model


class Named(Protocol):
    """The parts of a prompted judge that its name is made from."""

    @property
    def model(self) -> Model: ...
    @property
    def label(self) -> str | None: ...
    @property
    def mode(self) -> str: ...
    @property
    def sight(self) -> str: ...
    @property
    def reference(self) -> bool: ...
    @property
    def language(self) -> str: ...
    @property
    def constrained(self) -> bool: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...


def named(judge: Named) -> str:
    """Return the model and the prompt style in words, and a digest of everything that can change a verdict."""
    manner: list[str] = [judge.mode]
    manner += [] if judge.sight == "image" else [{"none": "unseeing", "described": "described"}[judge.sight]]
    manner += ["reference"] if judge.reference else []
    manner += [] if judge.language == "en" else [judge.language]
    manner += ["constrained"] if judge.constrained else []
    return f"{judge.label or judge.model.name}+{'+'.join(manner)}#{digest(judge.settings)[:8]}"
