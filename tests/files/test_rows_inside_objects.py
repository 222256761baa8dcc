"""Rows inside a JSON object, and Label Studio's JSON_MIN annotations."""

from __future__ import annotations

import json

import pytest

from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items
from tests.files.several import rich
from tests.files.test_exchange import put, taken


@pytest.mark.parametrize("name", ["data", "items"])
@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_that_is_all_that_an_object_holds_is_read(tmp_path, name, indent):
    rows = [{"id": f"q{n}", "question": f"问 {n}? ]}}"} for n in range(3_000)]
    (tmp_path / "items.json").write_text(json.dumps({name: rows}, indent=indent, ensure_ascii=False), encoding="utf-8")
    assert [(item.id, item.question) for item in read_items(tmp_path / "items.json")] == [
        (row["id"], row["question"]) for row in rows
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"version": 1, "data": [{"id": "1", "question": "q"}]}', "this object holds other things"),
        ('{"data": [{"id": "1", "question": "q"}], "version": 1}', "this object holds other things"),
        ('{"data": {"1": {"question": "q"}}}', "jq .data FILE"),
        ("{}", "a .json file must contain one array [...]"),
        ('{"data": [{"id": "1", "question": "q"}]} more', "something follows the end of the array"),
        ('{"data": [{"id": "1", "question": "q"}', "closing bracket ] is missing"),
        ('{"data', "not valid JSON"),
    ],
)
def test_an_object_with_other_things_is_refused_with_what_to_do(tmp_path, text, told):
    (tmp_path / "items.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        list(read_items(tmp_path / "items.json"))
    assert told in str(error.value)


def minimal(task: dict, annotation: dict) -> dict:
    """One annotation as the converter of Label Studio's own SDK (2.1.2) writes it as JSON_MIN."""
    answers = {}
    for result in annotation["result"]:
        kind, value = result["type"], result["value"]
        plain = kind in {"choices", "textarea"}
        (content,) = value.values()
        answers[result["from_name"]] = content[0] if plain and len(content) == 1 else [value]
    about = {"annotation_id": annotation["id"], "created_at": annotation["created_at"], "updated_at": None,
             "lead_time": annotation["lead_time"]}  # fmt: skip
    return {**task["data"], "id": task["id"], **answers, "annotator": annotation["completed_by"]["email"], **about}


def test_json_min_says_what_the_whole_export_says_but_for_what_people_skipped(cli, tmp_path):
    rich(tmp_path / "rich.ledger")
    code, _, err = cli("export", "label-studio", "--ledger", tmp_path / "rich.ledger", "--out", "tasks.json")
    assert code == 0, err
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    rows = [minimal(task, one) for task in tasks for one in task["annotations"] if not one["was_cancelled"]]
    put(tmp_path / "min.json", rows)
    whole, flat = (taken(cli, "label_studio", tmp_path / name) for name in ("tasks.json", "min.json"))
    assert {name: item.key for name, item in whole[0].items()} == {name: item.key for name, item in flat[0].items()}
    assert {key: one.parts for key, one in whole[1].items()} == {key: one.parts for key, one in flat[1].items()}
    told = [
        [(v.judge, v.rater, v.case, v.ballot, v.criterion, v.trial, v.marks, v.text) for v in ruled if v.marks]
        for _, _, ruled in (whole, flat)
    ]
    assert sorted(told[0]) == sorted(told[1])
    assert len(told[1]) == len(rows) == 36
    code, _, err = cli("ledger", "import", "min.json", "--ledger", tmp_path / "rich.ledger")
    assert code == 0, err
