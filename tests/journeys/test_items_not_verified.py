"""Items that people marked as not verified are left out unless requested, and that is stated."""

from __future__ import annotations

import json

import httpx2 as httpx
import pytest

from fullbench import InputError, Ledger
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.votes.progress_annotator_agreement_and_joined_votes import campaign_progress
from fullbench.web.database import engine_for, read_transaction
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from tests.journeys.voting import Site
from tests.support.commands import output_of as cli


@pytest.fixture
def files(tmp_path):
    items = [
        {"id": f"q{n}", "question": "?", "reference": f"right {n}", "tags": {"verified": "no" if n % 2 else "yes"}}
        for n in range(4)
    ]
    answers = [
        {"item": f"q{n}", "contestant": who, "text": f"{who} {n}"} for n in range(4) for who in ("one", "two", "three")
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    (tmp_path / "responses.jsonl").write_text("\n".join(map(json.dumps, answers)))
    return tmp_path


def test_judges_leave_them_out_and_say_so(files):
    made = ("judge", "--items", files / "items.jsonl", "--responses", files / "responses.jsonl", "--judge", "length",
            "--ballot", "score:1-5", "--quiet")  # fmt: skip
    said = cli(*made, "--ledger", files / "a.ledger")
    assert "Not judged: 2 of 4 items, which are marked as not verified." in " ".join(said.split())
    with Ledger(files / "a.ledger", read_only=True) as ledger:
        assert sorted({one.item for one in ledger.verdicts()}) == ["q0", "q2"]
    assert "not verified" not in cli(*made, "--ledger", files / "b.ledger", "--unverified")
    with Ledger(files / "b.ledger", read_only=True) as ledger:
        assert len({one.item for one in ledger.verdicts()}) == 4
    study = files / "study.toml"
    study.write_text(
        'name = "s"\nitems = "items.jsonl"\nresponses = "responses.jsonl"\njudges = ["length"]\n'
        'ballots = ["score:1-5"]\nledger = "c.ledger"\nunverified = true\n'
    )
    assert "not verified" not in cli("run", study, "--quiet")


def test_a_leaderboard_does_not_play_them(files):
    rows = [json.loads(line) for line in (files / "responses.jsonl").read_text().splitlines()]
    (files / "one.jsonl").write_text("\n".join(json.dumps(row) for row in rows if row["contestant"] == "one"))
    common = ("--data", files / "items.jsonl", "--benchmark", "visitbench", "--ledger", files / "board.ledger")
    said = cli(
        "leaderboard", "add", "one", "--predictions", files / "one.jsonl", "--judge", "length", *common, "--quiet"
    )
    assert "Not played: 2 of 4 items, marked as not verified" in " ".join(said.split())
    with Ledger(files / "board.ledger", read_only=True) as ledger:
        assert sorted({verdict.item for verdict in ledger.verdicts()}) == ["q0", "q2"]
    items = [
        {**json.loads(line), "tags": {"verified": "no"}} for line in (files / "items.jsonl").read_text().splitlines()
    ]
    (files / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    with pytest.raises(InputError, match=r"all 4 items are marked as not verified.*kind verify"):
        cli("leaderboard", "add", "one", "--predictions", files / "one.jsonl", "--judge", "length", *common)


def test_people_judge_them_only_where_asked_but_verify_them_always(files):
    made = ("--items", files / "items.jsonl", "--responses", files / "responses.jsonl", "--data", files)
    for name, kind, more, tasks in (
        ("left", "score", (), 6),
        ("all", "score", ("--unverified",), 12),
        ("check", "verify", (), 4),
    ):
        said = cli("people", "add", name, "--kind", kind, *made, *more)
        assert ("2 of 4 items, which are marked as not verified" in " ".join(said.split())) is (name == "left"), said
        engine = engine_for(f"sqlite:///{files / 'web.sqlite'}")
        with read_transaction(engine) as connection:
            assert campaign_progress(connection, campaigns.campaign_by_name(connection, name), 0.0).tasks == tasks, name
        engine.dispose()
    (files / "bad.jsonl").write_text(json.dumps({"id": "q1", "question": "?", "tags": {"verified": "no"}}))
    with pytest.raises(InputError, match=r"the only item is marked as not verified.*--unverified"):
        cli("people", "add", "none", "--kind", "score", "--items", files / "bad.jsonl", "--data", files)


def test_the_site_leaves_them_out_as_well_and_says_so(files):
    """By the API and by the form, in both languages; the page of the study goes on saying it."""
    site = Site(files, None)
    try:
        lead = site.client("lead", "organiser")
        rows = {name: [json.loads(line) for line in (files / f"{name}.jsonl").read_text().splitlines()]
                for name in ("items", "responses")}  # fmt: skip
        for name, asked, tasks in (("sent", False, 6), ("all sent", True, 12)):
            made = lead.post("/api/v1/studies", json={"name": name, "kind": "score", "unverified": asked, **rows})
            assert (made.status_code, made.json()["tasks"]) == (201, tasks), made.text
            assert any("2 of 4 items" in note for note in made.json()["notes"]) is not asked
        cookies = {SESSION: site.live.cookie("another lead", "organiser")["value"]}
        with httpx.Client(base_url=site.live.url, cookies=cookies, follow_redirects=True) as browser:
            token = browser.get("/account").text.split('name="csrf" content="')[1][:64]
            parts = {name: (f"{name}.jsonl", (files / f"{name}.jsonl").read_bytes()) for name in rows}
            for name, more, said in (("form", {}, True), ("form, all", {"unverified": "yes"}, False)):
                fields = {"csrf": token, "name": name, "kind": "score", "votes": "1", "most": "1", **more}
                page = browser.post("/organise/new", data=fields, files=parts)
                assert page.status_code == 200, page.text
                assert ("2 of 4 items, which are marked as not verified" in page.text) is said
                chinese = browser.get(str(page.url), headers={"Accept-Language": "zh"}).text
                assert ("4 个题目中有 2 个标记为未核实" in chinese) is said
    finally:
        site.close()
