"""Pages made before somebody asks: each once, when its figures changed, and none at once after a start."""

from __future__ import annotations

import pytest

from fullbench.ledger.ledger import Ledger
from fullbench.web.database import read_transaction
from fullbench.web.page_rendering import template_environment
from fullbench.web.results.boards import board_store
from fullbench.web.results.catalogue.catalogue_board_and_page_updater import PagePreparer, update_catalogue
from fullbench.web.results.pages.page_template_values import Views
from fullbench.web.results.site.page_urls import ServedPageUrls
from tests.web.results import making
from tests.web.results.conftest import empty


class Noted(Views):
    """Views that note which boards were made."""

    def board(self, connection, name, language):
        self.made.append(name)
        return super().board(connection, name, language)


@pytest.fixture
def views():
    made = Noted(template_environment(), ServedPageUrls(), svg=lambda drawn: "<svg/>")
    made.made = []
    return made


@pytest.fixture
def engine(tmp_path):
    made = empty(f"sqlite:///{tmp_path / 'web.sqlite'}")
    with Ledger(making.fill(tmp_path / "small.ledger", count=1), read_only=True) as ledger:
        update_catalogue(made, ledger)
    yield made
    made.dispose()


def test_every_board_of_the_first_study_is_made_once(engine, views):
    with read_transaction(engine) as connection:
        computed = board_store.stamps_by_name(connection)
    ahead = PagePreparer(engine, lambda: views, calm=0)
    ahead.prepare_pages(lambda: True)
    assert len(views.made) > 3
    assert len(set(views.made)) == len(views.made)
    assert set(views.made) <= set(computed)
    before = list(views.made)
    ahead.prepare_pages(lambda: True)
    assert views.made == before


def test_after_a_start_nothing_is_made_until_its_calm_is_over(engine, views):
    PagePreparer(engine, lambda: views).prepare_pages(lambda: True)
    assert views.made == []


def test_a_server_that_stops_makes_no_more(engine, views):
    PagePreparer(engine, lambda: views, calm=0).prepare_pages(lambda: len(views.made) < 2)
    assert len(views.made) == 2
