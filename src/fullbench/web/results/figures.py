"""The figures of one judge's board, from the catalogue's numbers: no row of the ledger becomes an object."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sqlalchemy import Connection

from fullbench.errors import Undefined
from fullbench.figures.gaps import Gaps
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.table import Cell, sort_value
from fullbench.stats.bootstrap import bootstrap
from fullbench.stats.ratings import bradley_terry, rank_sets
from fullbench.stats.shares import share, wilson
from fullbench.stats.weighted import mean
from fullbench.web.results.boards import Board, Grid, Linked
from fullbench.web.results.numbers import GROUPS, Column, Numbers, read
from fullbench.web.results.rulings import is_person

RIVALS = 25
"""So many contestants, the best ones, stand in the table of who beats whom."""
LINES = 6
"""So many contestants, the best ones, are drawn where each has a line of its own."""


def compute(connection: Connection, judge: int, criterion: str) -> Board:
    """All tables of a board that there is something for; of one person, the leaderboard alone."""
    numbers = read(connection, judge, criterion)
    first, ranked = leaderboard(numbers)
    made = [first, *rivals(numbers, ranked)]
    for tag, groups in numbers.tags.items():
        made += by_tag(numbers, ranked, tag, groups)
    for spec in numbers.marks:
        made += densities(numbers, ranked, spec)
    if is_person(numbers.judge):
        made = [replace(one, charts=()) for one in made if one.table.name == "leaderboard"]
    return Board(numbers.judge, criterion, numbers.verdicts, [one for one in made if one.table.rows])


def leaderboard(numbers: Numbers) -> tuple[Linked, list[int]]:
    """Contestants by rating, share won and mean marks; and the contestants in that order."""
    names, who = numbers.names, numbers.contestants
    gaps = Gaps()
    notes = ["n counts verdicts; every figure leads to those behind it."]
    ratings = _ratings(numbers, who, notes)
    won = {one: gaps.cell(names[one], partial(_share, numbers.won, one)) for one in who}
    means = {
        spec: {one: gaps.cell(names[one], partial(_mean, column, one)) for one in who if one in column.who}
        for spec, column in sorted(numbers.marks.items())
    }
    first = next(iter(means.values()), {})
    rated = bool(ratings) and all(ratings.get(one) for one in who if won[one] is not None)
    worth = ratings if rated else won if any(won.values()) else first
    if any(ratings.values()) and not rated:
        notes.append("Sorted by the share won, for not everybody is rated.")
    ranks = dict(zip(who, rank_sets([worth.get(one) for one in who]), strict=True))
    ranked = sorted(who, key=lambda one: _place(worth.get(one)))
    grid = Grid(("rank", "contestant", "rating", "won", *(f"mean {spec}" for spec in means), "faults"))
    for one in ranked:
        shown = partial(numbers.asked, contestant=names[one])
        several = shown(shown="several", fault="none")
        grid.add(
            (_ranks(ranks[one]), None),
            (names[one], shown()),
            (ratings.get(one), several),
            (won[one], several),
            *((means[spec].get(one), shown(ballot=spec, shown="one", fault="none")) for spec in means),
            (numbers.faults.get(one, 0), shown(fault="any")),
        )
    value = "rating" if rated else "won" if any(won.values()) else grid.columns[-2]
    hint = {"kind": "intervals", "label": "contestant", "value": value}
    source = {"judge": numbers.judge, "criterion": numbers.criterion}
    return grid.linked("leaderboard", "Leaderboard", [*notes, *gaps.notes], charts=[hint], **source), ranked


def _ratings(numbers: Numbers, who: Sequence[int], notes: list[str]) -> dict[int, Estimate | None]:
    """Bradley-Terry ratings of those who met others."""
    duels = numbers.duels
    if not duels.first:
        return {}
    place = {one: code for code, one in enumerate(who)}
    first, second = ([place[one] for one in side] for side in (duels.first, duels.second))
    try:
        made = bradley_terry(
            first, second, duels.outcome, contestants=len(who), cluster=duels.item, interval="sandwich"
        )
    except Undefined as reason:
        notes.append(f"No ratings: {reason}. Sorted by the share won.")
        return {}
    notes.append(f"Ratings: Bradley-Terry on {made.matches:,} duels, ties half, items kept together, mean 1000.")
    notes += [f"{numbers.names[who[code]]} is not rated: {reason}." for code, reason in made.unrated.items()]
    seen, _, _ = numbers.won.arrays
    counts = {int(one): int(n) for one, n in zip(*np.unique(seen, return_counts=True), strict=True)}
    return {
        one: None if rating is None else replace(rating, n=counts[one])
        for one, rating in zip(who, made.estimates, strict=True)
    }


def _share(column: Column, who: int) -> Estimate | None:
    item, value = column.of(who)
    if not len(value):
        return None
    several = len(np.unique(item)) > 1
    return share(value, cluster=item) if several else wilson(float(value.sum()), len(value))


def _mean(column: Column, who: int) -> Estimate:
    item, value = column.of(who)
    return bootstrap(mean, value, cluster=item)


def _place(worth: Estimate | None) -> float:
    return math.inf if worth is None else -worth.value


def _ranks(found: tuple[int, int] | None) -> str | None:
    return None if found is None else str(found[0]) if found[0] == found[1] else f"{found[0]}-{found[1]}"


def rivals(numbers: Numbers, ranked: Sequence[int]) -> list[Linked]:
    """Who beats whom, among the best: a matrix, the row's share of wins over the column."""
    names, duels = numbers.names, numbers.duels
    shown = [one for one in ranked if one in set(duels.first) | set(duels.second)][:RIVALS]
    place = {one: code for code, one in enumerate(shown)}
    wins, met = np.zeros((len(shown), len(shown))), np.zeros((len(shown), len(shown)), np.int64)
    for one, two, outcome in zip(duels.first, duels.second, duels.outcome, strict=True):
        if one in place and two in place:
            for a, b, result in ((place[one], place[two], outcome), (place[two], place[one], 1 - outcome)):
                wins[a, b] += result
                met[a, b] += 1
    grid = Grid(("contestant", *(names[one] for one in shown)))
    for a, one in enumerate(shown):
        grid.add(
            (names[one], numbers.asked(contestant=names[one], shown="several", fault="none")),
            *(
                (
                    wilson(float(wins[a, b]), int(met[a, b])) if met[a, b] else None,
                    numbers.asked(contestant=names[one], other=names[two], shown="several", fault="none"),
                )
                for b, two in enumerate(shown)
            ),
        )
    notes = ["The share of wins of the row over the column, ties half."]
    if len(ranked) > len(shown):
        notes.append(f"The best {len(shown)} of {len(ranked)} contestants.")
    if len(set(grid.columns)) < len(grid.columns) or not shown:
        return []
    hint = {"kind": "matrix", "row": "contestant", "columns": grid.columns[1:], "column": "against", "value": "won"}
    return [grid.linked("wins", "Who beats whom", notes, charts=[hint])]


