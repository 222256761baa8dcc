"""The pages of the public side."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from fullbench.ledger.ledger import Ledger
from fullbench.web.page_access import Database, Reader, ledger_of
from fullbench.web.page_rendering import environment, imprint_of, language_of, render
from fullbench.web.results import hidden_cases
from fullbench.web.results.catalogue import fill_catalogue
from fullbench.web.results.catalogue.fill_catalogue import ANOTHER
from fullbench.web.results.catalogue.row_helpers import get_state, studies
from fullbench.web.results.lists.case_list import Order
from fullbench.web.results.lists.verdict_filters import LONGEST, Filter
from fullbench.web.results.pages.page_contents import Views
from fullbench.web.results.site import metric_downloads
from fullbench.web.results.site.page_urls import Served
from fullbench.web.words import Language, key


def same_ledger(request: Request, connection: Database) -> None:
    """Nothing is shown that another server put into the catalogue from another ledger."""
    if get_state(connection, "ledger") != request.app.state.identity:
        raise HTTPException(503, ANOTHER)


router = APIRouter(include_in_schema=False, dependencies=[Depends(same_ledger), Depends(hidden_cases.shows_results)])
"""The pages that are read."""

Name = Annotated[str, Path(pattern="^(card-)?[0-9a-f]{16}$")]
Key = Annotated[str, Path(min_length=1, max_length=64)]
Study = Annotated[str, Query(max_length=LONGEST)]
Cursor = Annotated[int | None, Query(ge=0, le=2**62)]


def views_of(request: Request) -> Views:
    """The views of the app that serves this request."""
    return app_views(request.app)


def app_views(app: FastAPI) -> Views:
    """The views of an app, which remember what is expensive."""
    if not hasattr(app.state, "views"):
        app.state.views = Views(
            environment(), Served(), svg=app.state.drawer.svg, names=app.state.names, imprint=app.state.imprint
        )
    views: Views = app.state.views
    return views


def need_ledger(request: Request) -> Ledger:
    """The ledger that is shown; 404 where the site shows none."""
    ledger = ledger_of(request)
    if ledger is None:
        raise HTTPException(404, key("This site shows no ledger."))
    return ledger


def page(request: Request, template: str, values: dict[str, Any] | None) -> HTMLResponse:
    """A public page; 404 where there is nothing to show."""
    if values is None:
        raise HTTPException(404, key("There is no such page, or not yet."))
    return render(
        request, template, layout="base.html", **{"withheld": getattr(request.state, "withheld", 0), **values}
    )


@router.get("/")
def home(request: Request, _user: Reader, connection: Database, study: Study = "", task: Study = "") -> HTMLResponse:
    """A study's story and all its leaderboards."""
    values = views_of(request).home(connection, language_of(request), study, task)
    ledger = ledger_of(request)
    there = {
        "ledger_there": ledger is not None,
        "filling": None if ledger is None else fill_catalogue.progress(connection, ledger),
    }
    return page(request, "results/home.html", None if values is None else {**values, **there})


@router.get("/preview.png")
def preview(request: Request, _user: Reader, connection: Database, study: Study = "") -> Response:
    """The picture that other sites show beside a link to this one."""
    language = language_of(request)
    drawn = views_of(request).preview(connection, language, imprint_of(request, language).title, study)
    if drawn is None:
        raise HTTPException(404, key("There is no such page, or not yet."))
    # Other sites show it in their own pages, which the usual headers forbid.
    headers = {"Cache-Control": "max-age=300", "Cross-Origin-Resource-Policy": "cross-origin"}
    return Response(drawn, media_type="image/png", headers=headers)


@router.get("/results.{form}")
def results(
    request: Request, _user: Reader, connection: Database, form: Literal["csv", "json"], study: Study = ""
) -> Response:
    """All figures of a study's leaderboards."""
    there = list(studies(connection))
    if not there or (study and study not in there):
        raise HTTPException(404, key("There is no such page, or not yet."))
    shown = study or there[0]
    about = metric_downloads.facts(
        connection, shown, imprint_of(request, language_of(request)), request.app.state.identity
    )
    data = views_of(request).files.file(connection, shown, form, about)
    headers = {"Content-Disposition": f'attachment; filename="results.{form}"', "Cache-Control": "no-cache"}
    return Response(data, media_type=metric_downloads.FORMS[form], headers=headers)


