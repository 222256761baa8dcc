"""Leads in a real browser: adjudication, pictures in guidelines, deleting a campaign."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from sqlalchemy import select

from fullbench import Item, Response
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_tables import adjudications, members
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.votes import task_queue, vote_storage
from fullbench.web.campaigns.votes.task_queue import AnnotatorContext
from fullbench.web.database import read_transaction, write_transaction
from tests.support.browser_pages import PATIENCE, follow, new_page
from tests.support.campaign_tasks import add_tasks
from tests.web.campaigns.conftest import study_of
from tests.web.conftest import add_person


@pytest.fixture
def lead(live, browser):
    """A page of an organiser."""
    context = browser.new_context(base_url=live.url, viewport={"width": 1366, "height": 768})
    context.add_cookies([live.cookie("Olga", "organiser")])
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


def split_rankings(live):
    """Two people rank three answers to each of two questions, one from the first to the last, one the other way."""
    with write_transaction(live.engine) as connection:
        study = campaigns.create_campaign(connection, campaigns.CampaignPlan("order", "rank", votes=2, most=2))
        answers = {name: [Response.say(name, who, f"answer of {who}") for who in "xyz"] for name in ("q0", "q1")}
        add_tasks(connection, study, [Content(Item.ask(name, "?"), tuple(said)) for name, said in answers.items()])
        for name, wanted in (("Ann", (0, 1, 2)), ("Bob", (2, 1, 0))):
            person = add_person(connection, name, "annotator")
            for turn in range(2):
                desk = AnnotatorContext(connection, study, person.id, 1_700_000_000.0)
                lease = task_queue.take_next_task(desk)
                order = ",".join(str(lease.display_order.index(place)) for place in wanted)
                vote_storage.store_vote(
                    desk,
                    lease.token,
                    key=f"{name} vote {turn}",
                    fields={"order": order, "reason": f"{name[0]}. reads the sign"},
                    replaces=0,
                    seconds=5.0,
                    guideline="",
                )
    return study


IN_VIEW = """() => {
    const bar = document.querySelector(".bar").getBoundingClientRect();
    const seen = (one) => { const at = document.querySelector(one).getBoundingClientRect();
        const isUnderBar = at.bottom > bar.top && at.left < bar.right;
        return at.height > 0 && at.top >= 0 && at.bottom <= innerHeight && !isUnderBar; };
    return [seen(".asked .words"), seen(".votes-on-task li:last-child"), bar.bottom <= innerHeight,
            document.documentElement.scrollHeight <= innerHeight];
}"""
"""The question, the last vote and the bar are on the screen, the bar covers neither, and the page does not scroll."""


def test_splits_of_rankings_are_ruled_on_one_after_the_other(live, lead, axe):
    study = split_rankings(live)
    lead.goto(f"/organise/{study.id}/tasks?show=split")
    follow(lead, lead.locator("tbody a").first)
    first = lead.url
    assert axe(lead) == []
    assert lead.evaluate(IN_VIEW) == [True, True, True, True]
    assert [" ".join(vote.split()) for vote in lead.locator(".beside .votes-on-task li").all_inner_texts()] == [
        "A > B > C A. reads the sign 5 s",
        "C > B > A B. reads the sign 5 s",
    ]
    voters = lead.locator(".voters")
    assert voters.is_hidden()
    lead.get_by_text("Who voted, and when").click()
    assert [voter.split()[0] for voter in voters.locator("li").all_inner_texts()] == ["Ann", "Bob"]
    lead.locator("h1").click()
    for number in ("2", "3", "1"):
        lead.keyboard.press(number)
    with new_page(lead):
        lead.keyboard.press("Enter")
    assert lead.url != first  # the next split
    lead.locator("ol.rank li[data-number='3']").focus()
    lead.keyboard.press("ArrowLeft")
    lead.fill("textarea[name=reason]", "as ann@example.org said")
    follow(lead, lead.get_by_role("button", name="Decide"))
    with read_transaction(live.engine) as connection:
        rows = connection.execute(select(adjudications).order_by(adjudications.c.id)).all()
    assert [row.answer["order"] for row in rows] == [[1, 2, 0], [0, 2, 1]]
    lead.goto(f"/organise/{study.id}/tasks?show=split")
    assert lead.locator("tbody tr").count() == 0
    # What is stored is what leads see: next to the task, in the list and in the sum of what is left.
    lead.goto(first)
    decided = lead.locator(".beside h2:has-text('Decisions of leads') + .votes-on-task li")
    assert decided.inner_text().split("\n")[0] == "B > C > A"
    lead.goto(f"/organise/{study.id}/tasks?show=adjudicated")
    assert sorted(lead.locator("tbody td:last-child").all_inner_texts()) == ["x > z > y", "y > z > x"]
    lead.goto(f"/organise/{study.id}")
    left = lead.locator("dl.figures div", has_text="disagreements to decide").locator("dd")
    assert left.inner_text() == "0"
    # A decision is published like a vote, so its reason is looked through too.
    lead.goto(f"/organise/{study.id}#part-6")
    found = lead.locator("#part-6 .checks-list").inner_text()
    assert "1 of these reasons" in found


def test_guidelines_show_pictures_of_the_site(live, lead, browser):
    study = study_of(live.engine, 1)
    data = io.BytesIO()
    Image.new("RGB", (64, 48), "teal").save(data, "PNG")
    lead.goto(f"/organise/{study.id}#part-4")
    lead.locator("details:has(#guidelines) summary").click()
    lead.fill("#guidelines", "Look:\n\n![a teal field](field.png)\n\n<!-- zh -->\n\n看：")
    brought = [{"name": name, "mimeType": "image/png", "buffer": data.getvalue()} for name in ("field.png",)]
    lead.set_input_files("#pictures", brought)
    follow(lead, lead.get_by_role("button", name="Change the guidelines"))
    context = browser.new_context(base_url=live.url)
    context.add_cookies([live.cookie("Kim", "annotator")])
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"/work/{study.id}")
    shown = page.locator(".guidelines img")
    assert shown.get_attribute("alt") == "a teal field"
    assert shown.evaluate("one => one.decode().then(() => one.naturalWidth)") == 64
    context.close()


def test_a_study_goes_while_nobody_has_voted_in_it(live, lead):
    study = study_of(live.engine, 2)
    with write_transaction(live.engine) as connection:
        person = add_person(connection, "Cem", "annotator")
        desk = AnnotatorContext(connection, study, person.id, 1_700_000_000.0)
        lease = task_queue.take_next_task(desk)
        vote_storage.store_draft(desk, lease.token, {"reason": "half a"})
    lead.goto(f"/organise/{study.id}#part-3")
    lead.locator(".throw-away summary").click()
    follow(lead, lead.get_by_role("button", name="Throw the campaign away"))
    assert lead.url.endswith("/organise")
    with read_transaction(live.engine) as connection:
        assert campaigns.find_campaign(connection, study.id) is None
    voted = split_rankings(live)
    lead.goto(f"/organise/{voted.id}")
    assert lead.locator(".throw-away").count() == 0


def test_a_study_is_changed_closed_and_opened_while_people_work(live, lead):
    """What `people set` switches, by mouse; a message says what was done, and the desk follows."""
    study = study_of(live.engine, 2, criterion="counting")
    lead.goto(f"/organise/{study.id}#part-3")
    assert "counting" in lead.inner_text("main > p.muted >> nth=0")
    lead.check("[name=confirm]")
    lead.check("[name=reason]")
    follow(lead, lead.get_by_role("button", name="Change how it is run"))
    assert lead.locator(".panel:visible").get_attribute("id") == "part-3", "the tab stays"
    assert lead.is_checked("[name=confirm]")
    with read_transaction(live.engine) as connection:
        options = campaigns.get_campaign(connection, study.id).rules.options
    assert {name: options[name] for name in ("confirm", "reason", "reference", "assigned", "results")} == {
        "confirm": True, "reason": True, "reference": False, "assigned": False, "results": False,
    }  # fmt: skip
    lead.uncheck("[name=reason]")
    follow(lead, lead.get_by_role("button", name="Change how it is run"))
    for button, message in (("Close the campaign", "closed"), ("Open it again", "open")):
        follow(lead, lead.get_by_role("button", name=button))
        assert message in lead.inner_text("main .flash:visible")
    lead.goto(f"/organise/{study.id}/preview?at=1")
    assert "task 2 of 2" in lead.inner_text(".work-head")
    follow(lead, lead.get_by_role("link", name="Previous"))
    assert "task 1 of 2" in lead.inner_text(".work-head")
    lead.keyboard.press("1")
    with new_page(lead):
        lead.keyboard.press("Enter")
    assert "task 2 of 2" in lead.inner_text(".work-head")


def test_what_one_person_said_is_a_click_away(live, lead, axe):
    study = split_rankings(live)
    with write_transaction(live.engine) as connection:
        third = add_person(connection, "Eve", "annotator")
        connection.execute(
            members.insert().values(study=study.id, person=third.id, standing="qualified", done=0, at=0.0)
        )
    lead.goto(f"/organise/{study.id}")
    assert lead.locator("#table-contestants td").first.evaluate("one => getComputedStyle(one).textAlign") == "left"
    follow(lead, lead.locator("#table-members").get_by_role("link", name="Bob"))
    assert lead.inner_text("h1") == "Task by task: Bob"
    assert lead.locator("tbody tr").count() == 2
    heads = lead.locator("thead th").all_inner_texts()
    for row in lead.locator("tbody tr").all():
        cells = dict(zip(heads, row.locator("th, td").all_inner_texts(), strict=True))
        assert (cells["contestant"], cells["this person said"]) == ("x, y, z", "z > y > x")
    follow(lead, lead.get_by_role("link", name="split: no majority (2)"))
    assert "this person said" in lead.locator("thead").inner_text()
    assert axe(lead) == []
    lead.goto(f"/organise/{study.id}/tasks?person={third.id}")
    assert lead.locator("tbody tr").count() == 0


def test_names_are_whole_words_on_a_phone_and_no_account_is_changed_unasked(live, browser):
    with write_transaction(live.engine) as connection:
        campaigns.create_campaign(connection, campaigns.CampaignPlan("Comparing descriptions carefully", "pair"))
        add_person(connection, "Bartholomew", "annotator")
    context = browser.new_context(base_url=live.url, viewport={"width": 390, "height": 844})
    context.add_cookies([live.cookie("Olga", "organiser")])
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto("/organise")
    lines = "one => Math.round(one.getClientRects().length)"
    assert page.get_by_role("link", name="Comparing descriptions carefully").evaluate(lines) <= 3
    page.goto("/people")
    row = page.locator("tr", has_text="Bartholomew")
    assert row.locator("select").evaluate("one => one.validity.valueMissing")
    assert row.get_by_role("button", name="Change").count() == 0, "there is no button before something is chosen"
    row.locator("select").select_option("close")
    follow(page, row.get_by_role("button", name="Change"))
    assert "closed" in page.locator("tr", has_text="Bartholomew").inner_text()
    context.close()
