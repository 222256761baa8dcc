"""A response: what a contestant answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fullbench.core.digests import digest, once
from fullbench.core.item import Part, parts_content, parts_pictures, parts_text
from fullbench.core.notebook_display import Shown
from fullbench.core.picture import Picture

LENGTHENS = "lengthens"
"""The tag of an answer that says another contestant's at greater length: whose."""


@dataclass(frozen=True)
class Response(Shown):
    """What one contestant answered to one item: words, pictures, or both.

    A contestant may answer an item several times: `sample` counts its answers from 0. `stop` says how the answer ended
    where the model said so (`stop`, `length`, ...): one cut off by length is marked in every table it enters.
    """

    item: str
    contestant: str
    parts: tuple[Part, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    sample: int = 0
    stop: str = ""

    @classmethod
    def say(cls, item: str, contestant: str, text: str, **rest: Any) -> Response:
        """The usual response: words."""
        return cls(item, contestant, (text,), **rest)

    @property
    def text(self) -> str:
        return parts_text(self.parts)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return parts_pictures(self.parts)

    @once
    def key(self) -> str:
        """Names and content as a digest. The first sample's key leaves the number out."""
        numbered = [self.sample] if self.sample else []
        return digest([self.item, self.contestant, parts_content(self.parts), *numbered])
