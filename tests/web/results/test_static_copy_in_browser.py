"""A static copy of the site in a real browser, from a disk and from a web server."""

from __future__ import annotations

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from PIL import Image, ImageColor
from playwright.sync_api import expect

from fullbench.ledger.ledger import Ledger
from fullbench.reports.charts.palette import ACCENT
from fullbench.web.results.boards import board_store
from fullbench.web.results.site.static_site import SiteOptions, export_site
from tests.support.browser_pages import follow
from tests.web.results import making
from tests.web.results.looking import accessible, charts, count, loaded, numbers


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy")
    with Ledger(making.fill(folder / "small.ledger", count=4), read_only=True) as ledger:
        return export_site(ledger, folder / "site", SiteOptions(title="方块 & squares", cases=400))


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and remembers what was asked for in vain."""

    missing: ClassVar[list[str]] = []

    def log_message(self, *_words):
        pass

    def send_error(self, code, *rest):
        self.missing.append(f"{code} {self.path}")
        super().send_error(code, *rest)


@pytest.fixture(params=["disk", "server"])
def address(request, copy):
    """Where the copy's pages lie."""
    if request.param == "disk":
        yield copy.folder.as_uri()
        return
    Quiet.missing.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=copy.folder))
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    serving.join()
    server.server_close()
    assert Quiet.missing == [], "nothing is asked for that a copy has not"


BOARD = f"boards/{board_store.board_name('default', 'steady', 'overall')}.html"


def test_charts_of_a_copy_say_their_values_and_lead_to_verdicts(address, tab):
    """The `tab` hears what the console says: nothing."""
    tab.goto(f"{address}/{BOARD}")
    section = tab.locator("section.sheet").first
    row = section.locator("tbody tr").filter(has_text="beta")
    section.locator(".as-chart > summary").click()
    mark = section.locator(".values .at-a-desk a").filter(has=tab.locator("path[data-tip^='beta']"))
    mark.hover()
    figure = re.match(r"\S+", row.locator("td").nth(1).inner_text())[0]
    expect(tab.locator(".tip")).to_have_text(re.compile(rf"^beta: {figure[0]},?{figure[1:]}\b"))
    expect(section.locator("tbody tr.lit")).to_contain_text("beta")
    follow(tab, mark)
    assert count(tab) > 0
    expect(tab.locator("#f-contestant")).to_have_value("beta")


def test_every_kind_of_page_of_a_copy_asks_for_nothing_that_it_has_not(address, copy, tab):
    case = next((copy.folder / "cases").glob("*.html")).relative_to(copy.folder)
    card = next((copy.folder / "judges").glob("*.html")).relative_to(copy.folder)
    for path in ("index.html", "judges.html", card, "verdicts.html", case, "about.html"):
        tab.goto(f"{address}/{path}", wait_until="networkidle")
        assert tab.heard == [], path


def test_a_chart_of_a_copy_is_saved_as_png(address, tab):
    tab.goto(f"{address}/{BOARD}")
    tab.locator(".as-chart > summary").first.click()
    figure = tab.locator(".charts figure").first
    with tab.expect_download() as saving:
        figure.get_by_role("button", name="Save as PNG").click()
    with Image.open(saving.value.path()) as saved:
        ours = {colour for _, colour in saved.convert("RGB").getcolors(maxcolors=1 << 24)}
    assert ImageColor.getrgb(ACCENT) in ours, "its marks are drawn"


def test_the_copy_opens_from_disk(copy, tab, axe):
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((copy.folder / "index.html").as_uri())
    assert tab.title().endswith("方块 & squares")
    accessible(tab, axe)
    follow(tab, tab.get_by_role("link", name="steady", exact=True).first)
    accessible(tab, axe)
    charts(tab)
    board = numbers(tab, "Leaderboard by steady, from choices")
    closer = numbers(tab, "Wins between contestants, from choices") + numbers(tab, "Won, by task, from choices")
    assert len(board + closer) > 20
    tab.locator(".as-chart > summary").first.click()
    drawn = tab.get_by_role("link", name="Open it large").first.evaluate("link => link.href")
    tab.goto(drawn)
    follow(tab, tab.locator("a path[aria-label^='alpha']"))
    _, ratings = zip(*board, strict=True)
    assert count(tab) == 2 * ratings[0], "the copy's own list"
    for href, n in board:
        tab.goto(href)
        assert count(tab) >= 2 * n, href  # a rating leaves out matches with those who are not rated
    for href, n in closer:
        tab.goto(href)
        assert count(tab) == 2 * n, href  # both orders of a pair are one match
    tab.goto((copy.folder / "verdicts.html").as_uri())
    assert count(tab) == copy.total
    accessible(tab, axe)
    tab.get_by_role("searchbox").fill("第3张 地球更大")
    follow(tab, tab.get_by_role("button", name="Show", exact=True))
    assert 0 < count(tab) < copy.total
    assert set(tab.locator(".item-name").all_text_contents()) == {"q3"}
    follow(tab, tab.locator(".case-link").first)
    accessible(tab, axe)
    tab.locator("a.zoom").first.click()
    loaded(tab)
    tab.keyboard.press("Escape")
    tab.goto((copy.folder / "judges.html").as_uri())
    follow(tab, tab.locator("ol.judged").get_by_role("link", name="first-lover").first)
    accessible(tab, axe)
    standing = numbers(tab, "Compared with other judges")
    biases, beside = (numbers(tab, "Judge biases", column) for column in ("judge's", "people's"))
    assert len(standing) > 2
    assert len(biases) > 6
    for href, n in [*standing, *biases]:
        tab.goto(href)
        both = "beside=" in href or "both=1" in href
        assert count(tab) == (2 * n if both and "shown=one" not in href and "decided=1" not in href else n), href
    assert beside
    for href, n in beside:
        tab.goto(href)
        assert 0 < count(tab) <= n, href  # people's votes are counted one by one, the rulings beside them are listed
    assert all(url.startswith(("file:", "data:")) for url in asked)
