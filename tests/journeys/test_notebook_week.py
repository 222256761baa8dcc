"""A notebook with several of everything: answers, people's marks, pictures elsewhere, and a plain installation."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections import defaultdict
from statistics import fmean

import pytest
from PIL import Image
from scipy.stats import pearsonr

from fullbench import InputError, Ledger, answer, judge, report, run
from fullbench.errors import DataWarning, DueWarning
from tests.support.scripted_server import ScriptedServer

ITEMS = [{"id": f"题{n}", "question": f"Question {n}?"} for n in range(12)]
SAID = [
    {"item": item["id"], "contestant": who, "sample": sample,
     "text": "word " * (1 + (7 * n + 5 * place + 3 * sample) % 30)}
    for n, item in enumerate(ITEMS) for place, who in enumerate(("ace", "mid", "贝塔")) for sample in (0, 1)
]  # fmt: skip
LABELS = [
    {"item": row["item"], "contestants": [row["contestant"]], "samples": [row["sample"]], "rater": rater,
     "marks": [min(5, 1 + (len(row["text"]) // 30 + turn * n) % 5)]}
    for n, row in enumerate(SAID) for turn, rater in enumerate(("安", "bo", "cy"))
]  # fmt: skip


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_peoples_marks_stand_in_the_record_and_in_the_ledger():
    votes = defaultdict(list)
    for label in LABELS:
        votes[label["item"], label["contestants"][0], label["samples"][0]].append(label["marks"][0])
    for labels in (LABELS, {name: [label[name] for label in LABELS] for name in LABELS[0]}):
        record = judge(ITEMS, SAID, judge=["length", "chance"], ballot="score:1-5", labels=labels, study="周")
        own = {(v.item, *v.shown_responses[0]): v.marks[0] for v in record.where(judge="length")}
        expected = pearsonr([own[key] for key in votes], [fmean(given) for given in votes.values()]).statistic
        for tables in (report(record), report("fullbench.ledger", study="周")):
            (table,) = [table for table in tables if table.name == "agreement scores"]
            row = dict(
                zip(map(str, table.columns), table.rows[[row[0] for row in table.rows].index("length")], strict=True)
            )
            assert (row["n"], row["Pearson"].value) == (72, pytest.approx(expected))
    with Ledger("fullbench.ledger", read_only=True) as book:
        assert book.studies() == ["周"]
        assert sum(v.judge == "human" for v in book.record(study="周").verdicts) == len(LABELS), "once each"
    assert report(record, corrected=True)[2].name.startswith("corrected")
    with pytest.raises(InputError, match="give the ledger to choose another"):
        report(record, study="周")
    unnamed = [{**label, "samples": None} for label in LABELS if label["rater"] == "bo" and label["samples"] == [0]]
    with pytest.warns(DataWarning, match="labels: 36 of 36 labels are on contestants that answered several times"):
        judge(ITEMS, SAID, judge="length", ballot="score:1-5", labels=unnamed, ledger="o.ledger")
    gone = [{**label, "item": "gone"} for label in LABELS if label["item"] == "题3" and label["rater"] == "bo"]
    with pytest.warns(DataWarning, match=re.escape("6 of 42 labels are on items that are not here (gone)")):
        judge(ITEMS, SAID, judge="length", ballot="score:1-5", labels=[*unnamed, *gone], ledger="o.ledger")
    with pytest.raises(InputError, match="all 6 labels are on items that are not here, so nothing can be compared"):
        judge(ITEMS, SAID, judge="length", ballot="score:1-5", labels=gone, ledger="o.ledger")


def test_pictures_elsewhere_are_read_where_python_says_so(tmp_path, monkeypatch):
    elsewhere, here = tmp_path / "photos", tmp_path / "work"
    elsewhere.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    rows = []
    for n, item in enumerate(ITEMS[:3]):
        Image.new("RGB", (30, 20), (40 * n, 0, 0)).save(elsewhere / f"{n}.png")
        rows.append({**item, "pictures": [elsewhere / f"{n}.png"]})
    said = [row for row in SAID if row["item"] in {item["id"] for item in rows}]
    with pytest.raises(InputError, match="pictures_from in a study file, and an argument in Python"):
        judge(rows, said, judge="length", ballot="choice")
    record = judge(rows, said, judge="length", ballot="choice", pictures_from=elsewhere)
    assert [len(item.pictures) for item in record.items.values()] == [1, 1, 1]
    two = ["offline:echo", "offline:canned?text=no"]
    assert len(answer(rows, contestant=two, pictures_from=[elsewhere], samples=2)) == 12
    done = run(
        items=rows, contestant=two, judge="length", ballot="choice", pictures_from=str(elsewhere), ledger="r.ledger"
    )
    assert len(done.record) == 6


def test_answers_come_in_the_order_of_items_and_what_failed_is_a_warning():
    def said(asked):
        if "Question 5?" in asked.words:
            raise BrokenPipeError  # the line is cut
        return "good"

    with ScriptedServer({"m": said}) as server:
        specs = [f"vllm:m@{server.url}?attempts=1&seed={n}" for n in (1, 2)]
        with pytest.warns(
            DueWarning, match=r"m@.*: 2 answers failed \(2: .*\); the same call asks for what is missing"
        ):
            given = answer(ITEMS, contestant=specs, samples=2)
    there = [item["id"] for item in ITEMS if item["id"] != "题5"]
    assert [(one.item, one.sample) for one in given] == [(item, n) for item in there for _ in specs for n in (0, 1)]


def test_cells_tell_answers_apart_and_a_run_shows_its_tables():
    record = judge(ITEMS, SAID, judge="length", ballot="score:1-5")
    assert "<th>samples</th>" in record._repr_html_()
    assert "<th>samples</th>" not in record.where(lambda v: not any(v.samples))._repr_html_()
    done = run(items=ITEMS, contestant=["offline:echo", "offline:canned?text=no"], judge="length", ballot="choice")
    assert (
        repr(done) == f"StudyResult('notebook': Record(24 verdicts of 1 judge on 12 items), {len(done.tables)} tables)"
    )
    assert done._repr_html_().count("<table") == len(done.tables)
    titled = next(one for one in done.tables if one.name.startswith("leaderboard"))._repr_html_()
    assert titled.count("Leaderboard by length</") == 1, "its title once, above the chart"
    assert titled.index("<h4>") < titled.index("<svg")


def test_a_plain_installation_shows_tables_without_charts():
    code = """
