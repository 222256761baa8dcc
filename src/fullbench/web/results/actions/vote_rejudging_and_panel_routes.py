"""Routes of actions: vote on a case, request another verdict, decide on requests, manage panels."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, BackgroundTasks, Depends, Form, HTTPException, Path, Query, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy import Connection, select

from fullbench.core.translatable_note import error_sentence
from fullbench.errors import UserError
from fullbench.web import live_events
from fullbench.web.accounts import audit_log
from fullbench.web.page_rendering import redirect_to_page
from fullbench.web.results import hidden_cases_and_results
from fullbench.web.results.actions import rejudge_requests, vote_on_case
from fullbench.web.results.catalogue import catalogue_tables, panels_created_on_site
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import judge_names_by_id
from fullbench.web.results.catalogue.disagreement_flags import is_panel
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.page_routes import Key, need_ledger, render_page, require_same_ledger, views_of
from fullbench.web.results.site.page_urls import ServedPageUrls
from fullbench.web.route_access_connection_and_csrf_checks import (
    Annotator,
    Database,
    Organiser,
    Viewer,
    engine_of,
    settings_of,
    writers_of,
)
from fullbench.web.words import key

router = APIRouter(include_in_schema=False, dependencies=[Depends(require_same_ledger)])
Id = Annotated[str, Path(pattern="^[0-9a-f]{16,32}$")]
Text = Annotated[str, Form(max_length=4000)]
ACTION_LABELS = {
    "price": key("looked at the price of a request"),
    "run": key("ran a request"),
    "refuse": key("refused a request"),
}
"""Names of actions in the audit log."""


async def _read_form_texts(request: Request) -> dict[str, str]:
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


FormTexts = Annotated[dict[str, str], Depends(_read_form_texts)]


def need_study(connection: Connection, case_key: str, preferred_study: str) -> str:
    """Return the preferred study of a case, or the first study that contains it. Raise 404 if there is none."""
    c, n = catalogue_tables.cases.c, catalogue_tables.names.c
    query = (
        select(n.name)
        .join_from(catalogue_tables.cases, catalogue_tables.names, n.id == c.study_id)
        .where(c.key == case_key)
    )
    study_names = list(connection.execute(query.order_by(n.id)).scalars())
    study = next((name for name in study_names if name == preferred_study or not preferred_study), None)
    if study is None:
        raise HTTPException(404, key("There is no such case."))
    return str(study)


@router.post("/cases/{case_key}/vote")
def cast_vote(
    request: Request, user: Annotator, connection: Database, case_key: Key, form_texts: FormTexts
) -> Response:
    """Vote on a case."""
    case = need_ledger(request).case(case_key)
    if case is None:
        raise HTTPException(404, key("There is no such case."))
    if hidden_cases_and_results.hidden_case_keys(connection, user, [case_key]):
        raise HTTPException(403, hidden_cases_and_results.WITHHELD)
    marks = vote_on_case.marks_from_form(case, form_texts)
    study = need_study(connection, case_key, form_texts.get("study", ""))
    verdict = vote_on_case.record_vote(
        writers_of(request).ledger_for(study), case, user, marks, form_texts.get("text", "")[:4000]
    )
    audit_log.record_action(request, connection, user, "voted on a case", case_key)
    message = key("Your vote is changed; the earlier one stays.") if verdict.revision else key("Your vote is stored.")
    return redirect_to_page(request, ServedPageUrls().case(case_key, form_texts.get("study", "")), flash=message)


@router.post("/cases/{case_key}/requests")
def request_rejudging(
    request: Request, user: Viewer, connection: Database, case_key: Key, *, judge: Text, reason: Text = ""
) -> Response:
    """Ask the organisers to have a case judged again."""
    if need_ledger(request).case(case_key) is None:
        raise HTTPException(404, key("There is no such case."))
    is_new = rejudge_requests.add_request(connection, user, case_key, judge, reason)
    if is_new:
        audit_log.record_action(request, connection, user, "requested another verdict", case_key, judge=judge)
    message = key("An organiser decides about your request.") if is_new else key("You have requested this before.")
    return redirect_to_page(request, f"/cases/{case_key}", flash=message)


@router.get("/requests")
def show_requests(
    request: Request,
    _user: Organiser,
    connection: Database,
    state: rejudge_requests.State = "open",
    before: Annotated[float | None, Query(ge=0, le=1e11)] = None,
) -> HTMLResponse:
    """Requests to judge again."""
    requests = rejudge_requests.list_requests(connection, state=state, before=before)
    older = (
        f"/requests?state={state}&before={requests[-1].at!r}" if len(requests) == rejudge_requests.PAGE_SIZE else None
    )
    values: dict[str, Any] = {
        **views_of(request).common(connection, "requests"),
        "asked": requests,
        "state": state,
        "older": older,
        "costs": rejudge_requests.cost_texts(requests),
        "titles": rejudge_requests.case_titles(connection, requests),
        "states": rejudge_requests.STATE_LABELS,
    }
    return render_page(request, "results/requests.html", values)


@router.get("/panels")
def show_panels(request: Request, _user: Organiser, connection: Database) -> HTMLResponse:
    """Panels of judges."""
    names = sorted(name for name in judge_names_by_id(connection).values() if not is_panel(name))
    values: dict[str, Any] = {
        **views_of(request).common(connection, "panels"),
        "panels": panels_created_on_site.list_panels(connection),
        "verdict_counts": panels_created_on_site.verdict_counts(connection),
        "all_judges": names,
        "of": lambda panel: Filter(judge=panel.judge),
    }
    return render_page(request, "results/panels.html", values)


@router.post("/panels")
def make_panel(
    request: Request,
    user: Organiser,
    connection: Database,
    *,
    name: Text,
    rule: Text,
    members: Annotated[list[str], Form(alias="judges", max_length=500)],
) -> Response:
    """Make a panel; its leaderboard is there once its verdicts are computed."""
    panel = panels_created_on_site.add_panel(connection, name.strip(), rule, members)
    audit_log.record_action(request, connection, user, "panel made", panel.judge)
    return redirect_to_page(request, "/panels", flash=key("The panel is made; its leaderboard will appear."))


@router.post("/panels/close")
def close_panel(request: Request, user: Organiser, connection: Database, *, name: Text) -> Response:
    """Close a panel: it keeps its verdicts and gets no new cases."""
    panel = panels_created_on_site.close_panel(connection, name)
    audit_log.record_action(request, connection, user, "panel closed", panel.judge)
    return redirect_to_page(request, "/panels", flash=key("The panel is closed. It keeps its verdicts."))


@router.post("/panels/delete")
def delete_panel(request: Request, user: Organiser, connection: Database, *, name: Text) -> Response:
    """Delete a panel without verdicts."""
    panel = panels_created_on_site.remove_panel(connection, name)
    audit_log.record_action(request, connection, user, "panel deleted", panel.judge)
    return redirect_to_page(request, "/panels", flash=key("The panel is deleted."))


@router.post("/requests/{request_id}")
def decide_request(
    request: Request,
    user: Organiser,
    connection: Database,
    *,
    background_tasks: BackgroundTasks,
    request_id: Id,
    act: Annotated[str, Form(pattern="^(price|run|refuse)$")],
    spec: Text = "",
) -> Response:
    """Look at the price of a request, run it, or refuse it."""
    rejudge_request = rejudge_requests.find_request(connection, request_id)
    if rejudge_request is None:
        raise HTTPException(404, key("There is no such request."))
    if act == "refuse":
        is_changed = rejudge_requests.change_request(
            connection, rejudge_request.id, "open", "interrupted", state="refused"
        )
        message = key("The request is refused.")
    else:
        message, trial = _plan_rejudging(request, connection, rejudge_request, spec)
        is_changed = True
        if act == "run":
            started_request = rejudge_requests.start_request(
                connection, rejudge_request, spec or rejudge_request.judge, trial
            )
            message, is_changed = (
                key("The request is queued. The new verdict will appear on this page."),
                started_request is not None,
            )
            if started_request is not None:
                ledger = writers_of(request).ledger_for(need_study(connection, rejudge_request.case_key, ""))
                background_tasks.add_task(
                    rejudge_requests.run_request,
                    engine_of(request),
                    ledger,
                    started_request,
                    settings_of(request).programs,
                )
    if not is_changed:
        return redirect_to_page(request, "/requests", flash=key("Somebody else was quicker."))
    audit_log.record_action(
        request,
        connection,
        user,
        ACTION_LABELS[act],
        rejudge_request.case_key,
        judge=rejudge_request.judge,
    )
    live_events.publish_event(connection, rejudge_requests.TOPIC)
    response = redirect_to_page(request, "/requests", flash=message)
    response.background = background_tasks
    return response


def _plan_rejudging(
    request: Request, connection: Database, rejudge_request: rejudge_requests.RejudgeRequest, spec: str
) -> tuple[str, int]:
    """Store the price with the request; return a message and the trial to judge."""
    ledger = need_ledger(request)
    try:
        judge = rejudge_requests.judge_from(
            spec or rejudge_request.judge, rejudge_request.judge, settings_of(request).programs
        )
        case = rejudge_requests.case_to_rejudge(connection, ledger, rejudge_request)
        cost = rejudge_requests.rejudging_price(ledger, judge, case)
    except UserError as error:
        raise HTTPException(400, error_sentence(error)) from error
    rejudge_requests.change_request(
        connection, rejudge_request.id, "open", "interrupted", cost=orjson.dumps(cost).decode()
    )
    return key("The price is shown with the request."), case.trial
