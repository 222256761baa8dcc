"""Tables of the synthetic benchmark, as pure functions of a record.

They use its verdicts, its items (for tasks) and its responses (for lengths).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.boards.leaderboard import Settings, build_boards
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.language_and_words import length_of
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import FAULTS
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.agreement.two_raters import pearson_correlation
from fullbench.stats.bias.position_bias_and_latent_mark_regression import (
    clustered_mean,
    latent_marks,
    position_bias,
    swap_flips,
)
from fullbench.stats.intervals.share_intervals import share_estimate
from fullbench.synthetic.benchmark_judges_with_planted_faults import FAVOURITE, build_simulated_judges
from fullbench.synthetic.biased_judge import USUAL_LENGTH, SimulatedJudge

Rows = Iterable[tuple[float, str]]
"""Values and their items."""
SCALE, SHARE = (1, 5), (0, 1)


def tables(record: Record, seed: int) -> list[Table]:
    """Return all tables for a record of the synthetic benchmark."""
    source = {"benchmark": "synthetic", "seed": seed, "judges": record.judges, "contestants": record.contestants}
    judges_by_name = {judge.name: judge for judge in build_simulated_judges(seed)}
    findings = [
        finding
        for name, judge in judges_by_name.items()
        for finding in bias_findings(record.where(judge=name), judge, record)
    ]
    all_tables = [
        *_leaderboard_tables(record, seed),
        _means_table(record),
        _agreement_table(record, seed),
        _planted_table(findings),
        _unplanted_table(findings),
        _unusable_table(record, judges_by_name),
        _task_table(record),
    ]
    return [replace(table, source=source | dict(table.source)) for table in all_tables if table.rows]


def _leaderboard_tables(record: Record, seed: int) -> list[Table]:
    judge_names = [name for name in record.judges if name == TRUTH or name.startswith("accurate")]
    board_tables = []
    for name in sorted(judge_names, key=_truth_first):
        by_scores = build_boards(record.where(judge=name, ballot=SCORES), Settings(seed=seed))
        board_tables += [board.table(f"leaderboard {name}", family=True) for board in by_scores]
    return board_tables


def _means_table(record: Record) -> Table:
    score_record = record.where(ballot=SCORES, fault=None)
    means = {
        judge: _means_by_contestant(single_scores(judge_record), SCALE)
        for judge, judge_record in score_record.by("judge").items()
    }
    judges = sorted(means, key=_truth_first)
    ranked_names = _rank_contestants(score_record.contestants, means[judges[0]]) if judges else []
    cells_by_judge = {judge: [means[judge].get(name) for name in ranked_names] for judge in judges}
    return Table(
        "means",
        Note("synthetic.tables.title.mean-mark-that-each-judge"),
        table_columns("judge", *map(data_column, ranked_names), "n"),
        [
            [judge, *(cell and cell.value for cell in cells), sum(cell.n for cell in cells if cell)]
            for judge, cells in cells_by_judge.items()
        ],
        [Note("synthetic.tables.scores-of-1-to-5")],
        {"ballot": SCORES},
    )


def _truth_first(judge: str) -> tuple[bool, str]:
    return judge != TRUTH, judge


def _means_by_contestant(marks: Iterable[tuple[Key, float]], within: tuple[float, float]) -> dict[str, Estimate | None]:
    rows: dict[str, list[tuple[float, str]]] = {}
    for (item, contestant, _), mark in marks:
        rows.setdefault(contestant, []).append((mark, item))
    return {contestant: _mean_or_none(contestant_rows, within) for contestant, contestant_rows in rows.items()}


def _rank_contestants(contestants: Iterable[str], means: dict[str, Estimate | None]) -> list[str]:
    return sorted(contestants, key=lambda contestant: (-_cell_value(means.get(contestant), -math.inf), contestant))


def _task_table(record: Record) -> Table:
    score_record = record.where(ballot=SCORES, fault=None, judge=TRUTH)
    tasks = {
        task: _means_by_contestant(single_scores(task_record), SCALE)
        for task, task_record in score_record.by(lambda verdict: record.tag(verdict, "task")).items()
        if task
    }
    ranked_names = _rank_contestants(score_record.contestants, _means_by_contestant(single_scores(score_record), SCALE))
    return Table(
        "tasks",
        Note("synthetic.tables.title.mean-mark-of-each-contestant"),
        table_columns("contestant", *map(data_column, tasks)),
        [[name, *(means.get(name) for means in tasks.values())] for name in ranked_names] if tasks else [],
        [Note("synthetic.tables.scores-of-1-to-5-2")],
        {"judge": TRUTH, "ballot": SCORES},
    )


def _agreement_table(record: Record, seed: int) -> Table:
    true = true_marks(record)
    rows = [
        [
            judge,
            _mark_correlation(verdicts, true, seed),
            _mean_or_none(
                ((abs(mark - true[key]), key[0]) for key, mark in single_scores(verdicts) if key in true), (0, 4)
            ),
            _mean_or_none(_pair_hits(verdicts.where(ballot=PAIRS, fault=None), true, ties=True), SHARE),
            _mean_or_none(_pair_hits(verdicts.where(ballot=PAIRS, fault=None), true, ties=False), SHARE),
            _mean_or_none(_pair_hits(verdicts.where(ballot=RANKINGS, fault=None), true, ties=False), SHARE),
            _swap_flip_share(verdicts),
            len(verdicts),
            sum(verdict.fault is not None for verdict in verdicts),
        ]
        for judge, verdicts in record.by("judge").items()
        if judge != TRUTH
    ]
    columns = table_columns(
        "judge",
        "scores, r",
        "score error",
        "pairs right",
        "pairs, no ties",
        "rankings right",
        "swap flips",
        "verdicts",
        "unusable",
    )
    return Table(
        "agreement",
        Note("synthetic.tables.title.each-judge-against-the-truth"),
        columns,
        sorted(rows, key=lambda row: _cell_value(row[2])) if true else [],
        [
            Note("synthetic.tables.scores-r-pearson-s-correlation"),
            Note("synthetic.tables.pairs-share-ruled-as-the"),
            Note("synthetic.tables.swap-flips-share-of-pairs"),
            Note("synthetic.tables.unusable-are-left-out-of"),
        ],
        {"against": TRUTH},
        {"kind": "intervals", "label": "judge", "value": "pairs, no ties", "reference": 0.5},
    )


def _mark_correlation(judge_record: Record, true: dict[Key, float], seed: int) -> Estimate | None:
    rows = [(mark, true[key], key[0]) for key, mark in single_scores(judge_record) if key in true]
    marks, truth, items = ([row[place] for row in rows] for place in range(3))
    return compute_or_none(lambda: pearson_correlation(marks, truth, cluster=items, seed=seed))


def _planted_table(findings: Sequence[BiasFinding]) -> Table:
    planted_findings = [finding for finding in findings if finding.planted_value != finding.neutral]
    coverages = [interval_coverage(finding) for finding in planted_findings]
    return Table(
        "planted",
        Note("synthetic.tables.title.what-was-planted-in-each"),
        table_columns("judge", "what", "planted", "recovered", "inside", "unit"),
        [
            [finding.judge.name, finding.bias_name, finding.planted_value, finding.estimate, coverage, finding.unit]
            for finding, coverage in zip(planted_findings, coverages, strict=True)
        ],
        [
            Note(
                "synthetic.tables.of-planted-numbers-lie-inside", within=coverages.count("yes"), n=len(planted_findings)
            )
        ],
        {"favour looked for in": FAVOURITE},
        {"kind": "scatter", "x": "planted", "y": "recovered", "label": "what"},
    )


def _unplanted_table(findings: Sequence[BiasFinding]) -> Table:
    unbiased_findings = [finding for finding in findings if finding.planted_value == finding.neutral]
    rows: list[list[Cell]] = []
    for bias_name in dict.fromkeys(finding.bias_name for finding in unbiased_findings):
        kind_findings = [finding for finding in unbiased_findings if finding.bias_name == bias_name]
        flagged_judges = [finding.judge.name for finding in kind_findings if interval_coverage(finding) == "no"]
        rows.append([bias_name, len(kind_findings), len(flagged_judges), ", ".join(flagged_judges) or None])
    return Table(
        "unplanted",
        Note("synthetic.tables.title.biases-that-were-not-planted"),
        table_columns("what", "judges without it", "flagged", "which"),
        rows,
        [Note("synthetic.tables.flagged-the-95-interval-leaves")],
    )


def _unusable_table(record: Record, judges_by_name: dict[str, SimulatedJudge]) -> Table:
    rows: list[list[Cell]] = []
    for judge, counts in record.faults().items():
        judge_record = record.where(judge=judge)
        _, item = np.unique([verdict.item for verdict in judge_record], return_inverse=True)
        unusable_share = item_clustered_means_and_shares.share_estimate(
            np.array([float(verdict.fault is not None) for verdict in judge_record]), item
        )
        planted_share = judges_by_name[judge].biases.unusable_share if judge in judges_by_name else None
        rows.append([judge, counts["verdicts"], *(counts[fault] for fault in FAULTS), unusable_share, planted_share])
    return Table(
        "unusable",
        Note("synthetic.tables.title.verdicts-without-a-ruling"),
        table_columns("judge", "verdicts", *FAULTS, "share unusable", "planted"),
        rows,
        [Note("synthetic.tables.unusable-is-never-a-mark")],
        {},
        {"kind": "bars", "label": "judge", "value": "share unusable"},
    )


def _swap_flip_share(judge_record: Record) -> Estimate | None:
    forward, backward, items = swapped_pair_margins(judge_record)
    return compute_or_none(lambda: swap_flips(forward, backward, items))


def _pair_hits(judge_record: Record, true: dict[Key, float], *, ties: bool) -> Rows:
    """Yield the agreement with the truth (0, 0.5 or 1) for every two responses marked together.

    With `ties`, a tie is a verdict like any other. Without, pairs that the truth ties are left out and a judge's tie
    counts one half.
    """
    for match in judge_record.matches():
        first_mark = true.get((match.item, match.first, match.samples[0]))
        second_mark = true.get((match.item, match.second, match.samples[1]))
        if first_mark is None or second_mark is None:
            continue
        right = 0.5 if first_mark == second_mark else float(first_mark > second_mark)
        if ties:
            yield float(match.outcome == right), match.item
        elif right != 0.5:
            yield 1 - abs(match.outcome - right), match.item


def _mean_or_none(rows: Rows, within: tuple[float, float]) -> Estimate | None:
    pairs = list(rows)
    return compute_or_none(
        lambda: clustered_mean([value for value, _ in pairs], [item for _, item in pairs], within=within)
    )


def _cell_value(cell: Cell, otherwise: float = math.inf) -> float:
    return cell.value if isinstance(cell, Estimate) else otherwise


TRUTH = "truth"
SCORES, PAIRS, RANKINGS = "score:1-5", "choice+tie", "ranking"
Key = tuple[str, str, int]
"""Item, contestant and sample number."""
T = TypeVar("T")


class BiasFinding(NamedTuple):
    """A planted number, its estimate and unit; `neutral` is the value without bias, or None if there is none."""

    judge: SimulatedJudge
    bias_name: str
    planted_value: float
    estimate: Estimate | None
    unit: str
    neutral: float | None


def bias_findings(judge_record: Record, judge: SimulatedJudge, record: Record) -> Iterator[BiasFinding]:
    """Yield each number planted in a judge with its estimate from the verdicts."""
    if not len(judge_record):
        return
    biases = judge.biases
    effects = _estimate_effects(judge_record, true_marks(record))
    yield BiasFinding(
        judge, "picture use", judge.picture_use, effects.get("picture use"), "marks per mark of the truth", 1.0
    )
    yield BiasFinding(judge, "noise", judge.noise, effects.get("noise"), "marks", None)
    yield BiasFinding(judge, "leniency", biases.leniency, effects.get("leniency"), "marks", 0.0)
    yield BiasFinding(judge, "length", biases.length, effects.get("length"), "marks per doubling", 0.0)
    yield BiasFinding(judge, "ego", biases.ego, effects.get("ego"), "marks", 0.0)
    forward, backward, items = swapped_pair_margins(judge_record)
    position_estimate = compute_or_none(lambda: position_bias(forward, backward, items))
    yield BiasFinding(judge, "position", biases.position, position_estimate, "share judged by position", 0.0)
    is_unusable = [float(verdict.fault is not None) for verdict in judge_record]
    if biases.unusable_share:
        yield BiasFinding(
            judge,
            "unusable",
            biases.unusable_share,
            share_estimate(is_unusable, cluster=[verdict.item for verdict in judge_record]),
            "share of verdicts",
            0.0,
        )


def _estimate_effects(judge_record: Record, true: dict[Key, float]) -> dict[str, Estimate]:
    texts = {key: response.text for key, response in judge_record.responses.items()}
    rows = [(key, mark) for key, mark in single_scores(judge_record) if key in true and key in texts]
    if not rows:
        return {}
    # Same centring as in the formula of `SimulatedJudge`, so that estimates and planted numbers are comparable.
    regressors = {
        "picture use": [true[key] - 3 for key, _ in rows],
        "leniency": [1.0] * len(rows),
        "length": [math.log2(length_of(texts[key]) / USUAL_LENGTH) for key, _ in rows],
        "ego": [float(key[1] == FAVOURITE) for key, _ in rows],
    }
    items = [key[0] for key, _ in rows]
    return (
        compute_or_none(lambda: latent_marks([mark - 3 for _, mark in rows], regressors, items, low=-2, high=2)) or {}
    )


def swapped_pair_margins(judge_record: Record) -> tuple[list[float], list[float], list[str]]:
    """Return the margins of all pairs judged in both orders (see `position_bias`), and their items."""
    margins: dict[tuple[str, int, tuple[str, ...]], float] = {}
    for verdict in judge_record.where(ballot=PAIRS, fault=None):
        if verdict.marks is not None:
            margins[verdict.item, verdict.trial, verdict.contestants] = verdict.marks[0] - verdict.marks[1]
    paired_margins = [
        (margin, margins[item, trial, names[::-1]], item)
        for (item, trial, names), margin in margins.items()
        if names < names[::-1] and (item, trial, names[::-1]) in margins
    ]
    return (
        [forward for forward, _, _ in paired_margins],
        [backward for _, backward, _ in paired_margins],
        [item for _, _, item in paired_margins],
    )


def true_marks(record: Record) -> dict[Key, float]:
    """Return the truth's mark of 1 to 5 for each item and contestant."""
    return dict(single_scores(record.where(judge=TRUTH)))


def single_scores(record: Record) -> Iterator[tuple[Key, float]]:
    """Yield the scores of single responses."""
    for verdict in record.where(ballot=SCORES, fault=None):
        if verdict.marks is not None:
            yield (verdict.item, *verdict.shown_responses[0]), verdict.marks[0]


def compute_or_none(compute: Callable[[], T]) -> T | None:
    """Return a statistic, or None if it is undefined for these rows."""
    try:
        return compute()
    except Undefined:
        return None


def interval_coverage(finding: BiasFinding) -> str | None:
    """Return "yes" if the interval contains the planted number, "no" if not, None if there is no interval."""
    if finding.estimate is None or finding.estimate.why:
        return None
    return "yes" if finding.estimate.low <= finding.planted_value <= finding.estimate.high else "no"
