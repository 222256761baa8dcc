"""Labels of Label Studio and Argilla into a ledger and out of it: with their raters, each once."""

from __future__ import annotations

import json

import pytest

from fullbench import Case, Choice, Item, Ledger, Ranking, Response, Score, Verdict
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_verdicts
from tests.support.commands import output_of as cli

NAMES = ("红", "blue", "green")


@pytest.fixture
def place(tmp_path):
    with Ledger(tmp_path / "l.ledger") as ledger:
        for name in ("q0", "q1"):
            item = Item.ask(name, f"What is {name}? 什么？")
            for who in NAMES:
                ledger.add_response(item, Response.say(name, who, f"{who} says"))
    return tmp_path / "l.ledger"


def test_votes_go_out_to_each_tool_and_come_back_once(place, tmp_path):
    """Three people on a choice, a score, a ranking and marks for each: through both tools into new ledgers."""
    with Ledger(place) as ledger:
        item = next(one for one in ledger.items() if one.id == "q0")
        answers = [
            next(one for one in ledger.responses() if (one.item, one.contestant) == ("q0", who)) for who in NAMES
        ]
        cases = [
            (Case(item, tuple(answers[:2]), Choice(tie=True)), [(1, 0), (0, 1), (0.5, 0.5)]),
            (Case(item, tuple(answers[:1]), Score(1, 5), "style 文风"), [(4,), (5,), (1,)]),
            (Case(item, tuple(answers), Ranking()), [(3, 2, 1), (1, 2, 3), (2, 3, 1)]),
            (Case(item, tuple(answers), Score(1, 10)), [(7, 2, 10), (1, 1, 1), (5, 6, 7)]),
        ]
        for case, votes in cases:
            for person, marks in zip(("r1", "r2", "r3"), votes, strict=True):
                ledger.add(
                    case, Verdict.from_case(case, "human", marks, text=f"why {person} 理由", rater=person, at=10.0)
                )
            ledger.add(case, Verdict.from_case(case, "human", "abstained", rater="r4", at=11.0))
        ledger.flush()
        before = {(one.case, one.rater): (one.marks, one.fault) for one in ledger.verdicts("human")}
    assert len(before) == 16
    for tool in ("label-studio", "argilla"):
        file = tmp_path / f"{tool}.json"
        assert "(16 verdicts)" in cli("ledger", "export", place, "--to", file, "--as", tool, "--judge", "human")
        copy = tmp_path / f"{tool}.ledger"
        with Ledger(place, read_only=True) as source, Ledger(copy) as fresh:
            for one in source.items():
                for answer in source.responses(item_keys=[one.key]):
                    fresh.add_response(one, answer)
        assert "16 new votes of 4 raters; 0 were already there" in cli("ledger", "import", file, "--ledger", copy)
        assert "0 new votes of 4 raters; 16 were already there" in cli("ledger", "import", file, "--ledger", copy)
        with Ledger(copy, read_only=True) as fresh:
            after = {(one.case, one.rater): (one.marks, one.fault) for one in fresh.verdicts("human")}
            reasons = {one.rater: one.text for one in fresh.verdicts("human") if one.marks}
        assert after == before, tool
        assert reasons == {person: f"why {person} 理由" for person in ("r1", "r2", "r3")}


