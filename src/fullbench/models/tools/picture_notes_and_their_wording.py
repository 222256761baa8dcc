"""Notes that tools took on one picture, and their wording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fullbench.models.tools.detector_words import count_phrase, join_words

MAX_LINES = 12
"""Maximum number of text lines mentioned; an infographic has hundreds."""
MAX_COLOURS = 5
"""Maximum number of colours mentioned, most widespread first."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A detected object: label, confidence, and box (left, top, width, height, as shares)."""

    label: str
    sure: float
    box: tuple[float, float, float, float]

    @property
    def where(self) -> str:
        middle = self.box[0] + self.box[2] / 2
        return "left" if middle < 0.35 else "right" if middle > 0.65 else "middle"


@dataclass(frozen=True)
class Notes:
    """Notes on one picture. A field is None if its tool did not run, empty if the tool found nothing.

    `kinds` is the confidence for each kind of object, if neither number nor place is known. With `some_colours` the
    list of colours is incomplete, so a missing colour means nothing.
    """

    objects: tuple[Thing, ...] | None = None
    text: tuple[str, ...] | None = None
    colours: Mapping[str, float] | None = None
    kinds: Mapping[str, float] | None = None
    some_colours: bool = False

    @classmethod
    def from_json(cls, notes_by_tool: Mapping[str, Any]) -> Notes:
        """Build notes from JSON values, keyed by tool."""
        things, kinds = notes_by_tool.get("objects"), notes_by_tool.get("kinds")
        lines, colours = (
            notes_by_tool.get("text", notes_by_tool.get("headline")),
            notes_by_tool.get("colours", notes_by_tool.get("colour")),
        )
        return cls(
            None if things is None else tuple(Thing(label, sure, tuple(box)) for label, sure, box in things),
            None if lines is None else tuple(lines),
            None if colours is None else dict(colours),
            None if kinds is None else dict(kinds),
            "colour" in notes_by_tool,
        )

    @property
    def confidence_by_kind(self) -> Mapping[str, float] | None:
        """Return the detector's confidence for each kind of object, or None if no tool looked for objects."""
        return self.kinds if self.objects is None else kinds_of((thing.label, thing.sure) for thing in self.objects)

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of each kind, most frequent first."""
        return dict(Counter(thing.label for thing in self.objects or ()).most_common())

    @property
    def main_colours(self) -> list[str]:
        """Return the colours to mention, largest share first."""
        shares = self.colours or {}
        return sorted(shares, key=lambda name: (-shares[name], name))[:MAX_COLOURS]

    def to_text(self) -> str:
        """Return the notes as lines of text, for a model that cannot see. A tool that did not run has no line.

        >>> print(Notes(objects=(Thing("dog", 0.9, (0.1, 0.2, 0.2, 0.2)),), text=(), colours={"grey": 0.7}).to_text())
        Things seen: a dog (left).
        Writing seen: none.
        Colours, widest spread first: grey.
        """
        lines = []
        if self.objects is not None:
            kinds = [f"{count_phrase(label, count)} ({self._places(label)})" for label, count in self.counts.items()]
            lines.append(f"Things seen: {join_words(kinds) if kinds else 'none of a known kind'}.")
        elif self.kinds is not None:
            lines.append(
                f"Kinds of things seen: {join_words(list(self.kinds)) if self.kinds else 'none that is known'}."
            )
        if self.text is not None:
            more = f" and {len(self.text) - MAX_LINES} more lines" if len(self.text) > MAX_LINES else ""
            read = "; ".join(f'"{line}"' for line in self.text[:MAX_LINES])
            lines.append(f"Writing seen: {read or 'none'}{more}.")
        if self.colours is not None:
            lines.append(f"Colours, widest spread first: {', '.join(self.main_colours) or 'none'}.")
        return "\n".join(lines)

    def _places(self, label: str) -> str:
        places = {thing.where for thing in self.objects or () if thing.label == label}
        return ", ".join(place for place in ("left", "middle", "right") if place in places)


def kinds_of(things: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the highest confidence for each kind, in order of first occurrence.

    >>> kinds_of([("dog", 0.9), ("car", 0.8), ("dog", 0.6)])
    {'dog': 0.9, 'car': 0.8}
    """
    surest: dict[str, float] = {}
    for label, sure in things:
        surest[label] = max(sure, surest.get(label, 0.0))
    return surest
