"""Pages for leads: create a campaign, monitor it, open and close it, change it, export votes."""

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

from fullbench.core.translatable_note import error_sentence
from fullbench.errors import InputError, UserError
from fullbench.reports.cell_text import with_n
from fullbench.web import shared_writable_ledgers_by_study
from fullbench.web.accounts import audit_log
from fullbench.web.accounts.users import User
from fullbench.web.campaigns import campaign_members, campaigns, group_links, removal_of_campaigns_without_votes
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.create import (
    campaign_from_data,
    creation_worker,
    effort_estimate,
    new_campaign_form,
    omitted_data_counts,
    pilot_campaign,
    resumable_task_creation,
)
from fullbench.web.campaigns.create.effort_estimate import EffortEstimate
from fullbench.web.campaigns.pages import annotator_home_task_and_vote_pages, vote_agreement_and_known_answer_charts
from fullbench.web.campaigns.pages.annotator_home_task_and_vote_pages import (
    Form,
    Page,
    change_campaign,
    read_campaign,
    require_campaign,
)
from fullbench.web.campaigns.tasks import most_informative_first, shipped_guidelines_and_scale_anchors
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kinds import kind_of, kinds_by_name
from fullbench.web.campaigns.votes import (
    adjudication,
    leaderboard_and_task_list,
    progress_annotator_agreement_and_joined_votes,
    vote_export,
)
from fullbench.web.campaigns.votes.counted_vote_loader import account_names, load_counted_votes, task_contents
from fullbench.web.campaigns.votes.task_queue import Lease
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.page_rendering import language_of, redirect_to_page, render_template
from fullbench.web.picture_checks_storage_and_serving import store_upload
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.pages.tables_and_charts_for_templates import translate_linked_table
from fullbench.web.results.site import publication_check
from fullbench.web.rich_text import render_guideline
from fullbench.web.route_access_connection_and_csrf_checks import (
    Organiser,
    engine_of,
    ledger_of,
    settings_of,
    writers_of,
)
from fullbench.web.words import Language, key

router = APIRouter(include_in_schema=False)
PAGE = 50
Width = Annotated[float | None, Query(gt=0, le=1000)]
Pay = Annotated[float | None, Query(ge=0, le=10_000)]
BALLOTS = {
    "pair": ("choice+tie", "choice", "choice:5", "choice:7"),
    "score": ("score:1-5", "score:1-10"),
    "rate": ("score:1-10", "score:1-5"),
}
"""Ballots offered for a kind, the default first; others can be typed."""
FORMS = {"jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet", "csv": "text/csv"}


@router.get("/organise")
def campaign_list_page(request: Request, _user: Organiser, page: Page = 1) -> HTMLResponse:
    """All studies."""
    now = time.time()
    with read_transaction(engine_of(request)) as connection:
        page_campaigns = campaigns.list_campaigns(connection, start=(page - 1) * PAGE, count=PAGE + 1)
        rows = [
            (campaign, progress_annotator_agreement_and_joined_votes.campaign_progress(connection, campaign, now))
            for campaign in page_campaigns[:PAGE]
        ]
        withheld = {one.id: one.verdicts for one in publication_check.campaigns_withholding_results(connection)}
    return render_template(
        request,
        "campaigns/campaign_list.html",
        rows=rows,
        page=page,
        more=len(page_campaigns) > PAGE,
        withheld=withheld,
    )


@router.get("/organise/new")
def new_campaign_page(
    request: Request, _user: Organiser, kind: Annotated[str, Query(max_length=40)] = ""
) -> HTMLResponse:
    """The choice of a kind, or the form of a new study of that kind."""
    if not kind:
        return render_template(request, "campaigns/task_kinds.html", kinds=kinds_by_name().values())
    return _render_form(request, {"kind": kind_of(kind).name})


