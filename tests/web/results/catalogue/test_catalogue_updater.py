"""Pages made before somebody asks: each once, when its figures changed, and none at once after a start."""

from __future__ import annotations

import pytest

from fullbench.ledger.ledger import Ledger
from fullbench.web.database import reading
from fullbench.web.page_rendering import environment
from fullbench.web.results.boards import board_store
from fullbench.web.results.catalogue.catalogue_updater import Ahead, update
from fullbench.web.results.pages.page_contents import Views
from fullbench.web.results.site.page_urls import Served
from tests.web.results import making
from tests.web.results.conftest import empty


class Noted(Views):
    """Views that note which boards were made."""

    def board(self, connection, name, language):
        self.made.append(name)
        return super().board(connection, name, language)


@pytest.fixture
def views():
    made = Noted(environment(), Served(), svg=lambda drawn: "<svg/>")
    made.made = []
    return made


@pytest.fixture
def engine(tmp_path):
    made = empty(f"sqlite:///{tmp_path / 'web.sqlite'}")
    with Ledger(making.fill(tmp_path / "small.ledger", count=1), read_only=True) as ledger:
        update(made, ledger)
    yield made
    made.dispose()


def test_every_board_of_the_first_study_is_made_once(engine, views):
    with reading(engine) as connection:
        computed = board_store.stamps(connection)
    ahead = Ahead(engine, lambda: views, calm=0)
    ahead.make(lambda: True)
    assert len(views.made) > 3
    assert len(set(views.made)) == len(views.made)
    assert set(views.made) <= set(computed)
    before = list(views.made)
    ahead.make(lambda: True)
    assert views.made == before


def test_after_a_start_nothing_is_made_until_its_calm_is_over(engine, views):
    Ahead(engine, lambda: views).make(lambda: True)
    assert views.made == []


def test_a_server_that_stops_makes_no_more(engine, views):
    Ahead(engine, lambda: views, calm=0).make(lambda: len(views.made) < 2)
    assert len(views.made) == 2
