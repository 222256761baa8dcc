"""The released data set's layout, broken rows included."""

from __future__ import annotations

import json

import pytest

from fullbench.benchmarks.mj_bench import item_picture_and_label_loader
from fullbench.benchmarks.mj_bench.judging_protocol import can_judge
from fullbench.benchmarks.mj_bench.mj_bench_and_genai_bench_definitions import mj_bench
from fullbench.errors import InputError
from fullbench.files.row_writers import write_rows
from fullbench.judges.scorers.image_statistics import measure_scorer
from fullbench.judges.scorers.scorer_judge import ScorerJudge
from fullbench.studies.exchange.runnable_study_export import export_study
from tests.judges.scorers.making import encoded, texture


def write(folder, name, *rows):
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def released(tmp_path):
    """Pairs: whole, half missing, a file gone, an SVG, an empty file, equal halves."""
    for seed in range(4):
        (tmp_path / f"{seed}.png").write_bytes(encoded(texture(seed)))
    (tmp_path / "svg.png").write_bytes(b"<svg/>")
    (tmp_path / "empty.png").write_bytes(b"")
    write(
        tmp_path, "safety_nsfw.jsonl",
        {"id": "whole", "info": "a lake", "image0": "0.png", "image1": "1.png", "label": 1},
        {"id": "half", "info": "a hill", "image0": "2.png", "image1": None, "label": 0},
        {"id": "gone", "info": "a road", "image0": "2.png", "image1": "nowhere.png", "label": 0},
        {"id": "svg", "info": "a tree", "image0": "2.png", "image1": "svg.png", "label": 0},
        {"id": "empty", "info": "a bush", "image0": "2.png", "image1": "empty.png", "label": 0},
        {"id": "equal", "info": "a cave", "image0": "3.png", "image1": "3.png", "label": 0},
    )  # fmt: skip
    return tmp_path


def test_rows_become_items_with_a_chosen_and_a_rejected_picture(released):
    brought = mj_bench.bring(released)
    record = brought.record
    assert record.items["whole"].tags == {
        "perspective": "safety", "subset": "safety_nsfw", "sensitive": "yes", "stored order": "rejected",
    }  # fmt: skip
    assert record.responses["whole", "chosen"].pictures[0].data() == (released / "1.png").read_bytes()
    assert record.responses["whole", "rejected"].tags == {"sensitive": "yes"}
    labelled = {verdict.item for verdict in record if verdict.judge == "human"}
    assert labelled == {"whole", "svg", "empty", "equal"}
    (table,) = brought.tables
    assert dict(table.rows) == {
        "a picture is none that we know: judges abstain": 2,
        "a picture's file is missing: the pair is left out": 1,
        "half of a pair is missing: the pair is left out": 1,
    }


def test_broken_pairs_are_faults_of_their_own_cases(released):
    loaded = item_picture_and_label_loader.load_collection(released)
    judge = ScorerJudge(measure_scorer("sharpness"))
    cases = [case for case in mj_bench.cases(list(loaded.items.values()), loaded.responses) if can_judge(judge, case)]
    verdicts = list(judge.judge(cases))
    assert len(verdicts) == len(cases)
    pairs = {(verdict.item, verdict.fault) for verdict in verdicts if len(verdict.contestants) == 2}
    assert pairs == {("whole", None), ("svg", "abstained"), ("empty", "abstained"), ("equal", "abstained")}
    record = item_picture_and_label_loader.Record(
        tuple(verdicts), loaded.items, {(r.item, r.contestant): r for r in loaded.responses}
    )
    faults = {table.name: table for table in mj_bench.tables(record)}["unusable"]
    abstained = list(faults.columns).index("abstained")
    assert faults.rows[0][abstained] == 8


def test_parquet_with_bytes_is_read_as_the_hub_holds_it(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    pictures = [encoded(texture(seed)) for seed in range(2)]
    rows = {
        "info": ["a lake"],
        "image0": [{"bytes": pictures[0], "path": None}],
        "image1": [{"bytes": pictures[1], "path": None}],
        "label": [0],
    }
    parquet.write_table(pyarrow.table(rows), tmp_path / "alignment.parquet")
    loaded = item_picture_and_label_loader.load_collection(tmp_path)
    (item,) = loaded.items.values()
    assert item.tags["perspective"] == "alignment"
    assert [response.pictures[0].data() for response in loaded.responses] == pictures


def test_a_snapshot_of_the_hub_is_read_as_it_lies(tmp_path):
    """Splits in shards under `data/`; the prompt is the caption, and `info` beside it names the sub-category."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "data").mkdir()
    for split, shard in (("safety", 0), ("safety", 1), ("quality", 0)):
        rows = {
            "caption": [f"a {split} {shard}"],
            "info": ["toxicity crime" if split == "safety" else ""],
            "image0": [{"bytes": encoded(texture(shard)), "path": None}],
            "image1": [{"bytes": encoded(texture(9)), "path": None}],
            "label": [1],
        }
        parquet.write_table(pyarrow.table(rows), tmp_path / "data" / f"{split}-0000{shard}-of-00002.parquet")
    items = list(item_picture_and_label_loader.load_collection(tmp_path).items.values())
    assert sorted(item.question for item in items) == ["a quality 0", "a safety 0", "a safety 1"]
    found = {item.question: (item.tags["perspective"], item.tags["subset"]) for item in items}
    assert found["a safety 1"] == ("safety", "toxicity crime")
    assert found["a quality 0"] == ("quality", "quality")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"image0": "0.png", "image1": "1.png", "label": 0}, "no prompt"),
        ({"info": "x", "image0": "0.png", "image1": "1.png", "label": 2}, "'label' is 0 or 1"),
        ({"info": "x", "image0": "0.png", "image1": "1.png"}, "'label' is 0 or 1"),
    ],
)
def test_a_row_that_does_not_fit_is_named_by_its_line(tmp_path, row, words):
    write(tmp_path, "alignment.jsonl", row)
    with pytest.raises(InputError, match=rf"alignment\.jsonl:1: .*{words}"):
        item_picture_and_label_loader.load_collection(tmp_path)


def test_no_folder_no_table_and_ids_that_repeat_are_told(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        item_picture_and_label_loader.load_collection(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no table"):
        item_picture_and_label_loader.load_collection(tmp_path)
    row = {"id": "a", "info": "x", "image0": "0.png", "image1": "1.png", "label": 0}
    write_rows(tmp_path / "alignment.jsonl", [row, row])
    with pytest.raises(InputError, match="occurs twice"):
        item_picture_and_label_loader.load_collection(tmp_path)


def test_the_sample_can_be_exported_and_read_again(tmp_path):
    record = mj_bench.bring().record
    export_study(record, tmp_path / "out", benchmark="mjbench")
    again = mj_bench.bring(tmp_path / "out").record
    assert {item.key for item in again.items.values()} == {item.key for item in record.items.values()}
    assert {r.key for r in again.responses.values()} == {r.key for r in record.responses.values()}
    assert [table.rows for table in mj_bench.tables(again)] == [table.rows for table in mj_bench.tables(record)]
