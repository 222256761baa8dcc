"""A full disk is named as such on the page, in the API's answer and in the log; with room again all goes on."""

from __future__ import annotations

import logging

import pytest
from sqlalchemy import event

from tests.web.campaigns.conftest import study_of
from tests.web.conftest import signed_in

NAMED = "The server's disk is full, so nothing was stored."


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_full_disk_is_named(app, caplog):
    study = study_of(app.state.engine, 3)
    pages = [0]

    @event.listens_for(app.state.engine, "begin")
    def limit(connection):
        """SQLite's own error for a full disk (SQLITE_FULL): the file may not grow beyond this number of pages."""
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages[0] or 2**30}")

    with signed_in(app, "Olga", "organiser") as organiser:
        path = f"/organise/{study.id}/guidelines"
        form = {"guidelines": "Look closely. " * 7000}
        token = organiser.token()
        pages[0] = 1  # SQLite takes the present size if that is larger
        with caplog.at_level(logging.ERROR, "fullbench.web"):
            answer = organiser.post(path, data={"csrf": token, **form})
        assert answer.status_code == 503
        assert NAMED in answer.text.replace("&#39;", "'")
        assert f"POST {path}: the disk of the web database is full; make room on it" in caplog.messages
        pages[0] = 0
        assert organiser.post(path, data={"csrf": token, **form}).status_code == 303
        assert "Look closely." in organiser.get(f"/organise/{study.id}").text
