"""First screens of each paper's sample and of a study with twelve judges: who leads, whom to trust, what is missing."""

from __future__ import annotations

import csv
import json
import os
import random
import re
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from unittest import mock

import pytest

from tests.support.commands import run_in

LONG_NAME = re.compile(r"#[0-9a-f]{8}|https?://|127\.0\.0\.1")
JUDGES = ("length", "reference", "chance?seed=7", "offline:first?mode=direct")
MAIN_TABLES = {
    "mllm-as-a-judge": "Agreement with people by data set (Table 2 of the paper)",
    "visitbench": "Leaderboard by human",
    "mjbench": "Accuracy by perspective (Table 3 of the paper)",
    "upme": "Contestants. ",
    "alignmmbench": "Mean score of each task, by human",
}


def check_screen(screen: str) -> list[str]:
    """Assert that a screen fits 80 x 40 and begins with who leads; return its lines."""
    lines = screen.splitlines()
    assert len(lines) <= 40, screen
    assert max(map(len, lines)) <= 80, screen
    assert not LONG_NAME.search(screen)
    sentences = " ".join(lines[: lines.index("")])
    assert re.search(
        r"leads|share the first place|cannot be distinguished|Only .* could be compared",
        sentences.partition("Trust")[0],
    )
    assert sentences.index("Trust in judges: ") < sentences.index("Limits: ")
    assert "--all prints them" in screen
    return lines


@pytest.mark.parametrize("paper", MAIN_TABLES)
def test_the_sample_of_a_paper_begins_with_its_main_table(tmp_path: Path, paper: str):
    settings = {"name": "s", "benchmark": paper, "ledger": "s.ledger", "judges": list(JUDGES)}
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    with mock.patch.dict(os.environ, {"COLUMNS": "80"}):
        done = run_in(tmp_path, "run", "study.toml", "--quiet")
    lines = check_screen(done.stdout)
    titles = [lines[place + 1] for place, line in enumerate(lines[:-1]) if not line]
    assert titles[0].startswith(MAIN_TABLES[paper]), titles
    assert titles[1].startswith("Judges")


def test_twelve_long_named_judges_with_two_ballots_and_two_criteria(tmp_path: Path):
    draw = random.Random(5)
    contestants = [f"contestant-with-a-long-name-{letter}-instruct-2026" for letter in "abcde"]
    judges = [f"vendor-{number:02}/judge-model-with-a-long-name-{number % 3}b-instruct" for number in range(12)]
    rows, truth = [], defaultdict(list)
    for item in range(20):
        for place, who in enumerate(contestants):
            for criterion in ("accuracy of all statements", "clarity"):
                for name in (*judges, "human"):
                    noise = 0.3 if name == "human" else 1.0
                    mark = min(5, max(1, round(place + 1 + draw.gauss(0, noise))))
                    rows.append((f"q{item}", who, name, criterion, mark, "score:1-5"))
                    if name == "human":
                        truth[criterion, who].append(mark)
                    word = 2 if mark > 3 else 1
                    rows.append((f"q{item}", who, name, f"{criterion} (yes or no)", word, "likert:no|yes"))
    columns = ("item", "contestant", "judge", "criterion", "marks", "ballot")
    tables = {
        "verdicts": [columns, *(row for row in rows if row[2] != "human")],
        "labels": [columns, *(row for row in rows if row[2] == "human")],
        "items": [("id", "question"), *((f"q{item}", f"What is {item}?") for item in range(20))],
        "answers": [
            ("item", "contestant", "text"),
            *((f"q{i}", w, f"{w} {i}") for i in range(20) for w in contestants),
        ],
    }
    for name, lines in tables.items():
        with (tmp_path / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(lines)
    words = (
        "--items",
        "items.csv",
        "--responses",
        "answers.csv",
        "--verdicts",
        "verdicts.csv",
        "--labels",
        "labels.csv",
    )
    with mock.patch.dict(os.environ, {"COLUMNS": "80"}):
        screen = run_in(tmp_path, "report", *words).stdout
    check_screen(screen)
    assert "+12 more judges" in screen
    table = screen[screen.index("\nContestants") :].splitlines()[4:]
    means = {who: fmean(truth["accuracy of all statements", who]) for who in contestants}
    for line, who in zip(table[:3], sorted(contestants, key=lambda who: -means[who]), strict=False):
        assert f"{who[len('contestant-with-a-long-name-') :]}  {means[who]:.2f}" in line, "names keep what differs"
    assert all(re.search(r"  [01]\.\d\d \[", line) for line in table if line.startswith("accuracy of…(yes"))
