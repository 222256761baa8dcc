"""The annotation page in a real browser: whole formulas, keys for pictures, a small bar on phones, changed votes."""

from __future__ import annotations

import pytest

from fullbench import Item, Picture, Response
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import write_transaction
from fullbench.web.picture_checks_storage_and_serving import store_upload
from tests.support.annotation_pages import content, leases, moved_on
from tests.support.browser_pages import PATIENCE
from tests.support.campaign_tasks import add_tasks
from tests.support.data_builders import png
from tests.support.wait_until import until
from tests.web.conftest import add_person

SUM = " + ".join(f"a_{{{number}}}" for number in range(60))
FORMULA = f"The sum is ${SUM} = \\frac{{1}}{{2}}$, so it is even."
CUT = """() => [...document.querySelectorAll("math")].filter((math) => {
    let box = math.parentElement;
    const scrolls = (one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX)
        && one.scrollWidth > one.clientWidth;
    while (box && !scrolls(box)) box = box.parentElement;
    if (!box) return math.getBoundingClientRect().right > innerWidth;
    box.scrollLeft = box.scrollWidth;
    const frame = box.getBoundingClientRect();
    return math.getBoundingClientRect().right > frame.right + 1 || frame.right > innerWidth + 1;
}).length"""
COVERED = """() => {
    const over = document.getElementById("toast").getBoundingClientRect();
    return [...document.querySelectorAll("button, a, input:not([type=hidden]), textarea, select, summary")]
        .filter((one) => !one.closest("#toast") && one.checkVisibility())
        .map((one) => [one, (one.closest("label") ?? one).getBoundingClientRect()])
        .filter(([, at]) => at.width && at.right > over.left && at.left < over.right)
        .filter(([, at]) => at.bottom > over.top && at.top < over.bottom)
        .map(([one]) => one.outerHTML);
}"""
BAR = """() => Math.max(...[...document.querySelectorAll(".bar, .actions")]
    .filter((one) => getComputedStyle(one).position === "sticky")
    .map((one) => one.getBoundingClientRect().height)) / innerHeight"""


def picture(desk, colour: tuple[int, int, int]) -> Picture:
    with write_transaction(desk.live.engine) as connection:
        owner = add_person(connection, f"Olga {colour}", "organiser")
        return store_upload(connection, desk.live.settings, owner, png(colour, (400, 300))).picture


def campaign(desk, kind: str, contents: list[Content], **plan) -> str:
    with write_transaction(desk.live.engine) as connection:
        made = campaigns.create_campaign(connection, campaigns.CampaignPlan(f"{kind} {plan}", kind, **plan))
        add_tasks(connection, made, contents)
    return f"/work/{made.id}"


def test_a_phone_shows_whole_formulas_and_a_bar_of_at_most_18_percent(desk, axe):
    phone = desk.browser.new_context(
        base_url=desk.live.url, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    phone.add_cookies([desk.live.cookie("Tia", "annotator")])
    page = phone.new_page()
    page.set_default_timeout(PATIENCE)
    item = Item.ask("q", FORMULA)
    two = [Response.say("q", name, FORMULA) for name in ("x", "y")]
    six = [Response.say("q", name, f"Answer {name}") for name in "abcdef"]
    paths = {kind: campaign(desk, kind, [content(kind)]) for kind in ("agree", "rate", "verify", "write", "rewrite")}
    paths["pair"] = campaign(desk, "pair", [Content(item, tuple(two))] * 2)
    paths["graded"] = campaign(desk, "pair", [Content(item, tuple(two))], ballot="choice:5")
    paths["score"] = campaign(desk, "score", [Content(item, (two[0],))], ballot="score:1-10")
    paths["rank"] = campaign(desk, "rank", [Content(item, tuple(six))])
    for kind, path in paths.items():
        page.goto(path)
        page.wait_for_selector(".task")
        assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [390, 390], kind
        assert 0.03 < page.evaluate(BAR) <= 0.18, kind
        assert page.evaluate(CUT) == 0, kind
        assert axe(page) == [], kind
    page.goto(paths["pair"])
    page.wait_for_selector(".task")
    assert page.locator(".task math").count() == 3
    lease = leases(page)
    page.locator(".bar .choice").first.tap()
    moved_on(page, lease)
    page.locator("#toast").wait_for()
    assert page.evaluate(COVERED) == []
    phone.close()


def test_shift_and_a_digit_open_a_picture_and_cast_no_vote(desk):
    pictures = [picture(desk, colour) for colour in ((200, 0, 0), (0, 0, 200), (0, 200, 0))]
    item = Item.ask("q", "Which one fits?", pictures[0])
    answers = tuple(Response("q", name, (one,)) for name, one in zip("xy", pictures[1:], strict=True))
    page = desk.open(campaign(desk, "pair", [Content(item, answers)] * 2))
    page.set_viewport_size({"width": 1366, "height": 768})
    links = page.locator("a.zoom").evaluate_all("all => all.map(one => one.href)")
    assert len(set(links)) == 3
    lease = leases(page)

    def large() -> str:
        return page.locator("#lightbox[open] img").get_attribute("src")

    page.keyboard.press("Shift+Digit3")
    assert large() == links[2]
    page.keyboard.press("1")
    assert large() == links[0]
    page.keyboard.press("ArrowRight")
    assert large() == links[1]
    page.keyboard.press("Escape")
    assert page.locator("#lightbox[open]").count() == 0
    assert (leases(page), desk.cast()) == (lease, [])
    page.keyboard.press("1")
    moved_on(page, lease)
    page.locator("#toast").wait_for()
    assert page.evaluate(COVERED) == []
    until(lambda: len(desk.cast()) == 1)


@pytest.mark.parametrize("way", ["another tab", "its own page"])
def test_whoever_changes_an_earlier_vote_reads_so(desk, way):
    path = desk.study(count=2)
    page, other = desk.open(path), desk.open(path)
    lease = leases(page)
    assert leases(other) == lease
    page.keyboard.press("1")
    moved_on(page, lease)
    until(lambda: len(desk.cast()) == 1)
    if way == "its own page":
        other.goto(f"{path}/votes/{lease}")
    other.keyboard.press("2")
    other.wait_for_function(
        "() => document.getElementById('status')?.textContent.startsWith('You changed your earlier vote')"
    )
    rows = until(lambda: found if len(found := desk.cast()) == 2 else None)
    assert [row.revision for row in rows] == [1, 2]
    if way == "another tab":
        assert other.locator("#done").inner_text() == "0"


def test_the_work_list_has_deadline_order_and_pay(desk):
    desk.study("score", 1, options={"pay": 12.5})
    desk.study("pair", 1, options={"deadline": "2100-02-01", "pay": 12.5, "show_pay": True, "ordered": True})
    desk.study("rank", 1, options={"deadline": "2020-01-31"})
    page = desk.context.new_page()
    page.goto("/work")
    cards = [" ".join(card.split()) for card in page.locator(".to-do .card").all_inner_texts()]
    assert [card.split()[0] for card in cards] == ["rank", "pair", "score"]
    assert "Deadline 2020-01-31 passed; you may still vote" in cards[0]
    assert "Deadline 2100-02-01 Order of tasks the most informative first Pay 12.5 an hour" in cards[1]
    assert "Deadline none Order of tasks random, different for each person" in cards[2]
    assert "12.5" not in cards[0] + cards[2]
