"""What comes of a study: every vote as a row, verdicts for a ledger, items that people wrote, answers to queues.

In a ledger people are one judge, `human`; who of them voted is the verdict's `rater`, a random id whose name only this
database knows. Each vote is on the case in the order that the person was shown. Joining several votes is the business
of figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
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
from fullbench.nouns.verdict import PEOPLE, Verdict
from fullbench.web import pictures
from fullbench.web.database import insert_here
from fullbench.web.people.content import Content
from fullbench.web.people.kind import Cast
from fullbench.web.people.kinds import Write
from fullbench.web.people.quality import together
from fullbench.web.people.studies import Study
from fullbench.web.people.tables import kept, slots, tasks, votes
from fullbench.web.people.tally import Vote, contents, counted, names, raters
from fullbench.web.settings import Settings

COLUMNS: Columns = {
    "id": "int", "study": "text", "task": "int", "item": "text", "role": "text", "contestants": "json", "judge": "text",
    "rater": "text", "revision": "int", "counts": "json", "answer": "json", "shown": "json", "label": "text",
    "marks": "json", "right": "json", "seconds": "float", "at": "float", "guideline": "text",
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
    people = raters(connection)
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
            "contestants": [one["contestant"] for one in row.content["responses"]],
            "judge": PEOPLE, "rater": people.get(row.person, row.person), "revision": row.revision,
            "counts": row.revision == row.latest, "answer": row.answer, "shown": row.shown, "label": label,
            "marks": None if marks is None else list(marks), "right": row.right, "seconds": row.seconds, "at": row.at,
            "guideline": row.guideline,
        }  # fmt: skip


def export(connection: Connection, study: Study, path: Path) -> int:
    """Write every vote to a file by its suffix (.jsonl, .parquet, .csv ...); how many rows there are."""
    return write_rows(path, rows(connection, study), COLUMNS)


def verdicts(
    connection: Connection, study: Study, find: Find | None = None, *, revisions: bool = False
) -> Iterator[tuple[Vote, Case, Verdict]]:
    """Every vote that counts (with `revisions` also those that were changed since) as verdicts, by task and time."""
    people = raters(connection)
    by_task: dict[int, list[Vote]] = {}
    for vote in counted(connection, study, revisions=revisions):
        by_task.setdefault(vote.task, []).append(vote)
    for task, content in contents(connection, study):
        if task not in by_task:
            continue
        made = Content.of(content, find)
        for vote in by_task[task]:
            rater = people.get(vote.person, vote.person)
            cast = Cast(vote.answer, study.rules, made, vote.shown, rater, vote.at, vote.guideline)
            for case, verdict in study.kind.verdicts(cast):
                yield vote, case, verdict


@dataclass(frozen=True)
class Kept:
    """What a ledger took: new verdicts, how many of them are changes of earlier votes, those it had, and votes that
    are older than what the same person said in the ledger since."""

    new: int
    changed: int
    known: int
    older: int


def keep(connection: Connection, study: Study, ledger: Ledger, find: Find) -> Kept:
    """Put every vote of a study into a ledger, one verdict a person; a changed vote is a revision, and both stay."""
    if isinstance(study.kind, Write):
        raise InputError("what people wrote are items, not verdicts: export them as items")
    names_of_old = names(connection)
    new = changed = known = older = 0
    given = verdicts(connection, study, find, revisions=True)
    while chunk := list(islice(given, CHUNK)):
        said = _said(ledger, {verdict.case for _, _, verdict in chunk})
        noted = {(case.key, vote.task) for vote, case, _ in chunk}
        for vote, case, verdict in chunk:
            # The first release kept votes under people's names: such a vote is continued, not cast a second time.
            rater = next((one for one in (verdict.rater, names_of_old.get(vote.person, "")) if (case.key, one) in said),
                         verdict.rater)  # fmt: skip
            before = said.setdefault((case.key, rater), [])
            if any(one.at == verdict.at for one in before):
                known += 1
            elif before and before[-1].at > verdict.at:
                older += 1
            else:
                revision = before[-1].revision + 1 if before else 0
                fresh = replace(verdict, rater=rater, revision=revision)
                ledger.add(case, fresh)
                before.append(fresh)
                new += 1
                changed += revision > 0
        rows_of = [{"case_key": case, "task": task} for case, task in sorted(noted)]
        connection.execute(insert_here(connection, kept).on_conflict_do_nothing(), rows_of)
    ledger.flush()
    return Kept(new, changed, known, older)


def _said(ledger: Ledger, cases: set[str]) -> dict[tuple[str, str], list[Verdict]]:
    """What people ruled on cases so far, by case and rater, every revision in order."""
    said: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in ledger.verdicts(PEOPLE, cases=cases, texts=False, revisions=True):
        said.setdefault((verdict.case, verdict.rater), []).append(verdict)
    for some in said.values():
        some.sort(key=lambda one: one.revision)
    return said


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
        "accept": label, "reason": answer.get("complaint"), "note": answer.get("reason"), "fault": answer.get("fault"),
    }  # fmt: skip
