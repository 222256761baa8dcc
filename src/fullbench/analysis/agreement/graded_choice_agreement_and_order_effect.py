"""Graded choices ("A is much better"): agreement of judges on the level, and the effect of the order shown.

Agreement is quadratic-weighted kappa of the marks (Cohen 1968). Both ways round count, with either response as the
first, so that no result depends on the order of names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.item_clustered_means_and_shares import Gaps
from fullbench.analysis.people.joined_votes import join_column_votes
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.columns.verdict_columns import Columns
from fullbench.core.ballot import is_graded
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.stats.agreement import two_raters
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule

_NEAR = 1e-9
Floats = npt.NDArray[np.float64]
_ResponseSet = tuple[int, int, int, int, int]
"""Item, and contestant and sample of both responses, the smaller code first."""


def graded_choice_tables(
    columns: Columns, rule: VoteRule = "default", *, visible: bool = False, seed: int = 0
) -> list[Table]:
    """Return the tables of graded choices, empty if there are none.

    Args:
        columns: verdicts of any ballots.
        rule: rule that joins several votes on the same responses.
        visible: also count votes that were cast with names visible.
        seed: seed of the resampled intervals.
    """
    graded = [code for code, spec in enumerate(columns.names["ballot"]) if is_graded(spec)]
    verdicts = columns.rows(np.isin(columns.ballot, graded) & (columns.response_counts == 2)) if graded else columns
    if not graded or not (verdicts.fault < 0).any():
        return []
    joined = join_column_votes(verdicts, rule, visible=visible)
    agreement = _level_agreement_table(joined.columns, seed)
    notes = [*agreement.notes, *joined.notes] if joined.has_votes else agreement.notes
    return [replace(agreement, notes=notes), _level_order_table(verdicts)]


def _usable_parts(columns: Columns) -> Iterator[tuple[list[Cell], Columns]]:
    """Yield the usable verdicts of each study, criterion and graded ballot, with the cells that name them."""
    counted = columns.latest()
    counted = counted.rows((counted.fault < 0) & ~counted.self_matches())
    for (study, criterion), part in counted.by("study", "criterion"):
        for (spec,), same_ballot in part.by("ballot"):
            yield [study, criterion, spec], same_ballot


def _scope_columns(columns: Columns) -> list[int]:
    """Return which of study, criterion and ballot a row has to name: 0 to 2. The ballot is always named."""
    studies = len(np.unique(columns.study)) > 1
    criteria = {columns.names["criterion"][code] for code in np.unique(columns.criterion)} - {OVERALL}
    return [*([0] if studies else []), *([1] if criteria else []), 2]


def _level_agreement_table(columns: Columns, seed: int) -> Table:
    scope = _scope_columns(columns)
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for names, part in _usable_parts(columns):
        shares_by_judge = {judge: _shares_by_response_set(of_judge) for (judge,), of_judge in part.by("judge")}
        for judge, other in combinations(sorted(shares_by_judge), 2):
            pairs = [
                (response_set[0], *both)
                for response_set, shares in shares_by_judge[judge].items()
                for both in product(shares, shares_by_judge[other].get(response_set, ()))
            ]
            if not pairs:
                continue
            item, ours, theirs = (np.array(column) for column in zip(*pairs, strict=True))
            kappa = gaps.cell(f"{judge}, {other}", partial(_weighted_kappa, ours, theirs, item, seed))
            rows.append([
                judge, other, *(names[place] for place in scope),
                _share(np.abs(ours - theirs) < _NEAR, item),
                _share(_winners(ours) == _winners(theirs), item), kappa, len(pairs),
            ])  # fmt: skip
    rows.sort(key=lambda row: [str(cell) for cell in row[: 2 + len(scope)]])
    heads = table_columns("judge", "other", *(("study", "criterion", "ballot")[place] for place in scope),
                          "same level", "same winner", "kappa, quadratic", "pairs of verdicts")  # fmt: skip
    notes = [Note("graded.agreement"), *gaps.notes]
    return Table("graded agreement", Note("graded.title.agreement"), heads, rows, notes, {"seed": seed})


def _shares_by_response_set(columns: Columns) -> dict[_ResponseSet, list[float]]:
    """Return the mark of the response with the smaller code, for every verdict on two responses."""
    shares: dict[_ResponseSet, list[float]] = defaultdict(list)
    for response_set, mark, _, _ in _verdict_rows(columns):
        shares[response_set].append(mark)
    return shares


def _verdict_rows(columns: Columns) -> Iterator[tuple[_ResponseSet, float, bool, tuple[int, int]]]:
    """Yield, per verdict: the responses, the mark of the smaller code, if it was shown first, and trial and rater."""
    at = columns.start.astype(np.int64)[:-1]
    values = (columns.item, columns.contestant[at], columns.sample[at], columns.contestant[at + 1],
              columns.sample[at + 1], columns.mark[at], columns.mark[at + 1], columns.trial, columns.rater)  # fmt: skip
    for row in zip(*(value.tolist() for value in values), strict=True):
        item, name, sample, other_name, other_sample, mark, other_mark, trial, rater = row
        is_first = (name, sample) < (other_name, other_sample)
        pair = (name, sample, other_name, other_sample) if is_first else (other_name, other_sample, name, sample)
        yield (item, *pair), mark if is_first else other_mark, is_first, (trial, rater)


def _winners(shares: Floats) -> npt.NDArray[np.float64]:
    return np.where(np.abs(shares - 0.5) < _NEAR, 0.0, np.sign(shares - 0.5))


def _share(hits: npt.NDArray[np.bool_], item: npt.NDArray[np.int64]) -> Estimate:
    return item_clustered_means_and_shares.share_estimate(hits.astype(np.float64), item)


def _weighted_kappa(ours: Floats, theirs: Floats, item: npt.NDArray[np.int64], seed: int) -> Estimate:
    both_ways = (np.concatenate([marks, 1 - marks]) for marks in (ours, theirs))
    kappa = two_raters.quadratic_kappa(*both_ways, cluster=np.concatenate([item, item]), seed=seed)
    return replace(kappa, n=len(ours))


def _level_order_table(columns: Columns) -> Table:
    """Return how often a level is the same in both orders, and the mean mark of the response shown first."""
    scope = _scope_columns(columns)
    rows: list[list[Cell]] = []
    for names, part in _usable_parts(columns):
        for (judge,), of_judge in part.by("judge"):
            by_pair: dict[tuple[_ResponseSet, tuple[int, int]], dict[bool, float]] = defaultdict(dict)
            for response_set, mark, is_first, repeat in _verdict_rows(of_judge):
                by_pair[response_set, repeat][is_first] = mark
            both = [(key[0][0], marks) for key, marks in by_pair.items() if len(marks) == 2]
            if not both:
                continue
            item = np.array([code for code, _ in both])
            first, second = (np.array([marks[is_first] for _, marks in both]) for is_first in (True, False))
            shown_first = np.concatenate([first, 1 - second])
            rows.append([
                judge, *(names[place] for place in scope), _share(np.abs(first - second) < _NEAR, item),
                item_clustered_means_and_shares.share_estimate(shown_first, np.concatenate([item, item])), len(both),
            ])  # fmt: skip
    rows.sort(key=lambda row: [str(cell) for cell in row[: 1 + len(scope)]])
    heads = table_columns("judge", *(("study", "criterion", "ballot")[place] for place in scope),
                          "same level in both orders", "mark of the first shown", "pairs")  # fmt: skip
    hint = {"kind": "intervals", "label": "judge", "value": "mark of the first shown", "reference": 0.5}
    return Table("graded orders", Note("graded.title.orders"), heads, rows, [Note("graded.orders")], {}, hint)
