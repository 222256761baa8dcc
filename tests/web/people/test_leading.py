"""What a lead does in a real browser: rules on one split after the other, shows pictures in the guidelines, throws a
study away that nobody voted in."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from sqlalchemy import select

from fullbench import Item, Response
from fullbench.web.database import reading, writing
from fullbench.web.people import queue, studies, voting
from fullbench.web.people.content import Content
from fullbench.web.people.queue import Desk
from fullbench.web.people.tables import adjudications
from tests.browsing import PATIENCE, follow
from tests.web.conftest import add_person
from tests.web.people.conftest import study_of


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
    with writing(live.engine) as connection:
        study = studies.create(connection, studies.Plan("order", "rank", votes=2, most=2))
        answers = {name: [Response.say(name, who, f"answer of {who}") for who in "xyz"] for name in ("q0", "q1")}
        studies.add(connection, study, [Content(Item.ask(name, "?"), tuple(said)) for name, said in answers.items()])
        for name, wanted in (("Ann", (0, 1, 2)), ("Bob", (2, 1, 0))):
            person = add_person(connection, name, "annotator")
            for turn in range(2):
                desk = Desk(connection, study, person.id, 1_700_000_000.0)
                lease = queue.take(desk)
                order = ",".join(str(lease.shown.index(place)) for place in wanted)
                voting.vote(desk, lease.token, key=f"{name} vote {turn}", fields={"order": order}, replaces=0,
                            seconds=5.0, guideline="")  # fmt: skip
    return study


def test_splits_of_rankings_are_ruled_on_one_after_the_other(live, lead, axe):
    study = split_rankings(live)
    lead.goto(f"/organise/{study.id}/tasks?show=split")
    follow(lead, lead.locator("tbody a").first)
    first = lead.url
    assert axe(lead) == []
    for number in ("2", "3", "1"):
        lead.locator(f"ol.rank li[data-number='{number}'] .letter").click()
    follow(lead, lead.get_by_role("button", name="Rule"))
    assert lead.url != first  # the next split
    lead.locator("ol.rank li[data-number='3']").focus()
    lead.keyboard.press("ArrowLeft")
    follow(lead, lead.get_by_role("button", name="Rule"))
    with reading(live.engine) as connection:
        rows = connection.execute(select(adjudications).order_by(adjudications.c.id)).all()
    assert [row.answer["order"] for row in rows] == [[1, 2, 0], [0, 2, 1]]
    lead.goto(f"/organise/{study.id}/tasks?show=split")
    assert lead.locator("tbody tr").count() == 0


def test_guidelines_show_pictures_of_the_site(live, lead, browser):
    study = study_of(live.engine, 1)
    data = io.BytesIO()
    Image.new("RGB", (64, 48), "teal").save(data, "PNG")
    lead.goto(f"/organise/{study.id}")
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
    with writing(live.engine) as connection:
        person = add_person(connection, "Cem", "annotator")
        desk = Desk(connection, study, person.id, 1_700_000_000.0)
        lease = queue.take(desk)
        voting.draft(desk, lease.token, {"reason": "half a"})
    lead.goto(f"/organise/{study.id}")
    lead.locator(".throw-away summary").click()
    follow(lead, lead.get_by_role("button", name="Throw the study away"))
    assert lead.url.endswith("/organise")
    with reading(live.engine) as connection:
        assert studies.find(connection, study.id) is None
    voted = split_rankings(live)
    lead.goto(f"/organise/{voted.id}")
    assert lead.locator(".throw-away").count() == 0
