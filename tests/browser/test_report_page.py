"""The report page in a real browser: it sorts, makes no request, runs no hostile text, and can be read."""

import pytest
from PIL import Image

from fullbench.reports.html_page import render_page
from tests.reports.sample import HOSTILE, USAGE, sections
from tests.support.browser_pages import PATIENCE

# The relative luminance and contrast of WCAG 2.2, for every element that holds words of its own.
CONTRAST = """
() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const e of document.querySelectorAll("body *:not(svg, svg *, script, style)")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push([e.tagName, e.className, ratio]);
  }
  for (const e of document.querySelectorAll(".chart .mark-text.role-axis-label text, .chart .role-axis-title text")) {
    const a = light(rgb(getComputedStyle(e).fill)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push(["svg text", e.textContent, ratio]);
  }
  return weak;
}
"""

# Pictures come as they are scrolled to.
SHOWN = "() => [...document.images].every((one) => one.complete && one.naturalWidth > 0)"


@pytest.fixture
def opened(browser, tmp_path, request):
    options = getattr(request, "param", {})
    path = tmp_path / "page.html"
    path.write_text(render_page(HOSTILE, HOSTILE, sections(), usage=USAGE, source={"judge": HOSTILE}), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1200, "height": 900}, **options)
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE)
    tab.heard, tab.asked = [], []
    tab.on("console", lambda message: tab.heard.append(message.text))
    tab.on("pageerror", lambda error: tab.heard.append(str(error)))
    tab.on("request", lambda asked: tab.asked.append(asked.url))
    tab.goto(path.as_uri())
    yield tab
    context.close()


def names(tab):
    return tab.eval_on_selector(
        "main table", "table => [...table.querySelectorAll('tbody th')].map(cell => cell.textContent.trim())"
    )


def test_a_click_sorts_and_another_turns_it_and_gaps_stay_last(opened):
    head = opened.get_by_role("button", name="rating", exact=True)
    head.click()
    assert names(opened) == [HOSTILE, "glm", "智谱", "unheard"]
    assert head.locator("..").get_attribute("aria-sort") == "descending"
    head.click()
    assert names(opened) == ["智谱", "glm", HOSTILE, "unheard"]
    opened.get_by_role("button", name="contestant", exact=True).press("Enter")
    assert names(opened)[1:3] == ["glm", "unheard"]
    assert head.locator("..").get_attribute("aria-sort") is None


def test_no_request_leaves_no_error_is_heard_and_nothing_hostile_runs(opened):
    opened.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    opened.mouse.wheel(0, 20000)
    opened.wait_for_function(SHOWN)
    assert [url for url in opened.asked if not url.startswith(("file:", "data:"))] == []
    assert opened.heard == []
    assert opened.evaluate("window.owned") is None
    assert opened.title() == HOSTILE
    assert opened.locator("script").count() == 1


@pytest.mark.parametrize("opened", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True)
def test_words_stand_out_from_what_is_behind_them(opened):
    opened.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert opened.evaluate(CONTRAST) == []


def test_a_chart_of_a_report_is_saved_as_svg_and_png(opened):
    page = opened
    figure = page.locator("figure.drawn").first
    _, _, width, height = map(float, figure.locator(".at-a-desk svg.marks").get_attribute("viewBox").split())
    with page.expect_download() as saving:
        figure.get_by_role("button", name="Save as SVG").click()
    assert saving.value.path().read_text(encoding="utf-8").startswith("<svg")
    with page.expect_download() as saving:
        figure.get_by_role("button", name="Save as PNG").click()
    with Image.open(saving.value.path()) as saved:
        assert saved.size == (int(2 * width), int(2 * height))


def test_a_phone_scrolls_down_only(opened):
    opened.set_viewport_size({"width": 360, "height": 700})
    assert opened.evaluate("document.documentElement.scrollWidth") <= 360


def test_controls_and_tables_have_names(opened):
    tree = opened.locator("body").aria_snapshot()
    assert 'table "Leaderboard"' in tree
    assert 'columnheader "rating"' in tree
    assert 'rowheader "glm"' in tree
    assert 'img "A red disc."' in tree


def test_a_mark_says_its_figure_lights_its_row_and_leads_to_it(opened):
    """As on the site: the same script, the same tip, the same colours and font."""
    section = opened.locator("section").filter(has=opened.locator("caption", has_text="Leaderboard")).first
    row = section.locator("tbody tr").filter(has_text="glm")
    mark = section.locator(".at-a-desk a").filter(has=opened.locator("path[data-tip^='glm']")).last
    mark.hover()
    figure = row.locator(".value").first.inner_text()
    assert opened.locator(".tip").inner_text().startswith(f"glm: {figure[0]}")
    assert section.locator("tbody tr.lit").all_inner_texts() == row.all_inner_texts()
    row.locator("td").last.hover()
    assert section.locator(".at-a-desk a.lit").count() == 2, "its dot and its interval"
    mark.click()
    assert opened.url.endswith(f"#{row.get_attribute('id')}")
    assert opened.evaluate("document.fonts.check('16px \"Roboto Latin\"')")
    assert opened.evaluate("[...document.fonts].some((face) => face.status === 'loaded')")
    assert opened.heard == []
