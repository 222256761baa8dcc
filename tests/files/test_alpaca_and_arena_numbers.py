"""AlpacaEval's weighted win rate, and battles that FastChat's elo_analysis reads with our ratings."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from tests.files.test_alpaca import note
from tests.files.test_exchange import battle, keep, put, taken


def board(cli, ledger: Path, judge: str) -> dict[str, dict]:
    code, out, err = cli("report", "--ledger", ledger, "--json")
    assert code == 0, err
    (table,) = (one for one in json.loads(out) if one["name"] == f"leaderboard {judge}")
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    return {row["contestant"]: row for row in rows}


def test_the_weighted_win_rate_stands_beside_duels_won(cli, tmp_path):
    rows, wanted, won = [], defaultdict(list), defaultdict(list)
    for number in range(12):
        for at, model in enumerate(("m1", "m2", "模型")):
            share = (0.05 + 0.07 * number + 0.2 * at) % 1
            rows.append(note(f"问 {number}", number, "weighs", model, round(1 + share, 4)))
            rows.append(note(f"问 {number}", number, "ranks", model, 1 + (number + at) % 2))
            wanted[model].append(round(share, 4))
            wanted["base"].append(1 - round(share, 4))
            won[model].append(float(share > 0.5))
    put(tmp_path / "in" / "annotations.json", rows)
    keep(tmp_path / "x.ledger", *taken(cli, "alpaca", tmp_path / "in"))
    found = board(cli, tmp_path / "x.ledger", "weighs")
    for model, shares in wanted.items():
        assert found[model]["weighted win rate"]["value"] == pytest.approx(fmean(shares))
    for model, wins in won.items():
        assert found[model]["matches won"]["value"] == pytest.approx(fmean(wins))
    whole = board(cli, tmp_path / "x.ledger", "ranks")
    assert not any("weighted win rate" in row for row in whole.values()), "matches won says it all"


def rated(battles: list[dict]) -> dict[str, float]:
    """Bradley-Terry as arenas fit it: a logistic regression, ties half, 400 points to a factor of ten, mean 1000."""
    names = sorted({row[side] for row in battles for side in ("model_a", "model_b")})
    one, two = (np.array([names.index(row[side]) for row in battles]) for side in ("model_a", "model_b"))
    outcome = np.array([{"model_a": 1.0, "model_b": 0.0}.get(row["winner"], 0.5) for row in battles])

    def loss(strength: np.ndarray) -> float:
        chance = expit(strength[one] - strength[two])
        return -float(np.sum(outcome * np.log(chance) + (1 - outcome) * np.log(1 - chance)))

    strength = minimize(loss, np.zeros(len(names)), tol=1e-12).x
    return dict(zip(names, 1000 + (strength - strength.mean()) * 400 / np.log(10), strict=True))


def test_battles_that_are_written_have_our_ratings_and_what_elo_analysis_reads(cli, tmp_path):
    models = ("a", "乙", "c/70B")
    winners = ("model_a", "model_a", "tie", "model_b", "tie (bothbad)", "model_a", "model_b")
    rows = [battle(n, winners[n % 7], models[n % 3], models[(n + 1 + n // 3 % 2) % 3]) for n in range(60)]
    put(tmp_path / "clean_battle_conv.json", rows)
    code, out, err = cli("import", "arena", "clean_battle_conv.json", "--out", "o")
    assert code == 0, err
    assert "battles that both sides lost ('both bad'): taken as ties" in out
    study = tmp_path / "o" / "study.toml"
    study.write_text(
        study.read_text(encoding="utf-8").replace("judges = []", 'judges = ["length", "chance"]'), encoding="utf-8"
    )
    code, _, err = cli("run", study, "--quiet")
    assert code == 0, err
    ledger = tmp_path / "o" / "study.ledger"
    code, _, err = cli("export", "arena", "--ledger", ledger, "--out", "all.json")
    assert (code, "by chance, 60 by human, " in err, "--judge NAME writes one judge's alone" in err) == (0, True, True)
    cli("export", "arena", "--ledger", ledger, "--judge", "human", "--out", "people.json")
    again = json.loads((tmp_path / "people.json").read_text(encoding="utf-8"))
    assert {(row["anony"], row["language"], row["turn"]) for row in again} == {(True, "Chinese", 1)}
    ours = {name: row["rating"]["value"] for name, row in board(cli, ledger, "human").items()}
    assert rated(again) == pytest.approx(rated(rows), abs=0.01)
    assert ours == pytest.approx(rated(rows), abs=0.01)
    _, _, back = taken(cli, "arena", tmp_path / "all.json")
    raters = {verdict.rater for verdict in back if verdict.judge == "human"}
    assert Counter(verdict.judge for verdict in back) == {"human": 60, "length": 120, "chance": 120}
    assert raters == {"user0", "user1"}
