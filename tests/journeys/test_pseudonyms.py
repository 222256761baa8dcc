"""Annotators' account names are never public: on no page, in no answer of the API, whatever spelling a ledger has."""

from __future__ import annotations

import json
import re
import time

import httpx2 as httpx

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from fullbench.files.item_response_verdict_files import write_items
from tests.journeys.voting import Site, column, shown, tables
from tests.support.wait_until import until

NAMES = ("Wilhelmina", "Bartholomew", "欧阳娜娜")
"""Two came with a file of labels, one of them in another spelling; one votes on the site."""


def test_no_account_name_is_public(tmp_path):
    place = tmp_path / "labels.ledger"
    with Ledger(place) as ledger:
        for number in range(3):
            item = Item.ask(f"q{number}", f"Question {number}?")
            pair = tuple(Response.say(item.id, who, f"{who} answers {number}") for who in ("x", "y"))
            case = Case(item, pair, Choice(tie=True))
            ledger.add(case, Verdict.from_case(case, "a-model", (1.0, 0.0)))
            ledger.add(case, Verdict.from_case(case, "human", (0.0, 1.0), rater=NAMES[0], at=time.time()))
            ledger.add(case, Verdict.from_case(case, "human", (0.0, 1.0), rater=NAMES[1].lower(), at=time.time()))
    site = Site(tmp_path, place, "--public")
    try:
        for name in (NAMES[0], NAMES[2]):
            site.client(name)
        site.client("lead", "organiser")
        site.people("add", "today", "--kind", "pair", "--ledger", place)
        assert site.vote("today", [NAMES[2]], lambda _name, _task: {"best": "0", "reason": "clear"}) == 3
        site.people("keep", "today", "--ledger", place)
        site.people("close", "today")
        with httpx.Client(base_url=site.live.url, timeout=60) as visitor:
            until(lambda: "12 verdicts" in visitor.get("/").text)
            site.client(NAMES[1])  # an account that is made when the catalogue knows its name as a rater's
            rater = {name: site.rater(name) for name in NAMES}
            reader = site.client("reader", "viewer")
            until(lambda: rater[NAMES[1]] in reader.get("/api/v1/verdicts?judge=human&limit=50").text)
            found = reader.get("/api/v1/verdicts?judge=human&limit=50").json()["rows"]
            assert {row["rater"] for row in found} == set(rater.values())
            pages = ["/", "/verdicts", "/judges", f"/verdicts?judge=human&rater={rater[NAMES[0]]}", "/api/v1/boards"]
            keys = {row["case"] for row in found}
            assert len(keys) >= 3
            pages += [path for key in keys for path in (f"/cases/{key}", f"/api/v1/cases/{key}")]
            pages += sorted(set(re.findall(r'href="(/boards/[^"]+|/judges/[^"]+)"', visitor.get("/").text)))
            for path in pages:
                answer = (reader if path.startswith("/api/") else visitor).get(path)
                assert answer.status_code == 200, path
                assert not [name for name in NAMES if name.lower() in answer.text.lower()], path
            case = visitor.get(f"/cases/{found[0]['case']}").text
            assert rater[NAMES[0]][:12] in case, "people can still be told apart"
        copy = tmp_path / "copy"
        site.cli("export", "site", "--ledger", place, "--out", copy, "--no-charts", "--database",
                 site.live.settings.database)  # fmt: skip
        written = [path for path in copy.rglob("*.*") if path.suffix in {".html", ".js", ".json", ".csv"}]
        assert len(written) > 5
        for path in written:
            text = path.read_text(encoding="utf-8").lower()
            assert not [name for name in NAMES if name.lower() in text], path
    finally:
        site.close()


