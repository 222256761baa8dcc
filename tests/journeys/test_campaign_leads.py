"""Leads from the first draft to the table: pilot, preview, conflicts, adjudication, order by gain."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations

import pytest

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from fullbench.core.verdict import ADJUDICATION
from tests.journeys.voting import Site, column, shown, tables
from tests.support.commands import output_of as output
from tests.support.wait_until import until

ITEMS = [f"q{n}" for n in range(6)]
NAMES = ("x", "y", "z")
PEOPLE = ["ann", "bob"]
SPLITS = {("q0", "x", "y"), ("q1", "y", "z"), ("q3", "x", "z")}
"""Where ann prefers the first by name, and bob the second; elsewhere both prefer the first."""


def text(item: str, contestant: str) -> str:
    return f"answer {contestant} to {item} 答案"


def whose(task: dict) -> tuple[str, list[str]]:
    found = [re.search(r"answer (\S+) to (\w+)", one).groups() for one in shown(task)]
    return found[0][1], [name for name, _ in found]


def prefer(person: str, task: dict) -> dict[str, str]:
    item, names = whose(task)
    first, second = sorted(names)
    won = second if person == "bob" and (item, first, second) in SPLITS else first
    return {"best": str(names.index(won)), "reason": f"{person} 看过 {item}"}


def prefer_last(_person: str, task: dict) -> dict[str, str]:
    _, names = whose(task)
    return {"best": str(names.index(max(names)))}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leads")
    with Ledger(folder / "synthetic.ledger") as ledger:
        for name in ITEMS:
            item = Item.ask(name, f"What is {name}? 是什么？")
            answers = [Response.say(name, who, text(name, who)) for who in NAMES]
            for one, two in combinations(answers, 2):
                for judge, turned in (("a-model", False), ("b-model", name == "q2")):
                    case = Case(item, (one, two), Choice(tie=True))
                    ledger.add(case, Verdict.from_case(case, judge, (0.0, 1.0) if turned else (1.0, 0.0)))
    served = Site(folder, folder / "synthetic.ledger")
    yield served
    served.close()


def report(site, *options: object) -> dict[str, dict]:
    return tables(site.cli("report", "--ledger", site.ledger, "--json", *options))


def test_from_a_draft_and_a_pilot_to_a_ruling_that_counts(site):
    """A draft is previewed, piloted, opened; two people are split on three pairs; a lead rules on two of them by page,
    API and command; the rule `adjudicated` counts that, every other rule counts the votes."""
    boss = site.client("olga", "organiser")
    made = site.said("add", "pairs", "--kind", "pair", "--ledger", site.ledger, "--votes", 2, "--draft",
                       "--paper", "mllm-as-a-judge")  # fmt: skip
    assert "is draft: 18 tasks" in made
    path = f"/api/v1/studies/{site.study('pairs')}"
    assert boss.get(path).json()["stage"] == "draft"
    assert site.client("ann").post(f"{path}/next", json={}).json()["why"] == "closed"

    # The pilot has its own votes, which stay out of the ledger unless asked for, and are marked there.
    pilot = boss.post(f"{path}/pilots", json={"tasks": 4}).json()
    assert (pilot["name"], pilot["stage"], pilot["tasks"]) == ("pairs (pilot)", "pilot", 4)
    assert site.vote("pairs (pilot)", PEOPLE, prefer_last) == 8
    assert "is a pilot" in site.people("keep", "pairs (pilot)", "--ledger", site.ledger, code=2)
    with Ledger(site.ledger, read_only=True) as ledger:
        assert "human" not in ledger.record().judges

    site.people("open", "pairs")
    assert site.vote("pairs", PEOPLE, prefer) == 36
    rows = boss.get(f"{path}/tasks", params={"status": "split", "limit": 50}).json()["rows"]
    found = {(row["item"], *sorted(row["contestants"])): row for row in rows}
    assert set(found) == SPLITS
    assert {vote["reason"] for vote in found["q0", "x", "y"]["votes"]} == {"ann 看过 q0", "bob 看过 q0"}
    listed = tables(site.people("splits", "pairs", "--json"))["splits"]["rows"]
    assert {row[1] for row in listed} == {"q0", "q1", "q3"}

    # One ruling by the API, changed once; one by the command; the third split stays.
    first, second = found["q0", "x", "y"], found["q1", "y", "z"]
    rule = f"{path}/tasks/{first['task']}/adjudications"
    assert boss.post(rule, json={"fields": {"best": "7"}}).status_code == 400
    assert site.client("ann").post(rule, json={"fields": {"best": "0"}}).status_code == 403
    for won, revision in (("x", 1), ("y", 2)):
        place = first["contestants"].index(won)
        kept = boss.post(rule, json={"fields": {"best": str(place), "reason": "read again"}})
        assert (kept.status_code, kept.json()["revision"]) == (201, revision)
    won = second["contestants"].index("z")
    assert "2 votes are kept" in site.said("adjudicate", "pairs", second["task"], "--set", f"best={won}")
    assert len(boss.get(f"{path}/tasks", params={"status": "adjudicated"}).json()["rows"]) == 2

    # In the ledger: every vote, and the rulings as verdicts of their own.
    site.people("keep", "pairs", "--ledger", site.ledger)
    assert "0 verdicts were added" in site.said("keep", "pairs", "--ledger", site.ledger)
    with Ledger(site.ledger, read_only=True) as ledger:
        every = list(ledger.verdicts(revisions=True))
    assert Counter(one.judge for one in every if one.rater) == {"human": 36, ADJUDICATION: 3}
    rulings = [one for one in every if one.judge == ADJUDICATION]
    assert [one.circumstances.blind for one in rulings] == [False] * 3
    assert {one.text for one in rulings} == {"read again", ""}

    # Shares won: recomputed from what people were made to say.
    votes = {(item, *pair): {"ann": pair[0], "bob": pair[1] if (item, *pair) in SPLITS else pair[0]}
             for item in ITEMS for pair in combinations(NAMES, 2)}  # fmt: skip
    ruled = {("q0", "x", "y"): "y", ("q1", "y", "z"): "z"}

    def shares(adjudicated: bool) -> dict[str, float]:
        won: dict[str, list[float]] = {name: [] for name in NAMES}
        for key, said in votes.items():
            best = ruled.get(key) if adjudicated else None
            for name in key[1:]:
                mark = sum(one == name for one in said.values()) / 2 if best is None else float(best == name)
                won[name].append(mark)
        return {name: sum(marks) / len(marks) for name, marks in won.items()}

    for rule_name, adjudicated in (("default", False), ("adjudicated", True)):
        board = report(site, "--rule", rule_name)
        table = next(one for one in board.values() if "human" in one["title"] and "eaderboard" in one["title"])
        assert column(table, "matches won") == pytest.approx(shares(adjudicated)), rule_name
        said = " ".join(table["notes"])
        assert ("A lead decided 2 sets of responses" in said) is adjudicated
    rows = site.folder / "votes.jsonl"
    site.people("export", "pairs", "--to", rows)
    written = [json.loads(line) for line in rows.read_text().splitlines()]
    assert Counter(row["role"] for row in written) == {"work": 36, "adjudication": 3}
    assert [row["counts"] for row in written if row["role"] == "adjudication"] == [False, True, True]
    assert {row["guideline"].split()[1] for row in written} == {"mllm-as-a-judge"}

    # The pilot's votes, asked for: their raters say what they are.
    site.people("keep", "pairs (pilot)", "--ledger", site.ledger, "--pilot")
    with Ledger(site.ledger, read_only=True) as ledger:
        marked = [one for one in ledger.verdicts("human") if one.rater.startswith("pilot:")]
    assert len(marked) == 8
    assert {one.rater.removeprefix("pilot:") for one in marked} == {site.rater(name) for name in PEOPLE}

    # They move no figure of any door, and every table says how many they are; asked for, they count as votes do.
    without_pilot = shares(False)
    for one in marked:
        votes[one.item, *sorted(one.contestants)][one.rater] = max(one.contestants)
    apart = {key: {who: said for who, said in cast.items() if who in PEOPLE} for key, cast in votes.items()}
    left_out, counted = "8 votes that were cast in pilots are left out", "8 votes that were cast in pilots are counted"
    for options, cast, note in (((), apart, left_out), (("--pilot",), votes, counted)):
        expected: dict[str, list[float]] = {name: [] for name in NAMES}
        for (_, *pair), said in cast.items():
            shares_of = {name: sum(best == name for best in said.values()) / len(said) for name in pair}
            most = max(shares_of.values())
            for name in pair:
                split = min(shares_of.values()) == most
                expected[name].append(0.5 if split else float(shares_of[name] == most))
        wanted = {name: sum(marks) / len(marks) for name, marks in expected.items()}
        board = report(site, "--rule", "majority", *options)
        table = next(one for one in board.values() if "human" in one["title"] and "eaderboard" in one["title"])
        assert column(table, "matches won") == pytest.approx(wanted), options
        assert all(note in " ".join(one["notes"]) for one in board.values())
        own = tables(site.cli("leaderboard", "show", "--ledger", site.ledger, "--judge", "human", "--json", *options))
        shown_board = next(one for one in own.values() if "matches won" in str(one["columns"]))
        assert column(shown_board, "matches won") == pytest.approx(wanted), options
        assert note in " ".join(shown_board["notes"])
        assert note in site.cli("card", "a-model", "--ledger", site.ledger, "--json", *options)
    (name,) = until(
        lambda: [row["name"] for row in boss.get("/api/v1/boards").json()["rows"] if row["judge"] == "human"]
    )
    page = until(lambda: found if left_out in (found := boss.get(f"/api/v1/boards/{name}").text) else "")
    assert column(json.loads(page)["tables"][0], "matches won") == pytest.approx(without_pilot)

    # A file of a pilot's votes says what they are, to whatever ledger it comes.
    cast_in_pilot, elsewhere = site.folder / "pilot.csv", site.folder / "elsewhere.ledger"
    site.people("export", "pairs (pilot)", "--to", cast_in_pilot)
    with Ledger(site.ledger, read_only=True) as ledger, Ledger(elsewhere) as copy:
        for verdict in ledger.verdicts("a-model"):
            copy.add(ledger.case(verdict.case), verdict)
    assert "8 new votes of 2 raters" in site.cli("ledger", "import", cast_in_pilot, "--ledger", elsewhere)
    with Ledger(elsewhere, read_only=True) as copy:
        assert copy.record().judges == ["a-model"]
        assert len(copy.record(pilots=True).where(judge="human")) == copy.pilot_votes() == 8


def test_pages_of_leads(site):
    """The list of tasks, a task with its votes and a ruling, the preview, invitations in bulk, a draft thrown away."""
    import httpx2 as httpx

    name = "by page"
    site.people("add", name, "--kind", "pair", "--ledger", site.ledger, "--votes", 2)
    site.vote(name, PEOPLE, prefer)
    study = site.study(name)
    cookie = site.live.cookie("lea", "organiser")
    with httpx.Client(base_url=site.live.url, cookies={cookie["name"]: cookie["value"]}, timeout=60) as page:

        def token(path: str) -> str:
            return re.search(r'<meta name="csrf" content="(\w+)">', page.get(path).text)[1]

        listed = page.get(f"/organise/{study}/tasks?show=split").text
        links = re.findall(rf"/organise/{study}/tasks/(\d+)\">(q\d)", listed)
        assert [item for _, item in links] == ["q0", "q1", "q3"]
        link = links[0][0]
        shown_page = page.get(f"/organise/{study}/tasks/{link}").text
        for person in PEOPLE:
            assert f"{person} 看过 q0" in shown_page
        sent = {"csrf": token("/account"), "best": "0", "reason": "裁定"}
        assert page.post(f"/organise/{study}/tasks/{link}/adjudication", data={**sent, "best": "9"}).status_code == 422
        assert page.post(f"/organise/{study}/tasks/{link}/adjudication", data=sent).status_code == 303
        again = page.get(f"/organise/{study}/tasks/{link}").text
        assert "裁定" in again
        assert "decided by a lead" in again
        preview = page.get(f"/organise/{study}/preview?at=1").text
        assert 'data-preview="/organise/' in preview
        assert "Choose the better answer" in preview
        links = page.post(f"/organise/{study}/invite", data={"csrf": token("/account"), "notes": "Eve\nMax 王"}).text
        secrets = re.findall(r"/join/([\w-]+)", links)
        assert len(secrets) == 2
        overview = page.get(f"/organise/{study}").text
        assert "Max 王" in overview
        assert (
            "more votes like these, every interval of the leaderboard is ±25 or narrower; the widest is ±" in overview
        )
        draft = json.loads(site.people("list", "--json"))
        assert draft
        site.people("add", "away", "--kind", "pair", "--ledger", site.ledger, "--draft")
        gone = site.study("away")
        assert page.post(f"/organise/{gone}/throw-away", data={"csrf": token("/account")}).status_code == 303
        assert page.get(f"/organise/{gone}").status_code == 404
        refused = page.post(f"/organise/{study}/throw-away", data={"csrf": token("/account")})
        assert refused.status_code == 400
    # Who is invited is assigned before they come, and nobody else gets in any more.
    with httpx.Client(base_url=site.live.url, timeout=60) as eve:
        form = eve.get(f"/join/{secrets[0]}").text
        sent = {"csrf": re.search(r'<meta name="csrf" content="(\w+)">', form)[1], "name": "Eve",
                "password": "a long sentence of hers", "again": "a long sentence of hers"}  # fmt: skip
        assert eve.post(f"/join/{secrets[0]}", data=sent).status_code == 303
        assert eve.get(f"/work/{study}").status_code == 200
        assert name in eve.get("/work").text
    assert site.client("zoe").post(f"/api/v1/studies/{study}/next", json={}).json()["why"] == "assigned"


def test_nobody_judges_their_own_answer_or_one_picture_twice(site, tmp_path):
    rows = [{"item": f"w{n}", "contestant": who, "text": text(f"w{n}", who)}
            for n in range(4) for who in ("human:ann", "machine")]  # fmt: skip
    rows[3]["tags"] = {"author": "bob"}
    items = tmp_path / "items.jsonl"
    items.write_text("\n".join(json.dumps({"id": f"w{n}", "question": f"Picture {n}?"}) for n in range(4)))
    answers = tmp_path / "responses.jsonl"
    answers.write_text("\n".join(json.dumps(row) for row in rows))
    made = ("--kind", "pair", "--items", items, "--responses", answers, "--votes", 2)
    site.people("add", "own", *made)
    seen: dict[str, list[str]] = {"ann": [], "bob": [], "kim": []}

    def choose(person: str, task: dict) -> dict[str, str]:
        seen[person].append(whose(task)[0])
        return {"best": "0"}

    site.vote("own", list(seen), choose)
    assert seen["ann"] == []
    assert sorted(seen["bob"]) == ["w0", "w2", "w3"]
    assert sorted(seen["kim"]) == ["w0", "w1", "w2", "w3"]

    # A second study on the same questions: whoever met one in the first does not meet it again.
    assert "pairs kept apart" in site.said("add", "again", *made, "--separate-from", "*")
    before, seen = {name: set(items) for name, items in seen.items()}, {"bob": [], "kim": [], "lou": []}
    site.vote("again", list(seen), choose)
    assert sorted(seen["bob"]) == []  # w0, w2, w3 were met before, w1 is bob's own
    assert sorted(seen["kim"]) == []
    assert len(seen["lou"]) == 4
    assert before["kim"] == {"w0", "w1", "w2", "w3"}
    # A third one that asks for nothing is kept apart all the same, for the second keeps apart from every other.
    site.people("add", "third", *made)
    seen = {"lou": [], "mia": []}
    site.vote("third", list(seen), choose)
    assert seen["lou"] == []
    assert len(seen["mia"]) == 4


def test_an_order_by_gain_is_handed_out_and_kept_with_the_votes(site, tmp_path):
    """The web's queue is the one of `people next`: same order, same probabilities, in the ledger with every vote."""
    asked = tmp_path / "ask.jsonl"
    with Ledger(site.ledger, read_only=True) as ledger, Ledger(tmp_path / "fresh.ledger") as fresh:
        for case in ledger.cases([one.case for one in ledger.verdicts(["a-model", "b-model"])]):
            for verdict in ledger.verdicts(["a-model", "b-model"], cases=[case.key]):
                fresh.add(case, verdict)
    place = tmp_path / "fresh.ledger"
    site.cli("people", "next", "--ledger", place, "--votes", 100, "--planned", 18, "--to", asked)
    wanted = [json.loads(line) for line in asked.read_text().splitlines()]
    said = site.said("add", "gain", "--kind", "pair", "--ledger", place, "--by-gain")
    assert "±25 points" in said
    order: list[tuple[str, frozenset[str]]] = []

    def choose(person: str, task: dict) -> dict[str, str]:
        item, names = whose(task)
        order.append((item, frozenset(names)))
        return {"best": "0"}

    site.vote("gain", ["ann"], choose)
    assert order == [(row["item"], frozenset(row["contestants"])) for row in wanted]
    site.people("keep", "gain", "--ledger", place)
    chance = {(row["item"], frozenset(row["contestants"])): row["probability"] for row in wanted}
    with Ledger(place, read_only=True) as ledger:
        kept = list(ledger.verdicts("human"))
    assert len(kept) == len(wanted) == 18
    for verdict in kept:
        assert verdict.circumstances.probability == pytest.approx(chance[verdict.item, frozenset(verdict.contestants)])
    boss = site.client("olga", "organiser")
    assert boss.get(f"/api/v1/studies/{site.study('gain')}").json()["voted"] == 18


