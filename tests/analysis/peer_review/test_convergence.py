"""Two camps that praise their own: weights and scores agree in two ways, and the tables say so."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import pearsonr

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.peer_review_tables import (
    build_peer_review_tables,
    nearness_by_round_table,
    other_solution_notes,
)
from fullbench.analysis.peer_review.ranking_methods import RankingOptions
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.core.table import Table
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.judges.peer_review.review_items_and_cases import BALLOT

NAMES = ("ant", "bee", "cat", "dog")
SKILL = {"ant": 4.0, "bee": 3.0, "cat": 2.0, "dog": 1.0}
CAMP = {"ant": 0, "bee": 0, "cat": 1, "dog": 1}


def first_wins(author: str, one: str, two: str, *, partial: bool) -> bool:
    """Whether the first wins: one's own camp where the author is partial, by skill otherwise."""
    if partial and CAMP[one] != CAMP[two]:
        return CAMP[one] == CAMP[author]
    return SKILL[one] > SKILL[two]


def reviewed(partial: int, honest: int) -> tuple[Record, np.ndarray, np.ndarray]:
    """A record of so many pictures of either kind; and as plain matrices each reviewer's points and its reviews."""
    items, responses, verdicts = {}, {}, []
    points, counts = np.zeros((4, 4)), np.zeros((4, 4))
    for place in range(partial + honest):
        for author in NAMES:
            item = Item(f"{place} | {author}", Item.ask("x", "?").turns, tags={"image": str(place), "reviewer": author})
            items[item.id] = item
            answers = [Response.say(item.id, name, f"{name}, 答案 {place}") for name in NAMES if name != author]
            responses |= {(item.id, answer.contestant): answer for answer in answers}
            for one, two in combinations(answers, 2):
                won = first_wins(author, one.contestant, two.contestant, partial=place < partial)
                for criterion in (CORRECTNESS, VISUAL):
                    verdicts.append(
                        Verdict.from_case(Case(item, (one, two), BALLOT, criterion), f"{author}+judge", (won, not won))
                    )
                row, left, right = (NAMES.index(name) for name in (author, one.contestant, two.contestant))
                points[row, left if won else right] += 1
                counts[row, [left, right]] += 1
    return Record(tuple(verdicts), items, responses), points, counts


def by_hand(points: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The last scores from each of 64 starts, one start after the other: the paper's rounds in plain steps."""

    def grades(weights):
        return np.array([weights @ points[:, of] / (weights @ counts[:, of]) for of in range(4)])

    def as_weights(values):
        return (values - values.min()) / (values.max() - values.min())

    starts = np.random.default_rng(0).uniform(size=(64, 4))
    starts[0] = 1.0
    ends = []
    for start in starts:
        weights, scores = start, as_weights(grades(start))
        for _ in range(30):
            scores = scores + 0.8 * (as_weights(grades(weights)) - scores)
            weights = weights + 0.8 * (scores - weights)
        ends.append(grades(weights))
    return np.array(ends)


def named(all_tables: list[Table], name: str) -> Table:
    return next(table for table in all_tables if table.name == name)


def test_starts_that_settle_elsewhere_are_counted_beside_the_ranking_and_the_curve():
    record, points, counts = reviewed(partial=9, honest=1)
    shown = build_peer_review_tables(record, truth=Truth(SKILL, "by skill"))
    ends = by_hand(points, counts)
    ranking = named(shown, "ranking")
    scores = dict(zip(ranking.column("contestant"), ranking.column("UPME"), strict=True))
    own = np.array([scores[name].value for name in NAMES])
    assert own == pytest.approx(ends[0], abs=1e-6), "of starts that end equally well, even weights count"
    away = np.abs(ends - own).max(axis=1)
    others = int((away >= 0.01).sum())
    assert 0 < others < 63
    correlations = [pearsonr(end, list(SKILL.values())).statistic for end in ends]
    curve = named(shown, "nearing")
    assert curve.column("pearson")[-1] == pytest.approx(np.mean(correlations), abs=1e-4)
    assert curve.column("least pearson")[-1] == pytest.approx(min(correlations), abs=1e-4)
    said = f"{others} of 64 starts end at other scores, up to {away.max():.2g} apart"
    assert [said in note for note in curve.notes] == [True]
    assert sum(said in note for note in ranking.notes) == 1


def test_nothing_is_said_where_all_starts_end_at_the_same_scores():
    record, points, counts = reviewed(partial=0, honest=3)
    assert np.ptp(by_hand(points, counts), axis=0).max() < 0.01
    reviews = Reviews.from_record(record)
    assert not nearness_by_round_table(reviews, truth=Truth(SKILL, "by skill"), terms=RankingOptions()).notes
    assert not other_solution_notes(reviews, RankingOptions())
