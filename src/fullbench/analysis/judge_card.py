"""A judge card: on one page, whether a judge can be trusted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from statistics import fmean
from typing import Any

import numpy as np

from fullbench.analysis import all_tables, estimate_cells, verdict_cost
from fullbench.analysis.agreement import (
    across_different_scales,
    by_tag,
    can_replace_people,
    judges_with_people,
    repeats_and_orders,
    uncompared_verdicts,
)
from fullbench.analysis.agreement.judges_with_people import Met
from fullbench.analysis.agreement.with_single_votes import one_by_one
from fullbench.analysis.bias import bias_probes
from fullbench.analysis.bias.bias_finding import Finding
from fullbench.analysis.bias.bias_finding import corrected as counted_together
from fullbench.analysis.boards import leaderboard
from fullbench.analysis.people import corrected_leaderboards
from fullbench.analysis.scope_text import place, placed
from fullbench.analysis.views.member_verdicts import by_judges, waiting
from fullbench.columns.column_builder import columns_of
from fullbench.columns.verdict_columns import Columns
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, sentences, word
from fullbench.core.notebook_display import Shown
from fullbench.core.record import Pairing, Record
from fullbench.core.rubric import AGREES, REVIEW_BALLOTS
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError, Undefined
from fullbench.stats.agreement.vote_consensus import VoteRule
from fullbench.stats.array_checks import exact_sum
from fullbench.stats.intervals import weighted_statistics
from fullbench.stats.paired_comparison_of_judges import benjamini_hochberg, paired_difference

YES_NO = REVIEW_BALLOTS[AGREES].spec
Place = tuple[str, frozenset[tuple[str, int]], str]


@dataclass(frozen=True)
class Card(Shown):
    """What is known about one judge: a sentence or two, and tables under a few headings.

    `measures` has figures by name for programs, where whoever made the card names some.
    """

    judge: str
    lead: str
    sections: Mapping[str, Sequence[Table]]
    measures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> list[Table]:
        return [table for tables in self.sections.values() for table in tables]


def card(
    record: Record,
    judge: str,
    *,
    people: str = PEOPLE,
    tags: Sequence[str] = (),
    own: Collection[str] = (),
    columns: Columns | None = None,
    heard: Columns | None = None,
    rule: VoteRule = "default",
    visible: bool = False,
    epsilon: float = can_replace_people.EPSILON,
    seed: int = 0,
) -> Card:
    """The card of one judge: agreement, standing, steadiness, biases, faults, cost, and its leaderboards.

    `tags` are the items' tags by which agreement is split; `own` are the contestants of the judge's own family. Figures
    under different criteria stay apart. `rule` joins several people's votes on the same responses; votes that were
    cast with names in view are left out of agreement unless `visible` asks for them. `epsilon` is how much the judge
    may lose against a person and still take their place. `columns` are all verdicts as a ledger gives them: they know
    what is due. The record then need not hold more of them than what agreement is made of
    (`verdicts_from_columns.rows_beside`). `heard` are the judge's own among them, where `columns` are without what
    verdicts used.
    """
    everybody = columns_of(record) if columns is None else columns
    if judge not in everybody.judges():
        raise InputError(f"the record holds no verdict of {judge!r}; judges there: {', '.join(everybody.judges())}")
    table = everybody.of(judge=judge) if heard is None else heard
    counted = _counted(record)
    sections: dict[str, list[Table]] = {name: [] for name in SECTIONS}
    overall: list[judges_with_people.Agreement] = []
    findings: dict[str, list[Finding]] = {}
    by_criterion = counted.by("criterion")
    for (criterion,), ruled in table.by("criterion"):
        part = by_criterion.get(criterion, Record((), counted.items, counted.responses))
        if not ruled.meeting_themselves().all():
            meetings = judges_with_people.meet(part, people, rule, visible=visible)
            agreed, by_section = _criterion(meetings, judge, tags=tags, seed=seed)
            overall += agreed
            for name, tables in by_section.items():
                sections[name] += _placed(tables, criterion)
            findings[criterion] = bias_probes.findings(meetings, judge, own=own, ruled=ruled)
    elsewhere = across_different_scales.table(everybody, people, [judge], seed=seed)
    sections["Agreement"] += [elsewhere, uncompared_verdicts.table(everybody, people, [judge])]
    # All that is asked about one judge is one family of questions, whatever the criterion.
    settled = iter(counted_together([finding for part in findings.values() for finding in part]))
    for criterion, asked in findings.items():
        sections["Biases"] += _placed([bias_probes.table([next(settled) for _ in asked])], criterion)
    sections["Steadiness"] = repeats_and_orders.tables(table, seed=seed)
    sections["Reviews"] = [_reviews(counted, judge, people)]
    latest = everybody.latest()
    counting = latest.rows(~latest.meeting_themselves())
    sections["Corrected"] = corrected_leaderboards.tables(counting, judges=[judge], together=False, people=people)
    slices = {tag: {item.id: item.tags[tag] for item in counted.items.values() if tag in item.tags} for tag in tags}
    sections["Replacement"] = [
        can_replace_people.table(by_judges(counting), judges=[judge], slices=slices, epsilon=epsilon, people=people)
    ]
    chosen = leaderboard.Settings(votes=rule, visible=visible, seed=seed)
    sections["Leaderboard"] = leaderboard.tables(table, chosen)
    sections["Faults and cost"] = [
        all_tables.faults(table), all_tables.reasons(table), all_tables.costs(table), verdict_cost.rates(table)
    ]  # fmt: skip
    filled = {name: [shown for shown in tables if shown.rows] for name, tables in sections.items()}
    lead = _lead(table, overall, elsewhere, len(everybody) - len(counting))
    return Card(judge, lead, {name: tables for name, tables in filled.items() if tables})


SECTIONS = (
    "Agreement",
    "Standing",
    "Steadiness",
    "Biases",
    "Reviews",
    "Corrected",
    "Replacement",
    "Leaderboard",
    "Faults and cost",
)


def _counted(record: Record) -> Record:
    """The verdicts that count: the latest of each rater, and none that shows a contestant beside itself."""
    latest: dict[tuple[object, ...], int] = {}
    for v in record:
        key = (v.case, v.judge, v.trial, v.rater)
        latest[key] = max(latest.get(key, 0), v.revision)
    return record.where(
        lambda v: (
            v.revision == latest[v.case, v.judge, v.trial, v.rater] and len(set(v.contestants)) == len(v.contestants)
        )
    )


def _criterion(
    meetings: Met, judge: str, *, tags: Sequence[str], seed: int
) -> tuple[Sequence[judges_with_people.Agreement], dict[str, list[Table]]]:
    """What is known under one criterion, from verdicts beside people's and from all of the judge's."""
    overall = judges_with_people.agreements(meetings, judge, seed=seed)
    return overall, {
        "Agreement": [
            _overall(meetings, overall),
            one_by_one(meetings, [judge]),
            *by_tag.agreement_tables(meetings, tags, judges=[judge], brief=True, seed=seed),
        ],
        "Standing": [standing(meetings, judge, seed=seed)],
    }


def _placed(tables: Sequence[Table], criterion: str) -> Iterator[Table]:
    for table in tables:
        on = place("", criterion)
        yield replace(table, name=table.name + on, title=placed(table.title, on))


def _lead(verdicts: Columns, overall: Sequence[judges_with_people.Agreement], elsewhere: Table, set_aside: int) -> str:
    calls, dollars = int(verdicts.calls.sum(dtype=np.int64)), exact_sum(verdicts.dollars)
    pending = int(waiting(verdicts).sum())
    lost = int((verdicts.fault >= 0).sum()) - pending
    parts: list[str] = [
        Note("card.lead.verdicts", "{n:,} verdicts, {lost:,} of them faults.", n=len(verdicts), lost=lost)
    ]
    if pending:
        parts.append(Note("card.lead.pending", "{n:,} of them wait for people.", n=pending))
    if due := sum(one.cases for one in verdicts.due):
        parts.append(
            Note(
                "card.lead.due", "{n:,} cases are due: their calls failed, so they are in none of these figures.", n=due
            )
        )
    for entry in overall:
        name = next(iter(judges_with_people.FIGURES[entry.shape]))
        if entry.first is not None:
            parts.append(
                Note(
                    "card.lead.agreement", "On {shape}, {figure} with people is {estimate}.",
                    shape=word(entry.shape), figure=word(name), estimate=str(entry.first),
                )
            )  # fmt: skip
    for row in elsewhere.rows:
        about = dict(zip(map(str, elsewhere.columns), row, strict=True))
        if about["Pearson"] is not None:
            parts.append(
                Note(
                    "card.lead.other-scale", "Pearson with people's marks on another scale ({ballot}) is {estimate}.",
                    ballot=str(about["the other's ballots"]), estimate=str(about["Pearson"]),
                )
            )  # fmt: skip
    if not overall and not elsewhere.rows:
        parts.append(
            Note(
                "card.lead.no-people",
                "No ruling of this judge stands beside people's on the same responses and scale, so nothing is said "
                "about agreement.",
            )
        )
    if set_aside:
        parts.append(
            Note(
                "card.lead.set-aside", "{n:,} verdicts are set aside: changed later, or a contestant beside itself.",
                n=set_aside,
            )
        )  # fmt: skip
    # A price that is not known is no number, and so is a sum with it.
    if calls and not isnan(dollars):
        each = 1000 * dollars / len(verdicts)
        parts.append(Note("card.lead.dollars", "1,000 verdicts cost {dollars:.2f} dollars.", dollars=each))
    if calls:
        seconds = exact_sum(verdicts.seconds) / calls
        parts.append(Note("card.lead.seconds", "A call takes {seconds:.2f} s.", seconds=seconds))
    return sentences(parts)


def _overall(meetings: Met, overall: Sequence[judges_with_people.Agreement]) -> Table:
    rows: list[list[Cell]] = [
        [entry.shape, name, figure, entry.faults] for entry in overall for name, figure in entry.figures.items()
    ]
    notes: list[str] = [
        Note("card.undefined", "{shape}, {figure}: {why}.", shape=word(entry.shape), figure=word(name), why=why)
        for entry in overall
        for name, why in entry.undefined.items()
    ]
    notes += [
        Note("card.votes", "On {shape}: {note}", shape=word(kind), note=note)
        for kind in meetings.votes
        for note in meetings.notes(kind)
    ]
    return Table(
        "agreement",
        Note("card.title.agreement-with-people", "Agreement with people"),
        headings("ruling", "figure", "estimate", "faults"),
        rows,
        notes,
        {"rule": {kind: meetings.rule(kind) for kind in meetings.votes}},
    )


def _reviews(record: Record, judge: str, people: str) -> Table:
    """What people marked the judge's own rulings with, where they reviewed them: how many say yes, or the mean mark."""
    rows: list[list[Cell]] = []
    for criterion, part in record.where(judge=people, contestant=judge, fault=None).by("criterion").items():
        reviews = [verdict for verdict in part if verdict.contestants == (judge,) and verdict.marks is not None]
        if len(reviews) > 1:
            marks = np.array([verdict.marks[0] for verdict in reviews if verdict.marks is not None])
            _, items = np.unique([verdict.item for verdict in reviews], return_inverse=True)
            ballot = reviews[0].ballot
            if ballot == YES_NO:
                # A yes is marked 2 and a no 1: codes, whose mean says nothing by itself.
                rows.append([criterion, ballot, None, estimate_cells.share(marks - 1, items)])
            else:
                rows.append(
                    [criterion, ballot, estimate_cells.mean(marks, items, estimate_cells.scale_of(ballot)), None]
                )
    return Table(
        "reviews",
        Note("card.title.what-people-think-of-its", "What people think of its rulings"),
        headings("criterion", "ballot", "mean mark", "share of yes"),
        rows,
    )


