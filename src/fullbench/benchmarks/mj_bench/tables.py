"""Tables of MJ-Bench: preferences, scale and order studies, evenness, charts, rankings of generators by people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isclose
from statistics import fmean

import numpy as np

from fullbench.analysis import standard_verdict_tables as standard
from fullbench.analysis.item_clustered_means_and_shares import Gaps, mean_estimate, scale_of
from fullbench.analysis.people.joined_votes import join_record_votes
from fullbench.analysis.summary.judge_trust import baselines_last
from fullbench.analysis.summary.paper_study_summary_with_main_table import paper_source
from fullbench.benchmarks.mj_bench import demographic_evenness, picture_preferences
from fullbench.benchmarks.mj_bench.demographic_evenness import EVENNESS_METRICS
from fullbench.benchmarks.mj_bench.picture_preferences import (  # fmt: skip
    FIRST,
    RATED_WAYS,
    SECOND,
    SINGLE_WAYS,
    ComparedPair,
    PairsByJudge,
    group_pairs,
    judged_pairs,
    pair_accuracy,
)
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import OWN_UNITS, USUAL_SCALE
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import SCALE_BALLOTS as SCALES
from fullbench.core.ballot import Score, ballot
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.agreement.preferences_from_scores import preference_accuracy
from fullbench.stats.array_checks import Floats
from fullbench.stats.intervals.bootstrap_and_jackknife import Sample, estimate_interval, mean_of_groups
from fullbench.stats.intervals.statistics_for_bootstrap import weighted_mean
from fullbench.synthetic.perturb.items_from_perturbed_pairs_and_grids import CHOSEN_CONTESTANT


def scale_study_tables(record: Record) -> list[Table]:
    """Return the tables with the scale study first; it is the main table if a judge has several scales."""
    all_tables = tables(record)
    first = next((table for table in all_tables if table.name == "scales"), None)
    if first is None:
        return all_tables
    main = replace(first, source={**first.source, **paper_source("MJ-Bench, scale study", "mean")})
    return [
        main,
        *(
            replace(table, source={}) if table.name == "table 3" else table
            for table in all_tables
            if table is not first
        ),
    ]


def tables(record: Record) -> list[Table]:
    """Return all tables that have rows; unusable verdicts and costs come last."""
    even = demographic_evenness.fairness_tables(record)
    all_tables = [
        main_table(record, next((table for table in even if table.name == "evenness"), None)),
        *picture_preferences.preference_tables(record),
        *study_tables(record),
        *even,
        *chart_tables(record, even),
    ]
    all_tables += generator_tables(record)
    all_tables += [
        standard.fault_table(record, together=True),
        standard.abstention_reasons_table(record),
        standard.cost_table(record),
    ]
    return [table for table in all_tables if table.rows]


_NOTE = Note("mj-bench.generators.ranks")
_RANKING_COLUMNS = ("rank", "contestant", "mean mark", "mean rank")


def generator_tables(record: Record) -> list[Table]:
    """Return each generator's mean rating, its mean rank within prompts and its place; equal means tie.

    One table covers all prompts. A second one has a part per perspective if there are several. Ratings of a picture by
    several people are averaged. Pictures with the same mean share the mean of their ranks.
    """
    rating_record = record.where(
        lambda verdict: len(verdict.contestants) > 1 and isinstance(ballot(verdict.ballot), Score), judge=PEOPLE
    )
    joined_verdicts, votes = join_record_votes(rating_record, PEOPLE, "mean")
    has_unusable = any(verdict.marks is None for verdict in joined_verdicts)
    columns = [*_RANKING_COLUMNS, *(["unusable"] if has_unusable else [])]
    by_perspective: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in joined_verdicts:
        by_perspective[str(record.tag(verdict, "perspective") or "-")].append(verdict)
    overall_table = Table(
        "generators",
        Note("mj-bench.generators.title"),
        table_columns(*columns),
        _generator_rows(joined_verdicts, has_unusable=has_unusable),
        (_NOTE, *votes.notes()),
        {"rule": "mean"},
    )
    if len(by_perspective) < 2:
        return [overall_table]
    perspective_table = Table(
        "generators by perspective",
        Note("mj-bench.generators.by-perspective"),
        table_columns("perspective", *columns),
        [
            [about, *row]
            for about in sorted(by_perspective)
            for row in _generator_rows(by_perspective[about], has_unusable=has_unusable)
        ],
        (_NOTE, *votes.notes()),
        {"rule": "mean"},
    )
    return [overall_table, perspective_table]


def _generator_rows(verdicts: Iterable[Verdict], *, has_unusable: bool) -> list[list[Cell]]:
    unusable: Counter[str] = Counter()
    marks: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    verdicts = [*verdicts]
    scales = {scale_of(verdict.ballot) for verdict in verdicts}
    scale = scales.pop() if len(scales) == 1 else None
    last = max((float(len(verdict.contestants)) for verdict in verdicts), default=1.0)
    for verdict in verdicts:
        if verdict.marks is None:
            unusable.update(verdict.contestants)
            continue
        for name, mark, rank in zip(verdict.contestants, verdict.marks, mark_ranks(verdict.marks), strict=True):
            marks[name].append((verdict.item, mark, rank))
    rows: list[list[Cell]] = []
    # Rounded, so that floating-point errors do not separate generators that tie.
    mean_ranks = {name: round(float(np.mean([rank for _, _, rank in entries])), 12) for name, entries in marks.items()}
    for name in sorted(marks, key=lambda name: (mean_ranks[name], name)):
        items = np.unique([item for item, _, _ in marks[name]], return_inverse=True)[1]
        better_count = sum(other_rank < mean_ranks[name] for other_rank in mean_ranks.values())
        tied_count = sum(other_rank == mean_ranks[name] for other_rank in mean_ranks.values())
        rows.append([
            str(better_count + 1) if tied_count == 1 else f"{better_count + 1}-{better_count + tied_count}", name,
            mean_estimate(np.array([mark for _, mark, _ in marks[name]]), items, scale),
            mean_estimate(np.array([rank for _, _, rank in marks[name]]), items, (1.0, last)),
            *([unusable[name]] if has_unusable else []),
        ])  # fmt: skip
    return rows


def mark_ranks(marks: tuple[float, ...]) -> list[float]:
    """Return the rank of each mark, 1 for the highest; equal marks share their mean rank.

    >>> mark_ranks((7.0, 9.0, 7.0))
    [2.5, 1.0, 2.5]
    """
    return [sum(other_mark > mark for other_mark in marks) + (marks.count(mark) + 1) / 2 for mark in marks]


SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Shares of pairs that shall tie, closest first."""


