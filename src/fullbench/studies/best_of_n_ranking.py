"""Best-of-n ranking: order the responses to each item by one judge's mean marks."""

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
from fullbench.studies.study_file import responses_per_case

ResponseKey = tuple[str, str, int]
"""Item, contestant and sample of a response."""


@dataclass(frozen=True)
class RankedResponse:
    """A response with its rank within its item and its mean mark (`worth`); equal means share a rank.

    Both are None if the judge gave it no mark.
    """

    response: Response
    rank: int | None
    worth: float | None
    marks: int


def ranking_cases(
    items: Sequence[Item], responses: Sequence[Response], ballot: Ballot, *, trials: int = 1
) -> Iterator[Case]:
    """Yield the cases to judge: single responses, pairs in both orders, or all at once, depending on the ballot."""
    size = responses_per_case(ballot)
    return nouns_case.cases(items, responses, ballot, size=size, orders="both", trials=trials, samples="all")


def rank_responses(
    items: Sequence[Item], responses: Sequence[Response], judged_cases: Iterable[Case], verdicts: Iterable[Verdict]
) -> list[RankedResponse]:
    """Rank responses within each item by mean mark, best first; ties are sorted by name."""
    responses_by_case = {case.key: case.responses for case in judged_cases}
    marks: dict[ResponseKey, list[float]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.marks is not None and verdict.case in responses_by_case:
            for response, mark in zip(responses_by_case[verdict.case], verdict.marks, strict=True):
                marks[_response_key(response)].append(mark)
    by_item: dict[str, list[Response]] = defaultdict(list)
    for response in responses:
        by_item[response.item].append(response)
    return [ranked_response for item in items for ranked_response in _rank_within_item(by_item[item.id], marks)]


def _response_key(response: Response) -> ResponseKey:
    return response.item, response.contestant, response.sample


def _rank_within_item(responses: Sequence[Response], marks: dict[ResponseKey, list[float]]) -> Iterator[RankedResponse]:
    worths = {
        _response_key(response): fmean(own_marks)
        for response in responses
        if (own_marks := marks.get(_response_key(response)))
    }
    for response in sorted(
        responses, key=lambda response: (-worths.get(_response_key(response), float("-inf")), _response_key(response))
    ):
        worth = worths.get(_response_key(response))
        rank_in_item = None if worth is None else 1 + sum(other_worth > worth for other_worth in worths.values())
        yield RankedResponse(response, rank_in_item, worth, len(marks.get(_response_key(response), ())))


def ranking_rows(
    ranked_responses: Iterable[RankedResponse], out: Path, keep: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield rows of the output file: response columns plus rank and worth; at most `keep` ranked rows per item."""
    rows_per_item: Counter[str] = Counter()
    for candidate in ranked_responses:
        response = candidate.response
        if keep is not None and (candidate.rank is None or rows_per_item[response.item] >= keep):
            continue
        rows_per_item[response.item] += 1
        row: dict[str, Any] = {"item": response.item, "contestant": response.contestant, "sample": response.sample}
        if response.text:
            row["text"] = response.text
        if response.pictures:
            row["pictures"] = [_picture_path_or_digest(picture, out) for picture in response.pictures]
        yield {**row, "rank": candidate.rank, "worth": candidate.worth, "marks": candidate.marks}


def _picture_path_or_digest(picture: Picture, out: Path) -> str:
    if isinstance(picture.source, bytes):
        return picture.digest
    return os.path.relpath(picture.source.resolve(), out.parent.resolve())
