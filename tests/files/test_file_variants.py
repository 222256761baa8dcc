"""Compressed files, byte order marks, folders, repeated rows and pictures by name."""

from __future__ import annotations

import codecs
import gzip
import json
from collections import Counter

import pytest

from fullbench.core.item import WITHOUT_PICTURES
from tests.files.several import left_out
from tests.files.test_alpaca import note
from tests.files.test_exchange import battle, put, taken

SAMPLES = [
    {"doc_id": n, "doc": {"question": f"第{n}题"}, "target": "4", "arguments": [[f"P{n}", {}]], "resps": [[f"o{n}"]],
     "filtered_resps": ["o"], "filter": "none", "exact_match": n % 2} for n in range(3)
]  # fmt: skip
LOG = {
    "eval": {"task": "t", "model": "m"},
    "samples": [
        {"id": n, "input": f"第{n}题", "output": {"completion": "4"}, "scores": {"s": {"value": 1}}} for n in range(3)
    ],
}
BATTLES = [battle(n, winner) for n, winner in enumerate(("model_a", "tie", "model_b"))]
NOTES = [note(f"问{n}", n, "j", "m1", 1 + n % 2) for n in range(3)]
FILES = {
    "arena": ("b.json", BATTLES), "lm-eval": ("m/samples_t.jsonl", SAMPLES), "inspect": ("log.json", LOG),
    "alpaca": ("a.json", NOTES),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", FILES)
def test_gzipped_and_with_a_mark_of_order_it_is_the_same(cli, tmp_path, kind, packed):
    name, content = FILES[kind]
    plain = put(tmp_path / "plain" / name, content)
    other = tmp_path / "other" / (f"{name}.gz" if packed else name)
    other.parent.mkdir(parents=True)
    data = codecs.BOM_UTF8 + plain.read_bytes()
    other.write_bytes(gzip.compress(data) if packed else data)
    one, two = (taken(cli, kind, tmp_path / folder) for folder in ("plain", "other"))
    assert {key: item.key for key, item in one[0].items()} == {key: item.key for key, item in two[0].items()}
    assert list(one[1]) == list(two[1])
    assert Counter(one[2]) == Counter(two[2])
    assert len(one[2]) == 3


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("arena", "further battles of the same two answers by the same judge: taken as next trials"),
        ("lm-eval", "further values of exact_match on the same answers: taken as next trials"),
        ("alpaca", "further annotations of the same two answers: taken as next trials"),
    ],
)
def test_rows_that_stand_twice_are_counted(cli, tmp_path, kind, why):
    name, content = FILES[kind]
    put(tmp_path / "in" / name, [*content, *content])
    code, out, err = cli("import", kind, tmp_path / "in", "--out", "o")
    assert (code, left_out(out)) == (0, {why: 3}), err


def test_pictures_that_battles_only_name_are_said(cli, tmp_path):
    rows = json.loads(json.dumps(BATTLES))
    for row in rows:
        for side in "ab":
            row[f"conversation_{side}"][0]["content"] = ["看图", ["0a1b2c", "3d4e5f"]]
    put(tmp_path / "b.json", {"data": rows})
    items, _, _ = taken(cli, "arena", tmp_path / "b.json")
    assert {item.tags[WITHOUT_PICTURES] for item in items.values()} == {"0a1b2c\n3d4e5f"}
    _, out, _ = cli("import", "arena", tmp_path / "b.json", "--out", "o")
    assert left_out(out) == {"battles about pictures that the file only names": 3}