def study_tables(record: Record) -> list[Table]:
    """Return the studies for which some judge has verdicts under several conditions."""
    pairs_by_judge = judged_pairs(record)
    return [
        table
        for table in (scale_table(pairs_by_judge), order_table(pairs_by_judge), tie_table(pairs_by_judge))
        if table.rows
    ]


def scale_table(pairs_by_judge: PairsByJudge) -> Table:
    """Compare each judge across scales, on single pictures and on pairs, over all perspectives."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge, pairs in pairs_by_judge.items():
        for name, ways in (("single", SINGLE_WAYS), ("pair ratings", RATED_WAYS)):
            pairs_by_scale = {
                spec: [pair for pair in pairs if (pair.way == ways[spec] or pair.way.startswith(f"{ways[spec]},"))]
                for spec in SCALES.values()
            }
            if sum(bool(way_pairs) for way_pairs in pairs_by_scale.values()) > 1:
                average = gaps.cell(f"{judge}, {name}, mean", partial(_mean_over_scales, pairs_by_scale))
                rows.append([judge, name, average, *_accuracy_cells(gaps, f"{judge}, {name}", pairs_by_scale)])
    notes = (Note("mj-bench.preferences.right-the-chosen-picture-is"), Note("mj-bench.scales.mean"), *gaps.notes)
    return Table(
        "scales",
        Note("mj-bench.preferences.title.the-scale-study"),
        table_columns("judge", "way", "mean", *map(data_column, SCALES)),
        rows,
        notes,
        chart=_matrix_chart([*SCALES], "scale") if len({row[0] for row in rows}) == len(rows) else None,
    )


def _mean_over_scales(pairs_by_scale: Mapping[str, Sequence[ComparedPair]]) -> Estimate:
    """Return the mean of the accuracies on the scales; an item's pairs on all scales are one cluster."""
    pairs = [(pair, 1 / len(group)) for group in pairs_by_scale.values() for pair in group]
    is_right = [float(pair.chosen_mark > pair.rejected_mark) for pair, _ in pairs]
    sample = Sample.from_columns(is_right, [weight for _, weight in pairs], cluster=[pair.item for pair, _ in pairs])
    return estimate_interval(sample, _mean_with_weights, within=(0.0, 1.0))


