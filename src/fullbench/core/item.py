"""Items: the questions put to contestants, as turns of text, pictures and other media."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fullbench.core.json_digests_and_cached_properties import digest, once
from fullbench.core.media import Media
from fullbench.core.picture import Picture
from fullbench.core.registered_display_and_frame_functions import NotebookDisplay

Part = str | Media
"""Text, or a picture, video, recording or document."""


Role = Literal["system", "user", "assistant"]


ROLES: tuple[Role, ...] = ("system", "user", "assistant")


AUTHOR = "author"
"""Tag with the author of an item or a response: a random id, or a name from a file."""
SENSITIVE = "sensitive"
"""Tag of items and responses whose pictures are hidden until a person wants to see them."""
REQUEST = "request"
"""Tag of items that request material from a model, such as a question; the reply is not judged as an answer."""
INSTRUCTED_TAG = "instructed"
"""Tag of items whose first turn instructs contestants how to answer; judges see the question alone."""
WITHOUT_PICTURES = "pictures missing"
"""Tag of items with missing pictures: their names, one per line."""


WITHHELD = "withheld"
"""Tag, with the value `yes`, of items of an unpublished test set; they are judged, but only leads see their cases."""


def parts_content(parts: Sequence[Part]) -> list[Any]:
    """Return parts as a JSON value: text as it is, a picture or other media by kind and digest."""
    return [part if isinstance(part, str) else {part.part_name: part.digest} for part in parts]


def parts_text(parts: Sequence[Part]) -> str:
    """Return the text of some parts, without pictures and other media."""
    return "\n".join(part for part in parts if isinstance(part, str))


def separate_texts(parts: Sequence[Part]) -> tuple[Part, ...]:
    r"""Return the parts with a line break between neighbouring texts, which prompts and servers join.

    >>> separate_texts(["What happens?", "[0.0 s]", " and ", "[1.0 s]"])
    ('What happens?\n', '[0.0 s]', ' and ', '[1.0 s]')
    """
    separated: list[Part] = []
    for part in parts:
        last = separated[-1] if separated else None
        if isinstance(last, str) and isinstance(part, str) and last[-1:].strip() and part[:1].strip():
            separated[-1] = f"{last}\n"
        separated.append(part)
    return tuple(separated)


def parts_pictures(parts: Sequence[Part]) -> tuple[Picture, ...]:
    """Return the pictures of some parts, in order."""
    return tuple(part for part in parts if isinstance(part, Picture))


def parts_media(parts: Sequence[Part]) -> tuple[Media, ...]:
    """Return the pictures, videos, recordings and documents of some parts, in order."""
    return tuple(part for part in parts if isinstance(part, Media))


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

    @property
    def media(self) -> tuple[Media, ...]:
        return parts_media(self.parts)


@dataclass(frozen=True)
class Item(NotebookDisplay):
    """One question put to every contestant.

    The last turn is the question; earlier ones are the dialogue so far. `captions` describe the pictures and
    other media, in their order, for judges that do not get them. `tags` classify the item (data set, task, family,
    language...).
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
    def ask(cls, id: str, question: str, *media: Media, **item_fields: Any) -> Item:  # noqa: A002
        """Return the usual item: some pictures or other media, and a question about them."""
        return cls(id, (Turn("user", (*media, question)),), **item_fields)

    @property
    def question(self) -> str:
        return self.turns[-1].text

    @property
    def turns_judged(self) -> tuple[Turn, ...]:
        """The conversation as shown to judges: without an instruction to contestants."""
        return self.turns[1:] if INSTRUCTED_TAG in self.tags and len(self.turns) > 1 else self.turns

    @property
    def is_interleaved(self) -> bool:
        """True unless the item is one turn with its pictures and other media before at most one text."""
        *earlier_turns, question_turn = self.turns_judged
        media, parts = question_turn.media, question_turn.parts
        return bool(earlier_turns) or len(parts) > len(media) + 1 or parts[: len(media)] != media

    @once
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(picture for turn in self.turns for picture in turn.pictures)

    @once
    def media(self) -> tuple[Media, ...]:
        """Pictures, videos, recordings and documents, in order."""
        return tuple(part for turn in self.turns for part in turn.media)

    @once
    def key(self) -> str:
        """Digest of name and content. Tags are labels for reports and are not included."""
        turns = [[turn.role, parts_content(turn.parts)] for turn in self.turns]
        return digest([self.id, turns, self.reference, list(self.captions)])
