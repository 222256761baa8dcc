"""A filled catalogue on both databases."""

from __future__ import annotations

import pytest

from fullbench.ledger.ledger import Ledger
from fullbench.web.database import engine_for, upgrade_schema
from fullbench.web.results.catalogue import fill_catalogue
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
    fill_catalogue.fill_from_ledger(engine, ledger, batch=100)
    return engine


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
