"""VisIT-Bench built anew: people write with pictures of their own, a model answers, people verify and then compare."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict

import httpx2 as httpx
import numpy as np
import pytest
from scipy.optimize import minimize

from fullbench import Item, Ledger, Picture
from fullbench.files.item_response_verdict_files import read_items, write_items
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from tests.journeys.voting import Site, asked, column, shown
from tests.support.commands import read_jsonl, write_rows
from tests.support.data_builders import png
from tests.support.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow
PEOPLE = ["ann", "bob", "cid"]
MODELS = ("alpha", "beta")
WORTH = {"alpha": 0.2, "beta": 0.5, "reference": 0.9}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    served = Site(tmp_path_factory.mktemp("building"), None)
    served.client("boss", "organiser")
    yield served
    served.close()


def send_picture(site, person: str, data: bytes) -> str:
    """A picture that somebody brings, by the API; its digest."""
    taken = site.client(person).post("/api/v1/pictures", files={"file": ("own.png", data, "image/png")})
    assert taken.status_code == 201, taken.text
    return taken.json()["digest"]


def write_anew(site, folder) -> list[Item]:
    """Three people write one instruction each after every seed, with pictures of their own; the items that came."""
    seeds = []
    for n in range(4):
        pictures = [Picture.from_bytes(png((n, place, 77))) for place in range(1 + n % 2)]
        tags = {"family": ("home", "路")[n % 2], "label": "correct", "verified": "yes", "objects": "cat"}
        captions = tuple(f"old caption {place}" for place in range(len(pictures)))
        seeds.append(Item.ask(f"seed{n}", f"Seed {n}?", *pictures, reference=f"old {n}", captions=captions, tags=tags))
    write_items(folder / "seeds.jsonl", seeds)
    site.people("add", "write", "--kind", "write", "--items", folder / "seeds.jsonl", "--votes", 3, "--own-pictures")
    brought: dict[str, list[bytes]] = {}

    def choose(person, task):
        seed = int(re.search(r"Seed (\d)", asked(task))[1])
        name = f"{person} asks of {seed}"
        brought[name] = [png((PEOPLE.index(person), seed, 100 + place)) for place in range(1 + seed % 2)]
        digests = [send_picture(site, person, data) for data in brought[name]]
        named = {"picture": digests[0], "caption": f"{name}: caption 0"}
        if seed % 2:
            named |= {"picture2": digests[1], "caption2": f"{name}: caption 1"}
        return {"instruction": f"{name} 什么？", **named}

    assert site.vote("write", PEOPLE, choose) == 12
    out = folder / "written.jsonl"
    site.people("export", "write", "--what", "items", "--to", out)
    written = list(read_items(out))
    assert len(written) == 12
    for item in written:
        name = item.question.removesuffix(" 什么？")
        assert [picture.data() for picture in item.pictures] == brought[name], "their own pictures, in their order"
        assert item.captions == tuple(f"{name}: caption {place}" for place in range(len(brought[name])))
        assert item.reference is None
        assert not {"label", "verified", "objects"} & set(item.tags), "what was said of the old picture is gone"
        assert item.tags["family"] in {"home", "路"}
    return written


def propose(site, folder) -> None:
    """A model writes a reference for each item from its captions."""
    models = {"w": lambda told: "[reference] of " + re.search(r"(\w+ asks of \d)", told.last)[1]}
    with ScriptedServer(models) as server:
        (folder / "refs.toml").write_text(
            'name = "refs"\nkind = "experiment"\nbenchmark = "visitbench"\ndata = "written.jsonl"\n'
            f'ledger = "refs.ledger"\n[experiment]\nwhat = "references"\nmodel = "vllm:w@{server.url}"\n'
            'out = "proposed.jsonl"\n'
        )
        site.cli("run", folder / "refs.toml", "--quiet")
    assert {row["tags"]["verified"] for row in read_jsonl(folder / "proposed.jsonl")} == {"no"}


def compare(site, folder, names: list[str]) -> dict[tuple[str, str, str], Counter]:
    """People choose between two models and the reference on every item; their votes by item and pair."""
    items = {item.id: item for item in read_items(folder / "accepted.jsonl")}
    write_rows(
        folder / "answers.jsonl",
        [{"item": name, "contestant": model, "text": f"[{model}] of {name}"} for name in items for model in MODELS],
    )
    made = ("--items", folder / "accepted.jsonl", "--responses", folder / "answers.jsonl", "--ballot", "choice")
    said = site.people("add", "bad", "--kind", "verify", *made[:2], "--with-reference", code=2)
    assert "a reference can compete only if people judge answers" in said
    site.people("add", "board", "--kind", "pair", *made, "--votes", 3, "--with-reference")
    cast: dict[tuple[str, str, str], Counter] = defaultdict(Counter)
    name_of = {item.question.removesuffix(" 什么？"): item.id for item in items.values()}

    def choose(person, task):
        found = [re.search(r"\[(\w+)\]", text)[1] for text in shown(task)]
        item = name_of[asked(task).removesuffix(" 什么？")]
        low, high = sorted(found, key=WORTH.get)
        luck = random.Random(f"{person}{item}{low}{high}").random()
        best = high if luck < 0.5 + (WORTH[high] - WORTH[low]) / 2 else low
        cast[item, *sorted(found)][best] += 1
        return {"best": str(found.index(best))}

    # Who wrote an item does not judge it: three others vote.
    assert site.vote("board", ["dee", "eve", "gus"], choose) == 3 * 3 * len(names)
    return cast


def strengths(wins: Counter) -> dict[str, float]:
    """Bradley-Terry by plain maximisation, on Elo's scale around 1000."""
    names = sorted(WORTH)

    def loss(free):
        theta = dict(zip(names, [0.0, *free], strict=True))
        return sum(count * np.logaddexp(0, theta[lost] - theta[won]) for (won, lost), count in wins.items())

    theta = np.array([0.0, *minimize(loss, [0.0] * (len(names) - 1), tol=1e-12).x])
    points = 1000 + (theta - theta.mean()) * 400 / np.log(10)
    return dict(zip(names, points, strict=True))


