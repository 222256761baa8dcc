"""The condensed data folders: made from clones in the authors' layout, row by row what the clones hold."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
FLAGS = ("human_ratings_gpt4_correct", "human_ratings_problem_in_caption", "human_ratings_problem_in_gpt4")


def clone(folder: Path, files: dict[str, str], *commits: str) -> Path:
    """A repository of these files; the commits that the script asks for are tags in it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
           "GIT_COMMITTER_EMAIL": "a@example.org"}  # fmt: skip
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"], *(["tag", commit] for commit in commits)):
        subprocess.run(["git", "-C", folder, *words], check=True, env={**os.environ, **who})
    return folder


def table(rows: list[dict[str, object]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def condense(*words: object) -> str:
    command = [sys.executable, ROOT / "scripts" / "condense.py", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()]


def flags(number: int) -> dict[str, object]:
    return dict(zip(FLAGS, (number != 3, number == 3, False), strict=True))


def test_visit_bench_is_condensed_row_by_row(tmp_path):
    families = ("gqa", "harmful_memes", "动物", "gqa")
    single = [
        {"instruction_category": family, "image": f"https://x.example/{n}.png", "instruction": f"What, 什么, {n}?",
         "gpt4_prediction": f"ref {n}", "image_dense_captions": f"caption {n}", "reference_output": "", **flags(n)}
        for n, family in enumerate(families)
    ]  # fmt: skip
    asked = [{"image": row["image"], "instruction": row["instruction"]} for row in single]
    stranger = {"image": "https://x.example/none.png", "instruction": "Nowhere?"}
    one = [{**place, "alpha": f"alpha {n}"} for n, place in enumerate([*asked, stranger])]
    two = [{"image_url": place["image"], "instruction": place["instruction"], "beta": ("None", "b")[n % 2]}
           for n, place in enumerate(asked)]  # fmt: skip
    pairs = [
        {"image_url": place["image"], "instruction": place["instruction"], "A_model": "alpha", "B_model": other}
        for place in asked for other in ("beta", "lynx_test_1")
    ]  # fmt: skip
    sandbox = clone(
        tmp_path / "visit_bench_sandbox",
        {
            "single_image_full_dataset.csv": table(single),
            "full_model_predictions/alpha_out.csv": table(one),
            "full_model_predictions/beta.csv": table(two),
            "full_model_predictions/trial.csv": table([{**place, "lynx_test_1": "x"} for place in asked]),
            "leaderboard_submission_model_queries/q~1.jsonl": lines(pairs),
        },
        "e0c911c",
    )
    several = [{"instruction_category": "rcc", "images": '["1.png", "2.png"]', "instruction": "Which?",
                "gpt4_prediction": "This.", "images_dense_captions": '["one", "二"]', "images_blip2_captions": "[]",
                "reference_output": "", **flags(0)}]  # fmt: skip
    other = clone(tmp_path / "VisIT-Bench", {"visit_bench_multi_images.csv": table(several)}, "45b9bf8")
    out = tmp_path / "visitbench"
    told = condense("visitbench", "--clone", sandbox, "--multi", other, "--out", out)
    assert told.startswith("4 files in ")
    assert told.strip().endswith("1 could not be had")
    rows = read(out / "single_image.jsonl.gz")
    assert [row["row"] for row in rows] == [0, 1, 2, 3]
    for n, row in enumerate(rows):
        texts = [row[name] for name in ("image", "instruction", "gpt4_prediction", "image_dense_captions")]
        wanted = [single[n][name] for name in ("image", "instruction", "gpt4_prediction", "image_dense_captions")]
        assert texts == ([None] * 4 if n == 1 else wanted), "the texts of one family are blanked"
        assert [row[name] for name in FLAGS] == [n != 3, n == 3, False]
    said = {(row["row"], row["model"]): row["prediction"] for row in read(out / "predictions.jsonl.gz")}
    assert said == {(0, "alpha"): "alpha 0", (2, "alpha"): "alpha 2", (3, "alpha"): "alpha 3",
                    (0, "beta"): None, (2, "beta"): None, (3, "beta"): "b"}  # fmt: skip
    assert read(out / "pair_queries.jsonl.gz") == [{"row": n, "A_model": "alpha", "B_model": "beta"} for n in range(4)]
    (multi,) = read(out / "multi_image.jsonl.gz")
    assert (multi["images"], multi["images_dense_captions"]) == (["1.png", "2.png"], ["one", "二"])
    sources = json.loads((out / "sources.json").read_text(encoding="utf-8"))
    for entry in sources["files"]:
        data = gzip.decompress((out / entry["file"]).read_bytes())
        assert (entry["sha256"], entry["rows"]) == (hashlib.sha256(data).hexdigest(), data.count(b"\n"))
    assert {entry["commit"] for entry in sources["files"]} == {"e0c911c", "45b9bf8"}
    assert [entry["path"] for entry in sources["absent"]] == ["visit_bench_human_preferences.csv"]
    # What comes out is what the benchmark reads: three verified rows with words, of four, and the one with two images.
    from fullbench.benchmarks.visit_bench.benchmark_definition import visit_bench

    assert sorted(item.id for item in visit_bench.items(out)) == ["multi-0", "single-0", "single-2"]


def test_mllm_as_a_judge_is_compressed_byte_for_byte(tmp_path):
    last = {"Dataset/Benchmark_Lite/score_lite.jsonl": lines([{"id": 1, "文": "字"}]),
            "Dataset/Hard & HQ/HQ/Score.jsonl": lines([{"id": n} for n in range(3)])}  # fmt: skip
    first = {"Dataset/Benchmark/arxiv_data/pair/marker3_arxiv_pair.jsonl": lines([{"pair": 3}])}
    place = clone(tmp_path / "MLLM-Judge", {**last, **first}, "523b4b9", "43d8159")
    out = tmp_path / "mllm"
    assert condense("mllm-as-a-judge", "--clone", place, "--out", out).startswith("3 files in ")
    for name, text in (
        ("Benchmark_Lite/score_lite", last["Dataset/Benchmark_Lite/score_lite.jsonl"]),
        ("Hard_HQ/HQ/Score", last["Dataset/Hard & HQ/HQ/Score.jsonl"]),
        ("arxiv_data/pair/marker3_arxiv_pair", next(iter(first.values()))),
    ):
        assert gzip.decompress((out / "native" / f"{name}.jsonl.gz").read_bytes()).decode() == text
    sources = json.loads((out / "sources.json").read_text(encoding="utf-8"))
    assert len(sources["files"]) + len(sources["absent"]) == 23
    assert {entry["commit"] for entry in sources["absent"]} == {"523b4b9", "43d8159"}


def test_the_page_of_sources_says_the_digests_of_the_data_that_tests_read():
    if not SHARED.is_dir():
        pytest.skip("the data folders are not here")
    page = (ROOT / "docs" / "reference" / "data.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+\.gz)` \| [^|]+ \| [^|]+ \| (\d+) \| `([0-9a-f]{16})` \|$", page, re.MULTILINE)
    assert len(rows) == 42
    for name, count, digest in rows:
        places = [SHARED / name, SHARED / "mllm-as-a-judge" / name, SHARED / "visitbench" / name]
        path = next((place for place in places if place.exists()), None)
        if path is None:
            pytest.skip(f"{name} is not here")
        data = gzip.decompress(path.read_bytes())
        heads = 1 if name.endswith(".csv.gz") else 0
        assert (data.count(b"\n") - heads, hashlib.sha256(data).hexdigest()[:16]) == (int(count), digest), name
