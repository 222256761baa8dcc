"""Best of n: the responses to each item put in order by one judge."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from fullbench.core import case as nouns_case
from fullbench.core.ballot import Ballot
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.studies.study_file import panel_size

Place = tuple[str, str, int]
"""Item, contestant, sample: which response it is."""


@dataclass(frozen=True)
class Ranked:
    """A response, its rank among those of its item (equal worths share one), and the mean of the marks it was given.

    A response that the judge gave no mark has neither.
    """

    response: Response
    rank: int | None
    worth: float | None
    marks: int


def cases(items: Sequence[Item], responses: Sequence[Response], ballot: Ballot, *, trials: int = 1) -> Iterator[Case]:
    """What is heard: every response alone, every two in both orders, or all at once, as the ballot asks."""
    size = panel_size(ballot)
    return nouns_case.cases(items, responses, ballot, size=size, orders="both", trials=trials, samples="all")


def rank(
    items: Sequence[Item], responses: Sequence[Response], heard: Iterable[Case], verdicts: Iterable[Verdict]
) -> list[Ranked]:
    """Responses by their mean mark, item by item, best first; equal ones by name."""
    shown = {case.key: case.responses for case in heard}
    marks: dict[Place, list[float]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.marks is not None and verdict.case in shown:
            for response, mark in zip(shown[verdict.case], verdict.marks, strict=True):
                marks[_place(response)].append(mark)
    by_item: dict[str, list[Response]] = defaultdict(list)
    for response in responses:
        by_item[response.item].append(response)
    return [ranked for item in items for ranked in _ranked(by_item[item.id], marks)]


def _place(response: Response) -> Place:
    return response.item, response.contestant, response.sample


def _ranked(responses: Sequence[Response], marks: dict[Place, list[float]]) -> Iterator[Ranked]:
    worths = {
        _place(response): fmean(own_marks) for response in responses if (own_marks := marks.get(_place(response)))
    }
    for response in sorted(
        responses, key=lambda response: (-worths.get(_place(response), float("-inf")), _place(response))
    ):
        worth = worths.get(_place(response))
        better = None if worth is None else 1 + sum(other > worth for other in worths.values())
        yield Ranked(response, better, worth, len(marks.get(_place(response), ())))


def rows(ranked: Iterable[Ranked], out: Path, keep: int | None = None) -> Iterator[dict[str, Any]]:
    """Ranked responses as rows of a file: as responses are written, with rank and worth. `keep` so many of an item."""
    taken: Counter[str] = Counter()
    for candidate in ranked:
        response = candidate.response
        if keep is not None and (candidate.rank is None or taken[response.item] >= keep):
            continue
        taken[response.item] += 1
        row: dict[str, Any] = {"item": response.item, "contestant": response.contestant, "sample": response.sample}
        if response.text:
            row["text"] = response.text
        if response.pictures:
            row["pictures"] = [_named(picture, out) for picture in response.pictures]
        yield {**row, "rank": candidate.rank, "worth": candidate.worth, "marks": candidate.marks}


def _named(picture: Picture, out: Path) -> str:
    """The picture's file as seen from the folder of `out`; one held in memory has only its digest."""
    if isinstance(picture.source, bytes):
        return picture.digest
    return os.path.relpath(picture.source.resolve(), out.parent.resolve())
