"""Pages for the user's own account, the list of people and invitations, and the audit log."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Path, Query, Request
from fastapi.responses import Response
from sqlalchemy import Connection, func, select

from fullbench.core.translatable_note import error_sentence
from fullbench.errors import InputError
from fullbench.web import route_access_connection_and_csrf_checks
from fullbench.web.accounts import (
    account_and_shared_site_tables,
    api_tokens,
    audit_log,
    invitations,
    passwords,
    sessions,
    users,
)
from fullbench.web.accounts.sign_in_pages import Text
from fullbench.web.page_rendering import redirect_to_page, render_template, set_cookie
from fullbench.web.route_access_connection_and_csrf_checks import Database, Organiser, Viewer
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)
Id = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
PAGE = 50


@router.get("/account")
def account_page(request: Request, user: Viewer, connection: Database) -> Response:
    """One's own account."""
    return _render_account(request, user, connection)


def _render_account(request: Request, user: users.User, connection: Connection, **values: Any) -> Response:
    session_count_query = (
        select(func.count())
        .select_from(account_and_shared_site_tables.sessions)
        .where(account_and_shared_site_tables.sessions.c.user_id == user.id)
    )
    page_values: dict[str, Any] = {"problem": "", "secret": "", "status": 200} | values
    return render_template(
        request,
        "accounts/account.html",
        tokens=api_tokens.list_user_tokens(connection, user),
        sessions=connection.execute(session_count_query).scalar_one(),
        **page_values,
    )


@router.post("/account/password")
def change_password(
    request: Request, user: Viewer, connection: Database, *, old: Text, new: Text, again: Text
) -> Response:
    """Change one's password; other sessions end, this one goes on under a new cookie."""
    try:
        if not passwords.verify_password(old, users.find_user_for_sign_in(connection, user.name)[1]):
            raise InputError(key("The old password is not right."))
        if new != again:
            raise InputError(key("The two passwords differ."))
        users.set_password(connection, user, new)
    except InputError as error:
        return _render_account(request, user, connection, problem=error_sentence(error), status=400)
    address, agent = route_access_connection_and_csrf_checks.address_of(request), request.headers.get("user-agent", "")
    secret = sessions.start_session(connection, user, address=address, agent=agent)
    audit_log.write_entry(connection, user, "password changed", address=address)
    response = redirect_to_page(request, "/account", flash=key("The password is changed; other sessions have ended."))
    set_cookie(
        request,
        response,
        route_access_connection_and_csrf_checks.SESSION,
        secret,
        seconds=route_access_connection_and_csrf_checks.settings_of(request).lasting,
    )
    return response


@router.post("/account/tokens")
def make_token(
    request: Request,
    user: Viewer,
    connection: Database,
    *,
    name: Text,
    scope: Text = "read",
    days: Annotated[int, Form(ge=1, le=3650)] = 90,
) -> Response:
    """Make a token; it is shown on this page alone."""
    try:
        token, secret = api_tokens.create_token(connection, user, name, scope, days)
    except InputError as error:
        return _render_account(request, user, connection, problem=error_sentence(error), status=400)
    audit_log.record_action(request, connection, user, "token made", token.name, scope=scope)
    return _render_account(request, user, connection, secret=secret)


@router.post("/account/tokens/{token_id}/revoke")
def revoke_token(request: Request, user: Viewer, connection: Database, token_id: Id) -> Response:
    """Revoke a token of one's own."""
    if api_tokens.revoke_token(connection, user, token_id):
        audit_log.record_action(request, connection, user, "token revoked", token_id)
    return redirect_to_page(request, "/account", flash=key("The token is revoked."))


@router.get("/people")
def people_page(
    request: Request,
    _user: Organiser,
    connection: Database,
    after: Annotated[str, Query(max_length=240)] = "",
    before: Annotated[float | None, Query(ge=0, le=1e11)] = None,
) -> Response:
    """Everybody with an account, and the invitations."""
    return _render_people(request, connection, after=after, before=before)


def _render_people(
    request: Request, connection: Connection, *, after: str = "", before: float | None = None, **values: Any
) -> Response:
    page_users = users.list_users(connection, after=after, limit=PAGE + 1)
    links = invitations.list_invitations(connection, before=before, limit=PAGE + 1)
    page_values: dict[str, Any] = {"problem": "", "link": "", "status": 200} | values
    return render_template(
        request,
        "accounts/people.html",
        people=page_users[:PAGE],
        more=page_users[PAGE - 1].name if len(page_users) > PAGE else "",
        invitations=links[:PAGE],
        earlier=repr(links[PAGE - 1].at) if len(links) > PAGE else "",
        roles=users.ROLES,
        **page_values,
    )


@router.post("/people/invite")
def invite_person(request: Request, user: Organiser, connection: Database, role: Text, note: Text = "") -> Response:
    """Make an invitation; its link is shown on this page alone."""
    try:
        invitation, secret = invitations.create_invitation(connection, users.parse_role(role), user, note=note)
    except InputError as error:
        return _render_people(request, connection, problem=error_sentence(error), status=400)
    audit_log.record_action(request, connection, user, "invited", invitation.note, role=role)
    return _render_people(
        request, connection, link=f"{route_access_connection_and_csrf_checks.base_of(request)}/join/{secret}"
    )


@router.post("/people/invitations/{invitation_id}/revoke")
def revoke_invitation(request: Request, user: Organiser, connection: Database, invitation_id: Id) -> Response:
    """Take an invitation back."""
    if invitations.revoke_invitation(connection, invitation_id):
        audit_log.record_action(request, connection, user, "invitation taken back", invitation_id)
    return redirect_to_page(request, "/people", flash=key("The invitation is taken back."))


@router.post("/people/{user_id}")
def change_account(request: Request, user: Organiser, connection: Database, user_id: Id, *, change: Text) -> Response:
    """Give somebody another role, or close or open the account."""
    if users.find_user(connection, user_id) is None:
        raise HTTPException(404, key("There is no such account."))
    try:
        if change in {"close", "open"}:
            changed_user = users.change_user(connection, user_id, disabled=change == "close")
        else:
            changed_user = users.change_user(connection, user_id, role=users.parse_role(change))
    except InputError as error:
        return _render_people(request, connection, problem=error_sentence(error), status=400)
    audit_log.record_action(request, connection, user, "account changed", changed_user.name, change=change)
    return redirect_to_page(request, "/people", flash=key("The account of {name} is changed."), name=changed_user.name)


@router.get("/audit")
def audit_page(
    request: Request,
    _user: Organiser,
    connection: Database,
    *,
    before: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    name: Annotated[str, Query(max_length=80)] = "",
    action: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """Show the log of actions."""
    acts = audit_log.list_entries(connection, before=before, name=name, action=action, limit=PAGE + 1)
    return render_template(
        request,
        "accounts/audit.html",
        acts=acts[:PAGE],
        more=acts[PAGE - 1].id if len(acts) > PAGE else None,
        actions=audit_log.list_actions(connection),
        name=name,
        action=action,
    )
