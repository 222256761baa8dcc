"""Files in and out: what is written comes back, and what is wrong is said with file and line."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from fullbench.core.item import Item, Turn
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import FAULTS, Verdict
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import (
    read_items,
    read_responses,
    read_verdicts,
    write_items,
    write_responses,
    write_verdicts,
)
from fullbench.files.row_readers import LIMIT, read_rows
from fullbench.files.row_writers import write_rows

SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".csv", ".csv.gz", ".tsv", ".parquet")


def png(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (2, 2), shade).save(buffer, "PNG")
    return buffer.getvalue()


PICTURES = tuple(Picture.from_bytes(png(shade)) for shade in (0, 128, 255))
text = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        ["", '"', '""', '"""', "你好\n世界", 'a "b", c\r\nd', "[1, 2]", '{"a": 1}', "null", " ", "\r", "=1+1"]
    ),
)
name = text.filter(bool)
tags = st.dictionaries(text, text, max_size=3)
parts = st.lists(st.one_of(text, st.sampled_from(PICTURES)), min_size=1, max_size=4).map(tuple)
turn = st.builds(Turn, st.sampled_from(["system", "user", "assistant"]), parts)
item = st.builds(
    Item,
    name,
    st.one_of(
        st.builds(lambda q, p: (Turn("user", (*p, q)),), text, st.lists(st.sampled_from(PICTURES), max_size=2)),
        st.lists(turn, min_size=1, max_size=3).map(tuple),
    ),
    st.one_of(st.none(), text),
    st.lists(text, max_size=2).map(tuple),
    tags,
)
response = st.builds(Response, name, name, parts, tags, st.integers(0, 3))
count = st.integers(0, 2**40)
money = st.floats(0, 1e9, allow_nan=False)
usage = st.builds(Usage, count, count, count, count, st.one_of(st.none(), money), money)


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    contestants = tuple(draw(st.lists(name, min_size=1, max_size=3)))
    marks = tuple(float(draw(st.integers(1, 5))) for _ in contestants)
    ruling = {"marks": marks} if draw(st.booleans()) else {"fault": draw(st.sampled_from(FAULTS))}
    return Verdict(
        draw(name), draw(name), draw(name), contestants, "score:1-5", draw(name), draw(st.integers(0, 9)),
        text=draw(text), usage=draw(usage), prompt=draw(text), earlier=tuple(draw(st.lists(text, max_size=2))),
        at=draw(st.floats(0, 1e10)), **ruling,
    )  # fmt: skip


def trip(suffix: str, folder: Path, write, read, things: list) -> None:
    path = folder / f"things{suffix}"
    assert write(path, things) == len(things)
    assert list(read(path)) == things
    assert not list(folder.glob(".*")), "nothing half-written is left"


relaxed = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestRoundTrip:
    @relaxed
    @given(st.lists(item, min_size=1, max_size=4, unique_by=lambda i: i.id))
    def test_items(self, tmp_path, suffix, things):
        trip(suffix, tmp_path, write_items, read_items, things)

    @pytest.mark.filterwarnings("ignore:.*differ only in spaces:fullbench.errors.DataWarning")
    @relaxed
    @given(st.lists(response, min_size=1, max_size=4, unique_by=lambda r: (r.item, r.contestant, r.sample)))
    def test_responses(self, tmp_path, suffix, things):
        trip(suffix, tmp_path, write_responses, read_responses, things)

    @relaxed
    @given(st.lists(verdicts(), min_size=1, max_size=4, unique_by=lambda v: (v.judge, v.case, v.trial)))
    def test_verdicts(self, tmp_path, suffix, things):
        trip(suffix, tmp_path, write_verdicts, read_verdicts, things)


def test_keys_are_the_same_after_a_round_trip(tmp_path):
    made = Item.ask("a", "what?", *PICTURES, reference="", captions=("x",))
    write_items(tmp_path / "items.csv", [made])
    assert [found.key for found in read_items(tmp_path / "items.csv")] == [made.key]


