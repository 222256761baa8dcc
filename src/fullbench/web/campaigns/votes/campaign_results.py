"""A study's results as tables: contestants, and task by task."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from fullbench.analysis.boards import leaderboard
from fullbench.analysis.people import reference_checks
from fullbench.columns.column_builder import columns_of
from fullbench.core.ballot import LETTERS
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Table
from fullbench.core.verdict import ADJUDICATION
from fullbench.stats.agreement.vote_consensus import VoteRule
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.votes import adjudication, vote_export
from fullbench.web.campaigns.votes.adjudication import Standing, Task
from fullbench.web.campaigns.votes.vote_quality import Together, together

PAGE = 50


def contestants(connection: Connection, study: Study, rule: VoteRule = "default") -> list[Table]:
    """The leaderboards that the votes make: the figures that `fullbench report` shows of a ledger with them.

    References that are checked are no contestants: of them it is what was found right and what was wrong, and a lead's
    ruling decides that by every rule.
    """
    checks = study.kind_name == "verify"
    heard = [
        (case, verdict)
        for _, case, verdict in vote_export.verdicts(connection, study)
        if verdict.judge != ADJUDICATION or rule == "adjudicated" or checks
    ]
    verdicts = [verdict for _, verdict in heard]
    if checks:
        items = {case.item.id: case.item for case, _ in heard}
        return [reference_checks.checked(Record(tuple(verdicts), items, {}))] if heard else []
    tables = leaderboard.tables(columns_of(verdicts), leaderboard.Settings(votes=rule)) if verdicts else []
    return [
        replace(table, name=f"contestants-{place}" if place else "contestants") for place, table in enumerate(tables)
    ]


@dataclass(frozen=True)
class TaskRow:
    """A task in the list of all: what people say of it together, and what a lead ruled."""

    id: int
    item: str
    question: str
    responses: str
    votes: int
    standing: Standing
    majority: str | None
    weighted: str | None
    chance: float | None
    ruled: str | None
    own: str | None
    """What the person said whose votes are listed; None where they could not judge."""


def task_by_task(
    connection: Connection, study: Study, page: int, standing: str = "", person: str = ""
) -> tuple[list[TaskRow], bool, Counter[str]]:
    """A page of tasks, of all or of those that stand in one way, or that one person voted on; whether there are more;
    and how many stand how."""
    every = adjudication.listed(connection, study)
    joint = together([vote for task in every for vote in task.votes])
    if person:
        every = [task for task in every if any(vote.person == person for vote in task.votes)]
    chosen = [task for task in every if not standing or task.standing == standing]
    start = (page - 1) * PAGE
    rows = [_row(study, task, joint, person) for task in chosen[start : start + PAGE]]
    return rows, len(chosen) > start + PAGE, Counter(task.standing for task in every)


def _row(study: Study, task: Task, joint: Together, person: str) -> TaskRow:
    content = Content.of(task.content)
    most = joint.majority.get(task.id)
    weighted = joint.weighted(task.id) if task.id in joint.votes else None
    question = content.item.question
    label = task.rulings[-1].label if task.rulings else None
    own = next((vote.label for vote in task.votes if vote.person == person), None)
    return TaskRow(
        task.id, content.item.id, question if len(question) <= 120 else f"{question[:119]}…",
        ", ".join(response.contestant for response in content.responses), len(task.votes),
        task.standing, None if most is None else spoken(study, content, most),
        None if weighted is None else spoken(study, content, weighted[0]),
        None if weighted is None else round(weighted[1], 3),
        None if label is None else spoken(study, content, label),
        None if own is None else spoken(study, content, own),
    )  # fmt: skip


def more_votes(tables: Sequence[Table], votes: int, width: float | None = None) -> Note | None:
    """How many more votes like these bring every interval of the first leaderboard to ± a width: ±25 points of a
    rating, ±0.1 of a mean, unless another is named.

    Half the width of an interval shrinks with the square root of the votes.
    """
    columns = [column.key for column in tables[0].typed] if tables else []
    named = next((name for name in columns if name.startswith("mean")), "rating" if "rating" in columns else None)
    if named is None or not votes:
        return None
    cells = [row[columns.index(named)] for row in tables[0].rows]
    halves = [(cell.high - cell.low) / 2 for cell in cells if isinstance(cell, Estimate) and not cell.why]
    if not halves:
        return None
    now = max(halves)
    width = width or (25.0 if named == "rating" else 0.1)
    needed = max(0, math.ceil(votes * (now / width) ** 2) - votes)
    return Note(
        "web.people.results.more-votes",
        "{n:,} more votes like these bring every interval of the leaderboard to ±{width:g}; the widest is ±{now:.3g} "
        "now.",
        n=needed,
        width=width,
        now=now,
    )


def spoken(study: Study, content: Content, label: str, *, letters: bool = False) -> str:
    """A label with contestants' names, or with letters, instead of places: for organisers."""
    names = [LETTERS[at] if letters else response.contestant for at, response in enumerate(content.responses)]
    if study.kind_name == "pair" and label.isdigit():
        return names[int(label)]
    if study.kind_name == "rank":
        return " > ".join(names[int(place)] for place in label.split(","))
    if study.kind_name == "rate":
        return ", ".join(
            f"{LETTERS[at]} {name}: {mark}" for at, (name, mark) in enumerate(zip(names, label.split(","), strict=True))
        )
    return label
