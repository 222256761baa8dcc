"""Samples of items per data set, as MLLM-as-a-Judge draws 300 from each of its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.errors import InputError

DATASET = "dataset"


@dataclass(frozen=True)
class Draw:
    """The drawn items in input order, and the counts per group."""

    items: tuple[Item, ...]
    counts: Mapping[str, tuple[int, int]]
    """Number drawn and number available, by group."""


def tag_by_source(sources: Mapping[str, Sequence[Item]]) -> list[Item]:
    """Return the items of several files with the tag `dataset`: their own, or else the file's name."""
    items: list[Item] = []
    source_by_id: dict[str, str] = {}
    for source, some in sources.items():
        for item in some:
            if item.id in source_by_id:
                raise InputError(
                    f"the item {item.id!r} is in {source_by_id[item.id]} and in {source}; ids must differ between files"
                )
            source_by_id[item.id] = source
            dataset = item.tags.get(DATASET) or source
            items.append(replace(item, tags={**item.tags, DATASET: dataset}))
    return items


def draw_items(items: Sequence[Item], *, each: int, by: str = DATASET, seed: int = 0) -> Draw:
    """Draw `each` items per value of a tag. Whether an item ranks before another depends only on the seed and ids.

    >>> items = [Item.ask(f"i{n}", "?", tags={"dataset": "a" if n < 5 else "b"}) for n in range(7)]
    >>> drawn = draw_items(items, each=3)
    >>> len(drawn.items), dict(drawn.counts)
    (5, {'a': (3, 5), 'b': (2, 2)})
    """
    groups: dict[str, list[Item]] = {}
    lacking = [item.id for item in items if not item.tags.get(by)]
    if lacking:
        raise InputError(f"{len(lacking)} of {len(items)} items have no tag {by!r}, such as {lacking[0]!r}")
    for item in items:
        groups.setdefault(item.tags[by], []).append(item)
    chosen_ids: set[str] = set()
    for some in groups.values():
        # Order by a digest per item: items that are added to a file later then replace few drawn ones, not all.
        chosen_ids.update(sorted((item.id for item in some), key=lambda name: digest([seed, name]))[:each])
    counts = {group: (min(each, len(some)), len(some)) for group, some in groups.items()}
    return Draw(tuple(item for item in items if item.id in chosen_ids), counts)