def test_from_seeds_to_a_human_board_with_the_reference_among_the_contestants(site, tmp_path):
    written = write_anew(site, tmp_path)
    propose(site, tmp_path)
    site.people("add", "check", "--kind", "verify", "--items", tmp_path / "proposed.jsonl", "--votes", 3)
    wrong = {item.id for n, item in enumerate(written) if n % 3 == 0}
    name_of = {item.question: item.id for item in written}

    def verify(person, task):
        against = (name_of[asked(task)] in wrong) != (person == "cid")
        return {"follows": "no", "fault": "the reference"} if against else {"follows": "yes"}

    # Who wrote an item does not verify it, so two others do.
    assert site.vote("check", [*PEOPLE, "dee", "eve"], verify) == 36
    site.people("export", "check", "--what", "queue", "--to", tmp_path / "queue.jsonl")
    site.cli("compose", "accept", "--items", tmp_path / "proposed.jsonl", "--references", tmp_path / "queue.jsonl",
             "--out", tmp_path / "accepted.jsonl")  # fmt: skip
    accepted = sorted(item.id for item in written if item.id not in wrong)
    rows = read_jsonl(tmp_path / "accepted.jsonl")
    assert sorted(row["id"] for row in rows) == accepted
    assert {row["tags"]["verified"] for row in rows} == {"yes"}
    assert all(row["reference"].startswith("[reference] of ") and row["tags"]["reference by"] for row in rows)

    cast = compare(site, tmp_path, accepted)
    (tmp_path / "board.toml").write_text(
        'name = "board"\nbenchmark = "visitbench"\ndata = "accepted.jsonl"\nresponses = "answers.jsonl"\n'
        'ledger = "board.ledger"\njudges = ["length", "meteor"]\n'
    )
    site.cli("run", tmp_path / "board.toml", "--quiet")
    with Ledger(tmp_path / "board.ledger", read_only=True) as book:
        ruled = Counter((verdict.judge, verdict.item) for verdict in book.verdicts())
    assert ruled == {(judge, name): 6 for judge in ("length", "meteor") for name in accepted}, "3 pairs, both orders"
    site.people("keep", "board", "--ledger", tmp_path / "board.ledger")
    every = json.loads(site.cli("report", "--ledger", tmp_path / "board.ledger", "--benchmark", "visitbench", "--json"))
    board = next(table for table in every if table["title"].startswith("Leaderboard by human"))
    wins = Counter()
    for (_, *pair), votes in cast.items():
        for won, lost in (pair, pair[::-1]):
            wins[won, lost] += votes[won]
    expected = strengths(wins)
    assert column(board, "rating") == pytest.approx(expected, abs=0.01)
    share = {name: wins[name, "reference"] / (wins[name, "reference"] + wins["reference", name]) for name in MODELS}
    against = column(board, "wins against the reference")
    assert {name: against[name] for name in MODELS} == pytest.approx(share)
    assert len(cast) == 3 * len(accepted), "every pair of three contestants on every item"


