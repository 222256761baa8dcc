"""API routes under `/api/v1` for accounts, tokens, pictures, other media and the audit log; the API's description."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, File, HTTPException, Query, Request, Response, UploadFile
from fastapi.responses import HTMLResponse

from fullbench.core.media import media_from_bytes
from fullbench.core.translatable_note import error_sentence
from fullbench.errors import InputError
from fullbench.web import media_serving, picture_checks_storage_and_serving
from fullbench.web.accounts import api_tokens, audit_log, invitations, users
from fullbench.web.api import api_description_for_html_page
from fullbench.web.api.schemas import (
    RESPONSES,
    Act,
    Id,
    InvitationMade,
    InvitationShown,
    InvitationWish,
    Limit,
    Me,
    MediaShown,
    Page,
    Person,
    PersonChange,
    PictureShown,
    TokenMade,
    TokenShown,
    TokenWish,
    show_media,
)
from fullbench.web.api.token_authentication import Organiser, Viewer
from fullbench.web.page_rendering import render_template
from fullbench.web.route_access_connection_and_csrf_checks import CurrentUser, Database, base_of, settings_of

router = APIRouter(prefix="/api/v1", responses=RESPONSES)
docs = APIRouter(include_in_schema=False)

TAG_ACCOUNTS, TAG_PICTURES, TAG_MEDIA = "accounts", "pictures", "media"


@docs.get("/api")
def api_page(request: Request, _user: CurrentUser) -> HTMLResponse:
    """The API, described for people."""
    return render_template(
        request,
        "api.html",
        calls=api_description_for_html_page.list_calls(request.app.openapi()),
        origin=base_of(request),
    )


@docs.get("/api/v1/openapi.json")
def openapi_schema(request: Request) -> dict[str, Any]:
    """The API, described for programs."""
    description: dict[str, Any] = request.app.openapi()
    return description


@router.get("/me", tags=[TAG_ACCOUNTS])
def me(caller: Viewer) -> Me:
    """Return the account of the token."""
    return Me(id=caller.id, name=caller.name, role=caller.role)


@router.get("/users", tags=[TAG_ACCOUNTS])
def list_users(
    _caller: Organiser,
    connection: Database,
    after: Annotated[str, Query(max_length=240)] = "",
    limit: Limit = 50,
) -> Page[Person]:
    """People with an account, by name."""
    page_users = users.list_users(connection, after=after, limit=limit)
    rows = [Person.model_validate(user) for user in page_users]
    return Page(rows=rows, next=page_users[-1].name if len(page_users) == limit else None)


@router.patch("/users/{user_id}", tags=[TAG_ACCOUNTS])
def change_user(request: Request, caller: Organiser, connection: Database, user_id: Id, change: PersonChange) -> Person:
    """Give somebody another role, or close or open the account."""
    if users.find_user(connection, user_id) is None:
        raise HTTPException(404, "there is no such account")
    user = users.change_user(connection, user_id, role=change.role, disabled=change.disabled)
    changes = change.model_dump(exclude_none=True)
    audit_log.record_action(request, connection, caller, "account changed", user.name, **changes)
    return Person.model_validate(user)


@router.get("/invitations", tags=[TAG_ACCOUNTS])
def list_invitations(
    _caller: Organiser,
    connection: Database,
    before: Annotated[float | None, Query(ge=0, le=1e11)] = None,
    limit: Limit = 50,
) -> Page[InvitationShown]:
    """Invitations, the latest first."""
    page_invitations = invitations.list_invitations(connection, before=before, limit=limit)
    rows = [InvitationShown.model_validate(invitation) for invitation in page_invitations]
    return Page(rows=rows, next=repr(page_invitations[-1].at) if len(page_invitations) == limit else None)


@router.post("/invitations", status_code=201, tags=[TAG_ACCOUNTS])
def invite(request: Request, caller: Organiser, connection: Database, wish: InvitationWish) -> InvitationMade:
    """Make a link that lets one person make one account; it is shown once."""
    invitation, secret = invitations.create_invitation(connection, wish.role, caller, note=wish.note)
    audit_log.record_action(request, connection, caller, "invited", wish.note, role=wish.role)
    return InvitationMade(
        **InvitationShown.model_validate(invitation).model_dump(), link=f"{base_of(request)}/join/{secret}"
    )


@router.delete("/invitations/{invitation_id}", status_code=204, tags=[TAG_ACCOUNTS])
def take_back(request: Request, caller: Organiser, connection: Database, invitation_id: Id) -> Response:
    """Take an invitation back."""
    if not invitations.revoke_invitation(connection, invitation_id):
        raise HTTPException(404, "there is no such open invitation")
    audit_log.record_action(request, connection, caller, "invitation taken back", invitation_id)
    return Response(status_code=204)


@router.get("/tokens", tags=[TAG_ACCOUNTS])
def list_tokens(caller: Viewer, connection: Database) -> Page[TokenShown]:
    """Your own tokens, the latest first; there are never more than a page of them."""
    return Page(rows=[TokenShown.model_validate(token) for token in api_tokens.list_user_tokens(connection, caller)])


@router.post("/tokens", status_code=201, tags=[TAG_ACCOUNTS])
def make_token(request: Request, caller: Viewer, connection: Database, wish: TokenWish) -> TokenMade:
    """Make another token for yourself; it is shown once."""
    token, secret = api_tokens.create_token(connection, caller, wish.name, wish.scope, wish.days)
    audit_log.record_action(request, connection, caller, "token made", token.name, scope=token.scope)
    return TokenMade(**TokenShown.model_validate(token).model_dump(), token=secret)


@router.delete("/tokens/{token_id}", status_code=204, tags=[TAG_ACCOUNTS])
def revoke_token(request: Request, caller: Viewer, connection: Database, token_id: Id) -> Response:
    """Revoke one of your tokens."""
    if not api_tokens.revoke_token(connection, caller, token_id):
        raise HTTPException(404, "you have no such token")
    audit_log.record_action(request, connection, caller, "token revoked", token_id)
    return Response(status_code=204)


@router.post("/pictures", status_code=201, tags=[TAG_PICTURES])
def upload(request: Request, caller: Viewer, connection: Database, file: Annotated[UploadFile, File()]) -> PictureShown:
    """Bring a picture: PNG, JPEG, WebP or GIF; it is known by the digest of its bytes."""
    settings = settings_of(request)
    if not caller.may("annotator"):
        raise HTTPException(403, "a viewer's account only reads")
    data = file.file.read(settings.picture_limit + 1)
    try:
        stored_picture = picture_checks_storage_and_serving.store_upload(connection, settings, caller, data)
    except InputError as error:
        raise HTTPException(400, error_sentence(error)) from error
    audit_log.record_action(request, connection, caller, "picture brought", stored_picture.picture.digest)
    return PictureShown(
        digest=stored_picture.picture.digest,
        media=stored_picture.picture.media_type,
        width=stored_picture.width,
        height=stored_picture.height,
        bytes=stored_picture.bytes,
    )


@router.get(
    "/pictures/{digest}",
    tags=[TAG_PICTURES],
    response_class=Response,
    responses={
        200: {
            "description": "The picture",
            "content": {media: {} for media in sorted(picture_checks_storage_and_serving.SAFE)},
        }
    },
)
def picture(
    request: Request,
    caller: Viewer,
    connection: Database,
    digest: picture_checks_storage_and_serving.Digest,
    *,
    veiled: bool = False,
    size: Annotated[int | None, Query(ge=1, le=10_000)] = None,
) -> Response:
    """A picture, whole or small, or veiled; without metadata such as the generator's name."""
    image = picture_checks_storage_and_serving.find_picture(request, connection, caller, digest)
    return picture_checks_storage_and_serving.picture_response(request, image, is_veiled=veiled, size=size)


