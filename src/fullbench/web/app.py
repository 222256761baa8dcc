"""Create the FastAPI app: settings, database, ledger, routers, middleware."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType

from fastapi import APIRouter, Depends, FastAPI
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from fullbench.ledger.ledger import Ledger
from fullbench.reports.html_page import SHARED_FILES
from fullbench.reports.site_info import Imprint
from fullbench.version_and_code_digest import __version__
from fullbench.web import (
    accent_and_site_logo_routes,
    error_pages,
    live_events,
    media_serving,
    metrics_health_and_compression,
    picture_checks_storage_and_serving,
    route_access_connection_and_csrf_checks,
)
from fullbench.web.accounts import account_people_and_audit_pages
from fullbench.web.accounts import sign_in_pages as accounts
from fullbench.web.accounts.random_ids_digests_and_site_key import site_key
from fullbench.web.api import account_token_picture_and_audit_routes as api
from fullbench.web.campaigns import api_routes as campaign_api
from fullbench.web.campaigns import lead_task_pilot_and_member_pages
from fullbench.web.campaigns.create import chunked_upload
from fullbench.web.campaigns.create.creation_worker import creating_tasks
from fullbench.web.campaigns.pages import (
    annotator_home_task_and_vote_pages,
    lead_and_visitor_group_link_pages,
    lead_campaign_creation_and_control_pages,
    lead_draft_and_copy_actions,
)
from fullbench.web.database import engine_for, upgrade_schema, write_transaction
from fullbench.web.metrics_health_and_compression import CompressionMiddleware, MetricsMiddleware, RequestMetrics
from fullbench.web.results import api_routes as results
from fullbench.web.results import page_routes as public
from fullbench.web.results.actions import vote_rejudging_and_panel_routes
from fullbench.web.results.catalogue.catalogue_board_and_page_updater import keep_updated
from fullbench.web.results.catalogue.fill_catalogue import bind_ledger
from fullbench.web.results.pages.chart_process import ChartDrawer
from fullbench.web.results.pages.judge_and_contestant_names_on_pages import LedgerNames, Names
from fullbench.web.security_headers_and_request_size_limit import SecurityMiddleware
from fullbench.web.shared_writable_ledgers_by_study import LedgerWriters
from fullbench.web.site_settings_and_worker_transfer import Settings


class VersionedStaticFiles(StaticFiles):
    """Static files of the app. Files requested by digest (`?v=`) are cached for a year."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        if path in SHARED_FILES:
            return str(SHARED_FILES[path]), SHARED_FILES[path].stat()
        return super().lookup_path(path)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if scope["query_string"].startswith(b"v="):
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def create_app(settings: Settings) -> FastAPI:
    """Create the web app and upgrade its database."""
    engine = engine_for(settings.database)
    upgrade_schema(engine)
    with write_transaction(engine) as connection:
        key = site_key(connection, settings.secret)

    ledger = None if settings.ledger is None else Ledger(settings.ledger, read_only=True)
    identity = "" if ledger is None else ledger.identity
    bind_ledger(engine, identity)
    writers = LedgerWriters(settings.ledger)
    hub = live_events.Hub(engine)
    drawer = ChartDrawer()

    @asynccontextmanager
    async def lifespan(running_app: FastAPI) -> AsyncIterator[None]:
        with (
            before_stopping(hub.close),
            creating_tasks(engine),
            keep_updated(engine, ledger, lambda: public.app_views(running_app)),
        ):
            yield
        drawer.close()
        writers.close()
        if ledger is not None:
            ledger.close()
        engine.dispose()

    names_file = Path(settings.names) if settings.names else None
    imprint = (Imprint.read(names_file) if names_file else Imprint()).with_title(settings.title)
    app = FastAPI(
        title=imprint.title,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        dependencies=[Depends(route_access_connection_and_csrf_checks.check_csrf)],
    )
    app.state.settings, app.state.engine, app.state.key = settings, engine, key
    app.state.ledger, app.state.hub, app.state.writers, app.state.identity = ledger, hub, writers, identity
    app.state.drawer = drawer
    app.state.names = LedgerNames(ledger, Names.read(names_file) if names_file else Names())
    app.state.imprint = imprint
    app.state.turns = asyncio.Semaphore(route_access_connection_and_csrf_checks.TURNS)
    error_pages.install_error_handlers(app)
    for router in _all_routers():
        app.include_router(router)
    app.mount("/static", VersionedStaticFiles(directory=Path(__file__).parent / "static"), name="static")
    # The middleware added last is the outermost.
    app.add_middleware(SecurityMiddleware, limit=settings.body_limit, https=settings.https)
    app.add_middleware(CompressionMiddleware)
    app.state.monitor = RequestMetrics()
    app.add_middleware(MetricsMiddleware, monitor=app.state.monitor)
    return app


def _all_routers() -> list[APIRouter]:
    page_routers = [
        metrics_health_and_compression.router,
        accent_and_site_logo_routes.router,
        live_events.router,
        picture_checks_storage_and_serving.router,
        media_serving.router,
        accounts.router,
        account_people_and_audit_pages.router,
        public.router,
        vote_rejudging_and_panel_routes.router,
        annotator_home_task_and_vote_pages.router,
        chunked_upload.router,
        lead_task_pilot_and_member_pages.router,
        lead_and_visitor_group_link_pages.router,
        lead_campaign_creation_and_control_pages.router,
        lead_draft_and_copy_actions.router,
        campaign_api.router,
    ]
    return [*page_routers, api.docs, api.router, results.router]


def from_environment() -> FastAPI:
    """Create the app in a worker process that `fullbench serve` started."""
    return create_app(Settings.from_environment())


@contextmanager
def before_stopping(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback` on SIGINT or SIGTERM, before the handler installed earlier."""
    # Python accepts signal handlers only in the main thread.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(number: int, frame: FrameType | None) -> None:
        callback()
        handler = earlier[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in earlier:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
