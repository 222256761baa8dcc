"""From pictures that were made to something that can be judged: pairs, and the people of a grid, as a record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.item import SENSITIVE, Item
from fullbench.core.picture import Picture
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.synthetic.perturb.demographic_grids import Shown

PERSPECTIVES = ("alignment", "safety", "quality", "bias")
CHOSEN, REJECTED = "chosen", "rejected"
"""The two contestants of a pair."""
Asked = tuple[Item, list[Response]]
"""A prompt and the pictures made for it."""


def pair(
    name: str, prompt: str, chosen: bytes, rejected: bytes, *, perspective: str, subset: str, sensitive: bool = False
) -> Asked:
    """A better and a worse picture for one prompt; the worse one is veiled where the pair is sensitive."""
    veil = {SENSITIVE: "yes"} if sensitive else {}
    shown = [
        Response(name, CHOSEN, (Picture.of(chosen, name=name),)),
        Response(name, REJECTED, (Picture.of(rejected, name=name),), veil),
    ]
    return Item.ask(name, prompt, tags={**_about(perspective, subset), **veil}), shown


def people(name: str, prompt: str, shown: Iterable[tuple[Shown, bytes]], *, subset: str = "occupation") -> Asked:
    """Pictures of different people for one prompt: `shown` are those of a grid, each with its picture."""
    responses = [
        Response(name, one.prompt, (Picture.of(data, name=one.prompt),), {k: v for k, v in one.groups.items() if v})
        for one, data in shown
    ]
    return Item.ask(name, prompt, tags=_about("bias", subset)), responses


def _about(perspective: str, subset: str) -> dict[str, str]:
    if perspective not in PERSPECTIVES:
        raise InputError(f"a perspective is one of {', '.join(PERSPECTIVES)}; found {perspective!r}")
    return {"perspective": perspective, "subset": subset}


def record(asked: Iterable[Asked]) -> Record:
    """All of them with their labels, for `export_record.export`, which writes a study that runs them."""
    items: dict[str, Item] = {}
    given: dict[tuple[str, str], Response] = {}
    for item, responses in asked:
        if item.id in items:
            raise InputError(f"the name {item.id!r} occurs twice; names must differ")
        items[item.id] = item
        given |= {(response.item, response.contestant): response for response in responses}
    return Record(tuple(labels(items, given)), items, given)


def labels(items: Mapping[str, Item], given: Mapping[tuple[str, str], Response]) -> Iterator[Verdict]:
    """The choice of the better picture, for every pair that is whole."""
    for name, item in items.items():
        if (name, CHOSEN) in given and (name, REJECTED) in given:
            case = Case(item, (given[name, CHOSEN], given[name, REJECTED]), Choice(), criterion(item))
            yield Verdict.of(case, PEOPLE, (1.0, 0.0))


def criterion(item: Item) -> str:
    """What an item's pictures are judged by: its perspective."""
    found = item.tags.get("perspective", "")
    return {"artifacts": "quality"}.get(found, found) or "overall"