def by_tag(numbers: Numbers, ranked: Sequence[int], tag: str, groups: Mapping[int, str]) -> list[Linked]:
    """For each way of ruling a table of contestants and groups of items: share won, or mean mark."""
    made = []
    columns: list[tuple[str, str, Column, dict[str, str]]] = []
    if numbers.won.who:
        columns.append(("won", f"Won, by {tag}", numbers.won, {"shown": "several"}))
    columns += [
        (f"mean {spec}", f"Mean {spec}, by {tag}", column, {"shown": "one", "ballot": spec})
        for spec, column in sorted(numbers.marks.items())
    ]
    for what, title, column, asked in columns:
        linked = _grouped(numbers, ranked, (tag, groups), (what, title, column, asked))
        if linked is not None:
            made.append(linked)
    return made


def _grouped(
    numbers: Numbers,
    ranked: Sequence[int],
    tagged: tuple[str, Mapping[int, str]],
    figure: tuple[str, str, Column, Mapping[str, str]],
) -> Linked | None:
    (tag, groups), (what, title, column, asked) = tagged, figure
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    for who, item, value in zip(column.who, column.item, column.value, strict=True):
        if item in groups:
            found[who, groups[item]].append(value)
    values = sorted({group for _, group in found})
    if len(values) < 2 or {"contestant", "all", "worst", what} & set(values):
        return None
    grid = Grid(("contestant", *values, "all", "worst"))
    seen = {who for who, _ in found}
    for one in (one for one in ranked if one in seen):
        name = numbers.names[one]
        asking = partial(numbers.asked, contestant=name, tag=tag, fault="none", **asked)
        mine = [found.get((one, group), []) for group in values]
        cells = [_group_cell(part, what) for part in mine]
        known = [cell.value for cell in cells if cell is not None]
        grid.add(
            (name, None),
            *((cell, asking(value=group)) for cell, group in zip(cells, values, strict=True)),
            (_group_cell([value for part in mine for value in part], what), asking()),
            (min(known) if len(known) == len(values) else None, None),
        )
    notes = [f"{what.capitalize()} on the items of each {tag}; worst: the least of them."]
    hints = _drawn(grid, values, tag, what)
    return grid.linked(f"{what} by {tag}", title, notes, charts=hints, tag=tag)


