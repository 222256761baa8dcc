"""Task order by information gain: pairs whose human votes improve the corrected leaderboard most come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullbench.analysis.people import next_pairs_to_vote_on
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import ADJUDICATION, PEOPLE
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.create.lazy_lists_of_possible_tasks import Tasks, select_tasks
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.words import key

WIDTH = 25.0
"""Half width of a rating, in points, that the forecast uses."""


@dataclass(frozen=True)
class OrderedTasks:
    """Tasks in the order to show them, each with its selection probability, and the gain of this order."""

    contents: list[Content]
    gain: dict[str, Any]


def order_by_gain(
    campaign: Campaign,
    tasks: Tasks,
    ledger: Ledger | None,
    ledger_study: str | None,
    judges: Sequence[str],
    *,
    planned_votes: int,
) -> OrderedTasks:
    """Return pairs that judges judged and people did not, in the order that shrinks corrected intervals fastest."""
    if campaign.kind_name != "pair" or ledger is None:
        raise InputError(key("--by-gain needs a campaign of pairs made from a ledger"))
    columns = ledger.columns(study=ledger_study).where(criterion=campaign.rules.criterion)
    judge_names = list(judges) or [judge for judge in columns.judges() if judge not in {PEOPLE, ADJUDICATION}]
    queue = next_pairs_to_vote_on.build_queue(
        columns, judge_names, planned_votes=max(1, planned_votes), seed=campaign.seed
    )
    place = {
        _pair_key(ask.item, zip(ask.contestants, ask.samples, strict=True)): at for at, ask in enumerate(queue.pairs)
    }
    placed_tasks = [
        (place.get(_pair_key(content.item.id, ((r.contestant, r.sample) for r in content.responses))), content)
        for content in select_tasks(tasks, {(ask.item, frozenset(ask.contestants)) for ask in queue.pairs})
    ]
    sorted_tasks = sorted(((at, content) for at, content in placed_tasks if at is not None), key=lambda pair: pair[0])
    more, now = queue.more_votes(WIDTH)
    gain = {
        "share": round(queue.share, 4), "more": more, "width": WIDTH, "now": None if now == float("inf") else now,
    }  # fmt: skip
    return OrderedTasks(
        [replace(content, probability=queue.pairs[at].probability) for at, content in sorted_tasks], gain
    )


def _pair_key(item: str, responses: Any) -> tuple[str, frozenset[tuple[str, int]]]:
    return item, frozenset((name, int(sample)) for name, sample in responses)


def gain_sentence(gain: dict[str, Any]) -> Note:
    """Describe the gain of the order in a sentence."""
    if gain["more"] is None:
        return Note("web.people.gain.never", width=gain["width"])
    return Note("web.people.gain.more", more=gain["more"], width=gain["width"], share=gain["share"])