@router.get("/logos/{name}")
def logo(request: Request, _user: Reader, name: Annotated[str, Path(pattern=r"^[0-9a-f]{16}\.webp$")]) -> Response:
    """A small picture beside a name."""
    known = (*request.app.state.imprint.logos, *request.app.state.names.logos)
    found = next((logo for logo in known if logo.file == name), None)
    if found is None:
        raise HTTPException(404, key("There is no such picture."))
    headers = {"Cache-Control": "private, max-age=31536000, immutable",
               "Content-Security-Policy": "default-src 'none'; sandbox"}  # fmt: skip
    return Response(found.data, media_type="image/webp", headers=headers)


@router.get("/boards/{name}")
def board(request: Request, _user: Reader, connection: Database, name: Name) -> HTMLResponse:
    """One leaderboard."""
    return page(request, "results/board.html", views_of(request).board(connection, name, language_of(request)))


@router.get("/boards/{name}/charts/{table}-{place}.svg")
def chart(
    request: Request,
    _user: Reader,
    connection: Database,
    *,
    name: Name,
    table: Annotated[int, Path(ge=0, le=999)],
    place: Annotated[int, Path(ge=0, le=9)],
    language: Annotated[Language, Query(alias="in")] = "en",
) -> Response:
    """A chart, kept for ever under the stamp of what it was made from."""
    drawn = views_of(request).chart(connection, name, (table, place), language)
    if drawn is None:
        raise HTTPException(404, key("There is no such page, or not yet."))
    lasting = "private, max-age=31536000, immutable" if request.url.query.startswith("v=") else "no-cache"
    policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    headers = {"Cache-Control": lasting, "Content-Security-Policy": policy}
    return Response(drawn, media_type="image/svg+xml", headers=headers)


@router.get("/verdicts")
def verdicts(
    request: Request,
    user: Reader,
    connection: Database,
    *,
    order: Order = "newest",
    before: Cursor = None,
    after: Cursor = None,
) -> HTMLResponse:
    """The cases with verdicts that a filter finds."""
    wanted = Filter.of(request.query_params)
    values = views_of(request).verdicts(
        connection,
        wanted,
        order=order,
        before=before,
        after=after,
        withheld=hidden_cases.withheld(connection, user),
        ledger=ledger_of(request),
    )
    return page(request, "results/verdicts.html", values)


@router.get("/cases/{case_key}")
def case(request: Request, user: Reader, connection: Database, case_key: Key, study: Study = "") -> HTMLResponse:
    """One case with everybody's rulings."""
    from fullbench.web.results.actions.vote_on_case import form_of

    values = views_of(request).case(connection, need_ledger(request), case_key, study)
    if values is None:
        raise HTTPException(404, key("There is no such case."))
    hearing = values["hearing"]
    if hidden_cases.hidden(connection, user, [order_key for order_key, _ in hearing.orders]):
        raise HTTPException(403, hidden_cases.WITHHELD)
    return page(
        request,
        "results/live_case.html",
        {
            **values,
            "ballot_form": form_of(hearing),
            "voted": user is not None
            and any(ruling.verdict.case == case_key for ruling in hearing.people.get(user.rater, ())),
        },
    )


@router.get("/judges")
def judges(request: Request, _user: Reader, connection: Database, study: Study = "") -> HTMLResponse:
    """All judges."""
    return page(request, "results/judges.html", views_of(request).judges(connection, language_of(request), study))


@router.get("/judges/{name}")
def judge(request: Request, _user: Reader, connection: Database, name: Name, study: Study = "") -> HTMLResponse:
    """A judge's card."""
    values = views_of(request).judge(connection, name, language_of(request), study)
    return page(request, "results/judge.html", values)


@router.get("/judges/{name}/badge.svg")
def badge(request: Request, _user: Reader, connection: Database, name: Name, study: Study = "") -> Response:
    """The badge of an audited judge, for a README."""
    values = views_of(request).judge(connection, name, language_of(request), study)
    if values is None or not values["badge"]:
        raise HTTPException(404, key("There is no such page, or not yet."))
    policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": policy}
    return Response(values["badge"], media_type="image/svg+xml", headers=headers)
