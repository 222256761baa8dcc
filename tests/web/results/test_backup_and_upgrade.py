"""A backup taken while the site runs is restored elsewhere, and a database of earlier code is brought up to date."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace

from sqlalchemy import select

from fullbench.web.app import create_app
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.results.boards import board_store
from fullbench.web.results.catalogue import catalogue_board_and_page_updater, catalogue_tables
from tests.web.conftest import add_person, signed_in


def stored(app) -> dict[str, tuple[str, str]]:
    b = catalogue_tables.boards.c
    with read_transaction(app.state.engine) as connection:
        return {row.name: (row.stamp, row.body) for row in connection.execute(select(b.name, b.stamp, b.body))}


def test_a_backup_of_a_running_site_is_restored_elsewhere(copied_site, tmp_path):
    settings = replace(copied_site(3), public=True)
    running = create_app(settings)
    with write_transaction(running.state.engine) as connection:
        add_person(connection, "Olga", "organiser")
    target = tmp_path / "restored"
    target.mkdir()
    # As docs/how-to/web.md says: sqlite3 web.sqlite ".backup copy.sqlite", the uploads, and the ledger.
    with sqlite3.connect(tmp_path / "web.sqlite") as source, sqlite3.connect(target / "web.sqlite") as copy:
        source.backup(copy)
    for path in tmp_path.glob("small.ledger*"):
        (shutil.copytree if path.is_dir() else shutil.copy)(path, target / path.name)
    page = signed_in(running, "ann", "viewer").get("/").text
    running.state.engine.dispose()
    restored = create_app(
        replace(
            settings, database=f"sqlite:///{target / 'web.sqlite'}", ledger=str(target / "small.ledger"), data=target
        )
    )
    visitor = signed_in(restored, "bob", "viewer")
    again = visitor.get("/").text
    assert page.partition("<main")[2].partition("<footer")[0] == again.partition("<main")[2].partition("<footer")[0]
    with read_transaction(restored.state.engine) as connection:
        names = connection.exec_driver_sql("SELECT name FROM users").scalars().all()
    assert "Olga" in names
    before = stored(restored)
    catalogue_board_and_page_updater.update_catalogue(restored.state.engine, restored.state.ledger)
    assert stored(restored) == before, "nothing is computed again"
    restored.state.engine.dispose()


def test_results_of_earlier_code_are_computed_again(copied_site, monkeypatch):
    app = create_app(copied_site(3))
    before = stored(app)
    with write_transaction(app.state.engine) as connection:
        connection.exec_driver_sql("UPDATE public_boards SET body = '{}' WHERE kind = 'board'")
    monkeypatch.setattr(board_store, "code_of_metrics", lambda: "the code of another release")
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    after = stored(app)
    assert {name: body for name, (_, body) in after.items()} == {name: body for name, (_, body) in before.items()}
    changed = {name for name in before if before[name][0] != after[name][0]}
    assert len(changed) > 10, "boards, cards and the summary"
    app.state.engine.dispose()
