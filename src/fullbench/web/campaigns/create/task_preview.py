"""Preview of a campaign before it is created: its first task as an annotator would see it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from fullbench.core.note import error_sentence
from fullbench.errors import UserError
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.create import campaign_from_data, effort_estimate, new_campaign_form
from fullbench.web.campaigns.pages import annotation_page
from fullbench.web.campaigns.votes.task_queue import Lease
from fullbench.web.database import write_transaction
from fullbench.web.page_access import Organiser, engine_of, ledger_of, settings_of
from fullbench.web.page_rendering import render_template

router = APIRouter(include_in_schema=False)


@router.post("/organise/new/sketch")
def preview_new_campaign(
    request: Request,
    user: Organiser,
    form: Annotated[new_campaign_form.SubmittedForm, Depends(new_campaign_form.read_submitted_form)],
) -> Response:
    """The first task that the form would make, how many there are, and what they take. No study is kept; the pictures
    of this task are, as the organiser's uploads."""
    settings = settings_of(request)
    fields = {**form.fields, "name": form.fields.get("name", "").strip() or "-"}
    try:
        campaign = Campaign.from_plan(new_campaign_form.parse_plan(fields))
        with new_campaign_form.unpack_form_files(form, settings, user, is_preview=True) as files:
            material = new_campaign_form.parse_material(fields, files, ledger_of(request))
            contents = campaign_from_data.plan_tasks(campaign, material, settings.task_limit).contents
            first = contents[0]
            campaign.kind.check(campaign.rules, first)
            with write_transaction(engine_of(request)) as connection:
                campaign_from_data.store_pictures(connection, settings, user, first.pictures, material.checked_pictures)
    except UserError as error:
        return render_template(request, "campaigns/_problem.html", problem=error_sentence(error))
    lease = Lease("preview", "", 0, "work", first, tuple(range(len(first.responses))))
    return annotation_page.preview_fragment(
        request, campaign, lease, effort_estimate.estimate_effort(campaign, len(contents), contents)
    )
