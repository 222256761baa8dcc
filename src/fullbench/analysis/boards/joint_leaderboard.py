"""Contestants and judges from one fit: a leaderboard with judges weighted by what they are worth, and the judges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from fullbench.analysis.boards.leaderboard import rank_text
from fullbench.analysis.boards.matches_from_verdicts import settle
from fullbench.analysis.people.paired_verdicts_and_votes import of_family
from fullbench.analysis.scope_text import from_family, place
from fullbench.columns.verdict_columns import Columns, Family
from fullbench.core.column_labels import headings
from fullbench.core.note import Note, sentence
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.errors import Undefined
from fullbench.stats.bias.reasons_for_disagreement import CAUSES, disagreements
from fullbench.stats.ratings.joint_rating_model import Joint, Votes, joint
from fullbench.stats.ratings.rank_ranges import ranks_of_estimates

Lengths = Mapping[tuple[str, str, int], int]
"""How long each response is, by item, contestant and sample."""


def votes_of(columns: Columns, judges: Sequence[str], family: Family, lengths: Lengths | None = None) -> Votes:
    """Every comparison of the judges as rows; contestants, items and judges by their codes in the columns' names."""
    known = lengths or {}
    names = columns.names["contestant"]
    parts: list[tuple[np.ndarray, ...]] = []
    for judge in judges:
        part = of_family(columns.of(judge=judge), family)
        if not (part.fault < 0).any():
            continue
        settled = settle(part, rule="mean")
        rows = settled.plays
        code = np.array([names.index(name) for name in settled.names] or [0], dtype=np.int64)
        lead = np.zeros(len(rows))
        if known:
            lead = np.array([
                _log(known.get((settled.items[item], settled.names[one], first)))
                - _log(known.get((settled.items[item], settled.names[two], second)))
                for item, one, two, first, second in zip(
                    rows.item.tolist(), rows.one.tolist(), rows.two.tolist(), rows.samples[0].tolist(),
                    rows.samples[1].tolist(), strict=True,
                )
            ])  # fmt: skip
        order = np.where(rows.ahead < 0, 0.0, np.where(rows.ahead == 1, 1.0, -1.0))
        number = np.full(len(rows), columns.names["judge"].index(judge), dtype=np.int64)
        parts.append((code[rows.one], code[rows.two], rows.outcome, number, rows.item.astype(np.int64), order, lead))
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return Votes(none, none, np.zeros(0), none, none, np.zeros(0), np.zeros(0))
    return Votes(*(np.concatenate([part[side] for part in parts]) for side in range(7)))


def _log(length: int | None) -> float:
    return math.log(length) if length else 0.0


def tables(columns: Columns, lengths: Lengths | None = None, *, people: str = PEOPLE) -> list[Table]:
    """For each study, criterion and family with several judges: the leaderboard by all of them, and the judges."""
    shown: list[Table] = []
    studies = len(columns.names["study"])
    for (study, criterion, family), part in columns.by("study", "criterion", "family"):
        judges = part.judges()
        if len(judges) < 2:
            continue
        kind = cast("Family", family)
        where = place(study if studies > 1 else "", criterion)
        votes = votes_of(part, judges, kind, lengths)
        codes, one, two = _compact(votes.one, votes.two)
        heard, judge = np.unique(votes.judge, return_inverse=True)
        names = [part.names["judge"][code] for code in heard.tolist()]
        compact = Votes(one, two, votes.won, judge, votes.item, votes.order, votes.lead)
        anchor = names.index(people) if people in names else None
        title = Note(
            "joint.title", "Leaderboard by all judges in one model{place}{family}", place=where,
            family=from_family(kind),
        )  # fmt: skip
        try:
            fitted = joint(compact, len(codes), len(names), anchor=anchor)
        except Undefined as reason:
            none = Note("joint.no-fit", "No joint model: {reason}.", reason=sentence(reason))
            shown.append(Table(f"joint{where}, {family}", title, headings("rank", "contestant", "rating"), [], [none]))
            continue
        contestants = [part.names["contestant"][code] for code in codes.tolist()]
        shown += [
            _board(fitted, contestants, title, f"joint{where}, {family}", anchored=anchor is not None, n=len(votes)),
            _judges(fitted, names, where, kind),
            _disagreements(compact, fitted, names, where, kind),
        ]
    return [table for table in shown if table.rows or table.notes]


def _compact(one: np.ndarray, two: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    codes, places = np.unique(np.concatenate([one, two]), return_inverse=True)
    return codes, places[: len(one)], places[len(one) :]


def _board(fitted: Joint, names: Sequence[str], title: str, name: str, *, anchored: bool, n: int) -> Table:
    order = sorted(range(len(names)), key=lambda who: -fitted.ratings[who].value)
    ranks = ranks_of_estimates([fitted.ratings[who] for who in order]).together
    rows: list[list[Cell]] = [
        [rank_text(rank), names[who], fitted.ratings[who]] for rank, who in zip(ranks, order, strict=True)
    ]
    people = Note(
        "joint.people-scale", "Strengths are those in people's eyes: their discrimination is 1, their length bias 0."
    )
    mean = Note("joint.mean-scale", "No person voted: strengths are those in the mean judge's eyes, length taken out.")
    notes = [
        Note("joint.how", "From {n:,} votes; judges weigh by how sharply they tell strengths apart.", n=n),
        people if anchored else mean,
        Note(
            "joint.limit",
            "The model believes that judges differ in these ways only; what people would say, --corrected shows.",
        ),
    ]
    hint = {"kind": "intervals", "label": "contestant", "value": "rating"}
    return Table(name, title, headings("rank", "contestant", "rating"), rows, notes, {}, hint)


def _judges(fitted: Joint, names: Sequence[str], where: str, family: Family) -> Table:
    rows: list[list[Cell]] = [
        [name, fit.discrimination, fit.worth, fit.place, fit.length, fit.ties, fit.votes]
        for name, fit in zip(names, fitted.judges, strict=True)
    ]
    title = Note(
        "joint.title.judges", "Judges from the same model{place}{family}", place=where, family=from_family(family)
    )
    notes = [
        Note(
            "joint.judges",
            "Discrimination: how sharply a judge tells strengths apart (people: 1). Worth: what one of its votes tells "
            "beside the sharpest judge's. Place, length: log odds for the first shown, and for one unit of log length.",
        )
    ]
    heads = headings(
        "judge", "discrimination", "worth of a vote", "place bias", "length bias", "share of ties", "votes"
    )
    return Table(f"joint judges{where}, {family}", title, heads, rows, notes)


def _disagreements(votes: Votes, fitted: Joint, names: Sequence[str], where: str, family: Family) -> Table:
    """Every two judges: how often they prefer different responses, and what that comes from."""
    rows: list[list[Cell]] = [
        [names[pair.one], names[pair.two], pair.observed, *(pair.causes[cause] for cause in CAUSES), pair.rest]
        for pair in disagreements(votes, fitted)
    ]
    title = Note(
        "joint.title.disagreements", "Why judges disagree, in the same model{place}{family}", place=where,
        family=from_family(family),
    )  # fmt: skip
    notes = [
        Note(
            "joint.disagreements",
            "Disagreement: the share of pairs of responses on which two judges rule differently; a tie beside a choice "
            "is half. Behind it, what each judge's place and length bias and their unequal sharpness add to it (they "
            "may lower it), and the rest: responses near each other, items and chance.",
        )
    ]
    heads = headings("judge", "other judge", "disagreement", *CAUSES, "rest")
    return Table(f"joint disagreements{where}, {family}", title, heads, rows, notes)
