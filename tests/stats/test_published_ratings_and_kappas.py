"""Ratings and kappas on released data equal published or earlier computed values."""

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest

from fullbench.stats.agreement.many_raters import fleiss_kappa
from fullbench.stats.intervals.statistics_for_bootstrap import weighted_pearson
from fullbench.stats.ratings.bradley_terry import bradley_terry
from fullbench.stats.ratings.elo import elo_ratings

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"


def rows(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the released data are not here: {name}")
    return list(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))


def expected(folder, ending):
    """What each check that ends so should give, by what stands before the ending, with its tolerance."""
    checks = json.loads((DATA / folder / "expected.json").read_text())["checks"]
    found = {check["id"].removesuffix(ending): check for check in checks if check["id"].endswith(ending)}
    return {name: (check["recomputed"], check["impl_tol"]) for name, check in found.items()}


@pytest.mark.parametrize(("battles", "unparsed"), [("vicuna_gpt4", 0.5), ("oa_gpt4", None)])
def test_bradley_terry_of_the_qlora_battles(battles, unparsed):
    outcome = {"1": 1.0, "2": 0.0, "3": 0.5, "-1": unparsed}
    found = [
        (row["model_1"], row["model_2"], outcome[row["score"]], row["question"])
        for row in rows(f"vicuna_oa_battles/{battles}.csv.gz")
        if outcome[row["score"]] is not None
    ]
    names = sorted({row[0] for row in found})
    first, second = ([names.index(row[place]) for row in found] for place in (0, 1))
    result, question = [row[2] for row in found], [row[3] for row in found]
    ratings = bradley_terry(first, second, result, cluster=question, resamples=300)
    checks = expected("vicuna_oa_battles", "/bt")
    mine = {f"{battles}/{name}": rating for name, rating in zip(names, ratings.estimates, strict=True)}
    assert set(mine) & set(checks)
    for name in set(mine) & set(checks):
        value, tolerance = checks[name]
        assert mine[name].value == pytest.approx(value, abs=tolerance)
        assert mine[name].low < value < mine[name].high


def test_elo_of_the_qlora_battles():
    outcome = {"1": 1.0, "2": 0.0, "3": 0.5, "-1": 0.5}
    found = rows("vicuna_oa_battles/vicuna_gpt4.csv.gz")
    names = sorted({row["model_1"] for row in found})
    first, second = ([names.index(row[side]) for row in found] for side in ("model_1", "model_2"))
    ratings = elo_ratings(first, second, [outcome[row["score"]] for row in found])
    checks = expected("vicuna_oa_battles", "/elo_mean")
    mine = {f"vicuna_gpt4/{name}": rating for name, rating in zip(names, ratings, strict=True)}
    assert set(mine) & set(checks)
    for name in set(mine) & set(checks):
        value, tolerance = checks[name]
        assert mine[name].value == pytest.approx(value, abs=tolerance)


@pytest.mark.parametrize("part", ["anony", "full"])
def test_the_arena_model_without_a_decided_battle_stays_unrated(part):
    table = rows(f"wildvision_arena/{part}_wins_no_ties.csv.gz")
    names = [row["model"] for row in table]
    wins = np.array([[int(row[name]) for name in names] for row in table])
    np.fill_diagonal(wins, 0)
    one, two = np.nonzero(wins)
    times = wins[one, two]
    first, second = np.repeat(one, times), np.repeat(two, times)
    ratings = bradley_terry(first, second, np.ones(len(first)), contestants=len(names), interval="sandwich")
    assert list(ratings.unrated_reasons.values()) == ["no match"]
    checks = expected("wildvision_arena", "/bt_no_ties_centered")
    mine = {f"{part}/{name}": e.value - 1000 for name, e in zip(names, ratings.estimates, strict=True) if e}
    assert set(mine) & set(checks)
    for name in set(mine) & set(checks):
        value, tolerance = checks[name]
        assert mine[name] == pytest.approx(value, abs=tolerance)
    published = {row["model"]: float(row["rating"]) for row in rows(f"wildvision_arena/{part}_published.csv.gz")}
    pairs = [(rating, published[name.split("/")[1]]) for name, rating in mine.items()]
    r = weighted_pearson(np.ones((1, len(pairs))), *np.array(pairs).T)[0]
    whole = expected("wildvision_arena", "/bt_vs_published_pearson")
    assert r == pytest.approx(whole[part][0], abs=whole[part][1]) if part in whole else r > 0.9


def test_fleiss_kappa_of_the_human_votes_and_with_gpt4():
    votes = rows("vicuna_oa_battles/vicuna_human.csv.gz")
    items = [f"{row['question']} {row['model_1']} {row['model_2']}" for row in votes]
    marks = [float(row["score"]) for row in votes]
    value, tolerance = expected("vicuna_oa_battles", "human/fleiss_three_votes")[""]
    assert fleiss_kappa(items, marks, resamples=200).value == pytest.approx(value, abs=tolerance)
    by_item = {}
    for item, mark in zip(items, marks, strict=True):
        by_item.setdefault(item, []).append(mark)
    majority = {item: max(said, key=said.count) if len(set(said)) < 3 else 3.0 for item, said in by_item.items()}
    judge = {
        f"{row['question']} {row['model_1']} {row['model_2']}": 3.0 if row["score"] == "-1" else float(row["score"])
        for row in rows("vicuna_oa_battles/vicuna_gpt4.csv.gz")
    }
    both = [item for item in majority if item in judge]
    value, tolerance = expected("vicuna_oa_battles", "human_vs_gpt4/fleiss")[""]
    found = fleiss_kappa(both * 2, [*(majority[i] for i in both), *(judge[i] for i in both)], resamples=200)
    assert found.value == pytest.approx(value, abs=tolerance)
