"""Bias probes: influences on a judge other than quality, compared with the same metric for people.

Each finding has an interval and one plain sentence. A bias is claimed only if it survives the correction for all tests
of a judge (`analysis.bias.finding_type_and_multiple_test_correction`) and people's own errors cannot explain it
(`analysis.bias.bias_regression_with_noisy_votes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import factorial, prod
from typing import Any

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.agreement.judges_with_people import PeopleComparison, winner_index
from fullbench.analysis.agreement.repeats_and_orders import position_effect
from fullbench.analysis.bias import bias_regression_with_noisy_votes
from fullbench.analysis.bias.finding_type_and_multiple_test_correction import (
    BIAS_NOTES,
    Finding,
    correct_for_multiple_tests,
    format_percent,
)
from fullbench.analysis.boards.matches_from_verdicts import build_matches
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.columns.verdict_columns import Array, Columns, group_rows
from fullbench.core.ballot import LETTERS
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.response import LENGTHENS
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.core.verdict_record import Pairing, Record
from fullbench.stats.bias.position_bias_and_latent_mark_regression import swap_flips


def probe_biases(comparison: PeopleComparison, judge: str, **options: Any) -> list[Finding]:
    """Return all findings about one judge, corrected for multiple tests; options as in `bias_findings`."""
    return correct_for_multiple_tests(bias_findings(comparison, judge, **options))


def bias_findings(
    comparison: PeopleComparison,
    judge: str,
    *,
    own_contestants: Collection[str] = (),
    example: str | None = None,
    judge_verdicts: Columns | None = None,
) -> list[Finding]:
    """Return all findings that the record allows about one judge, not yet corrected for multiple tests.

    Args:
        own_contestants: contestants of the judge's own family.
        example: order of the worked example in the judge's prompt, best first (`CDBA`).
        judge_verdicts: all verdicts of the judge, if the record holds only those paired with people's.
    """
    verdicts = columns_from_verdicts(comparison.record.where(judge=judge)) if judge_verdicts is None else judge_verdicts
    swap_findings = [*_swap_findings(judge, verdicts)]
    # Both orders show a position bias by themselves. Only without them is it estimated from people's votes.
    all_findings: list[Finding] = [
        *bias_regression_with_noisy_votes.pair_findings(
            comparison, judge, own_contestants, with_position=not swap_findings
        )
    ]
    all_findings += swap_findings
    all_findings += _copying_findings(judge, comparison.pairings(judge, "rankings"), example)
    all_findings += bias_regression_with_noisy_votes.score_findings(comparison, judge, own_contestants)
    all_findings += _lengthening_findings(judge, comparison.record, comparison.record.where(judge=judge, fault=None))
    return all_findings


Row = tuple[float, float, Pairing]
"""Value of a verdict of the judge, and of people's verdict on the same responses in the same order."""


@dataclass(frozen=True)
class _ShareComparison:
    ours: Estimate
    theirs: Estimate
    gap: Estimate

    @property
    def shares(self) -> tuple[str, str]:
        return format_percent(self.ours), format_percent(self.theirs)


def _compare_shares(rows: Sequence[Row]) -> _ShareComparison | None:
    """Compare shares; several trials of the judge on the same responses in one order meet one verdict of people."""
    if not rows:
        return None
    _, items = np.unique([pairing.verdict.item for _, _, pairing in rows], return_inverse=True)
    row_numbers: dict[Any, int] = {}
    keys = [(pairing.verdict.item, pairing.verdict.ballot, *pairing.verdict.shown_responses) for _, _, pairing in rows]
    row = np.array([row_numbers.setdefault(key, len(row_numbers)) for key in keys])
    _, first = np.unique(row, return_index=True)
    ours, theirs = np.array([here for here, _, _ in rows]), np.array([there for _, there, _ in rows])[first]
    gap = np.bincount(row, ours) / np.bincount(row) - theirs
    return _ShareComparison(
        item_clustered_means_and_shares.share_estimate(ours, items),
        item_clustered_means_and_shares.share_estimate(theirs, items[first]),
        item_clustered_means_and_shares.difference_estimate(gap, items[first], (-1.0, 1.0)),
    )


