"""All routes of people's work: for those who vote, for organisers, for scripts."""

from __future__ import annotations

from fastapi import APIRouter

from fullbench.web.people import annotate, api, api_leads, arriving, leading, organise, parcels, sketching

router = APIRouter()
for part in (annotate, parcels, sketching, leading, arriving, organise, api, api_leads):
    router.include_router(part.router)
