"""Random draw of a campaign's tasks, balanced over pictures and items.

Systematic sampling (Madow 1949, doi:10.1214/aoms/1177729988): items are put in a random order, those with the same
picture next to each other, and every item gets its share of the drawn tasks, rounded up or down. Within an item, tasks
are drawn at random. Every task has the same chance.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.response import Response
from fullbench.web.campaigns.create.lazy_lists_of_possible_tasks import ComparedTasks, TaskName, Tasks, name_of
from fullbench.web.campaigns.tasks.mutually_exclusive_tasks import picture_keys
from fullbench.web.campaigns.tasks.task_content import Content


@dataclass(frozen=True)
class _Stratum:
    """Tasks on one item: the places that may be drawn, and a function that builds the task at a place."""

    item: Item
    places: range | list[int]
    build: Callable[[int], Content]


def draw_tasks(tasks: Tasks, count: int, seed: int, excluded: Collection[TaskName] = ()) -> list[Content]:
    """Return `count` tasks with their chance of being drawn, in the order in which `tasks` has them.

    Args:
        tasks: Tasks, of which only the drawn ones are built where possible.
        count: Number of tasks to draw, fewer than there are.
        seed: Seed of the draw.
        excluded: Tasks that are not drawn, by name.
    """
    strata = _strata(tasks, excluded)
    total = sum(len(stratum.places) for stratum in strata)
    chance = count / total
    lot = random.Random(digest(["task draw", seed]))
    luck = [lot.random() for _ in strata]
    picture_luck: dict[str, float] = {}
    keys = [min(picture_keys(stratum.item)) for stratum in strata]
    for key in sorted(set(keys)):
        picture_luck[key] = lot.random()
    order = sorted(range(len(strata)), key=lambda place: (picture_luck[keys[place]], luck[place]))
    drawn: list[tuple[int, int]] = []
    # Of the points start, start + 1, start + 2, ..., a stratum gets those that fall between its two bounds.
    passed, point = 0, lot.random()
    for place in order:
        before = math.ceil(passed * chance - point)
        passed += len(strata[place].places)
        share = min(count, math.ceil(passed * chance - point)) - before
        if passed == total:
            share = count - len(drawn)
        drawn += [(place, task) for task in lot.sample(strata[place].places, share)]
    contents = (strata[place].build(task) for place, task in sorted(drawn))
    return [replace(content, probability=chance * (content.probability or 1.0)) for content in contents]


def _strata(tasks: Tasks, excluded: Collection[TaskName]) -> list[_Stratum]:
    if isinstance(tasks, ComparedTasks) and not tasks.per_item:
        excluded_items = {item for item, _ in excluded}
        return [
            _Stratum(item, _free_places(item, group, excluded) if item.id in excluded_items else range(len(group)),
                     lambda place, item=item, group=group: Content(item, group[place]))  # type: ignore[misc]
            for item, group in tasks.groups
        ]  # fmt: skip
    # A review's item is one verdict, so reviews of the same question are found by what it shows.
    by_question: dict[tuple[str, ...], list[Content]] = {}
    for content in tasks:
        if name_of(content) not in excluded:
            key = (content.item.question, *sorted(picture_keys(content.item)))
            by_question.setdefault(key, []).append(content)
    return [_Stratum(contents[0].item, range(len(contents)), contents.__getitem__) for contents in by_question.values()]


def _free_places(item: Item, group: Iterable[tuple[Response, ...]], excluded: Collection[TaskName]) -> list[int]:
    return [place for place, responses in enumerate(group) if name_of(Content(item, responses)) not in excluded]
