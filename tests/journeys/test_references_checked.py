"""References that people check over HTTP: VisIT-Bench's Table 2 from single votes, AlignMMBench's review."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict

import pytest

from fullbench import Item, Ledger, Picture, Verdict
from fullbench.files.item_response_verdict_files import read_items, write_items
from fullbench.studies.authoring.human_review_of_rewordings_and_references import REASONS
from tests.journeys.voting import Site, asked, shown, tables
from tests.support.commands import cells as cells_of
from tests.support.data_builders import png
from tests.support.scripted_server import ScriptedServer

PEOPLE = ["ann", "bob", "cid", "dee"]
FAULTS = ("the instruction", "the caption", "the reference", "the picture", "more than one")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    served = Site(tmp_path_factory.mktemp("references"), None)
    served.client("boss", "organiser")
    yield served
    served.close()


def said(person: str, item: str, wrong: float) -> dict[str, str]:
    """What somebody says of a reference: a draw of their own, where it is wrong with a fault and mostly a complaint."""
    luck = random.Random(f"{person}/{item}")
    if luck.random() > wrong:
        return {"follows": "yes"}
    fault = luck.choices(FAULTS, (1, 4, 4, 1, 1))[0]
    complaint = luck.choices(("", *REASONS), (1, 6, 2, 2, 1))[0]
    return {"follows": "no", "fault": fault, "complaint": complaint, "reason": f"{person} 说 {item}"}


def test_visit_bench_table_2(site, tmp_path):
    """Four people, three votes a reference, one cannot judge one of them; single and multi images, captions shown."""
    items = []
    for number in range(24):
        pictures = [Picture.from_bytes(png((number, place, 9))) for place in range(1 + number % 2)]
        captions = tuple(f"Caption {place} of v{number}." for place in range(len(pictures)))
        items.append(
            Item.ask(f"v{number}", f"Do v{number}.", *pictures, reference=f"Answer to v{number}.", captions=captions)
        )
    write_items(tmp_path / "items.jsonl", items)
    wrong = {item.id: random.Random(item.id).choice((0.1, 0.5, 0.9)) for item in items}
    site.people("add", "table 2", "--kind", "verify", "--items", tmp_path / "items.jsonl", "--votes", 3, "--paper",
                "visitbench")  # fmt: skip
    cast: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)

    def choose(person, task):
        name = re.search(r"Do (v\d+)\.", asked(task))[1]
        number = int(name[1:])
        assert shown(task) == [f"Answer to {name}."], "the reference is shown"
        assert task["captions"] == [f"Caption {place} of {name}." for place in range(1 + number % 2)]
        if (person, name) in unable:
            return {"abstained": "yes", "reason": "too dark"}
        cast[name][person] = said(person, name, wrong[name])
        return cast[name][person]

    unable = {("ann", "v3"), ("ann", "v4"), ("ann", "v5")}
    site.vote("table 2", PEOPLE, choose)
    assert all(len(votes) == 3 for votes in cast.values()), "who cannot judge is replaced by somebody who can"
    ledger = tmp_path / "v.ledger"
    site.people("keep", "table 2", "--ledger", ledger)
    found = tables(site.cli("report", "--ledger", ledger, "--benchmark", "visitbench", "--json"))["references"]

    def label(votes: dict[str, dict[str, str]]) -> set[str]:
        against = [vote["fault"] for vote in votes.values() if vote["follows"] == "no"]
        if len(against) < 2:
            return {"correct"}
        at_fault = set()
        for what in ("caption", "reference"):
            if sum(fault in {f"the {what}", "more than one"} for fault in against) > len(against) / 2:
                at_fault.add(f"{what} at fault")
        return at_fault or {"neither at fault"}

    labels = {name: label(votes) for name, votes in cast.items()}
    groups = {
        "overall": list(labels),
        "single": [name for name in labels if int(name[1:]) % 2 == 0],
        "multi": [name for name in labels if int(name[1:]) % 2 == 1],
    }
    named = [column["label"] if isinstance(column, dict) else column for column in found["columns"]]
    shares = cells_of({**found, "columns": named}, "share", "images", "people said")
    assert {group for group, _ in shares} == set(groups)
    for (group, what), share in shares.items():
        assert share == pytest.approx(sum(what in labels[name] for name in groups[group]) / len(groups[group])), what
    assert {what for (group, what), share in shares.items() if group == "overall" and share} >= {
        "correct", "caption at fault", "reference at fault"
    }  # fmt: skip
    assert "72 votes of 4 people on 24 references" in " ".join(found["notes"])
    abstained = sum(1 for _ in unable)
    with Ledger(ledger, read_only=True) as book:
        kept = list(book.verdicts("human"))
    told = [verdict for verdict in kept if verdict.fault == "abstained" and verdict.criterion == "reference verified"]
    assert len(told) <= abstained
    counted = re.findall(r"(\d+) times? a person could not judge", " ".join(found["notes"]))
    assert counted == ([str(len(told))] if told else [])
    assert len({verdict.rater for verdict in kept}) == 4

    # The lead's table of the study, before any ledger, has the same shares.
    own = tables(site.people("show", "table 2", "--json"))["references"]
    assert [row[:2] for row in own["rows"]] == [row[:2] for row in found["rows"]]
    assert [row[2]["value"] for row in own["rows"]] == pytest.approx([row[2]["value"] for row in found["rows"]])

    # A ledger that holds votes on references and on answers keeps them apart.
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(
        json.dumps({"item": item.id, "contestant": who, "text": f"[{who}] {item.id}"}) + "\n"
        for item in items[:4] for who in ("x", "y")
    ))  # fmt: skip
    site.people("add", "pairs of v", "--kind", "pair", "--ballot", "choice", "--items", tmp_path / "items.jsonl",
                "--responses", answers, "--votes", 2)  # fmt: skip
    site.vote("pairs of v", PEOPLE[:2], lambda _person, task: {"best": str(shown(task).index(min(shown(task))))})
    site.people("keep", "pairs of v", "--ledger", ledger)
    both = tables(site.cli("report", "--ledger", ledger, "--benchmark", "visitbench", "--json"))
    assert both["references"] == found
    board = next(table for table in both.values() if table["title"].startswith("Leaderboard by human"))
    assert {row[1] for row in board["rows"]} == {"x", "y"}, "a reference that was checked is no contestant"

    # A second criterion has tables of its own.
    site.people("add", "visual of v", "--kind", "pair", "--ballot", "choice", "--items", tmp_path / "items.jsonl",
                "--responses", answers, "--votes", 2, "--criterion", "visual")  # fmt: skip
    site.vote("visual of v", PEOPLE[:2], lambda _person, task: {"best": str(shown(task).index(max(shown(task))))})
    site.people("keep", "visual of v", "--ledger", ledger)
    with Ledger(ledger, study="default") as book:
        for verdict in list(book.verdicts("human")):
            if len(verdict.contestants) == 2:
                first = min(verdict.contestants)
                marks = tuple(float(name == first) for name in verdict.contestants)
                book.add(book.case(verdict.case), Verdict.from_case(book.case(verdict.case), "namer", marks))
    apart = tables(site.cli("report", "--ledger", ledger, "--benchmark", "visitbench", "--json"))
    for name, hit in (("people", 1.0), ("people on visual", 0.0)):
        assert {row[2]["value"] for row in apart[name]["rows"] if row[0] == "namer"} == {hit}, name
    assert apart["references"] == found


def test_align_mm_bench_reviews_its_references(site, tmp_path):
    """Three people review Chinese references with the four reasons; what most accept becomes the benchmark."""
    items = [
        Item.ask(f"a{n}", f"问题 a{n}？", reference=f"参考 a{n}", tags={"task": "Counting" if n % 2 else "OCR"})
        for n in range(20)
    ]
    write_items(tmp_path / "items.jsonl", items)
    wrong = {item.id: random.Random(item.id + "x").choice((0.1, 0.5, 0.9)) for item in items}
    site.people("add", "审核", "--kind", "verify", "--items", tmp_path / "items.jsonl", "--votes", 3, "--paper",
                "alignmmbench")  # fmt: skip
    cast: dict[str, list[dict[str, str]]] = defaultdict(list)

    def choose(person, task):
        name = re.search(r"问题 (a\d+)？", asked(task))[1]
        assert shown(task) == [f"参考 {name}"]
        cast[name].append(said(person, name, wrong[name]))
        return cast[name][-1]

    assert site.vote("审核", PEOPLE[:3], choose) == 60
    queue, out = tmp_path / "queue.jsonl", tmp_path / "accepted.jsonl"
    site.people("export", "审核", "--what", "queue", "--to", queue)
    made = site.cli(
        "compose", "accept", "--items", tmp_path / "items.jsonl", "--references", queue, "--out", out, "--json"
    )
    accepted = [name for name, votes in cast.items() if sum(vote["follows"] == "yes" for vote in votes) > 1]
    assert sorted(item.id for item in read_items(out)) == sorted(accepted)
    assert 3 < len(accepted) < 17

    def reason(votes: list[dict[str, str]]) -> str:
        """What most of those say who turn it down, of equally many the first; whose fault it is where nobody says."""
        against = [vote for vote in votes if vote["follows"] == "no"]
        for what in ("complaint", "fault"):
            counts = Counter(vote[what] for vote in against if vote[what])
            if counts:
                return next(name for name, count in counts.items() if count == max(counts.values()))
        raise AssertionError

    expected = Counter(reason(votes) for name, votes in cast.items() if name not in accepted)
    expected["accepted"] = len(accepted)
    (table,) = json.loads(made)
    assert {row[0]: row[1] for row in table["rows"]} == dict(expected)
    assert len(set(expected) & set(REASONS)) >= 2
    notes = {row["item"]: row["note"] for row in map(json.loads, queue.read_text(encoding="utf-8").splitlines())}
    for name, votes in cast.items():
        if name not in accepted:
            against = [vote["reason"] for vote in votes if vote["follows"] == "no"]
            assert notes[name].split(" / ") == against, "every reviewer's words are there"
    ledger = tmp_path / "a.ledger"
    site.people("keep", "审核", "--ledger", ledger)
    report = tables(site.cli("report", "--ledger", ledger, "--benchmark", "alignmmbench", "--json"))
    assert not [name for name in report if name.startswith("averages")], "a reviewed reference is no contestant"


def test_people_write_references_others_accept_them_and_the_critic_rates_by_them(site, tmp_path):
    """Section 3: two people write answers, others review them, two are written again, and what holds is rated by."""
    items = [Item.ask(f"w{n}", f"问题 w{n}？", tags={"task": "Counting" if n % 2 else "OCR"}) for n in range(6)]
    write_items(tmp_path / "bare.jsonl", items)
    wrong = {"w1", "w4"}

    def rounds(name: str, source, text: str) -> tuple[list[Item], list[Item]]:
        """A round of writing and reviewing: what was accepted, and what has to be written again."""
        site.people(
            "add", name, "--kind", "write", "--texts", "reference", "--items", source, "--paper", "alignmmbench"
        )

        def write(person, task):
            assert task["texts"] == ["reference"]
            item = re.search(r"问题 (w\d+)", asked(task))[1]
            return {"reference": f"{text} {item} by {person}"}

        assert site.vote(name, PEOPLE[:2], write) == len(list(read_items(source)))
        written = tmp_path / f"{name}.jsonl"
        site.people("export", name, "--what", "items", "--to", written)
        assert all(item.tags["verified"] == "no" and item.tags["author"] for item in read_items(written))
        reviews = f"{name} reviewed"
        site.people("add", reviews, "--kind", "verify", "--items", written, "--votes", 2)

        def review(person, task):
            (words,) = shown(task)
            assert person not in words, "nobody reviews what they wrote"
            bad = words.startswith("草稿") and any(item in words for item in wrong)
            fault = {"follows": "no", "fault": "the reference", "complaint": "factual error"}
            return fault if bad else {"follows": "yes"}

        site.vote(reviews, PEOPLE, review)
        queue, out = tmp_path / f"{name}-queue.jsonl", tmp_path / f"{name}-accepted.jsonl"
        site.people("export", reviews, "--what", "queue", "--to", queue)
        site.cli("compose", "accept", "--items", written, "--references", queue, "--out", out, "--json")
        accepted = list(read_items(out))
        names = {item.id for item in accepted}
        return accepted, [item for item in read_items(written) if item.id not in names]

    good, again = rounds("初稿", tmp_path / "bare.jsonl", "草稿")
    assert {item.id.partition("-")[0] for item in again} == wrong
    write_items(tmp_path / "again.jsonl", again)
    mended, left = rounds("重写", tmp_path / "again.jsonl", "定稿")
    assert (len(mended), left) == (2, [])
    final = [*good, *mended]
    write_items(tmp_path / "final.jsonl", final)
    (tmp_path / "answers.jsonl").write_text("".join(
        json.dumps({"item": item.id, "contestant": who, "text": f"[{who}] {item.id}"}) + "\n"
        for item in final for who in ("x", "y")
    ))  # fmt: skip

    def rate(asked_for) -> str:
        """Nine where the reference that is in sight was written last and accepted."""
        who = re.search(r"\[([xy])\] (w\d)", asked_for.words)
        text = "定稿" if who[2] in wrong else "草稿"
        return json.dumps({"Rating": 9 if f"{text} {who[2]} by" in asked_for.words else 1, "Reason": "对照参考答案。"})

    with ScriptedServer({"critic": rate}) as server:
        (tmp_path / "s.toml").write_text(
            'name = "s"\nbenchmark = "alignmmbench"\ndata = "final.jsonl"\nresponses = "answers.jsonl"\n'
            f'ledger = "s.ledger"\njudges = ["critic:vllm:critic@{server.url}"]\n',
            encoding="utf-8",
        )
        found = tables(site.cli("run", tmp_path / "s.toml", "--quiet", "--json"))
    (board,) = [table for name, table in found.items() if name.startswith("averages")]
    assert cells_of(board, "mean over questions", "contestant") == {"x": 9.0, "y": 9.0}
    assert cells_of(board, "questions", "contestant") == {"x": 6, "y": 6}


def test_a_leads_ruling_decides_a_reference(site, tmp_path):
    """Two people are split on four of ten references; a lead rules on three of them and on one that both accept."""
    pictures = [[Picture.from_bytes(png((n, place, 99))) for place in range(1 + n % 2)] for n in range(10)]
    items = [Item.ask(f"r{n}", f"Do r{n}. 做", *some, reference=f"Answer r{n}") for n, some in enumerate(pictures)]
    write_items(tmp_path / "items.jsonl", items)
    site.people("add", "ruled", "--kind", "verify", "--items", tmp_path / "items.jsonl", "--votes", 2)
    turned_down = {"ann": {"r0", "r1", "r2", "r3", "r8"}, "bob": {"r8"}}

    def choose(person, task):
        name = re.search(r"Do (r\d+)\.", asked(task))[1]
        if name not in turned_down[person]:
            return {"follows": "yes"}
        return {"follows": "no", "fault": "the caption", "reason": f"{person} 说 {name}"}

    assert site.vote("ruled", PEOPLE[:2], choose) == 20
    boss, path = site.client("boss", "organiser"), f"/api/v1/studies/{site.study('ruled')}/tasks"
    tasks = {row["item"]: row["task"] for row in boss.get(path, params={"limit": 50}).json()["rows"]}
    rulings = (
        ("r0", {"follows": "no", "fault": "the caption"}),
        ("r0", {"follows": "yes", "reason": "read again 再看"}),
        ("r1", {"follows": "no", "fault": "the reference", "complaint": "factual error", "reason": "3 dogs"}),
        ("r2", {"follows": "no", "fault": "more than one"}),
        ("r4", {"follows": "no", "fault": "the picture"}),
    )
    for name, fields in rulings:
        sent = boss.post(f"{path}/{tasks[name]}/adjudications", json={"fields": fields})
        assert sent.status_code == 201, sent.text
    expected = {
        "r0": {"correct"}, "r1": {"reference at fault"}, "r2": {"caption at fault", "reference at fault"},
        "r3": {"undecided"}, "r4": {"neither at fault"}, "r8": {"caption at fault"},
        **{f"r{n}": {"correct"} for n in (5, 6, 7, 9)},
    }  # fmt: skip
    groups = {"overall": list(expected), "single": [f"r{n}" for n in range(0, 10, 2)],
              "multi": [f"r{n}" for n in range(1, 10, 2)]}  # fmt: skip
    ledger = tmp_path / "ruled.ledger"
    site.people("keep", "ruled", "--ledger", ledger)
    own = tables(site.people("show", "ruled", "--json"))["references"]
    found = tables(site.cli("report", "--ledger", ledger, "--benchmark", "visitbench", "--json"))
    for table in (own, found["references"]):
        named = [column["label"] if isinstance(column, dict) else column for column in table["columns"]]
        shares = cells_of({**table, "columns": named}, "share", "images", "people said")
        assert len(shares) == 15
        for (group, what), share in shares.items():
            said_so = sum(what in expected[name] for name in groups[group])
            assert share == pytest.approx(said_so / len(groups[group])), (group, what)
        notes = " ".join(table["notes"])
        assert "20 votes of 2 people on 10 references" in notes
        assert (
            "A lead decided 4 references. The lead's decision counts instead of the votes, which are all kept." in notes
        )
    assert not [name for name, table in found.items() if "adjudication" in table["title"]], "a ruling has no board"

    # The queue follows the ruling too, with the lead's words; a split on which nobody ruled waits.
    queue = tmp_path / "queue.jsonl"
    site.people("export", "ruled", "--what", "queue", "--to", queue)
    rows = {row["item"]: row for row in map(json.loads, queue.read_text(encoding="utf-8").splitlines())}
    accepted = {name: row["accept"] for name, row in rows.items()}
    assert accepted == {name: "yes" if labels == {"correct"} else None if labels == {"undecided"} else "no"
                        for name, labels in expected.items()}  # fmt: skip
    assert (rows["r1"]["fault"], rows["r1"]["reason"], rows["r1"]["note"]) == (
        "the reference",
        "factual error",
        "3 dogs",
    )
    assert rows["r0"]["note"] == "read again 再看"
