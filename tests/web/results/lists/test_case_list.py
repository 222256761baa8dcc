"""The list of cases: one row a response set, compared with what the ledger's verdicts say without SQL."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from sqlalchemy import select

from fullbench.ledger.ledger import Ledger
from fullbench.web.database import read_transaction
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import get_state
from fullbench.web.results.catalogue.rater_pseudonyms import rater_names_in
from fullbench.web.results.lists import case_list, verdict_list
from fullbench.web.results.lists.case_list import CaseRow, case_rows
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.site import static_site
from tests.support.browser_pages import follow
from tests.support.wait_until import until
from tests.web.conftest import start_live
from tests.web.results import making
from tests.web.results.looking import accessible, count

FILTERS = [
    Filter(),
    Filter(judge="steady"),
    Filter(judge="human", rater="bob"),
    Filter(contestant="alpha"),
    Filter(contestant="alpha", other="beta", judge="steady"),
    Filter(item="q3", swapped=True),
    Filter(tag="task", value="比较", contestant="gamma"),
    Filter(criterion="style"),
    Filter(fault="any"),
    Filter(split=True, opposed=True),
    Filter(judge="steady", beside="human"),
    Filter(q="方块", contestant="beta"),
    Filter(q="steady thinks"),
    Filter(judge="nobody"),
]


def every(connection, wanted: Filter, order: str, size: int = 7) -> list[tuple[int, tuple[int, ...]]]:
    """All response sets of a filter with the verdicts that were asked for, page by page, and back again."""
    n = verdict_list.count_verdicts(connection, wanted)
    pages, before = [], None
    while True:
        page = case_list.find_cases(connection, wanted, n, order=order, before=before, size=size)
        if pages and page.response_sets:
            back = case_list.find_cases(connection, wanted, n, order=order, after=page.newer, size=size)
            assert list(back.response_sets) == list(pages[-1].response_sets)
        pages.append(page)
        if page.older is None:
            break
        before = page.older
    return [(id_, tuple(sorted(page.verdicts_by_response_set[id_]))) for page in pages for id_ in page.response_sets]


@pytest.mark.parametrize("few", [case_list.MAX_LOOKUP, -1], ids=["looked up", "walked through"])
@pytest.mark.parametrize("wanted", FILTERS, ids=lambda wanted: wanted.address() or "all")
def test_a_case_is_listed_once_where_a_verdict_of_it_is_asked_for(filled, wanted, few, monkeypatch):
    monkeypatch.setattr(case_list, "MAX_LOOKUP", few)
    with read_transaction(filled) as connection:
        verdicts = verdict_list.find_verdicts(connection, wanted, size=10_000).lines
        v, m = catalogue_tables.verdicts.c, catalogue_tables.response_sets.c
        response_set = dict(tuple(row) for row in connection.execute(select(v.id, v.response_set_id)))
        doubt = dict(tuple(row) for row in connection.execute(select(m.id, m.doubt)))
        expected = defaultdict(list)
        for line in verdicts:
            expected[response_set[line.id]].append(line.id)
        whole = [(id_, tuple(sorted(some))) for id_, some in expected.items()]
        assert every(connection, wanted, "newest") == sorted(whole, reverse=True)
        assert every(connection, wanted, "doubt") == sorted(whole, key=lambda one: (-doubt[one[0]], -one[0]))


def response_sets(verdicts) -> dict:
    met = defaultdict(list)
    for verdict in verdicts:
        met[verdict.item, verdict.criterion, verdict.ballot, tuple(sorted(verdict.contestants))].append(verdict)
    return met


def said(verdict) -> str:
    """A ruling in words, each name behind those that it is not ahead of."""
    if verdict.marks is None:
        return verdict.fault
    if len(verdict.marks) == 1:
        return f"{verdict.marks[0]:.4g}"
    levels = defaultdict(list)
    for name, mark in sorted(zip(verdict.contestants, verdict.marks, strict=True)):
        levels[mark].append(name)
    return " > ".join(" = ".join(levels[mark]) for mark in sorted(levels, reverse=True))


def rows_of(connection) -> list[CaseRow]:
    found = case_list.find_cases(connection, Filter(), verdict_list.count_verdicts(connection, Filter()), size=10_000)
    return case_rows(connection, found.response_sets, found.verdicts_by_response_set)


def test_a_row_says_what_everybody_ruled(filled, ledger):
    expected = response_sets(ledger.verdicts())
    with read_transaction(filled) as connection:
        rows = rows_of(connection)
    assert len(rows) == len(expected)
    kinds = set()
    for row in rows:
        some = expected[row.item, row.criterion, row.ballot, tuple(row.contestants)]
        assert row.verdicts == row.matched_count == len(some)
        assert set(row.cases) == {verdict.case for verdict in some}
        dots = {(dot.judge, dot.rater): dot for dot in row.dots}
        assert [dot.people for dot in row.dots] == sorted((dot.people for dot in row.dots), reverse=True)
        voices = defaultdict(list)
        for verdict in some:
            voices[verdict.judge, verdict.rater].append(verdict)
        assert dots.keys() == voices.keys()
        for voice, verdicts in voices.items():
            outcomes = {said(verdict) for verdict in verdicts}
            assert {outcome.words for outcome in dots[voice].outcomes} == outcomes
            marked = [verdict for verdict in verdicts if verdict.marks is not None]
            firsts = {said(verdict).partition(" > ")[0] for verdict in marked}
            assert dots[voice].is_swapped == (len(row.contestants) > 1 and len(firsts) > 1)
            for outcome in dots[voice].outcomes:
                kinds.add(outcome.kind)
                if outcome.kind == "won":
                    assert list(making.WORTH)[:3].count(outcome.words.partition(" > ")[0]) <= 1
                    assert row.colours[outcome.words.partition(" > ")[0]] == outcome.colour
    assert kinds == {"won", "tie", "fault", "mark"}


def test_who_is_ahead_is_what_people_say_by_majority_else_all_judges(filled, ledger):
    expected = response_sets(ledger.verdicts())
    with read_transaction(filled) as connection:
        rows = rows_of(connection)
    checked = Counter()
    for row in rows:
        some = expected[row.item, row.criterion, row.ballot, tuple(row.contestants)]
        people = [verdict for verdict in some if verdict.judge == "human"]
        assert row.by_people == bool(people)
        voting = [verdict for verdict in people or some if verdict.marks is not None]
        if len(row.contestants) == 1:
            mean = sum(verdict.marks[0] for verdict in voting) / len(voting)
            assert row.joint == [(row.contestants[0], f"{mean:.4g}")]
            checked["mean"] += 1
        elif len(row.contestants) == 2:
            votes = Counter(map(said, voting)).most_common()
            leading = [words for words, n in votes if n == votes[0][1]]
            alone = leading[0] if len(leading) == 1 else " = ".join(row.contestants)
            assert " > ".join(" = ".join(group) for group in row.placing) == alone
            checked["pair"] += 1
        else:
            means = {
                name: sum(dict(zip(v.contestants, v.marks, strict=True))[name] for v in voting) / len(voting)
                for name in row.contestants
            }
            assert [means[group[0]] for group in row.placing] == sorted(set(means.values()), reverse=True)
            checked["ranking"] += 1
    assert min(checked[kind] for kind in ("mean", "pair", "ranking")) > 5


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    path = making.fill(folder / "small.ledger", count=5)
    live = start_live(folder, "--ledger", str(path), "--public")

    def is_whole() -> bool:
        with read_transaction(live.engine) as connection:
            return get_state(connection, "whole") is not None

    until(is_whole)
    yield live, path
    live.process.terminate()
    live.process.wait(timeout=120)
    live.engine.dispose()


READ = """() => [...document.querySelectorAll(".verdict-list > li")].map((row) => ({
    text: [...row.querySelectorAll(".item-name, .ruling, .strip")]
        .map((one) => one.innerText.replace(/\\s+/g, " ").trim()),
    thumb: row.querySelector("img") !== null,
    dots: [...row.querySelectorAll(".dot")].map((dot) =>
        [dot.title, dot.className, dot.hash, [...dot.children].map((one) => one.className).join(" ")]),
}))"""


@pytest.fixture(scope="module")
def copied(served, tmp_path_factory):
    """A static copy of what is served."""
    folder = tmp_path_factory.mktemp("copy") / "site"
    raters = rater_names_in(served[0].settings.database)
    with Ledger(served[1], read_only=True) as ledger:
        options = static_site.SiteOptions(charts=False, accounts=raters.accounts, rater_key=raters.key)
        static_site.export_site(ledger, folder, options)
    return folder


@pytest.mark.parametrize("asked", ["", "?order=doubt&contestant=alpha", "?judge=steady&swapped=1", "?fault=any"])
def test_a_static_copy_has_the_rows_of_the_served_list(served, copied, tab, asked):
    live, _ = served
    tab.goto(f"{live.url}/verdicts{asked}")
    here = tab.evaluate(READ), count(tab)
    tab.goto((copied / "verdicts.html").as_uri() + asked)
    assert count(tab) == here[1] > 0
    rows = tab.evaluate(READ)
    assert rows == here[0]
    assert all(row["thumb"] for row in rows)


def test_a_reader_narrows_the_list_by_a_click_and_follows_a_dot_to_its_ruling(served, tab, axe):
    live, _ = served
    tab.set_viewport_size({"width": 1366, "height": 768})
    tab.goto(f"{live.url}/verdicts")
    before = count(tab)
    facets = tab.get_by_role("navigation", name="Filter")
    assert facets.bounding_box()["x"] + facets.bounding_box()["width"] < tab.locator(".found").bounding_box()["x"]
    accessible(tab, axe)
    follow(tab, facets.get_by_role("link", name="first-lover"))
    follow(tab, facets.get_by_role("link", name="turns with the order"))
    assert 0 < count(tab) < before
    follow(tab, tab.get_by_role("link", name="Disagreement first"))
    assert count(tab) < before, "the filter stays"
    dot = tab.locator(".dot.turned:not(.faint)").first
    assert dot.get_attribute("title").startswith("first-lover: ")
    first = tab.locator(".dots").first.locator(".dot")
    first.first.focus()
    tab.keyboard.press("ArrowRight")
    assert first.nth(1).evaluate("one => one === document.activeElement")
    follow(tab, dot)
    ruling = tab.locator(".judge:target")
    assert ruling.locator("h3").inner_text() == "first-lover"
    assert ruling.locator(".turned").count() == 1
    tab.go_back()
    for name in ("first-lover", "turns with the order"):
        follow(tab, facets.get_by_role("link", name=name))
    assert count(tab) == before, "a second click takes it back"


def test_on_a_phone_the_facets_are_folded_above_the_list(served, tab, axe):
    live, _ = served
    tab.emulate_media(color_scheme="dark")
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(f"{live.url}/verdicts?judge=steady")
    facets = tab.locator(".facets")
    assert not facets.is_visible()
    tab.locator(".fold > summary").click()
    assert facets.bounding_box()["y"] < tab.locator(".verdict-list").bounding_box()["y"]
    accessible(tab, axe)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