def test_exports_as_the_tools_write_them(place, tmp_path):
    """Label Studio's pairwise, choices and rating; Argilla's two versions; drafts are passed over and counted."""
    about = {"item": "q0", "contestants": ["红", "blue"]}
    studio = [
        {"id": 1, "data": {**about, "image": "x.png"}, "annotations": [
            {"completed_by": 7, "result": [{"from_name": "pw", "type": "pairwise", "value": {"selected": "right"}}]},
            {"completed_by": {"id": 8, "email": "a@b.c"},
             "result": [{"from_name": "c", "type": "choices", "value": {"choices": ["红"]}},
                        {"from_name": "reason", "type": "textarea", "value": {"text": ["因为"]}}]},
            {"completed_by": 9, "was_cancelled": True, "result": []},
            {"completed_by": 10, "result": []},
        ]},
        {"id": 2, "data": {"item": "q1", "contestants": ["green"], "ballot": "score:1-5"}, "annotations": [
            {"completed_by": 7, "result": [{"from_name": "stars", "type": "rating", "value": {"rating": 4}}]}]},
    ]  # fmt: skip
    file = tmp_path / "studio.json"
    file.write_text(json.dumps(studio, ensure_ascii=False))
    said = cli("ledger", "import", file, "--ledger", place)
    assert "4 new votes" in said
    assert "skipped: 1 without an answer" in said
    argilla = [
        {"id": "a", "fields": {"question": "?"}, "metadata": {"item": "q1", "contestants": '["红", "blue"]'},
         "responses": {"label": [{"value": "tie", "user_id": "u1", "status": "submitted"},
                                 {"value": "A", "user_id": "u2", "status": "draft"}]}},
        {"id": "b", "fields": {"question": "?"},
         "metadata": {"item": "q1", "contestants": ["红", "blue", "green"], "ballot": "ranking"},
         "responses": [{"user_id": "u1", "status": "submitted", "values": {"rank": {"value": [
             {"value": "B", "rank": 1}, {"value": "C", "rank": 2}, {"value": "A", "rank": 3}]}}}]},
    ]  # fmt: skip
    file = tmp_path / "argilla.json"
    file.write_text(json.dumps(argilla, ensure_ascii=False))
    said = cli("ledger", "import", file, "--ledger", place)
    assert "2 new votes of 1 rater" in said
    assert "skipped: 1 draft" in said
    with Ledger(place, read_only=True) as ledger:
        found = {(one.item, one.ballot, one.rater): one.marks or one.fault for one in ledger.verdicts("human")}
    assert found == {
        ("q0", "choice+tie", "7"): (0.0, 1.0), ("q0", "choice+tie", "a@b.c"): (1.0, 0.0),
        ("q0", "choice+tie", "9"): "abstained", ("q1", "score:1-5", "7"): (4.0,),
        ("q1", "choice+tie", "u1"): (0.5, 0.5), ("q1", "ranking", "u1"): (1.0, 3.0, 2.0),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "value", "said"),
    [
        ({"item": "q0", "contestants": ["红", "nobody"]}, "A", "gave no answer"),
        ({"item": "q9", "contestants": ["红", "blue"]}, "A", "not among"),
        ({"contestants": ["红", "blue"]}, "A", "needs 'item'"),
        ({"item": "q0", "contestants": ["红", "blue"]}, "Z", "must be one of A, B"),
        ({"item": "q0", "contestants": ["红"], "ballot": "score:1-5"}, "9", "not legal"),
        ({"item": "q0", "contestants": ["红"], "ballot": "score:1-5"}, "good", "a mark is a number"),
    ],
)
def test_what_does_not_fit_is_said_and_nothing_is_taken(place, tmp_path, data, value, said):
    result = {"from_name": "c", "type": "choices", "value": {"choices": [value]}}
    task = {"data": data, "annotations": [{"completed_by": 1, "result": [result]}]}
    file = tmp_path / "labels.json"
    file.write_text(json.dumps([task], ensure_ascii=False))
    with pytest.raises(InputError, match=said):
        cli("ledger", "import", file, "--ledger", place)
    with Ledger(place, read_only=True) as ledger:
        assert not list(ledger.verdicts())


@pytest.mark.parametrize("kind", ["label_studio", "argilla"])
def test_tasks_go_out_by_the_door_are_labelled_and_come_in_as_a_folder_that_runs(place, tmp_path, kind):
    """Two judges ruled on three cases of two items; two people label them in the tool, one of them passes on one."""
    with Ledger(place) as ledger:
        for item in list(ledger.items()):
            answers = {one.contestant: one for one in ledger.responses(item_keys=[item.key])}
            pairs = [(NAMES[0], NAMES[1])] if item.id == "q0" else [(NAMES[1], NAMES[0]), (NAMES[0], NAMES[2])]
            for pair in pairs:
                case = Case(item, tuple(answers[name] for name in pair), Choice(tie=True))
                for judge in ("one", "two"):
                    ledger.add(case, Verdict.from_case(case, judge, (1, 0), at=5.0))
    file, folder = tmp_path / "tasks.json", tmp_path / "back"
    told = cli("export", kind, "--ledger", place, "--out", file, "--option", "blank=yes")
    assert "3 records" in told
    tasks = json.loads(file.read_text(encoding="utf-8"))
    assert len(tasks) == 3
    assert "one" not in json.dumps([task.get("annotations", task.get("responses")) for task in tasks])
    expected = {}
    for number, task in enumerate(tasks):
        about = task["data"] if kind == "label_studio" else {**task["fields"], **task["metadata"]}
        assert about["question"] == f"What is {about['item']}? 什么？"
        votes = {"安": "AB"[number % 2], "bob": None if number == 2 else "tie"}
        for rater, vote in votes.items():
            marks = {"tie": (0.5, 0.5), "A": (1.0, 0.0), "B": (0.0, 1.0), None: "abstained"}[vote]
            expected[about["item"], tuple(about["contestants"]), rater] = marks
        if kind == "label_studio":
            task["annotations"] = [
                {"completed_by": {"email": rater}, "was_cancelled": vote is None,
                 "result": [{"from_name": "best", "type": "choices", "value": {"choices": [vote]}}] if vote else []}
                for rater, vote in votes.items()
            ]  # fmt: skip
        else:
            task["responses"] = {"best": [
                {"value": vote, "user_id": rater, "status": "submitted" if vote else "discarded"}
                for rater, vote in votes.items()
            ]}  # fmt: skip
    file.write_text(json.dumps(tasks, ensure_ascii=False), encoding="utf-8")
    told = cli("import", kind, file, "--out", folder)
    assert "2 items, 5 responses, 6 labels" in told
    labels = {(v.item, v.contestants, v.rater): v.marks or v.fault for v in read_verdicts(folder / "labels.jsonl")}
    assert labels == expected
    cli("run", folder / "study.toml", "--quiet")