def standing(meetings: Met, judge: str, *, seed: int = 0) -> Table:
    """How the judge stands beside every other one, on the responses that both ruled on and people did too."""
    rows: list[list[Cell]] = []
    ps: list[float] = []
    for other in meetings.judges:
        for kind, figures in judges_with_people.FIGURES.items():
            shared = _shared(kind, meetings.of(judge, kind), meetings.of(other, kind)) if other != judge else []
            if shared and (gap := _gap(kind, shared, seed)) is not None:
                rows.append([other, kind, next(iter(figures)), gap])
                ps.append(1.0 if gap.p is None else gap.p)
    passed = benjamini_hochberg(ps).passed if ps else ()
    for row, told_apart in zip(rows, passed, strict=True):
        row.append("yes" if told_apart else "no")
    notes = [
        Note(
            "card.the-figure-of-less-that",
            "The figure of {judge} less that of the other judge on the same responses; all rulings of a judge on them, "
            "both orders and every trial, count by their mean. Items are kept together.",
            judge=judge,
        ),
        Note(
            "card.for-an-edit-distance-less",
            "For an edit distance less is better. Told apart: by the difference over items, after "
            "Benjamini-Hochberg at 5%.",
        ),
    ]
    columns = headings("other judge", "ruling", "figure", "difference", "told apart")
    return Table(
        "standing",
        Note("card.title.among-other-judges", "Among other judges"),
        columns,
        rows,
        notes,
        {"judge": judge, "seed": seed},
    )


