"""Pages of signed-in people: axe finds nothing, and nothing is wider than the screen."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import select

from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_tables import tasks
from fullbench.web.database import write_transaction
from tests.support.browser_pages import PATIENCE
from tests.support.campaign_tasks import add_tasks
from tests.web.campaigns.conftest import pair
from tests.web.results.test_accessibility_and_speed import SIGNED_IN, WIDTHS, looked_at
from tests.web.screenshots import shoot
from tests.web.test_attacks import leaves

RESULTS = {"/", "/boards/{name}", "/verdicts", "/cases/{case_key}", "/judges", "/judges/{name}", "/login"}
"""Looked at by `tests/web/results/test_accessibility_and_speed.py`, with `SIGNED_IN`."""
HERE = {"/work/{study_id}", "/work/{study_id}/votes", "/organise/{study_id}", "/organise/{study_id}/tasks",
        "/organise/{study_id}/tasks/{task}", "/organise/{study_id}/preview", "/join/{secret}",
        "/take/{study_id}/{secret}", "/back/{secret}"}  # fmt: skip
NO_PAGE = re.compile(
    r"^/(api/|static|health|ready|metrics|events|robots|openapi|pictures|media|logos|uploads)|\.(svg|png|txt|json|css|webp)$|"
    r"/(results\.\{form\}|next|back|board|creation|uploads/\{upload\}|votes\.\{form\}|arrivals\.csv|votes/\{lease\})$"
)


def test_every_kind_of_page_is_on_a_list(app):
    """A page that is added must be looked at too."""
    known = RESULTS | HERE | set(SIGNED_IN)
    paths = {route.path for route in leaves(app.routes) if "GET" in (getattr(route, "methods", None) or ())}
    assert {path for path in paths if not NO_PAGE.search(path)} == known


@pytest.fixture
def begun(live):
    """A server with a study of four pairs, and the addresses of its pages for annotators and organisers."""
    with write_transaction(live.engine) as connection:
        study = campaigns.create_campaign(
            connection, campaigns.CampaignPlan("Which answer is better? 哪个更好？", "pair")
        )
        add_tasks(connection, study, [pair(f"q{number}") for number in range(4)])
        task = connection.execute(select(tasks.c.id).where(tasks.c.study == study.id).limit(1)).scalar_one()
    lead = f"/organise/{study.id}"
    return live, [f"/work/{study.id}", f"/work/{study.id}/votes"], [
        "/organise", lead, f"{lead}/tasks", f"{lead}/tasks/{task}", f"{lead}/preview",
    ]  # fmt: skip


def test_the_pages_of_work_can_be_read_at_one_width(browser, begun, axe):
    live, own, leading = begun
    seen = {"width": 1366, "scheme": "light"}
    looked_at(browser, live, axe, own, **seen, cookie=live.cookie("Ann", "annotator"))
    tabs = [f"{leading[1]}#part-{number}" for number in range(2, 7)]
    looked_at(browser, live, axe, [*leading, *tabs], **seen, cookie=live.cookie("Olga", "organiser"))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_pages_of_work_can_be_read_by_everybody(browser, begun, axe, *, width, scheme, language):
    live, own, leading = begun
    annotator = live.cookie("Ann", "annotator")
    organiser = live.cookie("Olga", "organiser")
    seen = {"width": width, "scheme": scheme, "language": language}
    looked_at(browser, live, axe, own, **seen, cookie=annotator)
    looked_at(browser, live, axe, leading, **seen, cookie=organiser)
    context = browser.new_context(base_url=live.url)
    context.add_cookies([organiser])
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(leading[1])
    shoot(page, "lead-study", height=1500)
    shoot(page, "lead-study-dark", height=1500, scheme="dark")
    page.goto(leading[3])
    shoot(page, "lead-review", height=640)
    context.close()
