"""Reward benchmarks from their own layouts to one table, and one judge over several of them in one ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fullbench.benchmarks.reward import benchmark_definitions
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.testing import check_benchmark
from tests.support.data_builders import png
from tests.support.media_files import empty_mp4

ALL = [
    benchmark_definitions.vl_rewardbench, benchmark_definitions.multimodal_rewardbench,
    benchmark_definitions.multimodal_rewardbench_2, benchmark_definitions.genai_bench_pairs,
    benchmark_definitions.editreward_bench, benchmark_definitions.mm_rlhf_rewardbench,
    benchmark_definitions.videorewardbench,
]  # fmt: skip


@pytest.mark.parametrize("benchmark", ALL, ids=lambda b: b.name)
def test_each_keeps_its_promises(benchmark, tmp_path):
    check_benchmark(benchmark, tmp_path)


def parquet(path: Path, rows: list[dict]) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as files

    files.write_table(arrow.Table.from_pylist(rows), path)


def picture(shade: int) -> dict:
    return {"bytes": png((shade, 30, 30)), "path": f"{shade}.png"}


def released(folder: Path, name: str) -> Path:
    """Six pairs in the layout of a benchmark; people prefer the longer, or lighter, answer in four of them."""
    if name == "vl-rewardbench":
        rows = [
            {"id": f"v{n}", "query": f"几个 {n}?", "response": ["a long answer", "short"], "image": picture(n),
             "human_ranking": [0, 1] if n < 4 else [1, 0], "query_source": ["POVID", "MMMU-Pro"][n % 2]}
            for n in range(6)
        ]  # fmt: skip
        parquet(folder / "test-00000-of-00001.parquet", rows)
        return folder / "test-00000-of-00001.parquet"
    if name == "multimodal-rewardbench":
        for n in range(6):
            (folder / f"{n}.png").write_bytes(png((n, 1, 1)))
        rows = [
            {"ID": f"m{n}", "Text": f"What is {n}?", "Image": f"{n}.png", "Output1": "a long answer", "Output2": "no",
             "Better": "Output1" if n < 4 else "Output2", "Category": ["safety", "vqa"][n % 2]}
            for n in range(6)
        ]  # fmt: skip
        (folder / "all_data.json").write_text(json.dumps(rows))
        return folder
    if name == "multimodal-rewardbench-2":
        for n in range(12):
            (folder / f"{n}.png").write_bytes(png((20 * n, 1, 1)))
        pairs = [
            {"pair_id": f"t{n}", "prompt_content": [["text", f"draw {n}"]], "chosen": "B" if n < 4 else "A",
             "response_a": {"model": "x", "response_content": [["image", f"{n}.png"]]},
             "response_b": {"model": "y", "response_content": [["image", f"{n + 6}.png"], ["text", "here"]]}}
            for n in range(6)
        ]  # fmt: skip
        (folder / "t2i.json").write_text(json.dumps({"pairs": pairs}))
        return folder
    if name == "genai-bench-pairs":
        rows = [
            {"prompt": f"cat {n}", "left_image": picture(10 * n), "right_image": picture(10 * n + 5),
             "vote_type": ["rightvote", "leftvote", "tievote"][max(0, n - 3)], "left_model": "x", "right_model": "y"}
            for n in range(6)
        ]  # fmt: skip
        parquet(folder / "votes.parquet", rows)
        return folder
    if name == "editreward-bench":
        rows = [
            {"id": f"e{n}", "instruction": f"redder {n}", "source_image": picture(n), "candidate_1": picture(100 + n),
             "candidate_2": picture(50 + n), "ranking": "A>B" if n < 4 else "B>A", "dataset": "2pair"}
            for n in range(6)
        ]  # fmt: skip
        parquet(folder / "edits.parquet", rows)
        return folder
    column, suffix = ("video", "mp4") if name == "videorewardbench" else ("image", "png")
    lines = [
        {"question": f"why {n}", column: f"{n}.{suffix}",
         **dict(zip(("chosen", "rejected") if n < 4 else ("rejected", "chosen"), ("a long answer", "no"), strict=True))}
        for n in range(6)
    ]  # fmt: skip
    for n in range(6):
        (folder / f"{n}.{suffix}").write_bytes(png((n, 1, 1)) if suffix == "png" else empty_mp4(64 + n))
    (folder / f"{column}s.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    return folder


WORDS = ("vl-rewardbench", "multimodal-rewardbench", "mm-rlhf-rewardbench", "videorewardbench")


@pytest.mark.parametrize("name", [benchmark.name for benchmark in ALL])
def test_a_release_is_judged_and_its_accuracy_is_a_plain_count(cli, tmp_path, name):
    (tmp_path / "data").mkdir()
    source = released(tmp_path / "data", name)
    (tmp_path / "lightness.py").write_text("def red(prompt, image):\n    return image.getpixel((0, 0))[0]\n")
    judge = "length" if name in WORDS else "scorer:lightness:red"
    (tmp_path / "study.toml").write_text(
        f'name = "s"\nbenchmark = "{name}"\ndata = "{source.relative_to(tmp_path)}"\njudges = ["{judge}"]\n'
        'ledger = "s.ledger"\n'
    )
    code, out, err = cli("run", "study.toml", "--quiet", "--json")
    assert code == 0, err
    tables = {table["name"]: table for table in json.loads(out)}
    with Ledger(tmp_path / "s.ledger") as ledger:
        votes = {v.item: v.marks for v in ledger.verdicts() if v.judge == PEOPLE}
        ruled = [v for v in ledger.verdicts() if v.judge != PEOPLE and v.fault is None]
    assert len(votes) == 6
    main = tables["pairs by category"]
    rows = [dict(zip(main["columns"], row, strict=True)) for row in main["rows"]]
    counted = [row for row in rows if not str(row["category"]).startswith("mean")]
    assert sum(row["n"] for row in counted) == len(ruled)
    hits = [
        list(v.marks) == (list(votes[v.item]) if v.contestants[0] == "first" else list(votes[v.item])[::-1])
        for v in ruled
    ]
    figure = next(column for column in main["columns"] if "accuracy" in column)
    total = sum(row[figure]["value"] * row["n"] for row in counted)
    assert total == pytest.approx(sum(hits))
    if name == "multimodal-rewardbench-2":  # a judge of single pictures does not rule on pictures with words
        assert not ruled or len(ruled) == 12
    else:
        assert len(ruled) == 12


def test_several_benchmarks_under_one_study_give_one_card(cli, tmp_path):
    """Studies never meet in a table; several benchmarks that bear one study's name are one."""
    for name in WORDS:
        folder = tmp_path / name
        folder.mkdir()
        source = released(folder, name)
        (tmp_path / f"{name}.toml").write_text(
            f'name = "rewards"\nbenchmark = "{name}"\ndata = "{source.relative_to(tmp_path)}"\njudges = ["length"]\n'
            'ledger = "all.ledger"\n'
        )
        code, _, err = cli("run", f"{name}.toml", "--quiet")
        assert code == 0, err
    for tag, values in (("category", ("hallucination", "reasoning", "safety", "vqa")), ("data set", WORDS)):
        code, out, err = cli("card", "length", "--ledger", "all.ledger", "--by", tag, "--all")
        assert code == 0, err
        for value in values:
            assert value in out


