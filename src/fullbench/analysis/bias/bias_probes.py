"""Bias probes: what moves a judge besides what it should judge, beside the same figure for people.

Each finding has an interval and one plain sentence. A lean is claimed only where it survives the correction for all
that is asked about a judge (`analysis.bias.bias_finding`), and where people's own errors cannot explain it
(`analysis.bias.bias_regression`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.agreement.judges_with_people import Met, order, winner
from fullbench.analysis.bias import bias_regression
from fullbench.analysis.bias.bias_finding import LEANS, Finding, corrected, percent
from fullbench.columns.column_builder import columns_of
from fullbench.columns.verdict_columns import Columns, grouped
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, word
from fullbench.core.record import Pairing, Record
from fullbench.core.response import LENGTHENS
from fullbench.core.table import Cell, Table
from fullbench.stats.bias.bias_estimators import swap_flips


def probes(
    meetings: Met, judge: str, *, own: Collection[str] = (), example: str | None = None, ruled: Columns | None = None
) -> list[Finding]:
    """All findings that the record allows about one judge, corrected for their number.

    `own` are the contestants of the judge's own family; `example` is the order that the worked example in its prompt
    shows, best first (`CDBA`). `ruled` are all its verdicts, where the record holds those beside people's alone.
    """
    return corrected(findings(meetings, judge, own=own, example=example, ruled=ruled))


def findings(
    meetings: Met, judge: str, *, own: Collection[str] = (), example: str | None = None, ruled: Columns | None = None
) -> list[Finding]:
    """The same before the correction, for a caller that asks more about the judge."""
    asked: list[Finding] = [*bias_regression.of_pairs(meetings, judge, own)]
    asked += _swaps(judge, columns_of(meetings.record.where(judge=judge)) if ruled is None else ruled)
    asked += _copying(judge, meetings.of(judge, "rankings"), example)
    asked += bias_regression.of_scores(meetings, judge, own)
    asked += _lengthened(judge, meetings.record, meetings.record.where(judge=judge, fault=None))
    return asked


Rows = Sequence[tuple[float, float, str]]
"""What the judge did, what people did, and on which item."""


@dataclass(frozen=True)
class _Beside:
    """A figure of the judge, the same of people, and the difference, on the same rows."""

    ours: Estimate
    theirs: Estimate
    gap: Estimate

    @property
    def shares(self) -> tuple[str, str]:
        return percent(self.ours), percent(self.theirs)


def _beside(rows: Rows) -> _Beside | None:
    """The shares of both, and the mean of their difference."""
    if not rows:
        return None
    _, items = np.unique([item for _, _, item in rows], return_inverse=True)
    ours, theirs = np.array([here for here, _, _ in rows]), np.array([there for _, there, _ in rows])
    gap = estimate_cells.difference(ours - theirs, items, (-1.0, 1.0))
    return _Beside(estimate_cells.share(ours, items), estimate_cells.share(theirs, items), gap)


def _swaps(judge: str, ruled: Columns) -> Iterator[Finding]:
    """Pairs heard in both orders: how often the ruling changes, and to which place it goes."""
    counted = ruled.latest()
    pairs = counted.rows((counted.shown == 2) & (counted.fault < 0) & ~counted.meeting_themselves())
    if not len(pairs):
        return
    at = pairs.start.astype(np.int64)[:-1]
    shown = pairs.contestant.astype(np.int64) * (int(pairs.sample.max()) + 1) + pairs.sample
    one, two = shown[at], shown[at + 1]
    pair, where = grouped(
        pairs.study, pairs.item, pairs.criterion, pairs.ballot, pairs.trial, pairs.rater,
        np.minimum(one, two), np.maximum(one, two),
    )  # fmt: skip
    leans = np.full((2, len(where)), np.nan)
    leans[(one > two).astype(np.int64), pair] = np.sign(pairs.mark[at] - pairs.mark[at + 1])
    both = ~np.isnan(leans).any(axis=0)
    first, second = leans[:, both]
    if not both.any():
        return
    flips = swap_flips(first, second, pairs.item[where[both]].tolist())
    to_first, to_second = int(((first > 0) & (second > 0)).sum()), int(((first < 0) & (second < 0)).sum())
    changed = int((first != -second).sum())
    says = Note(
        "probes.swapped",
        "When two answers change places, {changed} of its {pairs} rulings change ({share}): {first} times the first "
        "shown won both times, {second} times the second, and {tied} times one order alone gave a tie.",
        changed=changed, pairs=len(first), share=percent(flips), first=to_first, second=to_second,
        tied=changed - to_first - to_second,
    )  # fmt: skip
    yield Finding(judge, "position", "changed by a swap", flips, None, says)


def _copying(judge: str, pairings: Sequence[Pairing], example: str | None) -> Iterator[Finding]:
    """How often a ranking is the order shown, or the order of the worked example."""
    ranked = [(order(p.marks), order(p.other), p.verdict.item) for p in pairings]
    shown = [(float(x == "".join(sorted(x))), float(y == "".join(sorted(y))), item) for x, y, item in ranked]
    taught = [(float(x == example), float(y == example), item) for x, y, item in ranked if len(x) == len(example or "")]
    for name, rows in {"the order shown": shown, "the example's order": taught}.items():
        if beside := _beside(rows):
            opening = Note(
                "probes.copying", "{ours} of its rankings are {what}, of people's {theirs}",
                ours=beside.shares[0], what=word(name), theirs=beside.shares[1],
            )  # fmt: skip
            yield Finding(judge, "copying", name, beside.ours, beside.theirs, opening, beside.gap.p, beside.gap.value,
                          LEANS["copies"], LEANS["copies-less"])  # fmt: skip


def _lengthened(judge: str, record: Record, ruled: Record) -> Iterator[Finding]:
    """The experiment: answers made longer without saying more, scored beside the answers they were made from."""
    marks = {
        (verdict.item, *verdict.shown[0], (verdict.ballot, verdict.criterion, verdict.trial)): verdict.marks[0]
        for verdict in ruled
        if verdict.marks is not None and len(verdict.marks) == 1
    }
    longer = {
        place: response.tags[LENGTHENS] for place, response in record.responses.items() if LENGTHENS in response.tags
    }
    gains = [
        (mark, marks[item, longer[item, name, sample], sample, rest], item)
        for (item, name, sample, rest), mark in marks.items()
        if (item, name, sample) in longer and (item, longer[item, name, sample], sample, rest) in marks
    ]
    if not gains:
        return
    _, items = np.unique([item for _, _, item in gains], return_inverse=True)
    gap = estimate_cells.difference(np.array([longer - short for longer, short, _ in gains]), items)
    opening = Note(
        "probes.lengthened", "An answer said at greater length, and no better, gains {value:+.2f} marks",
        value=gap.value,
    )  # fmt: skip
    yield Finding(judge, "length", "gain when lengthened", gap, None, opening, gap.p, gap.value,
                  LEANS["rewards-length"], LEANS["punishes-length"])  # fmt: skip


def table(asked: Iterable[Finding]) -> Table:
    """Findings as a table, their sentences below it."""
    listed = list(asked)
    rows: list[list[Cell]] = [[f.judge, f.bias, f.figure, f.value, f.people] for f in listed]
    notes: list[str] = [
        Note("probes.says", "{judge}: {says}", judge=finding.judge, says=finding.says) for finding in listed
    ]
    tests = sum(finding.p is not None for finding in listed)
    if tests:
        notes.append(
            Note(
                "probes.correction",
                "What is claimed survives Benjamini-Hochberg at 5% over all questions about a judge: {n} here.",
                n=tests,
            )
        )
    return Table(
        "biases",
        Note("probes.title.what-else-moves-the-judges", "What else moves the judges"),
        headings("judge", "bias", "figure", "judge's", "people's"),
        rows,
        notes,
    )


def positions(meetings: Met) -> Table:
    """Which place wins, for each judge and for people on the same panels."""
    rows: list[list[Cell]] = []
    for judge in meetings.judges:
        for kind in ("pairs", "rankings"):
            if pairs := meetings.of(judge, kind):
                rows += _placed(judge, kind, pairs)
    columns = headings("judge", "ruling", "place", "judge's", "people's")
    notes = [
        Note(
            "probes.the-share-of-panels-of",
            "The share of panels of that size in which each place is put first; a tie is a place of its own.",
        )
    ]
    return Table("positions", Note("probes.title.which-place-wins", "Which place wins"), columns, rows, notes)


def _placed(judge: str, kind: str, pairings: Sequence[Pairing]) -> Iterator[list[Cell]]:
    size = max(len(p.marks) for p in pairings)
    full = [p for p in pairings if len(p.marks) == size]
    places: list[int | None] = [*range(size), *([None] if kind == "pairs" else [])]
    for place in places:
        rows = [(float(winner(p.marks) == place), float(winner(p.other) == place), p.verdict.item) for p in full]
        beside = _beside(rows)
        shares = (None, None) if beside is None else (beside.ours, beside.theirs)
        yield [
            judge,
            kind,
            word("tie") if place is None else Note("probes.place", "{place} of {size}", place=place + 1, size=size),
            *shares,
        ]
