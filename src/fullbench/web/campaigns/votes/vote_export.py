"""Export of a campaign: votes as rows, verdicts for a ledger, items that people wrote, answers to queues.

In a ledger all people are one judge, `human`. The verdict's `rater` is a random id whose name only this database has.
Each vote is on the case in the order that the person saw. Reports join several votes, not this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from fullbench.core import media
from fullbench.core.case import Case
from fullbench.core.item import AUTHOR, Item
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import ADJUDICATION, PEOPLE, PILOT, Verdict
from fullbench.errors import InputError
from fullbench.files.row_writers import Columns, write_rows
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.row_conversion import FindMedia
from fullbench.studies.run.study_items_responses_and_labels import VERIFIED_TAG
from fullbench.web import picture_checks_storage_and_serving
from fullbench.web.accounts.users import Pseudonyms, load_pseudonyms
from fullbench.web.campaigns.campaign_tables import exported_cases, slots, tasks, votes
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.tasks.task_content import Content, pseudonymous_contestant
from fullbench.web.campaigns.tasks.task_kind_base import CastVote, Kind
from fullbench.web.campaigns.tasks.task_kinds import Write
from fullbench.web.campaigns.votes import adjudication
from fullbench.web.campaigns.votes.counted_vote_loader import (
    Vote,
    account_names,
    load_counted_votes,
    rater_ids,
    task_contents,
)
from fullbench.web.campaigns.votes.progress_annotator_agreement_and_joined_votes import join_votes
from fullbench.web.database import dialect_insert
from fullbench.web.site_settings_and_worker_transfer import Settings

COLUMNS: Columns = {
    "id": "int", "study": "text", "task": "int", "item": "text", "role": "text", "contestants": "json", "judge": "text",
    "rater": "text", "revision": "int", "counts": "json", "answer": "json", "shown": "json", "label": "text",
    "marks": "json", "right": "json", "seconds": "float", "at": "float", "guideline": "text", "probability": "float",
    "pilot": "json", "ballot": "text", "criterion": "text",
}  # fmt: skip
CHUNK = 1000


def picture_finder(settings: Settings, ledger: Ledger | None = None) -> FindMedia:
    """Return a function that finds a picture by digest: in the uploads, else in the ledger."""
    folder = picture_checks_storage_and_serving.uploads_folder(settings)

    def find(digest: str, kind: media.Kind) -> media.Media:
        path = folder.path(digest)
        return media.read_media(path) if ledger is None or path.exists() else ledger.media(digest, kind)

    return find


def vote_rows(
    connection: Connection, campaign: Campaign, *, after: int = 0, limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """Return every vote with all revisions in order of arrival; `counts` is true for the one that counts.

    `after` (a vote id) and `limit` select a part of them.
    """
    people, accounts = rater_ids(connection), load_pseudonyms(connection)
    kind = campaign.kind
    query = (
        select(votes, tasks.c.role, tasks.c.content, tasks.c.probability, slots.c.revision.label("latest"))
        .join(slots, slots.c.id == votes.c.slot)
        .join(tasks, tasks.c.id == votes.c.task)
        .where(votes.c.study == campaign.id, votes.c.id > after)
        .order_by(votes.c.id)
        .limit(limit)
    )
    for row in connection.execution_options(yield_per=CHUNK).execute(query):
        yield {
            "id": row.id,
            **_task_fields(campaign, row.task, row.content, row.role, accounts),
            "judge": PEOPLE,
            "rater": people.get(row.person, row.person),
            "revision": row.revision,
            "counts": row.revision == row.latest,
            **_answer_fields(kind, campaign, row.content, row.answer),
            "shown": row.shown,
            "right": row.right,
            "seconds": row.seconds,
            "at": row.at,
            "guideline": row.guideline,
            "probability": row.probability,
        }


def _task_fields(campaign: Campaign, task: int, content: Any, role: str, accounts: Pseudonyms) -> dict[str, Any]:
    return {
        "study": campaign.name, "task": task, "item": content["item"]["id"], "role": role,
        "contestants": [pseudonymous_contestant(response["contestant"], accounts) for response in content["responses"]],
        "pilot": campaign.is_pilot, "ballot": campaign.rules.ballot, "criterion": campaign.rules.criterion,
    }  # fmt: skip


def _answer_fields(kind: Kind, campaign: Campaign, content: Any, answer: dict[str, Any]) -> dict[str, Any]:
    label = kind.label(answer)
    marks = None if label is None else kind.marks(label, campaign.rules, len(content["responses"]))
    return {"answer": answer, "label": label, "marks": None if marks is None else list(marks)}


def adjudication_rows(connection: Connection, campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Return leads' adjudications with all revisions, one row each, under the judge's name for adjudications."""
    people, by_task, accounts = (
        rater_ids(connection),
        dict(task_contents(connection, campaign)),
        load_pseudonyms(connection),
    )
    verdicts = adjudication.list_adjudications(connection, campaign, revisions=True)
    latest = {verdict.task: verdict.revision for verdict in verdicts}
    for verdict in verdicts:
        content = by_task[verdict.task]
        yield {
            "id": verdict.id,
            **_task_fields(campaign, verdict.task, content, verdict.role, accounts),
            "judge": ADJUDICATION,
            "rater": people.get(verdict.person, verdict.person),
            "revision": verdict.revision,
            "counts": verdict.revision == latest[verdict.task],
            **_answer_fields(campaign.kind, campaign, content, verdict.answer),
            "shown": list(range(len(content["responses"]))),
            "right": None,
            "seconds": 0.0,
            "at": verdict.at,
            "guideline": verdict.guideline,
            "probability": None,
        }


