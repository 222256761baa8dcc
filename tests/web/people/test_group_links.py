"""One link for many people: each with an id of another site, so many tasks, a code at the end, nothing else to see."""

from __future__ import annotations

import csv
import io
import re

import pytest

from fullbench.errors import InputError
from fullbench.web.database import reading, writing
from fullbench.web.people import group_links, studies
from fullbench.web.people.group_links import GroupLink
from tests.browsing import PATIENCE, follow
from tests.web.conftest import Visitor
from tests.web.people.conftest import pair, study_of
from tests.web.people.test_scenario import leases, moved_on


def linked(engine, **wishes):
    study = study_of(engine, 5)
    with writing(engine) as connection:
        secret = group_links.make(connection, study, **{"places": 2, "days": 1, "each": 2, "code": "C0DE", **wishes})
        return studies.study(connection, study.id), secret


def test_the_same_id_comes_back_to_the_same_account_and_places_run_out(engine):
    study, secret = linked(engine)
    with writing(engine) as connection:
        link = group_links.opened_by(study, secret)
        ann, bob = (group_links.arrive(connection, study, link, name) for name in ("ann", "bob"))
        assert group_links.arrive(connection, study, link, "  ann ") == ann
        assert ann.id != bob.id
        with pytest.raises(InputError, match="all places are taken"):
            group_links.arrive(connection, study, link, "cem")
        assert group_links.opened_by(study, secret + "x") is None
        group_links.end(connection, study)
        study = studies.study(connection, study.id)
        ended = GroupLink.of(study)
        assert not ended.is_open
        assert group_links.arrive(connection, study, ended, "bob").id == bob.id  # who is there works on
        studies.set_state(connection, study.id, "closed")
        assert group_links.opened_by(studies.study(connection, study.id), secret) is None


def test_an_id_that_is_an_accounts_name_does_not_become_that_account(engine):
    study, secret = linked(engine)
    with writing(engine) as connection:
        ann = group_links.arrive(connection, study, group_links.opened_by(study, secret), "ann")
        other = studies.create(connection, studies.Plan("another", "pair"))
        other_secret = group_links.make(connection, other, places=5, days=1, each=0, code="")
        other = studies.study(connection, other.id)
        again = group_links.arrive(connection, other, group_links.opened_by(other, other_secret), "ann")
    assert again.id != ann.id
    assert again.name.startswith("ann ")


@pytest.mark.parametrize(
    "wish", [{"places": 0}, {"days": 366}, {"each": -1}, {"code": "http://plain.example"}, {"code": "javascript://x"}]
)
def test_a_link_that_makes_no_sense_is_refused(engine, wish):
    with pytest.raises(InputError):
        linked(engine, **wish)


def test_whoever_comes_by_the_link_sees_that_study_alone(app, organiser):
    with writing(app.state.engine) as connection:
        study, other = (studies.create(connection, studies.Plan(name, "pair")) for name in ("sent for", "another"))
        for made in (study, other):
            studies.add(connection, made, [pair("q")])
    page = organiser.submit(
        f"/organise/{study.id}/group", {"places": "5", "each": "1", "code": "https://back.example/x"}
    )
    path = re.search(r"/take/\w+/[\w-]+", page.text)[0]
    with Visitor(app) as visitor:
        assert 'value="w-7"' in visitor.get(f"{path}?workerId=w-7").text
        assert visitor.get(f"{path}x").status_code == 404
        assert visitor.submit(path, {"external_id": " "}).status_code == 422
        assert visitor.submit(path, {"external_id": "w-7"}).headers["location"] == f"/work/{study.id}"
        listed = visitor.get("/work").text
        assert ("sent for" in listed, "another" in listed) == (True, False)
        assert "assigned to it" in visitor.get(f"/work/{other.id}").text
        with writing(app.state.engine) as connection:
            studies.set_state(connection, study.id, "closed")
        assert visitor.get("/verdicts").status_code != 200
    rows = list(csv.DictReader(io.StringIO(organiser.get(f"/organise/{study.id}/arrivals.csv").text)))
    assert [(row["external_id"], row["done"]) for row in rows] == [("w-7", "0")]


def test_a_worker_of_another_site_does_the_tasks_and_takes_the_code_home(live, browser, axe):
    with writing(live.engine) as connection:
        study = studies.create(connection, studies.Plan("pairs", "pair"))
        studies.add(connection, study, [pair(f"q{number}") for number in range(6)])
    boss = browser.new_context(base_url=live.url, viewport={"width": 1440, "height": 900})
    boss.add_cookies([live.cookie("Olga", "organiser")])
    phone = browser.new_context(base_url=live.url, viewport={"width": 390, "height": 844})
    for context in (boss, phone):
        context.set_default_timeout(PATIENCE)
    lead = boss.new_page()
    lead.goto(f"/organise/{study.id}")
    lead.fill("#each", "2")
    lead.fill("#code", "C0DE-77")
    follow(lead, lead.get_by_role("button", name="Make the link", exact=True))
    assert axe(lead) == []
    link = lead.locator(".once code").first.inner_text()
    page = phone.new_page()
    page.goto(f"{link}?PROLIFIC_PID=5f3c")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    follow(page, page.get_by_role("button", name="Begin"))
    assert "/ 2" in page.locator(".pace").inner_text()
    for _ in range(2):
        lease = leases(page)
        page.locator(".bar .choice").first.click()
        moved_on(page, lease)
    assert page.locator("#completion").inner_text() == "C0DE-77"
    lead.goto(f"/organise/{study.id}")
    assert "1 of 100 places are taken." in lead.inner_text("main")
    with reading(live.engine) as connection:
        rows = list(group_links.rows(connection, studies.study(connection, study.id)))
    assert [(row["external_id"], row["done"], row["complete"]) for row in rows] == [("5f3c", 2, True)]
    boss.close()
    phone.close()
