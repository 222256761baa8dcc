"""`fullbench peer-review` and `fullbench simulate`, as people call them."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.commands import run_in


def test_pictures_of_ones_own_and_three_models_by_name(tmp_path):
    from fullbench.synthetic.item_generator import build_items

    (tmp_path / "photos").mkdir()
    for known in build_items(3, 3):
        (tmp_path / "photos" / f"{known.item.id}.png").write_bytes(known.item.pictures[0].data())
    (tmp_path / "photos" / "bad.jpg").write_text("not one")
    words = [
        "peer-review",
        "--images",
        "photos",
        "--contestants",
        "synthetic:keen,synthetic:hasty,synthetic:blind",
        "--json",
    ]
    planned = run_in(tmp_path, *words, "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert not (tmp_path / "fullbench.ledger").exists()
    done = run_in(tmp_path, *words, "--correlation", "colours", "--both-orders", "--report", "page.html", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "Skipped:" in done.stderr
    ranking = next(table for table in json.loads(done.stdout) if table["name"] == "ranking")
    assert len(ranking["rows"]) == 3
    assert "There are no labels here" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--contestants", "synthetic:keen,synthetic:hasty"], "at least three contestants"),
        (
            ["--contestants", "synthetic:keen,synthetic:nobody,synthetic:hasty"],
            "the synthetic benchmark has no contestant 'nobody'",
        ),
        (["--gamma", "1,2"], "--gamma needs three numbers"),
        (["--gamma", "a,b,c"], "--gamma needs three numbers"),
        (["--images", "nowhere"], "not a folder of pictures"),
        (["--mode", "loud"], "unknown mode 'loud'"),
        (["--correlation", "clip:nowhere"], "no CLIP model here"),
        (["--correlation", "clip"], "a correlation is clip:FOLDER, tools or colours"),
        (["--seeds", "1,1"], "runs with the same seed are the same"),
        (
            ["--reading", "mean"],
            "unknown variant 'mean' of the paper's equations; known: range, share, plain, sum, rank",
        ),
        (["--questions", "q.jsonl", "--images", "p"], "pictures (images) or given questions; add one"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, words, sentence):
    done = run_in(tmp_path, "peer-review", *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_nearness_has_n_and_intervals_and_votes_say_what_they_count(tmp_path):
    words = ["peer-review", "--limit", "2", "--contestants", "synthetic:keen,synthetic:hasty,synthetic:blind"]
    whole = run_in(tmp_path, *words, "--quiet", "--all")
    assert "count each review as a win, a tie or a loss" in " ".join(whole.stdout.split())
    (nearness,) = re.findall(r"^Distance of each method from the truth\b.*\n((?:.+\n)+)", whole.stdout, re.MULTILINE)
    nearness = nearness.splitlines()
    rows = [line for line in nearness[2:] if re.match(r"(UPME|PiCO|PRD|uniform|synthetic|consistent)", line)]
    assert len(rows) >= 7
    assert all(re.search(r"\[.*\].* [23]$", row) or "alone" in row for row in rows), nearness


def test_sums_of_weights_need_the_same_reviewers(tmp_path):
    """Without kin, a contestant whose heavy kinsman may not review it would come last however good it is."""
    words = ["peer-review", "--limit", "2", "--reading", "sum", "--quiet"]
    refused = run_in(tmp_path, *words, "--no-own-family")
    assert refused.returncode == 2
    assert "with --no-own-family they differ" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    done = run_in(tmp_path, *words, "--json")
    assert done.returncode == 0, done.stderr


def test_simulate_shows_what_is_found(tmp_path):
    done = run_in(
        tmp_path, "simulate", "--models", "5", "--seeds", "3", "--sizes", "5,10", "--colluders", "2", "--json"
    )
    assert done.returncode == 0, done.stderr
    names = [table["name"] for table in json.loads(done.stdout)]
    assert names == ["methods", "readings", "pictures", "warnings", "cheats", "influence"]


@pytest.mark.parametrize(
    ("words", "sentence"), [(["--sizes", "5,x"], "--sizes needs integers"), (["--models", "2"], "at least three")]
)
def test_a_simulation_that_cannot_be(tmp_path, words, sentence):
    done = run_in(tmp_path, "simulate", *words)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_the_main_tables_come_first_and_all_on_request(tmp_path):
    words = [
        "peer-review",
        "--limit",
        "2",
        "--contestants",
        "synthetic:keen,synthetic:hasty,synthetic:blind",
        "--quiet",
    ]
    short, whole = run_in(tmp_path, *words), run_in(tmp_path, *words, "--all")
    lines = short.stdout.splitlines()
    assert "UPME" in lines[0]
    assert "Reviewers: unknown" in short.stdout
    assert "Ranking without labels" in short.stdout
    assert len(lines) <= 40
    assert "Loss by round" not in short.stdout
    assert "Loss by round" in whole.stdout
    one = run_in(tmp_path, *words, "--table", "convergence")
    assert one.stdout.startswith("Loss by round")