def test_a_copy_of_the_site_withholds_what_people_judge(site, tmp_path):
    with Ledger(tmp_path / "l.ledger") as ledger:
        for name in ("s0", "s1"):
            item = Item.ask(name, f"Secret question {name}?")
            answers = [Response.say(name, who, f"answer {who} to {name}") for who in ("x", "y")]
            case = Case(item, tuple(answers), Choice(tie=True))
            ledger.add(case, Verdict.from_case(case, "a-model", (1.0, 0.0), text=f"ruling on {name}"))
    items = tmp_path / "items.jsonl"
    items.write_text(json.dumps({"id": "s1", "question": "Secret question s1?"}))
    answers = tmp_path / "responses.jsonl"
    rows = [{"item": "s1", "contestant": who, "text": f"answer {who} to s1"} for who in ("x", "y")]
    answers.write_text("\n".join(map(json.dumps, rows)))
    site.people("add", "withheld", "--kind", "pair", "--items", items, "--responses", answers)
    export = ("export", "site", "--ledger", tmp_path / "l.ledger", "--no-charts", "--database",
              site.live.settings.database)  # fmt: skip
    said = output(*export, "--out", tmp_path / "closed")
    assert "1 verdict is withheld" in said
    assert "1 of 1 verdict is in lists" in said
    pages = {path: path.read_text() for path in (tmp_path / "closed").rglob("*.*") if path.suffix in {".html", ".js"}}
    assert not [path for path, page in pages.items() if "s1" in page]
    assert "1 verdict is withheld" in pages[tmp_path / "closed" / "verdicts.html"]
    site.people("close", "withheld")
    said = output(*export, "--out", tmp_path / "open")
    assert "withheld" not in said
    assert "2 of 2 verdicts are in lists" in said
