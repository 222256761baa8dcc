"""Tables of MLLM-as-a-Judge: agreement with people, biases, consistency, reviews, charts, costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares, standard_verdict_tables
from fullbench.analysis.agreement import among_people, by_tag, judges_with_people, repeats_and_orders
from fullbench.analysis.agreement.judges_with_people import PeopleComparison, verdict_shape
from fullbench.analysis.bias import judge_biases_compared_with_people
from fullbench.analysis.boards.unusable_verdicts_and_bounds_by_contestant import with_unusable_column
from fullbench.analysis.summary.judge_trust import baselines_last
from fullbench.analysis.summary.paper_study_summary_with_main_table import paper_source, spread_rows
from fullbench.analysis.views.view_verdict_helpers import WAITS
from fullbench.benchmarks.mllm_judge import reviews_of_verdicts
from fullbench.benchmarks.mllm_judge.choice_and_score_shares import share_tables
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.language_and_words import length_of
from fullbench.core.model import family_of
from fullbench.core.rubric import is_review
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Record

TAGS = ("dataset", "abilities")
FAMILIES = {
    "CogVLM": {"cogvlm"},
    "GPT-4V": {"gpt4"},
    "Gemini": {"gemini"},
    "Gemini-2.5-Flash": {"gemini"},
    "LLaVA-1.5-13b": {"llava"},
    "LLaVA-Critic-7B": {"llava"},
}
"""Contestants of the release that belong to a released judge's own family."""


def family_members(judge: str, contestants: Collection[str]) -> set[str]:
    """Return the contestants of the judge's own family: listed ones, its own model, and models with a similar name.

    >>> (sorted(family_members("gpt-4o+analyze#12", ["gpt-4o", "gpt-4o-mini", "gemini-pro"])),
    ...  family_members("m+direct#1", ["m-b"]))
    (['gpt-4o', 'gpt-4o-mini'], set())
    """
    model = judge.partition("+")[0]
    family_name = family_of(model)
    # A first word of one or two letters is not a family name; test models and numbered models begin so.
    similar_names = {name for name in contestants if len(family_name) > 2 and family_of(name) == family_name}
    return similar_names | {name for name in contestants if name == model or name in FAMILIES.get(judge, set())}


def tables(record: Record) -> list[Table]:
    """Return all tables that have rows."""
    judge_record = record.where(lambda verdict: not is_review(verdict))
    benchmark_tables: list[Table] = []
    comparison = judges_with_people.compare_with_people(judge_record) if PEOPLE in judge_record.judges else None
    if comparison is not None:
        names = judge_record.contestants

        def own_family(judge: str) -> set[str]:
            return {name for spelling in judge_record.spellings(judge) for name in family_members(spelling, names)}

        agreement = by_tag.agreement_tables(comparison, TAGS, p_values=True)
        trials = max((verdict.trial for verdict in judge_record if verdict.judge != PEOPLE), default=0) + 1
        benchmark_tables += [main_table(agreement, trials), *agreement]
        benchmark_tables.append(by_tag.accuracy_on_decided_pairs(comparison))
        benchmark_tables.append(judge_biases_compared_with_people.position_table(comparison))
        by_judge = (
            judge_biases_compared_with_people.probe_biases(comparison, judge, own_contestants=own_family(judge))
            for judge in comparison.judges
        )
        benchmark_tables.append(
            judge_biases_compared_with_people.bias_table(finding for findings in by_judge for finding in findings)
        )
    benchmark_tables += repeats_and_orders.steadiness_tables(judge_record)
    if len(judge_record) < len(record):
        benchmark_tables += reviews_of_verdicts.review_tables(record)
    benchmark_tables += chart_tables(judge_record, comparison, benchmark_tables)
    benchmark_tables.append(among_people.people_agreement_table(columns_from_verdicts(record)))
    benchmark_tables += [
        standard_verdict_tables.fault_table(judge_record, together=True),
        standard_verdict_tables.cost_table(judge_record),
    ]
    return [table for table in benchmark_tables if table.rows]


_MAIN_METRICS = {
    "scores": ("Pearson",),
    "pairs": ("accuracy with ties", "accuracy without ties"),
    "rankings": ("edit distance",),
}
"""Metrics of the paper's Table 2, by kind of verdict."""


