"""Routes of the public pages: home, leaderboards, charts, verdicts, cases, judges, downloads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from fullbench.ledger.ledger import Ledger
from fullbench.web.page_rendering import imprint_of, language_of, render_template, template_environment
from fullbench.web.results import hidden_cases_and_results
from fullbench.web.results.catalogue import fill_catalogue
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import get_state, study_ids_by_name
from fullbench.web.results.catalogue.fill_catalogue import OTHER_LEDGER_ERROR
from fullbench.web.results.lists.case_list import Order
from fullbench.web.results.lists.verdict_filters import MAX_TEXT_LENGTH, Filter
from fullbench.web.results.pages.page_template_values import Views
from fullbench.web.results.site import leaderboard_metrics_as_one_file
from fullbench.web.results.site.page_urls import ServedPageUrls
from fullbench.web.route_access_connection_and_csrf_checks import Database, Reader, ledger_of
from fullbench.web.words import Language, key


def require_same_ledger(request: Request, connection: Database) -> None:
    """Refuse to show a catalogue that another server filled from another ledger."""
    if get_state(connection, "ledger") != request.app.state.identity:
        raise HTTPException(503, OTHER_LEDGER_ERROR)


router = APIRouter(
    include_in_schema=False,
    dependencies=[Depends(require_same_ledger), Depends(hidden_cases_and_results.refuse_hidden_results)],
)

Name = Annotated[str, Path(pattern="^(card-)?[0-9a-f]{16}$")]
Key = Annotated[str, Path(min_length=1, max_length=64)]
Study = Annotated[str, Query(max_length=MAX_TEXT_LENGTH)]
Cursor = Annotated[int | None, Query(ge=0, le=2**62)]


def views_of(request: Request) -> Views:
    """Return the views of the app that serves this request."""
    return app_views(request.app)


def app_views(app: FastAPI) -> Views:
    """Return the views of an app. They are created once because they cache expensive results."""
    if not hasattr(app.state, "views"):
        app.state.views = Views(
            template_environment(),
            ServedPageUrls(),
            svg=app.state.drawer.svg,
            names=app.state.names.load,
            imprint=app.state.imprint,
        )
    views: Views = app.state.views
    return views


def need_ledger(request: Request) -> Ledger:
    """Return the site's ledger, or raise 404 if the site shows none."""
    ledger = ledger_of(request)
    if ledger is None:
        raise HTTPException(404, key("This site shows no ledger."))
    return ledger


def render_page(request: Request, template: str, values: dict[str, Any] | None) -> HTMLResponse:
    """Render a public page, or raise 404 if `values` is None."""
    if values is None:
        raise HTTPException(404, key("There is no such page, or not yet."))
    return render_template(
        request, template, layout="base.html", **{"withheld": getattr(request.state, "withheld", 0), **values}
    )


@router.get("/")
def show_home(
    request: Request, _user: Reader, connection: Database, study: Study = "", task: Study = ""
) -> HTMLResponse:
    """A study's story and all its leaderboards."""
    values = views_of(request).home(connection, language_of(request), study, task)
    ledger = ledger_of(request)
    ledger_state = {
        "ledger_there": ledger is not None,
        "filling": None if ledger is None else fill_catalogue.fill_progress(connection, ledger),
    }
    return render_page(request, "results/home.html", None if values is None else {**values, **ledger_state})


@router.get("/preview.png")
def send_preview(request: Request, _user: Reader, connection: Database, study: Study = "") -> Response:
    """The picture that other sites show beside a link to this one."""
    language = language_of(request)
    image = views_of(request).preview(connection, language, imprint_of(request, language).title, study)
    if image is None:
        raise HTTPException(404, key("There is no such page, or not yet."))
    # Other sites embed this picture in their own pages, which the default header forbids.
    headers = {"Cache-Control": "max-age=300", "Cross-Origin-Resource-Policy": "cross-origin"}
    return Response(image, media_type="image/png", headers=headers)


@router.get("/results.{form}")
def download_results(
    request: Request, _user: Reader, connection: Database, form: Literal["csv", "json"], study: Study = ""
) -> Response:
    """All figures of a study's leaderboards."""
    study_names = list(study_ids_by_name(connection))
    if not study_names or (study and study not in study_names):
        raise HTTPException(404, key("There is no such page, or not yet."))
    shown_study = study or study_names[0]
    about = leaderboard_metrics_as_one_file.download_metadata(
        connection, shown_study, imprint_of(request, language_of(request)), request.app.state.identity
    )
    data = views_of(request).files.file(connection, shown_study, form, about)
    headers = {"Content-Disposition": f'attachment; filename="results.{form}"', "Cache-Control": "no-cache"}
    return Response(data, media_type=leaderboard_metrics_as_one_file.MEDIA_TYPES[form], headers=headers)