def _swap_findings(judge: str, judge_verdicts: Columns) -> Iterator[Finding]:
    """Yield the position bias from pairs judged in both orders. Whatever a pair is worth, its two orders cancel."""
    latest_verdicts = judge_verdicts.latest()
    pairs = latest_verdicts.rows(
        (latest_verdicts.response_counts == 2) & (latest_verdicts.fault < 0) & ~latest_verdicts.self_matches()
    )
    if not len(pairs):
        return
    first, second, item = _winners_in_both_orders(pairs)
    if not len(item):
        return
    flips = swap_flips(first, second, item.tolist())
    to_first, to_second = int(((first > 0) & (second > 0)).sum()), int(((first < 0) & (second < 0)).sum())
    change_count = int((first != -second).sum())
    says = Note(
        "probes.swapped",
        changed=change_count, pairs=len(first), share=format_percent(flips), first=to_first, second=to_second,
        tied=change_count - to_first - to_second,
    )  # fmt: skip
    del first, second, item  # frees memory before the matches are built
    matches = build_matches(pairs, rule="each")
    if (effect := position_effect(matches)) is not None and effect.first is not None:
        opening = Note("probes.position-swapped", share=format_percent(effect.first), pairs=effect.pairs)
        yield Finding(judge, "position", "first shown wins", effect.first, None, opening, effect.first.p,
                      effect.first.value - 0.5, BIAS_NOTES["first-place"], BIAS_NOTES["second-place"],
                      null=0.5)  # fmt: skip
    yield Finding(judge, "position", "changed by a swap", flips, None, says)


def _winners_in_both_orders(pairs: Columns) -> tuple[Array, Array, Array]:
    """Return 1, 0 or -1 for the win, tie or loss of the first shown in each order of every pair, and its item."""
    at = pairs.start[:-1]
    samples = int(pairs.sample.max()) + 1
    # The narrowest integers: one array of 64 bits for each of these would take more memory than the verdicts.
    narrow = np.min_scalar_type((int(pairs.contestant.max()) + 1) * samples)
    response_codes = pairs.contestant.astype(narrow) * narrow.type(samples) + pairs.sample.astype(narrow)
    first_response, second_response = response_codes[at], response_codes[at + 1]
    pair, where = group_rows(
        pairs.study, pairs.item, pairs.criterion, pairs.ballot, pairs.trial, pairs.rater,
        np.minimum(first_response, second_response), np.maximum(first_response, second_response),
    )  # fmt: skip
    first_mark_signs = np.full((2, len(where)), np.nan)
    first_mark_signs[(first_response > second_response).astype(np.int64), pair] = np.sign(
        pairs.mark[at] - pairs.mark[at + 1]
    )
    both = ~np.isnan(first_mark_signs).any(axis=0)
    return first_mark_signs[0, both], first_mark_signs[1, both], pairs.item[where[both]]


def _copying_findings(judge: str, pairings: Sequence[Pairing], example: str | None) -> Iterator[Finding]:
    order_rows = [_order_row(p, LETTERS[: len(p.marks)]) for p in pairings]
    example_rows = [_order_row(p, example) for p in pairings if example is not None and len(p.marks) == len(example)]
    for name, rows in {"the order shown": order_rows, "the example's order": example_rows}.items():
        if comparison := _compare_shares(rows):
            opening = Note(
                "probes.copying", ours=comparison.shares[0], what=word_note(name), theirs=comparison.shares[1]
            )
            yield Finding(
                judge,
                "copying",
                name,
                comparison.ours,
                comparison.theirs,
                opening,
                comparison.gap.p,
                comparison.gap.value,
                BIAS_NOTES["copies"],
                BIAS_NOTES["copies-less"],
            )


