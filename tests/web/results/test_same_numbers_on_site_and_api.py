"""Terminal, site and API show the same numbers with several people, studies, samples and ledgers."""

from __future__ import annotations

import json
import re
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.app import create_app
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.api_script import Script
from tests.support.commands import cli
from tests.support.forked_command import run_forked
from tests.web.conftest import signed_in, start_live


def a_case(number: int, names=("alpha", "beta"), study="", samples=(0, 0)) -> Case:
    item = Item.ask(f"q{number}", f"How many{study}?")
    said = [
        Response(item.id, name, (f"{name} says {number} {sample}",), sample=sample)
        for name, sample in zip(names, samples, strict=True)
    ]
    return Case(item, tuple(said), Choice())


def ledger_of(path, *, judge="steady", names=("alpha", "beta"), study=None, count=4, samples=(0, 0)) -> list[Case]:
    cases = [a_case(number, names, study or "", samples) for number in range(count)]
    with Ledger(path, study=study) as ledger:
        for number, case in enumerate(cases):
            ledger.add(case, Verdict.from_case(case, judge, (1.0, 0.0) if number % 3 else (0.0, 1.0)))
    return cases


def command(*words: str) -> str:
    return cli(*words).stdout


def by_another_process(*words: str) -> str:
    done = run_forked(Path.cwd(), *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def report(path, judge: str) -> list[list[object]]:
    """The leaderboard of a judge as `fullbench report` writes it."""
    tables = json.loads(command("report", "--ledger", str(path), "--json"))
    (table,) = (one for one in tables if one["title"].startswith(f"Leaderboard by {judge}"))
    return table["rows"]


def test_three_people_vote_and_every_door_counts_them_alike(database, tmp_path):
    """Three people on the same cases over HTTP, one of whom changes a vote: three voices, and what was said first
    stays in the ledger."""
    path = tmp_path / "l"
    cases = ledger_of(path)
    app = create_app(Settings(database, str(path), data=tmp_path / "data"))
    with Script(app, "Sam", "viewer") as script:
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        people = {name: signed_in(app, name, "annotator") for name in ("ann", "bob", "安娜")}
        for place, visitor in enumerate(people.values()):
            for number, case in enumerate(cases):
                best = str((number + place) % 2)
                assert visitor.submit(f"/cases/{case.key}/vote", {"best": best}).status_code == 303
        assert people["bob"].submit(f"/cases/{cases[0].key}/vote", {"best": "tie"}).status_code == 303
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        with Ledger(path, read_only=True) as ledger:
            every = list(ledger.verdicts("human", revisions=True))
            counted = list(ledger.verdicts("human"))
            assert ledger.verify() == []
        assert (len(every), len(counted)) == (13, 12)
        assert {one.rater for one in counted} == {visitor.user.rater for visitor in people.values()}
        bob = [one.marks for one in every if one.rater == people["bob"].user.rater and one.case == cases[0].key]
        assert bob == [(0.0, 1.0), (0.5, 0.5)]
        for judge in ("steady", "human"):
            told = report(path, judge)
            (listed,) = (one for one in script.get("/api/v1/boards").json()["rows"] if one["judge"] == judge)
            board = script.get(f"/api/v1/boards/{listed['name']}").json()
            assert [row[:-1] for row in board["tables"][0]["rows"]] == told
            assert listed["verdicts"] == (4 if judge == "steady" else 12)
        card = next(one for one in script.get("/api/v1/judges").json()["rows"] if one["judge"] == "steady")
        lead = script.get(f"/api/v1/judges/{card['name']}").json()["lead"]
        assert lead in " ".join(command("card", "steady", "--ledger", str(path)).split())
        name = next(one["name"] for one in script.get("/api/v1/boards").json()["rows"] if one["judge"] == "human")
        page = people["ann"].get(f"/boards/{name}").text
        assert all(figure in page for figure in re.findall(r"\d+ matches, \d+ verdicts", page))
        command("export", "site", "--ledger", str(path), "--out", str(tmp_path / "site"), "--no-charts")
        copied = (tmp_path / "site" / "boards" / f"{name}.html").read_text(encoding="utf-8")
        figures = r'data-sort="([^"]*)"'
        assert re.findall(figures, copied) == re.findall(figures, page)


def test_another_ledger_in_the_same_data_folder_never_mixes(database, tmp_path, caplog):
    """What the first ledger held is gone before the second one's first page, also for visitors without an account."""
    first, second = tmp_path / "first.ledger", tmp_path / "second.ledger"
    ledger_of(first, judge="judge-of-the-first", names=("secret-a", "secret-b"))
    ledger_of(second, judge="judge-of-the-second", names=("open-a", "open-b"))

    def opened(path):
        return create_app(Settings(database, str(path), data=tmp_path / "data", public=True))

    def shown(app, *, fill=True) -> str:
        if fill:
            catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        visitor = signed_in(app, f"v{len(caplog.records)}{fill}{app.state.identity[:4]}", "viewer")
        visitor.cookies.clear()
        pages = [visitor.get(place).text for place in ("/", "/judges", "/verdicts")]
        return "".join(pages)

    one = opened(first)
    assert "judge-of-the-first" in shown(one)
    two = opened(second)
    assert "of-the-first" not in shown(two, fill=False)
    assert sum("another ledger" in record.message for record in caplog.records) == 1
    text = shown(two)
    assert "judge-of-the-second" in text
    assert "of-the-first" not in text
    assert "secret-a" not in text
    visitor = signed_in(one, "late", "viewer")
    assert visitor.get("/").status_code == 503, "the first server must not show what the second one filled"
    with pytest.raises(Exception, match="another ledger"):
        catalogue_board_and_page_updater.update_catalogue(one.state.engine, one.state.ledger)
    three = opened(first)
    text = shown(three)
    assert "judge-of-the-first" in text
    assert "of-the-second" not in text
    for app in (one, two, three):
        app.state.ledger.close()
        app.state.engine.dispose()


def test_two_studies_with_the_same_ids_stay_apart(database, tmp_path):
    path = tmp_path / "l"
    ledger_of(path, study="geo", count=4)
    other = ledger_of(path, study="math", count=3, judge="steady")
    app = create_app(Settings(database, str(path), data=tmp_path / "data"))
    with Script(app, "Sam", "viewer") as script:
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        rows = script.get("/api/v1/boards").json()["rows"]
        assert [(one["study"], one["judge"], one["verdicts"]) for one in rows] == [
            ("geo", "steady", 4),
            ("math", "steady", 3),
        ]
        assert [one["study"] for one in script.get("/api/v1/boards", params={"study": "math"}).json()["rows"]] == [
            "math"
        ]
        for study, count in (("", 4), ("geo", 4), ("math", 3)):
            found = script.get("/api/v1/verdicts", params={"study": study}).json()
            assert found["count"] == len(found["rows"]) == count
            assert {one["study"] for one in found["rows"]} == {study or "geo"}
        board = script.get(f"/api/v1/boards/{rows[1]['name']}").json()["tables"][0]
        told = json.loads(command("report", "--ledger", str(path), "--json"))
        (expected,) = (one for one in told if one["title"] == "Leaderboard by steady in math")
        assert [row[:-1] for row in board["rows"]] == expected["rows"]
        link = board["links"][0][2]
        assert script.get("/api/v1/verdicts", params=link).json()["count"] == 3
        visitor = signed_in(app, "ann", "annotator")
        home = visitor.get("/").text
        assert re.search(r'<a href="/[^"]*" aria-current="true">geo</a>', home)
        assert 'href="/?study=math"' in home
        assert visitor.get("/?study=nothing").status_code == 404
        case = f"/cases/{other[0].key}"
        assert visitor.submit(f"{case}/vote", {"best": "0", "study": "math"}).status_code == 303
    with Ledger(path, read_only=True) as ledger:
        assert ledger.studies() == ["geo", "math"]
        assert [len(list(ledger.verdicts("human", study=study))) for study in ("geo", "math")] == [0, 1]
    words = ["export", "site", "--ledger", str(path), "--out", str(tmp_path / "s"), "--no-charts"]
    assert "'geo', 'math'" in cli(*words, code=2).stderr
    command(*words, "--study", "math")
    texts = "".join(
        one.read_text(encoding="utf-8") for one in (tmp_path / "s").rglob("*.*s") if one.parent.name == "data"
    )
    assert "How manymath?" in texts
    assert "How manygeo?" not in texts


def test_a_second_answer_of_a_contestant_is_called_so(database, tmp_path):
    path = tmp_path / "l"
    (case, *_) = ledger_of(path, samples=(1, 0))
    app = create_app(Settings(database, str(path), data=tmp_path / "data"))
    with Script(app, "Sam", "viewer") as script:
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        line = script.get("/api/v1/verdicts").json()["rows"][0]
        assert [(one["contestant"], one["sample"]) for one in line["shown"]] == [("alpha", 1), ("beta", 0)]
        assert script.get(f"/api/v1/cases/{case.key}").json()["samples"] == [1, 0]
        visitor = signed_in(app, "ann", "viewer")
        assert "answer 2" in visitor.get(f"/cases/{case.key}").text
        assert "alpha #2" in visitor.get("/verdicts").text


def test_votes_stay_when_another_process_looks_at_the_ledger(tmp_path):
    """Serve, vote, `fullbench ledger show` in another process, vote again: all are kept and the ledger is sound."""
    path = tmp_path / "l"
    cases = ledger_of(path, count=6)
    live = start_live(tmp_path, "--ledger", str(path))
    try:
        cookie = live.cookie("ann", "annotator")

        def ask(method, place, data=None):
            connection = HTTPConnection(urlsplit(live.url).netloc, timeout=60)
            kind = {"Content-Type": "application/x-www-form-urlencoded"} if data else {}
            told = {"Cookie": f"{cookie['name']}={cookie['value']}", **kind}
            connection.request(method, place, urlencode(data) if data else None, told)
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, text

        def vote(case) -> None:
            from tests.support.wait_until import until

            until(lambda: ask("GET", f"/cases/{case.key}")[0] == 200)
            csrf = re.search(r'<meta name="csrf" content="(\w+)">', ask("GET", f"/cases/{case.key}")[1])[1]
            assert ask("POST", f"/cases/{case.key}/vote", {"csrf": csrf, "best": "0"})[0] == 303

        for case in cases:
            vote(case)
            by_another_process("ledger", "show", str(path))
        assert len(re.findall("human", by_another_process("ledger", "show", str(path)))) >= 1
    finally:
        live.process.terminate()
        live.process.wait(timeout=120)
        live.engine.dispose()
    with Ledger(path, read_only=True) as ledger:
        assert {one.case for one in ledger.verdicts("human")} == {case.key for case in cases}
        assert ledger.verify() == []


def test_the_corrected_board_is_on_the_page_and_in_the_api_and_follows_peoples_votes(database, tmp_path):
    """A judge's board says what it is not; once people vote, it is corrected like `fullbench report --corrected`."""
    path = tmp_path / "l"
    names = ("alpha", "beta")
    cases = [a_case(number, names) for number in range(40)]
    with Ledger(path) as ledger:
        for number, case in enumerate(cases):
            ledger.add(case, Verdict.from_case(case, "steady", (1.0, 0.0) if number % 4 else (0.0, 1.0)))
    app = create_app(Settings(database, str(path), data=tmp_path / "data"))
    with Script(app, "Sam", "viewer") as script:
        visitor = signed_in(app, "ann", "annotator")
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        (board,) = script.get("/api/v1/boards").json()["rows"]
        first = script.get(f"/api/v1/boards/{board['name']}").json()["tables"]
        assert any("people may rank differently" in note for note in first[0]["notes"])
        with Ledger(path) as ledger:
            for number, case in enumerate(cases[:20]):
                ledger.add(
                    case, Verdict.from_case(case, "human", (1.0, 0.0) if number % 3 else (0.0, 1.0), rater="ben")
                )
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        shown = script.get(f"/api/v1/boards/{board['name']}").json()["tables"]
        assert not any("people may rank differently" in note for note in shown[0]["notes"])
        tables = {table["name"]: table for table in shown}
        said = json.loads(command("report", "--ledger", str(path), "--corrected", "--json"))
        expected = {table["name"]: table for table in said if table["name"].startswith("corrected")}
        assert {"corrected steady, pair", "corrected agreement"} <= set(expected)
        for name in expected:
            assert tables[name]["rows"] == expected[name]["rows"]
        page = visitor.get(f"/boards/{board['name']}").text
        assert "judge minus people" in page
        judge = next(one["name"] for one in script.get("/api/v1/judges").json()["rows"] if one["judge"] == "steady")
        assert "Corrected" in script.get(f"/api/v1/judges/{judge}").json()["sections"]
        command("export", "site", "--ledger", str(path), "--out", str(tmp_path / "site"), "--no-charts")
        copied = (tmp_path / "site" / "boards" / f"{board['name']}.html").read_text(encoding="utf-8")
        assert "judge minus people" in copied
