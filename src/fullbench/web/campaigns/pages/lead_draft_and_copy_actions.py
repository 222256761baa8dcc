"""Actions of leads: change a draft, and copy a campaign as a new draft."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from fullbench.web.accounts import audit_log
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.create import creation_worker, draft_changes_and_copies
from fullbench.web.campaigns.pages.annotator_home_task_and_vote_pages import Form, change_campaign
from fullbench.web.page_rendering import redirect_to_page
from fullbench.web.route_access_connection_and_csrf_checks import Organiser, engine_of, settings_of
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)


@router.post("/organise/{study_id}/draft")
def change_draft(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Change the settings of a draft."""
    with change_campaign(request, study_id) as (connection, campaign):
        changed = draft_changes_and_copies.change_draft(connection, campaign, form)
        audit_log.record_action(request, connection, user, "draft changed", changed.name)
        campaigns.publish_change(connection, campaign.id)
    return redirect_to_page(request, f"/organise/{study_id}", flash=key("The draft is changed."))


@router.post("/organise/{study_id}/copy")
def copy_campaign(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Make a draft with the same tasks and settings."""
    with change_campaign(request, study_id) as (connection, campaign):
        copy = draft_changes_and_copies.copy_campaign(
            connection, campaign, form.get("name", ""), settings_of(request).task_limit
        )
        audit_log.record_action(request, connection, user, "campaign copied", copy.name)
    creation_worker.wake_worker(engine_of(request), copy.id)
    return redirect_to_page(
        request,
        f"/organise/{copy.id}",
        flash=key("The copy is a draft with the same tasks, and without votes and people."),
    )