def test_pictures_are_found_again_through_a_linked_folder(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "er")
    (tmp_path / "a.png").write_bytes(png(9))
    made = Item.ask("a", "what?", Picture.read(tmp_path / "a.png"))
    write_items(tmp_path / "link" / "items.jsonl", [made])
    for folder in (tmp_path / "link", tmp_path / "deep" / "er"):
        assert list(read_items(folder / "items.jsonl")) == [made]


def test_half_characters_survive_json_lines_and_are_refused_elsewhere(tmp_path):
    odd = Response.say("a", "m", "half \ud83d")
    write_responses(tmp_path / "r.jsonl", [odd])
    assert list(read_responses(tmp_path / "r.jsonl")) == [odd]
    for suffix in (".csv", ".parquet"):
        with pytest.raises(InputError):
            write_responses(tmp_path / f"r{suffix}", [odd])
        assert not (tmp_path / f"r{suffix}").exists()


def test_common_spellings_are_read(tmp_path):
    (tmp_path / "a.png").write_bytes(png(3))
    (tmp_path / "items.csv").write_text("id,prompt,image,caption,task,\n7,what?,a.png,a grey square,vqa,0\n")
    (found,) = read_items(tmp_path / "items.csv")
    assert (found.id, found.question, found.captions, found.tags) == ("7", "what?", ("a grey square",), {"task": "vqa"})
    assert found.pictures[0].data() == png(3)
    (tmp_path / "r.jsonl").write_text('{"item": 7, "model": "m", "output": "grey", "temperature": 0.5}\n')
    (answer,) = read_responses(tmp_path / "r.jsonl")
    assert answer == Response("7", "m", ("grey",), {"temperature": "0.5"})


def test_nan_means_a_missing_value(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"id": "a", "question": "q", "reference": NaN, "topic": NaN}')
    write_rows(tmp_path / "x.parquet", [{"id": "a", "question": "q", "topic": float("nan")}])
    for suffix in (".jsonl", ".parquet"):
        (found,) = read_items(tmp_path / f"x{suffix}")
        assert (found.reference, found.tags) == (None, {})


def test_a_folder_of_pictures(tmp_path):
    for stem in ("b", "a"):
        (tmp_path / f"{stem}.PNG").write_bytes(png(1))
    (tmp_path / "notes.txt").write_text("not a picture")
    assert [(i.id, i.question) for i in read_items(tmp_path, question="what?")] == [("a", "what?"), ("b", "what?")]
    (tmp_path / "a.jpg").write_bytes(png(2))
    found = list(read_items(tmp_path, question="what?"))
    assert [item.id for item in found] == ["a.PNG", "a.jpg", "b"], "endings tell apart what has one name"
    for name in ("c.png", "d.png"):
        (tmp_path / name).write_bytes(png(3)[:-20])
    with pytest.raises(
        InputError, match=r"2 files here cannot be used: c\.png, d\.png; of the first: .*c\.png' is cut"
    ):
        list(read_items(tmp_path, question="what?"))


