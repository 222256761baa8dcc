"""What people judge is kept from them and from everybody else until their study is over, at every door."""

from __future__ import annotations

import json
from itertools import combinations

import httpx2 as httpx
import pytest

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from fullbench.nouns.verdict import Circumstances
from fullbench.web.guard import SESSION
from tests.journeys.voting import Site, column, shown, tables
from tests.waiting import until

NAMES = ("secret-alpha", "secret-beta", "secret-gamma")
JUDGE = "secret-judge"
OPEN, SHUT = [f"open-{n}" for n in range(4)], [f"shut-{n}" for n in range(3)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blind")
    with Ledger(folder / "l.ledger") as ledger:
        for name in (*OPEN, *SHUT):
            item = Item.ask(name, f"Question of {name}?")
            answers = [Response.say(name, who, f"words of {number} on {name}") for number, who in enumerate(NAMES)]
            for pair in combinations(answers, 2):
                case = Case(item, pair, Choice())
                ledger.add(case, Verdict.of(case, JUDGE, (1.0, 0.0), text=f"the reasons on {name}"))
    items = folder / "items.jsonl"
    items.write_text("".join(json.dumps({"id": name, "question": f"Question of {name}?"}) + "\n" for name in OPEN))
    served = Site(folder, folder / "l.ledger", "--public")
    boss = served.client("boss", "organiser")
    until(lambda: boss.get("/api/v1/verdicts").json().get("count") == 3 * 7)
    served.people("add", "now", "--kind", "pair", "--ledger", served.ledger, "--items", items)
    yield served
    served.close()


def paged(site, name: str | None, role: str = "viewer") -> httpx.Client:
    """Somebody's browser: by a session, or nobody's."""
    cookies = {} if name is None else {SESSION: site.live.cookie(name, role)["value"]}
    return httpx.Client(base_url=site.live.url, cookies=cookies, timeout=60)


def cases(site, items) -> list[str]:
    with Ledger(site.ledger, read_only=True) as ledger:
        return sorted({verdict.case for verdict in ledger.verdicts(JUDGE) if verdict.item in items})


ASKED = (
    "",
    "q=words",
    "q=reasons",
    "contestant=secret-alpha",
    "judge=secret-judge",
    "item=open-1",
    "fault=none",
    "decided=1",
)


@pytest.mark.parametrize(("name", "role"), [(None, ""), ("vic", "viewer")])
def test_readers_see_the_rest_and_how_much_is_withheld(site, name, role):
    with paged(site, name, role) as browser:
        for asked in ASKED:
            page = browser.get(f"/verdicts?{asked}")
            assert page.status_code == 200
            assert not any(f"{word} {item}" in page.text for item in OPEN for word in ("Question of", "on"))
            assert "12 verdicts are withheld" in page.text, asked
        assert "9" in browser.get("/verdicts").text
        for key in cases(site, OPEN):
            page = browser.get(f"/cases/{key}")
            assert page.status_code == 403
            assert not any(word in page.text for word in (*NAMES, JUDGE, "words of"))
        assert browser.get(f"/cases/{cases(site, SHUT)[0]}").status_code == 200


def test_the_api_withholds_the_same(site):
    viewer = site.client("vera", "viewer")
    found = viewer.get("/api/v1/verdicts", params={"limit": 200}).json()
    assert {row["item"] for row in found["rows"]} == set(SHUT)
    assert (found["count"], found["withheld"]) == (9, 12)
    answer = viewer.get(f"/api/v1/cases/{cases(site, OPEN)[0]}")
    assert (answer.status_code, "secret" in answer.text) == (403, False)
    boss = site.client("boss", "organiser")
    assert boss.get("/api/v1/verdicts").json()["withheld"] == 0
    assert boss.get(f"/api/v1/cases/{cases(site, OPEN)[0]}").status_code == 200


def test_annotators_see_no_results_unless_the_study_lets_them(site):
    hand = site.client("ann")
    with paged(site, "bob", "annotator") as browser:
        assert browser.get("/").headers["location"] == "/work"
        for path in ("/verdicts", "/judges", f"/cases/{cases(site, OPEN)[0]}", f"/cases/{cases(site, SHUT)[0]}"):
            page = browser.get(path)
            assert page.status_code == 403, path
            assert "secret" not in page.text, path
        for path in ("/api/v1/boards", "/api/v1/verdicts", "/api/v1/judges"):
            assert hand.get(path).status_code == 403
        site.people("set", "now", "--results")
        assert browser.get("/judges").status_code == 200
        assert browser.get(f"/cases/{cases(site, OPEN)[0]}").status_code == 403, "its own cases stay withheld"
        site.people("set", "now", "--no-results")
        assert browser.get("/judges").status_code == 403


def test_the_desk_never_says_whose_answers_they_are(site):
    study = site.study("now")
    task = site.client("ann").post(f"/api/v1/studies/{study}/next", json={}).json()["task"]
    assert "secret" not in json.dumps(task)
    with paged(site, "eve", "annotator") as browser:
        assert "secret" not in browser.get(f"/work/{study}").text


def test_votes_with_names_in_view_are_marked_and_left_out(site):
    """Two people vote blind, one on the open page: agreement has the blind ones, unless all are asked for."""
    planted = {"ann": 0, "dan": 0}

    def choose(name, task):
        texts = shown(task)
        return {"best": str(texts.index(sorted(texts)[planted[name]]))}

    site.people("add", "short", "--kind", "pair", "--ledger", site.ledger, "--limit", 6, "--votes", 2)
    assert site.vote("short", ["ann", "dan"], choose) == 12
    site.people("keep", "short", "--ledger", site.ledger)
    with Ledger(site.ledger) as ledger:
        for verdict in list(ledger.verdicts("human")):
            case = ledger.case(verdict.case)
            assert verdict.circumstances.blind is True
            flipped = tuple(1 - mark for mark in verdict.marks)
            for rater in ("looked-1", "looked-2", "looked-3"):
                seen = Verdict.of(case, "human", flipped, rater=rater, circumstances=Circumstances(blind=False))
                ledger.add(case, seen)
    whole = tables(site.cli("report", "--ledger", site.ledger, "--json"))["agreement pairs"]
    assert column(whole, "accuracy, ties a class", "judge")[JUDGE] == 1.0
    assert any("cast with names in view are left out" in note for note in whole["notes"])
    asked = tables(site.cli("report", "--ledger", site.ledger, "--visible", "--json"))["agreement pairs"]
    assert column(asked, "accuracy, ties a class", "judge")[JUDGE] == 0.0
    assert any("cast with names in view are counted" in note for note in asked["notes"])
    boards = tables(site.cli("report", "--ledger", site.ledger, "--json"))["leaderboard human"]
    assert any("cast with names in view are left out" in note for note in boards["notes"])


def test_a_closed_study_withholds_nothing(site):
    for name in ("now", "short"):
        site.people("close", name)
    viewer = site.client("vera", "viewer")
    assert viewer.get("/api/v1/verdicts").json()["withheld"] == 0
    assert viewer.get(f"/api/v1/cases/{cases(site, OPEN)[0]}").status_code == 200
