"""What a task shows, as a JSON value and back: an item, responses, and what else its kind needs.

Pictures are named by their digest; the bytes lie with the other pictures of the app. Contestants' names are in here,
so a content never goes to a page as it is: see `shown`.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.item import AUTHOR, Item, Part, Turn
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE
from fullbench.ledger.row_conversion import Find
from fullbench.web.accounts.users import Pseudonyms, folded, unnamed_tags

PERSON = f"{PEOPLE}:"
"""How the name of a contestant begins that is a person with an account."""


@dataclass(frozen=True)
class Content:
    """An item, some responses to it, and what else a kind of task shows (`about`)."""

    item: Item
    responses: tuple[Response, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    besides: tuple[Picture, ...] = ()
    """Pictures that `about` names; known only before the task is kept."""
    probability: float | None = None
    """The chance that the task had of being chosen, where a queue chose it; kept beside the content."""

    def json(self) -> dict[str, Any]:
        return {
            "item": item_json(self.item),
            "responses": [response_json(response) for response in self.responses],
            "about": dict(self.about),
        }

    @classmethod
    def of(cls, value: Mapping[str, Any], find: Find | None = None) -> Content:
        """The content again. Without `find` its pictures have a digest and a type, and no bytes."""
        item = value["item"]
        turns = tuple(Turn(role, parts_of(parts, find)) for role, parts in item["turns"])
        task_item = Item(item["id"], turns, item["reference"], tuple(item["captions"]), item["tags"])
        responses = tuple(
            Response(task_item.id, row["contestant"], parts_of(row["parts"], find), row["tags"], row["sample"])
            for row in value["responses"]
        )
        return cls(task_item, responses, value["about"])

    @property
    def pictures(self) -> list[Picture]:
        """Every picture that the task shows, each once: what must be kept with it."""
        answered = [picture for response in self.responses for picture in response.pictures]
        return list(dict.fromkeys((*self.item.pictures, *answered, *self.besides)))

    @property
    def authors(self) -> list[str]:
        """The people who wrote what the task shows: contestants `human:NAME`, and tags `author`."""
        named = [
            response.contestant.removeprefix(PERSON)
            for response in self.responses
            if response.contestant.startswith(PERSON)
        ]
        tagged = [
            tags[AUTHOR] for tags in (self.item.tags, *(response.tags for response in self.responses)) if AUTHOR in tags
        ]
        return sorted({*named, *tagged})

    def unnamed(self, accounts: Pseudonyms, but: Collection[str] = ()) -> Content:
        """The same with the random ids of accounts (by their names, folded) in place of their names: in contestants
        `human:NAME`, other than those of `but`, and in tags `author`."""
        responses = tuple(
            replace(
                response,
                contestant=contestant(response.contestant, {} if response.contestant in but else accounts),
                tags=unnamed_tags(response.tags, accounts),
            )
            for response in self.responses
        )
        item = replace(self.item, tags=unnamed_tags(self.item.tags, accounts))
        return replace(self, item=item, responses=responses)

    def case(self, form: str, criterion: str, shown: Sequence[int]) -> Case:
        """The case that a person hears who is shown the responses in this order."""
        return Case(self.item, tuple(self.responses[place] for place in shown), ballot(form), criterion)

    def ordered(self, shown: Sequence[int]) -> Content:
        """The same with the responses in the order shown."""
        return replace(self, responses=tuple(self.responses[place] for place in shown))


def contestant(name: str, accounts: Pseudonyms) -> str:
    """A contestant's name without an account's name in it.

    >>> [contestant(name, {"ann": "4f0c"}) for name in ("human:Ann", "human:Bob", "ann")]
    ['human:4f0c', 'human:Bob', 'ann']
    """
    rater = accounts.get(folded(name.removeprefix(PERSON))) if name.startswith(PERSON) else None
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
    return [part if isinstance(part, str) else {"picture": part.digest, "media": part.media} for part in parts]


def parts_of(content: Sequence[Any], find: Find | None = None) -> tuple[Part, ...]:
    """Parts from their JSON value; without `find` pictures have no bytes."""

    def picture(value: Mapping[str, str]) -> Picture:
        return Picture(value["picture"], value["media"], b"") if find is None else find(value["picture"])

    return tuple(part if isinstance(part, str) else picture(part) for part in content)


def order(seed: int, study: str, task: int, person: str, count: int) -> list[int]:
    """The order in which this person sees the responses of this task: always the same one.

    >>> sorted(order(0, "s", 7, "ann", 3))
    [0, 1, 2]
    >>> order(0, "s", 7, "ann", 3) == order(0, "s", 7, "ann", 3)
    True
    """
    return random.Random(digest([seed, study, task, person])).sample(range(count), count)
