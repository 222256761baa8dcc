"""The organiser's pages: make a study, watch it, close it, take its labels out."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from sqlalchemy import Connection
from starlette.background import BackgroundTask

from fullbench.core.note import sentence
from fullbench.errors import InputError, UserError
from fullbench.reports.cell_text import with_n
from fullbench.web import open_ledgers, picture_serving
from fullbench.web.accounts import audit_log
from fullbench.web.accounts.users import User
from fullbench.web.campaigns import campaign_members, campaigns, group_links, live_updates
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.create import (
    campaign_from_data,
    campaign_removal,
    creation_worker,
    effort_estimate,
    new_campaign_form,
    omitted_data,
    pilot_campaign,
    task_creation,
)
from fullbench.web.campaigns.create.effort_estimate import Forecast
from fullbench.web.campaigns.pages import campaign_charts
from fullbench.web.campaigns.pages.annotation_page import Form, Page, study_of
from fullbench.web.campaigns.tasks import guidelines, most_informative_first
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kinds import kind_of, kinds
from fullbench.web.campaigns.votes import adjudication, campaign_results, vote_export, vote_quality
from fullbench.web.campaigns.votes.counted_votes import contents, counted, names
from fullbench.web.database import reading, writing
from fullbench.web.page_access import Organiser, address_of, engine_of, ledger_of, settings_of, writers_of
from fullbench.web.page_rendering import language_of, redirect, render
from fullbench.web.results.boards.board_store import Linked
from fullbench.web.results.pages.translated_tables import localised
from fullbench.web.rich_text import guideline
from fullbench.web.words import Language, key

router = APIRouter(include_in_schema=False)
PAGE = 50
Width = Annotated[float | None, Query(gt=0, le=1000)]
Pay = Annotated[float | None, Query(ge=0, le=10_000)]
BALLOTS = {
    "pair": ("choice+tie", "choice"),
    "score": ("score:1-5", "score:1-10"),
    "rate": ("score:1-10", "score:1-5"),
}
"""The ballots that are offered for a kind, the usual one first; others can be written."""
FORMS = {"jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet", "csv": "text/csv"}


@router.get("/organise")
def listing(request: Request, _user: Organiser, page: Page = 1) -> HTMLResponse:
    """All studies."""
    now = time.time()
    with reading(engine_of(request)) as connection:
        listed = campaigns.listed(connection, start=(page - 1) * PAGE, count=PAGE + 1)
        rows = [(study, vote_quality.progress(connection, study, now)) for study in listed[:PAGE]]
    return render(request, "campaigns/organise.html", rows=rows, page=page, more=len(listed) > PAGE)


@router.get("/organise/new")
def new(request: Request, _user: Organiser, kind: Annotated[str, Query(max_length=40)] = "") -> HTMLResponse:
    """The choice of a kind, or the form of a new study of that kind."""
    if not kind:
        return render(request, "campaigns/kinds.html", kinds=kinds().values())
    return _form(request, {"kind": kind_of(kind).name})


def _form(request: Request, values: dict[str, str], problem: str = "", status: int = 200) -> HTMLResponse:
    ledger = ledger_of(request)
    kind = kinds().get(values.get("kind", "")) or kind_of("pair")
    with reading(engine_of(request)) as connection:
        others = [study.name for study in campaigns.listed(connection, count=200) if not study.is_pilot]
    return render(
        request, "campaigns/new.html", status=status, kind=kind, values=values, problem=problem, others=others,
        ledger=None if ledger is None else Path(str(settings_of(request).ledger)).name,
        ledger_studies=_studies(request), papers=guidelines.papers_with(kind.name), ballots=BALLOTS.get(kind.name, ()),
        body_limit=settings_of(request).body_limit,
    )  # fmt: skip


def _studies(request: Request) -> list[str]:
    """The studies of the site's ledger, where there is something to choose."""
    ledger = ledger_of(request)
    there = [] if ledger is None else ledger.studies()
    return there if len(there) > 1 else []