def main_table(agreement: Sequence[Table], trials: int = 1) -> Table:
    """Return the paper's Table 2: a row per metric and judge, the mean over data sets, a column per data set.

    Args:
        agreement: The tables of agreement by data set.
        trials: How often each case was judged; a note says how trials enter the numbers.
    """
    values: dict[tuple[str, ...], dict[str, Cell]] = {}
    averages: dict[tuple[str, ...], Cell] = {}
    datasets: dict[str, None] = {}
    notes = [Note("mllm-judge.trials", n=trials)] if trials > 1 else []
    for kind, metrics in _MAIN_METRICS.items():
        for metric in metrics:
            comparisons = (
                table
                for table in agreement
                if table.name.startswith(f"{kind} by {DATASET}") and metric in table.columns
            )
            table = next(comparisons, None)
            if table is None:
                continue
            undefined = [note for note in table.notes if isinstance(note, Note) and note.id == "judging.undefined"]
            notes += [note for note in undefined if str(note.values["figure"]) == metric]
            names = baselines_last(list(dict.fromkeys(map(str, table.column("judge")))))
            values |= {(f"{kind}, {metric}", name): {} for name in names}
            cells = zip(table.column("judge"), table.column(DATASET), table.column(metric), strict=True)
            for judge, group, cell in cells:
                key = (f"{kind}, {metric}", str(judge))
                if isinstance(group, Note):  # the mean over data sets
                    averages[key] = cell
                else:
                    values[key][str(group)] = cell
                    datasets[str(group)] = None
                    averages.setdefault(key, cell)
    columns = table_columns("verdict", "judge", "mean", *map(data_column, sorted(datasets)))
    title = Note("mllm-judge.title.table-2")
    source = paper_source("MLLM-as-a-Judge", "mean")
    return Table("table 2", title, columns, spread_rows(values, sorted(datasets), averages), notes, source)


BINS = 10
DATASET = "dataset"
_RADAR = {"scores": "Pearson", "pairs": "accuracy without ties", "rankings": "edit distance"}
"""Metric in the radar of each ballot. A distance is shown as one minus it, so that outside is better."""


def chart_tables(record: Record, comparison: PeopleComparison | None, agreement: Sequence[Table]) -> list[Table]:
    """Return all charts that have rows; `agreement` are the tables that compare judges with people."""
    charts = list(radar_tables(agreement))
    charts += [
        *share_tables(record),
        score_density_table(record),
        answer_length_table(record),
        judgment_length_table(record),
    ]
    if comparison is not None:
        charts += [mean_score_by_length_table(record, comparison), score_gap_table(comparison)]
    return [table for table in charts if table.rows]


def radar_tables(agreement: Sequence[Table]) -> Iterable[Table]:
    """Yield agreement with people over data sets, one line per judge (Figure 1), from the agreement tables."""
    for kind, metric in _RADAR.items():
        kind_tables = [table for table in agreement if table.name.startswith(f"{kind} by {DATASET}")]
        table = next((table for table in kind_tables if metric in table.columns), None)
        if table is None:
            continue
        values_by_judge: dict[str, dict[str, float]] = {}
        for judge, group, cell in zip(table.column("judge"), table.column(DATASET), table.column(metric), strict=True):
            # The row with the mean over data sets has a `Note` in place of a data set; skip it.
            if isinstance(cell, Estimate) and not isinstance(group, Note):
                radius = 1 - cell.value if kind == "rankings" else max(cell.value, 0.0)
                values_by_judge.setdefault(str(judge), {})[str(group)] = radius
        datasets = sorted({name for values in values_by_judge.values() for name in values})
        rows: list[list[Cell]] = [
            [judge, *(values.get(name) for name in datasets)] for judge, values in values_by_judge.items()
        ]
        note = Note("mllm-judge.drawings.radar", figure=word_note(metric))
        title = Note("mllm-judge.drawings.title.radar", kind=word_note(kind))
        hint = {"kind": "radar", "label": "judge", "axes": datasets} if len(datasets) > 2 else None
        yield Table(
            f"radar {kind}",
            title,
            table_columns("judge", *(data_column(name) for name in datasets)),
            rows,
            [note],
            {},
            hint,
        )


def score_density_table(record: Record) -> Table:
    """Return the share of each score by judge, including people (Figure 4, right)."""
    rows: list[list[Cell]] = []
    for judge in record.judges:
        marks = [
            (verdict.marks[0], verdict.item)
            for verdict in record.where(judge=judge)
            if verdict.marks is not None and verdict.ballot == "score:1-5"
        ]
        _, items = np.unique([item for _, item in marks] or [""], return_inverse=True)
        for score in range(1, 6) if marks else ():
            share = item_clustered_means_and_shares.share_estimate(
                np.array([float(mark == score) for mark, _ in marks]), items
            )
            rows.append([judge, score, share])
    title = Note("mllm-judge.drawings.title.scores")
    hint = {"kind": "densities", "x": "mark", "value": "share", "label": "judge"}
    return Table("score density", title, table_columns("judge", "mark", "share"), rows, (), {}, hint)


