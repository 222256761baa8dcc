"""Verdicts on what people judge are withheld everywhere until their campaign ends."""

from __future__ import annotations

import html
import json
import re
from itertools import combinations, product

import httpx2 as httpx
import pytest
from fastapi.routing import APIRoute

from fullbench import Case, Choice, Item, Ledger, Picture, Response, Verdict
from fullbench.core.verdict import Circumstances
from fullbench.files.item_response_verdict_files import write_items
from fullbench.web.app import _all_routers
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from tests.journeys.voting import Site, column, shown, tables
from tests.support.data_builders import png
from tests.support.wait_until import until

NAMES = ("secret-alpha", "secret-beta", "secret-gamma")
JUDGE = "secret-judge"
OPEN, SHUT = [f"open-{n}" for n in range(4)], [f"shut-{n}" for n in range(3)]
PICTURES = {name: [Picture.from_bytes(png((number, 7, 7)))] for number, name in enumerate((*OPEN, *SHUT))}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blind")
    with Ledger(folder / "l.ledger") as ledger:
        for name in (*OPEN, *SHUT):
            item = Item.ask(name, f"Question of {name}?", *PICTURES[name], tags={"family": f"family {name}"})
            answers = [Response.say(name, who, f"words of {number} on {name}") for number, who in enumerate(NAMES)]
            for pair in combinations(answers, 2):
                case = Case(item, pair, Choice())
                ledger.add(case, Verdict.from_case(case, JUDGE, (1.0, 0.0), text=f"the reasons on {name}"))
    items = folder / "items.jsonl"
    write_items(items, [Item.ask(name, f"Question of {name}?", *PICTURES[name]) for name in OPEN])
    served = Site(folder, folder / "l.ledger", "--public")
    boss = served.client("boss", "organiser")
    until(lambda: boss.get("/api/v1/verdicts").json().get("count") == 3 * 7)
    served.people("add", "now", "--kind", "pair", "--ledger", served.ledger, "--items", items)
    # What was public until now is computed again, page by page.
    links = {"/", *re.findall(r'href="(/boards/[^"#?]*)', boss.get("/").text)}
    until(lambda: all("family open-0" not in boss.get(link).text for link in links))
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


def routes() -> list[str]:
    """Every address of the app that is read, with its parameters unfilled."""
    return sorted({
        route.path
        for router in _all_routers()
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in route.methods
    })  # fmt: skip


def addresses(site) -> list[str]:
    """Every address of the app with all that whoever leads knows of the site in place of its parameters."""
    boss, study = site.client("boss", "organiser"), site.study("now")
    boards = [row["name"] for row in boss.get("/api/v1/boards").json()["rows"]]
    judges = [row["name"] for row in boss.get("/api/v1/judges").json()["rows"]]
    tasks = [str(row["task"]) for row in boss.get(f"/api/v1/studies/{study}/tasks").json()["rows"]]
    known = {
        "case_key": cases(site, (*OPEN, *SHUT)), "study_id": [study], "task": tasks, "form": ["csv", "jsonl", "json"],
        "digest": [PICTURES[OPEN[0]][0].digest], "table": ["0"], "place": ["0"], "name": boards, "lease": ["x"],
        "secret": ["none"], "upload": ["none"],
    }  # fmt: skip
    found = []
    for path in routes():
        values = {**known, "name": [*judges, *boards]} if "/judges/" in path else known
        names = re.findall(r"{(\w+)(?::\w+)?}", path)
        assert set(names) <= values.keys(), f"say what {path} is filled with"
        plain = re.sub(r":\w+}", "}", path)
        some = product(*(values[name] for name in names))
        found += [plain.format(**dict(zip(names, chosen, strict=True))) for chosen in some]
    return [address for address in found if address != "/events"]  # which says what changed and never what it is


@pytest.mark.parametrize(
    ("name", "role"), [(None, ""), pytest.param("wim", "viewer", marks=pytest.mark.slow), ("amy", "annotator")]
)
def test_no_address_of_the_app_shows_a_case_of_an_open_study(site, name, role):
    """Every route, then every link on what came back: to a stranger, a viewer and an annotator."""
    secret = [word for item in OPEN for word in (f"of {item}", f"on {item}", f"family {item}")]
    secret += cases(site, OPEN)
    if role == "annotator":
        secret += [*NAMES, JUDGE]
    with paged(site, name, role) as browser:
        caller = browser if name is None else site.client(f"{name} by token", role)
        waiting = addresses(site)
        waiting += [f"/verdicts?{asked}" for asked in ASKED]
        seen: dict[str, int] = {}
        while waiting:
            address = waiting.pop(0)
            if address in seen:
                continue
            answer = (caller if address.startswith("/api/v1/") else browser).get(address)
            seen[address] = answer.status_code
            assert answer.status_code < 500, address
            # A page repeats its own address, in the form that changes the language.
            shown_here = [word for word in secret if word in answer.text and word not in address]
            own_desk = role == "annotator" and address.startswith("/work/")
            if not own_desk:  # whoever judges sees question and answers there, and nothing else
                assert not shown_here, address
            elif shown_here:
                assert not set(shown_here) & {*NAMES, JUDGE, *cases(site, OPEN)}, address
            if answer.status_code == 200 and "text/html" in answer.headers["content-type"]:
                if address.partition("?")[0].split("/")[1] in {"", "verdicts", "boards", "judges"}:
                    assert "12 verdicts are withheld" in answer.text, address
                links = re.findall(r'(?:href|src)="(/[^"#]*)', answer.text)
                # What the list can be narrowed to is offered again on every page: two at a time are enough.
                waiting += [
                    html.unescape(link)
                    for link in links
                    if not link.startswith("/static/") and (not link.startswith("/verdicts?") or link.count("=") < 3)
                ]
    read = {address.partition("?")[0] for address, status in seen.items() if status == 200}
    if role != "annotator":
        assert {"/", "/verdicts", "/judges", f"/cases/{cases(site, SHUT)[0]}"} <= read
        assert [address for address in read if address.startswith("/boards/")]
    assert len(seen) > 60


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
                seen = Verdict.from_case(case, "human", flipped, rater=rater, circumstances=Circumstances(blind=False))
                ledger.add(case, seen)
    whole = tables(site.cli("report", "--ledger", site.ledger, "--json"))["agreement pairs"]
    assert column(whole, "accuracy with ties", "judge")[JUDGE] == 1.0
    assert any("cast with names in view are left out" in note for note in whole["notes"])
    asked = tables(site.cli("report", "--ledger", site.ledger, "--visible", "--json"))["agreement pairs"]
    assert column(asked, "accuracy with ties", "judge")[JUDGE] == 0.0
    assert any("cast with names in view are counted" in note for note in asked["notes"])
    boards = tables(site.cli("report", "--ledger", site.ledger, "--json"))["leaderboard human"]
    assert any("cast with names in view are left out" in note for note in boards["notes"])


def test_a_closed_study_withholds_nothing(site):
    for name in ("now", "short"):
        site.people("close", name)
    viewer = site.client("vera", "viewer")
    assert viewer.get("/api/v1/verdicts").json()["withheld"] == 0
    assert viewer.get(f"/api/v1/cases/{cases(site, OPEN)[0]}").status_code == 200