def test_who_wrote_an_answer_is_an_id_wherever_it_goes(tmp_path):
    """Answers of people (`human:NAME`, tags `author`) whom others vote on: ids in the votes' file, in a ledger that
    never heard of them, and to all that read one in which a model judged them by name; votes and rulings still meet."""
    items = [Item.ask(f"w{n}", f"Question {n}? 问", tags={"author": NAMES[2]}) for n in range(4)]
    rows = [
        {"item": item.id, "contestant": who, "text": f"{who[-3:]} {item.id}", "tags": {"author": NAMES[1]}}
        for item in items for who in (f"human:{NAMES[0]}", "machine")
    ]  # fmt: skip
    write_items(tmp_path / "items.jsonl", items)
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judged, fresh = tmp_path / "judged.ledger", tmp_path / "fresh.ledger"
    with Ledger(judged) as ledger:
        for item in items:
            pair = tuple(
                Response.say(item.id, row["contestant"], row["text"], tags=row["tags"])
                for row in rows if row["item"] == item.id
            )  # fmt: skip
            case = Case(item, pair, Choice(tie=True))
            ledger.add(case, Verdict.from_case(case, "a-model", (1.0, 0.0)))
    site = Site(tmp_path, judged, "--public")
    try:
        for name in NAMES:
            site.client(name)
        rater = {name: site.rater(name) for name in NAMES}
        person = f"human:{rater[NAMES[0]]}"
        site.people("add", "own", "--kind", "pair", "--items", tmp_path / "items.jsonl", "--responses",
                    tmp_path / "answers.jsonl", "--votes", 2)  # fmt: skip
        assert site.vote("own", list(NAMES), lambda _name, _task: {"best": "0"}) == 0, "nobody judges their own"
        begins = {"dora": NAMES[0][-3:], "emil": "machine"[-3:]}

        def choose(who, task):
            return {"best": str([text.startswith(begins[who]) for text in shown(task)].index(True))}

        assert site.vote("own", list(begins), choose) == 8
        renamed = [
            "1 contestant of the ledger had an account name (human:NAME)" in site.said("keep", "own", "--ledger", place)
            for place in (fresh, judged, judged)
        ]
        assert renamed == [False, True, False]
        exported = tmp_path / "votes.jsonl"
        site.people("export", "own", "--to", exported)
        texts = {"votes": exported.read_text(encoding="utf-8"), "fresh": fresh.read_bytes().decode("utf-8", "replace")}
        assert person in texts["votes"]
        for what in ("verdicts", "responses", "items"):
            to = tmp_path / f"{what}.csv"
            site.cli("ledger", "export", fresh, "--to", to, "--what", what)
            texts[f"{what} of fresh"] = to.read_text(encoding="utf-8")
        site.cli("ledger", "export", judged, "--to", tmp_path / "judged.csv")
        texts["verdicts of judged"] = (tmp_path / "judged.csv").read_text(encoding="utf-8")
        site.people("close", "own")
        with httpx.Client(base_url=site.live.url, timeout=60) as visitor:
            until(lambda: person in visitor.get("/").text)
            listed = visitor.get("/verdicts").text + visitor.get("/").text
            linked = sorted(set(re.findall(r'href="(/cases/\w+|/boards/[^"]+)"', listed)))
            for path in ("/", "/verdicts", "/judges", *linked):
                texts[path] = visitor.get(path).text
        assert sum(path.startswith("/cases/") for path in texts) >= 4
        for where, text in texts.items():
            assert not [name for name in NAMES if name.lower() in text.lower()], where

        # A model that judged the answers under the name and the people who voted agree on half of the votes' pairs.
        report = tables(site.cli("report", "--ledger", judged, "--json"))
        board = next(table for table in report.values() if "human" in table["title"] and "eaderboard" in table["title"])
        assert column(board, "matches won") == {person: 0.5, "machine": 0.5}
        other = next(
            table for table in report.values() if "a-model" in table["title"] and "eaderboard" in table["title"]
        )
        assert column(other, "matches won") == {person: 1.0, "machine": 0.0}
    finally:
        site.close()