def _order_row(pairing: Pairing, order: str) -> Row:
    """Return whether the judge's and people's rankings are this order, as a share of the orders that ties allow."""

    def share(marks: Sequence[float]) -> float:
        along = [marks[LETTERS.index(letter)] for letter in order]
        ways = prod(map(factorial, Counter(marks).values()))
        return 1 / ways if along == sorted(marks, reverse=True) else 0.0

    return share(pairing.marks), share(pairing.other_marks), pairing


def _lengthening_findings(judge: str, record: Record, judge_verdicts: Record) -> Iterator[Finding]:
    marks = {
        (verdict.item, *verdict.shown_responses[0], (verdict.ballot, verdict.criterion, verdict.trial)): verdict.marks[
            0
        ]
        for verdict in judge_verdicts
        if verdict.marks is not None and len(verdict.marks) == 1
    }
    longer = {
        place: response.tags[LENGTHENS] for place, response in record.responses.items() if LENGTHENS in response.tags
    }
    gains = [
        (mark, marks[item, longer[item, name, sample], sample, verdict_key], item)
        for (item, name, sample, verdict_key), mark in marks.items()
        if (item, name, sample) in longer and (item, longer[item, name, sample], sample, verdict_key) in marks
    ]
    if not gains:
        return
    _, items = np.unique([item for _, _, item in gains], return_inverse=True)
    gap = item_clustered_means_and_shares.difference_estimate(
        np.array([longer - short for longer, short, _ in gains]), items
    )
    opening = Note("probes.lengthened", value=gap.value)
    yield Finding(judge, "length", "gain when lengthened", gap, None, opening, gap.p, gap.value,
                  BIAS_NOTES["rewards-length"], BIAS_NOTES["punishes-length"], null=0.0)  # fmt: skip


def bias_table(all_findings: Iterable[Finding], *, corrected_with: Sequence[Finding] = ()) -> Table:
    """Return the findings as a table with their sentences as notes.

    Args:
        corrected_with: all findings that were corrected together, if they are more, such as those on other criteria.
    """
    finding_list = list(all_findings)
    rows: list[list[Cell]] = [[f.judge, f.bias, f.metric, f.value, f.people] for f in finding_list]
    notes: list[str] = [Note("probes.says", judge=finding.judge, says=finding.says) for finding in finding_list]
    tests = Counter(finding.judge for finding in corrected_with or finding_list if finding.p is not None)
    counts = "; ".join(f"{judge} ({count})" for judge, count in tests.items())
    if len(corrected_with) > len(finding_list):
        notes.append(Note("probes.correction-all", tests=counts))
    elif tests:
        notes.append(Note("probes.correction", tests=counts))
    return Table(
        "biases",
        Note("probes.title.what-else-moves-the-judges"),
        table_columns("judge", "bias", "metric", "judge's", "people's"),
        rows,
        notes,
    )


def position_table(comparison: PeopleComparison) -> Table:
    """Return how often each position wins, for each judge and for people on the same responses."""
    rows: list[list[Cell]] = []
    for judge in comparison.judges:
        for kind in ("pairs", "rankings"):
            if pairs := comparison.pairings(judge, kind):
                rows += _position_rows(judge, kind, pairs)
    columns = table_columns("judge", "verdict", "place", "judge's", "people's")
    notes = [Note("probes.the-share-of-panels-of")]
    return Table("positions", Note("probes.title.which-place-wins"), columns, rows, notes)


def _position_rows(judge: str, kind: str, pairings: Sequence[Pairing]) -> Iterator[list[Cell]]:
    size = max(len(p.marks) for p in pairings)
    full = [p for p in pairings if len(p.marks) == size]
    places: list[int | None] = [*range(size), *([None] if kind == "pairs" else [])]
    for place in places:
        rows = [(float(winner_index(p.marks) == place), float(winner_index(p.other_marks) == place), p) for p in full]
        comparison = _compare_shares(rows)
        shares = (None, None) if comparison is None else (comparison.ours, comparison.theirs)
        yield [
            judge,
            kind,
            word_note("tie") if place is None else Note("probes.place", place=place + 1, size=size),
            *shares,
        ]
