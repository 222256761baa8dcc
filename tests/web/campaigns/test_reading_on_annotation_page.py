"""Reading on the annotation page: pictures that zoom in place, long answers, texts as written."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from fullbench import Item, Response
from fullbench.web import picture_checks_storage_and_serving
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import write_transaction
from tests.support.annotation_pages import leases, moved_on
from tests.support.campaign_tasks import add_tasks
from tests.support.wait_until import until
from tests.web.conftest import add_person

LONG = "\n\n".join(f"Paragraph {number} of an answer that goes on." for number in range(80))
MARKED = "**Four.**\n\n| colour | count |\n|---|---|\n| blue | 4 |\n\nThat is $\\frac{4}{4}$."


@pytest.fixture
def read(desk):
    """A study of two pairs with a picture: one long answer, one in Markdown."""
    data = io.BytesIO()
    Image.effect_noise((1600, 1000), 60).save(data, "PNG")
    with write_transaction(desk.live.engine) as connection:
        owner = add_person(connection, "Olga", "organiser")
        shown = picture_checks_storage_and_serving.store_upload(
            connection, desk.live.settings, owner, data.getvalue()
        ).picture
        study = campaigns.create_campaign(connection, campaigns.CampaignPlan("read", "pair"))
        items = [Item.ask(f"q{number}", "How many?", shown) for number in range(2)]
        add_tasks(
            connection, study,
            [Content(item, (Response.say(item.id, "x", LONG), Response.say(item.id, "y", MARKED))) for item in items],
        )  # fmt: skip
    return f"/work/{study.id}"


def test_the_wheel_zooms_a_picture_where_the_pointer_is(desk, read):
    page = desk.context.new_page()
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(read)
    picture = page.locator(".asked a.zoom img")
    picture.evaluate("one => one.decode()")
    before = picture.bounding_box()
    assert before["width"] > 480  # half of the desk
    point = before["x"] + 0.25 * before["width"], before["y"] + 0.6 * before["height"]
    page.mouse.move(*point)
    for _ in range(4):
        page.mouse.wheel(0, -100)
    zoomed = until(lambda: box if (box := picture.bounding_box())["width"] > 1.9 * before["width"] else None)
    # What was under the pointer is still there.
    assert (point[0] - zoomed["x"]) / zoomed["width"] == pytest.approx(0.25, abs=0.02)
    assert (point[1] - zoomed["y"]) / zoomed["height"] == pytest.approx(0.6, abs=0.02)
    assert "size=" not in picture.get_attribute("src")  # the whole picture, not its small copy
    page.mouse.down()
    page.mouse.move(point[0] + 60, point[1] + 20, steps=4)
    page.mouse.up()
    moved = picture.bounding_box()
    assert (moved["x"] - zoomed["x"], moved["y"] - zoomed["y"]) == (pytest.approx(60, abs=2), pytest.approx(20, abs=2))
    assert page.locator("#lightbox[open]").count() == 0  # the end of a drag is no click
    for _ in range(8):
        page.mouse.wheel(0, 100)
    until(lambda: picture.bounding_box()["width"] == pytest.approx(before["width"], abs=2))
    picture.click()
    page.wait_for_selector("#lightbox[open]")


def test_long_answers_are_as_high_as_the_others_and_scroll_by_themselves(desk, read, axe):
    page = desk.context.new_page()
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(read)
    page.wait_for_selector(".task")
    heights = page.locator(".candidate").evaluate_all("all => all.map(one => [one.clientHeight, one.scrollHeight])")
    assert heights[0][0] == heights[1][0] < 768
    assert sum(inner > outer for outer, inner in heights) == 1
    assert page.locator(".candidate table td").first.inner_text() == "blue"
    assert page.locator(".candidate math").count() == 1
    raw = page.locator(".candidate details.raw")
    assert raw.count() == 1
    raw.locator("summary").click()
    assert raw.locator("pre").inner_text() == MARKED
    assert axe(page) == []


def test_what_one_key_sent_is_offered_back(desk, read):
    page = desk.open(read)
    assert page.locator("#toast").is_hidden()
    first = leases(page)
    page.keyboard.press("2")
    moved_on(page, first)
    toast = page.locator("#toast")
    toast.wait_for()
    assert toast.locator("b").inner_text() == "B"
    toast.get_by_role("link", name="Undo").click()
    page.wait_for_url(f"**/votes/{first}")
    assert page.locator("input[name=best]:checked").get_attribute("value") == "1"
