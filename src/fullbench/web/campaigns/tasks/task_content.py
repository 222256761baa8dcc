"""Content of a task (item, responses, data of its kind), converted to JSON and back.

Pictures are stored by digest; the bytes are with the other pictures of the app. Content includes contestants' names,
so it never goes to a page directly: see `task_view`.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.core.item import AUTHOR, Item, Part, Turn
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import KINDS, PART_NAMES, Media, media_from_digest
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE
from fullbench.ledger.row_conversion import FindMedia
from fullbench.web.accounts.users import Pseudonyms, fold_name, pseudonymize_tags

PERSON = f"{PEOPLE}:"
"""Prefix of the name of a contestant that is a person with an account."""


@dataclass(frozen=True)
class Content:
    """Item, responses to it, and further data that the kind of task shows (`about`)."""

    item: Item
    responses: tuple[Response, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    besides: tuple[Media, ...] = ()
    """Pictures and other media that `about` names; known only before the task is stored."""
    probability: float | None = None
    """Selection probability if a queue chose the task; stored next to the content."""

    def json(self) -> dict[str, Any]:
        return {
            "item": item_json(self.item),
            "responses": [response_json(response) for response in self.responses],
            "about": dict(self.about),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any], find: FindMedia | None = None) -> Content:
        """Build the content from JSON. Without `find` its pictures have a digest and a type, but no bytes."""
        item = value["item"]
        turns = tuple(Turn(role, parts_from_json(parts, find)) for role, parts in item["turns"])
        task_item = Item(item["id"], turns, item["reference"], tuple(item["captions"]), item["tags"])
        responses = tuple(
            Response(task_item.id, row["contestant"], parts_from_json(row["parts"], find), row["tags"], row["sample"])
            for row in value["responses"]
        )
        return cls(task_item, responses, value["about"])

    @property
    def media(self) -> list[Media]:
        """Every picture, video and recording that the task shows, each once; these must be stored with it."""
        response_media = [media for response in self.responses for media in response.media]
        return list(dict.fromkeys((*self.item.media, *response_media, *self.besides)))

    @property
    def authors(self) -> list[str]:
        """People who wrote what the task shows: contestants `human:NAME`, and tags `author`."""
        human_contestants = [
            response.contestant.removeprefix(PERSON)
            for response in self.responses
            if response.contestant.startswith(PERSON)
        ]
        tag_authors = [
            tags[AUTHOR] for tags in (self.item.tags, *(response.tags for response in self.responses)) if AUTHOR in tags
        ]
        return sorted({*human_contestants, *tag_authors})

    def with_pseudonyms(self, accounts: Pseudonyms, but: Collection[str] = ()) -> Content:
        """Replace account names by random ids in contestants `human:NAME` (except those in `but`) and tags `author`."""
        responses = tuple(
            replace(
                response,
                contestant=pseudonymous_contestant(response.contestant, {} if response.contestant in but else accounts),
                tags=pseudonymize_tags(response.tags, accounts),
            )
            for response in self.responses
        )
        item = replace(self.item, tags=pseudonymize_tags(self.item.tags, accounts))
        return replace(self, item=item, responses=responses)

    def case(self, form: str, criterion: str, display_order: Sequence[int]) -> Case:
        """Return the case as seen by a person who gets the responses in this order."""
        return Case(self.item, tuple(self.responses[place] for place in display_order), ballot(form), criterion)


def pseudonymous_contestant(name: str, accounts: Pseudonyms) -> str:
    """Replace the account name in a contestant's name by the account's random id.

    >>> [pseudonymous_contestant(name, {"ann": "4f0c"}) for name in ("human:Ann", "human:Bob", "ann")]
    ['human:4f0c', 'human:Bob', 'ann']
    """
    rater = accounts.get(fold_name(name.removeprefix(PERSON))) if name.startswith(PERSON) else None
    return name if rater is None else f"{PERSON}{rater}"


def item_json(item: Item) -> dict[str, Any]:
    """Return an item as a JSON value."""
    return {
        "id": item.id,
        "turns": [[turn.role, parts_json(turn.parts)] for turn in item.turns],
        "reference": item.reference,
        "captions": list(item.captions),
        "tags": dict(item.tags),
    }


def response_json(response: Response) -> dict[str, Any]:
    """Return a response as a JSON value."""
    return {
        "contestant": response.contestant,
        "parts": parts_json(response.parts),
        "tags": dict(response.tags),
        "sample": response.sample,
    }


def parts_json(parts: Sequence[Part]) -> list[Any]:
    return [
        part if isinstance(part, str) else {part.part_name: part.digest, "media": part.media_type} for part in parts
    ]


def parts_from_json(content: Sequence[Any], find: FindMedia | None = None) -> tuple[Part, ...]:
    """Return parts from JSON; without `find`, pictures and other media have no bytes."""

    def load_part(value: Mapping[str, str]) -> Media:
        kind = next(kind for kind in KINDS if PART_NAMES[kind] in value)
        digest = value[PART_NAMES[kind]]
        return media_from_digest(kind, digest, value["media"], b"") if find is None else find(digest, kind)

    return tuple(part if isinstance(part, str) else load_part(part) for part in content)


def draw_display_order(seed: int, campaign_id: str, task: int, person: str, count: int) -> list[int]:
    """Return the order in which this person sees the responses of this task; it is always the same.

    >>> sorted(draw_display_order(0, "s", 7, "ann", 3))
    [0, 1, 2]
    >>> draw_display_order(0, "s", 7, "ann", 3) == draw_display_order(0, "s", 7, "ann", 3)
    True
    """
    return random.Random(digest([seed, campaign_id, task, person])).sample(range(count), count)
