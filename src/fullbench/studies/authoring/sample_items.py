"""A draw of items: so many of each data set, as MLLM-as-a-Judge draws three hundred from each of its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fullbench.core.digests import digest
from fullbench.core.item import Item
from fullbench.errors import InputError

DATASET = "dataset"


@dataclass(frozen=True)
class Draw:
    """The items that were drawn, in the order they came in, and of how many in each group."""

    items: tuple[Item, ...]
    counts: Mapping[str, tuple[int, int]]
    """Drawn, and there, by group."""


def by_source(sources: Mapping[str, Sequence[Item]]) -> list[Item]:
    """Items of several files with the tag `dataset`: what they bear already, else the file's name."""
    items: list[Item] = []
    met: dict[str, str] = {}
    for source, some in sources.items():
        for item in some:
            if item.id in met:
                raise InputError(
                    f"the item {item.id!r} is in {met[item.id]} and in {source}; give items of different files ids of "
                    "their own"
                )
            met[item.id] = source
            named = item.tags.get(DATASET) or source
            items.append(replace(item, tags={**item.tags, DATASET: named}))
    return items


def draw(items: Sequence[Item], *, each: int, by: str = DATASET, seed: int = 0) -> Draw:
    """So many items of each value of a tag, the same ones for the same seed whatever else is in the files.

    >>> items = [Item.ask(f"i{n}", "?", tags={"dataset": "a" if n < 5 else "b"}) for n in range(7)]
    >>> drawn = draw(items, each=3)
    >>> len(drawn.items), dict(drawn.counts)
    (5, {'a': (3, 5), 'b': (2, 2)})
    """
    groups: dict[str, list[Item]] = {}
    lacking = [item.id for item in items if not item.tags.get(by)]
    if lacking:
        raise InputError(f"{len(lacking)} of {len(items)} items have no tag {by!r}, such as {lacking[0]!r}")
    for item in items:
        groups.setdefault(item.tags[by], []).append(item)
    chosen: set[str] = set()
    for some in groups.values():
        # By a digest of its own each: what is added to a file later takes the place of few, not of all.
        chosen.update(sorted((item.id for item in some), key=lambda name: digest([seed, name]))[:each])
    counts = {group: (min(each, len(some)), len(some)) for group, some in groups.items()}
    return Draw(tuple(item for item in items if item.id in chosen), counts)