def _mean_with_weights(counts: Floats, values: Floats, weights: Floats) -> Floats:
    return weighted_mean(counts * weights, values)


def _matrix_chart(columns: Sequence[str], column: str) -> dict[str, object]:
    return {"kind": "matrix", "row": "judge", "columns": list(columns), "column": column, "value": "right"}


def _accuracy_cells(gaps: Gaps, cell_label: str, pairs_by_way: Mapping[str, Sequence[ComparedPair]]) -> list[Cell]:
    return [
        gaps.cell(f"{cell_label}, {way}", partial(pair_accuracy, pairs)) if pairs else None
        for way, pairs in pairs_by_way.items()
    ]


def order_table(pairs_by_judge: PairsByJudge) -> Table:
    """Compare single pictures with pairs: stored and reversed order, chosen picture first and second."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge, pairs in pairs_by_judge.items():
        first = [pair for pair in pairs if pair.way == FIRST]
        second = [pair for pair in pairs if pair.way == SECOND]
        if not (first and second):
            continue
        stored_order_pairs, reversed_order_pairs = _split_by_stored_order([*first, *second])
        ways = {
            "single": [pair for pair in pairs if pair.way in {SINGLE_WAYS[USUAL_SCALE], SINGLE_WAYS[OWN_UNITS]}],
            "pair-f": stored_order_pairs, "pair-r": reversed_order_pairs, FIRST: first, SECOND: second,
        }  # fmt: skip
        rows.append([judge, *_accuracy_cells(gaps, judge, ways), _consistency_share(first, second)])
    notes = (Note("mj-bench.asked.orders"), *gaps.notes)
    names = map(data_column, (SINGLE_WAYS[USUAL_SCALE], "pair-f", "pair-r", FIRST, SECOND))
    return Table(
        "orders",
        Note("mj-bench.preferences.title.the-order-study"),
        table_columns("judge", *names, "consistent"),
        rows,
        notes,
        chart=_matrix_chart([SINGLE_WAYS[USUAL_SCALE], "pair-f", "pair-r", FIRST, SECOND], "way"),
    )


def _split_by_stored_order(pairs: Iterable[ComparedPair]) -> tuple[list[ComparedPair], list[ComparedPair]]:
    stored_order_pairs: list[ComparedPair] = []
    reversed_order_pairs: list[ComparedPair] = []
    for pair in pairs:
        if pair.stored_first:
            chosen_first = pair.way == FIRST
            (
                stored_order_pairs if chosen_first == (pair.stored_first == CHOSEN_CONTESTANT) else reversed_order_pairs
            ).append(pair)
    return stored_order_pairs, reversed_order_pairs


def _consistency_share(first: Sequence[ComparedPair], second: Sequence[ComparedPair]) -> Cell:
    def leads(pairs: Sequence[ComparedPair]) -> dict[tuple[str, int], float]:
        return {
            (pair.item, pair.trial): (pair.chosen_mark > pair.rejected_mark) - (pair.chosen_mark < pair.rejected_mark)
            for pair in pairs
        }

    first_leads, second_leads = leads(first), leads(second)
    shared_keys = first_leads.keys() & second_leads.keys()
    return fmean(first_leads[place] == second_leads[place] for place in shared_keys) if shared_keys else None


def tie_table(pairs_by_judge: PairsByJudge) -> Table:
    """Return score models' accuracy in their own units, over margins chosen so that a given share of pairs ties."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge, all_pairs in pairs_by_judge.items():
        own_unit_pairs = [pair for pair in all_pairs if pair.way == SINGLE_WAYS[OWN_UNITS]]
        for (about,), pairs in group_pairs(own_unit_pairs, "perspective"):
            chosen_scores = [pair.chosen_mark for pair in pairs]
            rejected_scores = [pair.rejected_mark for pair in pairs]
            score_gaps = np.abs(np.subtract(chosen_scores, rejected_scores))
            for share in SHARES:
                margin = float(np.quantile(score_gaps, share, method="inverted_cdf")) if share else 0.0
                compute = partial(preference_accuracy, chosen_scores, rejected_scores, margin=margin)
                cell_label = f"{judge}, {about} at {margin:g}"
                rows.append([
                    judge, about or "-", share, margin, float((score_gaps <= margin).mean()),
                    gaps.cell(cell_label, partial(compute, ties="wrong")),
                    gaps.cell(f"{cell_label} without ties", partial(compute, ties="left out")), len(pairs),
                ])  # fmt: skip
    notes = (Note("mj-bench.asked.ties"), *gaps.notes)
    columns = table_columns("judge", "perspective", "share of ties", "margin", "ties", "right", "right, no ties", "n")
    return Table("ties", Note("mj-bench.asked.title.ties"), columns, rows, notes)


