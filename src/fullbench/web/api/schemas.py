"""Request and response schemas of the API. Times are seconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from fullbench.core.media import Media
from fullbench.errors import InputError
from fullbench.web.accounts.api_tokens import Scope
from fullbench.web.accounts.users import Role

Row = TypeVar("Row")
Limit = Annotated[int, Query(ge=1, le=200, description="How many rows to give at most.")]
Id = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]


class Shape(BaseModel):
    """Fields that are not known are refused, not passed over."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


class Problem(Shape):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


class Page(Shape, Generic[Row]):
    """Some rows, and the cursor that brings the next ones; None when these were the last."""

    rows: Sequence[Row]
    next: str | None = None


class Me(Shape):
    id: str
    name: str
    role: Role


class Person(Me):
    disabled: bool
    at: float


class PersonChange(Shape):
    role: Role | None = None
    disabled: bool | None = None


class InvitationWish(Shape):
    role: Role = "annotator"
    note: str = Field("", max_length=200)


class InvitationShown(Shape):
    id: str
    role: Role
    note: str
    at: float
    until: float
    ended: float | None


class InvitationMade(InvitationShown):
    link: str
    """The path of the link; shown once."""


class TokenWish(Shape):
    name: str = Field(min_length=1, max_length=60)
    scope: Scope = "read"
    days: int | None = Field(None, ge=1, le=3650)


class TokenShown(Shape):
    id: str
    name: str
    scope: Scope
    at: float
    until: float | None
    used: float | None


class TokenMade(TokenShown):
    token: str
    """The secret; shown once."""


class PictureShown(Shape):
    digest: str
    media: str
    width: int
    height: int
    bytes: int


class MediaShown(Shape):
    """A picture, video, recording or document of a question or a response."""

    kind: Literal["image", "video", "audio", "document"]
    digest: str
    media_type: str
    bytes: int | None = Field(description="Its size; null if the file is gone.")
    url: str = Field(description="Where the file is, without metadata; for a document, a picture of its first pages.")


def show_media(media: Media) -> MediaShown:
    """Return a file as the API shows it."""
    byte_count = None
    with suppress(InputError):
        byte_count = media.byte_count
    where = {"image": "pictures/{}", "document": "media/{}/preview"}.get(media.kind, "media/{}")
    return MediaShown(
        kind=media.kind, digest=media.digest, media_type=media.media_type, bytes=byte_count,
        url="/api/v1/" + where.format(media.digest),
    )  # fmt: skip


class Act(Shape):
    id: int
    at: float
    user: str | None
    name: str
    action: str
    target: str
    detail: Mapping[str, Any]
    address: str


PROBLEM: dict[str, Any] = {"content": {"application/problem+json": {"schema": Problem.model_json_schema()}}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"description": "A value does not fit", **PROBLEM},
    401: {"description": "No token, or none that is known", **PROBLEM},
    403: {"description": "The token's owner may not do this", **PROBLEM},
    404: {"description": "There is no such thing", **PROBLEM},
    413: {"description": "More was sent than is taken", **PROBLEM},
    422: {"description": "The request does not have the form asked for", **PROBLEM},
}
"""Error responses of every call."""
