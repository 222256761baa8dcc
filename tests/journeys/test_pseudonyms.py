"""Annotators' account names are never public: on no page, in no answer of the API, whatever spelling a ledger has."""

from __future__ import annotations

import re
import time

import httpx2 as httpx

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from tests.journeys.voting import Site
from tests.waiting import until

NAMES = ("Wilhelmina", "Bartholomew", "欧阳娜娜")
"""One voted in the first release, as a judge of her own; one came with a file of labels; one votes today."""


def test_no_account_name_is_public(tmp_path):
    place = tmp_path / "old.ledger"
    with Ledger(place) as ledger:
        for number in range(3):
            item = Item.ask(f"q{number}", f"Question {number}?")
            pair = tuple(Response.say(item.id, who, f"{who} answers {number}") for who in ("x", "y"))
            case = Case(item, pair, Choice(tie=True))
            ledger.add(case, Verdict.of(case, "a-model", (1.0, 0.0)))
            ledger.add(case, Verdict.of(case, f"human:{NAMES[0]}", (0.0, 1.0), at=time.time()))
            ledger.add(case, Verdict.of(case, "human", (0.0, 1.0), rater=NAMES[1].lower(), at=time.time()))
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
