"""AlignMMBench's table of agreement on new data: three raters' scores and reasons, two critics, two splits."""

from __future__ import annotations

import hashlib
import json
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from tests.support.commands import cli, write_rows
from tests.support.scripted_server import Asked, ScriptedServer

CONTESTANTS = ("m1", "m2", "m3")
TASKS = ("Counting", "Description", "Reasoning")
RATERS = ("r1", "r2", "r3")


def number(*words: object) -> int:
    return int(hashlib.sha256(repr(words).encode()).hexdigest()[:8], 16)


def human(item: str, name: str, rater: str) -> int:
    return 1 + (number(item, name) % 8 + number(item, name, rater) % 3)


def scored(critic: str, place: str) -> int:
    """A critic's score, from the answer it is shown: m1 of question 3 is `[m1/q3]`."""
    name, item = place.split("/")
    return min(10, max(1, round(fmean(human(item, name, rater) for rater in RATERS)) + number(critic, place) % 5 - 2))


def critic(which: str):
    def rule(asked: Asked) -> str:
        place = asked.words.split("[[")[1].split("]]")[0]
        return json.dumps({"Rating": scored(which, place), "Reason": "按规则评分。"}, ensure_ascii=False)

    return rule


def test_the_six_figures_by_split_equal_scipy_s(tmp_path):
    items = [f"q{n}" for n in range(18)]
    rows = [{"id": item, "question": f"图 {item} 中有什么？", "reference": "三只猫。", "tags": {"task": TASKS[n % 3]}}
            for n, item in enumerate(items)]  # fmt: skip
    answers = [
        {"item": item, "contestant": name, "text": f"回答 [[{name}/{item}]]",
         "tags": {"split": "external" if name == "m3" else "internal"}}
        for item in items for name in CONTESTANTS
    ]  # fmt: skip
    labels = [
        {"item": item, "contestant": name, "rater": rater, "judge": "human", "score": human(item, name, rater),
         "ballot": "score:1-10", "text": "理由"}
        for item in items for name in CONTESTANTS for rater in RATERS
    ]  # fmt: skip
    for name, made in (("items", rows), ("answers", answers), ("labels", labels)):
        write_rows(tmp_path / f"{name}.jsonl", made)
    with ScriptedServer({which: critic(which) for which in ("c1", "c2")}) as server:
        judges = [f"critic:vllm:{which}@{server.url}" for which in ("c1", "c2")]
        (tmp_path / "s.toml").write_text(
            'name = "s"\nbenchmark = "alignmmbench"\ndata = "items.jsonl"\nresponses = "answers.jsonl"\n'
            f'labels = "labels.jsonl"\nledger = "s.ledger"\njudges = {json.dumps(judges)}\n',
            encoding="utf-8",
        )
        table = cli("run", tmp_path / "s.toml", "--quiet", "--json").tables["critics"]
    shown = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    places = {"external": ["m3"], "internal": ["m1", "m2"], "all": list(CONTESTANTS)}
    for which in ("c1", "c2"):
        for split, names in places.items():
            row = next(row for row in shown if which in row["judge"].partition("#")[0] and row["split"] == split)
            given = np.array([scored(which, f"{name}/{item}") for item in items for name in names])
            truth = np.array([fmean(human(item, name, rater) for rater in RATERS) for item in items for name in names])
            assert row["n"] == len(given)
            expected = {"e": np.abs(given - truth).mean(), "r": stats.pearsonr(given, truth).statistic,
                        "ρ": stats.spearmanr(given, truth).statistic,
                        "τ": stats.kendalltau(given, truth).statistic}  # fmt: skip
            for figure, value in expected.items():
                assert row[figure]["value"] == pytest.approx(value, abs=1e-9), (which, split, figure)
            near = np.floor(truth + 0.5)
            for figure, starts in (("f", (1, 3, 6, 9)), ("s", (1, 2, 3, 4, 6, 7, 9))):
                same = np.searchsorted(starts, given, "right") == np.searchsorted(starts, near, "right")
                assert row[figure]["value"] == pytest.approx(same.mean()), (which, split, figure)