def _render_form(request: Request, values: dict[str, str], problem: str = "", status: int = 200) -> HTMLResponse:
    ledger = ledger_of(request)
    kind = kinds_by_name().get(values.get("kind", "")) or kind_of("pair")
    with read_transaction(engine_of(request)) as connection:
        campaign_names = [
            campaign.name for campaign in campaigns.list_campaigns(connection, count=200) if not campaign.is_pilot
        ]
    return render_template(
        request,
        "campaigns/new_campaign.html",
        status=status,
        kind=kind,
        values=values,
        problem=problem,
        others=campaign_names,
        ledger=None if ledger is None else Path(str(settings_of(request).ledger)).name,
        ledger_studies=_ledger_study_names(request),
        papers=shipped_guidelines_and_scale_anchors.papers_for_kind(kind.name),
        ballots=BALLOTS.get(kind.name, ()),
        body_limit=settings_of(request).body_limit,
    )


def _ledger_study_names(request: Request) -> list[str]:
    """Empty if there is only one study."""
    ledger = ledger_of(request)
    study_names = [] if ledger is None else ledger.studies()
    return study_names if len(study_names) > 1 else []


@router.post("/organise/new")
def create_campaign(
    request: Request,
    user: Organiser,
    form: Annotated[new_campaign_form.SubmittedForm, Depends(new_campaign_form.read_submitted_form)],
) -> Response:
    """Make a study from uploaded files or from the site's ledger. The page's script gets what is wrong as a piece of a
    page, so that the files chosen stay chosen."""
    settings = settings_of(request)
    is_scripted = request.headers.get("x-form") == "1"
    try:
        plan = new_campaign_form.parse_plan(form.fields)
        draft = form.fields.get("stage") == "draft"
        with new_campaign_form.unpack_form_files(form, settings, user) as files:
            material = new_campaign_form.parse_material(form.fields, files, ledger_of(request))
            preparation = campaign_from_data.prepare_campaign(engine_of(request), plan, material, settings.task_limit)
            with write_transaction(engine_of(request)) as connection:
                guideline_pictures = {
                    name: data for name, data in form.pictures.items() if f"]({name})" in plan.guidelines
                }
                guideline_text = shipped_guidelines_and_scale_anchors.with_pictures(
                    plan.guidelines, _store_pictures(connection, request, user, guideline_pictures)
                )
                plan = replace(plan, guidelines=guideline_text)
                creation = campaign_from_data.create_campaign_from_material(
                    connection, settings, user, plan, material=material, preparation=preparation, draft=draft
                )
                audit_log.record_action(request, connection, user, "campaign made", plan.name, tasks=creation.work)
            campaign_from_data.store_large_campaign(engine_of(request), creation)
            creation_worker.wake_worker(engine_of(request), creation.campaign.id)
    except UserError as error:
        if is_scripted:
            return render_template(request, "campaigns/_problem.html", status=422, problem=error_sentence(error))
        return _render_form(request, form.fields, error_sentence(error), 422)
    message = key("The draft is made: {tasks} tasks, {votes} votes.") if draft else key("The campaign is open.")
    counts = {"tasks": creation.work, "votes": creation.work * plan.votes} if draft else {}
    if creation.plan is not None:
        message, counts = key("The tasks are being created: {tasks} in all."), {"tasks": creation.plan.count}
    page = redirect_to_page(request, f"/organise/{creation.campaign.id}", flash=message, **counts)
    if is_scripted:
        page.status_code = 201  # the script goes there itself: were it led there, the message would be lost on the way
    return page


