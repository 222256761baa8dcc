"""Imported ids of raters: on no page, in no answer of the API and in no file of a static copy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fullbench.ledger.ledger import Ledger
from fullbench.web.app import create_app
from fullbench.web.database import engine_for, read_transaction, upgrade_schema
from fullbench.web.results.catalogue import catalogue_board_and_page_updater, rater_pseudonyms
from fullbench.web.results.catalogue.rater_pseudonyms import RaterNames, load_rater_names
from fullbench.web.results.site.static_site import SiteOptions, export_site
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.web.conftest import signed_in
from tests.web.results import making

HOST = "@lab.example"


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("imported") / "l.ledger"
    with Ledger(path) as ledger:
        for case, verdicts in making.verdicts(count=2):
            for verdict in verdicts:
                ledger.add(case, replace(verdict, rater=f"{verdict.rater}{HOST}" if verdict.rater else ""))
    return path


def test_a_static_copy_names_no_imported_rater(path, tmp_path):
    with Ledger(path, read_only=True) as ledger:
        export_site(ledger, tmp_path / "site", SiteOptions(charts=False))
    files = [file for file in (tmp_path / "site").rglob("*") if file.is_file()]
    texts = {file.name: file.read_bytes() for file in files}
    assert len(texts) > 20
    assert [name for name, text in texts.items() if b"@lab" in text] == []


def test_pages_and_the_api_name_no_imported_rater_and_an_account_keeps_its_id(path, tmp_path):
    settings = Settings(f"sqlite:///{tmp_path / 'web.sqlite'}", str(path), data=tmp_path / "data", public=True)
    app = create_app(settings)
    try:
        viewer = signed_in(app, f"ANN{HOST}", "viewer")
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        case = next(v.case for v in app.state.ledger.verdicts("human") if v.item == "q0" and len(v.contestants) == 2)
        pages = [
            viewer.get(f"/cases/{case}"),
            viewer.get("/verdicts?judge=human"),
        ]
        with read_transaction(app.state.engine) as connection:
            names = load_rater_names(connection)
    finally:
        app.state.engine.dispose()
    assert all(page.status_code == 200 for page in pages)
    assert not any(f"{name}{HOST}"[:8] in page.text for page in pages for name in making.PEOPLE)
    shown = [viewer.user.rater[:12], names.shown_name(f"bob{HOST}"), names.shown_name(f"cy{HOST}")]
    assert all(f"<h3>Person {name}</h3>" in pages[0].text for name in shown)


def test_a_catalogue_keeps_its_pseudonyms_and_fills_itself_again_if_it_has_raw_ids(path, tmp_path):
    engine = engine_for(f"sqlite:///{tmp_path / 'web.sqlite'}")
    upgrade_schema(engine)
    shown = []
    with Ledger(path, read_only=True) as ledger:
        for accounts in ({}, {f"bob{HOST}": "b0b"}):
            rater_pseudonyms.copy_pseudonyms(engine, accounts)
            catalogue_board_and_page_updater.update_catalogue(engine, ledger)
            with read_transaction(engine) as connection:
                shown.append(load_rater_names(connection).shown_name(f"cy{HOST}"))
                listed = set(connection.exec_driver_sql("SELECT name FROM public_names WHERE kind = 'rater'").scalars())
            assert shown[-1] in listed
            assert not any(HOST in name for name in listed)
        columns = ledger.columns()
        renamed = RaterNames({}, b"key").rename_columns(columns)
    engine.dispose()
    assert renamed.names["rater"] == tuple(sorted(renamed.names["rater"]))
    for group, ours in ((columns, renamed.rater), (renamed, columns.rater)):
        assert all(len(set(ours[part].tolist())) == 1 for part in (group.rater == code for code in set(group.rater)))
    assert not any(HOST in name for name in renamed.names["rater"])
    assert shown[0] == shown[1]
    assert "b0b" in listed


def test_only_the_owner_reads_the_database(tmp_path):
    engine = engine_for(f"sqlite:///{tmp_path / 'web.sqlite'}")
    upgrade_schema(engine)
    with read_transaction(engine):
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    engine.dispose()
    assert len(modes) >= 2, "with its write-ahead log"
    assert set(modes.values()) == {0o600}
