"""Charts of the site in a real browser: they say their values, light with their rows, lead to verdicts, fill the screen
and are saved."""

from __future__ import annotations

import re

import pytest
from PIL import Image, ImageColor
from playwright.sync_api import expect

from fullbench.ledger.ledger import Ledger
from fullbench.reports.charts.palette import ACCENT
from fullbench.web.results.boards import board_store
from fullbench.web.results.site.page_urls import ServedPageUrls
from tests.support.browser_pages import PATIENCE, follow, new_page
from tests.web.results import making
from tests.web.results.looking import ended, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("charts")
    live = serving(folder, making.fill(folder / "small.ledger", count=3))
    yield live
    ended(live)


def charted(page):
    """The first table of the steady judge's board with its chart opened; that is the section."""
    page.goto(ServedPageUrls().board(board_store.board_name("default", "steady", "overall")))
    section = page.locator("section.sheet").first
    section.locator(".as-chart > summary").click()
    section.locator(".values a[tabindex='0']:visible").wait_for()
    return section


@pytest.mark.parametrize("touch", [False, True])
def test_a_chart_says_its_values_to_a_pointer_and_to_a_finger(browser, served, touch):
    """What the mark says is what the row of the table says."""
    context = browser.new_context(base_url=served.url, viewport={"width": 390 if touch else 1366, "height": 844},
                                  has_touch=touch)  # fmt: skip
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    mark = charted(page).locator(".values [data-tip]:visible").last
    mark.scroll_into_view_if_needed()
    place = mark.bounding_box()
    middle = (place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    page.touchscreen.tap(*middle) if touch else page.mouse.move(*middle)
    expect(page.locator(".tip")).to_be_visible()
    said = page.locator(".tip").inner_text()
    whose, _, figure = said.partition(": ")
    rows = page.locator("section.sheet").first.locator("tbody tr").filter(has_text=whose.split(", ")[0])
    (row,) = [" ".join(text.split()) for text in rows.all_text_contents()]
    assert figure in row, (said, row)
    context.close()


def test_every_mark_says_what_a_cell_of_its_table_says_and_no_two_lie_upon_each_other(browser, served):
    """On a board and on a card, whatever their charts are of: figure and interval letter for letter."""
    context = browser.new_context(base_url=served.url, viewport={"width": 1366, "height": 844})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    looked = 0
    for address in (
        ServedPageUrls().board(board_store.board_name("default", "steady", "overall")),
        ServedPageUrls().judge("steady"),
    ):
        page.goto(address)
        for sheet in page.locator("section.sheet:has(.at-a-desk svg)").all():
            marks = sheet.locator(".at-a-desk [aria-label*='[']").evaluate_all(
                "all => all.map((one) => [one.getAttribute('aria-label'), JSON.stringify(one.getBoundingClientRect())])"
            )
            told = {words for words, _ in marks if ": " in words and words.endswith("]")}
            cells = [" ".join(text.split()) for text in sheet.locator("tbody td").all_text_contents()]
            for words in told:
                figure = words.rpartition(": ")[2]
                assert any(cell.startswith(figure) for cell in cells), (words, cells)
                looked += 1
            whose = [words.rpartition(": ")[0] for words in told]
            assert len(whose) == len(set(whose)), "two rows have one place in a chart"
    assert looked > 10
    context.close()


def choices_showing(live, contestant: str) -> int:
    """How many pairs with this contestant the steady judge has ruled on, straight from the ledger."""
    with Ledger(live.settings.data / "small.ledger", read_only=True) as ledger:
        record = ledger.record()
    return sum(
        verdict.judge == "steady" and verdict.marks is not None and contestant in verdict.contestants
        and verdict.criterion == "overall" and verdict.ballot.startswith("choice")
        for verdict in record.verdicts
    )  # fmt: skip


def test_a_mark_and_its_row_light_together_and_the_mark_leads_to_its_verdicts(browser, served):
    context = browser.new_context(base_url=served.url, viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    troubles = []
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    for who in ("beta", list(making.WORTH)[-1]):
        section = charted(page)
        row = section.locator("tbody tr").filter(has_text=who)
        row.locator("td, th").first.hover()
        mark = section.locator(".values a.lit:visible").last
        expect(mark.locator("[data-tip]")).to_have_attribute("data-tip", re.compile(re.escape(who)))
        assert section.locator(".values .at-a-desk a.lit").count() == 2, "its dot and its interval"
        page.locator("h1").hover()
        expect(section.locator(".lit")).to_have_count(0)
        mark = section.locator(".values .at-a-desk a").filter(has=page.locator(f"path[data-tip*='{who.split()[0]}']"))
        mark.hover()
        expect(section.locator("tbody tr.lit")).to_have_count(1)
        expect(section.locator("tbody tr.lit")).to_contain_text(who)
        follow(page, mark)
        expect(page.locator("#count")).to_have_text(str(choices_showing(served, who)))
        expect(page.locator("#f-contestant")).to_have_value(who)
        expect(page.locator("#f-judge")).to_have_value("steady")
        expect(page.locator("#f-criterion")).to_have_value("overall")
    assert troubles == []
    context.close()


def test_marks_are_reached_by_keys(browser, served, axe):
    context = browser.new_context(base_url=served.url, viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    section = charted(page)
    section.locator(".charts").focus()
    page.keyboard.press("Tab")
    expect(section.locator("tbody tr.lit")).to_contain_text("alpha")
    page.keyboard.press("ArrowDown")
    expect(section.locator("tbody tr.lit")).to_contain_text("beta")
    expect(section.locator("tbody tr.lit")).to_have_count(1)
    page.keyboard.press("ArrowUp")
    expect(section.locator("tbody tr.lit")).to_contain_text("alpha")
    assert axe(page) == []
    with new_page(page):
        page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text(str(choices_showing(served, "alpha")))
    context.close()


def test_without_scripts_the_large_chart_has_the_links(browser, served):
    context = browser.new_context(base_url=served.url, java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(ServedPageUrls().board(board_store.board_name("default", "steady", "overall")))
    page.locator(".as-chart > summary").first.click()
    page.goto(page.get_by_role("link", name="Open it large").first.get_attribute("href"))
    follow(page, page.locator("a path[aria-label^='beta']"))
    expect(page.locator("#count")).to_have_text(str(choices_showing(served, "beta")))
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_is_saved_as_a_png_twice_as_large_in_the_colours_it_is_seen_in(browser, served, scheme):
    context = browser.new_context(base_url=served.url, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    figure = charted(page).locator(".charts figure").first
    _, _, width, height = map(float, figure.locator("svg.marks").first.get_attribute("viewBox").split())
    with page.expect_download() as saving:
        figure.get_by_role("button", name="Save as PNG").click()
    name = figure.get_by_role("link", name="Save as SVG").get_attribute("download").removesuffix(".svg")
    assert saving.value.suggested_filename == f"{name}.png"
    with Image.open(saving.value.path()) as saved:
        assert (saved.format, saved.size) == ("PNG", (2 * width, 2 * height))
        paper = saved.convert("RGB").getpixel((1, 1))
        ours = {colour for _, colour in saved.convert("RGB").getcolors(maxcolors=1 << 24)}
    assert paper == {"light": (255, 255, 255), "dark": (0x14, 0x19, 0x1F)}[scheme]
    assert ImageColor.getrgb({"light": ACCENT, "dark": "#8ab0ff"}[scheme]) in ours, "its marks are drawn"
    context.close()


def test_a_chart_fills_the_screen_and_still_says_its_values(browser, served):
    context = browser.new_context(base_url=served.url, viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    figure = charted(page).locator(".charts figure").first
    chart = figure.locator("svg.marks:visible")
    before = chart.bounding_box()
    figure.get_by_role("button", name="Full screen").click()
    page.wait_for_function("() => document.fullscreenElement?.matches('figure')")
    assert chart.bounding_box()["height"] > 2 * before["height"]
    figure.locator(".at-a-desk path[data-tip^='beta']").hover()
    expect(figure.locator(".tip")).to_be_visible()
    figure.get_by_role("button", name="Full screen").click()
    page.wait_for_function("() => !document.fullscreenElement")
    assert chart.bounding_box()["height"] == before["height"]
    context.close()
