"""Pictures that annotators upload with what they write: stored by digest, usable only by their uploader."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import Connection, select
from starlette.datastructures import UploadFile

from fullbench.core.item import WITHOUT_PICTURES
from fullbench.core.media import Media
from fullbench.core.picture import Picture
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.ledger.row_conversion import FindMedia
from fullbench.web.accounts.account_and_shared_site_tables import uploads
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.votes import vote_form_fields
from fullbench.web.campaigns.votes.vote_form_fields import Answer, Fields
from fullbench.web.words import key

FILE, FIELD = "file", "picture"
"""Form fields: `file`, `file2` ... have new pictures, `picture` ... the digests of stored ones."""
OF_PICTURES = frozenset({"objects", "images", WITHOUT_PICTURES})
"""Tags about an item's own pictures, which do not apply to pictures that replace them."""


def read_picture_digests(fields: Fields) -> list[str]:
    """Return the picture digests in a form."""
    if not fields.get(FIELD):
        raise InputError(key("bring a picture of your own"))
    picture_digests = vote_form_fields.read_numbered_texts(fields, FIELD)
    for digest in picture_digests:
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise InputError(Note("web.wrong.a-picture-is-named", found=digest[:80]))
    return picture_digests


def pictures_of(answer: Answer, find: FindMedia | None) -> tuple[Media, ...]:
    """Return the pictures of an answer; without `find` they have no bytes."""
    picture_digests = answer.get("pictures", ())
    return tuple(Picture(digest, "", b"") if find is None else find(digest, "image") for digest in picture_digests)


def check_own_pictures(connection: Connection, person: str, answer: Answer, content: Content) -> None:
    """Raise `InputError` for pictures of another person, or more pictures than the task has places."""
    picture_digests = answer.get("pictures", ())
    places = max(1, len(content.item.turns[-1].pictures))
    if len(picture_digests) > places:
        raise InputError(Note("web.wrong.more-pictures-than-places", places=places, n=len(picture_digests)))
    query = select(uploads.c.digest).where(uploads.c.user_id == person, uploads.c.digest.in_(picture_digests))
    if set(picture_digests) - set(connection.execute(query).scalars()):
        raise InputError(key("one of these pictures is none that you sent: choose the file again"))


async def read_form_files(request: Request) -> dict[str, bytes]:
    """Return the files of a form by the field that takes each digest; empty files are ignored."""
    form = await request.form(max_fields=100)
    files = {}
    for name, value in form.items():
        if isinstance(value, UploadFile):
            if value.filename and name.startswith(FILE):
                files[name.replace(FILE, FIELD, 1)] = await value.read()
            await value.close()
    return files


Files = Annotated[Mapping[str, bytes], Depends(read_form_files)]
