"""All routes of people's work: for those who vote, for organisers, for scripts."""

from __future__ import annotations

from fastapi import APIRouter

from fullbench.web.people import annotate, api, api_leads, arriving, leading, organise, parcels

router = APIRouter()
for part in (
    annotate.router,
    parcels.router,
    leading.router,
    arriving.router,
    organise.router,
    api.router,
    api_leads.router,
):
    router.include_router(part)
