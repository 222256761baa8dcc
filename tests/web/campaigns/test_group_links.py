"""One link for many people: each with an id of another site, so many tasks, a code at the end, nothing else to see."""

from __future__ import annotations

import csv
import io
import re

import pytest
from typer.testing import CliRunner

from fullbench.cli.all_commands import app as cli
from fullbench.errors import InputError
from fullbench.web.campaigns import campaigns, group_links
from fullbench.web.campaigns.group_links import GroupLink
from fullbench.web.database import read_transaction, write_transaction
from tests.support.annotation_pages import leases, moved_on
from tests.support.browser_pages import PATIENCE, follow
from tests.support.campaign_tasks import add_tasks
from tests.web.campaigns.conftest import pair, study_of
from tests.web.conftest import Visitor


def linked(engine, **wishes):
    study = study_of(engine, 5)
    with write_transaction(engine) as connection:
        secret = group_links.create_group_link(
            connection, study, **{"max_people": 2, "days": 1, "each": 2, "code": "C0DE", **wishes}
        )
        return campaigns.get_campaign(connection, study.id), secret


def arrive(connection, study, link, name, own=""):
    """Somebody comes with an id, in a browser that keeps a secret or none."""
    return group_links.admit_person(
        connection, study, link, name, is_theirs=lambda person: group_links.is_return_secret(connection, person, own)
    )


def test_the_same_id_comes_back_to_the_same_account_and_places_run_out(engine):
    study, secret = linked(engine)
    with write_transaction(engine) as connection:
        link = group_links.find_open_link(study, secret)
        ann, bob = (arrive(connection, study, link, name) for name in ("ann", "bob"))
        own = {user.name: group_links.create_return_secret(connection, user.id) for user in (ann, bob)}
        assert arrive(connection, study, link, "  ann ", own["ann"]) == ann
        assert ann.id != bob.id
        with pytest.raises(InputError, match="all places are taken"):
            arrive(connection, study, link, "cem")
        assert group_links.find_open_link(study, secret + "x") is None
        group_links.end_group_link(connection, study)
        study = campaigns.get_campaign(connection, study.id)
        ended = GroupLink.from_campaign(study)
        assert not ended.is_open
        assert arrive(connection, study, ended, "bob", own["bob"]).id == bob.id  # who is there works on
        campaigns.set_state(connection, study.id, "closed")
        assert group_links.find_open_link(campaigns.get_campaign(connection, study.id), secret) is None


def test_an_id_that_is_an_accounts_name_does_not_become_that_account(engine):
    study, secret = linked(engine)
    with write_transaction(engine) as connection:
        ann = arrive(connection, study, group_links.find_open_link(study, secret), "ann")
        other = campaigns.create_campaign(connection, campaigns.CampaignPlan("another", "pair"))
        other_secret = group_links.create_group_link(connection, other, max_people=5, days=1, each=0, code="")
        other = campaigns.get_campaign(connection, other.id)
        again = arrive(connection, other, group_links.find_open_link(other, other_secret), "ann")
    assert again.id != ann.id
    assert again.name.startswith("ann ")


def test_who_knows_an_id_does_not_work_in_its_place(engine):
    """The browser that began, or its own link; a lead lets an id in once more, and only the next who comes."""
    study, secret = linked(engine, max_people=5)
    with write_transaction(engine) as connection:
        link = group_links.find_open_link(study, secret)
        ann, bob = (arrive(connection, study, link, name) for name in ("ann", "bob"))
        own, others = (group_links.create_return_secret(connection, user.id) for user in (ann, bob))
        for wrong in ("", others, "x" * 43):
            with pytest.raises(InputError, match="in another browser"):
                arrive(connection, study, link, "ann", wrong)
        assert group_links.create_return_secret(connection, ann.id) is None  # nobody gets a second one by asking
        assert group_links.find_returning_user(connection, own) == (study.id, ann)
        assert group_links.find_returning_user(connection, "nobody's") is None
        group_links.release_id(connection, study, " ann ")
        assert group_links.find_returning_user(connection, own) is None
        assert arrive(connection, study, link, "ann").id == ann.id
        fresh = group_links.create_return_secret(connection, ann.id)
        with pytest.raises(InputError, match="in another browser"):
            arrive(connection, study, link, "ann", own)
        assert arrive(connection, study, link, "ann", fresh).id == ann.id
        with pytest.raises(InputError, match="no annotator of this campaign has the id 'eve'"):
            group_links.release_id(connection, study, "eve")
        open_secret = group_links.create_group_link(
            connection, study, max_people=5, days=1, each=2, code="", any_browser=True
        )
        study = campaigns.get_campaign(connection, study.id)
        assert arrive(connection, study, group_links.find_open_link(study, open_secret), "ann").id == ann.id