@dataclass(frozen=True, slots=True)
class _Shared:
    """What two judges made of the same responses, each by the mean over its rulings, and what people did."""

    item: str
    ours: float
    theirs: float
    people: float


def _shared(kind: str, ours: Sequence[Pairing], theirs: Sequence[Pairing]) -> list[_Shared]:
    """The responses that both judges ruled on, in both orders and as often as they did."""
    our_pairings, their_pairings = _by_place(ours), _by_place(theirs)
    figure = {"scores": _mark, "pairs": _right, "rankings": _distance}[kind]
    return [
        _Shared(
            place[0], fmean(map(figure, our_pairings[place])), fmean(map(figure, their_pairings[place])),
            fmean(pairing.other[0] for pairing in our_pairings[place]),
        )
        for place in our_pairings if place in their_pairings
    ]  # fmt: skip


def _by_place(pairings: Sequence[Pairing]) -> dict[Place, list[Pairing]]:
    places: dict[Place, list[Pairing]] = {}
    for pairing in pairings:
        verdict = pairing.verdict
        places.setdefault((verdict.item, frozenset(verdict.shown), verdict.ballot), []).append(pairing)
    return places


def _mark(pairing: Pairing) -> float:
    return pairing.marks[0]


def _right(pairing: Pairing) -> float:
    return float(judges_with_people.winner(pairing.marks) == judges_with_people.winner(pairing.other))


def _distance(pairing: Pairing) -> float:
    return judges_with_people.distance_of_orders(pairing.marks, pairing.other)


def _gap(kind: str, shared: Sequence[_Shared], seed: int) -> Estimate | None:
    items = [pairing.item for pairing in shared]
    ours, theirs = [pairing.ours for pairing in shared], [pairing.theirs for pairing in shared]
    if kind != "scores":
        _, places = np.unique(items, return_inverse=True)
        return estimate_cells.difference(np.array(ours) - np.array(theirs), places, (-1.0, 1.0))
    try:
        return paired_difference(
            weighted_statistics.pearson,
            ours,
            theirs,
            [pairing.people for pairing in shared],
            within=(-2.0, 2.0),
            cluster=items,
            seed=seed,
        )
    except Undefined:
        return None
