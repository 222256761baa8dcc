"""Annotators see criterion, reference and guideline, and votes keep the guideline they were cast under."""

from __future__ import annotations

import httpx2 as httpx
import pytest

from fullbench import Case, Choice, Item, Ledger, Picture, Response, Score, Verdict
from fullbench.files.item_response_verdict_files import read_items, write_items
from fullbench.files.row_readers import read_rows
from fullbench.studies.authoring.human_review_of_rewordings_and_references import REASONS
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from tests.journeys.voting import Site
from tests.support.data_builders import png


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("told")
    with Ledger(folder / "l.ledger") as book:
        for number in range(4):
            item = Item.ask(f"t{number}", f"Question {number}?", reference=f"the right answer {number}")
            pair = tuple(Response.say(item.id, name, f"{name} on {number}") for name in ("x", "y"))
            case = Case(item, pair, Choice(), "visual")
            book.add(case, Verdict.from_case(case, "judge", (1.0, 0.0), text=f"because {number}"))
            single = Case(item, pair[:1], Score(1, 5))
            book.add(single, Verdict.from_case(single, "judge", (3.0,)))
    served = Site(folder, folder / "l.ledger")
    yield served
    served.close()


def task_of(site, campaign: str, name: str = "ann") -> dict:
    path = f"/api/v1/studies/{site.study(campaign)}/next"
    return site.client(name).post(path, json={}).json()["task"]


def page_of(site, campaign: str, name: str, language: str) -> str:
    cookies = {SESSION: site.live.cookie(name, "annotator")["value"]}
    with httpx.Client(base_url=site.live.url, cookies=cookies, headers={"Accept-Language": language}) as browser:
        return browser.get(f"/work/{site.study(campaign)}").text


def test_criterion_reference_and_the_shipped_guideline(site):
    site.people("add", "which", "--kind", "pair", "--ledger", site.ledger, "--criterion", "correctness")
    assert (task_of(site, "which")["criterion"], task_of(site, "which")["reference"]) == ("correctness", "")
    assert "the right answer" not in page_of(site, "which", "p1", "en")
    site.people("add", "against", "--kind", "score", "--ledger", site.ledger, "--paper", "alignmmbench",
                "--ballot", "score:1-10")  # fmt: skip
    assert task_of(site, "against")["reference"].startswith("the right answer"), "its guideline marks against it"
    site.people("set", "which", "--reference")
    page = page_of(site, "which", "p2", "en")
    assert "the right answer" in page
    assert "Judge only this: correctness" in page
    assert "Choose the better answer" in page
    assert "选出更好的回答" in page_of(site, "which", "p3", "zh-CN")
    site.people("add", "told", "--kind", "agree", "--ledger", site.ledger)
    assert task_of(site, "told")["criterion"] == "visual", "which ruling it is about"


def test_a_vote_knows_the_guideline_it_was_given_under(site, tmp_path):
    guide = tmp_path / "guide.txt"
    guide.write_text("# 看两遍\n\nLook twice.", encoding="utf-8")
    site.people("add", "versions", "--kind", "score", "--ledger", site.ledger, "--guidelines", guide)
    before = task_of(site, "versions")
    assert before["guideline"] == "versions 1"
    with httpx.Client(
        base_url=site.live.url, cookies={SESSION: site.live.cookie("lead", "organiser")["value"]}
    ) as lead:
        token = lead.get("/account").text.split('name="csrf" content="')[1][:64]
        answer = lead.post(
            f"/organise/{site.study('versions')}/guidelines", data={"csrf": token, "guidelines": "Look three times."}
        )
        assert answer.status_code == 303
    path = f"/api/v1/studies/{site.study('versions')}/votes"
    first = {
        "lease": before["lease"],
        "key": before["lease"],
        "fields": {"mark": "4"},
        "guideline": before["guideline"],
    }
    assert site.client("ann").post(path, json=first).status_code == 201
    assert site.vote("versions", ["ann"], lambda _name, _task: {"mark": "2"}) > 0
    site.people("keep", "versions", "--ledger", site.ledger)
    with Ledger(site.ledger, read_only=True) as ledger:
        said = [vote.circumstances.guideline for vote in ledger.verdicts("human") if vote.ballot == "score:1-5"]
    assert sorted(set(said)) == ["versions 1", "versions 2"]
    assert said.count("versions 1") == 1
    site.people("export", "versions", "--to", tmp_path / "votes.jsonl")
    assert {row["guideline"] for _, row in read_rows(tmp_path / "votes.jsonl")} == {"versions 1", "versions 2"}


