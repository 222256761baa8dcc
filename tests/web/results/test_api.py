"""Results by the API: the same numbers as the pages, under the same rules."""

from __future__ import annotations

import pytest

from fullbench.web.campaigns import campaigns
from fullbench.web.database import write_transaction
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from tests.support.api_script import Script
from tests.support.campaign_tasks import add_tasks
from tests.web.campaigns.conftest import pair
from tests.web.results import making


@pytest.fixture
def settings(copied_site):
    return copied_site(3)


@pytest.fixture
def script(app):
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    with Script(app, "Sam", "viewer") as made:
        yield made


def test_from_boards_to_cases(script):
    boards = script.get("/api/v1/boards").json()["rows"]
    assert {one["judge"] for one in boards} == {*making.JUDGES, "human"}
    assert {one["study"] for one in boards} == {"default"}
    board = script.get(f"/api/v1/boards/{boards[0]['name']}").json()
    table = board["tables"][0]
    checked = 0
    for row, links in zip(table["rows"], table["links"], strict=True):
        for cell, link in zip(row, links, strict=True):
            if link is not None and isinstance(cell, dict):
                found = script.get("/api/v1/verdicts", params={**link, "limit": 5}).json()
                assert (found["count"], found["exact"]) == (2 * cell["n"], True)  # both orders of a pair are one match
                checked += 1
    assert checked > 6
    rows, cursor = [], {}
    while True:
        page = script.get("/api/v1/verdicts", params={"judge": "steady", "limit": 40, **cursor}).json()
        rows += page["rows"]
        if page["next"] is None:
            break
        cursor = {"before": page["next"]}
    assert len({one["id"] for one in rows}) == len(rows) == page["count"]
    pair = next(one for one in rows if len(one["shown"]) == 2)
    case = script.get(f"/api/v1/cases/{pair['case']}").json()
    assert case["reference"] == "四个方块"
    assert {one["judge"] for one in case["verdicts"]} >= set(making.JUDGES)
    raters = {one["rater"] for one in case["verdicts"] if one["judge"] == "human"}
    assert len(raters) == 3
    assert not raters & set(making.PEOPLE), "imported names are not shown"
    card = next(one for one in script.get("/api/v1/judges").json()["rows"] if one["judge"] == "steady")
    assert script.get(f"/api/v1/judges/{card['name']}").status_code == 200
    assert script.get("/api/v1/cases/none").status_code == 404
    assert script.get("/api/v1/verdicts", params={"fault": "odd"}).status_code == 422


def test_what_must_not_be_seen_is_not_said(app, script):
    before = script.get("/api/v1/verdicts").json()
    row = before["rows"][0]
    with write_transaction(app.state.engine) as connection:
        made = campaigns.create_campaign(connection, campaigns.CampaignPlan("now", "pair"))
        add_tasks(connection, made, [pair(row["item"])])
    after = script.get("/api/v1/verdicts").json()
    assert row["item"] not in {one["item"] for one in after["rows"]}
    assert after["withheld"] > 0 == before["withheld"]
    assert after["count"] + after["withheld"] == before["count"]
    assert script.get(f"/api/v1/cases/{row['case']}").status_code == 403


def test_without_a_token_nothing_is_told(app, client):
    for path in ("/api/v1/boards", "/api/v1/verdicts", "/api/v1/judges"):
        assert client.get(path).status_code == 401
