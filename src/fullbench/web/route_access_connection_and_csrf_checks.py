"""FastAPI dependencies of all routes: signed-in user, roles, database connection, CSRF check.

A route declares what it needs by a type: `user: Organiser`, `user: Annotator`, `user: Viewer` (any account),
`user: Reader` (None if results are public and nobody is signed in), `connection: Database` (one transaction, read
only for GET). The app checks CSRF for every route.
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
from fullbench.web.accounts.random_ids_digests_and_site_key import sign_parts
from fullbench.web.accounts.users import Role, User
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.shared_writable_ledgers_by_study import LedgerWriters
from fullbench.web.site_settings_and_worker_transfer import Settings
from fullbench.web.words import key

SESSION = "fullbench_session"
VISIT = "fullbench_visit"
API = "/api/"
TURNS = 16
"""Maximum number of requests of one worker that hold a connection; fewer than the engine has."""
_SAFE = {"GET", "HEAD", "OPTIONS"}
# Ours have 43 characters; what is longer was not set by us and need not be hashed.
_LONGEST_COOKIE = 200


class NotSignedIn(Exception):
    """The page needs an account and nobody is signed in. The handler redirects to the login page."""


def settings_of(request: Request) -> Settings:
    """Return the settings of the app that serves this request."""
    settings: Settings = request.app.state.settings
    return settings


def engine_of(request: Request) -> Engine:
    """Return the database engine of the app that serves this request."""
    engine: Engine = request.app.state.engine
    return engine


def ledger_of(request: Request) -> Ledger | None:
    """Return the site's ledger, open for reading, or None if the site shows no ledger."""
    ledger: Ledger | None = request.app.state.ledger
    return ledger


def writers_of(request: Request) -> LedgerWriters:
    """Return the site's ledger, open for writing."""
    writers: LedgerWriters = request.app.state.writers
    return writers


def base_of(request: Request) -> str:
    """Return the public URL of this site."""
    return settings_of(request).url.rstrip("/") or str(request.base_url).rstrip("/")


def site_key_of(request: Request) -> bytes:
    """Return the secret key that signs forms and cookies of this site."""
    site_key: bytes = request.app.state.key
    return site_key


def address_of(request: Request) -> str:
    """Return the IP address of the client, or an empty string if unknown."""
    return request.client.host if request.client else ""


def session_secret(request: Request) -> str | None:
    """Return the session cookie, or None if it is missing or too long."""
    secret = request.cookies.get(SESSION)
    return secret if secret and len(secret) <= _LONGEST_COOKIE else None


def current_user(request: Request) -> User | None:
    """Return the signed-in user. None for visitors and for the API, which accepts only tokens."""
    if not hasattr(request.state, "user"):
        request.state.user = None if request.url.path.startswith(API) else _session_user(request)
    user: User | None = request.state.user
    return user


def _session_user(request: Request) -> User | None:
    secret = session_secret(request)
    if secret is None:
        return None
    with read_transaction(engine_of(request)) as connection:
        session = sessions.find_session_user(connection, secret, settings_of(request))
    if session is None:
        return None
    user, due = session
    if due:
        with write_transaction(engine_of(request)) as connection:
            sessions.record_session_use(connection, secret)
    return user


CurrentUser = Annotated[User | None, Depends(current_user)]


def require_role(least: Role) -> Callable[[User | None], User]:
    """Return a dependency that gives the user if they have at least this role."""

    def check_role(user: CurrentUser) -> User:
        if user is None:
            raise NotSignedIn
        if not user.may(least):
            raise HTTPException(403, key("Your account may not do this."))
        return user

    return check_role


def require_reader(request: Request, user: CurrentUser) -> User | None:
    """Return the user who reads results. None is allowed only on a public site."""
    if user is None and not settings_of(request).public:
        raise NotSignedIn
    return user


Viewer = Annotated[User, Depends(require_role("viewer"))]
Annotator = Annotated[User, Depends(require_role("annotator"))]
Organiser = Annotated[User, Depends(require_role("organiser"))]
Reader = Annotated[User | None, Depends(require_reader)]


async def connection_of(request: Request, _user: CurrentUser) -> AsyncIterator[Connection]:
    """Open one transaction per request and commit it before the response is sent. The user is looked up first.

    A request that holds a connection still needs a thread to continue. If all threads waited for connections, this
    would be a deadlock. So requests take turns here, before they hold either.
    """
    open_transaction = read_transaction if request.method in _SAFE else write_transaction
    turns: asyncio.Semaphore = request.app.state.turns
    async with turns, contextmanager_in_threadpool(open_transaction(engine_of(request))) as connection:
        yield connection


# With scope="function" FastAPI commits before it sends the response, not after.
Database = Annotated[Connection, Depends(connection_of, scope="function")]


def csrf_token(request: Request) -> str:
    """Return the token for this visitor's forms, bound to the session or to the visit cookie."""
    visitor_secret = session_secret(request) if current_user(request) else visit_of(request)
    return sign_parts(site_key_of(request), "csrf", visitor_secret or "")


def visit_of(request: Request) -> str:
    """Return the cookie of a visitor who is not signed in, or a new one (`page_rendering.render_template` sends it)."""
    from fullbench.web.accounts.random_ids_digests_and_site_key import new_secret

    if not hasattr(request.state, "visit"):
        cookie = request.cookies.get(VISIT, "")
        is_valid = bool(cookie) and len(cookie) <= _LONGEST_COOKIE
        request.state.visit = cookie if is_valid else new_secret()
        request.state.new_visit = not is_valid
    visit: str = request.state.visit
    return visit


async def check_csrf(request: Request, _user: CurrentUser) -> None:
    """Refuse a change that did not come from one of our pages: wrong origin or wrong token."""
    if request.method in _SAFE or request.url.path.startswith(API):
        return
    if not same_origin(request):
        raise HTTPException(403, key("This request came from another site."))
    token: Any = request.headers.get("x-csrf-token")
    if token is None:
        token = (await request.form()).get("csrf", "")
    if not isinstance(token, str) or not hmac.compare_digest(token.encode(), csrf_token(request).encode()):
        raise HTTPException(403, key("This form is too old; go back, load the page again and repeat."))


def same_origin(request: Request) -> bool:
    """Return True unless the browser's headers say that another site sent the request."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = request.headers.get("origin")
    own_hosts = {request.headers.get("host", ""), urlsplit(settings_of(request).url).netloc} - {""}
    return origin is None or urlsplit(origin).netloc in own_hosts
