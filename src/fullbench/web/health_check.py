"""Endpoints for monitoring: health, readiness, Prometheus metrics."""

from __future__ import annotations

from ipaddress import ip_address

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from fullbench.version import __version__
from fullbench.web import page_access
from fullbench.web.database import read_transaction
from fullbench.web.results.catalogue.fill_catalogue import fill_progress
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)


@router.get("/health")
def check_health(request: Request) -> JSONResponse:
    """200 when the database answers, 503 when it does not."""
    try:
        with read_transaction(page_access.engine_of(request)) as connection:
            connection.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return JSONResponse({"status": "the database does not answer"}, 503)
    return JSONResponse({"status": "ok", "version": __version__})


@router.get("/ready")
def check_readiness(request: Request) -> JSONResponse:
    """200 once the ledger was read in and its figures computed, 503 before: for whoever sends visitors here.

    The answer says how far it is; it stays 200 while further verdicts come.
    """
    ledger = page_access.ledger_of(request)
    if ledger is None:
        return check_health(request)
    try:
        with read_transaction(page_access.engine_of(request)) as connection:
            now = fill_progress(connection, ledger)
    except SQLAlchemyError:
        return JSONResponse({"status": "the database does not answer"}, 503)
    progress_fields = {"read_in": now.place, "of": now.last, "percent": now.percent}
    if not now.is_complete:
        what = "the ledger is being read in" if now.percent < 100 else "the figures are being computed"
        return JSONResponse({"status": what, **progress_fields}, 503, {"Retry-After": "5"})
    return JSONResponse({"status": "ok", **progress_fields})


@router.get("/metrics")
def export_metrics(request: Request) -> Response:
    """Counts and times for Prometheus: for organisers, and for whoever asks from the site's own machine."""
    user = page_access.current_user(request)
    if not (_is_local_request(request) or (user is not None and user.may("organiser"))):
        raise HTTPException(404, key("There is no such page, or not yet."))
    return Response(request.app.state.monitor.text(), media_type="text/plain; version=0.0.4")


def _is_local_request(request: Request) -> bool:
    try:
        return ip_address(page_access.address_of(request)).is_loopback
    except ValueError:
        return False
