"""VisIT-Bench's boards and figures a second time, in plain Python: from verdicts as they were exported, and votes."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import spearmanr

from tests.support.commands import cells, write_rows

ASKED = ("Describe the map", "Count the cats", "Write a poem")

Match = tuple[str, str, str, float]
"""An item, two contestants, and what the first of them won: 1, 0, or a half."""


def with_requests(folder: Path, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items with instructions that ask for things, and tags of what their pictures show: for Figures 9 and 10."""
    asked = [
        {**item, "question": f"{ASKED[n % 3]} of {n}.",
         "tags": {**item["tags"], "objects": ", ".join(["cat"] * (n % 3) + ["猫"])}}
        for n, item in enumerate(items)
    ]  # fmt: skip
    write_rows(folder / "items.jsonl", asked)
    return asked


def check(
    tables: list[dict[str, Any]], items: list[dict[str, Any]], people: list[dict[str, Any]],
    verdicts: list[dict[str, Any]],
) -> None:  # fmt: skip
    """Ratings, Elo, wins against the reference, and Figures 8, 9 and 10, by value."""
    matches = {
        name: matches_of_judge(row for row in verdicts if row["judge"] == name)
        for name in {row["judge"] for row in verdicts} - {"human"}
    }
    family = {item["id"]: item["tags"]["family"] for item in items}
    rated = check_boards(tables, {**matches, "human": matches_of_votes(people)}, family)
    assert rated >= 4, "people and three judges; who always wins, as the reference by a metric, has no rating"
    by_name = {table["name"]: table for table in tables}
    # Systems: the order of ratings by every single verdict, beside the order by people's votes.
    rho, ours = cells(by_name["systems"], "Spearman", "judge"), bradley_terry(matches_of_votes(people))
    compared = 0
    for name in matches:
        each = [row for row in verdicts if row["judge"] == name]
        theirs = bradley_terry([(row["item"], *row["contestants"], _outcome(row)) for row in each])
        if ours is not None and theirs is not None:
            compared += 1
            expected = spearmanr([ours[who] for who in sorted(ours)], [theirs[who] for who in sorted(ours)]).statistic
            assert rho[name] == pytest.approx(expected), name
    assert compared >= 3
    wanted = Counter(("describe map", "count cats", "write poem")[n % 3] for n in range(len(items)))
    assert cells(by_name["requests"], "requests", "verb and noun") == wanted
    found = Counter(name.strip() for item in items for name in item["tags"]["objects"].split(","))
    assert cells(by_name["objects"], "times found", "object") == found


def matches_of_votes(labels: Iterable[Mapping[str, Any]]) -> list[Match]:
    """Every single vote of a person is a match."""
    return [(row["item"], *row["contestants"], float(row["marks"][0] > row["marks"][1])) for row in labels]


def _outcome(row: Mapping[str, Any]) -> float:
    first, second = row["marks"]
    return 0.5 if first == second else float(first > second)


def matches_of_judge(verdicts: Iterable[Mapping[str, Any]]) -> list[Match]:
    """Who wins in both orders has won; anything else is a tie."""
    heard: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in verdicts:
        one, two = sorted(row["contestants"])
        marks = dict(zip(row["contestants"], row["marks"], strict=True))
        heard[row["item"], one, two].append(marks[one] - marks[two])
    assert {len(orders) for orders in heard.values()} == {2}
    return [(*place, 1.0 if min(orders) > 0 else 0.0 if max(orders) < 0 else 0.5) for place, orders in heard.items()]


def bradley_terry(matches: list[Match]) -> dict[str, float] | None:
    """Ratings around 1000 by plain maximisation, a tie half a win of each; None where somebody always won or lost."""
    names = sorted({name for _, one, two, _ in matches for name in (one, two)})
    won: Counter[tuple[str, str]] = Counter()
    for _, one, two, outcome in matches:
        won[one, two] += outcome
        won[two, one] += 1 - outcome
    for name in names:
        ours, theirs = (sum(won[pair] for pair in won if pair[place] == name) for place in (0, 1))
        if not ours or not theirs:
            return None
    order = {name: place for place, name in enumerate(names)}
    first = np.array([order[one] for one, _ in won])
    second = np.array([order[two] for _, two in won])
    count = np.array(list(won.values()))

    def loss(theta):
        return float(count @ np.logaddexp(0, theta[second] - theta[first])) + 1e-9 * float(theta @ theta)

    def slope(theta):
        chance = 1 / (1 + np.exp(theta[first] - theta[second]))
        change = 2e-9 * theta
        np.subtract.at(change, first, count * chance)
        np.add.at(change, second, count * chance)
        return change

    theta = minimize(loss, np.zeros(len(names)), jac=slope, method="BFGS", options={"gtol": 1e-9}).x
    return dict(zip(names, 1000 + (theta - theta.mean()) * 400 / np.log(10), strict=True))


def elo(matches: list[Match], orders: int = 150) -> dict[str, float]:
    """The median rating over shuffled orders: K = 4, start 1000, scale 400."""
    lot, ended = random.Random(3), defaultdict(list)
    for _ in range(orders):
        rating: dict[str, float] = defaultdict(lambda: 1000.0)
        for _, one, two, outcome in lot.sample(matches, len(matches)):
            expected = 1 / (1 + 10 ** ((rating[two] - rating[one]) / 400))
            rating[one] += 4 * (outcome - expected)
            rating[two] -= 4 * (outcome - expected)
        for name, value in rating.items():
            ended[name].append(value)
    return {name: float(np.median(each)) for name, each in ended.items()}


def check_boards(tables: list[dict[str, Any]], matches: Mapping[str, list[Match]], family: Mapping[str, str]) -> int:
    """Each judge's rating, Elo, wins against the reference and those by family (Figure 8); how many were rated."""
    starts = [place for place, table in enumerate(tables) if table["name"] == "board"]
    rated = 0
    for start, end in zip(starts, [*starts[1:], len(tables)], strict=True):
        board = tables[start]
        judge = next(name for name in matches if f"Leaderboard by {name} (" in board["title"])
        played = matches[judge]
        expected = bradley_terry(played)
        if expected is not None:
            rated += 1
            assert cells(board, "rating", "contestant") == pytest.approx(expected, abs=0.5), judge
        assert cells(board, "Elo", "contestant") == pytest.approx(elo(played), abs=4), judge
        decided: dict[str, list[float]] = defaultdict(list)
        by_family: dict[tuple[str, str], list[float]] = defaultdict(list)
        for item, one, two, outcome in played:
            for name, other, won in ((one, two, outcome), (two, one, 1 - outcome)):
                if other == "reference":
                    by_family[family[item], name].append(won)
                    if won != 0.5:
                        decided[name].append(won)
        shares = {name: share for name, share in cells(board, "wins against the reference", "contestant").items()
                  if share is not None}  # fmt: skip
        assert shares == pytest.approx({name: np.mean(each) for name, each in decided.items()}), judge
        figure_8 = next(table for table in tables[start:end] if table["name"] == "by family against reference")
        assert cells(figure_8, "won", "family", "contestant") == pytest.approx(
            {place: np.mean(each) for place, each in by_family.items()}
        ), judge
    return rated
