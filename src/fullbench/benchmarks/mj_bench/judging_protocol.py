"""Judging protocol of MJ-Bench: scales, pairs and orders, with the paper's choices as defaults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from fullbench.benchmarks.mj_bench.release.judge_and_category_names import (
    OWN_UNITS,
    SCALE_BALLOTS,
    STORED_ORDER,
    USUAL_SCALE,
)
from fullbench.core.ballot import Choice, ballot
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.judge import Judge, kind_of
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.synthetic.perturb.items_from_perturbed_pairs_and_grids import item_criterion as about

Pairs = Literal["rated", "choice", "none"]
ShownOrders = Literal["both", "stored", "reversed"]


@dataclass(frozen=True)
class Protocol:
    """Cases that a judge gets.

    Every picture alone on each of the `scales`. Two pictures together, except for bias: `pairs` is `rated` (on the
    scales, then compared), `choice` (compared only) or `none`. `orders` is `stored` (as in the release, the paper's
    pair-f), `reversed` (pair-r) or `both`. Score models give each picture a number in their own units, whatever the
    scales.
    """

    scales: tuple[str, ...] = (USUAL_SCALE,)
    pairs: Pairs = "rated"
    orders: ShownOrders = "both"

    def cases(self, items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
        """Yield the cases; the criterion is the item's perspective."""
        answers = list(responses)
        by_criterion: dict[str, list[Item]] = {}
        for item in items:
            by_criterion.setdefault(about(item), []).append(item)
        for criterion, criterion_items in by_criterion.items():
            if self.scales:
                for spec in (*self.scales, OWN_UNITS):
                    yield from cases_of(criterion_items, answers, ballot(spec), criterion=criterion, trials=trials)
            if criterion != "bias" and self.pairs != "none":
                pair_cases = cases_of(
                    criterion_items, answers, Choice(), size=2, orders="shuffled", criterion=criterion, trials=trials
                )
                for case in pair_cases:
                    yield from self._ordered_cases(case)

    def _ordered_cases(self, case: Case) -> Iterator[Case]:
        """Ratings come right before the choice, so that one call can cover both."""
        forward = _as_stored(case)
        reversed_case = replace(forward, responses=forward.responses[::-1])
        ordered_cases = {"both": (forward, reversed_case), "stored": (forward,), "reversed": (reversed_case,)}[
            self.orders
        ]
        scales = self.scales if self.pairs == "rated" else ()
        for order in ordered_cases:
            if scales:
                yield replace(order, ballot=ballot(scales[0]))
            yield order
            for spec in scales[1:]:
                yield replace(order, ballot=ballot(spec))


def _as_stored(case: Case) -> Case:
    first = case.item.tags.get(STORED_ORDER)
    if first not in case.contestants or case.contestants[0] == first:
        return case
    return replace(case, responses=case.responses[::-1])


def can_judge(judge: Judge, case: Case) -> bool:
    """Return True if the ballot fits the judge: score models use their own units and choices, others the scales.

    A model that takes fewer pictures than a case has (`max_pictures`) scores single pictures, as in the paper.
    """
    if kind_of(judge) != "scorer":
        most = judge.settings.get("max_pictures")
        if most is not None and sum(len(response.pictures) for response in case.responses) > most:
            return False
        return case.ballot.spec != OWN_UNITS
    return case.ballot.spec == OWN_UNITS or isinstance(case.ballot, Choice)


def parse_protocol(settings: Mapping[str, Any]) -> Protocol:
    """Parse the table `[protocol]` of a study file: `scales`, `pairs`, `orders`."""
    known_keys = {"scales", "pairs", "orders"}
    if unknown := sorted(settings.keys() - known_keys):
        raise InputError(f"[protocol]: unknown key {unknown[0]!r}; known: {', '.join(sorted(known_keys))}")
    values: dict[str, Any] = dict(settings)
    for name, words in (("pairs", Pairs), ("orders", ShownOrders)):
        if name in settings and settings[name] not in get_args(words):
            raise InputError(f"[protocol]: {name} is one of {', '.join(get_args(words))}; found {settings[name]!r}")
    if "scales" in settings:
        scales = settings["scales"]
        if not isinstance(scales, list) or not all(isinstance(scale, str) for scale in scales):
            raise InputError(f'[protocol]: scales is a list of ballots such as ["score:1-10"]; found {scales!r}')
        values["scales"] = tuple(SCALE_BALLOTS.get(scale, scale) for scale in scales)
        for spec in values["scales"]:
            ballot(spec)
    new_protocol = Protocol(**values)
    if not new_protocol.scales and new_protocol.pairs != "choice":
        raise InputError('[protocol]: without scales nothing can be rated; add pairs = "choice"')
    return new_protocol