RADAR_PERSPECTIVES = ("alignment", "safety", "quality")
BIAS = "bias (GES)"
RADAR_JUDGES = 6
"""Largest number of judges in a radar chart."""
_SINGLE_WAYS = {SINGLE_WAYS[USUAL_SCALE], SINGLE_WAYS[OWN_UNITS]}
_WAYS = {"single": _SINGLE_WAYS, "pair": {FIRST, SECOND}}


def chart_tables(record: Record, evenness: list[Table]) -> list[Table]:
    """Return the radar, and the bars for the evenness tables."""
    by_name = {table.name: table for table in evenness}
    charts = [radar_table(record, by_name.get("evenness"))]
    if "axes" in by_name:
        charts += evenness_bar_tables(by_name["axes"])
    return [table for table in charts if table.rows]


def main_table(record: Record, evenness: Table | None) -> Table:
    """Return the paper's Table 3: accuracy of each judge per perspective, with and without ties, and its evenness."""
    gaps = Gaps()
    pairs_by_judge = judged_pairs(record)
    perspectives = sorted({pair.perspective for pairs in pairs_by_judge.values() for pair in pairs if pair.perspective})
    evenness_cells = _evenness_by_judge(evenness)
    metrics = list(EVENNESS_METRICS) if evenness_cells else []
    lines: list[tuple[float, list[Cell]]] = []
    for judge in baselines_last(list(pairs_by_judge)):
        for name, ways in _WAYS.items():
            pairs = [pair for pair in pairs_by_judge[judge] if pair.way in ways]
            if not pairs:
                continue
            cells: list[Cell] = []
            for about in perspectives:
                part = [pair for pair in pairs if pair.perspective == about]
                for ties in ("wrong", "left out"):
                    label = f"{judge}, {name}, {about}, ties {ties}"
                    cells.append(gaps.cell(label, partial(pair_accuracy, part, ties=ties)) if part else None)
            average = _mean_over_perspectives([cell for cell in cells[::2] if isinstance(cell, Estimate)], pairs)
            bias = [evenness_cells.get(judge, {}).get(metric) for metric in metrics]
            lines.append((-(average.value if average else 0.0), [judge, name, average, *cells, *bias]))
    heads = [head for about in perspectives for head in (f"{about}, ties wrong", f"{about}, no ties")]
    columns = table_columns("judge", "way", "mean", *map(data_column, heads), *metrics)
    rows = [row for _, row in sorted(lines, key=lambda line: line[0])]
    title = Note("mj-bench.title.table-3")
    notes = (Note("mj-bench.table-3"), *gaps.notes)
    return Table("table 3", title, columns, rows, notes, paper_source("MJ-Bench", "mean"))