@router.get(
    "/pictures/{digest}/original",
    tags=[TAG_PICTURES],
    response_class=Response,
    responses={200: {"description": "The picture", "content": {"image/*": {}, "application/octet-stream": {}}}},
)
def original_picture(
    request: Request, caller: Organiser, connection: Database, digest: picture_checks_storage_and_serving.Digest
) -> Response:
    """A picture as it was brought, with its metadata."""
    return picture_checks_storage_and_serving.original_response(
        picture_checks_storage_and_serving.find_picture(request, connection, caller, digest)
    )


@router.post("/media", status_code=201, tags=[TAG_MEDIA])
def upload_media(
    request: Request, caller: Viewer, connection: Database, file: Annotated[UploadFile, File()]
) -> MediaShown:
    """Upload a video, recording or PDF document, which its content shows; it is known by the digest of its bytes."""
    if not caller.may("annotator"):
        raise HTTPException(403, "a viewer's account only reads")
    settings = settings_of(request)
    try:
        media = media_from_bytes(file.file.read(settings.body_limit + 1), name=file.filename)
        if media.kind == "image":
            raise InputError("this is a picture: send it to /api/v1/pictures")
        media_serving.store_media(connection, settings, caller, media)
    except InputError as error:
        raise HTTPException(400, error_sentence(error)) from error
    audit_log.record_action(request, connection, caller, "media uploaded", media.digest)
    return show_media(media)


