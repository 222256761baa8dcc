"""A study before it is made: what the form of a new one would give, as an annotator would see it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from fullbench.core.note import sentence
from fullbench.errors import UserError
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.create import campaign_from_data, effort_estimate, new_campaign_form
from fullbench.web.campaigns.pages import annotation_page
from fullbench.web.campaigns.votes.task_queue import Lease
from fullbench.web.database import writing
from fullbench.web.page_access import Organiser, engine_of, ledger_of, settings_of
from fullbench.web.page_rendering import render

router = APIRouter(include_in_schema=False)


@router.post("/organise/new/sketch")
def sketch(
    request: Request, user: Organiser, sent: Annotated[new_campaign_form.Sent, Depends(new_campaign_form.sent)]
) -> Response:
    """The first task that the form would make, how many there are, and what they take. No study is kept; the pictures
    of this task are, as the organiser's uploads."""
    settings = settings_of(request)
    fields = {**sent.fields, "name": sent.fields.get("name", "").strip() or "-"}
    try:
        study = Study.sketched(new_campaign_form.plan(fields))
        with new_campaign_form.unpacked(sent, settings, user, looked_at=True) as files:
            material = new_campaign_form.material(fields, files, ledger_of(request))
            contents = campaign_from_data.planned(study, material, settings.task_limit).contents
            first = contents[0]
            study.kind.check(study.rules, first)
            with writing(engine_of(request)) as connection:
                campaign_from_data.keep(connection, settings, user, first.pictures, material.checked)
    except UserError as error:
        return render(request, "campaigns/_problem.html", problem=sentence(error))
    lease = Lease("preview", "", 0, "work", first, tuple(range(len(first.responses))))
    return annotation_page.sketch(request, study, lease, effort_estimate.forecast(study, len(contents), contents))
