"""Who is asking, and may they? The dependencies that every route uses.

A route names what it needs by a type: `user: Organiser`, `user: Annotator`, `user: Viewer` (anybody with an account),
`user: Reader` (None where results are public and nobody is signed in), `connection: Database` (one transaction, read
only for GET). CSRF is checked for every route of the app, without its asking.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request
from fastapi.concurrency import contextmanager_in_threadpool
from sqlalchemy import Connection, Engine

from fullbench.ledger.ledger import Ledger
from fullbench.web.accounts import sessions
from fullbench.web.accounts.random_ids_and_digests import signed
from fullbench.web.accounts.users import Role, User
from fullbench.web.database import reading, writing
from fullbench.web.open_ledgers import Writers
from fullbench.web.site_settings import Settings
from fullbench.web.words import key

SESSION = "fullbench_session"
VISIT = "fullbench_visit"
API = "/api/"
TURNS = 16
"""How many requests of one worker hold a connection at once; fewer than the engine has to give."""
_SAFE = {"GET", "HEAD", "OPTIONS"}
_LONGEST_COOKIE = 200


class NotSignedIn(Exception):
    """The page needs an account and nobody is signed in: the way leads to the login page."""


def settings_of(request: Request) -> Settings:
    """The settings of the app that serves this request."""
    settings: Settings = request.app.state.settings
    return settings


def engine_of(request: Request) -> Engine:
    """The engine of the app that serves this request."""
    engine: Engine = request.app.state.engine
    return engine


def ledger_of(request: Request) -> Ledger | None:
    """The ledger that is shown, open for reading; None where the site shows none."""
    ledger: Ledger | None = request.app.state.ledger
    return ledger


def writers_of(request: Request) -> Writers:
    """The ledger that is shown, open for writing."""
    found: Writers = request.app.state.writers
    return found


def base_of(request: Request) -> str:
    """The address of this site as people reach it."""
    return settings_of(request).url.rstrip("/") or str(request.base_url).rstrip("/")


def site_key_of(request: Request) -> bytes:
    """The key with which this site signs."""
    site_key: bytes = request.app.state.key
    return site_key


def address_of(request: Request) -> str:
    """The address of the client, as far as it is known."""
    return request.client.host if request.client else ""


def session_secret(request: Request) -> str | None:
    """The session's cookie, where there is a plausible one."""
    secret = request.cookies.get(SESSION)
    return secret if secret and len(secret) <= _LONGEST_COOKIE else None


def current_user(request: Request) -> User | None:
    """Who is signed in by a session; None for visitors, and for the API, which takes tokens alone."""
    if not hasattr(request.state, "user"):
        request.state.user = None if request.url.path.startswith(API) else _by_session(request)
    user: User | None = request.state.user
    return user


def _by_session(request: Request) -> User | None:
    secret = session_secret(request)
    if secret is None:
        return None
    with reading(engine_of(request)) as connection:
        session = sessions.find(connection, secret, settings_of(request))
    if session is None:
        return None
    user, due = session
    if due:
        with writing(engine_of(request)) as connection:
            sessions.touch(connection, secret)
    return user


Current = Annotated[User | None, Depends(current_user)]


def role(least: Role) -> Callable[[User | None], User]:
    """A dependency: the user, who has at least that role."""

    def checked(user: Current) -> User:
        if user is None:
            raise NotSignedIn
        if not user.may(least):
            raise HTTPException(403, key("Your account may not do this."))
        return user

    return checked


def need(least: Role) -> Any:
    """`Depends` on a user with at least that role."""
    return Depends(role(least))


def reader(request: Request, user: Current) -> User | None:
    """Who reads results: anybody with an account, and everybody where the site is public."""
    if user is None and not settings_of(request).public:
        raise NotSignedIn
    return user


Viewer = Annotated[User, Depends(role("viewer"))]
Annotator = Annotated[User, Depends(role("annotator"))]
Organiser = Annotated[User, Depends(role("organiser"))]
Reader = Annotated[User | None, Depends(reader)]


async def connection_of(request: Request, _user: Current) -> AsyncIterator[Connection]:
    """One transaction for the request, committed before the answer is sent. The user was looked up before it.

    A request that holds a connection still needs a thread to go on. Were threads waiting for connections then, all
    would wait for each other; so requests take turns here, before they have either.
    """
    way = reading if request.method in _SAFE else writing
    turns: asyncio.Semaphore = request.app.state.turns
    async with turns, contextmanager_in_threadpool(way(engine_of(request))) as connection:
        yield connection


Database = Annotated[Connection, Depends(connection_of, scope="function")]


def csrf_token(request: Request) -> str:
    """The token that forms of this visitor carry; bound to the session, or to a cookie of the visit before it."""
    bound = session_secret(request) if current_user(request) else visit_of(request)
    return signed(site_key_of(request), "csrf", bound or "")


def visit_of(request: Request) -> str:
    """Return the cookie of a visitor who is not signed in, or a new one (`page_rendering.render` sends it)."""
    from fullbench.web.accounts.random_ids_and_digests import new_secret

    if not hasattr(request.state, "visit"):
        sent = request.cookies.get(VISIT, "")
        known = bool(sent) and len(sent) <= _LONGEST_COOKIE
        request.state.visit = sent if known else new_secret()
        request.state.new_visit = not known
    visit: str = request.state.visit
    return visit


async def check_csrf(request: Request, _user: Current) -> None:
    """Refuse a change that did not come from a page of ours: wrong origin, or no token of this visitor."""
    if request.method in _SAFE or request.url.path.startswith(API):
        return
    if not same_origin(request):
        raise HTTPException(403, key("This request came from another site."))
    sent: Any = request.headers.get("x-csrf-token")
    if sent is None:
        sent = (await request.form()).get("csrf", "")
    if not isinstance(sent, str) or not hmac.compare_digest(sent.encode(), csrf_token(request).encode()):
        raise HTTPException(403, key("This form is too old; go back, load the page again and repeat."))


def same_origin(request: Request) -> bool:
    """Whether the browser says that one of our own pages sent this; true where it does not say."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = request.headers.get("origin")
    own = {request.headers.get("host", ""), urlsplit(settings_of(request).url).netloc} - {""}
    return origin is None or urlsplit(origin).netloc in own
