"""All routes of people's work: for those who vote, for organisers, for scripts."""

from __future__ import annotations

from fastapi import APIRouter

from fullbench.web.people import annotate, api, organise, visibility
from fullbench.web.results.blindness import RULES

router = APIRouter()
for part in (annotate.router, organise.router, api.router):
    router.include_router(part)

if visibility.hidden not in RULES:
    RULES.append(visibility.hidden)
