"""Split of scored answers into training, internal test and external test for a critic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.response import Response
from fullbench.errors import InputError

INTERNAL = 0.1
"""Share of each category that is held out."""


def seed_of(item: Item) -> str:
    """Return the seed question of an item: its tag `seed`, or else its id."""
    return item.tags.get("seed") or item.id


def split_responses(
    responses: Iterable[Response],
    items: Mapping[str, Item],
    *,
    external: Collection[str] = (),
    share: float = INTERNAL,
    seed: int = 0,
) -> list[Response]:
    """Return the responses with a tag `split`: `external`, `internal` or `train`.

    Contestants in `external` get `external`. Of each category, a `share` drawn with the seed is `internal`. All
    wordings of a question stay together, so that the critic never trains on a rewording of a test question.
    """
    if not 0 < share < 1:
        raise InputError(f"the held-out share is between 0 and 1; found {share}")
    all_responses = list(responses)
    sizes: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for response in all_responses:
        if response.contestant not in external:
            item = _find_item(response, items)
            sizes[item.tags.get("category", "")][seed_of(item)] += 1
    held_out_seeds = {name for seeds in sizes.values() for name in _draw_held_out_seeds(seeds, share, seed)}
    tagged_responses = []
    for response in all_responses:
        inside = "internal" if seed_of(_find_item(response, items)) in held_out_seeds else "train"
        where = "external" if response.contestant in external else inside
        tagged_responses.append(replace(response, tags={**response.tags, "split": where}))
    return tagged_responses


def _find_item(response: Response, items: Mapping[str, Item]) -> Item:
    if response.item not in items:
        raise InputError(f"{response.contestant!r} answers item {response.item!r}, which is not among the items")
    return items[response.item]


def _draw_held_out_seeds(seeds: Mapping[str, int], share: float, seed: int) -> list[str]:
    """Draw seeds until they come nearest to the share; none if there is only one seed."""
    target_count, drawn_count = share * sum(seeds.values()), 0
    held_out_seeds: list[str] = []
    # Sorted by digest, so that the draw depends on seed and names only, not on the order of the data.
    for name in sorted(seeds, key=lambda name: digest([seed, name])):
        if len(held_out_seeds) + 1 == len(seeds) or (held_out_seeds and drawn_count + seeds[name] / 2 > target_count):
            break
        held_out_seeds.append(name)
        drawn_count += seeds[name]
        if drawn_count >= target_count:
            break
    return held_out_seeds
