"""Which scored answers a critic learns from, and on which it is tried."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from fullbench.core.digests import digest
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.errors import InputError

INTERNAL = 0.1
"""The share of each category that is held back."""


def seed_of(item: Item) -> str:
    """The seed that an item is a wording of: its tag `seed`, else itself."""
    return item.tags.get("seed") or item.id


def split(
    responses: Iterable[Response],
    items: Mapping[str, Item],
    *,
    external: Collection[str] = (),
    share: float = INTERNAL,
    seed: int = 0,
) -> list[Response]:
    """The responses, each with the tag `split`: `external` for contestants named so, else `internal` or `train`.

    A `share` of each category is internal, drawn from the seed. All wordings of a question stay together, so that no
    rewording of what is tried was learned from.
    """
    if not 0 < share < 1:
        raise InputError(f"the share that is held back lies between 0 and 1; found {share}")
    all_responses = list(responses)
    sizes: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for response in all_responses:
        if response.contestant not in external:
            item = _item(response, items)
            sizes[item.tags.get("category", "")][seed_of(item)] += 1
    held = {name for seeds in sizes.values() for name in _held(seeds, share, seed)}
    tagged = []
    for response in all_responses:
        inside = "internal" if seed_of(_item(response, items)) in held else "train"
        where = "external" if response.contestant in external else inside
        tagged.append(replace(response, tags={**response.tags, "split": where}))
    return tagged


def _item(response: Response, items: Mapping[str, Item]) -> Item:
    if response.item not in items:
        raise InputError(f"{response.contestant!r} answers item {response.item!r}, which is not at hand")
    return items[response.item]


def _held(seeds: Mapping[str, int], share: float, seed: int) -> list[str]:
    """Seeds drawn until they make up the share, or the one nearest to it; none where there is only one seed."""
    wanted, taken = share * sum(seeds.values()), 0
    held: list[str] = []
    for name in sorted(seeds, key=lambda name: digest([seed, name])):
        if len(held) + 1 == len(seeds) or (held and taken + seeds[name] / 2 > wanted):
            break
        held.append(name)
        taken += seeds[name]
        if taken >= wanted:
            break
    return held
