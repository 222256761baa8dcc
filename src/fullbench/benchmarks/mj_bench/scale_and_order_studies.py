"""What depends on how a judge is asked: the scale study, the order study, and ties in a score model's own units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean

import numpy as np

from fullbench.analysis.estimate_cells import Gaps
from fullbench.benchmarks.mj_bench.picture_preferences import (  # fmt: skip
    FIRST,
    RATED,
    SECOND,
    SINGLE,
    Compared,
    Judged,
    accuracy,
    groups,
    judged_pairs,
)
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import OWN_UNITS, USUAL
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import SCALE_BALLOTS as SCALES
from fullbench.core.column_labels import headings, named
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.stats.agreement.preferences_from_scores import preference_accuracy
from fullbench.synthetic.perturb.perturbed_pairs import CHOSEN

SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
"""The shares of pairs that are to tie, closest first."""


def tables(record: Record) -> list[Table]:
    """The studies for which a judge was asked in several ways; none where nobody was."""
    judged = judged_pairs(record)
    return [table for table in (scales(judged), orders(judged), ties(judged)) if table.rows]


def scales(judged: Judged) -> Table:
    """The same judge on every scale, one picture at a time and two at once, all perspectives in one."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge, pairs in judged.items():
        for name, ways in (("single", SINGLE), ("pair ratings", RATED)):
            heard = {spec: [pair for pair in pairs if _is(pair.way, ways[spec])] for spec in SCALES.values()}
            if sum(bool(way_pairs) for way_pairs in heard.values()) > 1:
                rows.append([judge, name, *_cells(gaps, f"{judge}, {name}", heard)])
    notes = (
        Note("mj-bench.preferences.right-the-chosen-picture-is", "Right: the chosen picture is ahead; a tie is wrong."),
        *gaps.notes,
    )
    return Table(
        "scales",
        Note("mj-bench.preferences.title.the-scale-study", "The scale study"),
        headings("judge", "way", *map(named, SCALES)),
        rows,
        notes,
        chart=_matrix([*SCALES], "scale") if len({row[0] for row in rows}) == len(rows) else None,
    )


def _matrix(columns: Sequence[str], column: str) -> dict[str, object]:
    """A heat map of judges over ways of asking."""
    return {"kind": "matrix", "row": "judge", "columns": list(columns), "column": column, "value": "right"}


def _is(way: str, name: str) -> bool:
    return way == name or way.startswith(f"{name},")


def _cells(gaps: Gaps, where: str, heard: Mapping[str, Sequence[Compared]]) -> list[Cell]:
    """The accuracy in each way of asking; None where the judge was not asked so."""
    return [gaps.cell(f"{where}, {way}", partial(accuracy, pairs)) if pairs else None for way, pairs in heard.items()]


def orders(judged: Judged) -> Table:
    """One picture at a time, and both at once: as stored and reversed, and with the chosen one first and second."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge, pairs in judged.items():
        first = [pair for pair in pairs if pair.way == FIRST]
        second = [pair for pair in pairs if pair.way == SECOND]
        if not (first and second):
            continue
        stored, turned = _by_storage([*first, *second])
        ways = {
            "single": [pair for pair in pairs if pair.way in {SINGLE[USUAL], SINGLE[OWN_UNITS]}],
            "pair-f": stored, "pair-r": turned, FIRST: first, SECOND: second,
        }  # fmt: skip
        rows.append([judge, *_cells(gaps, judge, ways), _consistent(first, second)])
    notes = (
        Note(
            "mj-bench.asked.orders",
            "pair-f shows the two pictures in the order in which the release stores them, pair-r in the other; both "
            "are empty where no order is stored. Consistent: both orders give the same picture, or both tie.",
        ),
        *gaps.notes,
    )
    names = map(named, (SINGLE[USUAL], "pair-f", "pair-r", FIRST, SECOND))
    return Table(
        "orders",
        Note("mj-bench.preferences.title.the-order-study", "The order study"),
        headings("judge", *names, "consistent"),
        rows,
        notes,
        chart=_matrix([SINGLE[USUAL], "pair-f", "pair-r", FIRST, SECOND], "way"),
    )


def _by_storage(pairs: Iterable[Compared]) -> tuple[list[Compared], list[Compared]]:
    """Pairs that were shown in the order in which they are stored, and in the other."""
    stored: list[Compared] = []
    turned: list[Compared] = []
    for pair in pairs:
        if pair.stored:
            chosen_first = pair.way == FIRST
            (stored if chosen_first == (pair.stored == CHOSEN) else turned).append(pair)
    return stored, turned


def _consistent(first: Sequence[Compared], second: Sequence[Compared]) -> Cell:
    def leads(pairs: Sequence[Compared]) -> dict[tuple[str, int], float]:
        return {
            (pair.item, pair.trial): (pair.chosen > pair.rejected) - (pair.chosen < pair.rejected) for pair in pairs
        }

    first_leads, second_leads = leads(first), leads(second)
    shared = first_leads.keys() & second_leads.keys()
    return fmean(first_leads[place] == second_leads[place] for place in shared) if shared else None


def ties(judged: Judged) -> Table:
    """Score models in their own units: the margin at which a share of the pairs ties, and who is right beyond it."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge, all_pairs in judged.items():
        own = [pair for pair in all_pairs if pair.way == SINGLE[OWN_UNITS]]
        for (about,), pairs in groups(own, "perspective"):
            chosen = [pair.chosen for pair in pairs]
            rejected = [pair.rejected for pair in pairs]
            apart = np.abs(np.subtract(chosen, rejected))
            for share in SHARES:
                margin = float(np.quantile(apart, share, method="inverted_cdf")) if share else 0.0
                compute = partial(preference_accuracy, chosen, rejected, margin=margin)
                where = f"{judge}, {about} at {margin:g}"
                rows.append([
                    judge, about or "-", share, margin, float((apart <= margin).mean()),
                    gaps.cell(where, partial(compute, ties="wrong")),
                    gaps.cell(f"{where} without ties", partial(compute, ties="left out")), len(pairs),
                ])  # fmt: skip
    notes = (
        Note(
            "mj-bench.asked.ties",
            "A score model's units are its own. The margin is the quantile, at the share of ties that is wanted, of "
            "how far the two scores of a pair are apart; a win needs more than it. Ties: the share that ties then.",
        ),
        *gaps.notes,
    )
    columns = headings("judge", "perspective", "share of ties", "margin", "ties", "right", "right, no ties", "n")
    return Table(
        "ties",
        Note("mj-bench.asked.title.ties", "Ties by quantile, in each score model's own units"),
        columns,
        rows,
        notes,
    )
