"""Two CSV files of scores, a judge's and people's, and nothing else: agreement and a chart, from one command."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from statistics import fmean

import pytest
from scipy.stats import pearsonr

from fullbench import Ledger
from tests.support.commands import call


@pytest.fixture
def scores(tmp_path: Path, monkeypatch) -> dict[tuple[int, str], tuple[int, tuple[int, int]]]:
    """Write judge.csv and people.csv; return the judge's score and both people's for each response."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FULLBENCH_LEDGER", raising=False)
    draw = random.Random(3)
    found = {}
    for question in range(40):
        for model, level in (("m1", 3.8), ("m2", 3.0), ("m3", 2.2)):
            worth = level + draw.gauss(0, 0.7)
            judge, *people = (max(1, min(5, round(worth + draw.gauss(0, error)))) for error in (0.6, 0.4, 0.4))
            found[question, model] = (judge, (people[0], people[1]))
    with Path("judge.csv").open("w", newline="") as one, Path("people.csv").open("w", newline="") as other:
        judges, annotators = csv.writer(one), csv.writer(other)
        judges.writerow(["question_id", "model", "judge", "score"])
        annotators.writerow(["question_id", "model", "annotator", "score"])
        for (question, model), (judge, people) in found.items():
            judges.writerow([f"q{question}", model, "gpt-4o", judge])
            annotators.writerows([f"q{question}", model, name, score] for name, score in zip("ab", people, strict=True))
    return found


def test_agreement_and_means_equal_an_independent_computation(scores):
    code, done = call("report", "--verdicts", "judge.csv", "--labels", "people.csv", "--json", "--all")
    assert code == 0, done.stderr
    row = next(row for row in done.tables["agreement scores"]["rows"] if "gpt-4o" in str(row))
    expected = pearsonr([judge for judge, _ in scores.values()], [fmean(people) for _, people in scores.values()])
    values = [cell["value"] for cell in row if isinstance(cell, dict) and isinstance(cell.get("value"), float)]
    assert any(value == pytest.approx(expected.statistic, abs=1e-9) for value in values), (values, expected)
    assert "40 items and 120 responses are known by name only" in done.output


def test_a_chart_is_written_and_no_ledger_is_left(scores):
    code, done = call(
        "report", "--verdicts", "judge.csv", "--labels", "people.csv", "--charts", "charts", "--out", "page.html"
    )
    assert code == 0, done.stderr
    assert Path("charts/agreement-scores.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "m1 leads" in Path("page.html").read_text(encoding="utf-8")
    assert not list(Path().glob("*.ledger*"))


def test_a_ledger_in_the_folder_is_not_mixed_in_unless_it_is_named(scores):
    with Ledger("fullbench.ledger"):
        pass
    code, done = call("report", "--verdicts", "judge.csv", "--labels", "people.csv", "--json")
    assert code == 0, done.stderr
    assert "fullbench.ledger in this folder is not in this report" in done.output
    assert "40 items and 120 responses are known by name only" in done.output


def test_with_a_ledger_the_verdicts_still_join_it(scores):
    code, done = call("report", "--verdicts", "judge.csv", "--ledger", "none.ledger")
    assert (code, "no ledger at this path" in done.output) == (2, True)
