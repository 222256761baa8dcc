"""What comes of a study: every vote as a row, verdicts for a ledger, items that people wrote, answers to queues.

In a ledger people are just judges: the votes of Ann are the verdicts of `human:Ann`, each on the case in the order that
Ann was shown, and what most people say can stand beside them as the verdicts of one more judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from fullbench.errors import InputError
from fullbench.files.nouns import write_rows
from fullbench.files.writers import Columns
from fullbench.ledger.rows import Find
from fullbench.ledger.store import Ledger
from fullbench.nouns.case import Case
from fullbench.nouns.item import Item
from fullbench.nouns.picture import Picture
from fullbench.nouns.verdict import Verdict
from fullbench.web import pictures
from fullbench.web.people.content import Content
from fullbench.web.people.kind import Cast
from fullbench.web.people.kinds import Write
from fullbench.web.people.quality import together
from fullbench.web.people.queue import insert_here
from fullbench.web.people.studies import Study
from fullbench.web.people.tables import kept, slots, tasks, votes
from fullbench.web.people.tally import Vote, contents, counted, judge_name, names
from fullbench.web.settings import Settings

COLUMNS: Columns = {
    "id": "int", "study": "text", "task": "int", "item": "text", "role": "text", "contestants": "json", "judge": "text",
    "revision": "int", "counts": "json", "answer": "json", "shown": "json", "label": "text", "marks": "json",
    "right": "json", "seconds": "float", "at": "float",
}  # fmt: skip
CHUNK = 1000


def finder(settings: Settings, ledger: Ledger | None = None) -> Find:
    """Finds a task's picture by its digest: among what was uploaded, else in the ledger."""
    folder = pictures.uploads_folder(settings)

    def find(digest: str) -> Picture:
        path = folder.path(digest)
        return Picture.read(path) if ledger is None or path.exists() else ledger.picture(digest)

    return find


