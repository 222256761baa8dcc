"""How judges are asked: the paper's protocol, and what of it can be chosen otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from fullbench.benchmarks.mj_bench.release.judge_and_category_names import OWN_UNITS, SCALE_BALLOTS, STORED, USUAL
from fullbench.core.ballot import Choice, ballot
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.judge import Judge, kind_of
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.synthetic.perturb.perturbed_pairs import criterion as about

Pairs = Literal["rated", "choice", "none"]
Shown = Literal["both", "stored", "reversed"]


@dataclass(frozen=True)
class Protocol:
    """What is asked of a judge.

    Every picture alone on each of the `scales`. Two pictures together, bias apart: `rated` on the scales and then
    compared, `choice` compared only, or `none`; in the order in which the release stores them (the paper's pair-f,
    `orders = "stored"`), in the other (pair-r, `"reversed"`), or in `both`. Score models give each picture a number in
    their own units, whatever the scales.
    """

    scales: tuple[str, ...] = (USUAL,)
    pairs: Pairs = "rated"
    orders: Shown = "both"

    def cases(self, items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
        """The cases; the criterion is the item's perspective."""
        answers = list(responses)
        by_criterion: dict[str, list[Item]] = {}
        for item in items:
            by_criterion.setdefault(about(item), []).append(item)
        for criterion, asked in by_criterion.items():
            if self.scales:
                for spec in (*self.scales, OWN_UNITS):
                    yield from cases_of(asked, answers, ballot(spec), criterion=criterion, trials=trials)
            if criterion != "bias" and self.pairs != "none":
                shuffled = cases_of(
                    asked, answers, Choice(), size=2, orders="shuffled", criterion=criterion, trials=trials
                )
                for case in shuffled:
                    yield from self._together(case)

    def _together(self, case: Case) -> Iterator[Case]:
        """Two pictures in the orders asked for; the ratings come right before the choice, to be asked for with it."""
        forward = _as_stored(case)
        turned = replace(forward, responses=forward.responses[::-1])
        shown = {"both": (forward, turned), "stored": (forward,), "reversed": (turned,)}[self.orders]
        scales = self.scales if self.pairs == "rated" else ()
        for order in shown:
            if scales:
                yield replace(order, ballot=ballot(scales[0]))
            yield order
            for spec in scales[1:]:
                yield replace(order, ballot=ballot(spec))


def _as_stored(case: Case) -> Case:
    """The pictures in the order in which the release stores them; as they are where it is not known."""
    first = case.item.tags.get(STORED)
    if first not in case.contestants or case.contestants[0] == first:
        return case
    return replace(case, responses=case.responses[::-1])


def hears(judge: Judge, case: Case) -> bool:
    """Score models give numbers of their own and choose by them; everybody else rates on the scales."""
    if kind_of(judge) != "scorer":
        return case.ballot.spec != OWN_UNITS
    return case.ballot.spec == OWN_UNITS or isinstance(case.ballot, Choice)


def protocol(said: Mapping[str, Any]) -> Protocol:
    """What a study's table `[protocol]` says: `scales`, `pairs`, `orders`."""
    known = {"scales", "pairs", "orders"}
    if unknown := sorted(said.keys() - known):
        raise InputError(f"[protocol]: unknown key {unknown[0]!r}; known: {', '.join(sorted(known))}")
    values: dict[str, Any] = dict(said)
    for name, words in (("pairs", Pairs), ("orders", Shown)):
        if name in said and said[name] not in get_args(words):
            raise InputError(f"[protocol]: {name} is one of {', '.join(get_args(words))}; found {said[name]!r}")
    if "scales" in said:
        scales = said["scales"]
        if not isinstance(scales, list) or not all(isinstance(scale, str) for scale in scales):
            raise InputError(f'[protocol]: scales is a list of ballots such as ["score:1-10"]; found {scales!r}')
        values["scales"] = tuple(SCALE_BALLOTS.get(scale, scale) for scale in scales)
        for spec in values["scales"]:
            ballot(spec)
    made = Protocol(**values)
    if not made.scales and made.pairs != "choice":
        raise InputError('[protocol]: without scales nothing can be rated; say pairs = "choice"')
    return made
