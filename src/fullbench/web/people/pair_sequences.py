"""All pairs of responses to one item, as a sequence whose length is known without building the pairs."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import overload

from fullbench.core.response import Response

Pair = tuple[Response, Response]


class PairSequence(Sequence[Pair]):
    """Pairs of responses of different contestants to one item, in the order of `core.case.cases`.

    A contestant with several samples meets the same sample of the others; one with a single sample meets every sample.

    >>> pairs = PairSequence({name: [Response.say("q", name, "text")] for name in "dcab"})
    >>> len(pairs), [response.contestant for response in pairs[3]]
    (6, ['b', 'c'])
    """

    def __init__(self, responses: Mapping[str, Sequence[Response]]) -> None:
        """Count the pairs.

        Args:
            responses: The responses to one item by contestant.
        """
        self._names = sorted(responses)
        self._places = {name: place for place, name in enumerate(self._names)}
        self._lists = [sorted(responses[name], key=lambda response: response.sample) for name in self._names]
        self._samples = [_by_sample(own) for own in self._lists]
        # Pairs that begin with each contestant, counted from the last one backwards: 3,000 contestants have
        # 4.5 million pairs, so nothing here may take a step for each of them.
        counts = []
        singles = samples_after = 0
        contestants_with: Counter[int] = Counter()
        for own, samples in zip(reversed(self._lists), reversed(self._samples), strict=True):
            if len(own) == 1:
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
                yield from self._of(first, second)

    def between(self, one: str, other: str) -> list[Pair]:
        """Return the pairs of two contestants; none if one of them did not respond."""
        if one == other or one not in self._places or other not in self._places:
            return []
        first, second = sorted((self._places[one], self._places[other]))
        return list(self._of(first, second))

    def _of(self, first: int, second: int) -> Iterator[Pair]:
        for number in self._numbers(first, second):
            yield self._pair(first, second, number)

    def _numbers(self, first: int, second: int) -> Sequence[int]:
        """Return the samples in which two contestants meet; for two single responses this is the first one's."""
        if len(self._lists[first]) == 1:
            return sorted(self._samples[first if len(self._lists[second]) == 1 else second])
        if len(self._lists[second]) == 1:
            return sorted(self._samples[first])
        return sorted(self._samples[first].keys() & self._samples[second].keys())

    def _pair(self, first: int, second: int, number: int) -> Pair:
        return self._response(first, number), self._response(second, number)

    def _response(self, place: int, number: int) -> Response:
        return self._lists[place][0] if len(self._lists[place]) == 1 else self._samples[place][number]


def _by_sample(responses: Sequence[Response]) -> dict[int, Response]:
    """Return the first response of each sample."""
    found: dict[int, Response] = {}
    for response in responses:
        found.setdefault(response.sample, response)
    return found