def test_browsers_by_link_id_and_own_link(app, organiser):
    """Three browsers: who began, somebody who knows the id, and the first person's other device."""
    with write_transaction(app.state.engine) as connection:
        study = campaigns.create_campaign(connection, campaigns.CampaignPlan("sent for", "pair"))
        add_tasks(connection, study, [pair("q0"), pair("q1")])
    page = organiser.submit(f"/organise/{study.id}/group", {"max_people": "5", "each": "2"})
    path = re.search(r"/take/\w+/[\w-]+", page.text)[0]
    with Visitor(app) as own, Visitor(app) as other, Visitor(app) as device:
        assert own.submit(path, {"external_id": "w-7"}).status_code == 303
        refused = other.submit(path, {"external_id": "w-7"})
        assert refused.status_code == 422
        assert "in another browser" in refused.text
        assert other.get(f"/work/{study.id}").headers["location"].startswith("/login")
        way_back = re.search(r"/back/[\w-]+", own.get(f"/work/{study.id}/votes").text)[0]
        own.submit("/logout")
        assert own.submit(path, {"external_id": "w-7"}).headers["location"] == f"/work/{study.id}"
        assert device.get(way_back).status_code == 200
        assert device.get(f"/work/{study.id}").status_code == 303  # to look at the page is not to sign in
        assert device.submit(way_back).headers["location"] == f"/work/{study.id}"
        assert device.get(f"/work/{study.id}").status_code == 200
        assert way_back in device.get(f"/work/{study.id}/votes").text
        assert way_back not in organiser.get(f"/work/{study.id}/votes").text
        assert organiser.submit(f"/organise/{study.id}/group/release", {"external_id": "w-7"}).status_code == 303
        assert device.get(f"/work/{study.id}").status_code == 303
        assert other.get(way_back).status_code == 404
        assert other.submit(path, {"external_id": "w-7"}).status_code == 303
        assert own.submit(path, {"external_id": "w-7"}).status_code == 422


def test_who_came_for_a_study_that_is_thrown_away_sees_no_others_in_its_place(app, organiser):
    with write_transaction(app.state.engine) as connection:
        study, other = (
            campaigns.create_campaign(connection, campaigns.CampaignPlan(name, "pair"))
            for name in ("sent for", "another")
        )
        for made in (study, other):
            add_tasks(connection, made, [pair("q")])
    page = organiser.submit(f"/organise/{study.id}/group", {"max_people": "5"})
    path = re.search(r"/take/\w+/[\w-]+", page.text)[0]
    links = organiser.submit(f"/organise/{study.id}/invite", {"notes": "Eve\nMax"}).text
    eve, max_ = re.findall(r"/join/[\w-]+", links)[:2]
    password = "a sentence of Eve's own"
    with Visitor(app) as visitor, Visitor(app) as invited, Visitor(app) as late:
        visitor.submit(path, {"external_id": "w-7"})
        invited.submit(eve, {"name": "Eve", "password": password, "again": password})
        assert visitor.get("/work").status_code == 200
        organiser.submit(f"/organise/{study.id}/throw-away")
        assert "3 people who were invited only to it" in organiser.get("/organise").text
        assert visitor.get("/work").status_code == 303
        assert invited.submit("/login", {"name": "Eve", "password": password}).status_code == 401
        assert late.get(max_).status_code == 404


