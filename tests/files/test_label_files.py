"""Records of Label Studio and Argilla: pictures, dialogues, several people and judges go out and come back, in every
shape in which the tools' own packages write them (label-studio-sdk 2.1, argilla 2.8)."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from uuid import UUID

import pytest

from fullbench.core.item import parts_content
from fullbench.core.verdict_record import Record
from fullbench.files.item_response_verdict_folder import own_record
from tests.files.several import left_out, rich

CONFIG = """<View>
  <Text name="question" value="$question"/><List name="answers" value="$answers"/>
  <Choices name="best" toName="question"><Choice value="A"/><Choice value="B"/><Choice value="tie"/></Choices>
  <Number name="mark" toName="question"/><TextArea name="reason" toName="question"/>
  <Ranker name="order" toName="answers"/>
</View>"""


def shown(record: Record) -> tuple[object, ...]:
    """What such records hold of a record: what was asked and answered in the cases, and who said what."""
    spoken = {(verdict.item, *place) for verdict in record for place in verdict.shown_responses}
    items = {name: [(turn.role, parts_content(turn.parts)) for turn in item.turns]
             for name, item in record.items.items() if name in {item for item, *_ in spoken}}  # fmt: skip
    answers = {place: parts_content(one.parts) for place, one in record.responses.items() if place in spoken}
    return (
        items,
        answers,
        Counter(
            (v.judge, v.item, v.shown_responses, v.ballot, v.criterion, v.trial, v.rater, v.marks or v.fault, v.text)
            for v in record
        ),
    )


def as_json(records: list[dict]) -> list[dict]:
    """What Argilla's to_json makes of records: states of answers are gone, other fields are there."""
    return [
        {**record, "responses": {name: [{"value": one["value"], "user_id": one["user_id"]} for one in given]
                                 for name, given in record["responses"].items()},
         "vectors": {}, "status": "completed", "_server_id": None}
        for record in records
    ]  # fmt: skip


def as_columns(records: list[dict]) -> list[dict]:
    """What its data set on the hub has: fields and metadata are columns, and each question's answers are three."""
    rows = []
    for record in records:
        row = {"id": record["id"], "status": "completed", "_server_id": None, **record["fields"], **record["metadata"]}
        for name, given in record["responses"].items():
            row[f"{name}.responses"] = [one["value"] for one in given]
            row[f"{name}.responses.users"] = [one["user_id"] for one in given]
            row[f"{name}.responses.status"] = [one["status"] for one in given]
        rows.append(row)
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return rich(tmp_path / "r.ledger")


def exported(cli, kind: str, tmp_path: Path) -> list[dict]:
    code, _, err = cli("export", kind, "--ledger", "r.ledger", "--out", f"{kind}.json")
    assert (code, "(42 votes)" in err) == (0, True), err
    return json.loads((tmp_path / f"{kind}.json").read_text(encoding="utf-8"))


def test_tasks_of_label_studio_come_back_whole(cli, tmp_path, record):
    tasks = exported(cli, "label_studio", tmp_path)
    people = defaultdict(set)
    for task in tasks:
        for one in task["annotations"]:
            people[one["completed_by"]["email"]].add(one["completed_by"]["id"])
    assert all(len(ids) == 1 for ids in people.values()), "who has one address has one id"
    assert len({one for ids in people.values() for one in ids}) == len(people)
    assert len({one["id"] for task in tasks for one in task["annotations"]}) == 42
    code, _, err = cli("import", "label_studio", "label_studio.json", "--out", "back")
    assert code == 0, err
    assert shown(own_record(tmp_path / "back")) == shown(record)
    sdk = pytest.importorskip("label_studio_sdk.label_interface", reason="label-studio-sdk is not installed")
    config = sdk.LabelInterface(CONFIG)
    assert all(config.validate_annotation(one) for task in tasks for one in task["annotations"])


@pytest.mark.parametrize("shape", ["ours", "to_json", "hub"])
def test_records_of_argilla_come_back_whole(cli, tmp_path, record, shape):
    records = exported(cli, "argilla", tmp_path)
    for one in records:
        for given in one["responses"].values():
            users = [str(UUID(answer["user_id"])) for answer in given]
            assert len(set(users)) == len(users), "Argilla takes one answer of everybody to a question"
    source: Path = tmp_path / "argilla.json"
    if shape == "to_json":
        source = tmp_path / "disk"
        (source / ".argilla").mkdir(parents=True)
        (source / ".argilla" / "settings.json").write_text('{"questions": []}', encoding="utf-8")
        (source / "records.json").write_text(json.dumps(as_json(records)), encoding="utf-8")
    elif shape == "hub":
        pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
        import pyarrow
        import pyarrow.parquet

        rows = as_columns(records)
        for row in rows:  # as Argilla's own reader gives an order back
            if row["order.responses"]:
                row["order.responses"] = [[one["value"] for one in order] for order in row["order.responses"]]
        source = tmp_path / "hub" / "data" / "train-00000-of-00001.parquet"
        source.parent.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), source)
        source = tmp_path / "hub"
    code, out, err = cli("import", "argilla", source, "--out", "back")
    assert code == 0, err
    assert shown(own_record(tmp_path / "back")) == shown(record)
    sent = "answers without a state, as Argilla's to_json writes them: taken as sent"
    assert left_out(out) == ({sent: 36} if shape == "to_json" else {})


def test_a_person_who_never_answered_is_counted(cli, tmp_path):
    fields = {"question": "哪个?", "response_a": "a", "response_b": "b"}
    given = [{"value": "A", "user_id": "u1"}, {"value": None, "user_id": "u2"}, {"value": "tie", "user_id": "u3"}]
    row = {
        "id": "1",
        "fields": fields,
        "metadata": {"item": "q", "contestants": ["x", "y"]},
        "responses": {"pick": given},
    }
    (tmp_path / "r.json").write_text(json.dumps([row]), encoding="utf-8")
    code, out, err = cli("import", "argilla", "r.json", "--out", "back")
    assert (code, left_out(out)["votes without an answer"]) == (0, 1), err
    assert {v.rater: v.marks for v in own_record(tmp_path / "back")} == {"u1": (1, 0), "u3": (0.5, 0.5)}
