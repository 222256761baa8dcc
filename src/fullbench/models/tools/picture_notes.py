"""What tools noted about one picture, and how it is put into words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fullbench.models.tools.detector_words import counted, listed

LINES = 12
"""So many lines of what was read are told; an infographic has hundreds."""
NAMED = 5
"""So many colours are told, the widest spread first."""


@dataclass(frozen=True, slots=True)
class Thing:
    """Something the detector made out: what, how sure it is, and where (left, top, width, height, as shares)."""

    label: str
    sure: float
    box: tuple[float, float, float, float]

    @property
    def where(self) -> str:
        middle = self.box[0] + self.box[2] / 2
        return "left" if middle < 0.35 else "right" if middle > 0.65 else "middle"


@dataclass(frozen=True)
class Notes:
    """What was noted. None where the tool did not look; empty where it looked and found nothing.

    `kinds` is how sure it is of each kind of thing, where neither how many nor where is known. With
    `some_colours` those noted are some of those there, and say nothing against others.
    """

    objects: tuple[Thing, ...] | None = None
    text: tuple[str, ...] | None = None
    colours: Mapping[str, float] | None = None
    kinds: Mapping[str, float] | None = None
    some_colours: bool = False

    @classmethod
    def of(cls, looks: Mapping[str, Any]) -> Notes:
        """The notes that JSON values stand for, by the tool that took them."""
        things, kinds = looks.get("objects"), looks.get("kinds")
        lines, colours = looks.get("text", looks.get("headline")), looks.get("colours", looks.get("colour"))
        return cls(
            None if things is None else tuple(Thing(label, sure, tuple(box)) for label, sure, box in things),
            None if lines is None else tuple(lines),
            None if colours is None else dict(colours),
            None if kinds is None else dict(kinds),
            "colour" in looks,
        )

    @property
    def seen(self) -> Mapping[str, float] | None:
        """The kinds of things, each by how sure the detector is of it; None where none looked for things."""
        return self.kinds if self.objects is None else kinds_of((thing.label, thing.sure) for thing in self.objects)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each kind, the most frequent first."""
        return dict(Counter(thing.label for thing in self.objects or ()).most_common())

    @property
    def main_colours(self) -> list[str]:
        """The colours that are told, the widest spread first."""
        shares = self.colours or {}
        return sorted(shares, key=lambda name: (-shares[name], name))[:NAMED]

    def told(self) -> str:
        """The notes as lines of text, for a model that cannot see. A tool that did not look says nothing.

        >>> print(Notes(objects=(Thing("dog", 0.9, (0.1, 0.2, 0.2, 0.2)),), text=(), colours={"grey": 0.7}).told())
        Things seen: a dog (left).
        Writing seen: none.
        Colours, widest spread first: grey.
        """
        lines = []
        if self.objects is not None:
            kinds = [f"{counted(label, count)} ({self._places(label)})" for label, count in self.counts.items()]
            lines.append(f"Things seen: {listed(kinds) if kinds else 'none of a known kind'}.")
        elif self.kinds is not None:
            lines.append(f"Kinds of things seen: {listed(list(self.kinds)) if self.kinds else 'none that is known'}.")
        if self.text is not None:
            more = f" and {len(self.text) - LINES} more lines" if len(self.text) > LINES else ""
            read = "; ".join(f'"{line}"' for line in self.text[:LINES])
            lines.append(f"Writing seen: {read or 'none'}{more}.")
        if self.colours is not None:
            lines.append(f"Colours, widest spread first: {', '.join(self.main_colours) or 'none'}.")
        return "\n".join(lines)

    def _places(self, label: str) -> str:
        places = {thing.where for thing in self.objects or () if thing.label == label}
        return ", ".join(place for place in ("left", "middle", "right") if place in places)


def kinds_of(things: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The kinds of things, each by the surest of them, in the order met.

    >>> kinds_of([("dog", 0.9), ("car", 0.8), ("dog", 0.6)])
    {'dog': 0.9, 'car': 0.8}
    """
    surest: dict[str, float] = {}
    for label, sure in things:
        surest[label] = max(sure, surest.get(label, 0.0))
    return surest