@pytest.mark.parametrize(
    "wish",
    [{"max_people": 0}, {"days": 366}, {"each": -1}, {"code": "http://plain.example"}, {"code": "javascript://x"}],
)
def test_a_link_that_makes_no_sense_is_refused(engine, wish):
    with pytest.raises(InputError):
        linked(engine, **wish)


def test_whoever_comes_by_the_link_sees_that_study_alone(app, organiser):
    with write_transaction(app.state.engine) as connection:
        study, other = (
            campaigns.create_campaign(connection, campaigns.CampaignPlan(name, "pair"))
            for name in ("sent for", "another")
        )
        for made in (study, other):
            add_tasks(connection, made, [pair("q")])
    page = organiser.submit(
        f"/organise/{study.id}/group", {"max_people": "5", "each": "1", "code": "https://back.example/x"}
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
        with write_transaction(app.state.engine) as connection:
            campaigns.set_state(connection, study.id, "closed")
        assert visitor.get("/verdicts").status_code != 200
    rows = list(csv.DictReader(io.StringIO(organiser.get(f"/organise/{study.id}/arrivals.csv").text)))
    assert [(row["external_id"], row["done"]) for row in rows] == [("w-7", "0")]


def test_a_worker_of_another_site_does_the_tasks_and_takes_the_code_home(live, browser, axe):
    with write_transaction(live.engine) as connection:
        study = campaigns.create_campaign(connection, campaigns.CampaignPlan("pairs", "pair"))
        add_tasks(connection, study, [pair(f"q{number}") for number in range(6)])
    boss = browser.new_context(base_url=live.url, viewport={"width": 1440, "height": 900})
    boss.add_cookies([live.cookie("Olga", "organiser")])
    phone = browser.new_context(base_url=live.url, viewport={"width": 390, "height": 844})
    for context in (boss, phone):
        context.set_default_timeout(PATIENCE)
    lead = boss.new_page()
    lead.goto(f"/organise/{study.id}#part-2")
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
    page.goto(f"/work/{study.id}/votes")
    page.locator(".own-link summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.goto(page.locator(".secret").inner_text())
    assert axe(page) == []
    follow(page, page.get_by_role("button", name="Continue"))
    assert page.locator("#completion").inner_text() == "C0DE-77"
    lead.goto(f"/organise/{study.id}#part-2")
    assert "1 of 100 people has come." in lead.inner_text("main")
    with read_transaction(live.engine) as connection:
        rows = list(group_links.arrival_rows(connection, campaigns.get_campaign(connection, study.id)))
    assert [(row["external_id"], row["done"], row["complete"]) for row in rows] == [("5f3c", 2, True)]
    boss.close()
    phone.close()


def test_a_link_from_the_command_line(app, settings, organiser):
    """The site is running: the link that the command prints opens, and an id is let in from another browser."""
    with write_transaction(app.state.engine) as connection:
        add_tasks(
            connection, campaigns.create_campaign(connection, campaigns.CampaignPlan("by command", "pair")), [pair("q")]
        )
    where = ("--database", settings.database, "--data", str(settings.data))

    def people(*words):
        return CliRunner().invoke(cli, ["people", "link", "by command", *words, *where])

    printed = people("--max-people", "2", "--each", "1", "--code", "C0DE")
    path = re.search(r"/take/\w+/[\w-]+", printed.output)[0]
    for name, status in (("ann", 303), ("bob", 303), ("ann", 422), ("cem", 422)):
        with Visitor(app) as visitor:
            assert visitor.submit(path, {"external_id": name}).status_code == status, name
    assert "can continue its work" in people("--release", "ann").output
    with Visitor(app) as visitor:
        assert visitor.submit(path, {"external_id": "ann"}).status_code == 303
    for wrong in (("--release", "eve"), ("--end", "--release", "ann"), ("--max-people", "0")):
        assert people(*wrong).exit_code != 0, wrong
    assert people("--end").exit_code == 0
    trail = organiser.get("/audit").text
    assert all(done in trail for done in ("group link made", "group link ended", "id released"))