def export_votes(connection: Connection, campaign: Campaign, path: Path) -> int:
    """Write all votes, then adjudications, to a file by suffix (.jsonl, .parquet, .csv ...); return the row count."""
    return write_rows(path, chain(vote_rows(connection, campaign), adjudication_rows(connection, campaign)), COLUMNS)


def vote_verdicts(
    connection: Connection,
    campaign: Campaign,
    find: FindMedia | None = None,
    *,
    revisions: bool = False,
    named_contestants: Collection[str] = (),
) -> Iterator[tuple[Vote, Case, Verdict]]:
    """Return every vote that counts (with `revisions`, also replaced ones) as verdicts, by task and time.

    Authors of answers are shown by random ids, except the contestants `human:NAME` in `named_contestants`.
    """
    people, accounts = rater_ids(connection), load_pseudonyms(connection)
    by_task: dict[int, list[Vote]] = {}
    cast_votes = load_counted_votes(connection, campaign, revisions=revisions)
    for vote in chain(cast_votes, adjudication.list_adjudications(connection, campaign, revisions=revisions)):
        by_task.setdefault(vote.task, []).append(vote)
    for task, content in task_contents(connection, campaign):
        if task not in by_task:
            continue
        task_content = Content.from_json(content, find).with_pseudonyms(accounts, named_contestants)
        for vote in by_task[task]:
            # All leads share one rater, so a later adjudication replaces another lead's. This database has their names.
            rater = ADJUDICATION if vote.role == adjudication.ROLE else people.get(vote.person, vote.person)
            by_lead = vote.role == adjudication.ROLE
            display_order = range(len(task_content.responses)) if by_lead else vote.display_order
            cast = CastVote(
                vote.answer,
                campaign.rules,
                task_content,
                display_order,
                rater,
                vote.at,
                vote.guideline,
                vote.probability,
                by_lead,
            )
            for case, verdict in campaign.kind.verdicts(cast):
                yield vote, case, verdict


@dataclass(frozen=True)
class ExportCounts:
    """Counts of an export to a ledger.

    They are: new verdicts, how many of those change an earlier vote, verdicts already there, votes older than the same
    person's latest verdict there, and contestants renamed because they had an account's name.
    """

    new_count: int
    changed_count: int
    known_count: int
    older_count: int
    renamed_count: int


def export_to_ledger(
    connection: Connection, campaign: Campaign, ledger: Ledger, find: FindMedia, *, pilot: bool = False
) -> ExportCounts:
    """Add every vote of a campaign to a ledger, one verdict per person; a changed vote is a revision and both stay.

    Adjudications are added under their own judge name. Votes of a pilot are added only with `pilot`; their raters are
    marked so that they can always be distinguished.
    """
    if campaign.is_pilot and not pilot:
        raise InputError(Note("web.wrong.pilot-votes-are-left-out", name=campaign.name))
    if isinstance(campaign.kind, Write):
        raise InputError("people wrote items here, not verdicts: export them with --what items")
    names_by_account = account_names(connection)
    new_count = changed_count = known_count = older_count = 0
    named_there, renamed_count = _contestants_named_in_ledger(connection, campaign, ledger)
    incoming = vote_verdicts(connection, campaign, find, revisions=True, named_contestants=named_there)
    while chunk := list(islice(incoming, CHUNK)):
        if campaign.is_pilot:
            chunk = [(vote, case, replace(verdict, rater=f"{PILOT}{verdict.rater}")) for vote, case, verdict in chunk]
        earlier = _verdicts_by_rater(ledger, {verdict.case for _, _, verdict in chunk})
        case_tasks = {(case.key, vote.task) for vote, case, _ in chunk}
        for vote, case, verdict in chunk:
            # A label file may name the person: then the vote is a revision of that label, not a second vote.
            rater_names = (verdict.rater, names_by_account.get(vote.person, ""))
            rater = next((name for name in rater_names if (verdict.judge, case.key, name) in earlier), verdict.rater)
            before = earlier.setdefault((verdict.judge, case.key, rater), [])
            # The time of a vote identifies it: an equal time was exported before.
            if any(past.at == verdict.at for past in before):
                known_count += 1
            elif before and before[-1].at > verdict.at:
                older_count += 1
            else:
                revision = before[-1].revision + 1 if before else 0
                fresh = replace(verdict, rater=rater, revision=revision)
                ledger.add(case, fresh)
                before.append(fresh)
                new_count += 1
                changed_count += revision > 0
        rows_of = [{"case_key": case, "task": task} for case, task in sorted(case_tasks)]
        connection.execute(dialect_insert(connection, exported_cases).on_conflict_do_nothing(), rows_of)
    ledger.flush()
    return ExportCounts(new_count, changed_count, known_count, older_count, renamed_count)


