"""Lists of tasks that a campaign could have: counted first, built only on iteration."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, overload

from fullbench.core.ballot import ballot
from fullbench.core.case import cases
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.response import Response
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.web.campaigns.create.task_inputs import COMPARISON_KINDS, REFERENCE
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kind_base import Kind

Pair = tuple[Response, Response]


class PairSequence(Sequence[Pair]):
    """Pairs of responses of different contestants to one item, in the order of `core.case.cases`.

    The length is known without building the pairs. Contestants with several samples are paired sample by sample. A
    contestant with a single sample is paired with every sample of the others.

    >>> pairs = PairSequence({name: [Response.say("q", name, "text")] for name in "dcab"})
    >>> len(pairs), [response.contestant for response in pairs[3]]
    (6, ['b', 'c'])
    """

    def __init__(self, responses: Mapping[str, Sequence[Response]]) -> None:
        self._names = sorted(responses)
        self._places = {name: place for place, name in enumerate(self._names)}
        self._lists = [sorted(responses[name], key=lambda response: response.sample) for name in self._names]
        self._samples = [_first_by_sample(contestant_responses) for contestant_responses in self._lists]
        # Count the pairs that begin with each contestant, from the last contestant backwards. 3,000 contestants
        # have 4.5 million pairs, so no loop here may run once per pair.
        counts = []
        singles = samples_after = 0
        contestants_with: Counter[int] = Counter()
        for contestant_responses, samples in zip(reversed(self._lists), reversed(self._samples), strict=True):
            if len(contestant_responses) == 1:
                counts.append(singles + samples_after)
                singles += 1
            else:
                counts.append(len(samples) * singles + sum(contestants_with[sample] for sample in samples))
                samples_after += len(samples)
                contestants_with.update(samples.keys())
        self._ends = list(accumulate(reversed(counts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> list[Pair]: ...
    def __getitem__(self, index: int | slice) -> Pair | list[Pair]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        index += len(self) if index < 0 else 0
        if not 0 <= index < len(self):
            raise IndexError(index)
        first = bisect_right(self._ends, index)
        left = index - (self._ends[first - 1] if first else 0)
        for second in range(first + 1, len(self._lists)):
            numbers = self._numbers(first, second)
            if left < len(numbers):
                return self._pair(first, second, numbers[left])
            left -= len(numbers)
        raise IndexError(index)

    def __iter__(self) -> Iterator[Pair]:
        for first in range(len(self._lists)):
            for second in range(first + 1, len(self._lists)):
                yield from self._pairs_of(first, second)

    def pairs_between(self, first_name: str, second_name: str) -> list[Pair]:
        """Return the pairs of two contestants; none if one of them did not respond."""
        if first_name == second_name or first_name not in self._places or second_name not in self._places:
            return []
        first, second = sorted((self._places[first_name], self._places[second_name]))
        return list(self._pairs_of(first, second))

    def _pairs_of(self, first: int, second: int) -> Iterator[Pair]:
        for number in self._numbers(first, second):
            yield self._pair(first, second, number)

    def _numbers(self, first: int, second: int) -> Sequence[int]:
        """Sample numbers to pair for two contestants; for two single responses, the first one's."""
        if len(self._lists[first]) == 1:
            return sorted(self._samples[first if len(self._lists[second]) == 1 else second])
        if len(self._lists[second]) == 1:
            return sorted(self._samples[first])
        return sorted(self._samples[first].keys() & self._samples[second].keys())

    def _pair(self, first: int, second: int, number: int) -> Pair:
        return self._response(first, number), self._response(second, number)

    def _response(self, place: int, number: int) -> Response:
        return self._lists[place][0] if len(self._lists[place]) == 1 else self._samples[place][number]


def _first_by_sample(responses: Sequence[Response]) -> dict[int, Response]:
    responses_by_sample: dict[int, Response] = {}
    for response in responses:
        responses_by_sample.setdefault(response.sample, response)
    return responses_by_sample


TaskName = tuple[str, frozenset[str]]
"""Item and contestants, by which a label refers to a task."""


