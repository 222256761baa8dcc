"""Whether the app is well, for whoever watches it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from fullbench.version import __version__
from fullbench.web import guard
from fullbench.web.database import reading

router = APIRouter(include_in_schema=False)


@router.get("/health")
def health(request: Request) -> JSONResponse:
    """200 when the database answers, 503 when it does not."""
    try:
        with reading(guard.engine_of(request)) as connection:
            connection.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return JSONResponse({"status": "the database does not answer"}, 503)
    return JSONResponse({"status": "ok", "version": __version__})