def test_a_picture_comes_with_a_plain_form_and_only_ones_own_counts(site, tmp_path):
    """Without the page's script: the file travels with the form; a refused form keeps it, and another's is refused."""
    write_items(tmp_path / "one.jsonl", [Item.ask("s", "Seed?", Picture.from_bytes(png((1, 1, 1))))])
    site.people("add", "plainly", "--kind", "write", "--items", tmp_path / "one.jsonl", "--own-pictures")
    site.people("add", "no pictures", "--kind", "write", "--items", tmp_path / "one.jsonl")
    said = site.people("add", "x", "--kind", "pair", "--items", tmp_path / "one.jsonl", "--own-pictures", code=2)
    assert "where they write" in said
    stolen = send_picture(site, "boss", png((9, 9, 9)))
    own = png((200, 10, 10))
    cookies = {SESSION: site.live.cookie("fay", "annotator")["value"]}
    with httpx.Client(base_url=site.live.url, cookies=cookies, follow_redirects=True) as browser:
        path = f"/work/{site.study('plainly')}"
        token = browser.get("/account").text.split('name="csrf" content="')[1][:64]
        page = browser.get(path).text
        fields = {name: re.search(rf'name="{name}" value="([^"]*)"', page)[1] for name in ("lease", "key", "replaces")}
        fields |= {"csrf": token, "instruction": "What? 什么？", "caption": "red"}
        assert "bring a picture of your own" in browser.post(path + "/vote", data={**fields, "picture": ""}).text
        refused = browser.post(path + "/vote", data={**fields, "picture": stolen})
        assert (refused.status_code, "none that you sent" in refused.text) == (422, True)
        refused = browser.post(path + "/vote", data=fields, files={"file": ("p.png", b"no picture", "image/png")})
        assert (refused.status_code, "not a picture" in refused.text) == (422, True)
        half = browser.post(
            path + "/vote", data={**fields, "instruction": " "}, files={"file": ("p.png", own, "image/png")}
        )
        digest = Picture.from_bytes(own).digest
        assert (half.status_code, f'name="picture" value="{digest}"' in half.text) == (422, True)
        assert browser.get(f"/pictures/{digest}").content == own
        assert browser.post(path + "/vote", data={**fields, "picture": digest}).status_code == 200
        other = f"/work/{site.study('no pictures')}"
        taken = browser.post(other + "/picture", files={"file": ("p.png", own, "image/png")},
                             headers={"X-CSRF-Token": token})  # fmt: skip
        assert (taken.status_code, taken.json()) == (400, {"detail": "this campaign takes no pictures"})
        sent = browser.post(path + "/picture", files={"file": ("p.png", own, "image/png")},
                            headers={"X-CSRF-Token": token})  # fmt: skip
        assert sent.json() == {"picture": digest}
    site.people("export", "plainly", "--what", "items", "--to", tmp_path / "w.jsonl")
    (item,) = read_items(tmp_path / "w.jsonl")
    assert [picture.data() for picture in item.pictures] == [own]
