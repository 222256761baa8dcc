"""The court's tables. Pure: they need the record's verdicts, and its items and responses for tasks and lengths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.boards.leaderboard import Settings, boards
from fullbench.benchmarks.synthetic.planted_bias_recovery import (
    PAIRS,
    RANKINGS,
    SCORES,
    TRUTH,
    Found,
    Key,
    inside,
    marked,
    recovered,
    swaps,
    tried,
    true_marks,
)
from fullbench.core.column_labels import headings, named
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import FAULTS, Verdict
from fullbench.stats.agreement.two_raters import pearson
from fullbench.stats.bias.bias_estimators import clustered_mean, swap_flips
from fullbench.synthetic.biased_judge import SimulatedJudge
from fullbench.synthetic.planted_judges import FAVOURITE, simulated

Rows = Iterable[tuple[float, str]]
"""Values, each with the item it belongs to."""
SCALE, SHARE = (1, 5), (0, 1)


def tables(record: Record, seed: int) -> list[Table]:
    """All tables of the court for a record of its verdicts."""
    source = {"benchmark": "court", "seed": seed, "judges": record.judges, "contestants": record.contestants}
    planted = {judge.name: judge for judge in simulated(seed)}
    findings = [
        finding for name, judge in planted.items() for finding in recovered(record.where(judge=name), judge, record)
    ]
    all_tables = [
        *_leaderboards(record, seed),
        _means(record),
        _agreement(record, seed),
        _planted(findings),
        _unplanted(findings),
        _faults(record, planted),
        _by_task(record),
    ]
    return [replace(table, source=source | dict(table.source)) for table in all_tables if table.rows]


def _leaderboards(record: Record, seed: int) -> list[Table]:
    """The truth's leaderboard, and that of the judge that errs least, from single marks: what a user would see."""
    shown = [name for name in record.judges if name == TRUTH or name.startswith("accurate")]
    shown_tables = []
    for name in sorted(shown, key=_truth_first):
        by_scores = boards(record.where(judge=name, ballot=SCORES), Settings(seed=seed))
        shown_tables += [board.table(f"leaderboard {name}", family=True) for board in by_scores]
    return shown_tables


def _means(record: Record) -> Table:
    """What each judge makes of the contestants: the marks of different judges are never mixed."""
    scored = record.where(ballot=SCORES, fault=None)
    means = {judge: _by_contestant(marked(own), SCALE) for judge, own in scored.by("judge").items()}
    judges = sorted(means, key=_truth_first)
    ranked = _ranked(scored.contestants, means[judges[0]]) if judges else []
    cells_by_judge = {judge: [means[judge].get(name) for name in ranked] for judge in judges}
    return Table(
        "means",
        Note("court.tables.title.mean-mark-that-each-judge", "Mean mark that each judge gives to each contestant"),
        headings("judge", *map(named, ranked), "n"),
        [
            [judge, *(cell and cell.value for cell in cells), sum(cell.n for cell in cells if cell)]
            for judge, cells in cells_by_judge.items()
        ],
        [
            Note(
                "court.tables.scores-of-1-to-5",
                "Scores of 1 to 5 given to single responses. Each row is a leaderboard of its own, beside the truth's.",
            )
        ],
        {"ballot": SCORES},
    )


def _truth_first(judge: str) -> tuple[bool, str]:
    return judge != TRUTH, judge


def _by_contestant(marks: Iterable[tuple[Key, float]], within: tuple[float, float]) -> dict[str, Estimate | None]:
    rows: dict[str, list[tuple[float, str]]] = {}
    for (item, contestant, _), mark in marks:
        rows.setdefault(contestant, []).append((mark, item))
    return {contestant: _mean(those, within) for contestant, those in rows.items()}


def _ranked(contestants: Iterable[str], means: dict[str, Estimate | None]) -> list[str]:
    """The best first; whoever has no mean comes last."""
    return sorted(contestants, key=lambda contestant: (-_value(means.get(contestant), -math.inf), contestant))


def _by_task(record: Record) -> Table:
    """What each contestant can do, by the truth."""
    scored = record.where(ballot=SCORES, fault=None, judge=TRUTH)
    tasks = {task: _by_contestant(marked(own), SCALE) for task, own in scored.by(_task(record)).items() if task}
    ranked = _ranked(scored.contestants, _by_contestant(marked(scored), SCALE))
    return Table(
        "tasks",
        Note("court.tables.title.mean-mark-of-each-contestant", "Mean mark of each contestant by task, by the truth"),
        headings("contestant", *map(named, tasks)),
        [[name, *(means.get(name) for means in tasks.values())] for name in ranked] if tasks else [],
        [Note("court.tables.scores-of-1-to-5-2", "Scores of 1 to 5 that the truth gives.")],
        {"judge": TRUTH, "ballot": SCORES},
    )


def _task(record: Record) -> Callable[[Verdict], object]:
    return lambda verdict: record.tag(verdict, "task")


