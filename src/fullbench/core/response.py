"""Responses: the answer of one contestant to one item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fullbench.core.item import Part, parts_content, parts_media, parts_pictures, parts_text
from fullbench.core.json_digests_and_cached_properties import digest, once
from fullbench.core.media import Media
from fullbench.core.picture import Picture
from fullbench.core.registered_display_and_frame_functions import NotebookDisplay

LENGTHENS = "lengthens"
"""Tag of an answer that is a longer version of another contestant's answer: the name of that contestant."""


@dataclass(frozen=True)
class Response(NotebookDisplay):
    """The answer of one contestant to one item: text, pictures, other media, or several of them.

    A contestant may answer an item several times: `sample` counts its answers from 0. `stop` is how the answer ended,
    if the model reported it (`stop`, `length`, ...). An answer cut off by length is marked in every table.
    """

    item: str
    contestant: str
    parts: tuple[Part, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    sample: int = 0
    stop: str = ""

    @classmethod
    def say(cls, item: str, contestant: str, text: str, **response_fields: Any) -> Response:
        """Return a response that is one text.

        Args:
            item: Id of the item.
            contestant: Name of the contestant.
            text: The answer.
            **response_fields: Other fields, such as `sample` or `tags`.
        """
        return cls(item, contestant, (text,), **response_fields)

    @property
    def text(self) -> str:
        return parts_text(self.parts)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return parts_pictures(self.parts)

    @property
    def media(self) -> tuple[Media, ...]:
        """Pictures, videos, recordings and documents, in order."""
        return parts_media(self.parts)

    @once
    def key(self) -> str:
        """Digest of names and content. The first sample's key does not include the number."""
        sample_number = [self.sample] if self.sample else []
        return digest([self.item, self.contestant, parts_content(self.parts), *sample_number])


REFUSAL_STOPS = frozenset({"refused", "filter"})


def split_refused_drawings(responses: Iterable[Response]) -> tuple[list[Response], list[Response]]:
    """Return the responses that can be judged, and the drawings that a generator refused.

    A refused drawing has neither picture nor text, and its contestant draws pictures otherwise. There is nothing to
    judge, while a refusal in words is an answer.
    """
    all_responses = list(responses)
    generators = {response.contestant for response in all_responses if response.pictures or "seed" in response.tags}
    refused = {
        place
        for place, response in enumerate(all_responses)
        if response.contestant in generators
        and not response.pictures
        and not response.text.strip()
        and REFUSAL_STOPS & {response.stop, response.tags.get("stop", "")}
    }
    return (
        [response for place, response in enumerate(all_responses) if place not in refused],
        [all_responses[place] for place in sorted(refused)],
    )
