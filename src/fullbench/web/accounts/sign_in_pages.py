"""Signing in and out, making an account from an invitation, and one's own account."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import Response

from fullbench.core.note import sentence
from fullbench.errors import InputError
from fullbench.web import page_access
from fullbench.web.accounts import audit_log, invitations, passwords, sessions, sign_in_protection, users
from fullbench.web.accounts.users import User
from fullbench.web.database import reading, writing
from fullbench.web.page_access import Current, Database, Viewer
from fullbench.web.page_rendering import LANGUAGE, YEAR, local_path, redirect, render, set_cookie
from fullbench.web.words import LANGUAGES, key

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Form(max_length=2000)]

WRONG = key("The name or the password is not right.")
TOO_MANY = key("Too many attempts; wait a quarter of an hour and try again.")


@router.get("/login")
def login_page(request: Request, user: Current, next: str = "/") -> Response:  # noqa: A002
    """The form to sign in."""
    if user is not None:
        return redirect(request, local_path(next))
    return render(request, "accounts/login.html", next=local_path(next), problem="", name="")


@router.post("/login")
def login(request: Request, name: Text, password: Text, next: Text = "/") -> Response:  # noqa: A002
    """Sign in. Whatever is wrong, the answer is the same, and takes the same work."""
    engine, site_key, address = (
        page_access.engine_of(request),
        page_access.site_key_of(request),
        page_access.address_of(request),
    )
    folded = users.folded(name)
    device = sign_in_protection.known(site_key, request.cookies.get(sign_in_protection.COOKIE, ""), folded)
    with writing(engine) as connection:
        sign_in_protection.note(connection, site_key, folded, address, device)
    with reading(engine) as connection:
        allowed = sign_in_protection.allowed(connection, site_key, folded, address, device)
        user, password_hash = users.login(connection, name)
    shown = {"next": local_path(next), "name": name}
    if not allowed:
        page = render(request, "accounts/login.html", status=429, problem=TOO_MANY, **shown)
        page.headers["Retry-After"] = str(int(sign_in_protection.WINDOW))
        return page
    right = passwords.matches(password, password_hash)
    with writing(engine) as connection:
        if user is None or not right:
            audit_log.write(connection, None, "sign-in refused", name[:80], address=address)
            return render(request, "accounts/login.html", status=401, problem=WRONG, **shown)
        sign_in_protection.succeeded(connection, site_key, folded, address, device)
        return enter(request, user, local_path(next), connection)


def enter(request: Request, user: User, to: str, connection: Database, flash: str = "") -> Response:
    """A new session, whatever the browser brought along, and on to a page."""
    settings = page_access.settings_of(request)
    if (old := page_access.session_secret(request)) is not None:
        sessions.end(connection, old)
    sessions.clear(connection, settings)
    agent, address = request.headers.get("user-agent", ""), page_access.address_of(request)
    secret = sessions.start(connection, user, address=address, agent=agent)
    audit_log.write(connection, user, "signed in", address=address)
    response = redirect(request, to, flash=flash)
    set_cookie(request, response, page_access.SESSION, secret, seconds=settings.lasting)
    device = sign_in_protection.remembered(
        page_access.site_key_of(request), request.cookies.get(sign_in_protection.COOKIE, ""), users.folded(user.name)
    )
    set_cookie(request, response, sign_in_protection.COOKIE, device, seconds=YEAR)
    response.delete_cookie(page_access.VISIT)
    return response


@router.post("/logout")
def logout(request: Request, user: Viewer, connection: Database, everywhere: Text = "") -> Response:
    """Sign out, here or everywhere."""
    if everywhere:
        sessions.end_all(connection, user.id)
    elif (secret := page_access.session_secret(request)) is not None:
        sessions.end(connection, secret)
    audit_log.write(
        connection, user, "signed out", "everywhere" if everywhere else "", address=page_access.address_of(request)
    )
    request.state.user = None
    response = redirect(request, "/login", flash=key("You are signed out."))
    response.delete_cookie(page_access.SESSION)
    return response


@router.get("/join/{secret}")
def join_page(request: Request, secret: str, connection: Database) -> Response:
    """The form behind an invitation link."""
    invitation = invitations.find(connection, secret)
    if invitation is None:
        raise HTTPException(404, key("This invitation is used up or has ended; ask for a new one."))
    return render(request, "accounts/join.html", invitation=invitation, problem="", name="")


@router.post("/join/{secret}")
def join(request: Request, secret: str, connection: Database, *, name: Text, password: Text, again: Text) -> Response:
    """Make the account and sign in; a second time, as by a double click, is as good as one."""
    if (already := invitations.accepted(connection, secret, name, password)) is not None:
        return enter(request, already, "/", connection)
    try:
        if password != again:
            raise InputError(key("The two passwords differ."))
        with connection.begin_nested():
            user = invitations.accept(connection, secret, name, password)
    except InputError as error:
        invitation = invitations.find(connection, secret)
        if invitation is None:
            raise HTTPException(404, key("This invitation is used up or has ended; ask for a new one.")) from error
        return render(
            request, "accounts/join.html", status=400, invitation=invitation, problem=sentence(error), name=name[:60]
        )
    audit_log.write(connection, user, "joined", user.role, address=page_access.address_of(request))
    return enter(request, user, "/", connection, flash=key("Welcome. Your account is ready."))


@router.post("/language")
def language(request: Request, to: Text, next: Text = "/") -> Response:  # noqa: A002
    """Choose the language of the interface; it is remembered."""
    if to not in LANGUAGES:
        raise HTTPException(400, key("This language is not known."))
    response = redirect(request, local_path(next))
    set_cookie(request, response, LANGUAGE, to, seconds=YEAR)
    return response
