"""Who calls the API: a token in the `Authorization` header, never a cookie, so no other site can act for a user.

Name the caller before the connection among a route's parameters: `caller: Organiser, connection: Database`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from fullbench.web.accounts import api_tokens
from fullbench.web.accounts.users import Role, User
from fullbench.web.database import reading, writing
from fullbench.web.page_access import engine_of

bearer = HTTPBearer(scheme_name="token", description="A token made on the page `Your account`.", auto_error=False)
_READS = {"GET", "HEAD", "OPTIONS"}
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


def caller(request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> User:
    """The user whose token was sent; a token that only reads changes nothing."""
    if credentials is None:
        raise HTTPException(401, "this needs a token: send the header 'Authorization: Bearer TOKEN'", _CHALLENGE)
    with reading(engine_of(request)) as connection:
        token_owner = api_tokens.find(connection, credentials.credentials)
    if token_owner is None:
        raise HTTPException(401, "the token is not known, was revoked or has ended; make a new one", _CHALLENGE)
    user, token, due = token_owner
    if request.method not in _READS and token.scope != "write":
        raise HTTPException(403, "this token only reads; make one with the scope 'write'")
    if due:
        with writing(engine_of(request)) as connection:
            api_tokens.touch(connection, token)
    return user


def role(least: Role) -> Callable[[User], User]:
    """A dependency: the caller, who has at least that role."""

    def checked(user: Annotated[User, Depends(caller)]) -> User:
        if not user.may(least):
            raise HTTPException(403, f"this needs the role {least!r}; the token's owner is {user.role!r}")
        return user

    return checked


Viewer = Annotated[User, Depends(role("viewer"))]
Annotator = Annotated[User, Depends(role("annotator"))]
Organiser = Annotated[User, Depends(role("organiser"))]
