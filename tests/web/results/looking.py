"""What tests of the public pages look at in a real browser."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browsing import PATIENCE


def numbers(page, heading: str, column: str = "") -> list[tuple[str, int]]:
    """The links of a table's figures, of one column where it is named, and the n beside each."""
    table = page.get_by_role("region", name=heading, exact=True)
    place = table.locator("thead th").all_text_contents().index(column) + 1 if column else 0
    beside = table.locator(f"tbody tr > :nth-child({place}):has(.n)" if column else "td:has(.n)")
    # A heat map's cells say their n when somebody points at them.
    cells = beside if beside.count() else table.locator("td[data-tip]:has(a)")
    rows = cells.evaluate_all(
        """cells => cells.map(cell => [cell.querySelector('a').href,
            cell.querySelector('.n')?.textContent || cell.dataset.tip.split(" · ").pop()])"""
    )
    return [(href, int(n.removeprefix("n="))) for href, n in rows]


def count(page) -> int:
    expect(page.locator("#count")).not_to_have_text("…")
    return int(page.locator("#count").text_content().replace(",", ""))


def loaded(page) -> None:
    """Wait for the picture that was opened: the page gives it its width when it is there."""
    page.wait_for_function("() => document.querySelector('dialog img')?.style.width", timeout=PATIENCE)


def charts(page) -> None:
    """All charts of a page, drawn."""
    page.wait_for_function(
        """() => {
            const all = [...document.querySelectorAll("img.chart")];
            // Each time anew, since news may have put others in their place.
            all.forEach((one) => { one.loading = "eager"; });
            return all.length > 5 && all.every((one) => one.naturalWidth > 0);
        }""",
        timeout=PATIENCE,
    )


def accessible(page, axe) -> None:
    """axe finds nothing serious; what it says itself on the console (it reads styles) is not the page's."""
    assert page.heard == []
    assert axe(page) == []
    page.heard.clear()
