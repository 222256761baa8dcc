"""Pages: templates filled with escaped values, in the visitor's language."""

from __future__ import annotations

import hashlib
import json
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

from fullbench.picture_decoding import extent
from fullbench.reports.citation import citation
from fullbench.reports.html_page import SHARED
from fullbench.reports.html_table_layout import TEMPLATES
from fullbench.reports.site_info import Imprint
from fullbench.version import __version__
from fullbench.web import page_access
from fullbench.web.accounts.users import Role, User
from fullbench.web.rich_text import is_marked_up, prose
from fullbench.web.text_diff import MOST_WORDS, differing
from fullbench.web.words import LANGUAGES, Language, key, preferred, translate

FOLDER = Path(__file__).parent
LANGUAGE = "fullbench_language"
FLASH = "fullbench_flash"
YEAR = 365 * 24 * 3600

OUR_WORDS = {key("overall"), key("task"), key("language")}
"""The criterion of studies that name none, and the tags that benchmarks of ours have."""

NAVIGATION: list[tuple[str, str, Role | None]] = [
    ("/", key("Results"), None),
    ("/work", key("Work"), "annotator"),
    ("/organise", key("Studies"), "organiser"),
    ("/people", key("People"), "organiser"),
    ("/audit", key("Audit trail"), "organiser"),
]
"""The links at the top of every page: path, words, and the least role that sees them (None: every reader)."""


@cache
def environment() -> Environment:
    """Where templates come from; every value is escaped, and a name that is not given is an error."""
    templates = Environment(
        loader=FileSystemLoader([FOLDER / "templates", TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    from fullbench.web.picture_serving import picture_url

    templates.globals.update(static=static_url, picture_url=picture_url, extent=extent, citation=citation)
    templates.globals.update(word=word, differing=differing, most_words=MOST_WORDS)
    templates.filters["when"] = when
    templates.filters.update(prose=prose, marked_up=is_marked_up)
    templates.filters["quoted"] = partial(quote, safe="")
    return templates


def word(text: str, labels: Mapping[str, str], t: Callable[[str], str]) -> str:
    """A criterion, a tag or its value by its label; of those without one, our own words alone are translated.

    >>> word("overall", {"overall": "All in all"}, str.upper), word("task", {}, str.upper), word("none", {}, str.upper)
    ('All in all', 'TASK', 'none')
    """
    return labels.get(text) or (t(text) if text in OUR_WORDS else text)


def when(seconds: float | None) -> str:
    """A time as people read it, in UTC."""
    return "" if seconds is None else time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))


def static_file(name: str) -> Path:
    """Where a static file lies: in our folder, or with the reports, which share their colours and sorting with us."""
    return SHARED.get(name, FOLDER / "static" / name)


@cache
def static_url(name: str) -> str:
    """The address of a static file, with its digest so that it can be kept for ever."""
    return f"/static/{name}?v={hashlib.sha256(static_file(name).read_bytes()).hexdigest()[:12]}"


def language_of(request: Request) -> Language:
    """The language chosen before, else the one the browser asks for."""
    chosen = request.cookies.get(LANGUAGE)
    if chosen in LANGUAGES:
        return chosen
    return preferred(request.headers.get("accept-language", ""))


def imprint_of(request: Request, language: Language) -> Imprint:
    """What the lab says of this site, in that language."""
    imprint: Imprint = request.app.state.imprint.said_in(language)
    return imprint


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page. Templates see `user`, `t`, `csrf`, `language`, `site`, `imprint`, `navigation`, `flashes`, `path`,
    and `values`."""
    user = page_access.current_user(request)
    language = language_of(request)
    flashes = _flashes(request)
    page = environment().get_template(template)
    imprint = imprint_of(request, language)
    known = {
        "user": user,
        "t": partial(translate, language),
        "csrf": page_access.csrf_token(request),
        "language": language,
        "site": imprint.title,
        "imprint": imprint,
        "navigation": _navigation(request, user),
        "flashes": flashes,
        "path": request.url.path,
        "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        "address": page_access.base_of(request)
        + request.url.path
        + (f"?{request.url.query}" if request.url.query else ""),
        "social_image": f"{page_access.base_of(request)}/preview.png",
        "release": __version__,
        "ledger_id": request.app.state.identity,
    }
    response = HTMLResponse(page.render(**known, **values), status_code=status)
    response.headers["Cache-Control"] = "no-store"
    if flashes:
        response.delete_cookie(FLASH)
    if getattr(request.state, "new_visit", False):
        set_cookie(request, response, page_access.VISIT, page_access.visit_of(request))
    return response


def redirect(request: Request, to: str, *, flash: str = "", **values: Any) -> Response:
    """On to another page of ours, with a sentence that is shown there once."""
    response = RedirectResponse(local_path(to), status_code=303)
    if flash:
        message = json.dumps({"key": flash, "values": {name: str(value)[:200] for name, value in values.items()}})
        set_cookie(request, response, FLASH, _signer(request).dumps(message), seconds=60)
    return response


def set_cookie(request: Request, response: Response, name: str, value: str, *, seconds: float | None = None) -> None:
    """A cookie that scripts do not see, that other sites do not send along, and that https keeps to itself."""
    secure = page_access.settings_of(request).https or request.url.scheme == "https"
    age = None if seconds is None else int(seconds)
    response.set_cookie(name, value, max_age=age, path="/", httponly=True, samesite="lax", secure=secure)


def local_path(text: str) -> str:
    """The address if it is a path of this site, else the first page: nobody is sent elsewhere.

    >>> local_path("/work?x=1"), local_path("//evil.example"), local_path("https://evil.example")
    ('/work?x=1', '/', '/')
    """
    plain = text.isprintable() and "\\" not in text and text.startswith("/") and not text.startswith("//")
    return text if plain and not urlsplit(text).netloc else "/"


def _navigation(request: Request, user: User | None) -> list[tuple[str, str]]:
    public = page_access.settings_of(request).public
    return [
        (path, words)
        for path, words, least in NAVIGATION
        if (user.may(least or "viewer") if user else least is None and public)
    ]


def _flashes(request: Request) -> list[tuple[str, Mapping[str, str]]]:
    sent = request.cookies.get(FLASH)
    if not sent:
        return []
    try:
        message = json.loads(_signer(request).loads(sent))
    except (BadSignature, ValueError):
        return []
    return [(message["key"], message["values"])]


def _signer(request: Request) -> URLSafeSerializer:
    return URLSafeSerializer(page_access.site_key_of(request), salt="flash")