def _mean_over_perspectives(known: Sequence[Estimate], pairs: Sequence[ComparedPair]) -> Estimate | None:
    """Return the mean of the accuracies with ties wrong; the items of each perspective are a sample of their own."""
    if not known:
        return None
    mean, n = fmean(cell.value for cell in known), sum(cell.n for cell in known)
    is_right = [float(pair.chosen_mark > pair.rejected_mark) for pair in pairs]
    items = [pair.item for pair in pairs]
    try:
        grouped_mean = mean_of_groups(
            weighted_mean, [pair.perspective for pair in pairs], is_right, cluster=items, within=(0.0, 1.0)
        )
    except Undefined:
        return Estimate.bare(mean, n, "one item")
    # A perspective with one item has no spread, so the interval would be about the mean of the others.
    return grouped_mean if isclose(grouped_mean.value, mean) else Estimate.bare(mean, n, "one item")


def _evenness_by_judge(table: Table | None) -> dict[str, dict[str, Cell]]:
    """Return each judge's evenness on stretched scores, as the paper has it."""
    by_judge: dict[str, dict[str, Cell]] = {}
    for row in table.rows if table is not None else ():
        cells = dict(zip(map(str, table.columns if table is not None else ()), row, strict=True))
        if cells["scores"] == "stretched to 0..1":
            by_judge.setdefault(str(cells["judge"]), {name: cells[f"{name} by item"] for name in EVENNESS_METRICS})
    return by_judge


def radar_table(record: Record, evenness: Table | None) -> Table:
    """Return each judge's accuracy per perspective, on single pictures and pairs, and its evenness (GES)."""
    gaps = Gaps()
    ges_by_judge = _ges_by_judge(evenness)
    rows: list[list[Cell]] = []
    for judge, pairs in judged_pairs(record).items():
        for name, ways in _WAYS.items():
            parts = {
                about: [pair for pair in pairs if pair.way in ways and pair.perspective == about]
                for about in RADAR_PERSPECTIVES
            }
            if any(parts.values()):
                cells = [
                    gaps.cell(f"{judge}, {name}, {about}", partial(pair_accuracy, part)) if part else None
                    for about, part in parts.items()
                ]
                rows.append([f"{judge}, {name}", *cells, ges_by_judge.get(judge)])
    axes = [*RADAR_PERSPECTIVES, *([BIAS] if ges_by_judge else [])]
    columns = table_columns("judge", *map(data_column, (*RADAR_PERSPECTIVES, BIAS)))
    note = Note("mj-bench.overview.radar")
    hint = {"kind": "radar", "label": "judge", "axes": axes, "most": RADAR_JUDGES}
    title = Note("mj-bench.overview.title")
    return Table("perspectives", title, columns, rows, (note, *gaps.notes), chart=hint)


def _ges_by_judge(table: Table | None) -> dict[str, Cell]:
    ges_cells: dict[str, Cell] = {}
    for row in table.rows if table is not None else ():
        cells = dict(zip(map(str, table.columns if table is not None else ()), row, strict=True))
        if cells["scores"] == "stretched to 0..1" and cells["GES by item"] is not None:
            ges_cells.setdefault(str(cells["judge"]), cells["GES by item"])
    return ges_cells


def evenness_bar_tables(axes: Table) -> Iterator[Table]:
    """Yield one table per evenness metric over the axes, computed as in the paper on stretched scores."""
    keys = [str(column) for column in axes.columns]
    for metric in EVENNESS_METRICS:
        rows: list[list[Cell]] = []
        for row in axes.rows:
            cells = dict(zip(keys, row, strict=True))
            if cells["scores"] == "stretched to 0..1" and cells["way"] == "as the paper":
                rows.append([f"{cells['judge']}, {cells['scale']}", cells["axis"], cells[metric], cells["n"]])
        hint = {"kind": "bars", "label": "axis", "value": metric, "group": "judge"}
        title = Note("mj-bench.overview.bars", figure=metric)
        yield Table(f"axes {metric}", title, table_columns("judge", "axis", metric, "n"), rows, chart=hint)
