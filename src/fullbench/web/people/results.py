"""A study's results as tables: contestants, and task by task."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean

from sqlalchemy import Connection

from fullbench.figures.gaps import Gaps
from fullbench.nouns.ballot import LETTERS
from fullbench.nouns.headings import headings
from fullbench.nouns.note import Note, word
from fullbench.nouns.table import Cell, Table
from fullbench.stats.bootstrap import bootstrap
from fullbench.stats.weighted import mean
from fullbench.web.people.content import Content
from fullbench.web.people.quality import Together
from fullbench.web.people.studies import Study
from fullbench.web.people.tally import Vote, contents

PAGE = 50


def contestants(connection: Connection, study: Study, votes: Sequence[Vote]) -> Table | None:
    """Each contestant's mean mark over its tasks, each task by the mean of its votes; None where nothing is marked."""
    marks: dict[tuple[int, int], list[float]] = {}
    for vote in votes:
        ruled = None if vote.label is None else study.kind.marks(vote.label, study.rules, len(vote.shown))
        for place, mark in enumerate(ruled or ()):
            marks.setdefault((vote.task, place), []).append(mark)
    means: dict[str, list[float]] = {}
    for task, content in contents(connection, study) if marks else ():
        for place, response in enumerate(content["responses"]):
            if (task, place) in marks:
                means.setdefault(response["contestant"], []).append(fmean(marks[task, place]))
    if not means:
        return None
    gaps = Gaps()
    rows: list[list[Cell]] = [
        [name, gaps.cell(name, partial(bootstrap, mean, values, resamples=500))] for name, values in means.items()
    ]
    rows.sort(key=lambda row: -fmean(means[str(row[0])]))
    what = {"pair": "share of votes won", "rank": "mean mark, n for the best of n"}.get(study.kind_name, "mean mark")
    return Table(
        "contestants",
        Note("web.people.results.title.contestants", "Contestants"),
        headings("contestant", what),
        rows,
        [Note("web.people.results.tasks-are-resampled-n-is", "Tasks are resampled; n is tasks."), *gaps.notes],
    )


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