@router.post("/organise/new/sketch")
def preview_new_campaign(
    request: Request,
    user: Organiser,
    form: Annotated[new_campaign_form.SubmittedForm, Depends(new_campaign_form.read_submitted_form)],
) -> Response:
    """The first task that the form would make, how many there are, and what they take. No study is kept; the pictures
    of this task are, as the organiser's uploads."""
    settings = settings_of(request)
    fields = {**form.fields, "name": form.fields.get("name", "").strip() or "-"}
    try:
        campaign = Campaign.from_plan(new_campaign_form.parse_plan(fields))
        with new_campaign_form.unpack_form_files(form, settings, user, is_preview=True) as files:
            material = new_campaign_form.parse_material(fields, files, ledger_of(request))
            planned = campaign_from_data.plan_tasks(campaign, material, settings.task_limit)
            contents = planned.contents
            first = contents[0]
            campaign.kind.check(campaign.rules, first)
            with write_transaction(engine_of(request)) as connection:
                campaign_from_data.store_pictures(connection, settings, user, first.media, material.checked_pictures)
                judged = {content.item.id for content in planned.all_contents()}
                withholds = publication_check.count_verdicts_to_withhold(connection, judged)
    except UserError as error:
        return render_template(request, "campaigns/_problem.html", problem=error_sentence(error))
    lease = Lease("preview", "", 0, "work", first, tuple(range(len(first.responses))))
    return annotator_home_task_and_vote_pages.preview_fragment(
        request, campaign, lease, effort_estimate.estimate_effort(campaign, len(contents), contents), withholds
    )


@router.get("/organise/{study_id}")
def campaign_page(
    request: Request, _user: Organiser, study_id: str, width: Width = None, pay: Pay = None
) -> HTMLResponse:
    """One study: how far, how well, what it says."""
    language = language_of(request)
    with read_campaign(request, study_id) as (connection, campaign):
        creation_progress = resumable_task_creation.progress_of(connection, campaign.id)
        if creation_progress is not None:
            topic = campaigns.campaign_topic(campaign.id)
            return render_template(
                request, "campaigns/task_creation.html", study=campaign, far=creation_progress, topic=topic
            )
        values = _board_values(connection, campaign, language, width)
        pilots = pilot_campaign.list_pilots(connection, campaign)
        main = campaigns.find_campaign(connection, str(campaign.rules.options.get("pilot_of") or ""))
        arrival_count = group_links.count_arrivals(connection, campaign)
        is_unused = removal_of_campaigns_without_votes.is_unused(connection, campaign)
        publication = publication_check.check_publication(connection, settings_of(request), campaign.id)
        takes = _estimate_effort(connection, campaign, values["progress"].tasks, pilots, pay)
    return render_template(
        request,
        "campaigns/campaign.html",
        study=campaign,
        topic=campaigns.campaign_topic(campaign.id),
        shown=render_guideline(campaign.guideline_text(language)),
        forms=FORMS,
        ledger=settings_of(request).ledger,
        pilots=pilots,
        main=main,
        width=width,
        editable=campaign.guidelines
        or f"{campaign.guideline_text('en')}\n\n<!-- zh -->\n\n{campaign.guideline_text('zh')}\n",
        gain=_gain_sentence(campaign),
        omitted=omitted_data_counts.omitted_counts_of(campaign).notes(),
        ledger_studies=_ledger_study_names(request),
        group=group_links.GroupLink.from_campaign(campaign),
        arrived=arrival_count,
        forecast=takes,
        unused=is_unused,
        publication=publication,
        withholds=next((one.verdicts for one in publication.withheld_by if one.id == campaign.id), 0),
        switches=_option_switches(campaign),
        **values,
    )


@router.get("/organise/{study_id}/creation")
def show_creation(request: Request, _user: Organiser, study_id: str) -> HTMLResponse:
    """Return the progress of a campaign's creation, which an open page loads again."""
    with read_campaign(request, study_id) as (connection, campaign):
        creation_progress = resumable_task_creation.progress_of(connection, campaign.id)
    return render_template(request, "campaigns/_task_creation.html", study=campaign, far=creation_progress)


def _estimate_effort(
    connection: Connection, campaign: Campaign, tasks: int, pilots: Sequence[Campaign], pay: float | None
) -> EffortEstimate:
    sample = [
        Content.from_json(content) for _, content in task_contents(connection, campaign, count=effort_estimate.SAMPLE)
    ]
    vote_seconds = effort_estimate.recent_vote_seconds(connection, [campaign.id, *(pilot.id for pilot in pilots)])
    return effort_estimate.estimate_effort(campaign, tasks, sample, vote_seconds, pay)


