"""The annotation page in a real browser: one screen, one key a vote, and a next task that is there."""

from __future__ import annotations

import statistics

import pytest

from fullbench import Item, Response
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import write_transaction
from tests.support.annotation_pages import content, leases, moved_on
from tests.support.browser_pages import PATIENCE
from tests.support.campaign_tasks import add_tasks
from tests.support.wait_until import until
from tests.web.screenshots import shoot

KINDS = ("pair", "score", "rank", "agree", "rate", "verify", "write", "rewrite")
FITS = """() => {
    const bar = document.querySelector(".bar").getBoundingClientRect();
    const send = document.querySelector(".bar button[type=submit]").getBoundingClientRect();
    return [document.documentElement.scrollHeight <= innerHeight, bar.bottom <= innerHeight, send.bottom <= innerHeight,
            document.documentElement.scrollWidth <= innerWidth];
}"""


def test_every_kind_is_one_screen(desk):
    """1366x768: nothing scrolls but the panes, the vote bar is in view; 390x844: nothing is wider than the screen."""
    page = desk.context.new_page()
    paths = {kind: desk.study(kind, 2) for kind in KINDS}
    for size, fits in (((1366, 768), [True] * 4), ((390, 844), [False, True, True, True])):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        for kind, path in paths.items():
            page.goto(path)
            page.wait_for_selector(".task")
            found = page.evaluate(FITS)
            if size[0] == 390:
                found[0] = False  # a phone's page is as long as it is
            assert found == fits, (kind, size)
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(paths["score"])
    anchors = page.locator(".bar .anchor").all_inner_texts()
    assert anchors[0].startswith("wrong")
    assert anchors[-1].startswith("right, complete")
    page.keyboard.press("g")
    assert page.locator("#beside").is_hidden()
    page.reload()
    assert page.locator("#beside").is_hidden()
    page.keyboard.press("?")
    assert page.locator("#keys").get_attribute("open") is not None


WIDE = "\n".join("|" + f" {cell} |" * 12 for cell in ("a column", "---", "its value"))
WRITTEN = "```python\n" + "circles = count(picture, " * 9 + f"\n```\n\n{WIDE}\n"