def _agreement(record: Record, seed: int) -> Table:
    """Each judge against the truth: marks, pairs, rankings."""
    true = true_marks(record)
    rows = [
        [
            judge,
            _correlation(verdicts, true, seed),
            _mean(((abs(mark - true[key]), key[0]) for key, mark in marked(verdicts) if key in true), (0, 4)),
            _mean(_decided(verdicts.where(ballot=PAIRS, fault=None), true, ties=True), SHARE),
            _mean(_decided(verdicts.where(ballot=PAIRS, fault=None), true, ties=False), SHARE),
            _mean(_decided(verdicts.where(ballot=RANKINGS, fault=None), true, ties=False), SHARE),
            _flips(verdicts),
            len(verdicts),
            sum(verdict.fault is not None for verdict in verdicts),
        ]
        for judge, verdicts in record.by("judge").items()
        if judge != TRUTH
    ]
    columns = headings(
        "judge",
        "scores, r",
        "score error",
        "pairs right",
        "pairs, no ties",
        "rankings right",
        "swap flips",
        "verdicts",
        "faults",
    )
    return Table(
        "agreement",
        Note("court.tables.title.each-judge-against-the-truth", "Each judge against the truth"),
        columns,
        sorted(rows, key=lambda row: _value(row[2])) if true else [],
        [
            Note(
                "court.tables.scores-r-pearson-s-correlation",
                "Scores, r: Pearson's correlation with the truth's marks of 1 to 5. Score error: mean distance from "
                "them.",
            ),
            Note(
                "court.tables.pairs-share-ruled-as-the",
                "Pairs: share ruled as the truth does, a tie being a ruling of its own. No ties: only pairs of "
                "different quality, a judge's tie counting one half; rankings likewise, over the pairs within them.",
            ),
            Note(
                "court.tables.swap-flips-share-of-pairs",
                "Swap flips: share of pairs whose ruling changed with the order shown.",
            ),
            Note(
                "court.tables.faults-are-left-out-of",
                "Faults are left out of the figures before them and counted at the end.",
            ),
        ],
        {"against": TRUTH},
        {"kind": "intervals", "label": "judge", "value": "pairs, no ties", "reference": 0.5},
    )


def _correlation(own: Record, true: dict[Key, float], seed: int) -> Estimate | None:
    rows = [(mark, true[key], key[0]) for key, mark in marked(own) if key in true]
    marks, truth, items = ([row[place] for row in rows] for place in range(3))
    return tried(lambda: pearson(marks, truth, cluster=items, seed=seed))


def _planted(findings: Sequence[Found]) -> Table:
    shown = [finding for finding in findings if finding.planted != finding.neutral]
    within = [inside(finding) for finding in shown]
    return Table(
        "planted",
        Note(
            "court.tables.title.what-was-planted-in-each",
            "What was planted in each judge, and what the statistics recovered",
        ),
        headings("judge", "what", "planted", "recovered", "inside", "unit"),
        [
            [finding.judge.name, finding.what, finding.planted, finding.recovered, held, finding.unit]
            for finding, held in zip(shown, within, strict=True)
        ],
        [
            Note(
                "court.tables.of-planted-numbers-lie-inside",
                "{within} of {n} planted numbers lie inside their 95% interval; about one in twenty should not.",
                within=within.count("yes"),
                n=len(shown),
            )
        ],
        {"favour looked for in": FAVOURITE},
        {"kind": "scatter", "x": "planted", "y": "recovered", "label": "what"},
    )


def _unplanted(findings: Sequence[Found]) -> Table:
    clean = [finding for finding in findings if finding.planted == finding.neutral]
    rows: list[list[Cell]] = []
    for what in dict.fromkeys(finding.what for finding in clean):
        those = [finding for finding in clean if finding.what == what]
        flagged = [finding.judge.name for finding in those if inside(finding) == "no"]
        rows.append([what, len(those), len(flagged), ", ".join(flagged) or None])
    return Table(
        "unplanted",
        Note(
            "court.tables.title.biases-that-were-not-planted",
            "Biases that were not planted: how many judges are flagged all the same",
        ),
        headings("what", "judges without it", "flagged", "which"),
        rows,
        [
            Note(
                "court.tables.flagged-the-95-interval-leaves",
                "Flagged: the 95% interval leaves out the value of an unbiased judge. About one in twenty is so by "
                "chance.",
            )
        ],
    )


def _faults(record: Record, planted: dict[str, SimulatedJudge]) -> Table:
    rows: list[list[Cell]] = []
    for judge, counts in record.faults().items():
        own = record.where(judge=judge)
        _, item = np.unique([verdict.item for verdict in own], return_inverse=True)
        lost = estimate_cells.share(np.array([float(verdict.fault is not None) for verdict in own]), item)
        share = planted[judge].planted.faults if judge in planted else None
        rows.append([judge, counts["verdicts"], *(counts[fault] for fault in FAULTS), lost, share])
    return Table(
        "faults",
        Note("court.tables.title.verdicts-without-a-ruling", "Verdicts without a ruling"),
        headings("judge", "verdicts", *FAULTS, "share of faults", "planted"),
        rows,
        [
            Note(
                "court.tables.a-fault-is-never-a",
                "A fault is never a mark: it is left out of every mean and counted here.",
            )
        ],
        {},
        {"kind": "bars", "label": "judge", "value": "share"},
    )


def _flips(own: Record) -> Estimate | None:
    forward, swapped, items = swaps(own)
    return tried(lambda: swap_flips(forward, swapped, items))


def _decided(own: Record, true: dict[Key, float], *, ties: bool) -> Rows:
    """For every two responses marked together, how far the judge ruled as the truth: 1, 0, or one half for a tie.

    With `ties`, a tie is a ruling like any other; without, pairs that the truth ties are left out.
    """
    for duel in own.duels():
        first_mark = true.get((duel.item, duel.first, duel.samples[0]))
        second_mark = true.get((duel.item, duel.second, duel.samples[1]))
        if first_mark is None or second_mark is None:
            continue
        right = 0.5 if first_mark == second_mark else float(first_mark > second_mark)
        if ties:
            yield float(duel.outcome == right), duel.item
        elif right != 0.5:
            yield 1 - abs(duel.outcome - right), duel.item


def _mean(rows: Rows, within: tuple[float, float]) -> Estimate | None:
    pairs = list(rows)
    return tried(lambda: clustered_mean([value for value, _ in pairs], [item for _, item in pairs], within=within))


def _value(cell: Cell, otherwise: float = math.inf) -> float:
    return cell.value if isinstance(cell, Estimate) else otherwise
