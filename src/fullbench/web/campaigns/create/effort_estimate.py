"""What a study takes before it opens: votes, hours and, for a pay by the hour, money."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from sqlalchemy import Connection, select

from fullbench.core.item import parts_text
from fullbench.core.note import Note
from fullbench.web.campaigns.campaign_tables import votes
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.tasks.task_content import Content

WORDS_A_SECOND = 228 / 60
CHARACTERS_A_SECOND = 255 / 60
"""How fast people read English words and Chinese characters: the means of the International Reading Speed Texts
(Trauzettel-Klosinski and Dietz 2012, doi:10.1167/iovs.11-8284)."""
PICTURE_SECONDS = 3.0
DECIDING_SECONDS = {
    "pair": 5.0, "score": 5.0, "rank": 10.0, "rate": 10.0, "agree": 15.0, "verify": 8.0, "rewrite": 20.0,
    "write": 120.0,
}  # fmt: skip
"""Assumed, beside the reading, until votes say how long people take."""
FEWEST = 5
"""So many votes say more about the time than the length of the texts does."""
RECENT = 500
SAMPLE = 200
_CHINESE = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True)
class Forecast:
    """What a study takes; `most` is where people disagree about every task."""

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
        """Without what a platform takes for itself."""
        least, most = self.hours
        return least * self.pay, most * self.pay


def forecast(
    study: Study, tasks: int, sample: Sequence[Content], timed: Sequence[float] = (), pay: float | None = None
) -> Forecast:
    """What `tasks` tasks like those of the sample take; `timed` are seconds of votes that were given already."""
    if len(timed) >= FEWEST:
        seconds = median(timed)
        basis = Note(
            "web.people.estimating.by-votes", "{seconds:.0f} s a vote: the median of {n} votes that were given",
            seconds=seconds, n=len(timed),
        )  # fmt: skip
    else:
        seconds = fmean(_reading(content) for content in sample[:SAMPLE]) if sample else 0.0
        seconds += DECIDING_SECONDS.get(study.kind_name, 10.0)
        basis = Note(
            "web.people.estimating.by-length",
            "{seconds:.0f} s a vote: by the length of what is shown; a pilot says it better",
            seconds=seconds,
        )
    wage = float(study.rules.options.get("pay") or 0) if pay is None else pay
    return Forecast(tasks, tasks * study.votes, tasks * study.most, seconds, basis, wage)


def timed(connection: Connection, studies: Sequence[str]) -> list[float]:
    """The seconds of the latest votes in these studies: one of them and its pilots."""
    query = select(votes.c.seconds).where(votes.c.study.in_(studies), votes.c.revision == 1, votes.c.seconds > 0)
    return list(connection.execute(query.order_by(votes.c.id.desc()).limit(RECENT)).scalars())


def minutes(connection: Connection, study: str, count: int) -> int:
    """How long so many tasks of a study take, by the votes that were given in it; 0 where they are too few to say."""
    seconds = timed(connection, [study])
    return math.ceil(count * median(seconds) / 60) if len(seconds) >= FEWEST else 0


def _reading(content: Content) -> float:
    """The seconds that reading and looking at a task take.

    >>> from fullbench import Item, Response
    >>> said = Response.say("q", "x", "word " * 228)
    >>> round(_reading(Content(Item.ask("q", "看" * 255), (said,))))
    120
    """
    texts = [content.item.question, *(parts_text(response.parts) for response in content.responses)]
    chinese = sum(len(_CHINESE.findall(text)) for text in texts)
    words = sum(len(_CHINESE.sub(" ", text).split()) for text in texts)
    return words / WORDS_A_SECOND + chinese / CHARACTERS_A_SECOND + len(content.pictures) * PICTURE_SECONDS