def _gain_sentence(campaign: Campaign) -> str:
    gain = campaign.rules.options.get("gain")
    return most_informative_first.gain_sentence(gain) if gain else ""


@router.get("/organise/{study_id}/board")
def board_fragment(request: Request, _user: Organiser, study_id: str, width: Width = None) -> HTMLResponse:
    """The figures of a study alone: what an open page loads again when something changed."""
    with read_campaign(request, study_id) as (connection, campaign):
        values = _board_values(connection, campaign, language_of(request), width)
    return render_template(request, "campaigns/_progress.html", study=campaign, **values)


def _board_values(
    connection: Connection, campaign: Campaign, language: Language, width: float | None
) -> dict[str, Any]:
    counted_votes = load_counted_votes(connection, campaign)
    known_votes = load_counted_votes(connection, campaign, roles=("gold", "qualify"))
    people = account_names(connection)
    boards = leaderboard_and_task_list.contestant_tables(connection, campaign)
    tables = [
        *boards,
        progress_annotator_agreement_and_joined_votes.agreement_table(
            campaign, counted_votes, progress_annotator_agreement_and_joined_votes.task_items(connection, campaign)
        )
        if counted_votes
        else None,
        progress_annotator_agreement_and_joined_votes.annotator_table(counted_votes, known_votes, people),
    ]
    localised_tables = [
        translate_linked_table(LinkedTable(table), language).table
        for table in tables
        if table is not None and table.rows
    ]
    return {
        "progress": progress_annotator_agreement_and_joined_votes.campaign_progress(connection, campaign, time.time()),
        "splits": adjudication.count_open_splits(connection, campaign, counted_votes),
        "drawn": vote_agreement_and_known_answer_charts.build_dashboard(counted_votes, known_votes, people),
        "tables": [(table, *with_n(table)) for table in localised_tables],
        "members": campaign_members.list_members(connection, campaign, people),
        "more": leaderboard_and_task_list.votes_needed_note(boards, len(counted_votes), width),
    }


