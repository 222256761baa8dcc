"""Render HTML pages from templates, in the visitor's language and with all values escaped."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from itsdangerous import BadSignature, URLSafeSerializer
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fullbench.picture_flattening_and_orientation import picture_size
from fullbench.reports.html_page import SHARED_FILES
from fullbench.reports.page_bibtex import bibtex_entry
from fullbench.reports.site_info import Imprint
from fullbench.reports.table_cell_bars_and_sort_values import TEMPLATES
from fullbench.version_and_code_digest import __version__
from fullbench.web import route_access_connection_and_csrf_checks
from fullbench.web.accounts.users import Role, User
from fullbench.web.rich_text import is_marked_up, render_prose
from fullbench.web.text_diff import MOST_WORDS, mark_differences
from fullbench.web.words import LANGUAGES, Language, key, preferred_language, translate_sentence

FOLDER = Path(__file__).parent
# A longer name may be wider than a phone.
_HYPHENATED = re.compile(r"(\b[\w.]+(?:-[\w.]+)+\b)(?<![\w.-]{28})")
LANGUAGE = "fullbench_language"
FLASH = "fullbench_flash"
# The longest that browsers keep a file whose address has its digest.
YEAR = 365 * 24 * 3600

OUR_WORDS = {key("overall"), key("task"), key("language")}
"""Default criterion, and tags of our own benchmarks."""

NAVIGATION: list[tuple[str, str, Role | None]] = [
    ("/", key("Results"), None),
    ("/work", key("Work"), "annotator"),
    ("/organise", key("Campaigns"), "organiser"),
    ("/people", key("People"), "organiser"),
    ("/audit", key("Audit trail"), "organiser"),
]
"""Links at the top of every page: path, words, and the least role that sees them (None: every reader)."""


@cache
def template_environment() -> Environment:
    """Return the Jinja environment. It escapes every value and fails on undefined names."""
    templates = Environment(
        loader=FileSystemLoader([FOLDER / "templates", TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    from fullbench.web.picture_checks_storage_and_serving import picture_url
    from fullbench.web.results.site.page_urls import thumbnail_address

    templates.globals.update(static=static_url, picture_url=picture_url, extent=picture_size, citation=bibtex_entry)
    templates.globals.update(thumbnail=thumbnail_address)
    templates.globals.update(word=display_label, differing=mark_differences, most_words=MOST_WORDS)
    templates.filters["when"] = format_time
    templates.filters.update(prose=render_prose, marked_up=is_marked_up)
    templates.filters["unbroken"] = keep_names_unbroken
    templates.filters["quoted"] = partial(quote, safe="")
    return templates


def display_label(text: str, labels: Mapping[str, str], t: Callable[[str], str]) -> str:
    """Return the label of a criterion, tag or value. Without a label, only our own words are translated.

    >>> (display_label("overall", {"overall": "All in all"}, str.upper), display_label("task", {}, str.upper),
    ...  display_label("none", {}, str.upper))
    ('All in all', 'TASK', 'none')
    """
    return labels.get(text) or (t(text) if text in OUR_WORDS else text)


def keep_names_unbroken(text: str) -> Markup:
    """Return a sentence as HTML in which no name such as `gpt-4o` is broken at its hyphen.

    >>> keep_names_unbroken("gpt-4o leads & wins")
    Markup('<span class="nb">gpt-4o</span> leads &amp; wins')
    """
    parts = _HYPHENATED.split(str(text))
    return Markup("").join(
        Markup('<span class="nb">{}</span>').format(part) if place % 2 else part for place, part in enumerate(parts)
    )


def format_time(seconds: float | None) -> str:
    """Format a Unix time in UTC, or return an empty string for None."""
    return "" if seconds is None else time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))


def static_file(name: str) -> Path:
    """Return the path of a static file. Files shared with reports are in the folder of reports."""
    return SHARED_FILES.get(name, FOLDER / "static" / name)


@cache
def static_url(name: str) -> str:
    """Return the URL of a static file. It contains the digest, so browsers may cache it forever."""
    return f"/static/{name}?v={hashlib.sha256(static_file(name).read_bytes()).hexdigest()[:12]}"


def language_of(request: Request) -> Language:
    """Return the language from the cookie, else the one the browser prefers."""
    cookie_language = request.cookies.get(LANGUAGE)
    if cookie_language in LANGUAGES:
        return cookie_language
    return preferred_language(request.headers.get("accept-language", ""))


def imprint_of(request: Request, language: Language) -> Imprint:
    """Return the site's imprint in a language."""
    imprint: Imprint = request.app.state.imprint.for_language(language)
    return imprint


