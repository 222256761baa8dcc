"""People's marks on several answers of one contestant: each meets the judge's mark on that very answer."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from statistics import fmean

import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.cli.all_commands import app

PEOPLE = ("安", "bo", "cy")


def write_labelled_samples(folder, *, named):
    rng = random.Random(3)
    items, answers, labels = [], [], []
    for number in range(15):
        items.append({"id": f"题{number}", "question": f"What is in picture {number}?"})
        for contestant in ("ace", "mid", "贝塔"):
            for sample in (0, 1):
                words = rng.randint(1, 40)
                text = " ".join(["word"] * words)
                answers.append({"item": f"题{number}", "contestant": contestant, "sample": sample, "text": text})
                which = {"samples": [sample]} if named else {}
                labels += [
                    {"item": f"题{number}", "contestants": [contestant], "ballot": "score:1-5", "rater": rater, **which,
                     "marks": [min(5, max(1, round(words / 10 + rng.gauss(1, 1))))]}
                    for rater in PEOPLE if named or not sample
                ]  # fmt: skip
    for name, rows in (("items", items), ("answers", answers), ("labels", labels)):
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return labels


def judged(folder):
    words = ["judge", "--judge", "length", "--ballot", "score:1-5", "--ledger", folder / "x.ledger", "--json"]
    for option in ("items", "labels"):
        words += [f"--{option}", folder / f"{option}.jsonl"]
    done = CliRunner().invoke(app, [*map(str, words), "--responses", str(folder / "answers.jsonl")])
    assert done.exit_code == 0, done.output
    return done


def test_each_answer_is_compared_with_what_people_say_of_it(tmp_path):
    labels = write_labelled_samples(tmp_path, named=True)
    done = judged(tmp_path)
    (table,) = [table for table in json.loads(done.stdout) if table["name"] == "agreement scores"]
    (row,) = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    votes = defaultdict(list)
    for label in labels:
        votes[label["item"], label["contestants"][0], label["samples"][0]].append(label["marks"][0])
    with Ledger(tmp_path / "x.ledger") as ledger:
        own = {(v.item, *v.shown_responses[0]): v.marks[0] for v in ledger.record(["length"]).verdicts}
    assert len(own) == len(votes) == row["n"] == 90
    ours, theirs = zip(*((own[key], fmean(votes[key])) for key in own), strict=True)
    for name, figure in (("Pearson", pearsonr), ("Spearman", spearmanr), ("Kendall", kendalltau)):
        assert row[name]["value"] == pytest.approx(figure(ours, theirs).statistic)
    assert row["error"]["value"] == pytest.approx(fmean(abs(one - two) for one, two in zip(ours, theirs, strict=True)))
    assert "sample 0" not in done.stderr


def test_labels_that_name_no_sample_are_of_the_first_answers_and_a_sentence_says_so(tmp_path):
    write_labelled_samples(tmp_path, named=False)
    done = judged(tmp_path)
    assert "135 of 135 labels are on contestants that answered several times (ace, mid, 贝塔)" in done.stderr
    (table,) = [table for table in json.loads(done.stdout) if table["name"] == "agreement scores"]
    assert dict(zip(table["columns"], table["rows"][0], strict=True))["n"] == 45
