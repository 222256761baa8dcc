"""The public pages on a phone: no figure lies beyond the edge, and charts are drawn for it."""

from __future__ import annotations

import re

import pytest

from fullbench.web.results.boards import board_store
from fullbench.web.results.site.page_urls import ServedPageUrls
from tests.support.browser_pages import PATIENCE
from tests.support.wait_until import until
from tests.web.conftest import start_live
from tests.web.results import making

BEYOND = """() => [...document.querySelectorAll("main :is(td, th, img, a, b, span, p, li, button)")]
    .filter((one) => !one.closest(".grid, .switch, .hidden-words"))
    .filter((one) => one.checkVisibility() && one.getClientRects().length)
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 || one.getBoundingClientRect().left < -1)
    .map((one) => `${one.tagName} ${one.textContent.slice(0, 40)}`)"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("phone")
    live = start_live(folder, "--ledger", str(making.fill(folder / "small.ledger", count=2)), "--public")
    yield live
    live.process.terminate()
    live.process.wait(timeout=120)
    live.engine.dispose()


def computed(page, address: str) -> None:
    """The page, once its figures are computed."""

    def there() -> bool:
        page.goto(address)
        return page.locator("table.figures").count() > 0 and page.get_by_text("being computed").count() == 0

    until(there, seconds=120)


def test_no_figure_lies_beyond_the_edge_and_no_chart_is_scrolled(browser, served):
    """Heat maps by tag alone are wider than a phone: their first column stays in sight while they are scrolled.
    Switches are a line each, pushed to the side."""
    context = browser.new_context(base_url=served.url, viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    places = ServedPageUrls()
    for address in (
        places.judge("steady"),
        "/judges",
        places.board(board_store.board_name("default", "steady", "overall")),
    ):
        computed(page, address)
        # What is not laid out yet has no place that could be wrong.
        page.locator(".sheet").evaluate_all("all => all.forEach((one) => { one.style.contentVisibility = 'visible'; })")
        assert page.evaluate(BEYOND) == [], address
        page.locator(".as-chart").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        for chart in page.locator(".charts svg.marks:visible").all():
            drawn, shown = chart.evaluate("one => [one.viewBox.baseVal.width, one.getBoundingClientRect().width]")
            assert drawn <= shown + 1, "words are as large as they were drawn"
        scrolled = page.locator(".charts").evaluate_all("all => all.map((one) => one.scrollWidth - one.clientWidth)")
        assert max(scrolled, default=0) <= 0, address
    context.close()


def test_a_short_table_says_under_each_other_what_it_says_beside_each_other(browser, served):
    """Every cell of the wide table is there on the phone, with the head of its column before it."""
    told = []
    for width in (1366, 390):
        context = browser.new_context(base_url=served.url, viewport={"width": width, "height": 844})
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        computed(page, ServedPageUrls().judge("steady"))
        page.get_by_role("link", name="Agreement", exact=True).click()
        table = page.locator("table.stacks").nth(1)  # the first is the summary with a row for each criterion
        heads = [head.strip() for head in table.locator("thead th").all_text_contents()]
        rows = table.locator("tbody tr").evaluate_all(
            """rows => rows.map((row) => [...row.cells].filter((one) => one.checkVisibility() && !one.matches(".pick"))
                .map((one) => [getComputedStyle(one, "::before").content, one.innerText.split(/\\s+/).join(" ")]))"""
        )
        told.append([[words for _, words in row] for row in rows])
        if width == 390:
            assert [label.strip('"') for label, _ in rows[0][1:]] == heads[1:]
        context.close()
    assert told[0] == told[1]
    assert len(told[0]) > 3


def test_one_contestants_duels_are_listed_in_place_of_a_table_wider_than_the_phone(browser, served):
    context = browser.new_context(base_url=served.url, viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    computed(page, ServedPageUrls().board(board_store.board_name("default", "steady", "overall")))
    page.get_by_role("link", name="Matches", exact=True).click()
    table = page.locator("table.square").first
    section = page.locator("section.sheet", has=table).first
    section.evaluate("one => { one.style.contentVisibility = 'visible'; }")
    assert not table.is_visible()
    chooser = section.get_by_label("Matches of")
    heads = table.locator("thead th").all_text_contents()[1:]
    for place, name in ((0, "alpha"), (2, "gamma")):
        chooser.select_option(index=place)
        row = table.locator("tbody tr").nth(place)
        cells = row.locator("td").evaluate_all(
            "all => all.map((one) => "
            "[one.textContent.trim(), one.dataset.tip || '', one.querySelector('a')?.href || ''])"
        )
        expected = [(head.strip(), *cell) for head, cell in zip(heads, cells, strict=True) if cell[2]]
        assert len(expected) == len(making.WORTH) - 1
        listed = section.locator(".matches li").evaluate_all(
            "all => all.map((one) => [one.querySelector('.whose').textContent, one.querySelector('a').textContent, "
            "one.querySelector('.interval').textContent, one.querySelector('a').href])"
        )
        assert len(listed) == len(expected)
        for (opponent, share, tip, href), (shown, figure, rest, link) in zip(expected, listed, strict=True):
            assert (shown, figure, link) == (opponent, share, href)
            assert tip == f"{name}, {opponent}: {share}{rest}"
            assert re.search(r"\d match(es)?, \d+ verdicts", rest)
    edge = "all => all.every((one) => one.getBoundingClientRect().right <= innerWidth)"
    assert section.locator(".matches *").evaluate_all(edge)
    context.close()
