"""Authentication of API calls by a token in the `Authorization` header.

Cookies are never accepted, so no other site can act for a user. In a route's parameters, name the caller before the
connection: `caller: Organiser, connection: Database`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from fullbench.web.accounts import api_tokens
from fullbench.web.accounts.users import Role, User
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.route_access_connection_and_csrf_checks import engine_of

bearer = HTTPBearer(scheme_name="token", description="A token made on the page `Your account`.", auto_error=False)
_READS = {"GET", "HEAD", "OPTIONS"}
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


def authenticate_caller(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> User:
    """Return the owner of the token that was sent; a read-only token may not change anything."""
    if credentials is None:
        raise HTTPException(401, "this needs a token: send the header 'Authorization: Bearer TOKEN'", _CHALLENGE)
    with read_transaction(engine_of(request)) as connection:
        token_owner = api_tokens.find_token_owner(connection, credentials.credentials)
    if token_owner is None:
        raise HTTPException(401, "the token is not known, was revoked or has ended; make a new one", _CHALLENGE)
    user, token, due = token_owner
    if request.method not in _READS and token.scope != "write":
        raise HTTPException(403, "this token only reads; make one with the scope 'write'")
    if due:
        with write_transaction(engine_of(request)) as connection:
            api_tokens.record_token_use(connection, token)
    return user


def require_role(least: Role) -> Callable[[User], User]:
    """Return a FastAPI dependency that gives the caller and requires at least that role."""

    def check_role(user: Annotated[User, Depends(authenticate_caller)]) -> User:
        if not user.may(least):
            raise HTTPException(403, f"this needs the role {least!r}; the token's owner is {user.role!r}")
        return user

    return check_role


Viewer = Annotated[User, Depends(require_role("viewer"))]
Annotator = Annotated[User, Depends(require_role("annotator"))]
Organiser = Annotated[User, Depends(require_role("organiser"))]
