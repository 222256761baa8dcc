"""What MLLM-as-a-Judge prints and draws, computed a second time from exported verdicts by scipy, scikit-learn,
rapidfuzz or plain Python."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein
from scipy import stats
from sklearn.metrics import f1_score, recall_score

Row = dict[str, Any]
Place = tuple[str, ...]
BALLOTS = {"score": "score:1-5", "pair": "choice+tie", "batch": "ranking"}


def together(labels: list[Row]) -> dict[Place, Any]:
    """People's votes by item and contestants: means of scores and ranks, and of a pair the sign that most say."""
    votes = defaultdict(list)
    for row in labels:
        votes[row["item"], *row["contestants"]].append(row["marks"])
    joined: dict[Place, Any] = {}
    for place, each in votes.items():
        if len(place) == 3:
            (best, most), *rest = Counter(int(np.sign(one - two)) for one, two in each).most_common()
            joined[place] = 0 if rest and rest[0][1] == most else best
        else:
            joined[place] = np.mean(each, axis=0)
    return joined


def place_of(row: Row) -> Place:
    return (row["item"], *row["contestants"])


def scores(rows: list[Row], truth: dict[Place, Any]) -> dict[str, float]:
    """Pearson with its p, and Spearman."""
    pairs = [(row["marks"][0], truth[place_of(row)][0]) for row in rows if row["ballot"] == BALLOTS["score"]]
    pearson = stats.pearsonr(*zip(*pairs, strict=True))
    rho = stats.spearmanr(*zip(*pairs, strict=True)).statistic
    return {"Pearson": pearson.statistic, "p": pearson.pvalue, "Spearman": rho}


def choices(rows: list[Row], truth: dict[Place, Any]) -> dict[str, float]:
    """Accuracy with ties as a class and without, F1 and recall."""
    codes = [(int(np.sign(row["marks"][0] - row["marks"][1])), truth[place_of(row)])
             for row in rows if row["ballot"] == BALLOTS["pair"]]  # fmt: skip
    ours, theirs = zip(*codes, strict=True)
    return {
        "accuracy with ties": float(np.mean([one == two for one, two in codes])),
        "accuracy without ties": float(np.mean([one == two for one, two in codes if one and two])),
        "F1, macro": f1_score(theirs, ours, average="macro", zero_division=0),
        "recall, macro": recall_score(
            theirs, ours, labels=sorted({*ours, *theirs}), average="macro", zero_division=0
        ),
    }  # fmt: skip


def orders(rows: list[Row], truth: dict[Place, Any]) -> dict[str, float]:
    """The normalised Levenshtein distance of the two orders as strings; people's mean ranks have no ties here."""
    distances = []
    for row in rows:
        if row["ballot"] == BALLOTS["batch"]:
            ours, theirs = (
                "".join("ABCD"[place] for place in np.argsort(-np.array(marks)))
                for marks in (row["marks"], truth[place_of(row)])
            )
            distances.append(Levenshtein.distance(ours, theirs) / len(ours))
    return {"edit distance": float(np.mean(distances))}


def steadiness(rows: list[Row]) -> tuple[float, float, Counter[int]]:
    """Consistency, the majority criterion, and how many cases have their commonest ruling how often."""
    cases = defaultdict(list)
    for row in rows:
        cases[place_of(row)].append(tuple(row["marks"]))
    most = [(Counter(each).most_common(1)[0][1], len(each)) for each in cases.values()]
    shares = [often / heard for often, heard in most]
    return float(np.mean(shares)), float(np.mean([share > 0.5 for share in shares])), Counter(n for n, _ in most)


def ego(rows: list[Row], labels: list[Row], own: set[str]) -> tuple[float, float, float]:
    """By how much more its own are above people's marks than others, and how often its own win, by it and by people."""
    marks, votes = defaultdict(list), defaultdict(list)
    for row in (row for row in rows if row["ballot"] == BALLOTS["score"]):
        marks[place_of(row)].append(row["marks"][0])
    for row in (row for row in labels if row["ballot"] == BALLOTS["score"]):
        votes[place_of(row)].append(row["marks"][0])
    gaps = {place: np.mean(each) - np.mean(votes[place]) for place, each in marks.items()}
    above = [[gap for (_, who), gap in gaps.items() if (who in own) == kin] for kin in (True, False)]
    wins = []
    for ruled in (rows, labels):
        pairs = [row for row in ruled if row["ballot"] == BALLOTS["pair"] and len(own & {*row["contestants"]}) == 1]
        wins.append(np.mean([row["marks"][[who in own for who in row["contestants"]].index(True)] == 1
                             for row in pairs]))  # fmt: skip
    return float(np.mean(above[0]) - np.mean(above[1])), float(wins[0]), float(wins[1])


def density(lengths: dict[str, list[int]]) -> dict[str, list[float]]:
    """Ten bins up to the 99th percentile of all; what is longer is in the last."""
    every = [length for each in lengths.values() for length in each]
    edges = np.linspace(0, max(np.quantile(every, 0.99), 1), 11)
    return {
        name: (np.histogram(np.minimum(each, np.nextafter(edges[-1], 0)), edges)[0] / len(each)).tolist()
        for name, each in lengths.items()
    }


def words(text: str) -> int:
    """How many words a text has; every Chinese character is one."""
    return len(re.findall(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+", text))


def by_length(rows: list[Row], texts: dict[Place, str], truth: dict[Place, Any]) -> list[tuple[float, float, float]]:
    """In fifths of the answers' lengths: the mean length, the judge's mean score, and people's."""
    marks = np.array([
        (words(texts[place_of(row)]), row["marks"][0], truth[place_of(row)][0])
        for row in rows if row["ballot"] == BALLOTS["score"]
    ])  # fmt: skip
    edges = np.unique(np.quantile(marks[:, 0], np.linspace(0, 1, 6)))
    curve = []
    for low, high in pairwise(edges):
        inside = (marks[:, 0] >= low) & ((marks[:, 0] < high) | ((high == edges[-1]) & (marks[:, 0] == high)))
        if inside.any():
            curve.append(tuple(marks[inside].mean(axis=0).tolist()))
    return curve


def alpha(units: list[list[float]]) -> float:
    """Krippendorff's ordinal alpha by its definition: disagreement inside of units over that of all votes."""
    votes = [vote for unit in units for vote in unit]
    counts = Counter(votes)

    def apart(one: float, two: float) -> float:
        low, high = sorted((one, two))
        between = sum(count for vote, count in counts.items() if low <= vote <= high)
        return (between - (counts[low] + counts[high]) / 2) ** 2 if one != two else 0.0

    inside = sum(apart(one, two) / (len(unit) - 1) for unit in units for one in unit for two in unit)
    across = sum(apart(one, two) for one in votes for two in votes) / (len(votes) - 1)
    return 1 - inside / across


def said(svg: str) -> list[str]:
    """What the marks of a chart say of themselves, a minus as Python writes it; axes and legends aside."""
    labels = (text.replace("\u2212", "-") for text in re.findall(r'aria-label="([^"]*)"', svg))
    return [text for text in labels if not re.match(r"[XY]-axis |Symbol legend |Gradient legend ", text)]
