"""Results of a campaign as tables: leaderboards, and a list of tasks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from fullbench.analysis.boards import leaderboard
from fullbench.analysis.people import votes_on_reference_correctness
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.ballot import LETTERS, GradedChoice
from fullbench.core.estimate import Estimate
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import ADJUDICATION
from fullbench.core.verdict_record import Record
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.votes import adjudication, vote_export
from fullbench.web.campaigns.votes.adjudication import Standing, Task
from fullbench.web.campaigns.votes.progress_annotator_agreement_and_joined_votes import JoinedVotes, join_votes

PAGE = 50


def contestant_tables(connection: Connection, campaign: Campaign, rule: VoteRule = "default") -> list[Table]:
    """Return the leaderboards of the votes, with the same numbers as `fullbench report` on a ledger with them.

    In a `verify` campaign references are checked, and they are not contestants. Then the table shows what was right and
    wrong, and an adjudication decides under every rule.
    """
    checks = campaign.kind_name == "verify"
    cases_and_verdicts = [
        (case, verdict)
        for _, case, verdict in vote_export.vote_verdicts(connection, campaign)
        if verdict.judge != ADJUDICATION or rule == "adjudicated" or checks
    ]
    verdicts = [verdict for _, verdict in cases_and_verdicts]
    if checks:
        items = {case.item.id: case.item for case, _ in cases_and_verdicts}
        return (
            [votes_on_reference_correctness.reference_table(Record(tuple(verdicts), items, {}))]
            if cases_and_verdicts
            else []
        )
    tables = (
        leaderboard.leaderboard_tables(columns_from_verdicts(verdicts), leaderboard.Settings(votes=rule))
        if verdicts
        else []
    )
    return [
        replace(table, name=f"contestants-{place}" if place else "contestants") for place, table in enumerate(tables)
    ]


@dataclass(frozen=True)
class TaskRow:
    """Row of the task list: joint result of the votes, and the adjudication."""

    id: int
    item: str
    question: str
    responses: str
    votes: int
    standing: Standing
    majority: str | None
    weighted: str | None
    chance: float | None
    lead_verdict: str | None
    person_vote: str | None
    """Vote of the person whose votes are listed; None if they abstained."""


def list_task_rows(
    connection: Connection, campaign: Campaign, page: int, standing: str = "", person: str = ""
) -> tuple[list[TaskRow], bool, Counter[str]]:
    """Return a page of tasks, True if there are more, and the number of tasks by standing.

    The page can be restricted to one standing, or to tasks that one person voted on.
    """
    every = adjudication.list_tasks(connection, campaign)
    joint = join_votes([vote for task in every for vote in task.votes])
    if person:
        every = [task for task in every if any(vote.person == person for vote in task.votes)]
    filtered_tasks = [task for task in every if not standing or task.standing == standing]
    start = (page - 1) * PAGE
    rows = [_task_row(campaign, task, joint, person) for task in filtered_tasks[start : start + PAGE]]
    return rows, len(filtered_tasks) > start + PAGE, Counter(task.standing for task in every)


def _task_row(campaign: Campaign, task: Task, joint: JoinedVotes, person: str) -> TaskRow:
    content = Content.from_json(task.content)
    most = joint.majority.get(task.id)
    weighted = joint.weighted(task.id) if task.id in joint.votes else None
    question = content.item.question
    label = task.adjudications[-1].label if task.adjudications else None
    person_label = next((vote.label for vote in task.votes if vote.person == person), None)
    return TaskRow(
        task.id, content.item.id, question if len(question) <= 120 else f"{question[:119]}…",
        ", ".join(response.contestant for response in content.responses), len(task.votes),
        task.standing, None if most is None else label_text(campaign, content, most),
        None if weighted is None else label_text(campaign, content, weighted[0]),
        None if weighted is None else round(weighted[1], 3),
        None if label is None else label_text(campaign, content, label),
        None if person_label is None else label_text(campaign, content, person_label),
    )  # fmt: skip


def votes_needed_note(tables: Sequence[Table], votes: int, width: float | None = None) -> Note | None:
    """Say how many more votes bring every interval of the first leaderboard to ± a width.

    The default width is ±25 points of a rating or ±0.1 of a mean. Half the width of an interval shrinks with the square
    root of the votes.
    """
    columns = [column.key for column in tables[0].typed_columns] if tables else []
    metric_column = next(
        (name for name in columns if name.startswith("mean")), "rating" if "rating" in columns else None
    )
    if metric_column is None or not votes:
        return None
    cells = [row[columns.index(metric_column)] for row in tables[0].rows]
    halves = [(cell.high - cell.low) / 2 for cell in cells if isinstance(cell, Estimate) and not cell.why]
    if not halves:
        return None
    now = max(halves)
    width = width or (25.0 if metric_column == "rating" else 0.1)
    missing_votes = max(0, math.ceil(votes * (now / width) ** 2) - votes)
    return Note("web.people.results.more-votes", n=missing_votes, width=width, now=now)


def label_text(campaign: Campaign, content: Content, label: str, *, letters: bool = False) -> str:
    """Return a label with contestants' names (or letters) instead of places, for leads."""
    names = [LETTERS[at] if letters else response.contestant for at, response in enumerate(content.responses)]
    if campaign.kind_name == "pair" and label.isdigit():
        return names[int(label)]
    form = campaign.rules.form
    if isinstance(form, GradedChoice) and (step := form.step_of_token(label)) is not None:
        return form.words(step, names=names)
    if campaign.kind_name == "rank":
        return " > ".join(names[int(place)] for place in label.split(","))
    if campaign.kind_name == "rate":
        return ", ".join(
            f"{LETTERS[at]} {name}: {mark}" for at, (name, mark) in enumerate(zip(names, label.split(","), strict=True))
        )
    return label
