"""All routes of campaigns: for annotators, leads and scripts."""

from __future__ import annotations

from fastapi import APIRouter

from fullbench.web.campaigns import api_routes, lead_actions, lead_api_routes
from fullbench.web.campaigns.create import chunked_upload, task_preview
from fullbench.web.campaigns.pages import annotation_page, group_link_pages, lead_pages

router = APIRouter()
for part in (
    annotation_page,
    chunked_upload,
    task_preview,
    lead_actions,
    group_link_pages,
    lead_pages,
    api_routes,
    lead_api_routes,
):
    router.include_router(part.router)
