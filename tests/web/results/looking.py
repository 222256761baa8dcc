"""What tests of the public pages look at in a real browser."""

from __future__ import annotations

import urllib.request
from urllib.error import HTTPError

from playwright.sync_api import expect

from tests.support.browser_pages import PATIENCE
from tests.support.wait_until import until
from tests.web.conftest import start_live


def ready(live) -> bool:
    try:
        with urllib.request.urlopen(f"{live.url}/ready", timeout=60) as answer:
            return answer.status == 200
    except HTTPError:
        return False


def serving(folder, path):
    live = start_live(folder, "--ledger", str(path), "--public")
    until(lambda: ready(live), seconds=400)
    return live


def ended(live) -> None:
    live.process.terminate()
    live.process.wait(timeout=120)
    live.engine.dispose()


def numbers(page, heading: str, column: str = "") -> list[tuple[str, int]]:
    """The links of a table's figures, of one column where it is named, and the n beside each."""
    table = page.get_by_role("region", name=heading, exact=True, include_hidden=True)  # of any tab
    heads = table.locator("thead tr > *").all_text_contents()  # boxes to mark rows by have a head without words
    place = [head.strip() for head in heads].index(column) + 1 if column else 0
    beside = table.locator(f"tbody tr > :nth-child({place}):has(.n)" if column else "td:has(.n)")
    # A heat map's cells say their n when somebody points at them.
    cells = beside if beside.count() else table.locator("td[data-tip]:has(a)")
    rows = cells.evaluate_all(
        """cells => cells.map(cell => [cell.querySelector('a').href,
            (cell.querySelector('.n') ?? cell).dataset.n])"""
    )
    return [(href, int(n)) for href, n in rows]


def count(page) -> int:
    expect(page.locator("#count")).not_to_have_text("…")
    return int(page.locator("#count").text_content().replace(",", ""))


def loaded(page) -> None:
    """Wait for the picture that was opened: the page gives it its width when it is there."""
    page.wait_for_function("() => document.querySelector('dialog img')?.style.width", timeout=PATIENCE)


def charts(page) -> None:
    """All charts of a page are there, with words and marks."""
    drawn = page.locator(".charts svg.marks")
    assert drawn.count() > 5
    assert min(drawn.evaluate_all("all => all.map((one) => one.querySelectorAll('text, path').length)")) > 5


def accessible(page, axe) -> None:
    """axe finds nothing serious; what it says itself on the console (it reads styles) is not the page's."""
    assert page.heard == []
    assert axe(page) == []
    page.heard.clear()
