"""Whether the app is well, for whoever watches it."""

from __future__ import annotations

from ipaddress import ip_address

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from fullbench.version import __version__
from fullbench.web import page_access
from fullbench.web.database import reading
from fullbench.web.results.catalogue.fill_catalogue import progress
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)


@router.get("/health")
def health(request: Request) -> JSONResponse:
    """200 when the database answers, 503 when it does not."""
    try:
        with reading(page_access.engine_of(request)) as connection:
            connection.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return JSONResponse({"status": "the database does not answer"}, 503)
    return JSONResponse({"status": "ok", "version": __version__})


@router.get("/ready")
def ready(request: Request) -> JSONResponse:
    """200 once the ledger was read in and its figures computed, 503 before: for whoever sends visitors here.

    The answer says how far it is; it stays 200 while further verdicts come.
    """
    ledger = page_access.ledger_of(request)
    if ledger is None:
        return health(request)
    try:
        with reading(page_access.engine_of(request)) as connection:
            now = progress(connection, ledger)
    except SQLAlchemyError:
        return JSONResponse({"status": "the database does not answer"}, 503)
    told = {"read_in": now.place, "of": now.last, "percent": now.percent}
    if not now.whole:
        what = "the ledger is being read in" if now.percent < 100 else "the figures are being computed"
        return JSONResponse({"status": what, **told}, 503, {"Retry-After": "5"})
    return JSONResponse({"status": "ok", **told})


@router.get("/metrics")
def metrics(request: Request) -> Response:
    """Counts and times for Prometheus: for organisers, and for whoever asks from the site's own machine."""
    user = page_access.current_user(request)
    if not (_from_here(request) or (user is not None and user.may("organiser"))):
        raise HTTPException(404, key("There is no such page, or not yet."))
    return Response(request.app.state.monitor.text(), media_type="text/plain; version=0.0.4")


def _from_here(request: Request) -> bool:
    try:
        return ip_address(page_access.address_of(request)).is_loopback
    except ValueError:
        return False