import sys
sys.modules["altair"] = sys.modules["vl_convert"] = None  # as if they were not installed
from fullbench import card, judge, report
items = [{"id": f"q{n}", "question": "?"} for n in range(4)]
said = [{"item": f"q{n}", "contestant": who, "text": who * n} for n in range(1, 4) for who in ("ab", "c", "def")]
record = judge(items, said, judge="length", ballot="choice")
tables = report(record)
for shown in (tables, tables[0], card(record, "length")):
    html = shown._repr_html_()
    assert "<table" in html and "<svg" not in html, html
    assert html.count("pip install") == 1, html
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_frame_is_of_the_library_that_somebody_uses():
    for used in ("pandas", "polars"):
        pytest.importorskip(used, reason=f"{used} is not installed")
    code = """
from fullbench import judge
record = judge([{"id": "q", "question": "?"}], [{"item": "q", "contestant": c, "text": c * 3} for c in "ab"],
               judge="length", ballot="choice")
assert type(record.frame()).__module__.startswith("polars"), "both are installed, none is in use"
import pandas
assert type(record.frame()).__module__.startswith("pandas"), "what we imported ourselves does not count"
frame = record.frame("pandas")
assert {"confidence", "reasoning"} <= set(frame.columns)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_warning_where_nothing_is_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judge(ITEMS, SAID, judge="length", ballot="score:1-5", labels=LABELS)


def test_a_rubric_in_a_notebook_has_its_criteria_and_its_total(tmp_path):
    """By a model in one call, from a list, a file and the items' own column; by one that asks nobody, in one each."""
    criteria = [
        {"name": "long", "asks": "It is long.", "weight": 3},
        {"name": "kind", "asks": "好。", "ballot": "score:1-5"},
    ]

    def fills(asked):
        words = len(re.search(r"<response A \w+>(.*?)</response", asked.words, re.DOTALL)[1].split())
        points = re.findall(r"POINT (\w{4}) \(([^)]*)\)", asked.words)
        marks = (1 + words % 5 if "number" in how else "yes" if words > 12 else "no" for _, how in points)
        return "\n".join(f"POINT {code}: {mark}" for (code, _), mark in zip(points, marks, strict=True))

    def totals(record):
        (name,) = {v.judge for v in record if v.judge.startswith("rubric:")}
        return {(v.item, *v.shown_responses[0]): v.marks[0] for v in record.where(judge=name)}

    counted = {(row["item"], row["contestant"], row["sample"]): len(row["text"].split()) for row in SAID}
    expected = {place: (3 * (words > 12) + (words % 5) / 4) / 4 for place, words in counted.items()}
    with ScriptedServer({"m": fills}) as server:
        spec = f"vllm:m@{server.url}?mode=direct"
        record = judge(
            ITEMS, SAID, judge=spec, rubric=criteria, labels=[{**one, "ballot": "score:1-5"} for one in LABELS]
        )
        assert len(server.asked) == len(SAID), "one call for each answer"
        (tmp_path / "r.toml").write_text(
            '[[criteria]]\nname = "long"\nasks = "It is long."\nweight = 3\n'
            '[[criteria]]\nname = "kind"\nasks = "好。"\nballot = "score:1-5"\n', encoding="utf-8",
        )  # fmt: skip
        again = judge(ITEMS, SAID, judge=spec, rubric=tmp_path / "r.toml")
        assert len(server.asked) == len(SAID), "the same words are known"
        own = judge(
            [{**item, "rubric": criteria} for item in ITEMS], SAID, judge=spec, rubric=True, ledger="own.ledger"
        )
    for found in map(totals, (record, again, own)):
        assert found == pytest.approx(expected)
    names = {table.name for table in report(record)}
    assert {"other scales", "unusable"} <= names, "the total is compared with people's marks on their scale"
    assert len(judge(ITEMS, SAID, judge="length", rubric=criteria, ledger="l.ledger").where(criterion="long")) == len(
        SAID
    )
    for words, more in (("leave out ballot", {"ballot": "choice"}), ("given as a spec", {"judge": object()})):
        with pytest.raises(InputError, match=words):
            judge(ITEMS, SAID, **{"judge": "length", "rubric": criteria, **more})
