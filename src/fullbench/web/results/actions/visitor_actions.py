"""What people do on the public side: vote on a case, ask for another judgement, and run what was asked for."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, BackgroundTasks, Depends, Form, HTTPException, Path, Query, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy import Connection, select

from fullbench.core.note import sentence
from fullbench.errors import UserError
from fullbench.web import live_events
from fullbench.web.accounts import audit_log
from fullbench.web.page_access import Annotator, Database, Organiser, Viewer, address_of, engine_of, writers_of
from fullbench.web.page_rendering import redirect
from fullbench.web.results import hidden_cases
from fullbench.web.results.actions import rejudge_requests, vote_on_case
from fullbench.web.results.catalogue import catalogue_tables, panel_verdicts
from fullbench.web.results.catalogue.disagreement import is_panel
from fullbench.web.results.catalogue.row_helpers import judges
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.page_routes import Key, need_ledger, page, same_ledger, views_of
from fullbench.web.results.site.page_urls import Served
from fullbench.web.words import key

router = APIRouter(include_in_schema=False, dependencies=[Depends(same_ledger)])
Id = Annotated[str, Path(pattern="^[0-9a-f]{16,32}$")]
Text = Annotated[str, Form(max_length=4000)]
ACTS = {
    "price": key("looked at the price of a request"),
    "run": key("ran a request"),
    "refuse": key("refused a request"),
}
"""What the audit trail says of what was done with a request."""


async def _sent(request: Request) -> dict[str, str]:
    """The form that was sent, its texts."""
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


Sent = Annotated[dict[str, str], Depends(_sent)]


def need_study(connection: Connection, case_key: str, wanted: str) -> str:
    """The study in which a case is heard: the one wanted, else the first that holds it."""
    c, n = catalogue_tables.cases.c, catalogue_tables.names.c
    asked = (
        select(n.name)
        .join_from(catalogue_tables.cases, catalogue_tables.names, n.id == c.study_id)
        .where(c.key == case_key)
    )
    there = list(connection.execute(asked.order_by(n.id)).scalars())
    study = next((name for name in there if name == wanted or not wanted), None)
    if study is None:
        raise HTTPException(404, key("There is no such case."))
    return str(study)


@router.post("/cases/{case_key}/vote")
def vote(request: Request, user: Annotator, connection: Database, case_key: Key, sent: Sent) -> Response:
    """Vote on a case."""
    case = need_ledger(request).case(case_key)
    if case is None:
        raise HTTPException(404, key("There is no such case."))
    if hidden_cases.hidden(connection, user, [case_key]):
        raise HTTPException(403, hidden_cases.WITHHELD)
    marks = vote_on_case.marks_of(case, sent)
    study = need_study(connection, case_key, sent.get("study", ""))
    voted = vote_on_case.vote(writers_of(request).to(study), case, user, marks, sent.get("text", "")[:4000])
    audit_log.write(connection, user, "voted on a case", case_key, address=address_of(request))
    message = key("Your vote is changed; the earlier one stays.") if voted.revision else key("Your vote is kept.")
    return redirect(request, Served().case(case_key, sent.get("study", "")), flash=message)


@router.post("/cases/{case_key}/requests")
def ask(
    request: Request, user: Viewer, connection: Database, case_key: Key, *, judge: Text, reason: Text = ""
) -> Response:
    """Ask the organisers to have a case judged again."""
    if need_ledger(request).case(case_key) is None:
        raise HTTPException(404, key("There is no such case."))
    fresh = rejudge_requests.ask(connection, user, case_key, judge, reason)
    if fresh:
        audit_log.write(
            connection, user, "asked for another judgement", case_key, address=address_of(request), judge=judge
        )
    message = key("The organisers will see your request.") if fresh else key("You have asked for this before.")
    return redirect(request, f"/cases/{case_key}", flash=message)


@router.get("/requests")
def asked(
    request: Request,
    _user: Organiser,
    connection: Database,
    state: rejudge_requests.State = "open",
    before: Annotated[float | None, Query(ge=0, le=1e11)] = None,
) -> HTMLResponse:
    """Requests to judge again."""
    listed = rejudge_requests.page(connection, state=state, before=before)
    older = f"/requests?state={state}&before={listed[-1].at!r}" if len(listed) == rejudge_requests.PAGE else None
    values: dict[str, Any] = {
        **views_of(request).common(connection, "requests"),
        "asked": listed,
        "state": state,
        "older": older,
        "costs": rejudge_requests.costs(listed),
        "titles": rejudge_requests.titles(connection, listed),
        "states": rejudge_requests.SAID,
    }
    return page(request, "results/requests.html", values)


@router.get("/panels")
def all_panels(request: Request, _user: Organiser, connection: Database) -> HTMLResponse:
    """Panels of judges."""
    names = sorted(name for name in judges(connection).values() if not is_panel(name))
    values: dict[str, Any] = {
        **views_of(request).common(connection, "panels"),
        "panels": panel_verdicts.found(connection),
        "rulings": panel_verdicts.rulings(connection),
        "all_judges": names,
        "of": lambda panel: Filter(judge=panel.judge),
    }
    return page(request, "results/panels.html", values)


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
    """Make a panel; its leaderboard is there once its rulings are made."""
    panel = panel_verdicts.add(connection, name.strip(), rule, members)
    audit_log.write(connection, user, "panel made", panel.judge, address=address_of(request))
    return redirect(request, "/panels", flash=key("The panel is made; its leaderboard will appear."))


@router.post("/panels/close")
def close_panel(request: Request, user: Organiser, connection: Database, *, name: Text) -> Response:
    """Close a panel: it keeps what it ruled, and rules on nothing new."""
    closed = panel_verdicts.close(connection, name)
    audit_log.write(connection, user, "panel closed", closed.judge, address=address_of(request))
    return redirect(request, "/panels", flash=key("The panel is closed; it keeps what it ruled."))


@router.post("/panels/delete")
def delete_panel(request: Request, user: Organiser, connection: Database, *, name: Text) -> Response:
    """Delete a panel that has ruled on nothing."""
    gone = panel_verdicts.remove(connection, name)
    audit_log.write(connection, user, "panel deleted", gone.judge, address=address_of(request))
    return redirect(request, "/panels", flash=key("The panel is deleted."))


@router.post("/requests/{request_id}")
def decide(
    request: Request,
    user: Organiser,
    connection: Database,
    *,
    work: BackgroundTasks,
    request_id: Id,
    act: Annotated[str, Form(pattern="^(price|run|refuse)$")],
    spec: Text = "",
) -> Response:
    """Look at the price of a request, run it, or refuse it."""
    asked_for = rejudge_requests.get(connection, request_id)
    if asked_for is None:
        raise HTTPException(404, key("There is no such request."))
    if act == "refuse":
        done = rejudge_requests.change(connection, asked_for.id, "open", "interrupted", state="refused")
        message = key("The request is refused.")
    else:
        message, trial = _plan(request, connection, asked_for, spec)
        done = True
        if act == "run":
            begun = rejudge_requests.begin(connection, asked_for, spec or asked_for.judge, trial)
            message, done = key("The request is queued; the new ruling appears in the case."), begun is not None
            if begun is not None:
                ledger = writers_of(request).to(need_study(connection, asked_for.case_key, ""))
                work.add_task(rejudge_requests.run, engine_of(request), ledger, begun)
    if not done:
        return redirect(request, "/requests", flash=key("Somebody else was quicker."))
    audit_log.write(connection, user, ACTS[act], asked_for.case_key, address=address_of(request), judge=asked_for.judge)
    live_events.publish(connection, rejudge_requests.TOPIC)
    response = redirect(request, "/requests", flash=message)
    response.background = work
    return response


def _plan(request: Request, connection: Database, asked_for: rejudge_requests.Asked, spec: str) -> tuple[str, int]:
    """Make the judge, say what a ruling would cost, keep that with the request; and which trial it would be."""
    ledger = need_ledger(request)
    try:
        judge = rejudge_requests.judge_from(spec or asked_for.judge, asked_for.judge)
        case = rejudge_requests.again(connection, ledger, asked_for)
        cost = rejudge_requests.price(ledger, judge, case)
    except UserError as error:
        raise HTTPException(400, sentence(error)) from error
    rejudge_requests.change(connection, asked_for.id, "open", "interrupted", cost=orjson.dumps(cost).decode())
    return key("The price is shown with the request."), case.trial