def rows(connection: Connection, study: Study, *, after: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """Every vote with all its revisions in the order they came; `counts` is true for the revision that counts.

    `after` and `limit` give a part of them, by the votes' ids.
    """
    people = names(connection)
    kind = study.kind
    query = (
        select(votes, tasks.c.role, tasks.c.content, slots.c.revision.label("latest"))
        .join(slots, slots.c.id == votes.c.slot)
        .join(tasks, tasks.c.id == votes.c.task)
        .where(votes.c.study == study.id, votes.c.id > after)
        .order_by(votes.c.id)
        .limit(limit)
    )
    for row in connection.execution_options(yield_per=CHUNK).execute(query):
        label = kind.label(row.answer)
        count = len(row.content["responses"])
        marks = None if label is None else kind.marks(label, study.rules, count)
        yield {
            "id": row.id, "study": study.name, "task": row.task, "item": row.content["item"]["id"], "role": row.role,
            "contestants": [response["contestant"] for response in row.content["responses"]],
            "judge": judge_name(people, row.person), "revision": row.revision, "counts": row.revision == row.latest,
            "answer": row.answer, "shown": row.shown, "label": label,
            "marks": None if marks is None else list(marks), "right": row.right, "seconds": row.seconds, "at": row.at,
        }  # fmt: skip


def export(connection: Connection, study: Study, path: Path) -> int:
    """Write every vote to a file by its suffix (.jsonl, .parquet, .csv ...); how many rows there are."""
    return write_rows(path, rows(connection, study), COLUMNS)


def verdicts(
    connection: Connection, study: Study, find: Find | None = None, *, people_together: str = ""
) -> Iterator[tuple[Vote | None, int, Case, Verdict]]:
    """Every vote that counts as verdicts, and with `people_together` the majority as those of a judge of that name."""
    people = names(connection)
    counted_votes = counted(connection, study)
    by_task: dict[int, list[Vote]] = {}
    for vote in counted_votes:
        by_task.setdefault(vote.task, []).append(vote)
    most = together(counted_votes).majority if people_together else {}
    for task, content in contents(connection, study):
        task_votes = by_task.get(task)
        if not task_votes:
            continue
        task_content = Content.of(content, find)
        for vote in task_votes:
            cast = Cast(vote.answer, study.rules, task_content, vote.shown, judge_name(people, vote.person), vote.at)
            for case, verdict in study.kind.verdicts(cast):
                yield vote, task, case, verdict
        label = most.get(task)
        marks = None if label is None else study.kind.marks(label, study.rules, len(task_content.responses))
        if marks is not None:
            case = task_content.case(study.rules.ballot, study.rules.criterion, range(len(task_content.responses)))
            yield None, task, case, Verdict.of(case, people_together, marks, at=max(vote.at for vote in task_votes))


@dataclass(frozen=True)
class Kept:
    """What a ledger took: new verdicts, those it had, and those whose vote was changed since."""

    new: int
    known: int
    changed: int


def keep(connection: Connection, study: Study, ledger: Ledger, find: Find, *, people_together: str = "") -> Kept:
    """Put every vote that counts into a ledger, where it stays: one that was changed later is counted, not replaced."""
    if isinstance(study.kind, Write):
        raise InputError("what people wrote are items, not verdicts: export them as items")
    before = {
        (row.case_key, row.judge): row.vote
        for row in connection.execute(
            select(kept).join(tasks, tasks.c.id == kept.c.task).where(tasks.c.study == study.id)
        )
    }
    new = known = changed = 0
    noted = []
    for vote, task, case, verdict in verdicts(connection, study, find, people_together=people_together):
        place = (verdict.case, verdict.judge)
        number = 0 if vote is None else vote.id
        if place in before:
            known += 1
            changed += before[place] != number
            continue
        if ledger.heard(verdict.judge, [(verdict.case, verdict.trial)]):
            known += 1
        else:
            ledger.add(case, verdict)
            new += 1
        noted.append({"case_key": verdict.case, "judge": verdict.judge, "task": task, "vote": number})
    ledger.flush()
    for start in range(0, len(noted), CHUNK):
        connection.execute(insert_here(connection, kept).on_conflict_do_nothing(), noted[start : start + CHUNK])
    return Kept(new, known, changed)


def written(connection: Connection, study: Study, find: Find | None = None) -> Iterator[Item]:
    """The items that people wrote in a `write` study."""
    kind = study.kind
    if not isinstance(kind, Write):
        raise InputError(f"people write items in a study of the kind write; {study.name!r} is of the kind {kind.name}")
    by_task = dict(contents(connection, study))
    for number, vote in enumerate(counted(connection, study), 1):
        content = Content.of(by_task[vote.task], find)
        item = kind.item(vote.answer, content, f"{content.item.id}-w{number}")
        if item is not None:
            yield item


def answered(connection: Connection, study: Study) -> Iterator[dict[str, Any]]:
    """Answers to the queues of `fullbench compose`, as rows that `fullbench compose accept` reads.

    The majority decides; where it is a draw the row waits. The text is that of the first who agrees with the majority.
    """
    if study.kind_name not in {"rewrite", "verify"}:
        raise InputError(f"queues hold rewordings and references; {study.name!r} is of the kind {study.kind_name}")
    counted_votes = counted(connection, study)
    most = together(counted_votes).majority
    for task, content in contents(connection, study):
        label = most.get(task)
        first = next((vote for vote in counted_votes if vote.task == task and vote.label == label and label), None)
        yield _queue_row(study.kind_name, content, label, {} if first is None else first.answer)


def _queue_row(kind: str, content: Any, label: str | None, answer: dict[str, Any]) -> dict[str, Any]:
    task = Content.of(content)
    if kind == "rewrite":
        response = task.responses[0]
        return {
            "seed": task.item.id, "variant": int(task.about.get("variant", 1)), "question": task.item.question,
            "text": answer.get("text", response.text), "same": label, "writer": response.contestant,
        }  # fmt: skip
    return {
        "item": task.item.id, "question": task.item.question, "reference": task.item.reference,
        "accept": label, "reason": answer.get("complaint"), "note": answer.get("reason"),
    }  # fmt: skip
