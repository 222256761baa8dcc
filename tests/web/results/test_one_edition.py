"""The list of boards and each board come from one edition, also between two steps of an update."""

from __future__ import annotations

import pytest
from sqlalchemy import delete

from fullbench.ledger.ledger import Ledger
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.results.boards import board_store
from fullbench.web.results.catalogue import catalogue_board_and_page_updater, catalogue_tables, fill_catalogue
from tests.web.results import making


@pytest.fixture
def grown(new_engine, tmp_path):
    """An engine whose boards show the first half of a ledger, and the ledger with the second half."""
    engine, path = new_engine(), tmp_path / "small.ledger"
    cases = list(making.verdicts(count=2))
    half = len(cases) // 2
    with Ledger(path) as ledger:
        for case, verdicts in cases[:half]:
            ledger.add(case, *verdicts)
    with Ledger(path, read_only=True) as ledger:
        fill_catalogue.fill_from_ledger(engine, ledger)
        assert catalogue_board_and_page_updater.refresh_boards(engine, ledger)
    with Ledger(path) as ledger:
        for case, verdicts in cases[half:]:
            ledger.add(case, *verdicts)
    with Ledger(path, read_only=True) as ledger:
        yield engine, ledger


def listed_and_shown(engine) -> tuple[dict[str, int], dict[str, int]]:
    """Return the number of verdicts of each computed board: as the list has it, and as the board has it."""
    listed, shown = {}, {}
    for heading in read_headings(engine):  # each in a transaction of its own, as a visitor's two requests are
        with read_transaction(engine) as connection:
            board = board_store.find_board(connection, heading.name)
        if board is not None:
            listed[heading.name], shown[heading.name] = heading.verdicts, board.verdicts
    return listed, shown


def read_headings(engine) -> list[board_store.Heading]:
    with read_transaction(engine) as connection:
        return board_store.board_headings(connection)


def test_the_list_and_the_boards_agree_between_all_steps_of_an_update(grown):
    engine, ledger = grown
    _, before = listed_and_shown(engine)
    fill_catalogue.fill_from_ledger(engine, ledger)
    listed, shown = listed_and_shown(engine)
    assert listed == shown
    assert before.items() <= shown.items(), "no board was computed yet"

    editions = []

    def note_edition() -> bool:
        listed, shown = listed_and_shown(engine)
        assert listed == shown
        editions.append(shown)
        return True

    catalogue_board_and_page_updater.refresh_boards(engine, ledger, should_continue=note_edition)
    assert len({tuple(edition.items()) for edition in editions}) > 3, "boards were computed one by one"
    listed, shown = listed_and_shown(engine)
    assert listed == shown != before
    with read_transaction(engine) as connection:
        counted = {
            board_store.board_name(*subject): int(n) for *subject, n in connection.execute(board_store.heading_query())
        }
    assert listed == counted, "in the end every verdict is in the list"


def test_a_board_that_was_never_computed_is_listed_with_what_the_catalogue_has(new_engine, tmp_path):
    engine = new_engine()
    with Ledger(making.fill(tmp_path / "small.ledger", count=1), read_only=True) as ledger:
        fill_catalogue.fill_from_ledger(engine, ledger)
    with read_transaction(engine) as connection:
        counted = {
            board_store.board_name(*subject): int(n) for *subject, n in connection.execute(board_store.heading_query())
        }
    assert {heading.name: heading.verdicts for heading in read_headings(engine)} == counted


def test_a_board_that_is_gone_is_listed_until_it_is_dropped(grown):
    engine, ledger = grown
    with write_transaction(engine) as connection:
        connection.execute(delete(catalogue_tables.counts))
    listed, shown = listed_and_shown(engine)
    assert listed == shown != {}
    catalogue_board_and_page_updater.refresh_boards(engine, ledger)
    assert read_headings(engine) == []