def _contestants_named_in_ledger(connection: Connection, campaign: Campaign, ledger: Ledger) -> tuple[set[str], int]:
    """Return contestants `human:NAME` that the ledger has under an account's name, and the number of new aliases.

    Keys contain names, so votes must stay on those answers. An alias shows them under the random id.
    """
    accounts, there, renamed_count = load_pseudonyms(connection), set(), 0
    written_by = {
        response["contestant"]
        for _, content in task_contents(connection, campaign)
        for response in content["responses"]
    }
    for name in sorted(written_by):
        pseudonym = pseudonymous_contestant(name, accounts)
        if pseudonym == name:
            continue
        if name in ledger.former_names("contestant", pseudonym):
            there.add(name)
        elif next(iter(ledger.responses(name)), None) is not None:
            ledger.alias("contestant", name, pseudonym)
            renamed_count += 1
            there.add(name)
    return there, renamed_count


def _verdicts_by_rater(ledger: Ledger, cases: set[str]) -> dict[tuple[str, str, str], list[Verdict]]:
    verdicts: dict[tuple[str, str, str], list[Verdict]] = {}
    for judge in (PEOPLE, ADJUDICATION):
        for verdict in ledger.verdicts(judge, cases=cases, texts=False, revisions=True):
            verdicts.setdefault((judge, verdict.case, verdict.rater), []).append(verdict)
    for some in verdicts.values():
        some.sort(key=lambda verdict: verdict.revision)
    return verdicts


def written_items(connection: Connection, campaign: Campaign, find: FindMedia | None = None) -> Iterator[Item]:
    """Return the items that people wrote in a `write` campaign."""
    kind = campaign.kind
    if not isinstance(kind, Write):
        raise InputError(f"only campaigns of kind write have items; {campaign.name!r} is of kind {kind.name}")
    by_task, people = dict(task_contents(connection, campaign)), rater_ids(connection)
    for number, vote in enumerate(load_counted_votes(connection, campaign), 1):
        content = Content.from_json(by_task[vote.task], find)
        item = kind.item(vote.answer, content, f"{content.item.id}-w{number}", find)
        if item is not None:
            # The author tag keeps this person from judging the item in a later campaign.
            author = {AUTHOR: people.get(vote.person, vote.person)}
            yield _with_written_reference(replace(item, tags={**item.tags, **author}), vote.answer)


def _with_written_reference(item: Item, answer: Mapping[str, Any]) -> Item:
    """A written reference is unverified until others accept it."""
    if "reference" not in answer:
        return item
    tags = {tag: value for tag, value in item.tags.items() if tag != "label"}
    return replace(item, reference=str(answer["reference"]), tags={**tags, VERIFIED_TAG: "no"})


def queue_answer_rows(connection: Connection, campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Return answers to queues of `fullbench compose`, as rows that `fullbench compose accept` reads.

    An adjudication decides, else the majority; on a draw the row waits. The text comes from the first person who agrees
    with the majority. Fault and complaint are the most common among those who agree, the first on equal counts. All
    notes are included.
    """
    if campaign.kind_name not in {"rewrite", "verify"}:
        raise InputError(
            f"only campaigns with rewordings or references have a queue; {campaign.name!r} is of kind "
            f"{campaign.kind_name}"
        )
    counted_votes = load_counted_votes(connection, campaign)
    most = join_votes(counted_votes).majority
    by_task: dict[int, list[Vote]] = {}
    for vote in counted_votes:
        by_task.setdefault(vote.task, []).append(vote)
    for verdict in adjudication.list_adjudications(connection, campaign):
        by_task[verdict.task], most[verdict.task] = [verdict], verdict.label
    for task, content in task_contents(connection, campaign):
        label = most.get(task)
        agreeing = [vote.answer for vote in by_task.get(task, ()) if label and vote.label == label]
        yield _queue_row(campaign.kind_name, content, label, agreeing)


def _most_common_value(answers: Sequence[dict[str, Any]], name: str) -> Any:
    """Return the first one on equal counts."""
    value_counts = Counter(answer[name] for answer in answers if answer.get(name))
    return value_counts.most_common(1)[0][0] if value_counts else None


def _queue_row(kind: str, content: Any, label: str | None, agreeing: Sequence[dict[str, Any]]) -> dict[str, Any]:
    task = Content.from_json(content)
    if kind == "rewrite":
        response = task.responses[0]
        answer = agreeing[0] if agreeing else {}
        return {
            "seed": task.item.id, "variant": int(task.about.get("variant", 1)), "question": task.item.question,
            "text": answer.get("text", response.text), "same": label, "writer": response.contestant,
        }  # fmt: skip
    return {
        "item": task.item.id,
        "question": task.item.question,
        "reference": task.item.reference,
        "accept": label,
        "reason": _most_common_value(agreeing, "complaint"),
        "fault": _most_common_value(agreeing, "fault"),
        "note": " / ".join(answer["reason"] for answer in agreeing if answer.get("reason")) or None,
    }