@router.post("/organise/new")
def create(
    request: Request, user: Organiser, sent: Annotated[new_campaign_form.Sent, Depends(new_campaign_form.sent)]
) -> Response:
    """Make a study from uploaded files or from the site's ledger. The page's script gets what is wrong as a piece of a
    page, so that the files chosen stay chosen."""
    settings = settings_of(request)
    scripted = request.headers.get("x-form") == "1"
    try:
        plan = new_campaign_form.plan(sent.fields)
        draft = sent.fields.get("stage") == "draft"
        with new_campaign_form.unpacked(sent, settings, user) as files:
            material = new_campaign_form.material(sent.fields, files, ledger_of(request))
            prepared = campaign_from_data.prepare(engine_of(request), plan, material, settings.task_limit)
            with writing(engine_of(request)) as connection:
                shown = {name: data for name, data in sent.pictures.items() if f"]({name})" in plan.guidelines}
                told = guidelines.with_pictures(plan.guidelines, _kept(connection, request, user, shown))
                plan = replace(plan, guidelines=told)
                imported = campaign_from_data.make(
                    connection, settings, user, plan, material=material, prepared=prepared, draft=draft
                )
                audit_log.write(
                    connection, user, "study made", plan.name, address=address_of(request), tasks=imported.work
                )
            campaign_from_data.complete(engine_of(request), imported)
            creation_worker.wake(engine_of(request), imported.study.id)
    except UserError as error:
        if scripted:
            return render(request, "campaigns/_problem.html", status=422, problem=sentence(error))
        return _form(request, sent.fields, sentence(error), 422)
    message = key("The draft is made: {tasks} tasks, {votes} votes.") if draft else key("The study is open.")
    counts = {"tasks": imported.work, "votes": imported.work * plan.votes} if draft else {}
    if imported.plan is not None:
        message, counts = key("The tasks are being created: {tasks} in all."), {"tasks": imported.plan.count}
    page = redirect(request, f"/organise/{imported.study.id}", flash=message, **counts)
    if scripted:
        page.status_code = 201  # the script goes there itself: were it led there, the message would be lost on the way
    return page


