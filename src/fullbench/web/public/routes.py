"""The public side."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from fullbench.web.guard import Reader
from fullbench.web.pages import render

router = APIRouter(include_in_schema=False)


@router.get("/")
def home(request: Request, _user: Reader) -> HTMLResponse:
    """The first page."""
    return render(request, "public/home.html")
