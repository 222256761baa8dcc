"""A case's page in a real browser: one row a judge and trial, people first, letters with the names of their order."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from fullbench.core.case import Case
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import read_transaction
from fullbench.web.results.catalogue.rater_pseudonyms import load_rater_names
from fullbench.web.results.site import static_site
from fullbench.web.results.site.page_urls import voice_name
from tests.web.conftest import start_live
from tests.web.results import making
from tests.web.results.looking import accessible

COUNT = 3
SAID = "Response A is right. **B** is long. 回答B更好。 Overall, A is better than B."


def ruled():
    """Everybody's rulings, each with letters in its reasons, and those of one judge in a second trial."""
    for case, verdicts in making.verdicts(count=COUNT):
        yield case, [replace(verdict, text=SAID) for verdict in verdicts]
        if len(case.contestants) == 2:
            again = Case(case.item, case.responses, case.ballot, case.criterion, trial=1)
            yield again, [replace(verdicts[0], case=again.key, trial=1, text=SAID)]


@pytest.fixture(scope="module")
def everything():
    return list(ruled())


@pytest.fixture(scope="module")
def path(tmp_path_factory, everything):
    where = tmp_path_factory.mktemp("synthetic") / "synthetic.ledger"
    with Ledger(where) as ledger:
        for case, verdicts in everything:
            ledger.add(case, *verdicts)
    return where


@pytest.fixture(scope="module")
def live(path):
    served = start_live(path.parent, "--ledger", str(path), "--public")
    yield served
    served.process.terminate()
    served.process.wait(timeout=120)
    served.engine.dispose()


def response_sets(everything) -> dict:
    """By item, criterion, ballot and contestants: all cases and verdicts that meet."""
    met = defaultdict(list)
    for case, verdicts in everything:
        key = (case.item.id, case.criterion, str(case.ballot), frozenset(case.contestants))
        met[key] += [(case, verdict) for verdict in verdicts]
    return met


def winner(verdict) -> str | None:
    marks = dict(zip(verdict.contestants, verdict.marks or (), strict=False))
    best = [name for name, mark in marks.items() if mark == max(marks.values())]
    return best[0] if len(best) == 1 else None


READ = """() => [...document.querySelectorAll(".bench > .judge")].map((judge) => ({
    id: judge.id, people: judge.parentElement.classList.contains("of-people"),
    rows: [...judge.querySelectorAll(".told")].map((row) => ({
        turned: row.querySelector(".turned") !== null,
        orders: [...row.querySelectorAll(".heard")].map((heard) => ({
            legend: [...heard.querySelectorAll(".legend .seat")].map((one) => one.textContent),
            letters: [...heard.querySelectorAll(".letter")].map((one) => [one.textContent, one.title]),
            words: heard.querySelector(".prose").textContent.trim(),
        })),
    })),
}))"""


def expected_rows(some, shown_name) -> dict:
    """What the ledger says: by voice, for each trial the orders and whether another order has another winner."""
    by_voice = defaultdict(lambda: defaultdict(list))
    for _, verdict in some:
        by_voice[verdict.judge, shown_name(verdict.rater or "")][verdict.trial].append(verdict)
    return by_voice


def compare(page, some, shown_name=str) -> None:
    shown = page.evaluate(READ)
    expected = expected_rows(some, shown_name)
    assert len(shown) == len(expected)
    people = [judge["people"] for judge in shown]
    assert people == sorted(people, reverse=True), "people come first"
    by_id = {voice_name(judge, rater): trials for (judge, rater), trials in expected.items()}
    for judge in shown:
        trials = by_id[judge["id"]]
        assert len(judge["rows"]) == len(trials)
        for row, (_, verdicts) in zip(judge["rows"], sorted(trials.items()), strict=True):
            orders = [list(verdict.contestants) for verdict in verdicts]
            winners = {winner(verdict) for verdict in verdicts if verdict.marks is not None}
            several = len(orders[0]) > 1
            assert row["turned"] == (several and len(winners) > 1), judge["id"]
            assert len(row["orders"]) == len(verdicts)
            for heard in row["orders"]:
                assert heard["words"].startswith("Response A is right. B is long. 回答B更好。"), "the words stay"
                if not several:
                    assert heard["letters"] == []
                    continue
                order = heard["legend"]
                assert order in orders
                assert heard["letters"] == [["A", order[0]], ["B", order[1]], ["A", order[0]], ["B", order[1]]]
        if len(verdicts) > 1:
            assert {tuple(heard["legend"]) for heard in row["orders"]} == {tuple(order) for order in orders}


def test_every_case_says_what_the_ledger_says_one_row_a_judge_and_trial(live, everything, tab):
    kinds = defaultdict(list)
    for key, some in response_sets(everything).items():
        kinds[key[2], len(some)].append(some)
    assert len(kinds) >= 3, "pairs, scores and rankings"
    with read_transaction(live.engine) as connection:
        shown_name = load_rater_names(connection).shown_name
    for some in (one for alike in kinds.values() for one in alike[:4]):
        for case in {case.key for case, _ in some}:
            tab.goto(f"{live.url}/cases/{case}")
            compare(tab, some, shown_name)


def test_a_case_is_readable_by_everybody_and_on_a_phone(live, everything, tab, axe):
    case = next(case for case, _ in everything if len(case.contestants) == 2)
    for scheme, width in (("light", 1366), ("dark", 390)):
        tab.emulate_media(color_scheme=scheme)
        tab.set_viewport_size({"width": width, "height": 800})
        tab.goto(f"{live.url}/cases/{case.key}")
        accessible(tab, axe)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.locator(".raw > summary").first.click()
    assert tab.locator(".raw pre").first.text_content() == SAID, "as it was written"


def test_a_static_copy_shows_the_same_rows(path, everything, tab, tmp_path):
    with Ledger(path, read_only=True) as ledger:
        static_site.export_site(
            ledger, tmp_path / "site", static_site.SiteOptions(charts=False, accounts=making.OWN_NAMES)
        )
    some = next(some for key, some in response_sets(everything).items() if len(key[3]) == 2)
    tab.goto((tmp_path / "site" / "cases" / f"{some[0][0].key}.html").as_uri())
    compare(tab, some)
