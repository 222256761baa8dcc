"""What comes of a study: every vote as a row, verdicts for a ledger, items that people wrote, answers to queues.

In a ledger people are one judge, `human`; who of them voted is the verdict's `rater`, a random id whose name only this
database knows. Each vote is on the case in the order that the person was shown. Joining several votes is the business
of figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from fullbench.core.case import Case
from fullbench.core.item import AUTHOR, Item
from fullbench.core.note import Note
from fullbench.core.picture import Picture
from fullbench.core.verdict import ADJUDICATION, PEOPLE, PILOT, Verdict
from fullbench.errors import InputError
from fullbench.files.item_files import write_rows
from fullbench.files.writers import Columns
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.row_conversion import Find
from fullbench.studies.run.study_inputs import VERIFIED
from fullbench.web import picture_serving
from fullbench.web.accounts.users import Pseudonyms, pseudonyms
from fullbench.web.campaigns.campaign_tables import kept, slots, tasks, votes
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.tasks.task_content import Content, contestant
from fullbench.web.campaigns.tasks.task_kind_base import Cast, Kind
from fullbench.web.campaigns.tasks.task_kinds import Write
from fullbench.web.campaigns.votes import adjudication
from fullbench.web.campaigns.votes.counted_votes import Vote, contents, counted, names, raters
from fullbench.web.campaigns.votes.vote_quality import together
from fullbench.web.database import insert_here
from fullbench.web.site_settings import Settings

COLUMNS: Columns = {
    "id": "int", "study": "text", "task": "int", "item": "text", "role": "text", "contestants": "json", "judge": "text",
    "rater": "text", "revision": "int", "counts": "json", "answer": "json", "shown": "json", "label": "text",
    "marks": "json", "right": "json", "seconds": "float", "at": "float", "guideline": "text", "probability": "float",
    "pilot": "json", "ballot": "text", "criterion": "text",
}  # fmt: skip
CHUNK = 1000


def finder(settings: Settings, ledger: Ledger | None = None) -> Find:
    """Finds a task's picture by its digest: among what was uploaded, else in the ledger."""
    folder = picture_serving.uploads_folder(settings)

    def find(digest: str) -> Picture:
        path = folder.path(digest)
        return Picture.read(path) if ledger is None or path.exists() else ledger.picture(digest)

    return find


