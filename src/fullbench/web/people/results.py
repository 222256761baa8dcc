"""A study's results as tables: contestants, and task by task."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from fullbench.columns.builder import columns_of
from fullbench.figures import leaderboard
from fullbench.nouns.ballot import LETTERS
from fullbench.nouns.headings import headings
from fullbench.nouns.note import Note, word
from fullbench.nouns.table import Cell, Table
from fullbench.stats.joining import VoteRule
from fullbench.web.people import labels
from fullbench.web.people.content import Content
from fullbench.web.people.quality import Together
from fullbench.web.people.studies import Study
from fullbench.web.people.tally import contents

PAGE = 50


def contestants(connection: Connection, study: Study, rule: VoteRule = "default") -> list[Table]:
    """The leaderboards that the votes make: the figures that `fullbench report` shows of a ledger with them."""
    verdicts = [verdict for _, _, verdict in labels.verdicts(connection, study)]
    tables = leaderboard.tables(columns_of(verdicts), leaderboard.Settings(votes=rule)) if verdicts else []
    return [
        replace(table, name=f"contestants-{place}" if place else "contestants") for place, table in enumerate(tables)
    ]


def task_by_task(connection: Connection, study: Study, joint: Together, page: int) -> tuple[Table, bool]:
    """A page of tasks: what most people say, what Dawid-Skene says and how sure it is; and whether there are more."""
    rows: list[list[Cell]] = []
    start = (page - 1) * PAGE
    voted = [entry for entry in contents(connection, study) if entry[0] in joint.votes]
    for task, content in voted[start : start + PAGE]:
        task_content = Content.of(content)
        most, weighted = joint.majority.get(task), joint.weighted(task)
        rows.append([
            task_content.item.id, task_content.item.question[:120], joint.votes[task],
            word("draw") if most is None else spoken(study, task_content, most),
            None if weighted is None else spoken(study, task_content, weighted[0]),
            None if weighted is None else round(weighted[1], 3),
        ])  # fmt: skip
    columns = headings("item", "question", "votes", "majority of votes", "Dawid-Skene", "chance")
    return Table("tasks", Note("web.people.results.title.task-by-task", "Task by task"), columns, rows), len(
        voted
    ) > start + PAGE


def spoken(study: Study, content: Content, label: str) -> str:
    """A label with contestants' names instead of places: for organisers."""
    names = [response.contestant for response in content.responses]
    if study.kind_name == "pair" and label.isdigit():
        return names[int(label)]
    if study.kind_name == "rank":
        return " > ".join(names[int(place)] for place in label.split(","))
    if study.kind_name == "rate":
        return ", ".join(
            f"{LETTERS[at]} {name}: {mark}" for at, (name, mark) in enumerate(zip(names, label.split(","), strict=True))
        )
    return label
