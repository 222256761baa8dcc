"""Pages to sign in, sign out, create an account from an invitation, and choose the language."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import Response

from fullbench.core.translatable_note import error_sentence
from fullbench.errors import InputError
from fullbench.web import route_access_connection_and_csrf_checks
from fullbench.web.accounts import audit_log, failed_sign_in_limits, invitations, passwords, sessions, users
from fullbench.web.accounts.users import User
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.page_rendering import LANGUAGE, YEAR, local_path, redirect_to_page, render_template, set_cookie
from fullbench.web.route_access_connection_and_csrf_checks import CurrentUser, Database, Viewer
from fullbench.web.words import LANGUAGES, key

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Form(max_length=2000)]

WRONG = key("The name or the password is not right.")
TOO_MANY = key("Too many attempts; wait a quarter of an hour and try again.")


@router.get("/login")
def login_page(request: Request, user: CurrentUser, next: str = "/") -> Response:  # noqa: A002
    """The form to sign in."""
    if user is not None:
        return redirect_to_page(request, local_path(next))
    return render_template(request, "accounts/login.html", next=local_path(next), problem="", name="")


@router.post("/login")
def sign_in(request: Request, name: Text, password: Text, next: Text = "/") -> Response:  # noqa: A002
    """Sign in. Whatever is wrong, the answer is the same, and takes the same work."""
    engine, site_key, address = (
        route_access_connection_and_csrf_checks.engine_of(request),
        route_access_connection_and_csrf_checks.site_key_of(request),
        route_access_connection_and_csrf_checks.address_of(request),
    )
    name_key = users.fold_name(name)
    device = failed_sign_in_limits.known_device(
        site_key, request.cookies.get(failed_sign_in_limits.COOKIE, ""), name_key
    )
    with write_transaction(engine) as connection:
        failed_sign_in_limits.record_attempt(connection, site_key, name_key, address, device)
    with read_transaction(engine) as connection:
        is_allowed = failed_sign_in_limits.is_attempt_allowed(connection, site_key, name_key, address, device)
        user, password_hash = users.find_user_for_sign_in(connection, name)
    form_values = {"next": local_path(next), "name": name}
    if not is_allowed:
        page = render_template(request, "accounts/login.html", status=429, problem=TOO_MANY, **form_values)
        page.headers["Retry-After"] = str(int(failed_sign_in_limits.WINDOW))
        return page
    right = passwords.verify_password(password, password_hash)
    with write_transaction(engine) as connection:
        if user is None or not right:
            audit_log.write_entry(connection, None, "sign-in refused", name[:80], address=address)
            return render_template(request, "accounts/login.html", status=401, problem=WRONG, **form_values)
        failed_sign_in_limits.clear_attempts(connection, site_key, name_key, address, device)
        return sign_in_and_redirect(request, user, local_path(next), connection)


def sign_in_and_redirect(request: Request, user: User, to: str, connection: Database, flash: str = "") -> Response:
    """Start a new session, end the browser's old one, and redirect to a page."""
    settings = route_access_connection_and_csrf_checks.settings_of(request)
    if (old := route_access_connection_and_csrf_checks.session_secret(request)) is not None:
        sessions.end_session(connection, old)
    sessions.delete_expired_sessions(connection, settings)
    agent, address = request.headers.get("user-agent", ""), route_access_connection_and_csrf_checks.address_of(request)
    secret = sessions.start_session(connection, user, address=address, agent=agent)
    audit_log.write_entry(connection, user, "signed in", address=address)
    response = redirect_to_page(request, to, flash=flash)
    set_cookie(request, response, route_access_connection_and_csrf_checks.SESSION, secret, seconds=settings.lasting)
    device = failed_sign_in_limits.device_cookie(
        route_access_connection_and_csrf_checks.site_key_of(request),
        request.cookies.get(failed_sign_in_limits.COOKIE, ""),
        users.fold_name(user.name),
    )
    set_cookie(request, response, failed_sign_in_limits.COOKIE, device, seconds=YEAR)
    response.delete_cookie(route_access_connection_and_csrf_checks.VISIT)
    return response


@router.post("/logout")
def sign_out(request: Request, user: Viewer, connection: Database, everywhere: Text = "") -> Response:
    """Sign out, here or everywhere."""
    if everywhere:
        sessions.end_all_sessions(connection, user.id)
    elif (secret := route_access_connection_and_csrf_checks.session_secret(request)) is not None:
        sessions.end_session(connection, secret)
    audit_log.record_action(request, connection, user, "signed out", "everywhere" if everywhere else "")
    request.state.user = None
    response = redirect_to_page(request, "/login", flash=key("You are signed out."))
    response.delete_cookie(route_access_connection_and_csrf_checks.SESSION)
    return response


@router.get("/join/{secret}")
def join_page(request: Request, secret: str, connection: Database) -> Response:
    """The form behind an invitation link."""
    invitation = invitations.find_invitation(connection, secret)
    if invitation is None:
        raise HTTPException(404, key("This invitation is used up or has ended; ask for a new one."))
    return render_template(request, "accounts/join.html", invitation=invitation, problem="", name="")


@router.post("/join/{secret}")
def join_site(
    request: Request, secret: str, connection: Database, *, name: Text, password: Text, again: Text
) -> Response:
    """Make the account and sign in; a second time, as by a double click, is as good as one."""
    if (already := invitations.find_accepting_user(connection, secret, name, password)) is not None:
        return sign_in_and_redirect(request, already, "/", connection)
    try:
        if password != again:
            raise InputError(key("The two passwords differ."))
        with connection.begin_nested():
            user = invitations.accept_invitation(connection, secret, name, password)
    except InputError as error:
        invitation = invitations.find_invitation(connection, secret)
        if invitation is None:
            raise HTTPException(404, key("This invitation is used up or has ended; ask for a new one.")) from error
        return render_template(
            request,
            "accounts/join.html",
            status=400,
            invitation=invitation,
            problem=error_sentence(error),
            name=name[:60],
        )
    audit_log.record_action(request, connection, user, "joined", user.role)
    return sign_in_and_redirect(request, user, "/", connection, flash=key("Welcome. Your account is ready."))


@router.post("/language")
def choose_language(request: Request, to: Text, next: Text = "/") -> Response:  # noqa: A002
    """Choose the language of the interface; it is remembered."""
    if to not in LANGUAGES:
        raise HTTPException(400, key("This language is not known."))
    response = redirect_to_page(request, local_path(next))
    set_cookie(request, response, LANGUAGE, to, seconds=YEAR)
    return response