class Tasks(Protocol):
    """Tasks whose number is known before they are built."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Content]: ...


@dataclass(frozen=True)
class CountedTasks:
    """Tasks that a function builds one after another, with their number."""

    count: int
    build: Callable[[], Iterable[Content]]

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Content]:
        yield from self.build()


@dataclass(frozen=True)
class ComparedTasks:
    """Tasks that judge responses: for each item, the groups of responses shown together.

    `per_item` keeps that many groups of each item, drawn by the seed, with their chances; 0 keeps all.
    """

    groups: list[tuple[Item, Sequence[tuple[Response, ...]]]]
    per_item: int = 0
    seed: int = 0

    def __len__(self) -> int:
        return sum(min(self.per_item or len(group), len(group)) for _, group in self.groups)

    def __iter__(self) -> Iterator[Content]:
        for item, group in self.groups:
            if 0 < self.per_item < len(group):
                # Draw places instead of pairs: the result is the same, but only the drawn pairs are built.
                places = random.Random(digest([self.seed, item.id])).sample(range(len(group)), self.per_item)
                chance = self.per_item / len(group)
                yield from (Content(item, group[place], probability=chance) for place in places)
            else:
                chance_of_all = 1.0 if self.per_item else None
                yield from (Content(item, responses, probability=chance_of_all) for responses in group)


def build_tasks(
    kind: Kind, spec: str, items: Sequence[Item], responses: Iterable[Response], *, per_item: int = 0, seed: int = 0
) -> Tasks:
    """Return the tasks of a kind from items and responses; responses to other items are ignored.

    `spec` is the ballot. `per_item` draws that many pairs or responses of each item by the seed; 0 keeps all.
    """
    if kind.name == "write":
        return CountedTasks(
            len(items), lambda: (Content(item, about={"family": item.tags.get("family", "")}) for item in items)
        )
    if kind.name == "verify":
        items_with_reference = [(item, item.reference) for item in items if item.reference]
        return CountedTasks(
            len(items_with_reference),
            lambda: (Content(item, (Response.say(item.id, REFERENCE, text),)) for item, text in items_with_reference),
        )
    if kind.name not in COMPARISON_KINDS:
        raise InputError(
            f"a {kind.name} study is made of {'a queue' if kind.name == 'rewrite' else 'verdicts in a ledger'}"
        )
    by_item: dict[str, list[Response]] = {}
    for response in responses:
        by_item.setdefault(response.item, []).append(response)
    groups = [(item, _shown_together(kind, spec, item, by_item.get(item.id, []))) for item in items]
    return ComparedTasks(groups, per_item, seed)


def _shown_together(kind: Kind, spec: str, item: Item, responses: list[Response]) -> Sequence[tuple[Response, ...]]:
    form = ballot(spec)
    if kind.name == "pair":
        by_name: dict[str, list[Response]] = {}
        for response in responses:
            by_name.setdefault(response.contestant, []).append(response)
        pairs = PairSequence(by_name)
        if pairs:
            form.check(2)
        return pairs
    size = 1 if kind.name == "score" else None
    return [case.responses for case in cases([item], responses, form, size=size, orders="sorted")]


def select_tasks(tasks: Tasks, names: Collection[TaskName]) -> Iterator[Content]:
    """Return the tasks on these items and contestants, in their order."""
    contestants_by_item: dict[str, list[frozenset[str]]] = {}
    for item, contestants in names:
        contestants_by_item.setdefault(item, []).append(contestants)
    if not contestants_by_item:
        return
    if not isinstance(tasks, ComparedTasks) or tasks.per_item:
        yield from _matching_tasks(tasks, contestants_by_item)
        return
    for group_item, group in tasks.groups:
        if isinstance(group, PairSequence):
            pairs = sorted({tuple(sorted(contestants)) for contestants in contestants_by_item.get(group_item.id, ())})
            for first_name, second_name in (pair for pair in pairs if len(pair) == 2):
                yield from (
                    Content(group_item, responses) for responses in group.pairs_between(first_name, second_name)
                )
        else:
            yield from _matching_tasks((Content(group_item, responses) for responses in group), contestants_by_item)


def _matching_tasks(
    contents: Iterable[Content], contestants_by_item: dict[str, list[frozenset[str]]]
) -> Iterator[Content]:
    for content in contents:
        if name_of(content)[1] in contestants_by_item.get(content.item.id, ()):
            yield content


def name_of(content: Content) -> TaskName:
    """Return the item id and contestants by which a label refers to this task."""
    return content.item.id, frozenset(response.contestant for response in content.responses)


def refuse_too_many(count: int, limit: int) -> None:
    """Raise `InputError` if a campaign would have more tasks than the site allows."""
    if count > limit:
        raise InputError(Note("web.wrong.too-many-tasks", count=count, limit=limit))