def test_csv_with_semicolons_is_read(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text('id;question\nq1;"Eight; or ten?"\nq2;多少\n', encoding="utf-8")
    assert [(item.id, item.question) for item in read_items(path)] == [("q1", "Eight; or ten?"), ("q2", "多少")]


def test_labels_of_people_become_verdicts_and_every_vote_is_kept(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,model,score\na,m,4\na,m,5\nb,m,1\n")
    found = list(read_verdicts(path, ballot="score:1-5"))
    assert [(v.judge, v.item, v.contestants, v.marks, v.trial, v.rater) for v in found] == [
        ("human", "a", ("m",), (4.0,), 0, "0"),
        ("human", "a", ("m",), (5.0,), 0, "1"),
        ("human", "b", ("m",), (1.0,), 0, "0"),
    ]


def test_an_unknown_price_stays_unknown(tmp_path):
    one = Verdict("c", "j", "i", ("m",), "score:1-5", marks=(1.0,), usage=Usage(1, 0, 2, 3, None, 0.5))
    for suffix in SUFFIXES:
        write_verdicts(tmp_path / f"v{suffix}", [one, replace(one, trial=1, usage=Usage(1))])
        assert [v.usage.dollars for v in read_verdicts(tmp_path / f"v{suffix}")] == [None, 0.0]


BAD_ROWS = [
    ("x.jsonl", b'{"a": 1}\n{"a": \n', 2, "not valid JSON"),
    ("x.jsonl", b"[1, 2]\n", 1, "must be a JSON object"),
    ("x.jsonl", b'{"a": -Infinity}\n', 1, "-Infinity"),
    ("x.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', 2, "not UTF-8"),
    ("x.jsonl", b'{"a": ' + b"[" * 100_000, 1, "not valid JSON"),
    ("x.jsonl", b"", None, "no rows"),
    ("x.jsonl", b"\n\n", None, "no rows"),
    ("x.json", b'{"a": {"b": 1}}', 1, "one array"),
    ("x.json", b'[{"a": 1},\n{"a": ]', 2, "not valid JSON"),
    ("x.json", b'[{"a": 1}\n{"a": 2}]', 2, "comma"),
    ("x.json", b'[{"a": 1},]', 1, "no row"),
    ("x.json", b'[{"a": 1}] 7', 1, "follows the end"),
    ("x.json", b'[{"a": 1}', 1, "missing"),
    ("x.json", b'[{"a": "\xff"}]', None, "not UTF-8"),
    ("x.json", b"[]", None, "no rows"),
    ("x.csv", b"a,b\n1,2\n1,2,3\n", 3, "3 cells under 2 columns"),
    ("x.csv", b'a,b\n"x\ny",2\n1\n', 4, "1 cell under 2 columns"),
    ("x.csv", b"a,a\n1,2\n", 1, "'a' occurs twice"),
    ("x.csv", b'a,b\n"1,2\n', 2, "not valid CSV"),
    ("x.csv", b"a,b\n", None, "no rows"),
    ("x.csv", b"a\n\xe9\n", 2, "not UTF-8"),
    ("x.txt", b"a", None, "known types are .jsonl"),
    ("x.parquet", b"PAR1 nonsense", None, "Parquet"),
    ("x.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 1000)[:-9], None, "cut short"),
    ("x.jsonl.gz", b'{"a": 1}\n', None, "gzip"),
]


@pytest.mark.parametrize(("file", "content", "line", "said"), BAD_ROWS, ids=[f"{row[0]} {row[3]}" for row in BAD_ROWS])
def test_bad_rows_are_one_sentence_with_file_and_line(tmp_path, file, content, line, said):
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_rows(path))
    assert said in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert "\n" not in str(caught.value)


def test_a_row_with_turns_keeps_its_pictures_and_its_question(tmp_path):
    (tmp_path / "a.png").write_bytes(png(3))
    earlier = [{"role": "user", "parts": ["图里有什么？"]}, {"role": "assistant", "parts": ["一个盒子。"]}]
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps({"id": "d", "turns": earlier, "pictures": ["a.png"], "question": "什么颜色？"}))
    (item,) = read_items(path)
    assert [turn.role for turn in item.turns] == ["user", "assistant", "user"]
    assert [picture.data() for picture in item.turns[0].pictures] == [png(3)]
    assert (item.turns[0].text, item.turns[2].text) == ("图里有什么？", "什么颜色？")
    typed = [{"role": "user", "parts": [{"picture": "a.png"}, "What?"]}]
    path.write_text(json.dumps({"id": "d", "turns": typed, "pictures": ["a.png"]}))
    with pytest.raises(InputError, match="give each picture once"):
        list(read_items(path))


BAD_NOUNS = [
    (read_items, '{"question": "q"}', "'id' is missing"),
    (read_items, '{"id": "a"}', "no 'question'"),
    (read_items, '{"id": "a", "question": "q", "prompt": "p"}', "mean the same"),
    (read_items, '{"id": "a", "question": {}}', "must be a text"),
    (read_items, '{"id": "a", "question": "q", "pictures": ["gone.png"]}', "gone.png"),
    (read_items, '{"id": "a", "question": "q", "image": "words.png"}', "not a picture"),
    (read_items, '{"id": "a", "question": "q", "image": "http://x/y.png"}', "is a web address"),
    (read_items, '{"id": "a", "turns": [{"role": "judge", "parts": ["x"]}]}', "role"),
    (read_items, '{"id": "a", "question": "q", "tags": [1]}', "mapping"),
    (read_items, '{"id": "a", "question": "q", "turns": [{"role": "user", "parts": ["x"]}]}', "leave out one"),
    (read_items, '{"id": "a", "image": "words.png", "turns": [{"role": "user", "parts": ["x"]}]}', "not a picture"),
    (read_items, '{"id": "a\\ud800", "question": "q"}', "half a character"),
    (read_responses, '{"item": "a", "text": "x"}', "'contestant' is missing"),
    (read_responses, '{"item": "a", "model": "m"}', "no 'text'"),
    (read_responses, '{"item": "a", "model": "m", "parts": []}', "at least one part"),
    (read_responses, '{"item": "a", "model": "m", "text": "x", "sample": 0.5}', "whole number"),
    (read_verdicts, '{"item": "a", "contestants": ["m"], "marks": [4]}', "'ballot' is missing"),
    (read_verdicts, '{"item": "a", "contestants": ["m"], "marks": [9], "ballot": "score:1-5"}', "not legal"),
    (read_verdicts, '{"item": "a", "contestants": ["m"], "marks": "nan", "ballot": "score:1-5"}', "finite"),
    (read_verdicts, '{"item": "a", "contestants": ["m"], "marks": [NaN], "ballot": "score:1-5"}', "finite"),
    (read_verdicts, '{"item": "a", "contestants": ["m"], "mark": NaN, "ballot": "score:1-5"}', "is empty here"),
    (read_verdicts, '{"item": "a", "contestants": ["m", "n"], "marks": [4], "ballot": "score:1-5"}', "one mark"),
    (read_verdicts, '{"item": "a", "contestants": ["m"], "ballot": "score:1-5"}', "marks or a fault"),
    (read_verdicts, '{"item": "a", "contestants": ["m"], "fault": "tired", "ballot": "score:1-5"}', "unknown fault"),
    (read_verdicts, '{"item": "a", "contestants": ["m"], "marks": [4], "ballot": "stars"}', "unknown ballot"),
]


@pytest.mark.parametrize(("read", "row", "said"), BAD_NOUNS)
def test_bad_nouns_are_one_sentence_with_file_and_line(tmp_path, read, row, said):
    (tmp_path / "words.png").write_text("hello")
    path = tmp_path / "x.jsonl"
    path.write_text(f"\n{row}\n")
    with pytest.raises(InputError) as caught:
        list(read(path))
    assert said in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, 2)


@pytest.mark.parametrize(
    ("read", "row", "said"),
    [
        (read_items, '{"id": "a", "question": "q"}', "'a' occurs twice"),
        (read_responses, '{"item": "a", "model": "m", "text": ""}', "twice"),
        (read_verdicts, '{"item": "a", "model": "m", "mark": 1, "ballot": "score:1-5", "trial": 0}', "rules twice"),
    ],
)
def test_what_must_be_unique_is(tmp_path, read, row, said):
    path = tmp_path / "x.jsonl"
    path.write_text(f"{row}\n{row}\n")
    with pytest.raises(InputError, match=said) as caught:
        list(read(path))
    assert caught.value.line == 2


def test_labels_on_several_answers_of_one_contestant_stay_several(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(
        "item,contestants,samples,sample,marks,ballot,rater\n"
        "a,m,[0],,4,score:1-5,ann\na,m,[1],,2,score:1-5,ann\na,m,,1,3,score:1-5,bob\n"
        'a,"[""m"", ""n""]",,1,"[1, 0]",choice,ann\na,m,[1],,5,score:1-5,\na,m,[0],,1,score:1-5,\n'
    )
    read = list(read_verdicts(path))
    assert [(label.shown_responses, label.marks, label.rater) for label in read] == [
        ((("m", 0),), (4.0,), "ann"), ((("m", 1),), (2.0,), "ann"), ((("m", 1),), (3.0,), "bob"),
        ((("m", 1), ("n", 1)), (1.0, 0.0), "ann"), ((("m", 1),), (5.0,), "2"), ((("m", 0),), (1.0,), "1"),
    ]  # fmt: skip
    assert read[1].case == read[2].case != read[0].case
    path.write_text(path.read_text() + "a,m,[1],,2,score:1-5,ann\n")
    with pytest.raises(InputError, match="'ann' rules twice on item 'a'"):
        list(read_verdicts(path))


def test_a_response_to_no_item_is_refused(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"item": "a", "contestant": "m", "text": "x"}\n')
    assert list(read_responses(path, items={"a"})) == [Response.say("a", "m", "x")]
    path.write_text('{"item": "b", "contestant": "m", "text": "x"}\n')
    with pytest.raises(InputError, match="'b', which is not among the items: there is one, 'a'"):
        list(read_responses(path, items={"a"}))


def test_a_byte_order_mark_is_no_obstacle(tmp_path):
    for file, content in (
        ("x.csv", "id,question\na,q\n"),
        ("x.jsonl", '{"id":"a","question":"q"}'),
        ("x.json", '[{"id":"a","question":"q"}]'),
    ):
        (tmp_path / file).write_text(content, encoding="utf-8-sig")
        assert [item.id for item in read_items(tmp_path / file)] == ["a"]


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".csv", ".json"])
def test_an_endless_line_is_refused_without_being_read_whole(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    start = {".csv": b'id,question\na,"', ".json": b'[{"id": "', ".jsonl": b'{"id": "'}[suffix.removesuffix(".gz")]
    with gzip.open(path, "wb", 1) if suffix.endswith(".gz") else path.open("wb") as file:
        file.write(start)
        for _ in range(100):
            file.write(b"x" * 2**20)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"longer than|not valid JSON"):
            list(read_rows(path))
        assert tracemalloc.get_traced_memory()[1] < 6 * LIMIT
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv"])
def test_reading_and_writing_keep_memory_flat(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    tracemalloc.start()
    try:
        write_rows(path, ({"id": str(i), "question": "x" * 4000} for i in range(5_000)))
        assert sum(1 for _ in read_rows(path)) == 5_000
        assert path.stat().st_size > 20e6
        assert tracemalloc.get_traced_memory()[1] < 2e6
    finally:
        tracemalloc.stop()


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("old")

    def rows():
        yield {"a": 1}
        raise RuntimeError("the source ended early")

    with pytest.raises(RuntimeError):
        write_rows(path, rows())
    assert [file.name for file in tmp_path.iterdir()] == ["x.jsonl"]
    assert path.read_text() == "old"
    with pytest.raises(InputError, match="JSON"):
        write_rows(path, [{"a": float("nan")}])
    assert path.read_text() == "old"


def test_a_table_has_one_set_of_columns(tmp_path):
    for suffix in (".csv", ".parquet"):
        with pytest.raises(InputError, match="column 'b'"):
            write_rows(tmp_path / f"x{suffix}", [{"a": 1}, {"a": 1, "b": 2}])


def test_published_labels_can_be_read(tmp_path):
    folder = Path(__file__).parents[2] / ".." / "shared" / "data" / "mllm-as-a-judge"
    files = sorted(file for file in folder.rglob("*.jsonl") if file.stat().st_size) if folder.is_dir() else []
    if not files:
        pytest.skip("the released data of MLLM-as-a-Judge is not at hand")
    for file in files[:3]:
        rows = [row for _, row in read_rows(file)]
        assert rows == [json.loads(line) for line in file.read_text("utf-8-sig").splitlines() if line.strip()]
