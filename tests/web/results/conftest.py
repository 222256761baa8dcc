"""A filled catalogue on both databases."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from fullbench.ledger.ledger import Ledger
from fullbench.web.app import create_app
from fullbench.web.database import engine_for, upgrade_schema
from fullbench.web.results.catalogue import catalogue_board_and_page_updater, fill_catalogue, rater_pseudonyms
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.browser_pages import PATIENCE
from tests.web.results import making


@pytest.fixture(scope="session")
def ledger_path(tmp_path_factory):
    return making.fill(tmp_path_factory.mktemp("public") / "small.ledger")


@pytest.fixture(scope="session")
def ledger(ledger_path):
    with Ledger(ledger_path, read_only=True) as opened:
        yield opened


def empty(url: str):
    engine = engine_for(url)
    upgrade_schema(engine)
    return engine


@pytest.fixture(scope="session")
def new_engine(request, tmp_path_factory):
    """Makes an empty database."""
    made = []
    if request.param == "postgresql":
        server = request.getfixturevalue("postgres")

    def new():
        if request.param == "sqlite":
            made.append(empty(f"sqlite:///{tmp_path_factory.mktemp('db') / 'web.sqlite'}"))
        else:
            made.append(empty(server.database()))
        return made[-1]

    yield new
    for engine in made:
        engine.dispose()


@pytest.fixture(scope="session")
def filled(new_engine, ledger):
    engine = new_engine()
    rater_pseudonyms.copy_pseudonyms(engine, making.OWN_NAMES)
    fill_catalogue.fill_from_ledger(engine, ledger, batch=100)
    return engine


@pytest.fixture(scope="session")
def updated_site(tmp_path_factory) -> Callable[[int], Path]:
    """Folders with a ledger of so many items and a SQLite database with its catalogue, boards and cards."""

    @cache
    def build(count: int) -> Path:
        folder = tmp_path_factory.mktemp("updated")
        path = making.fill(folder / "small.ledger", count=count)
        app = create_app(Settings(f"sqlite:///{folder / 'web.sqlite'}", str(path), data=folder))
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        app.state.ledger.close()
        with app.state.engine.connect() as connection:
            connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        app.state.engine.dispose()
        return folder

    return build


@pytest.fixture
def copied_site(updated_site, tmp_path) -> Callable[[int], Settings]:
    """Settings of a site of one's own with so many items, up to date."""

    def copy(count: int) -> Settings:
        shutil.copytree(updated_site(count), tmp_path, dirs_exist_ok=True)
        return Settings(f"sqlite:///{tmp_path / 'web.sqlite'}", str(tmp_path / "small.ledger"), data=tmp_path / "data")

    return copy


@pytest.fixture
def tab(browser):
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.heard = []
    page.on("console", lambda message: page.heard.append(message.text))
    page.on("pageerror", lambda error: page.heard.append(str(error)))
    yield page
    assert page.heard == []
    assert page.evaluate("window.owned") is None
    context.close()
