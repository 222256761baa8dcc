"""Estimate of the votes, hours and cost of a campaign before it opens."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from sqlalchemy import Connection, select

from fullbench.core.item import parts_text
from fullbench.core.translatable_note import Note
from fullbench.web.campaigns.campaign_tables import votes
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.tasks.task_content import Content

WORDS_A_SECOND = 228 / 60
CHARACTERS_A_SECOND = 255 / 60
"""Reading speed of English words and Chinese characters: means of the International Reading Speed Texts
(Trauzettel-Klosinski and Dietz 2012, doi:10.1167/iovs.11-8284)."""
# Assumed, not measured: a first look at a picture.
PICTURE_SECONDS = 3.0
DECIDING_SECONDS = {
    "pair": 5.0, "score": 5.0, "rank": 10.0, "rate": 10.0, "agree": 15.0, "verify": 8.0, "rewrite": 20.0,
    "write": 120.0,
}  # fmt: skip
"""Assumed in addition to reading, until there are enough votes to measure."""
FEWEST = 5
"""With this many votes, their times are a better estimate than the length of the texts."""
# Only the newest votes, since people become quicker.
RECENT = 500
# The mean reading time of a sample is good enough for an estimate in hours.
SAMPLE = 200
_CHINESE = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True)
class EffortEstimate:
    """Effort of a campaign; `most` applies if people disagree about every task."""

    tasks: int
    votes: int
    most: int
    seconds: float
    basis: Note
    pay: float = 0.0

    @property
    def hours(self) -> tuple[float, float]:
        return self.votes * self.seconds / 3600, self.most * self.seconds / 3600

    @property
    def cost(self) -> tuple[float, float]:
        """Lowest and highest cost, without platform fees."""
        least, most = self.hours
        return least * self.pay, most * self.pay


def estimate_effort(
    campaign: Campaign,
    tasks: int,
    sample: Sequence[Content],
    vote_seconds: Sequence[float] = (),
    pay: float | None = None,
) -> EffortEstimate:
    """Estimate the effort of `tasks` tasks like those in the sample; `vote_seconds` are times of existing votes."""
    if len(vote_seconds) >= FEWEST:
        seconds = median(vote_seconds)
        basis = Note("web.people.estimating.by-votes", seconds=seconds, n=len(vote_seconds))
    else:
        seconds = fmean(_reading_seconds(content) for content in sample[:SAMPLE]) if sample else 0.0
        seconds += DECIDING_SECONDS.get(campaign.kind_name, 10.0)
        basis = Note("web.people.estimating.by-length", seconds=seconds)
    wage = float(campaign.rules.options.get("pay") or 0) if pay is None else pay
    return EffortEstimate(tasks, tasks * campaign.votes, tasks * campaign.most, seconds, basis, wage)


def recent_vote_seconds(connection: Connection, campaign_ids: Sequence[str]) -> list[float]:
    """Return the seconds of the latest votes in these campaigns, such as a campaign and its pilots."""
    query = select(votes.c.seconds).where(votes.c.study.in_(campaign_ids), votes.c.revision == 1, votes.c.seconds > 0)
    return list(connection.execute(query.order_by(votes.c.id.desc()).limit(RECENT)).scalars())


def estimate_minutes(connection: Connection, campaign_id: str, count: int) -> int:
    """Return the minutes that `count` tasks take, by the campaign's votes; 0 if there are too few votes."""
    seconds = recent_vote_seconds(connection, [campaign_id])
    return math.ceil(count * median(seconds) / 60) if len(seconds) >= FEWEST else 0


def _reading_seconds(content: Content) -> float:
    """Return the seconds that reading a task's texts and viewing its pictures takes.

    >>> from fullbench import Item, Response
    >>> said = Response.say("q", "x", "word " * 228)
    >>> round(_reading_seconds(Content(Item.ask("q", "看" * 255), (said,))))
    120
    """
    texts = [content.item.question, *(parts_text(response.parts) for response in content.responses)]
    chinese = sum(len(_CHINESE.findall(text)) for text in texts)
    words = sum(len(_CHINESE.sub(" ", text).split()) for text in texts)
    return words / WORDS_A_SECOND + chinese / CHARACTERS_A_SECOND + len(content.media) * PICTURE_SECONDS