@router.post("/organise/{study_id}/state")
def change_state(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Close a campaign, or open it again."""
    wish = form.get("to")
    if wish not in {"open", "closed"}:
        raise HTTPException(400, key("A campaign is open or closed."))
    with change_campaign(request, study_id) as (connection, campaign):
        campaigns.set_state(connection, campaign.id, "open" if wish == "open" else "closed")
        audit_log.record_action(request, connection, user, f"campaign {wish}", campaign.name)
        campaigns.publish_change(connection, campaign.id)
    message = (
        key("The campaign is open.") if wish == "open" else key("The campaign is closed. Votes are no longer accepted.")
    )
    return redirect_to_page(request, f"/organise/{study_id}", flash=message)


@router.post("/organise/{study_id}/settings")
def change_settings(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Switch on and off what may change while people work."""
    with change_campaign(request, study_id) as (connection, campaign):
        changes: dict[str, Any] = {name: bool(form.get(name)) for name, _ in _option_switches(campaign)}
        if "deadline" in form:
            changes["deadline"] = new_campaign_form.parse_deadline(form["deadline"])
        campaigns.set_options(connection, campaign, changes)
        audit_log.record_action(request, connection, user, "campaign changed", campaign.name, **changes)
    return redirect_to_page(request, f"/organise/{study_id}", flash=key("The campaign is run in this way from now on."))


def _option_switches(campaign: Campaign) -> list[tuple[str, str]]:
    of_answers = campaign.kind_name in {"pair", "score", "rank", "rate", "agree"}
    switches = {
        "reference": (of_answers, key("The reference is shown")),
        "reason": (campaign.kind_name != "write", key("A reason must be written")),
        "confirm": (campaign.kind_name == "pair", key("A vote is confirmed with Enter; else one key sends it")),
        "assigned": (True, key("Only people who are assigned may work in it")),
        "results": (True, key("Its annotators may see results while it is open")),
        "show_pay": (bool(campaign.rules.options.get("pay")), key("Annotators see the pay in their work list")),
    }
    return [(name, words) for name, (is_offered, words) in switches.items() if is_offered]


@router.post("/organise/{study_id}/guidelines")
def edit_guidelines(
    request: Request,
    user: Organiser,
    study_id: str,
    form: Annotated[new_campaign_form.SubmittedForm, Depends(new_campaign_form.read_submitted_form)],
) -> Response:
    """Write the guidelines anew, with the pictures sent along."""
    with change_campaign(request, study_id) as (connection, campaign):
        text = shipped_guidelines_and_scale_anchors.with_pictures(
            form.fields.get("guidelines", ""),
            _store_pictures(connection, request, user, form.pictures),
            unnamed_too=True,
        )
        campaigns.set_guidelines(connection, campaign.id, text)
        audit_log.record_action(request, connection, user, "guidelines written", campaign.name)
    return redirect_to_page(request, f"/organise/{study_id}", flash=key("The guidelines are changed."))


def _store_pictures(
    connection: Connection, request: Request, user: User, pictures: Mapping[str, bytes]
) -> dict[str, str]:
    """Return the addresses by name, as stored in guidelines; the version is added when a guideline is shown."""
    settings = settings_of(request)
    return {
        name: f"/pictures/{store_upload(connection, settings, user, data).picture.digest}"
        for name, data in pictures.items()
    }


@router.post("/organise/{study_id}/members")
def change_member_standing(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Let somebody in who did not qualify, or shut somebody out."""
    with change_campaign(request, study_id) as (connection, campaign):
        if not campaign_members.set_standing(connection, campaign, form.get("person", ""), form.get("to", "")):
            raise HTTPException(404, key("There is no such member."))
        audit_log.record_action(request, connection, user, f"member {form['to']}", campaign.name)
    return redirect_to_page(request, f"/organise/{study_id}")


@router.get("/organise/{study_id}/votes.{form}")
def export_votes(request: Request, user: Organiser, study_id: str, form: str) -> Response:
    """Every vote with all its revisions, as a file."""
    if form not in FORMS:
        raise HTTPException(404, key("Votes are written as jsonl, parquet or csv."))
    folder = tempfile.TemporaryDirectory(prefix="fullbench-")
    path = Path(folder.name) / f"votes.{form}"
    with read_transaction(engine_of(request)) as connection:
        vote_export.export_votes(connection, require_campaign(connection, study_id), path)
    with write_transaction(engine_of(request)) as connection:
        audit_log.record_action(request, connection, user, "votes exported", study_id)
    return FileResponse(path, media_type=FORMS[form], filename=path.name, background=BackgroundTask(folder.cleanup))


@router.post("/organise/{study_id}/keep")
def export_to_ledger(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Put the votes into the site's ledger, where people are judges."""
    site_ledger = ledger_of(request)
    if site_ledger is None:
        raise InputError(key("This site has no ledger; start it with --ledger."))
    ledger = writers_of(request).ledger_for(
        shared_writable_ledgers_by_study.ledger_study_name(site_ledger, form.get("ledger_study", ""))
    )
    with change_campaign(request, study_id) as (connection, campaign):
        find = vote_export.picture_finder(settings_of(request), ledger)
        counts = vote_export.export_to_ledger(connection, campaign, ledger, find, pilot=bool(form.get("pilot")))
        audit_log.record_action(request, connection, user, "votes kept", campaign.name, new=counts.new_count)
    message = key(
        "{new} verdicts went into the ledger, {changed} of them changed votes; {known} were there; {older} are older."
    )
    return redirect_to_page(
        request,
        f"/organise/{study_id}",
        flash=message,
        new=counts.new_count,
        changed=counts.changed_count,
        known=counts.known_count,
        older=counts.older_count,
    )
