"""The beginning of a file, as hooks of importers get it: whatever is cut off, nothing is made up and nothing fails."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.files.exchange.format_detection import FileHead, parse_beginning

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def is_part_of(part: object, whole: object) -> bool:
    """A value that is cut off has fewer entries, and None in place of the last one."""
    if part is None or part == whole:
        return True
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_part_of, part, whole))
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and is_part_of(value, whole[name]) for name, value in part.items())
    # A number that is cut off is still a number.
    return isinstance(part, int) and isinstance(whole, int) and str(whole).startswith(str(part))


@given(JSON, st.floats(0, 1))
def test_a_beginning_is_a_part_of_the_value(value, share):
    text = json.dumps(value)
    assert parse_beginning(text) == value
    assert is_part_of(parse_beginning(text[: int(len(text) * share)]), value)


@given(st.text(max_size=40))
def test_no_text_fails(text):
    parse_beginning(text)


def test_rows_of_all_layouts(tmp_path):
    rows = [{"question_id": n, "text": "x" * 40} for n in range(5)]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    (tmp_path / "b.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (tmp_path / "c.json").write_text(json.dumps({"data": rows}), encoding="utf-8")
    (tmp_path / "d.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    with gzip.open(tmp_path / "e.json.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(rows))
    (tmp_path / "f.csv").write_text("question_id,text\n0,y\n1,z\n", encoding="utf-8")
    for name in "a.json", "b.json", "c.json", "d.jsonl", "e.json.gz", "f.csv":
        head = FileHead(tmp_path / name)
        assert head.has("question_id", "text"), name
        assert str(head.value("question_id")) == "0"
    long = [{"image": "A" * 500_000, "question_id": 1}]
    (tmp_path / "g.json").write_text(json.dumps(long), encoding="utf-8")
    assert FileHead(tmp_path / "g.json").has("image", "question_id")


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe", b"{", b"[1, 2", b"PK\x03\x04", "ü".encode("latin-1")])
@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.csv", "x.parquet", "x.json.gz", "x.xlsx", "x.eval"])
def test_a_broken_file_belongs_to_no_format(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    head = FileHead(tmp_path / name)
    assert not head.has("question_id")
    assert not head.content.get("eval")
