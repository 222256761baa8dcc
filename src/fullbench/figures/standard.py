"""The tables that every record can show, whatever it was made for.

Each is a pure function of the record. A leaderboard belongs to one judge: verdicts of different judges never mix.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from fullbench.errors import Undefined
from fullbench.figures import repeats
from fullbench.figures.gaps import Gaps
from fullbench.figures.judging import FIGURES, RULES, Agreement, agreements, meet, winner
from fullbench.nouns.call import Usage
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.record import Duel, Record
from fullbench.nouns.table import Cell, Table
from fullbench.nouns.verdict import FAULTS, PEOPLE, Verdict
from fullbench.stats.bootstrap import bootstrap
from fullbench.stats.ratings import bradley_terry, rank_sets, win_rates
from fullbench.stats.shares import wilson
from fullbench.stats.weighted import mean


def tables(record: Record, *, against: str | None = None, seed: int = 0) -> list[Table]:
    """All of them that the record has something for.

    Judges are compared with `against`, or with people where their verdicts are in the record.
    """
    other = against or (PEOPLE if PEOPLE in record.judges else None)
    made = [leaderboard(record, judge, seed=seed) for judge in record.judges]
    if other is not None:
        made += agreement(record, other, seed=seed)
    made += [orders(record), *repeats.tables(record, seed=seed), faults(record), reasons(record), costs(record)]
    return [table for table in made if table.rows]


def leaderboard(record: Record, judge: str, *, seed: int = 0) -> Table:
    """Contestants by what one judge ruled: rating, share of duels won, mean score."""
    mine = record.where(judge=judge, fault=None)
    duels = list(mine.duels())
    names = mine.contestants
    notes = [f"By {judge}, from {_listed({verdict.ballot for verdict in mine})}."]
    ratings, rates = _rated(duels, names, seed, notes)
    gaps = Gaps()
    scores = _scores(mine, seed, gaps)
    notes += gaps.notes
    single = next(iter(scores.values()), {})
    ordered = ratings if all(ratings) else rates if any(rates) else [single.get(name) for name in names]
    rows: list[list[Cell]] = [
        [_rank(rank), name, rating, rate, *(column.get(name) for column in scores.values())]
        for name, rating, rate, rank in zip(names, ratings, rates, rank_sets(ordered), strict=True)
    ]
    by_worth = sorted(zip(ordered, rows, strict=True), key=lambda pair: -pair[0].value if pair[0] else float("inf"))
    rows = [row for _, row in by_worth]
    lost = len(record.where(judge=judge)) - len(mine)
    if lost:
        notes.append(f"{lost} verdicts of this judge are faults and count nowhere here.")
    columns = ("rank", "contestant", "rating", "duels won", *(f"mean {spec}" for spec in scores))
    best = "rating" if any(ratings) else "duels won" if any(rates) else columns[-1]
    hint = {"kind": "intervals", "label": "contestant", "value": best}
    return Table(
        f"leaderboard {judge}", f"Leaderboard by {judge}", columns, rows, notes, {"judge": judge, "seed": seed}, hint
    )


def _rated(
    duels: Sequence[Duel], names: Sequence[str], seed: int, notes: list[str]
) -> tuple[list[Estimate | None], list[Estimate | None]]:
    """Ratings and shares of duels won, in the order of the names."""
    nothing: list[Estimate | None] = [None] * len(names)
    if not duels:
        return nothing, nothing
    place = {name: index for index, name in enumerate(names)}
    first = [place[duel.first] for duel in duels]
    second = [place[duel.second] for duel in duels]
    outcome = [duel.outcome for duel in duels]
    items = [duel.item for duel in duels]
    rates = win_rates(first, second, outcome, contestants=len(names), cluster=items, seed=seed)
    try:
        ratings = bradley_terry(first, second, outcome, contestants=len(names), cluster=items, seed=seed)
    except Undefined as reason:
        notes.append(f"No ratings: {reason}. Sorted by the share of duels won.")
        return nothing, rates
    notes.append(f"Ratings: Bradley-Terry on {ratings.matches:,} duels, ties half, items resampled, mean 1000.")
    notes += [f"{names[who]} is not rated: {reason}." for who, reason in ratings.unrated.items()]
    return list(ratings.estimates), rates


def _scores(record: Record, seed: int, gaps: Gaps) -> dict[str, dict[str, Estimate | None]]:
    """For each ballot that marks one response at a time, the mean mark of each contestant."""
    found: dict[str, dict[str, list[tuple[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for verdict in record:
        if len(verdict.contestants) == 1 and verdict.marks is not None:
            found[verdict.ballot][verdict.contestants[0]].append((verdict.item, verdict.marks[0]))
    return {
        spec: {name: gaps.cell(name, partial(_mean_mark, marks, seed)) for name, marks in by_name.items()}
        for spec, by_name in sorted(found.items())
    }


def _mean_mark(marks: Sequence[tuple[str, float]], seed: int) -> Estimate:
    return bootstrap(mean, [mark for _, mark in marks], cluster=[item for item, _ in marks], seed=seed)


def agreement(record: Record, other: str, *, seed: int = 0) -> list[Table]:
    """How far each judge agrees with another one, for scores, pairs and rankings."""
    met = meet(record, other)
    found = [entry for judge in met.judges for entry in agreements(met, judge, seed=seed)]
    return [_compared(kind, [entry for entry in found if entry.shape == kind], other, seed) for kind in FIGURES]


def _compared(kind: str, found: Sequence[Agreement], other: str, seed: int) -> Table:
    figures = list(FIGURES[kind])
    notes = [f"Beside the verdicts of {other} on the same responses ({RULES[kind]} of several); items are resampled."]
    notes += [f"{entry.judge}, {name}: {reason}." for entry in found for name, reason in entry.undefined.items()]
    best = sorted(found, key=lambda entry: -entry.first.value if entry.first else float("inf"))
    rows = [[entry.judge, *(entry.figures.get(name) for name in figures), entry.n, entry.faults] for entry in best]
    hint = {"kind": "intervals", "label": "judge", "value": figures[0]}
    source = {"against": other, "rule": RULES[kind], "seed": seed}
    columns = ("judge", *figures, "n", "faults")
    return Table(f"agreement {kind}", f"Agreement with {other} on {kind}", columns, rows, notes, source, hint)


def orders(record: Record) -> Table:
    """Pairs that were heard in both orders: how often the winner stays, and how often the first shown wins."""
    rows: list[list[Cell]] = []
    for judge, mine in record.where(fault=None).by("judge").items():
        pairs = [verdict for verdict in mine if len(verdict.contestants) == 2 and verdict.marks is not None]
        met: dict[tuple[Any, ...], dict[tuple[str, ...], Verdict]] = defaultdict(dict)
        for verdict in pairs:
            place = (verdict.item, verdict.criterion, verdict.ballot, verdict.trial, frozenset(verdict.contestants))
            met[place][verdict.contestants] = verdict
        both = [tuple(seen.values()) for seen in met.values() if len(seen) == 2]
        if not both:
            continue
        same = sum(_named(one) == _named(two) for one, two in both)
        firsts = [winner(verdict.marks or ()) for pair in both for verdict in pair]
        decided = [place for place in firsts if place is not None]
        first = wilson(decided.count(0), len(decided)) if decided else None
        rows.append([judge, wilson(same, len(both)), first, len(both)])
    notes = ["An unbiased judge prefers the first shown half of the time, ties left out."]
    columns = ("judge", "same ruling in both orders", "first shown wins", "pairs")
    hint = {"kind": "intervals", "label": "judge", "value": "first shown wins", "reference": 0.5}
    return Table("orders", "The order of presentation", columns, rows, notes, {}, hint)


def _named(verdict: Verdict) -> str:
    first = winner(verdict.marks or ())
    return "" if first is None else verdict.contestants[first]


def faults(record: Record) -> Table:
    """What each judge did not rule on, and why."""
    return fault_table(record.faults())


_MOST_REASONS = 20


def reasons(record: Record) -> Table:
    """Why judges recused themselves, as far as they said. Reasons that differ by a number alone are one, told by its
    first."""
    first: dict[tuple[str, str], str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for verdict in record.where(lambda verdict: bool(verdict.text), fault="recused"):
        key = verdict.judge, re.sub(r"[-+]?\d[\d.,e+-]*|[\da-f]{8,}", "#", verdict.text)
        first.setdefault(key, verdict.text)
        counts[key] += 1
    rows: list[list[Cell]] = [
        [judge, first[judge, reason], count] for (judge, reason), count in counts.most_common(_MOST_REASONS)
    ]
    left = sum(counts.values()) - sum(count for _, count in counts.most_common(_MOST_REASONS))
    notes = [f"{left} recusals for other reasons are not shown."] if left else []
    return Table("reasons", "Why judges recused themselves", ("judge", "why", "verdicts"), rows, notes)


def fault_table(found: Mapping[str, Mapping[str, int]]) -> Table:
    """The table of faults from counts: for each judge its `verdicts`, and how many are which fault."""
    rows: list[list[Cell]] = []
    for judge, counts in found.items():
        wrong, total = sum(counts[fault] for fault in FAULTS), counts["verdicts"]
        rows.append([judge, total, total - wrong, *(counts[fault] for fault in FAULTS), wilson(wrong, total)])
    hint = {"kind": "stacked", "label": "judge", "parts": ["ruled", *FAULTS]}
    return Table("faults", "Faults", ("judge", "verdicts", "ruled", *FAULTS, "faulty"), rows, (), {}, hint)


def costs(record: Record) -> Table:
    """What the verdicts of each judge used. Calls that brought no verdict are in the ledger's bill."""
    return cost_table({
        judge: (len(mine), sum((verdict.usage for verdict in mine), Usage()))
        for judge, mine in record.by("judge").items()
    })  # fmt: skip


def cost_table(used: Mapping[str, tuple[int, Usage]]) -> Table:
    """The table of costs from the number of each judge's verdicts and what they used."""
    rows: list[list[Cell]] = []
    for judge, (count, sums) in used.items():
        if sums.calls:
            thousand = None if sums.dollars is None else 1000 * sums.dollars / count
            rows.append(
                [judge, count, sums.calls, sums.retries, sums.tokens_in, sums.tokens_out, sums.dollars, thousand,
                 sums.seconds / sums.calls]
            )  # fmt: skip
    columns = (
        "judge",
        "verdicts",
        "calls",
        "retries",
        "tokens in",
        "tokens out",
        "dollars",
        "dollars per 1,000",
        "s a call",
    )
    return Table("costs", "What it cost", columns, rows)


def _rank(rank: tuple[int, int] | None) -> str:
    if rank is None:
        return "-"
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}-{rank[1]}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words)) or "nothing"