def render_template(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template with `values` and the values of every page.

    Every page gets `user`, `t`, `csrf`, `language`, `site`, `imprint`, `navigation`, `flashes`, `path`, `here`,
    `address`, `social_image`, `release` and `ledger_id`.
    """
    user = route_access_connection_and_csrf_checks.current_user(request)
    language = language_of(request)
    flashes = _flash_messages(request)
    page = template_environment().get_template(template)
    imprint = imprint_of(request, language)
    page_values = {
        "user": user,
        "t": partial(translate_sentence, language),
        "csrf": route_access_connection_and_csrf_checks.csrf_token(request),
        "language": language,
        "site": imprint.title,
        "imprint": imprint,
        "navigation": _navigation_links(request, user),
        "flashes": flashes,
        "path": request.url.path,
        "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        "address": route_access_connection_and_csrf_checks.base_of(request)
        + request.url.path
        + (f"?{request.url.query}" if request.url.query else ""),
        "social_image": f"{route_access_connection_and_csrf_checks.base_of(request)}/preview.png",
        "release": __version__,
        "ledger_id": request.app.state.identity,
    }
    response = HTMLResponse(page.render(**page_values, **values), status_code=status)
    response.headers["Cache-Control"] = "no-store"
    if flashes:
        response.delete_cookie(FLASH)
    if getattr(request.state, "new_visit", False):
        set_cookie(
            request,
            response,
            route_access_connection_and_csrf_checks.VISIT,
            route_access_connection_and_csrf_checks.visit_of(request),
        )
    return response


def redirect_to_page(request: Request, to: str, *, flash: str = "", **values: Any) -> Response:
    """Redirect to a page of this site, with an optional message that is shown there once."""
    response = RedirectResponse(local_path(to), status_code=303)
    if flash:
        message = json.dumps({"key": flash, "values": {name: str(value)[:200] for name, value in values.items()}})
        set_cookie(request, response, FLASH, _flash_signer(request).dumps(message), seconds=60)
    return response


def set_cookie(request: Request, response: Response, name: str, value: str, *, seconds: float | None = None) -> None:
    """Set a cookie that is hidden from scripts, not sent by other sites, and https-only on https sites."""
    secure = route_access_connection_and_csrf_checks.settings_of(request).https or request.url.scheme == "https"
    age = None if seconds is None else int(seconds)
    response.set_cookie(name, value, max_age=age, path="/", httponly=True, samesite="lax", secure=secure)


def local_path(text: str) -> str:
    """Return the address if it is a path of this site, else `/`. This prevents open redirects.

    >>> local_path("/work?x=1"), local_path("//evil.example"), local_path("https://evil.example")
    ('/work?x=1', '/', '/')
    """
    plain = text.isprintable() and "\\" not in text and text.startswith("/") and not text.startswith("//")
    return text if plain and not urlsplit(text).netloc else "/"


def _navigation_links(request: Request, user: User | None) -> list[tuple[str, str]]:
    public = route_access_connection_and_csrf_checks.settings_of(request).public
    return [
        (path, words)
        for path, words, least in NAVIGATION
        if (user.may(least or "viewer") if user else least is None and public)
    ]


def _flash_messages(request: Request) -> list[tuple[str, Mapping[str, str]]]:
    cookie = request.cookies.get(FLASH)
    if not cookie:
        return []
    try:
        message = json.loads(_flash_signer(request).loads(cookie))
    except (BadSignature, ValueError):
        return []
    return [(message["key"], message["values"])]


def _flash_signer(request: Request) -> URLSafeSerializer:
    return URLSafeSerializer(route_access_connection_and_csrf_checks.site_key_of(request), salt="flash")
