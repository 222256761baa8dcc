"""Studies for people."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from fullbench.web.guard import Annotator
from fullbench.web.pages import render

router = APIRouter(include_in_schema=False)


@router.get("/work")
def home(request: Request, _user: Annotator) -> HTMLResponse:
    """What there is to do."""
    return render(request, "work/home.html")
