"""AlignMMBench on data of one's own, by the command line: exports that can be run."""

from __future__ import annotations

import re
from statistics import fmean

import pytest

from tests.journeys.commands import cells, cli, write_rows

TASKS = ("Counting", "OCR", "Writing")


def questions(seeds: int, wordings: int) -> list[dict]:
    return [
        {"id": f"s{seed}-{variant}", "question": f"第 {seed} 题的第 {variant} 种问法？", "reference": f"参考 {seed}",
         "tags": {"task": TASKS[seed % len(TASKS)], "seed": f"s{seed}", "variant": str(variant)}}
        for seed in range(seeds) for variant in range(wordings)
    ]  # fmt: skip


def test_what_export_says_comes_next_can_be_typed(tmp_path, monkeypatch):
    """A release with a judge's ratings: the printed commands run, and the ratings are among the tables."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release").mkdir()
    write_rows(tmp_path / "release" / "items.jsonl", asked := questions(6, 2))
    write_rows(
        tmp_path / "release" / "responses.jsonl",
        [{"item": item["id"], "contestant": name, "text": f"{name} {item['id']}"} for item in asked for name in "ab"],
    )
    ratings = [
        {"item": item["id"], "contestant": name, "ballot": "score:1-10", "judge": "rater", "marks": [1 + place % 7 + n]}
        for place, item in enumerate(asked) for n, name in enumerate("ab")
    ]  # fmt: skip
    write_rows(tmp_path / "release" / "verdicts.jsonl", ratings)
    said = cli("export", "alignmmbench", "--data", "release", "--out", "out").stderr
    commands = [line.partition("fullbench ")[2].split() for line in said.splitlines() if "fullbench " in line]
    assert [words[0] for words in commands] == ["run", "report"], said
    study = tmp_path / "out" / "study.toml"  # drawing its page is tried elsewhere, and takes longest
    study.write_text(study.read_text(encoding="utf-8").replace('report = "report.html"\n', ""), encoding="utf-8")
    cli(*commands[0], "--quiet", "--json")
    table = cli(*commands[1], "--json").tables["averages rater"]
    for name in "ab":
        marks = [row["marks"][0] for row in ratings if row["contestant"] == name]
        assert cells(table, "mean over questions", "contestant")[name] == pytest.approx(fmean(marks))

    # Questions alone cannot be run until somebody answers, and that is what is said.
    write_rows(tmp_path / "metadata.jsonl", [
        {"question_id": "00000000-0", "image_path": "images/0.jpg", "history": [], "prompt": "几个？",
         "ref_answer": "三个", "task": "Counting", "category": "Perception & Understanding"}
    ])  # fmt: skip
    said = cli("export", "alignmmbench", "--data", tmp_path, "--out", "unanswered").stderr
    assert "Next:" not in said
    assert "Nobody has answered yet: name contestants in unanswered/study.toml" in said
    assert "name contestants or responses" in cli("run", "unanswered/study.toml", "--quiet", code=2).stderr
    study = tmp_path / "unanswered" / "study.toml"
    named = re.sub(
        "# contestants = .*", 'contestants = ["offline:canned?text=三个"]', study.read_text(encoding="utf-8")
    )
    study.write_text(named.replace('report = "report.html"\n', ""), encoding="utf-8")
    assert "averages length" in cli("run", "unanswered/study.toml", "--quiet", "--json").tables