@router.get(
    "/media/{digest}",
    tags=[TAG_MEDIA],
    response_class=Response,
    responses={
        200: {"description": "The file", "content": {"video/*": {}, "audio/*": {}}},
        206: {"description": "The range of bytes that the header Range names"},
    },
)
def playable_media(
    request: Request, caller: Viewer, connection: Database, digest: picture_checks_storage_and_serving.Digest
) -> Response:
    """A video or recording, or a range of it, without metadata such as the generator's name."""
    return media_serving.media_response(request, media_serving.find_playable(request, connection, caller, digest))


@router.get(
    "/media/{digest}/preview",
    tags=[TAG_MEDIA],
    response_class=Response,
    responses={200: {"description": "The picture", "content": {"image/webp": {}}}},
)
def media_preview(
    request: Request,
    caller: Viewer,
    connection: Database,
    digest: picture_checks_storage_and_serving.Digest,
    *,
    veiled: bool = False,
    size: Annotated[int | None, Query(ge=1, le=10_000)] = None,
) -> Response:
    """A frame of a video, or the first pages of a document, as a picture; whole, small or veiled."""
    media = media_serving.find_playable(request, connection, caller, digest)
    return media_serving.preview_response(request, media, is_veiled=veiled, size=size)


@router.get(
    "/media/{digest}/original",
    tags=[TAG_MEDIA],
    response_class=Response,
    responses={200: {"description": "The file", "content": {"application/octet-stream": {}}}},
)
def original_media(
    request: Request, caller: Organiser, connection: Database, digest: picture_checks_storage_and_serving.Digest
) -> Response:
    """A video, recording or document as it was uploaded, with its metadata."""
    return media_serving.original_media_response(media_serving.find_playable(request, connection, caller, digest))


@router.get("/audit", tags=[TAG_ACCOUNTS])
def list_audit(
    _caller: Organiser,
    connection: Database,
    *,
    before: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    name: Annotated[str, Query(max_length=80)] = "",
    action: Annotated[str, Query(max_length=40)] = "",
    limit: Limit = 50,
) -> Page[Act]:
    """List actions with their account and time, the latest first."""
    acts = audit_log.list_entries(connection, before=before, name=name, action=action, limit=limit)
    rows = [Act.model_validate(act) for act in acts]
    return Page(rows=rows, next=str(acts[-1].id) if len(acts) == limit else None)
