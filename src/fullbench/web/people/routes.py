"""All routes of people's work: for those who vote, for organisers, for scripts."""

from __future__ import annotations

from fastapi import APIRouter

from fullbench.web.people import annotate, api, organise

router = APIRouter()
for part in (annotate.router, organise.router, api.router):
    router.include_router(part)