def test_a_new_instruction_has_no_old_reference_and_each_picture_its_caption(site, tmp_path):
    pictures = (Picture.from_bytes(png()), Picture.from_bytes(png((9, 9, 9))))
    old = Item.ask("seed", "What differs?", *pictures, reference="an old answer", tags={"verified": "yes"})
    write_items(tmp_path / "items.jsonl", [old])
    site.people("add", "write", "--kind", "write", "--items", tmp_path / "items.jsonl")
    sent = {"instruction": "数一数", "caption": "Two cats.", "caption2": "三只狗。"}
    assert site.vote("write", ["ann"], lambda _name, _task: sent) == 1
    site.people("export", "write", "--what", "items", "--to", tmp_path / "new.jsonl")
    (item,) = read_items(tmp_path / "new.jsonl")
    assert (item.question, item.reference, item.captions) == ("数一数", None, ("Two cats.", "三只狗。"))
    assert (len(item.pictures), "verified" in item.tags) == (2, False)


def test_the_caption_can_be_at_fault(site, tmp_path):
    item = Item.ask("v", "How many?", Picture.from_bytes(png()), reference="five", captions=("Four squares.",))
    write_items(tmp_path / "items.jsonl", [item])
    site.people("add", "check", "--kind", "verify", "--items", tmp_path / "items.jsonl")
    assert task_of(site, "check")["captions"] == ["Four squares."]
    sent = {"follows": "no", "fault": "the caption", "complaint": next(iter(REASONS))}
    assert site.vote("check", ["ann"], lambda _name, _task: sent) == 1
    site.people("export", "check", "--what", "queue", "--to", tmp_path / "queue.jsonl")
    assert [row["fault"] for _, row in read_rows(tmp_path / "queue.jsonl")] == ["the caption"]


def test_nobody_has_both_tasks_on_one_picture(site, tmp_path):
    """To choose and to agree are two studies; six people share them, and on a picture nobody does both."""
    ledger = tmp_path / "u.ledger"
    with Ledger(ledger) as book:
        for number in range(6):
            item = Item.ask(f"u{number}", f"Question {number}?", Picture.from_bytes(png((number, 0, 0))))
            pair = tuple(Response.say(item.id, name, f"{name} on {number}") for name in ("x", "y"))
            case = Case(item, pair, Choice())
            book.add(case, Verdict.from_case(case, "judge", (1.0, 0.0), text=f"because {number}"))
    site.people("add", "choose", "--kind", "pair", "--ledger", ledger, "--votes", 2)
    made = ("--kind", "agree", "--ledger", ledger, "--votes", 2, "--separate-from", "choose")
    site.people("add", "agree", *made)
    met: dict[str, dict[str, set[str]]] = {"choose": {}, "agree": {}}

    def choose(name, task):
        number = next(part["text"] for turn in task["turns"] for part in turn["parts"] if "text" in part)
        met["choose" if task["kind"] == "pair" else "agree"].setdefault(name, set()).add(number)
        return {"best": "0"} if task["kind"] == "pair" else {"agree": "yes", "grade": "3", "hallucination": "no"}

    people = ["ann", "bob", "cid", "dee", "eve", "fay"]
    assert site.vote("choose", people[:3], choose) == 12
    assert site.vote("agree", people, choose) == 12
    for name in people:
        assert not met["choose"].get(name, set()) & met["agree"].get(name, set()), name
    assert sum(map(len, met["agree"].values())) == 12
    assert "there is no campaign 'nowhere'" in site.people("add", "x", *made[:-1], "nowhere", code=2)
