"""Joint model of contestants and judges: a leaderboard that weights judges by discrimination, and judge tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from fullbench.analysis.boards.leaderboard import rank_text
from fullbench.analysis.boards.matches_from_verdicts import build_matches
from fullbench.analysis.boards.unusable_verdicts_and_bounds_by_contestant import unusable_counts, with_unusable_column
from fullbench.analysis.people.paired_verdicts_and_votes import family_verdicts
from fullbench.analysis.scope_suffixes_of_table_titles import family_suffix, scope_suffix
from fullbench.columns.verdict_columns import Columns, Family
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, error_sentence
from fullbench.core.verdict import PEOPLE
from fullbench.errors import Undefined
from fullbench.stats.bias.causes_of_disagreement_between_two_judges import CAUSES, judge_disagreements
from fullbench.stats.ratings.joint_rating_model import JointRatings, Votes, fit_joint_model
from fullbench.stats.ratings.rank_ranges import rank_ranges_of_estimates

Lengths = Mapping[tuple[str, str, int], int]
"""Length of each response, by item, contestant and sample."""


def collect_votes(columns: Columns, judges: Sequence[str], family: Family, lengths: Lengths | None = None) -> Votes:
    """Return every comparison of the judges as rows; codes index the names in `columns`."""
    response_lengths = lengths or {}
    names = columns.names["contestant"]
    parts: list[tuple[np.ndarray, ...]] = []
    for judge in judges:
        part = family_verdicts(columns.where(judge=judge), family)
        if not (part.fault < 0).any():
            continue
        matches = build_matches(part, rule="mean")
        rows = matches.plays
        code = np.array([names.index(name) for name in matches.names] or [0], dtype=np.int64)
        lead = np.zeros(len(rows))
        if response_lengths:
            lead = np.array([
                _log_length(response_lengths.get((matches.items[item], matches.names[left], first)))
                - _log_length(response_lengths.get((matches.items[item], matches.names[right], second)))
                for item, left, right, first, second in zip(
                    rows.item.tolist(), rows.first.tolist(), rows.second.tolist(), rows.samples[0].tolist(),
                    rows.samples[1].tolist(), strict=True,
                )
            ])  # fmt: skip
        order = np.where(rows.ahead < 0, 0.0, np.where(rows.ahead == 1, 1.0, -1.0))
        number = np.full(len(rows), columns.names["judge"].index(judge), dtype=np.int64)
        parts.append(
            (code[rows.first], code[rows.second], rows.outcome, number, rows.item.astype(np.int64), order, lead)
        )
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return Votes(none, none, np.zeros(0), none, none, np.zeros(0), np.zeros(0))
    return Votes(*(np.concatenate([part[side] for part in parts]) for side in range(7)))


def _log_length(length: int | None) -> float:
    return math.log(length) if length else 0.0


def joint_tables(columns: Columns, lengths: Lengths | None = None, *, people: str = PEOPLE) -> list[Table]:
    """Return the joint leaderboard and judge tables of each study, criterion and family with several judges."""
    shown_tables: list[Table] = []
    studies = len(columns.names["study"])
    for (study, criterion, family), part in columns.by("study", "criterion", "family"):
        judges = part.judges()
        if len(judges) < 2:
            continue
        kind = cast("Family", family)
        where = scope_suffix(study if studies > 1 else "", criterion)
        votes = collect_votes(part, judges, kind, lengths)
        codes, left, right = _compact_codes(votes.first, votes.second)
        judge_codes, judge = np.unique(votes.judge, return_inverse=True)
        names = [part.names["judge"][code] for code in judge_codes.tolist()]
        compact = Votes(left, right, votes.outcome, judge, votes.item, votes.order, votes.lead)
        anchor = names.index(people) if people in names else None
        title = Note("joint.title", place=where, family=family_suffix(kind))
        try:
            joint_model = fit_joint_model(compact, len(codes), len(names), anchor=anchor)
        except Undefined as reason:
            none = Note("joint.no-fit", reason=error_sentence(reason))
            shown_tables.append(
                Table(f"joint{where}, {family}", title, table_columns("rank", "contestant", "rating"), [], [none])
            )
            continue
        contestants = [part.names["contestant"][code] for code in codes.tolist()]
        shown_tables += [
            with_unusable_column(
                _board_table(
                    joint_model,
                    contestants,
                    title,
                    f"joint{where}, {family}",
                    has_anchor=anchor is not None,
                    n=len(votes),
                ),
                unusable_counts(family_verdicts(part, kind)),
            ),
            _judge_table(joint_model, names, where, kind),
            _disagreement_table(compact, joint_model, names, where, kind),
        ]
    return [table for table in shown_tables if table.rows or table.notes]


def _compact_codes(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    codes, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    return codes, places[: len(left)], places[len(left) :]


def _board_table(
    joint_model: JointRatings, names: Sequence[str], title: str, name: str, *, has_anchor: bool, n: int
) -> Table:
    order = sorted(range(len(names)), key=lambda who: -joint_model.ratings[who].value)
    ranks = rank_ranges_of_estimates([joint_model.ratings[who] for who in order]).together
    rows: list[list[Cell]] = [
        [rank_text(rank), names[who], joint_model.ratings[who]] for rank, who in zip(ranks, order, strict=True)
    ]
    people = Note("joint.people-scale")
    mean = Note("joint.mean-scale")
    notes = [Note("joint.how", n=n), people if has_anchor else mean, Note("joint.limit")]
    hint = {"kind": "intervals", "label": "contestant", "value": "rating"}
    return Table(name, title, table_columns("rank", "contestant", "rating"), rows, notes, {}, hint)


def _judge_table(joint_model: JointRatings, names: Sequence[str], where: str, family: Family) -> Table:
    rows: list[list[Cell]] = [
        [name, fit.discrimination, fit.worth, fit.place, fit.length, fit.ties, fit.votes]
        for name, fit in zip(names, joint_model.judges, strict=True)
    ]
    title = Note("joint.title.judges", place=where, family=family_suffix(family))
    notes = [Note("joint.judges")]
    heads = table_columns(
        "judge", "discrimination", "worth of a vote", "place bias", "length bias", "share of ties", "votes"
    )
    return Table(f"joint judges{where}, {family}", title, heads, rows, notes)


def _disagreement_table(
    votes: Votes, joint_model: JointRatings, names: Sequence[str], where: str, family: Family
) -> Table:
    rows: list[list[Cell]] = [
        [
            names[pair.first_judge],
            names[pair.second_judge],
            pair.observed_rate,
            *(pair.causes[cause] for cause in CAUSES),
            pair.unexplained_rate,
        ]
        for pair in judge_disagreements(votes, joint_model)
    ]
    title = Note("joint.title.disagreements", place=where, family=family_suffix(family))
    notes = [Note("joint.disagreements")]
    heads = table_columns("judge", "other judge", "disagreement", *CAUSES, "rest")
    return Table(f"joint disagreements{where}, {family}", title, heads, rows, notes)