def _drawn(grid: Grid, values: list[str], tag: str, what: str) -> list[dict[str, Any]]:
    """Heat map, radar, and the quadrants of all items beside the worst group."""
    hints: list[dict[str, Any]] = [
        {"kind": "matrix", "row": "contestant", "columns": values, "column": tag, "value": what}
    ]
    if len(values) > 2:
        hints.append({"kind": "radar", "label": "contestant", "axes": values, "most": LINES})
    whole = [(row[-2], row[-1]) for row in grid.rows if row[-2] is not None and row[-1] is not None]
    if 2 < len(whole) <= GROUPS:
        split = [float(np.median([_number(row[side]) for row in whole])) for side in (0, 1)]
        hints.append({"kind": "scatter", "x": "all", "y": "worst", "label": "contestant", "split": split})
    return hints


def _number(cell: Cell) -> float:
    return sort_value(cell) or 0.0


def _group_cell(values: Sequence[float], what: str) -> Estimate | None:
    if not values:
        return None
    if what == "won":
        return wilson(float(np.sum(values)), len(values))
    middle, n = float(np.mean(values)), len(values)
    half = 1.959964 * float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    return Estimate(middle, middle - half, middle + half, n, method="normal") if n > 1 else None


def densities(numbers: Numbers, ranked: Sequence[int], spec: str) -> list[Linked]:
    """How often each mark was given, and what share of marks reaches each threshold."""
    column = numbers.marks[spec]
    who, _, value = column.arrays
    levels = [float(level) for level in np.unique(value)]
    if not 2 <= len(levels) <= 20:
        return []
    grid, curve = Grid(("contestant", "mark", "share")), Grid(("contestant", "threshold", "reached"))
    for one in [one for one in ranked if one in set(column.who)][:LINES]:
        name, mine = numbers.names[one], value[who == one]
        asked = numbers.asked(contestant=name, ballot=spec, shown="one", fault="none")
        for level in levels:
            grid.add((name, None), (level, None), (wilson(float((mine == level).sum()), len(mine)), asked))
            curve.add((name, None), (level, None), (wilson(float((mine >= level).sum()), len(mine)), asked))
    note = [f"The best {LINES} contestants at most; n is all marks of the contestant."]
    spread = {"kind": "densities", "label": "contestant", "x": "mark", "value": "share"}
    reached = {"kind": "curves", "label": "contestant", "x": "threshold", "value": "reached"}
    return [
        grid.linked(f"densities {spec}", f"Marks given, {spec}", note, charts=[spread]),
        curve.linked(f"thresholds {spec}", f"Share of marks that reach a threshold, {spec}", note, charts=[reached]),
    ]