@router.get("/organise/{study_id}")
def overview(request: Request, _user: Organiser, study_id: str, width: Width = None, pay: Pay = None) -> HTMLResponse:
    """One study: how far, how well, what it says."""
    language = language_of(request)
    with reading(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        far = task_creation.progress_of(connection, study.id)
        if far is not None:
            topic = live_updates.topic(study.id)
            return render(request, "campaigns/creating.html", study=study, far=far, topic=topic)
        values = _board(connection, study, language, width)
        pilots = pilot_campaign.pilots(connection, study)
        main = campaigns.find(connection, str(study.rules.options.get("pilot_of") or ""))
        arrived = group_links.taken(connection, study)
        unused = campaign_removal.is_unused(connection, study)
        takes = _forecast(connection, study, values["progress"].tasks, pilots, pay)
    return render(
        request,
        "campaigns/study.html",
        study=study,
        topic=live_updates.topic(study.id),
        shown=guideline(study.told(language)),
        forms=FORMS,
        ledger=settings_of(request).ledger,
        pilots=pilots,
        main=main,
        width=width,
        editable=study.guidelines or _both(study),
        gain=_gain(study),
        omitted=omitted_data.of_study(study).notes(),
        ledger_studies=_studies(request),
        group=group_links.GroupLink.of(study),
        arrived=arrived,
        forecast=takes,
        unused=unused,
        switches=_switches(study),
        **values,
    )


@router.get("/organise/{study_id}/creation")
def show_creation(request: Request, _user: Organiser, study_id: str) -> HTMLResponse:
    """How far the creation of a study is: what an open page loads again."""
    with reading(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        far = task_creation.progress_of(connection, study.id)
    return render(request, "campaigns/_creating.html", study=study, far=far)


def _forecast(connection: Connection, study: Study, tasks: int, pilots: Sequence[Study], pay: float | None) -> Forecast:
    """What the whole study takes, by the votes of it and its pilots where there are some."""
    sample = [Content.of(content) for _, content in contents(connection, study, count=effort_estimate.SAMPLE)]
    timed = effort_estimate.timed(connection, [study.id, *(pilot.id for pilot in pilots)])
    return effort_estimate.forecast(study, tasks, sample, timed, pay)


def _gain(study: Study) -> str:
    """What the order of the tasks gains, where it was chosen for that."""
    gain = study.rules.options.get("gain")
    return most_informative_first.sentence(gain) if gain else ""


def _both(study: Study) -> str:
    """The shipped text in both languages, to be changed."""
    return f"{study.told('en')}\n\n<!-- zh -->\n\n{study.told('zh')}\n"


@router.get("/organise/{study_id}/board")
def board(request: Request, _user: Organiser, study_id: str, width: Width = None) -> HTMLResponse:
    """The figures of a study alone: what an open page loads again when something changed."""
    with reading(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        values = _board(connection, study, language_of(request), width)
    return render(request, "campaigns/_board.html", study=study, **values)


def _board(connection: Connection, study: Study, language: Language, width: float | None) -> dict[str, Any]:
    counted_votes = counted(connection, study)
    known = counted(connection, study, roles=("gold", "qualify"))
    people = names(connection)
    boards = campaign_results.contestants(connection, study)
    tables = [
        *boards,
        vote_quality.agreement(study, counted_votes) if counted_votes else None,
        vote_quality.quality(counted_votes, known, people),
    ]
    shown = [localised(Linked(table), language).table for table in tables if table is not None and table.rows]
    return {
        "progress": vote_quality.progress(connection, study, time.time()),
        "splits": adjudication.waiting(connection, study, counted_votes),
        "drawn": campaign_charts.dashboard(counted_votes, known, people),
        "tables": [(table, *with_n(table)) for table in shown],
        "members": campaign_members.listed(connection, study, people),
        "more": campaign_results.more_votes(boards, len(counted_votes), width),
    }


@router.post("/organise/{study_id}/state")
def state(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Close a study, or open it again."""
    wish = form.get("to")
    if wish not in {"open", "closed"}:
        raise HTTPException(400, key("A study is open or closed."))
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        campaigns.set_state(connection, study.id, "open" if wish == "open" else "closed")
        audit_log.write(connection, user, f"study {wish}", study.name, address=address_of(request))
        live_updates.tell(connection, study.id)
    message = key("The study is open.") if wish == "open" else key("The study is closed: nobody votes any more.")
    return redirect(request, f"/organise/{study_id}", flash=message)


@router.post("/organise/{study_id}/settings")
def change_settings(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Switch on and off what may change while people work."""
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        changes = {name: bool(form.get(name)) for name, _ in _switches(study)}
        campaigns.set_options(connection, study, changes)
        audit_log.write(connection, user, "study changed", study.name, address=address_of(request), **changes)
    return redirect(request, f"/organise/{study_id}", flash=key("The study is run in this way from now on."))


def _switches(study: Study) -> list[tuple[str, str]]:
    """What can be switched in a study of this kind, and the words for it."""
    of_answers = study.kind_name in {"pair", "score", "rank", "rate", "agree"}
    offered = {
        "reference": (of_answers, key("The reference is shown")),
        "reason": (study.kind_name != "write", key("A reason must be written")),
        "confirm": (study.kind_name == "pair", key("A vote is confirmed with Enter; else one key sends it")),
        "assigned": (True, key("Only people who are assigned may work in it")),
        "results": (True, key("Its annotators may see results while it is open")),
    }
    return [(name, words) for name, (is_offered, words) in offered.items() if is_offered]


@router.post("/organise/{study_id}/guidelines")
def edit_guidelines(
    request: Request,
    user: Organiser,
    study_id: str,
    sent: Annotated[new_campaign_form.Sent, Depends(new_campaign_form.sent)],
) -> Response:
    """Write the guidelines anew, with the pictures sent along."""
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        text = guidelines.with_pictures(
            sent.fields.get("guidelines", ""), _kept(connection, request, user, sent.pictures), unnamed_too=True
        )
        campaigns.set_guidelines(connection, study.id, text)
        audit_log.write(connection, user, "guidelines written", study.name, address=address_of(request))
    return redirect(request, f"/organise/{study_id}", flash=key("The guidelines are changed."))


def _kept(connection: Connection, request: Request, user: User, brought: Mapping[str, bytes]) -> dict[str, str]:
    """Keep the pictures that came with a form, and return their addresses by name, as guidelines are stored with them.

    The version of an address is added when a guideline is shown (see `prose`).
    """
    settings = settings_of(request)
    return {
        name: f"/pictures/{picture_serving.keep(connection, settings, user, data).picture.digest}"
        for name, data in brought.items()
    }


@router.post("/organise/{study_id}/members")
def let_in(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Let somebody in who did not qualify, or shut somebody out."""
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        if not campaign_members.set_standing(connection, study, form.get("person", ""), form.get("to", "")):
            raise HTTPException(404, key("There is no such member."))
        audit_log.write(connection, user, f"member {form['to']}", study.name, address=address_of(request))
    return redirect(request, f"/organise/{study_id}")


@router.get("/organise/{study_id}/votes.{form}")
def export(request: Request, user: Organiser, study_id: str, form: str) -> Response:
    """Every vote with all its revisions, as a file."""
    if form not in FORMS:
        raise HTTPException(404, key("Votes are written as jsonl, parquet or csv."))
    folder = tempfile.TemporaryDirectory(prefix="fullbench-")
    path = Path(folder.name) / f"votes.{form}"
    with reading(engine_of(request)) as connection:
        vote_export.export(connection, study_of(connection, study_id), path)
    with writing(engine_of(request)) as connection:
        audit_log.write(connection, user, "votes exported", study_id, address=address_of(request))
    return FileResponse(path, media_type=FORMS[form], filename=path.name, background=BackgroundTask(folder.cleanup))


@router.post("/organise/{study_id}/keep")
def keep(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Put the votes into the site's ledger, where people are judges."""
    shown = ledger_of(request)
    if shown is None:
        raise InputError(key("This site has no ledger; start it with --ledger."))
    ledger = writers_of(request).to(open_ledgers.study_of(shown, form.get("ledger_study", "")))
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        find = vote_export.finder(settings_of(request), ledger)
        counts = vote_export.keep(connection, study, ledger, find, pilot=bool(form.get("pilot")))
        audit_log.write(connection, user, "votes kept", study.name, address=address_of(request), new=counts.new)
    message = key(
        "{new} verdicts went into the ledger, {changed} of them changed votes; {known} were there; {older} are older."
    )
    return redirect(
        request, f"/organise/{study_id}", flash=message, new=counts.new, changed=counts.changed, known=counts.known,
        older=counts.older,
    )  # fmt: skip
