"""A case: an item, the responses shown in order, a ballot, a criterion. `cases` builds them from responses."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations, product
from typing import Literal

from fullbench.core.ballot import Ballot
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest, once
from fullbench.core.model_call import Call
from fullbench.core.registered_display_and_frame_functions import NotebookDisplay
from fullbench.core.response import Response
from fullbench.errors import InputError


@dataclass(frozen=True)
class Case(NotebookDisplay):
    """One case to judge: an item, the responses in the order shown, the ballot, the criterion and the trial.

    `nonce` is the check code requested with the verdict, if a ledger gave one. `own_answer` is the judge's own answer
    to the item, for a judge that answers first. Neither is part of the identity.
    """

    item: Item
    responses: tuple[Response, ...]
    ballot: Ballot
    criterion: str = "overall"
    trial: int = 0
    nonce: str = field(default="", compare=False)
    own_answer: Call | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.responses:
            raise InputError(f"a case on item {self.item.id!r} shows no response")
        self.ballot.check(len(self.responses))
        for response in self.responses:
            if response.item != self.item.id:
                raise InputError(f"a case on item {self.item.id!r} shows a response to item {response.item!r}")

    @once
    def key(self) -> str:
        """Digest of names and content of everything that can change the verdict, except the trial."""
        return digest([self.item.key, [r.key for r in self.responses], self.ballot.spec, self.criterion])

    @property
    def contestants(self) -> tuple[str, ...]:
        return tuple(response.contestant for response in self.responses)

    @property
    def samples(self) -> tuple[int, ...]:
        """The sample of each response shown; empty if all are the first."""
        numbers = tuple(response.sample for response in self.responses)
        return numbers if any(numbers) else ()

    def at(self, trial: int) -> Case:
        return replace(self, trial=trial, nonce="")

    def with_nonce(self, nonce: str) -> Case:
        """Return the same case with a check code to request."""
        return self._with_value("nonce", nonce)

    def with_own_answer(self, answer: Call) -> Case:
        """Return the same case with the judge's own answer to the item."""
        return self._with_value("own_answer", answer)

    def _with_value(self, name: str, value: object) -> Case:
        same = copy.copy(self)  # unlike `replace`, this keeps the computed key
        object.__setattr__(same, name, value)
        return same


Orders = Literal["sorted", "shuffled", "both", "all"]
ORDERS: tuple[Orders, ...] = ("sorted", "shuffled", "both", "all")
SamplePairing = Literal["aligned", "crossed", "all"]


def cases(
    items: Iterable[Item],
    responses: Iterable[Response],
    ballot: Ballot,
    *,
    size: int | None = 1,
    orders: Orders = "both",
    criterion: str = "overall",
    trials: int = 1,
    seed: int = 0,
    samples: SamplePairing = "aligned",
) -> Iterator[Case]:
    """Yield a case for every `size` responses of different contestants to each item.

    An item with too few responses gives no case.

    Args:
        items: The items.
        responses: Their responses.
        ballot: What a judge may answer.
        size: Number of responses that are shown together; None shows all contestants.
        orders: `sorted` shows the responses once, contestants by name. `shuffled` shows them once, in an order drawn
            from the seed, the item and the names. `both` shows that order and its reverse, `all` every order.
        criterion: What the responses are judged by.
        trials: Number of times that each case is judged.
        seed: Seed of shuffled orders.
        samples: Which samples are shown together if contestants answered several times. `aligned`: sample i with
            sample i of the others; a contestant with a single sample, such as a reference, is shown with every sample.
            `crossed`: every sample with every other contestant's. `all`: samples of one contestant, too, as needed for
            the best of n, but not for a leaderboard.
    """
    if orders not in ORDERS:
        raise InputError(f"unknown orders {orders!r}; known: {', '.join(ORDERS)}")
    if samples not in {"aligned", "crossed", "all"}:
        raise InputError(f"samples are matched as 'aligned', 'crossed' or 'all', not {samples!r}")
    answers: dict[str, dict[str, list[Response]]] = {}
    for response in responses:
        answers.setdefault(response.item, {}).setdefault(response.contestant, []).append(response)
    for item in items:
        for response_set in _response_sets(answers.get(item.id, {}), size, samples):
            for order in _shown_orders(response_set, orders, seed):
                for trial in range(trials):
                    yield Case(item, order, ballot, criterion, trial)


def _response_sets(
    answers: dict[str, list[Response]], size: int | None, samples: SamplePairing
) -> Iterator[tuple[Response, ...]]:
    by_name = {name: sorted(answers[name], key=lambda response: response.sample) for name in sorted(answers)}
    if samples == "all":
        everyone = [response for responses in by_name.values() for response in responses]
        if size is not None or len(everyone) > 1:
            yield from combinations(everyone, len(everyone) if size is None else size)
        return
    if size == 1:
        yield from ((response,) for responses in by_name.values() for response in responses)
        return
    if size is None and len(by_name) < 2:
        return
    for answer_lists in combinations(by_name.values(), len(by_name) if size is None else size):
        if samples == "crossed":
            yield from product(*answer_lists)
            continue
        several = [
            {response.sample: response for response in responses} for responses in answer_lists if len(responses) > 1
        ]
        numbers = sorted(set().union(*several)) if several else [None]
        for number in numbers:
            aligned_responses = tuple(
                responses[0] if len(responses) == 1 else next((r for r in responses if r.sample == number), None)
                for responses in answer_lists
            )
            response_set = tuple(response for response in aligned_responses if response is not None)
            # If a contestant lacks this sample, a pair is dropped and a longer list becomes shorter.
            if len(response_set) == len(answer_lists) or (size is None and len(response_set) > 1):
                yield response_set


def _shown_orders(response_set: tuple[Response, ...], orders: Orders, seed: int) -> Iterator[tuple[Response, ...]]:
    if orders == "all":
        yield from permutations(response_set)
        return
    if orders != "sorted" and len(response_set) > 1:
        # Sample numbers enter the seed only if one is not 0, so that they do not change the order of first samples.
        sample_numbers = (
            [[response.sample for response in response_set]]
            if any(response.sample for response in response_set)
            else []
        )
        shuffle_seed = digest(
            [seed, response_set[0].item, [response.contestant for response in response_set], *sample_numbers]
        )
        response_set = tuple(random.Random(shuffle_seed).sample(response_set, len(response_set)))
    yield response_set
    if orders == "both" and len(response_set) > 1:
        yield response_set[::-1]
