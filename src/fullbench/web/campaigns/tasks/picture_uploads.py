"""Pictures that people bring to what they write: taken in by their bytes, named by digest, each person's own alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import Connection, select
from starlette.datastructures import UploadFile

from fullbench.core.item import WITHOUT_PICTURES
from fullbench.core.note import Note
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.ledger.row_conversion import Find
from fullbench.web.accounts.account_tables import uploads
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.votes import vote_form_fields
from fullbench.web.campaigns.votes.vote_form_fields import Answer, Fields
from fullbench.web.words import key

FILE, FIELD = "file", "picture"
"""A form has a file of a place as `file`, `file2` ... and the digest of what is there already as `picture` ..."""
OF_PICTURES = frozenset({"objects", "images", WITHOUT_PICTURES})
"""The tags of an item that speak of its pictures, and not of those that somebody brought in their place."""


def digests(fields: Fields) -> list[str]:
    """The pictures that a form names."""
    if not fields.get(FIELD):
        raise InputError(key("bring a picture of your own"))
    named = vote_form_fields.each(fields, FIELD)
    for digest in named:
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise InputError(
                Note(
                    "web.wrong.a-picture-is-named",
                    "a picture is named by the digest that it got when it was sent; found {found!r}",
                    found=digest[:80],
                )
            )
    return named


def pictures_of(answer: Answer, find: Find | None) -> tuple[Picture, ...]:
    """The pictures that came with what somebody wrote; without `find` they have no bytes."""
    named = answer.get("pictures", ())
    return tuple(Picture(digest, "", b"") if find is None else find(digest) for digest in named)


def check(connection: Connection, person: str, answer: Answer, content: Content) -> None:
    """Refuse pictures that this person did not bring, and more of them than the task has places."""
    named = answer.get("pictures", ())
    places = max(1, len(content.item.turns[-1].pictures))
    if len(named) > places:
        raise InputError(
            Note(
                "web.wrong.more-pictures-than-places",
                "this task takes {places} pictures of your own; found {n}",
                places=places,
                n=len(named),
            )
        )
    query = select(uploads.c.digest).where(uploads.c.user_id == person, uploads.c.digest.in_(named))
    if set(named) - set(connection.execute(query).scalars()):
        raise InputError(key("one of these pictures is none that you sent: choose the file again"))


async def files_of(request: Request) -> dict[str, bytes]:
    """The files of a form by the field that takes the digest of each; empty ones are no files."""
    form = await request.form(max_fields=100)
    files = {}
    for name, value in form.items():
        if isinstance(value, UploadFile):
            if value.filename and name.startswith(FILE):
                files[name.replace(FILE, FIELD, 1)] = await value.read()
            await value.close()
    return files


Files = Annotated[Mapping[str, bytes], Depends(files_of)]
