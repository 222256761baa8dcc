"""Tasks in the order in which people's votes count most, by what judges ruled on the same pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullbench.analysis.people import next_pairs_to_vote_on
from fullbench.core.note import Note
from fullbench.core.verdict import ADJUDICATION, PEOPLE
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.create.task_lists import Tasks, tasks_named
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.words import key

WIDTH = 25.0
"""The half width of a rating, in points, that the outlook speaks of."""


@dataclass(frozen=True)
class Ordered:
    """Tasks in the order to be asked about, each with the chance that it had of being chosen; and what it gains."""

    contents: list[Content]
    gain: dict[str, Any]


def ordered(
    study: Study, tasks: Tasks, ledger: Ledger | None, ledger_study: str | None, judges: Sequence[str]
) -> Ordered:
    """The pairs that judges ruled on and people did not, those first whose votes shrink the corrected board fastest."""
    if study.kind_name != "pair" or ledger is None:
        raise InputError(key("votes are asked for by their gain in a study of pairs that is made of a ledger"))
    columns = ledger.columns(study=ledger_study).of(criterion=study.rules.criterion)
    ruling = list(judges) or [judge for judge in columns.judges() if judge not in {PEOPLE, ADJUDICATION}]
    queue = next_pairs_to_vote_on.queue(columns, ruling, planned=max(1, len(tasks)), seed=study.seed)
    place = {_pair(ask.item, zip(ask.contestants, ask.samples, strict=True)): at for at, ask in enumerate(queue.asks)}
    placed = [
        (place.get(_pair(content.item.id, ((r.contestant, r.sample) for r in content.responses))), content)
        for content in tasks_named(tasks, {(ask.item, frozenset(ask.contestants)) for ask in queue.asks})
    ]
    chosen = sorted(((at, content) for at, content in placed if at is not None), key=lambda pair: pair[0])
    more, now = queue.more_votes(WIDTH)
    gain = {
        "share": round(queue.share, 4), "more": more, "width": WIDTH, "now": None if now == float("inf") else now,
    }  # fmt: skip
    return Ordered([replace(content, probability=queue.asks[at].probability) for at, content in chosen], gain)


def _pair(item: str, responses: Any) -> tuple[str, frozenset[tuple[str, int]]]:
    return item, frozenset((name, int(sample)) for name, sample in responses)


def sentence(gain: dict[str, Any]) -> Note:
    """What the order gains, in words."""
    if gain["more"] is None:
        return Note(
            "web.people.gain.never", "All pairs together would not bring every rating to ±{width:g} points.",
            width=gain["width"],
        )  # fmt: skip
    return Note(
        "web.people.gain.more",
        "Asked in this order, {more:,} votes bring every rating to ±{width:g} points; the variance left is {share:.0%} "
        "of that of as many votes in any order.",
        more=gain["more"], width=gain["width"], share=gain["share"],
    )  # fmt: skip
