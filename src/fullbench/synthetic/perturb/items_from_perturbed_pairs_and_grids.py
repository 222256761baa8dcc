"""Items, responses and labels from perturbed pictures: better/worse pairs and demographic grids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.item import SENSITIVE, Item
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.synthetic.perturb.demographic_prompt_grids import GridPrompt

PERSPECTIVES = ("alignment", "safety", "quality", "bias")
CHOSEN_CONTESTANT, REJECTED_CONTESTANT = "chosen", "rejected"
ItemWithResponses = tuple[Item, list[Response]]


def build_pair(
    name: str,
    prompt: str,
    better_picture: bytes,
    worse_picture: bytes,
    *,
    perspective: str,
    subset: str,
    sensitive: bool = False,
) -> ItemWithResponses:
    """Build an item with a better and a worse picture.

    Args:
        name: Id of the item.
        prompt: Prompt that both pictures answer.
        better_picture: Bytes of the better one.
        worse_picture: Bytes of the worse one.
        perspective: Value of the item's tag `perspective`.
        subset: Value of the item's tag `subset`.
        sensitive: Whether the worse picture is veiled on pages.
    """
    sensitive_tags = {SENSITIVE: "yes"} if sensitive else {}
    responses = [
        Response(name, CHOSEN_CONTESTANT, (Picture.from_bytes(better_picture, name=name),)),
        Response(name, REJECTED_CONTESTANT, (Picture.from_bytes(worse_picture, name=name),), sensitive_tags),
    ]
    return Item.ask(name, prompt, tags={**_perspective_tags(perspective, subset), **sensitive_tags}), responses


def build_people_item(
    name: str, prompt: str, grid_pictures: Iterable[tuple[GridPrompt, bytes]], *, subset: str = "occupation"
) -> ItemWithResponses:
    """Build an item with pictures of different people for one prompt, from the prompts of a grid."""
    responses = [
        Response(
            name,
            grid_prompt.prompt,
            (Picture.from_bytes(data, name=grid_prompt.prompt),),
            {k: v for k, v in grid_prompt.groups.items() if v},
        )
        for grid_prompt, data in grid_pictures
    ]
    return Item.ask(name, prompt, tags=_perspective_tags("bias", subset)), responses


def _perspective_tags(perspective: str, subset: str) -> dict[str, str]:
    if perspective not in PERSPECTIVES:
        raise InputError(f"a perspective is one of {', '.join(PERSPECTIVES)}; found {perspective!r}")
    return {"perspective": perspective, "subset": subset}


def build_record(entries: Iterable[ItemWithResponses]) -> Record:
    """Collect items, responses and labels in a record. `export_study` writes it as a runnable study."""
    items: dict[str, Item] = {}
    responses_by_key: dict[tuple[str, str], Response] = {}
    for item, responses in entries:
        if item.id in items:
            raise InputError(f"the name {item.id!r} occurs twice; names must differ")
        items[item.id] = item
        responses_by_key |= {(response.item, response.contestant): response for response in responses}
    return Record(tuple(pair_labels(items, responses_by_key)), items, responses_by_key)


def pair_labels(items: Mapping[str, Item], responses_by_key: Mapping[tuple[str, str], Response]) -> Iterator[Verdict]:
    """Yield the choice of the better picture for each complete pair."""
    for name, item in items.items():
        if (name, CHOSEN_CONTESTANT) in responses_by_key and (name, REJECTED_CONTESTANT) in responses_by_key:
            case = Case(
                item,
                (responses_by_key[name, CHOSEN_CONTESTANT], responses_by_key[name, REJECTED_CONTESTANT]),
                Choice(),
                item_criterion(item),
            )
            yield Verdict.from_case(case, PEOPLE, (1.0, 0.0))


def item_criterion(item: Item) -> str:
    """Return the criterion for an item's pictures: its perspective, or "quality" for artifacts."""
    perspective = item.tags.get("perspective", "")
    return {"artifacts": "quality"}.get(perspective, perspective) or "overall"
