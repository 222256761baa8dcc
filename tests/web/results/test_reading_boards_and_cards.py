"""Leaderboards and cards for readers: names on one line, links between boards, tables that fit."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from playwright.sync_api import expect

from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.model_call import Usage
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.results.boards import board_store
from fullbench.web.results.site.page_urls import ServedPageUrls
from tests.support.browser_pages import PATIENCE, follow
from tests.web.results.looking import ended, serving

NAMES = [f"a-model-with-a-name-{number:02}" for number in range(20)]
JUDGES = ("gpt-x?temperature=0#1f3a9c20", "glm@lab+analyze#2b2b2b2b", "length")
CRITERIA = {"helpfulness": NAMES, "truth": NAMES[:12]}


def fill(path: Path) -> Path:
    """Twenty contestants under one criterion, twelve of them under another, three judges and two people. Prices and
    times differ from item to item."""
    draw = random.Random(3)
    with Ledger(path) as ledger:
        for number in range(24):
            item = Item.ask(f"q{number}", f"How many squares are there? {number}", tags={"task": f"t{number % 2}"})
            said = {name: Response.say(item.id, name, "word " * draw.randint(3, 40)) for name in NAMES}
            for criterion, names in CRITERIA.items():
                for place in range(10):
                    one = names[(number * 10 + place) % len(names)]
                    two = draw.choice([name for name in names if name != one])
                    for order in ((one, two), (two, one)):
                        case = Case(item, tuple(said[name] for name in order), Choice(), criterion)
                        ledger.add(case, *(ruled(case, judge, number, draw) for judge in (*JUDGES, "a", "b")))
    return path


def ruled(case: Case, judge: str, number: int, draw: random.Random) -> Verdict:
    first, second = (NAMES.index(name) for name in case.contestants)
    lead = second - first + draw.gauss(0, 9)
    usage = Usage(1, 0, 100, 10, 0.001 * (1 + number % 5), 1.0 + number % 3) if judge != "length" else Usage()
    marks = (1.0, 0.0) if lead > 0 else (0.0, 1.0)
    if judge not in JUDGES:
        return Verdict.from_case(case, "human", marks, text="[[A]]", rater=judge)
    return Verdict.from_case(case, judge, marks, text="[[A]]", usage=usage)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reading")
    live = serving(folder, fill(folder / "reading.ledger"))
    yield live
    ended(live)


@pytest.fixture
def desk(browser, served):
    context = browser.new_context(base_url=served.url, viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    context.close()


def board(criterion: str, judge: str = JUDGES[0]) -> str:
    return ServedPageUrls().board(board_store.board_name("default", judge, criterion))


def test_a_board_leads_to_other_criteria_and_judges_and_the_way_back(desk):
    desk.goto(board("truth"))
    criteria = desk.get_by_role("navigation", name="Criterion", exact=True)
    judges = desk.get_by_role("navigation", name="Judge", exact=True)
    assert set(criteria.get_by_role("link").all_inner_texts()) == set(CRITERIA)
    assert judges.get_by_role("link").all_inner_texts() == ["People's votes", "glm@lab", "gpt-x", "length"]
    expect(criteria.locator("[aria-current]")).to_have_text("truth")
    expect(judges.locator("[aria-current]")).to_have_text("gpt-x")
    follow(desk, judges.get_by_role("link", name="People's votes"))
    expect(desk.get_by_role("heading", level=1)).to_have_text("Leaderboard by people's votes")
    expect(criteria.locator("[aria-current]")).to_have_text("truth")
    follow(desk, criteria.get_by_role("link", name="helpfulness"))
    expect(judges.locator("[aria-current]")).to_have_text("People's votes")
    desk.go_back()
    expect(criteria.locator("[aria-current]")).to_have_text("truth")


def test_names_stand_in_one_line_and_short_boards_do_not_scroll_within_the_page(desk):
    desk.goto(board("truth"))
    table = desk.locator("table.leaders").first
    assert table.locator("tbody tr").count() == 12
    lines = table.locator("tbody td.words:not(.pick, [hidden]) a").evaluate_all(
        "all => all.map((one) => one.getClientRects().length)"
    )
    assert set(lines) == {1}
    assert len(lines) >= 12
    inner = table.locator("xpath=..").evaluate("one => one.scrollHeight - one.clientHeight")
    assert inner <= 1
    desk.goto(board("helpfulness"))
    frame = desk.locator("table.leaders").first.locator("xpath=..")
    assert frame.evaluate("one => one.scrollHeight - one.clientHeight") > 100
    shade = "one => Number(getComputedStyle(one, '::after').opacity)"
    assert frame.evaluate(shade) == 1
    frame.evaluate("one => one.scrollTo(0, one.scrollHeight)")
    desk.wait_for_function(
        "one => Number(getComputedStyle(one, '::after').opacity) < 0.05", arg=frame.element_handle(), timeout=PATIENCE
    )


def test_all_tables_of_a_board_are_listed_and_each_is_where_its_link_says(desk):
    desk.goto(board("truth"))
    desk.get_by_text("tables of this page").click()
    links = desk.locator(".contents a")
    titles = links.all_inner_texts()
    assert len(titles) > 3
    assert titles == desk.locator("section.sheet > h3").all_text_contents()
    links.last.click()
    last = desk.locator("section.sheet").last
    expect(last).to_be_in_viewport()
    expect(last.locator("h3")).to_have_text(titles[-1])


def test_judges_are_told_in_sentences_by_criterion_and_a_card_opens_with_its_own(desk):
    desk.goto("/judges")
    assert desk.locator("h2.under").all_inner_texts() == ["Criterion: helpfulness", "Criterion: truth"]
    for criterion in range(2):
        judged = desk.locator("ol.judged").nth(criterion).locator("li")
        assert judged.count() == len(JUDGES)
        sentences = judged.locator(".sentence").all_inner_texts()
        assert all("Agrees with people on " in sentence for sentence in sentences)
        shares = [int(sentence.split("Agrees with people on ")[1].split("%")[0]) for sentence in sentences]
        assert shares == sorted(shares, reverse=True)
    parts = desk.get_by_role("navigation", name="On this page")
    parts.get_by_role("link", name="All numbers").click()
    table = desk.get_by_role("region", name="Judges, by their agreement with people")
    heads = table.locator("thead th").all_text_contents()
    for key in ("dollars per 1,000", "s a call"):
        place = heads.index(key) + 1
        cells = table.locator(f"tbody tr > :nth-child({place})")
        priced = [cell for cell in cells.all() if cell.locator(".interval").count()]
        assert len(priced) == 4, "two judges ask models, under two criteria"
        assert all(cell.locator("svg.bar").count() == 1 for cell in priced)
    parts.get_by_role("link", name="In sentences").click()
    follow(desk, desk.locator("ol.judged").first.get_by_role("link", name="gpt-x"))
    opening = desk.locator("h1 ~ .verdict-on")
    assert opening.count() == 2
    expect(opening.first).to_contain_text("Agrees with people on ")
    parts = desk.get_by_role("navigation", name="On this page")
    parts.get_by_role("link", name="Unusable verdicts and cost").click()
    expect(desk.locator(".panel:visible .panel-title")).to_have_text("Unusable verdicts and cost")
    expect(desk.locator(".panel:visible table").first).to_be_in_viewport()


def test_a_cases_judges_have_short_names_and_say_the_full_ones(desk):
    desk.goto("/verdicts")
    judges = desk.locator(".facets section", has=desk.get_by_role("heading", name="Judge", exact=True))
    assert {text.split("\n")[0].strip() for text in judges.locator("a > span:first-child").all_inner_texts()} == {
        "People's votes", "glm@lab", "gpt-x", "length"
    }  # fmt: skip
    follow(desk, desk.locator(".case-link").first)
    named = desk.locator("section.judge h3 a")
    told = dict(zip(named.all_inner_texts(), (one.get_attribute("title") for one in named.all()), strict=True))
    assert {"gpt-x": JUDGES[0], "glm@lab": JUDGES[1], "length": "length"}.items() <= told.items()