def rows(connection: Connection, study: Study, *, after: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """Every vote with all its revisions in the order they came; `counts` is true for the revision that counts.

    `after` and `limit` give a part of them, by the votes' ids.
    """
    people, accounts = raters(connection), pseudonyms(connection)
    kind = study.kind
    query = (
        select(votes, tasks.c.role, tasks.c.content, tasks.c.probability, slots.c.revision.label("latest"))
        .join(slots, slots.c.id == votes.c.slot)
        .join(tasks, tasks.c.id == votes.c.task)
        .where(votes.c.study == study.id, votes.c.id > after)
        .order_by(votes.c.id)
        .limit(limit)
    )
    for row in connection.execution_options(yield_per=CHUNK).execute(query):
        yield {
            "id": row.id, **_about(study, row.task, row.content, row.role, accounts), "judge": PEOPLE,
            "rater": people.get(row.person, row.person), "revision": row.revision,
            "counts": row.revision == row.latest, **_said_by(kind, study, row.content, row.answer), "shown": row.shown,
            "right": row.right, "seconds": row.seconds, "at": row.at, "guideline": row.guideline,
            "probability": row.probability,
        }  # fmt: skip


def _about(study: Study, task: int, content: Any, role: str, accounts: Pseudonyms) -> dict[str, Any]:
    return {
        "study": study.name, "task": task, "item": content["item"]["id"], "role": role,
        "contestants": [contestant(response["contestant"], accounts) for response in content["responses"]],
        "pilot": study.is_pilot, "ballot": study.rules.ballot, "criterion": study.rules.criterion,
    }  # fmt: skip


def _said_by(kind: Kind, study: Study, content: Any, answer: dict[str, Any]) -> dict[str, Any]:
    label = kind.label(answer)
    marks = None if label is None else kind.marks(label, study.rules, len(content["responses"]))
    return {"answer": answer, "label": label, "marks": None if marks is None else list(marks)}


def ruling_rows(connection: Connection, study: Study) -> Iterator[dict[str, Any]]:
    """What leads ruled on splits, a row each with all revisions, under the judge's name that rulings have."""
    people, by_task, accounts = raters(connection), dict(contents(connection, study)), pseudonyms(connection)
    rulings = adjudication.rulings(connection, study, revisions=True)
    latest = {ruling.task: ruling.revision for ruling in rulings}
    for ruling in rulings:
        content = by_task[ruling.task]
        yield {
            "id": ruling.id, **_about(study, ruling.task, content, ruling.role, accounts), "judge": ADJUDICATION,
            "rater": people.get(ruling.person, ruling.person), "revision": ruling.revision,
            "counts": ruling.revision == latest[ruling.task],
            **_said_by(study.kind, study, content, ruling.answer), "shown": list(range(len(content["responses"]))),
            "right": None, "seconds": 0.0, "at": ruling.at, "guideline": ruling.guideline, "probability": None,
        }  # fmt: skip


def export(connection: Connection, study: Study, path: Path) -> int:
    """Write every vote, and leads' rulings after them, to a file by its suffix (.jsonl, .parquet, .csv ...); how many
    rows there are."""
    return write_rows(path, chain(rows(connection, study), ruling_rows(connection, study)), COLUMNS)


def verdicts(
    connection: Connection,
    study: Study,
    find: Find | None = None,
    *,
    revisions: bool = False,
    named: Collection[str] = (),
) -> Iterator[tuple[Vote, Case, Verdict]]:
    """Every vote that counts (with `revisions` also those that were changed since) as verdicts, by task and time.

    Whoever wrote an answer stands there by a random id, but for the contestants `human:NAME` that are `named`.
    """
    people, accounts = raters(connection), pseudonyms(connection)
    by_task: dict[int, list[Vote]] = {}
    cast_votes = counted(connection, study, revisions=revisions)
    for vote in chain(cast_votes, adjudication.rulings(connection, study, revisions=revisions)):
        by_task.setdefault(vote.task, []).append(vote)
    for task, content in contents(connection, study):
        if task not in by_task:
            continue
        task_content = Content.of(content, find).unnamed(accounts, named)
        for vote in by_task[task]:
            # Leads rule as one, so that a later ruling takes the place of another lead's; who it was is known here.
            rater = ADJUDICATION if vote.role == adjudication.ROLE else people.get(vote.person, vote.person)
            by_lead = vote.role == adjudication.ROLE
            shown = range(len(task_content.responses)) if by_lead else vote.shown
            cast = Cast(
                vote.answer, study.rules, task_content, shown, rater, vote.at, vote.guideline, vote.probability, by_lead
            )  # fmt: skip
            for case, verdict in study.kind.verdicts(cast):
                yield vote, case, verdict


@dataclass(frozen=True)
class Kept:
    """What a ledger took: new verdicts, how many of them are changes of earlier votes, those it had, votes that are
    older than what the same person said in the ledger since, and contestants that were called by an account's name."""

    new: int
    changed: int
    known: int
    older: int
    renamed: int


def keep(connection: Connection, study: Study, ledger: Ledger, find: Find, *, pilot: bool = False) -> Kept:
    """Put every vote of a study into a ledger, one verdict a person; a changed vote is a revision, and both stay.

    What leads ruled goes beside them, under a judge's name of its own. Votes of a pilot go only where `pilot` asks for
    them; their raters are marked, so that they can be told from the others for ever.
    """
    if study.is_pilot and not pilot:
        raise InputError(
            Note(
                "web.wrong.pilot-votes-are-left-out",
                "{name!r} is a pilot; its votes stay out of ledgers unless you ask for them with --pilot",
                name=study.name,
            )
        )
    if isinstance(study.kind, Write):
        raise InputError("what people wrote are items, not verdicts: export them as items")
    account_names = names(connection)
    new = changed = known = older = 0
    named_there, renamed = _named_there(connection, study, ledger)
    incoming = verdicts(connection, study, find, revisions=True, named=named_there)
    while chunk := list(islice(incoming, CHUNK)):
        if study.is_pilot:
            chunk = [(vote, case, replace(verdict, rater=f"{PILOT}{verdict.rater}")) for vote, case, verdict in chunk]
        earlier = _said(ledger, {verdict.case for _, _, verdict in chunk})
        noted = {(case.key, vote.task) for vote, case, _ in chunk}
        for vote, case, verdict in chunk:
            # A file of labels may name the person: the vote is a revision of that label, not a second vote.
            rater_names = (verdict.rater, account_names.get(vote.person, ""))
            rater = next((name for name in rater_names if (verdict.judge, case.key, name) in earlier), verdict.rater)
            before = earlier.setdefault((verdict.judge, case.key, rater), [])
            if any(past.at == verdict.at for past in before):
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
    return Kept(new, changed, known, older, renamed)


def _named_there(connection: Connection, study: Study, ledger: Ledger) -> tuple[set[str], int]:
    """The contestants `human:NAME` of a study whose answers a ledger has under that name of an account.

    Keys are made of names, so the votes stay on those answers; an alias lets all of them be read under the random id.
    How many got one now is said with them.
    """
    accounts, there, renamed = pseudonyms(connection), set(), 0
    written_by = {
        response["contestant"] for _, content in contents(connection, study) for response in content["responses"]
    }
    for name in sorted(written_by):
        unnamed = contestant(name, accounts)
        if unnamed == name:
            continue
        if name in ledger.formers("contestant", unnamed):
            there.add(name)
        elif next(iter(ledger.responses(name)), None) is not None:
            ledger.alias("contestant", name, unnamed)
            renamed += 1
            there.add(name)
    return there, renamed


def _said(ledger: Ledger, cases: set[str]) -> dict[tuple[str, str, str], list[Verdict]]:
    """What people and leads ruled on cases so far, by judge, case and rater, every revision in order."""
    rulings: dict[tuple[str, str, str], list[Verdict]] = {}
    for judge in (PEOPLE, ADJUDICATION):
        for verdict in ledger.verdicts(judge, cases=cases, texts=False, revisions=True):
            rulings.setdefault((judge, verdict.case, verdict.rater), []).append(verdict)
    for some in rulings.values():
        some.sort(key=lambda ruling: ruling.revision)
    return rulings


def written(connection: Connection, study: Study, find: Find | None = None) -> Iterator[Item]:
    """The items that people wrote in a `write` study."""
    kind = study.kind
    if not isinstance(kind, Write):
        raise InputError(f"people write items in a study of the kind write; {study.name!r} is of the kind {kind.name}")
    by_task, people = dict(contents(connection, study)), raters(connection)
    for number, vote in enumerate(counted(connection, study), 1):
        content = Content.of(by_task[vote.task], find)
        item = kind.item(vote.answer, content, f"{content.item.id}-w{number}", find)
        if item is not None:
            # Whoever wrote it does not judge it in a later study.
            author = {AUTHOR: people.get(vote.person, vote.person)}
            yield _referenced(replace(item, tags={**item.tags, **author}), vote.answer)


def _referenced(item: Item, answer: Mapping[str, Any]) -> Item:
    """The item with the reference that somebody wrote, not verified until others accept it."""
    if "reference" not in answer:
        return item
    tags = {tag: value for tag, value in item.tags.items() if tag != "label"}
    return replace(item, reference=str(answer["reference"]), tags={**tags, VERIFIED: "no"})


def answered(connection: Connection, study: Study) -> Iterator[dict[str, Any]]:
    """Answers to the queues of `fullbench compose`, as rows that `fullbench compose accept` reads.

    A lead's ruling decides where there is one, else the majority; where that is a draw the row waits. A text is that of
    the first who agrees with the majority; whose fault it is and what is wrong is what most of those say, of equally
    many the first; notes are all there.
    """
    if study.kind_name not in {"rewrite", "verify"}:
        raise InputError(f"queues hold rewordings and references; {study.name!r} is of the kind {study.kind_name}")
    counted_votes = counted(connection, study)
    most = together(counted_votes).majority
    by_task: dict[int, list[Vote]] = {}
    for vote in counted_votes:
        by_task.setdefault(vote.task, []).append(vote)
    for ruling in adjudication.rulings(connection, study):
        by_task[ruling.task], most[ruling.task] = [ruling], ruling.label
    for task, content in contents(connection, study):
        label = most.get(task)
        agreeing = [vote.answer for vote in by_task.get(task, ()) if label and vote.label == label]
        yield _queue_row(study.kind_name, content, label, agreeing)


def _commonest(answers: Sequence[dict[str, Any]], name: str) -> Any:
    """What most answers say of something, of equally many the first; None where none says anything."""
    said = Counter(answer[name] for answer in answers if answer.get(name))
    return said.most_common(1)[0][0] if said else None


def _queue_row(kind: str, content: Any, label: str | None, agreeing: Sequence[dict[str, Any]]) -> dict[str, Any]:
    task = Content.of(content)
    if kind == "rewrite":
        response = task.responses[0]
        answer = agreeing[0] if agreeing else {}
        return {
            "seed": task.item.id, "variant": int(task.about.get("variant", 1)), "question": task.item.question,
            "text": answer.get("text", response.text), "same": label, "writer": response.contestant,
        }  # fmt: skip
    return {
        "item": task.item.id, "question": task.item.question, "reference": task.item.reference,
        "accept": label, "reason": _commonest(agreeing, "complaint"), "fault": _commonest(agreeing, "fault"),
        "note": " / ".join(answer["reason"] for answer in agreeing if answer.get("reason")) or None,
    }  # fmt: skip