def test_what_is_no_release_is_said(cli, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    code, _, err = cli("export", "vl-rewardbench", "--data", "x.jsonl", "--out", "o")
    assert code == 2
    assert "no row is in the layout of vl-rewardbench" in err
    line = {"Text": "?", "Image": "gone.png", "Output1": "a", "Output2": "b", "Better": "Output1"}
    (tmp_path / "y.jsonl").write_text(json.dumps(line))
    code, _, err = cli("export", "multimodal-rewardbench", "--data", "y.jsonl", "--out", "o")
    assert code == 2
    assert "no pair can be read (a picture's file is missing: the pair is left out (1)). Put pictures" in err
    (tmp_path / "z.jsonl").write_text(json.dumps({**line, "Image": None, "Better": "Output3"}))
    code, _, err = cli("export", "multimodal-rewardbench", "--data", "z.jsonl", "--out", "o")
    assert code == 2
    assert "one of Output1, Output2; found 'Output3'" in err


def test_editreward_files_of_the_repository(tmp_path):
    """Rows rank two to four edits by path; every two of them are a pair, as the authors count them."""
    for name in "sabcd":
        (tmp_path / f"{name}.png").write_bytes(png((ord(name), 1, 1)))
    rows = [
        {"prompt": "Redder", "path_src": "s.png", "paths_generated": [f"{name}.png" for name in edits],
         "human_vote": {"ranking": ranking}}
        for edits, ranking in (("ab", "A=B=Good"), ("cd", "B>A"), ("abc", "B>C>A"), ("abcd", "D>A>C>B"))
    ]  # fmt: skip
    (tmp_path / "EditReward_Bench.json").write_text(json.dumps(rows))
    labels = {verdict.item: verdict.marks for verdict in benchmark_definitions.editreward_bench.record(tmp_path)}
    assert sorted(labels.values()) == sorted(
        [(0.5, 0.5), (0, 1), (0, 1), (0, 1), (1, 0), (1, 0), (1, 0), (0, 1), (0, 1), (0, 1), (0, 1)]
    )
    four = {name[-2:]: marks for name, marks in labels.items() if name.startswith("EditReward_Bench-4")}
    assert four == {"AB": (1, 0), "AC": (1, 0), "AD": (0, 1), "BC": (0, 1), "BD": (0, 1), "CD": (0, 1)}
    rows[0]["human_vote"] = {"ranking": "A>C"}
    (tmp_path / "EditReward_Bench.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match="'ranking' ranks 2 edits; found 'A>C'"):
        benchmark_definitions.editreward_bench.record(tmp_path)


def test_mm_rlhf_parts_are_in_the_path_of_the_picture_or_video(tmp_path):
    (tmp_path / "long").mkdir()
    (tmp_path / "long" / "1.png").write_bytes(png((1, 2, 3)))
    rows = [
        {"id": "a", "image": "long/1.png", "prompt": "Why?", "chosen": "so", "rejected": "no"},
        {"id": "b", "video": "video/1.mp4", "prompt": "Who?", "chosen": "she", "rejected": "he"},
    ]
    (tmp_path / "mm_reward_bench.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data = benchmark_definitions.mm_rlhf_rewardbench.bring(tmp_path)
    assert [item.tags["category"] for item in data.record.items.values()] == ["long"]
    assert data.tables[0].rows == [["a video's file is missing: the pair is left out", 1]]
    (tmp_path / "video").mkdir()
    (tmp_path / "video" / "1.mp4").write_bytes(empty_mp4())
    items = benchmark_definitions.mm_rlhf_rewardbench.record(tmp_path).items
    found = [(item.tags["category"], item.media[0].kind) for item in items.values()]
    assert found == [("long", "image"), ("video", "video")]


@pytest.mark.parametrize("column", ["video", "video_path"])
def test_pairs_of_videorewardbench_and_of_genai_bench_have_their_videos(tmp_path, column):
    for name in ("a", "b"):
        (tmp_path / f"{name}.mp4").write_bytes(empty_mp4(64 + ord(name)))
    rows = [
        {"id": name, column: f"{name}.mp4", "question": "Who?", "category": "safety", "chosen": "she", "rejected": "he"}
        for name in ("a", "b")
    ]
    (tmp_path / "videos.jsonl").write_text("\n".join(map(json.dumps, rows)))
    record = benchmark_definitions.videorewardbench.record(tmp_path)
    assert [item.media[0].data() for item in record.items.values()] == [
        (tmp_path / f"{name}.mp4").read_bytes() for name in ("a", "b")
    ]
    winners = [record.responses[one.item, one.contestants[one.marks.index(1)]].text for one in record]
    assert winners == ["she", "she"]
    assert {one.marks for one in record} == {(1, 0), (0, 1)}, "the better answer is not always first"

    (tmp_path / "genai").mkdir()
    clips = {"left_video": {"bytes": empty_mp4(70)}, "right_video": {"bytes": empty_mp4(71)}}
    parquet(tmp_path / "genai" / "v.parquet", [{"prompt": "A dog", "vote_type": "rightvote", **clips}])
    record = benchmark_definitions.genai_bench_pairs.record(tmp_path / "genai")
    assert [one.media[0].kind for one in record.responses.values()] == ["video", "video"]
    assert [one.marks for one in record] == [(0, 1)]
