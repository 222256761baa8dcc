"""Preference pairs from a judge's marks of candidate pictures: the best and the worst of a prompt, if the gap is clear.

MJ-Bench chose its alignment pairs in this way (Appendix B.1); people then confirm every pair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.synthetic.perturb.items_from_perturbed_pairs_and_grids import (
    CHOSEN_CONTESTANT,
    REJECTED_CONTESTANT,
    ItemWithResponses,
    build_pair,
)


@dataclass
class ClearPairs:
    """The pairs, and counts of prompts that gave none."""

    pairs: list[ItemWithResponses]
    single: int = 0
    """Prompts with fewer than two marked pictures."""
    unclear: int = 0
    """Prompts whose best and worst pictures are too close."""
    not_confirmed: int = 0
    not_voted: int = 0

    def messages(self, margin: float) -> list[str]:
        """Return one sentence for each count."""
        counted = (
            (self.single, "prompts have fewer than two pictures with a mark of this judge"),
            (self.unclear, f"prompts have no two pictures whose marks differ by {margin:g} or more"),
            (self.not_voted, "pairs have no vote of people yet"),
            (self.not_confirmed, "pairs were not confirmed: most people did not prefer the chosen picture"),
        )
        return [f"Left out: {count:,} {what}." for count, what in counted if count]


def choose_clear_pairs(
    record: Record, judge: str, margin: float, *, perspective: str = "alignment", subset: str = "object"
) -> ClearPairs:
    """Return the best and the worst picture of every prompt whose marks by this judge differ by the margin or more.

    Args:
        record: Verdicts with items and responses.
        judge: The judge that marked the pictures. Several trials are averaged.
        margin: Least difference of both marks, in the units of the ballot.
        perspective: Perspective of the pairs.
        subset: Sub-category of the pairs, unless the item has a tag `subset`.
    """
    marks: dict[str, dict[tuple[str, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    ballots = set()
    for verdict in record.where(judge=judge, fault=None):
        if len(verdict.contestants) == 1:
            ballots.add(verdict.ballot)
            marks[verdict.item][verdict.shown_responses[0]] += verdict.marks or ()
    if len(ballots) > 1:
        raise InputError(f"the marks of {judge} are on several ballots ({', '.join(sorted(ballots))}); judge by one")
    result = ClearPairs([])
    for item in record.items.values():
        means = {
            place: fmean(each)
            for place, each in marks[item.id].items()
            if (item.id, *place) in record.responses and record.responses[(item.id, *place)].pictures
        }
        if len(means) < 2:
            result.single += 1
            continue
        best, worst = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
        if means[best] - means[worst] < margin:
            result.unclear += 1
            continue
        result.pairs.append(
            build_pair(
                item.id, item.question, *(_picture_bytes(record, item, place) for place in (best, worst)),
                perspective=perspective, subset=item.tags.get("subset", subset),
            )
        )  # fmt: skip
    return result


def _picture_bytes(record: Record, item: Item, place: tuple[str, int]) -> bytes:
    response: Response = record.responses[(item.id, *place)]
    return response.pictures[0].data()


def keep_confirmed_pairs(clear_pairs: ClearPairs, votes: Iterable[Verdict]) -> ClearPairs:
    """Return the pairs whose chosen picture most people preferred; ties and minorities are counted."""
    leads: dict[str, list[int]] = defaultdict(list)
    for vote in votes:
        if vote.judge == PEOPLE and set(vote.contestants) == {CHOSEN_CONTESTANT, REJECTED_CONTESTANT} and vote.marks:
            marks = dict(zip(vote.contestants, vote.marks, strict=True))
            chosen, rejected = marks[CHOSEN_CONTESTANT], marks[REJECTED_CONTESTANT]
            leads[vote.item].append((chosen > rejected) - (chosen < rejected))
    result = ClearPairs([], clear_pairs.single, clear_pairs.unclear)
    for item, responses in clear_pairs.pairs:
        if item.id not in leads:
            result.not_voted += 1
        elif 2 * leads[item.id].count(1) <= len(leads[item.id]):
            result.not_confirmed += 1
        else:
            result.pairs.append((item, responses))
    return result