def test_long_lines_of_code_leave_the_vote_bar_of_a_phone_in_view(desk, axe):
    """Code and wide tables in answers, as a phone lays pages out; keys reach all that scrolls."""
    phone = desk.browser.new_context(
        base_url=desk.live.url, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    phone.add_cookies([desk.live.cookie("Tia", "annotator")])
    page = phone.new_page()
    page.set_default_timeout(PATIENCE)
    item = Item.ask("q", WRITTEN, reference=WRITTEN)
    for kind in KINDS:
        told = content(kind)
        answers = tuple(Response(item.id, one.contestant, (WRITTEN, *one.pictures)) for one in told.responses)
        with write_transaction(desk.live.engine) as connection:
            study = campaigns.create_campaign(
                connection, campaigns.CampaignPlan(kind, kind, options={"reference": True})
            )
            add_tasks(connection, study, [Content(item, answers, told.about)])
        page.goto(f"/work/{study.id}")
        page.wait_for_selector(".task")
        assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [390, 390], kind
        send = page.locator(".bar button[type=submit]").first
        assert send.evaluate("one => one.getBoundingClientRect().bottom") <= 844, kind
        assert axe(page, every=True) == [], kind
    phone.close()


def test_a_phone_shows_what_the_points_of_a_long_scale_mean(desk):
    """390x844, 1 to 10: the words of both ends before a choice, then those of the point chosen; each can be tapped."""
    told = "\n".join(f"- {mark}: words of point {mark}, 第{mark}档" for mark in range(1, 11))
    page = desk.context.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(desk.study("score", 2, ballot="score:1-10", guidelines=told))
    page.wait_for_selector(".task")

    def words() -> list[str]:
        """The anchors that can be read: whole within the screen."""
        inside = """one => { const at = one.getBoundingClientRect();
            return at.width > 60 && at.left >= 0 && at.right <= innerWidth && at.bottom <= innerHeight }"""
        return [one.inner_text() for one in page.locator(".bar .anchor:visible").all() if one.evaluate(inside)]

    assert words() == ["words of point 1, 第1档", "words of point 10, 第10档"]
    for mark in (6, 10, 3):
        page.locator(f".bar .choice:has(input[value='{mark}'])").click()
        assert words() == [f"words of point {mark}, 第{mark}档"]
    shoot(page, "desk-phone", width=390, height=844)


def test_one_key_is_a_vote_and_u_takes_it_back(desk):
    path = desk.study(count=3)
    page = desk.open(path)
    first = leases(page)
    page.keyboard.press("1")
    moved_on(page, first)
    page.wait_for_function("() => document.getElementById('status').textContent.includes('take it back')")
    page.keyboard.press("u")
    page.wait_for_url(f"**/votes/{first}")
    page.wait_for_selector("input[name=best]:checked", state="attached")
    page.keyboard.press("2")
    page.wait_for_url(f"**{path}")
    rows = until(lambda: rows if len(rows := desk.cast()) == 2 else None)
    assert [row.revision for row in rows] == [1, 2]
    assert rows[0].answer != rows[1].answer
    # A campaign that wants confirmation: the key chooses, Enter sends.
    with write_transaction(desk.live.engine) as connection:
        made = campaigns.get_campaign(connection, path.rpartition("/")[2])
        campaigns.set_options(connection, made, {"confirm": True})
    page.goto(path)
    page.wait_for_selector(".task")
    lease = leases(page)
    page.keyboard.press("1")
    page.wait_for_selector("input[name=best]:checked", state="attached")
    assert leases(page) == lease
    page.keyboard.press("Enter")
    moved_on(page, lease)
    until(lambda: len(desk.cast()) == 3)


def test_a_quick_choice_needs_no_button_and_nothing_below_the_head_moves(desk):
    """1366x768: keys in order, one Undo, and the task stays where it is when pace and message appear."""
    page = desk.context.new_page()
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(desk.study(count=8))
    page.wait_for_selector(".task")
    keys = page.locator(".bar .choice input").evaluate_all("all => all.map(one => one.dataset.key)")
    assert keys == ["1", "2", "3"]
    assert page.get_by_role("button", name="Send").count() == 0
    tops = set()
    for _ in range(6):
        tops.add(page.locator("#task").evaluate("one => one.getBoundingClientRect().top"))
        lease = leases(page)
        page.keyboard.press("1")
        moved_on(page, lease)
        page.locator("#toast").wait_for()
        assert page.get_by_role("link", name="Undo").count() == 1
    assert page.locator("#rest").inner_text()
    assert len(tops) == 1
    # A choice that was made before can get a reason: then there is a button.
    page.keyboard.press("u")
    page.wait_for_url("**/votes/*")
    page.get_by_role("button", name="Send").wait_for()


@pytest.mark.slow
def test_marks_of_what_differs_stay_off_from_task_to_task(desk):
    """Tasks that are loaded ahead are marked too; who switches the marks off sees none, and both answers look alike."""
    page = desk.open(desk.study(count=3))
    marks = page.locator(".candidate mark.differs")
    assert sorted(marks.all_inner_texts()) == ["first", "second"]
    looks = """all => all.map(one => { const its = getComputedStyle(one);
        return [its.textDecorationLine, its.backgroundColor, its.color, its.fontWeight].join() })"""
    assert len(set(marks.evaluate_all(looks))) == 1
    assert page.evaluate(FITS)[1:3] == [True, True]
    page.get_by_role("button", name="Hide the marks of what differs").click()
    first = leases(page)
    page.keyboard.press("1")
    moved_on(page, first)
    assert sorted(marks.all_inner_texts()) == ["first", "second"]
    assert all(look.startswith("none,rgba(0, 0, 0, 0)") for look in marks.evaluate_all(looks))
    until(lambda: len(desk.cast()) == 1)


@pytest.mark.slow
def test_by_touch(desk):
    """A phone: one tap votes on a pair; taps in order rank the answers."""
    phone = desk.browser.new_context(
        base_url=desk.live.url, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    try:
        phone.add_cookies([desk.live.cookie("Tia", "annotator")])
        page = phone.new_page()
        page.goto(desk.study(count=1))
        page.wait_for_selector(".task")
        page.locator(".bar .choice").first.tap()
        page.wait_for_selector("#nothing")
        page.goto(desk.study("rank", 1))
        page.wait_for_selector(".task")
        for number in ("2", "1"):
            page.locator(f"ol.rank li[data-number='{number}'] .letter").tap()
        page.locator(".bar button[type=submit]").first.tap()
        page.wait_for_selector("#nothing")
    finally:
        phone.close()
    rows = until(lambda: rows if len(rows := desk.cast()) == 2 else None)
    order = next(row for row in rows if "order" in row.answer)
    assert order.answer["order"] == [order.shown[1], order.shown[0]]


@pytest.mark.slow
def test_all_kinds_in_a_row(desk):
    """A few tasks of every kind by keys; fifty of each, by keys and by mouse, is the slow test."""
    from tests.web.campaigns.test_no_vote_is_lost import fifty

    for kind in ("agree", "rate", "verify"):
        before = len(desk.cast())
        fifty(desk, kind, "keys", 2, before=before)


@pytest.mark.slow
def test_three_hundred_votes_in_a_row(desk, record_property):
    """300 votes by one key each: none lost, and the next task is in view within 300 ms (p95)."""
    count = 300
    # From the key to the next task in view, also where a page is loaded in between.
    desk.context.add_init_script("""
        const now = () => performance.timeOrigin + performance.now();
        const waits = () => JSON.parse(sessionStorage.getItem("waits") ?? "[]");
        const there = () => {
            const pressed = Number(sessionStorage.getItem("pressed"));
            if (!pressed || !document.querySelector(".task")) return;
            sessionStorage.setItem("waits", JSON.stringify([...waits(), now() - pressed]));
            sessionStorage.removeItem("pressed");
        };
        document.addEventListener("keydown", () => sessionStorage.setItem("pressed", now()), true);
        document.addEventListener("DOMContentLoaded", () => {
            there();
            const task = document.getElementById("task");
            if (task) new MutationObserver(there).observe(task, { childList: true });
        });
    """)
    page = desk.open(desk.study(count=count))
    for _ in range(count):
        lease = leases(page)
        page.keyboard.press("1")
        moved_on(page, lease)
    waits = page.evaluate("() => JSON.parse(sessionStorage.getItem('waits'))")
    page.wait_for_selector("#nothing")
    until(lambda: len(desk.cast()) == count)
    assert len({row.task for row in desk.cast()}) == count
    p95 = statistics.quantiles(waits, n=20)[-1]
    record_property("next task, p95 in ms", round(p95))
    assert len(waits) > 0.9 * count
    assert p95 < 300


@pytest.mark.slow
def test_a_preview_keeps_nothing(desk):
    with write_transaction(desk.live.engine) as connection:
        made = campaigns.create_campaign(connection, campaigns.CampaignPlan("draft", "pair"), draft=True)
        add_tasks(connection, made, [content("pair")] * 2)
    boss = desk.browser.new_context(base_url=desk.live.url)
    try:
        boss.add_cookies([desk.live.cookie("Olga", "organiser")])
        page = boss.new_page()
        page.goto(f"/organise/{made.id}/preview")
        page.wait_for_selector(".task")
        page.keyboard.press("1")
        page.wait_for_url("**/preview?at=1")
        page.wait_for_selector(".task")
        assert page.evaluate("() => Object.keys(localStorage).filter((name) => name.includes('.vote.')).length") == 0
    finally:
        boss.close()
    assert desk.cast() == []
