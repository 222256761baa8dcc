"""Cases that a judge got wrong are exported and judged again, and nothing else."""

from __future__ import annotations

import json
from itertools import combinations

from fullbench import Ledger
from fullbench.studies.run.cases_per_judge_and_case_file import read_response_sets, write_response_sets
from tests.support.commands import cli, read_jsonl, write_rows

NAMES = ("a", "b", "c", "d")


def test_a_subset_that_is_run_again_hears_its_own_pairs(tmp_path):
    items = [
        {"id": f"题{n}", "question": f"What of {n}?", "tags": {"task": "pair", "dataset": "own"}} for n in range(6)
    ]
    words = {(item["id"], name): 1 + (place * 3 + at * 5) % 7
             for place, item in enumerate(items) for at, name in enumerate(NAMES)}  # fmt: skip
    answers = [{"item": item, "contestant": name, "text": "word " * count} for (item, name), count in words.items()]
    labels = []
    for place, item in enumerate(items):
        for one, two in combinations(NAMES, 2):
            first = float((place + ord(one) + ord(two)) % 3 > 0)
            labels.append({"item": item["id"], "contestants": [one, two], "marks": [first, 1 - first],
                           "judge": "human", "ballot": "choice+tie"})  # fmt: skip
    for name, rows in (("items", items), ("responses", answers), ("labels", labels)):
        write_rows(tmp_path / f"{name}.jsonl", rows)
    study = tmp_path / "s.toml"
    study.write_text(
        'name = "s"\nbenchmark = "mllm-as-a-judge"\ndata = "items.jsonl"\nresponses = "responses.jsonl"\n'
        'labels = "labels.jsonl"\njudges = ["length"]\nledger = "s.ledger"\n'
    )
    cli("run", study, "--quiet")
    wrong = {
        (row["item"], frozenset(row["contestants"]))
        for row in labels
        if (gap := words[row["item"], row["contestants"][0]] - words[row["item"], row["contestants"][1]])
        and (gap > 0) != (row["marks"][0] == 1)
    }
    assert 4 < len(wrong) < len(labels) - 4
    hard = tmp_path / "hard"
    cut = ("--subset", "hard", "--judge", "length")
    cli("export", "mllm-as-a-judge", "--ledger", tmp_path / "s.ledger", *cut, "--out", hard)
    assert {(row["item"], frozenset(row["contestants"])) for row in read_jsonl(hard / "cases.jsonl")} == wrong
    done = cli("run", hard / "study.toml", "--quiet", "--json")
    assert f"Only the {len(wrong)} sets of responses" in done.output
    with Ledger(hard / "study.ledger", read_only=True) as book:
        heard = [(verdict.item, frozenset(verdict.contestants)) for verdict in book.verdicts("length")]
    assert set(heard) == wrong
    assert len(heard) == 2 * len(wrong), "each in both orders"
    assert json.loads(done.stdout), "its tables are there"
    (tmp_path / "board.toml").write_text(
        'name = "b"\nkind = "leaderboard"\nbenchmark = "visitbench"\njudges = ["length"]\ncases = "cases.jsonl"\n'
        '[leaderboard]\nnewcomer = "x"\npredictions = "x.jsonl"\n'
    )
    assert "chooses its own cases" in cli("run", tmp_path / "board.toml", code=2).output
    write_rows(hard / "cases.jsonl", [{"item": "题0", "contestants": ["a", "nobody"]}])
    assert "there is no case to hear" in cli("run", hard / "study.toml", "--quiet", code=2).output


def test_a_pair_that_was_chosen_on_one_criterion_is_heard_on_that_one_alone(tmp_path):
    items = [{"id": name, "question": f"What of {name}?"} for name in "xy"]
    write_rows(tmp_path / "items.jsonl", items)
    answers = [{"item": item["id"], "contestant": name, "text": name * 3} for item in items for name in NAMES[:3]]
    write_rows(tmp_path / "answers.jsonl", answers)
    rows = [
        {"item": "x", "contestants": ["a", "b"], "criterion": "looks"},
        {"item": "x", "contestants": ["b", "c"], "criterion": "sense"},
        {"item": "y", "contestants": ["a", "c"]},
    ]
    write_rows(tmp_path / "cases.jsonl", rows)
    study = tmp_path / "s.toml"
    study.write_text(
        'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\nballots = ["choice+tie"]\n'
        'criteria = ["looks", "sense"]\njudges = ["length"]\ncases = "cases.jsonl"\nledger = "s.ledger"\n'
    )
    cli("run", study, "--quiet")
    with Ledger(tmp_path / "s.ledger", read_only=True) as book:
        record = book.record("length")
    heard = {(verdict.item, "".join(sorted(verdict.contestants)), verdict.criterion) for verdict in record}
    assert heard == {("x", "ab", "looks"), ("x", "bc", "sense"), ("y", "ac", "looks"), ("y", "ac", "sense")}
    write_response_sets(tmp_path / "again.jsonl", record)
    panels = {(item, "".join(sorted(name for name, _ in shown)), on) for item, shown, on in
              read_response_sets(tmp_path / "again.jsonl")}  # fmt: skip
    assert panels == heard