def _length_share_rows(lengths: Mapping[str, Sequence[int]]) -> list[list[Cell]]:
    all_lengths = [length for text_lengths in lengths.values() for length in text_lengths]
    if not all_lengths:
        return []
    longest = max(float(np.quantile(all_lengths, 0.99)), 1.0)
    width = longest / BINS
    rows: list[list[Cell]] = []
    # Sorted, because a run and its ledger hold verdicts and responses in different orders.
    for name, text_lengths in sorted(lengths.items()):
        counts = Counter(min(int(length / width), BINS - 1) for length in text_lengths)
        rows += [[name, (place + 0.5) * width, counts[place] / len(text_lengths)] for place in range(BINS)]
    return rows


def answer_length_table(record: Record) -> Table:
    """Return the distribution of answer lengths per contestant."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for response in record.responses.values():
        if response.text:
            lengths[response.contestant].append(length_of(response.text))
    title = Note("mllm-judge.drawings.title.answers")
    hint = {"kind": "densities", "x": "length in words", "value": "share", "label": "contestant"}
    columns = table_columns("contestant", "length in words", "share")
    return Table("answer lengths", title, columns, _length_share_rows(lengths), (), {}, hint)


def judgment_length_table(record: Record) -> Table:
    """Return the distribution of verdict text lengths per judge, for verdicts with a text."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for verdict in record:
        if verdict.judge != PEOPLE and verdict.text and verdict.fault is None:
            lengths[verdict.judge].append(length_of(verdict.text))
    title = Note("mllm-judge.drawings.title.judgments")
    hint = {"kind": "densities", "x": "length in words", "value": "share", "label": "judge"}
    columns = table_columns("judge", "length in words", "share")
    return Table("judgment lengths", title, columns, _length_share_rows(lengths), (), {}, hint)


def mean_score_by_length_table(record: Record, comparison: PeopleComparison) -> Table:
    """Return mean scores by answer length, for each judge and for people on the same answers (Figure 6)."""
    rows: list[list[Cell]] = []
    for judge in comparison.judges:
        marks: list[tuple[int, float, float]] = []
        for pairing in comparison.pairings(judge, "scores"):
            place = (pairing.verdict.item, *pairing.verdict.shown_responses[0])
            if place in record.responses:
                marks.append((length_of(record.responses[place].text), pairing.marks[0], pairing.other_marks[0]))
        if not marks:
            continue
        edges = np.unique(np.quantile([length for length, _, _ in marks], np.linspace(0, 1, 6)))
        for low, high in pairwise(edges):
            inside = [row for row in marks if low <= row[0] < high or row[0] == high == edges[-1]]
            if inside:
                middle = fmean(row[0] for row in inside)
                rows.append([judge, middle, fmean(row[1] for row in inside), len(inside)])
                rows.append([_people_label(judge), middle, fmean(row[2] for row in inside), len(inside)])
    title = Note("mllm-judge.drawings.title.by-length")
    hint = {"kind": "curves", "x": "length in words", "value": "mean mark", "label": "judge"}
    columns = table_columns("judge", "length in words", "mean mark", "n")
    return Table("scores by length", title, columns, rows, (), {}, hint)


def _people_label(judge: str) -> str:
    return Note("mllm-judge.drawings.people-beside", judge=judge)


def score_gap_table(comparison: PeopleComparison) -> Table:
    """Return each judge's mean score minus people's, per contestant."""
    rows: list[list[Cell]] = []
    for judge in comparison.judges:
        gaps: dict[str, list[tuple[float, str]]] = defaultdict(list)
        ballots = {pairing.verdict.ballot for pairing in comparison.pairings(judge, "scores")}
        scales = {*map(item_clustered_means_and_shares.scale_of, ballots)}
        within = item_clustered_means_and_shares.difference_scale(scales.pop()) if len(scales) == 1 else None
        for pairing in comparison.pairings(judge, "scores"):
            gaps[pairing.verdict.contestants[0]].append(
                (pairing.marks[0] - pairing.other_marks[0], pairing.verdict.item)
            )
        for contestant, contestant_gaps in sorted(gaps.items()):
            _, items = np.unique([item for _, item in contestant_gaps], return_inverse=True)
            rows.append(
                [
                    judge,
                    contestant,
                    item_clustered_means_and_shares.difference_estimate(
                        np.array([gap for gap, _ in contestant_gaps]), items, within
                    ),
                ]
            )
    counts = Counter(
        (verdict.judge, verdict.contestants[0])
        for verdict in comparison.record
        if verdict.fault is not None and verdict.text != WAITS and verdict_shape(verdict) == "scores"
    )
    title = Note("mllm-judge.drawings.title.bias-by-contestant")
    hint = {"kind": "heat", "row": "judge", "column": "contestant", "value": "difference"}
    table = Table("bias by contestant", title, table_columns("judge", "contestant", "difference"), rows, (), {}, hint)
    return with_unusable_column(table, counts, ("judge", "contestant"))
