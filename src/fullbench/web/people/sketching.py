"""A study before it is made: what the form of a new one would give, as an annotator would see it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from fullbench.errors import UserError
from fullbench.core.note import sentence
from fullbench.web.database import writing
from fullbench.web.guard import Organiser, engine_of, ledger_of, settings_of
from fullbench.web.pages import render
from fullbench.web.people import annotate, estimating, importing, uploads
from fullbench.web.people.queue import Lease
from fullbench.web.people.studies import Study

router = APIRouter(include_in_schema=False)


@router.post("/organise/new/sketch")
def sketch(request: Request, user: Organiser, sent: Annotated[uploads.Sent, Depends(uploads.sent)]) -> Response:
    """The first task that the form would make, how many there are, and what they take. No study is kept; the pictures
    of this task are, as the organiser's uploads."""
    settings = settings_of(request)
    fields = {**sent.fields, "name": sent.fields.get("name", "").strip() or "-"}
    try:
        study = Study.sketched(uploads.plan(fields))
        with uploads.unpacked(sent, settings, user, looked_at=True) as files:
            material = uploads.material(fields, files, ledger_of(request))
            contents = importing.planned(study, material, settings.task_limit).contents
            first = contents[0]
            study.kind.check(study.rules, first)
            with writing(engine_of(request)) as connection:
                importing.keep(connection, settings, user, first.pictures, material.checked)
    except UserError as error:
        return render(request, "work/_problem.html", problem=sentence(error))
    lease = Lease("preview", "", 0, "work", first, tuple(range(len(first.responses))))
    return annotate.sketch(request, study, lease, estimating.forecast(study, len(contents), contents))
