"""The public side in a real browser: from a number to its cases and pixels, and live news."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from tests.support.browser_pages import PATIENCE, follow
from tests.web.conftest import start_live
from tests.web.results import making
from tests.web.results.looking import accessible, charts, count, loaded, numbers
from tests.web.screenshots import asked_for, shoot


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    path = making.fill(folder / "small.ledger", count=6)
    live = start_live(folder, "--ledger", str(path), "--public")
    yield live, path
    live.process.terminate()
    live.process.wait(timeout=120)
    live.engine.dispose()


def ready(page, url: str) -> None:
    """The first page, once all boards are computed."""
    page.goto(url)
    for _ in range(600):
        boards = page.locator(".boards tbody tr")
        if boards.count() and not boards.get_by_text("being computed").count():
            return
        page.wait_for_timeout(100)
        page.goto(url)
    raise AssertionError("the boards were not computed")


def all_listed(page) -> int:
    """The verdicts that the rows of a served list say they have, over all its pages."""
    matched = "all => all.reduce((sum, one) => sum + Number(one.dataset.matched), 0)"
    total = page.locator("[data-matched]").evaluate_all(matched)
    while page.locator("a[rel=next]").count():
        follow(page, page.locator("a[rel=next]"))
        total += page.locator("[data-matched]").evaluate_all(matched)
    return total


def test_a_sensitive_picture_comes_without_its_veil_only_when_asked_for(served, tab):
    live, path = served
    with Ledger(path, read_only=True) as ledger:
        item = next(one for one in ledger.items() if one.tags.get("sensitive"))
    fetched: list[str] = []
    tab.on("request", lambda request: fetched.append(request.url))
    tab.goto(f"{live.url}/verdicts?item={item.id}")
    digest = item.pictures[0].digest
    with tab.expect_response(lambda response: digest in response.url, timeout=PATIENCE):
        follow(tab, tab.locator(".case-link").first)
    tab.wait_for_load_state("networkidle")
    seen = [url for url in fetched if digest in url]
    assert seen
    assert all("veiled=1" in url for url in seen)
    with tab.expect_response(lambda response: digest in response.url and "veiled" not in response.url) as shown:
        tab.locator("details.unveil summary").first.click()
    assert shown.value.ok
    expect(tab.locator("details.unveil img").first).to_be_visible()


def test_from_a_number_to_exactly_its_cases_and_to_the_pixels(served, tab, axe):
    live, _ = served
    ready(tab, live.url)
    accessible(tab, axe)
    follow(tab, tab.get_by_role("link", name="steady", exact=True).first)
    tab.wait_for_load_state("networkidle")
    accessible(tab, axe)
    charts(tab)
    links = numbers(tab, "Wins between contestants, from choices")
    assert len(links) > 8
    for href, n in links[:4]:
        tab.goto(href)
        assert count(tab) == 2 * n  # both orders of a pair are one match
        assert all_listed(tab) == 2 * n
    tab.goto(links[0][0])
    accessible(tab, axe)
    follow(tab, tab.locator(".case-link").first)
    accessible(tab, axe)
    tab.locator("a.zoom").first.click()
    image = tab.locator("dialog img").first
    image.wait_for()
    loaded(tab)
    before = image.bounding_box()["width"]
    tab.keyboard.press("+")
    assert image.bounding_box()["width"] > 1.3 * before
    accessible(tab, axe)
    tab.keyboard.press("Escape")
    expect(tab.locator("dialog")).to_be_hidden()


def test_a_reader_sees_what_differs_and_can_switch_it_off(served, tab, axe):
    """The answers of `making` differ in a name and a number: underlined, in light and dark, until switched off."""
    live, _ = served
    case = next(case for case, _ in making.verdicts(count=6) if list(case.contestants) == ["beta", "alpha"])
    tab.goto(f"{live.url}/cases/{case.key}")
    marks = tab.locator(".answer mark.differs")
    assert marks.all_inner_texts() == ["beta", "3", "alpha", "2"]
    assert {mark.get_attribute("title") for mark in marks.all()} == {"Differs from the other answer"}
    lines = "all => all.map(one => getComputedStyle(one).textDecorationLine)"
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        assert set(marks.evaluate_all(lines)) == {"underline"}
    accessible(tab, axe)
    tab.get_by_role("button", name="Hide the marks of what differs").click()
    assert set(marks.evaluate_all(lines)) == {"none"}
    tab.reload()
    assert set(marks.evaluate_all(lines)) == {"none"}
    tab.get_by_role("button", name="Mark what differs").click()
    assert set(marks.evaluate_all(lines)) == {"underline"}


def test_sorting_and_searching_chinese(served, tab, axe):
    live, _ = served
    ready(tab, live.url)
    follow(tab, tab.get_by_role("link", name="steady", exact=True).first)
    table = tab.get_by_role("region", name="Leaderboard by steady, from choices", exact=True)
    names = "all => all.map(one => one.textContent.trim())"
    assert table.locator("tbody tr td:nth-child(2)").evaluate_all(names) == list(making.WORTH)
    table.get_by_role("button", name="matches won", exact=True).click()
    table.get_by_role("button", name="matches won", exact=True).click()
    assert table.locator("tbody tr td:nth-child(2)").evaluate_all(names) == list(making.WORTH)[::-1]
    tab.goto(f"{live.url}/verdicts")
    tab.get_by_role("searchbox").fill("第3张有几个方块")
    follow(tab, tab.get_by_role("button", name="Show"))
    assert 0 < count(tab) < 200
    assert {text.split()[0] for text in tab.locator(".item-name").all_text_contents()} == {"q3"}
    tab.get_by_text("More filters").click()
    tab.get_by_label("Judge", exact=True).select_option("first-lover")
    tab.get_by_label("turns with the order", exact=True).check()
    follow(tab, tab.get_by_role("button", name="Show"))
    bright = tab.locator(".dot:not(.faint)")
    assert all(one.startswith("first-lover:") for one in bright.evaluate_all("all => all.map(one => one.ariaLabel)"))
    assert tab.locator(".verdict-list > li").count() == tab.locator(".dot.turned:not(.faint)").count() > 0
    accessible(tab, axe)


def test_figures_by_tag_are_columns_of_the_board_for_whoever_chooses_them(served, tab, axe):
    """Shares won and mean scores on each task, beside the rank: as the verdicts and the tables by tag have them."""
    live, _ = served
    won: dict[tuple[str, str], list[float]] = {}
    scored: dict[tuple[str, str], list[float]] = {}
    for case, ruled in making.verdicts(count=6):
        marks = next(one.marks for one in ruled if one.judge == "steady")
        kind = scored if len(marks) == 1 else won if len(marks) == 2 else {}
        for name, mark in zip(case.contestants, marks, strict=True):
            kind.setdefault((name, case.item.tags["task"]), []).append(mark)
    ready(tab, live.url)
    follow(tab, tab.get_by_role("link", name="steady", exact=True).first)
    for heading, unit, expected in (
        ("Leaderboard by steady, from choices", "share won", won),
        ("Leaderboard by steady, from single marks", "score:1-5", scored),
    ):
        # By its label alone: roles are not known of what lies so far below that it is not laid out yet.
        section = tab.locator(f'section.sheet:has([aria-label="{heading}"])')
        section.scroll_into_view_if_needed()
        columns = 2 if unit == "share won" else 4
        expect(section.locator("th.by-tag:visible")).to_have_count(columns)
        section.locator(".columns summary").click()
        choices = section.locator(".columns label").filter(has_text="task,")
        expect(choices).to_have_count(columns)
        for chosen in choices.all():
            chosen.locator("input").set_checked(unit in chosen.inner_text())
        section.locator(".columns summary").click()
        heads = section.locator("th.by-tag:visible").all_inner_texts()
        assert [head.split()[0] for head in heads] == sorted(making.TASKS)
        cells = section.locator("tbody tr").evaluate_all(
            """rows => rows.map(row => [row.querySelector("td.words").textContent.trim(),
                ...[...row.querySelectorAll("td[data-tip]:not([hidden], :has(.bar))")]
                    .map(one => [one.textContent.trim(), one.dataset.tip])])"""
        )
        assert {name for name, *_ in cells} == set(making.WORTH)
        for name, *by_task in cells:
            for task, (figure, tip) in zip(sorted(making.TASKS), by_task, strict=True):
                values = expected[name, task]
                assert float(figure) == pytest.approx(sum(values) / len(values), abs=0.006), (name, task)
                assert f"{task} (task, {unit})" in tip
        below = "Won, by task" if unit == "share won" else "Mean score:1-5, by task"
        table = tab.locator(f'section.sheet:has([aria-label^="{below}"])').first
        assert table.locator("tbody tr").count() == len(cells)
        said = {
            row.locator("th").text_content(): row.locator("td").all_text_contents()[: len(making.TASKS)]
            for row in table.locator("tbody tr").all()
        }
        assert said == {name: [figure for figure, _ in by_task] for name, *by_task in cells}
    accessible(tab, axe)


def test_a_case_and_a_card_can_be_read(served, tab, axe):
    live, _ = served
    ready(tab, live.url)
    tab.goto(f"{live.url}/verdicts?split=1&ballot=choice%2Btie")
    follow(tab, tab.locator(".case-link").first)
    tab.wait_for_load_state("networkidle")
    tab.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert "第一个回答更好" in tab.locator(".bench").first.text_content()
    assert tab.locator(".orders li").count() == 2
    tab.goto(f"{live.url}/judges")
    accessible(tab, axe)
    for _ in range(600):
        tab.goto(f"{live.url}/judges")
        follow(tab, tab.locator("ol.judged").get_by_role("link", name="first-lover").first)
        if not tab.get_by_text("being computed").count():
            break
        tab.wait_for_timeout(100)
    assert "Agreement" in tab.locator("main").text_content()
    accessible(tab, axe)


@pytest.mark.parametrize("scheme", ["dark"])
def test_pages_in_the_dark_and_on_a_phone(served, browser, axe, scheme):
    live, _ = served
    context = browser.new_context(viewport={"width": 360, "height": 700}, color_scheme=scheme)
    page = context.new_page()
    ready(page, live.url)
    for path in ("/", "/verdicts", "/judges"):
        page.goto(live.url + path)
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()


def test_the_leaderboard_moves_while_it_is_looked_at(served, tab):
    live, path = served
    ready(tab, live.url)
    with tab.expect_response(lambda response: "/events" in response.url, timeout=PATIENCE):
        follow(tab, tab.get_by_role("link", name="People's votes", exact=True).first)
    lead = tab.locator(".lead")
    before = int(re.search(r"(\d+) verdicts", lead.text_content())[1])
    table = tab.get_by_role("region", name="Leaderboard by human, from choices", exact=True)
    for _ in range(2):
        table.get_by_role("button", name="matches won", exact=True).click()
    item = making.items(1)[0]
    one, two = making.answers(item)[:2]
    with Ledger(path) as ledger:
        ledger.add(Verdict.from_case(Case(item, (one, two), Choice(), trial=7), "human", (0.0, 1.0), rater="cy"))
    expect(lead).to_contain_text(f"{before + 1} verdicts")
    expect(table.locator("th[aria-sort=ascending]"), "it stays sorted").to_have_text("matches won")


@pytest.mark.skipif(not asked_for(), reason="pictures for the docs are taken when FULLBENCH_SCREENSHOTS is set")
def test_pictures_for_the_docs(browser, tmp_path):
    """The pages over the demo's ledger."""
    subprocess.run(
        [Path(sys.executable).with_name("fullbench"), "demo", "--quiet", "--out", tmp_path / "d"], check=True
    )
    live = start_live(tmp_path, "--ledger", str(tmp_path / "d" / "demo.ledger"), "--public")
    try:
        page = browser.new_context(viewport={"width": 1120, "height": 900}).new_page()
        ready(page, live.url)
        shoot(page, "first")
        shoot(page, "first-dark", scheme="dark")
        shoot(page, "first-phone", width=390, height=844)
        page.goto(f"{live.url}/?task=task:count")
        shoot(page, "task")
        page.goto(live.url)
        follow(page, page.get_by_role("link", name="noisy", exact=False).first)
        charts(page)
        shoot(page, "leaderboard", height=1250)
        page.goto(f"{live.url}/verdicts?swapped=1&q=diamonds")
        shoot(page, "verdicts")
        page.goto(f"{live.url}/verdicts?split=1&shown=choice&q=diamonds")
        follow(page, page.locator(".case-link").first)
        shoot(page, "case", height=1300)
        shoot(page, "case-phone", width=390, height=844)
        page.goto(f"{live.url}/judges")
        shoot(page, "judges")
        for _ in range(300):
            page.goto(f"{live.url}/judges")
            follow(page, page.locator(".judged").first.get_by_role("link", name="sloppy"))
            if not page.get_by_text("being computed").count():
                break
            page.wait_for_timeout(200)
        shoot(page, "judge", height=1100)
    finally:
        live.process.terminate()
        live.process.wait(timeout=120)
        live.engine.dispose()