@router.get("/logos/{name}")
def send_logo(request: Request, _user: Reader, name: Annotated[str, Path(pattern=r"^[0-9a-f]{16}\.webp$")]) -> Response:
    """A small picture beside a name."""
    logos = (*request.app.state.imprint.logos, *request.app.state.names.load().logos)
    requested_logo = next((logo for logo in logos if logo.file == name), None)
    if requested_logo is None:
        raise HTTPException(404, key("There is no such picture."))
    headers = {"Cache-Control": "private, max-age=31536000, immutable",
               "Content-Security-Policy": "default-src 'none'; sandbox"}  # fmt: skip
    return Response(requested_logo.data, media_type="image/webp", headers=headers)


@router.get("/boards/{name}")
def show_board(request: Request, _user: Reader, connection: Database, name: Name) -> HTMLResponse:
    """One leaderboard."""
    return render_page(request, "results/board.html", views_of(request).board(connection, name, language_of(request)))


@router.get("/boards/{name}/charts/{table}-{place}.svg")
def send_chart(
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
    svg = views_of(request).chart(connection, name, (table, place), language)
    if svg is None:
        raise HTTPException(404, key("There is no such page, or not yet."))
    # The content behind a URL with a stamp never changes.
    cache_control = "private, max-age=31536000, immutable" if request.url.query.startswith("v=") else "no-cache"
    policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    headers = {"Cache-Control": cache_control, "Content-Security-Policy": policy}
    return Response(svg, media_type="image/svg+xml", headers=headers)


@router.get("/verdicts")
def show_verdicts(
    request: Request,
    user: Reader,
    connection: Database,
    *,
    order: Order = "newest",
    before: Cursor = None,
    after: Cursor = None,
) -> HTMLResponse:
    """The cases with verdicts that a filter finds."""
    verdict_filter = Filter.from_query(request.query_params)
    values = views_of(request).verdicts(
        connection,
        verdict_filter,
        order=order,
        before=before,
        after=after,
        withheld_items=hidden_cases_and_results.withheld_items(connection, user),
        ledger=ledger_of(request),
    )
    return render_page(request, "results/verdicts.html", values)


@router.get("/cases/{case_key}")
def show_case(request: Request, user: Reader, connection: Database, case_key: Key, study: Study = "") -> HTMLResponse:
    """One case with all verdicts."""
    from fullbench.web.results.actions.vote_on_case import vote_form

    values = views_of(request).case(connection, need_ledger(request), case_key, study)
    if values is None:
        raise HTTPException(404, key("There is no such case."))
    case_details = values["details"]
    if hidden_cases_and_results.hidden_case_keys(connection, user, [order_key for order_key, _ in case_details.orders]):
        raise HTTPException(403, hidden_cases_and_results.WITHHELD)
    return render_page(
        request,
        "results/live_case.html",
        {
            **values,
            "ballot_form": vote_form(case_details),
            "voted": user is not None
            and any(details.verdict.case == case_key for details in case_details.people.get(user.rater, ())),
        },
    )


@router.get("/judges")
def show_judges(request: Request, _user: Reader, connection: Database, study: Study = "") -> HTMLResponse:
    """All judges."""
    return render_page(
        request, "results/judges.html", views_of(request).judges(connection, language_of(request), study)
    )


@router.get("/judges/{name}")
def show_judge(request: Request, _user: Reader, connection: Database, name: Name, study: Study = "") -> HTMLResponse:
    """A judge's card."""
    values = views_of(request).judge(connection, name, language_of(request), study)
    return render_page(request, "results/judge.html", values)


@router.get("/judges/{name}/badge.svg")
def send_badge(request: Request, _user: Reader, connection: Database, name: Name, study: Study = "") -> Response:
    """The badge of an audited judge, for a README."""
    values = views_of(request).judge(connection, name, language_of(request), study)
    if values is None or not values["badge"]:
        raise HTTPException(404, key("There is no such page, or not yet."))
    policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": policy}
    return Response(values["badge"], media_type="image/svg+xml", headers=headers)
