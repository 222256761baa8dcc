"""An item: what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fullbench.core.digests import digest, once
from fullbench.core.notebook_display import Shown
from fullbench.core.picture import Picture

Part = str | Picture


Role = Literal["system", "user", "assistant"]


ROLES: tuple[Role, ...] = ("system", "user", "assistant")


AUTHOR = "author"
"""The tag that names who wrote an item or a response: a random id, or a name from somebody's file."""
SENSITIVE = "sensitive"
"""The tag of items and responses whose pictures nobody should see unasked."""
REQUEST = "request"
"""The tag of items that ask a model for material, such as a question: what comes back is no answer to be judged."""
INSTRUCTED = "instructed"
"""The tag of items whose first turn tells contestants how to answer: whoever judges is shown the question alone."""
WITHOUT_PICTURES = "pictures missing"
"""The tag of items that name pictures which are not at hand: their names, a line each."""


WITHHELD = "withheld"
"""The tag of items of a test set that is not published, where it is `yes`: they are judged, and their cases shown to
nobody but who leads."""


def parts_content(parts: Sequence[Part]) -> list[Any]:
    """Parts as a JSON value: text as it is, a picture by its digest."""
    return [part if isinstance(part, str) else {"picture": part.digest} for part in parts]


def parts_text(parts: Sequence[Part]) -> str:
    """The words of some parts, pictures left out."""
    return "\n".join(part for part in parts if isinstance(part, str))


def parts_pictures(parts: Sequence[Part]) -> tuple[Picture, ...]:
    """The pictures of some parts, in order."""
    return tuple(part for part in parts if isinstance(part, Picture))


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return parts_text(self.parts)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return parts_pictures(self.parts)


@dataclass(frozen=True)
class Item(Shown):
    """One question put to every contestant.

    The last turn is the question; earlier ones are the dialogue so far. `captions` describe the pictures, in their
    order, for judges that do not see; `tags` say what the item belongs to (data set, task, family, language...).
    """

    id: str
    turns: tuple[Turn, ...]
    reference: str | None = None
    captions: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_withheld(self) -> bool:
        return self.tags.get(WITHHELD) == "yes"

    @classmethod
    def ask(cls, id: str, question: str, *pictures: Picture, **rest: Any) -> Item:  # noqa: A002
        """The usual item: some pictures and a question about them."""
        return cls(id, (Turn("user", (*pictures, question)),), **rest)

    @property
    def question(self) -> str:
        return self.turns[-1].text

    @property
    def turns_judged(self) -> tuple[Turn, ...]:
        """What whoever judges is shown of the conversation: all of it but an instruction to contestants."""
        return self.turns[1:] if INSTRUCTED in self.tags and len(self.turns) > 1 else self.turns

    @once
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(picture for turn in self.turns for picture in turn.pictures)

    @once
    def key(self) -> str:
        """Name and content, as a digest. Tags are labels for reports and do not enter."""
        turns = [[turn.role, parts_content(turn.parts)] for turn in self.turns]
        return digest([self.id, turns, self.reference, list(self.captions)])
