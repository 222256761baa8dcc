"""The court's tables. Pure: they need the record's verdicts, and its items and responses for tasks and lengths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from fullbench.benchmarks.court.bench import FAVOURITE, simulated
from fullbench.core.cases import FAULTS, Verdict
from fullbench.core.record import Record
from fullbench.core.results import Cell, Table
from fullbench.judges.rules import length_of
from fullbench.judges.simulated import USUAL_LENGTH, SimulatedJudge
from fullbench.stats.bias import clustered_mean, fault_rate, latent_marks, position_bias, swap_flips
from fullbench.stats.estimates import Estimate

TRUTH = "truth"
SCORES, PAIRS, RANKINGS = "score:1-5", "choice+tie", "ranking"
Rows = list[tuple[float, str]]
"""Values, each with the item it belongs to."""
Key = tuple[str, str]
T = TypeVar("T")


class Found(NamedTuple):
    """One planted number, what was recovered of it, and in which unit both are.

    `neutral` is the value that stands for no bias; None where there is no such value.
    """

    judge: SimulatedJudge
    what: str
    planted: float
    recovered: Estimate | None
    unit: str
    neutral: float | None


def tables(record: Record, seed: int, size: int) -> list[Table]:
    """All tables of the court for a record of its verdicts."""
    source = {
        "benchmark": "court",
        "seed": seed,
        "size": size,
        "judges": record.judges,
        "contestants": record.contestants,
    }
    planted = {judge.name: judge for judge in simulated(seed, size)}
    found = [one for name, judge in planted.items() for one in _recovered(record.where(judge=name), judge, record)]
    made = [
        _leaderboard(record),
        _by_task(record),
        _agreement(record),
        _planted(found),
        _unplanted(found),
        _faults(record, planted),
    ]
    return [
        Table(t.name, t.title, t.columns, t.rows, t.notes, source | dict(t.source), t.chart) for t in made if t.rows
    ]


def _leaderboard(record: Record) -> Table:
    """One leaderboard for each judge, side by side: the marks of different judges are never mixed."""
    scored = record.where(ballot=SCORES, fault=None)
    judges = _truth_first(scored.judges)
    means = {
        (judge, name): _mean(_single(verdicts.where(contestant=name)))
        for judge, verdicts in scored.by("judge").items()
        for name in scored.contestants
    }
    ranked = sorted(scored.contestants, key=lambda name: -_value(means.get((judges[0], name)))) if judges else []
    return Table(
        "leaderboard",
        "Mean mark of each contestant, one leaderboard for each judge",
        ["contestant", *judges],
        [[name, *(means.get((judge, name)) for judge in judges)] for name in ranked],
        [
            "Scores of 1 to 5 given to single responses; intervals are clustered by item.",
            f"Sorted by {judges[0] if judges else TRUTH!r}. Each column is a leaderboard of its own.",
        ],
        {"ballot": SCORES},
    )


def _by_task(record: Record) -> Table:
    """What each contestant can do, by the truth."""
    scored = record.where(ballot=SCORES, fault=None, judge=TRUTH)
    tasks = sorted({record.tag(verdict, "task") for verdict in scored} - {""})
    rows: list[list[Cell]] = [
        [name, *(_mean(_single(scored.where(_tagged(record, task), contestant=name))) for task in tasks)]
        for name in scored.contestants
    ]
    return Table(
        "tasks",
        "Mean mark of each contestant by task, by the truth",
        ["contestant", *tasks],
        rows if tasks else [],
        ["Scores of 1 to 5 that the truth gives."],
        {"judge": TRUTH, "ballot": SCORES},
    )


def _tagged(record: Record, task: str) -> Callable[[Verdict], bool]:
    return lambda verdict: record.tag(verdict, "task") == task


def _agreement(record: Record) -> Table:
    """Each judge against the truth: marks, pairs, rankings."""
    true = _true_marks(record)
    rows = [
        [
            judge,
            _mean((abs(mark - true[key]), key[0]) for key, mark in _marked(verdicts) if key in true),
            _mean(_decided(verdicts.where(ballot=PAIRS, fault=None), true, ties=True)),
            _mean(_decided(verdicts.where(ballot=PAIRS, fault=None), true, ties=False)),
            _mean(_decided(verdicts.where(ballot=RANKINGS, fault=None), true, ties=False)),
            _flips(verdicts),
            len(verdicts),
            sum(verdict.fault is not None for verdict in verdicts),
        ]
        for judge, verdicts in record.by("judge").items()
        if judge != TRUTH
    ]
    columns = ["judge", "score error", "pairs", "pairs, no ties", "rankings", "swap flips", "verdicts", "faults"]
    return Table(
        "agreement",
        "Each judge against the truth",
        columns,
        sorted(rows, key=lambda row: _value(row[1])) if true else [],
        [
            "Score error: mean distance from the truth's mark of 1 to 5.",
            "Pairs: share ruled as the truth does, a tie being a ruling of its own. No ties: only pairs of different "
            "quality, a judge's tie counting one half; rankings likewise, over the pairs within them.",
            "Swap flips: share of pairs whose ruling changed with the order shown.",
            "Faults are left out of the figures before them and counted at the end.",
        ],
        {"against": TRUTH},
    )


def _planted(found: Sequence[Found]) -> Table:
    shown = [one for one in found if one.planted != one.neutral]
    inside = [_inside(one) for one in shown]
    return Table(
        "planted",
        "What was planted in each judge, and what the statistics recovered",
        ["judge", "what", "planted", "recovered", "inside", "unit"],
        [
            [one.judge.name, one.what, one.planted, one.recovered, within, one.unit]
            for one, within in zip(shown, inside, strict=True)
        ],
        [
            f"{inside.count('yes')} of {len(shown)} planted numbers lie inside their 95% interval; "
            "about one in twenty should not."
        ],
        {"favour looked for in": FAVOURITE},
        {"kind": "scatter", "x": "planted", "y": "recovered", "label": "judge"},
    )


def _unplanted(found: Sequence[Found]) -> Table:
    clean = [one for one in found if one.planted == one.neutral]
    rows: list[list[Cell]] = []
    for what in dict.fromkeys(one.what for one in clean):
        those = [one for one in clean if one.what == what]
        flagged = [one.judge.name for one in those if _inside(one) == "no"]
        rows.append([what, len(those), len(flagged), ", ".join(flagged) or None])
    return Table(
        "unplanted",
        "Biases that were not planted: how many judges are flagged all the same",
        ["what", "judges without it", "flagged", "which"],
        rows,
        ["Flagged: the 95% interval leaves out the value of an unbiased judge. About one in twenty is so by chance."],
    )


def _faults(record: Record, planted: dict[str, SimulatedJudge]) -> Table:
    rows: list[list[Cell]] = []
    for judge, counts in record.faults().items():
        total = sum(counts[fault] for fault in FAULTS)
        share = planted[judge].planted.faults if judge in planted else None
        rows.append(
            [judge, counts["verdicts"], *(counts[f] for f in FAULTS), fault_rate(total, counts["verdicts"]), share]
        )
    return Table(
        "faults",
        "Verdicts without a ruling",
        ["judge", "verdicts", *FAULTS, "share", "planted"],
        rows,
        ["A fault is never a mark: it is left out of every mean and counted here."],
    )


def _recovered(own: Record, judge: SimulatedJudge, record: Record) -> Iterator[Found]:
    """Everything that was planted in a judge, beside what its verdicts show of it."""
    if not len(own):
        return
    planted = judge.planted
    effects = _effects(own, _true_marks(record))
    yield Found(judge, "sight", judge.sight, effects.get("sight"), "marks per mark of the truth", 1.0)
    yield Found(judge, "noise", judge.noise, effects.get("noise"), "marks", None)
    yield Found(judge, "leniency", planted.leniency, effects.get("leniency"), "marks", 0.0)
    yield Found(judge, "length", planted.length, effects.get("length"), "marks per doubling", 0.0)
    yield Found(judge, "ego", planted.ego, effects.get("ego"), "marks", 0.0)
    one, other, items = _swaps(own)
    lean = _tried(lambda: position_bias(one, other, items))
    yield Found(judge, "position", planted.position, lean, "share ruled by place", 0.0)
    faults = sum(verdict.fault is not None for verdict in own)
    if planted.faults:
        yield Found(judge, "faults", planted.faults, fault_rate(faults, len(own)), "share of verdicts", 0.0)


def _effects(own: Record, true: dict[Key, float]) -> dict[str, Estimate]:
    """Sight, leniency, length, ego and noise of a judge, from its scores of single responses."""
    texts = {key: response.text for key, response in own.responses.items()}
    rows = [(key, mark) for key, mark in _marked(own) if key in true and key in texts]
    if not rows:
        return {}
    regressors = {
        "sight": [true[key] - 3 for key, _ in rows],
        "leniency": [1.0] * len(rows),
        "length": [math.log2(length_of(texts[key]) / USUAL_LENGTH) for key, _ in rows],
        "ego": [float(key[1] == FAVOURITE) for key, _ in rows],
    }
    items = [key[0] for key, _ in rows]
    return _tried(lambda: latent_marks([mark - 3 for _, mark in rows], regressors, items, low=-2, high=2)) or {}


def _swaps(own: Record) -> tuple[list[float], list[float], list[str]]:
    """The leans of all pairs heard in both orders (see `position_bias`), and their items."""
    leans: dict[tuple[str, int, tuple[str, ...]], float] = {}
    for verdict in own.where(ballot=PAIRS, fault=None):
        if verdict.marks is not None:
            leans[verdict.item, verdict.trial, verdict.contestants] = verdict.marks[0] - verdict.marks[1]
    both = [
        (lean, leans[item, trial, names[::-1]], item)
        for (item, trial, names), lean in leans.items()
        if names < names[::-1] and (item, trial, names[::-1]) in leans
    ]
    return [one for one, _, _ in both], [other for _, other, _ in both], [item for _, _, item in both]


def _flips(own: Record) -> Estimate | None:
    one, other, items = _swaps(own)
    return _tried(lambda: swap_flips(one, other, items))


def _decided(own: Record, true: dict[Key, float], *, ties: bool) -> Iterator[tuple[float, str]]:
    """For every two responses marked together, how far the judge ruled as the truth: 1, 0, or one half for a tie.

    With `ties`, a tie is a ruling like any other; without, pairs that the truth ties are left out.
    """
    for duel in own.duels():
        one, two = true.get((duel.item, duel.first)), true.get((duel.item, duel.second))
        if one is None or two is None:
            continue
        right = 0.5 if one == two else float(one > two)
        if ties:
            yield float(duel.outcome == right), duel.item
        elif right != 0.5:
            yield 1 - abs(duel.outcome - right), duel.item


def _true_marks(record: Record) -> dict[Key, float]:
    """The truth's mark of 1 to 5 for each item and contestant."""
    return dict(_marked(record.where(judge=TRUTH)))


def _marked(record: Record) -> Iterator[tuple[Key, float]]:
    for verdict in record.where(ballot=SCORES, fault=None):
        if verdict.marks is not None:
            yield (verdict.item, verdict.contestants[0]), verdict.marks[0]


def _single(record: Record) -> Rows:
    return [(mark, item) for (item, _), mark in _marked(record)]


def _mean(rows: Iterable[tuple[float, str]]) -> Estimate | None:
    pairs = list(rows)
    return _tried(lambda: clustered_mean([value for value, _ in pairs], [item for _, item in pairs]))


def _tried(compute: Callable[[], T]) -> T | None:
    """What a statistic gives, or None where it is not defined for so few rows."""
    try:
        return compute()
    except ValueError:
        return None


def _inside(found: Found) -> str | None:
    if found.recovered is None:
        return None
    return "yes" if found.recovered.low <= found.planted <= found.recovered.high else "no"


def _truth_first(judges: Sequence[str]) -> list[str]:
    return sorted(judges, key=lambda judge: (judge != TRUTH, judge))


def _value(cell: Cell | Estimate) -> float:
    return cell.value if isinstance(cell, Estimate) else math.inf
