"""Accent colour and logo of the site's head, from `[site]`. Every page has them, the sign-in page too."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from fullbench.reports.site_info import Imprint, accent_style
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)
HEADERS = {"Cache-Control": "max-age=3600", "Content-Security-Policy": "default-src 'none'; sandbox"}


@router.get("/accent.css")
def send_accent(request: Request) -> Response:
    """The accent colour as a style sheet."""
    imprint: Imprint = request.app.state.imprint
    return Response(accent_style(imprint.accent) if imprint.accent else "", media_type="text/css", headers=HEADERS)


@router.get("/site-logo.webp")
def send_site_logo(request: Request) -> Response:
    """The logo in the head of each page."""
    imprint: Imprint = request.app.state.imprint
    if imprint.logo is None:
        raise HTTPException(404, key("There is no such picture."))
    return Response(imprint.logo.data, media_type="image/webp", headers=HEADERS)
