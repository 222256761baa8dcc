"""People compare a generator before and after tuning over HTTP."""

from __future__ import annotations

import json
import re
from statistics import fmean

import pytest

from fullbench import Ledger
from tests.journeys.voting import Site
from tests.training.generator import tiny
from tests.training.generator.test_tune import command, redness, written
from tests.training.generator.toy.plugin import toy_plugin

__all__ = ["toy_plugin"]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("toy_plugin")]
torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
VOTERS = ["ann", "bob", "cid"]


@pytest.fixture
def site(tmp_path):
    served = Site(tmp_path, None)
    yield served
    served.close()


def test_people_vote_blindly_and_stand_beside_the_judges(site, tmp_path, monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    tiny.sheets(tmp_path / "base")
    written(tmp_path)
    ledger = tmp_path / "fullbench.ledger"
    red = "scorer:tune_red:red"
    words = command(red, "out", "--steps", "60", "--compare", red, "--quiet", "--json")
    words = [word if word != "8" else "4" for word in words]
    people = ("--people", "before and after", "--votes", 2, "--ledger", ledger, "--data", tmp_path, "--database",
              site.live.settings.database)  # fmt: skip
    assert "need a lead's account" in site.cli(*words, *people, code=2)
    assert not ledger.exists(), "said before anything is drawn"
    site.client("boss", "organiser")
    (first,) = json.loads(site.cli(*words, *people))
    assert [row[0].split("#")[0] for row in first["rows"]] == ["tune_red:red"], "nobody has voted yet"

    seen: list[tuple[str, list[str]]] = []

    def choose(person, task):
        digests = re.findall(r"[0-9a-f]{64}", json.dumps(task["responses"]))
        digests = list(dict.fromkeys(digests))
        assert len(digests) == 2
        assert "toy:" not in json.dumps(task), "a task does not say whose pictures it shows"
        reds = [redness(site.client(person).get(f"/api/v1/pictures/{digest}").content) for digest in digests]
        better = 0 if reds[0] > reds[1] else 1
        seen.append((person, digests))
        return {"best": str(better if person != "cid" else 1 - better)}  # cid likes blue

    assert site.vote("before and after", VOTERS, choose) == 4 * 4 * 2
    (second,) = json.loads(site.cli(*words, *people))
    row = {entry[0].split("#")[0]: entry for entry in second["rows"]}["human"]

    with Ledger(ledger) as book:
        by_digest = {
            response.pictures[0].digest: (response.contestant, redness(response.pictures[0].data()))
            for response in book.responses()
        }
    after = json.loads((tmp_path / "out" / "tuned.json").read_text())["spec"].removeprefix("toy:").split("/")[-1]
    shares = []
    for person, digests in seen:
        (one, red_one), (other, red_other) = (by_digest[digest] for digest in digests)
        assert one != other
        redder = one if red_one > red_other else other
        preferred = redder if person != "cid" else other if redder == one else one
        shares.append(float(after in preferred))
    assert row[1]["value"] == pytest.approx(fmean(shares))
    assert row[1]["low"] < row[1]["value"] < row[1]["high"] or row[1]["value"] in {0.0, 1.0}
    assert row[3] == len(seen), "every vote counts"
