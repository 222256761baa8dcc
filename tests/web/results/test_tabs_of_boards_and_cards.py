"""Boards and cards of six contestants in a real browser: one answer at first, the rest in tabs that need no script."""

from __future__ import annotations

import random
import re
from itertools import combinations

import pytest

from fullbench.core.ballot import Choice, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.results.boards import board_store
from fullbench.web.results.site.page_urls import ServedPageUrls
from tests.support.browser_pages import PATIENCE
from tests.web.conftest import start_live
from tests.web.results.test_phone import computed

NAMES = ("pelican", "heron", "stork", "ibis", "egret", "crane")
JUDGES = {"chance": 9.0, "keen": 0.5, "length": 2.0, "steady": 1.0}


def fill(path):
    """Both orders and two kinds of verdicts by `keen`; one item alone, with four answers, is in German."""
    draw = random.Random(3)

    def worth(response, noise: float) -> float:
        return -0.4 * NAMES.index(response.contestant) + draw.gauss(0, noise)

    with Ledger(path) as ledger:
        for number in range(10):
            tags = {"language": "de" if number == 0 else "zh" if number % 2 else "en"}
            item = Item.ask(f"q{number}", f"How many squares has picture {number}?", tags=tags)
            responses = [
                Response.say(item.id, name, f"{name} says {number}") for name in NAMES[: 4 if number == 0 else 6]
            ]
            for pair in combinations(responses, 2):
                case = Case(item, pair, Choice())
                marks = {judge: [worth(one, noise) for one in pair] for judge, noise in JUDGES.items()}
                rows = [
                    Verdict.from_case(case, judge, (float(a > b), float(a <= b))) for judge, (a, b) in marks.items()
                ]
                for rater in ("ann", "bob"):
                    a, b = (worth(one, 1.0) for one in pair)
                    rows.append(Verdict.from_case(case, "human", (float(a > b), float(a <= b)), rater=rater))
                ledger.add(case, *rows)
                a, b = (worth(one, 0.5) for one in pair)
                swapped = Case(item, pair[::-1], Choice())
                ledger.add(swapped, Verdict.from_case(swapped, "keen", (float(b > a), float(b <= a))))
            for one in responses:
                mark = min(5, max(1, round(4 + worth(one, 0.5))))
                case = Case(item, (one,), Score(1, 5))
                ledger.add(case, Verdict.from_case(case, "keen", (float(mark),)))
    return path


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tabs")
    live = start_live(folder, "--ledger", str(fill(folder / "six.ledger")), "--public")
    yield live
    live.process.terminate()
    live.process.wait(timeout=120)
    live.engine.dispose()


def board(judge: str) -> str:
    return ServedPageUrls().board(board_store.board_name("default", judge, "overall"))


def test_tabs_need_no_script_have_addresses_and_print_as_one_page(browser, served, axe):
    context = browser.new_context(
        base_url=served.url, viewport={"width": 1366, "height": 768}, java_script_enabled=False
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    shown = page.locator(".panel:visible .panel-title")
    for address in (board("human"), board("keen"), ServedPageUrls().judge("keen")):
        computed(page, address)
        tabs = page.locator(".tab-bar a").all_inner_texts()
        assert shown.all_inner_texts() == tabs[:1]
        assert page.evaluate("document.documentElement.scrollHeight") <= 2400, address
        headings = page.locator("h1, h2, h3").all_text_contents()
        assert len(headings) == len(set(headings))
        for tab in (*tabs[1:], tabs[0]):
            page.get_by_role("navigation", name="On this page").get_by_role("link", name=tab, exact=True).click()
            assert shown.all_inner_texts() == [tab]
        page.emulate_media(media="print")
        assert shown.all_inner_texts() == tabs
        page.emulate_media(media="screen")
    page.goto(board("keen"))
    assert page.locator(".tab-bar a").all_inner_texts() == [
        "Ranking",
        "Matches",
        "Tags",
        "People and correction",
        "Data",
    ]
    assert page.locator(".panel:visible h3").all_inner_texts() == ["From choices", "From single marks"]
    last = page.locator(".sheet").last.get_attribute("id")
    page.goto(f"{board('keen')}#{last}")  # the address of a table opens its tab
    assert shown.all_inner_texts() == ["Data"]
    context.close()
    context = browser.new_context(base_url=served.url, viewport={"width": 1366, "height": 768})
    page = context.new_page()
    for address in (board("keen"), ServedPageUrls().judge("keen")):
        page.goto(address)
        assert axe(page) == [], address
    context.close()


def test_colours_of_heat_cells_fade_with_n_and_baselines_come_last(browser, served):
    context = browser.new_context(base_url=served.url, viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    computed(page, board("human"))
    assert page.locator(".switch a").all_inner_texts() == ["People's votes", "keen", "steady", "chance", "length"]
    cells = page.locator("table:is(.heat, .square) td[data-tip]").evaluate_all(
        "all => all.map(one => [one.dataset.n, one.className])"
    )
    steps: dict[int, set[int]] = {}
    for n, classes in cells:
        colour = re.search(r"(?:more|less)-(\d)", classes)
        steps.setdefault(int(n), set()).add(int(colour[1]) if colour else 0)
    assert min(steps) < 5 < max(steps)
    assert all(found == {0} for n, found in steps.items() if n < 5)
    assert max(max(found) for n, found in steps.items() if 5 <= n <= 10) <= 2
    assert max(max(found) for n, found in steps.items() if n > 20) >= 2
    context.close()


def test_the_five_numbers_of_a_card_are_those_of_the_judges_table(browser, served):
    context = browser.new_context(base_url=served.url, viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    computed(page, "/judges")
    page.get_by_role("link", name="All numbers").click()
    heads = page.locator("#judges thead th").all_text_contents()
    row = page.locator("#judges tbody tr", has=page.locator("a", has_text=re.compile("^keen$")))
    values = row.locator("th, td:not(.pick)").evaluate_all(
        "all => all.map(one => (one.querySelector('a') ?? one).textContent)"
    )
    table = {" ".join(head.replace("↕", "").split()): value.strip() for head, value in zip(heads, values, strict=True)}
    computed(page, ServedPageUrls().judge("keen"))
    numbers = dict(
        page.locator(".five > div").evaluate_all(
            """all => all.map(one => [one.querySelector('dt').textContent,
                one.querySelector('dd').firstElementChild.textContent])"""
        )
    )
    assert len(numbers) == 5
    assert "agreement on pairs" in numbers
    for head, value in numbers.items():
        assert next(cell for name, cell in table.items() if name.startswith(head)) == value, head
    assert page.locator(".verdict-on").is_visible()
    context.close()
