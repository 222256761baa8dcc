"""Six agreement metrics of a critic with people's scores, per split, and before and after training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from fullbench.analysis.agreement.judges_with_people import compare_with_people
from fullbench.analysis.item_clustered_means_and_shares import Gaps
from fullbench.core.ballot import Score, ballot
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Pairing, Record
from fullbench.errors import InputError
from fullbench.stats.agreement import two_raters as agree
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.intervals.bootstrap_and_jackknife import Statistic
from fullbench.stats.paired_comparison_and_test_corrections import paired_difference

Bands = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Scale:
    """Bands in which two scores count as equal: `fuzzy` is loose, `strict` follows the meaning of the scores."""

    fuzzy: Bands
    strict: Bands

    @property
    def ends(self) -> tuple[float, float]:
        """Least and greatest score."""
        return float(self.fuzzy[0][0]), float(self.fuzzy[-1][1])


SCALES: Mapping[tuple[int, int], Scale] = {
    (1, 10): Scale(
        ((1, 2), (3, 5), (6, 8), (9, 10)),
        ((1, 1), (2, 2), (3, 3), (4, 5), (6, 6), (7, 8), (9, 10)),
    ),
    (1, 5): Scale(
        ((1, 1), (2, 2), (3, 4), (5, 5)),
        ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5)),
    ),
}
"""Bands of the paper for 1 to 10. A score from 1 to 5 has the band of its double."""
SCALE = Score(1, 10)
"""Default scale: that of AlignMMBench's critic."""
METRIC_NAMES = ("e", "r", "ρ", "τ", "f", "s")


def scale_of(spec: str) -> Scale:
    """Return the bands of a ballot."""
    form = ballot(spec)
    scale = SCALES.get((form.low, form.high)) if isinstance(form, Score) else None
    if scale is None:
        supported_ballots = ", ".join(f"score:{low}-{high}" for low, high in SCALES)
        raise InputError(f"no score bands are defined for the ballot {spec}; known: {supported_ballots}")
    return scale


def critic_metrics(
    scores: Sequence[float],
    truth: Sequence[float],
    *,
    scale: Scale = SCALES[1, 10],
    cluster: Sequence[str] | None = None,
    seed: int = 0,
) -> Mapping[str, Callable[[], Estimate]]:
    """Return the metrics e, r, ρ, τ, f and s of two score columns, each computed when called.

    >>> found = critic_metrics([1, 5, 8, 9], [2, 5, 6, 10])
    >>> found["e"]().value, found["f"]().value, found["s"]().value
    (1.0, 1.0, 0.5)
    """
    options: agree.Options = {"cluster": cluster, "seed": seed}
    return {
        "e": partial(agree.absolute_error, scores, truth, scale=scale.ends, **options),
        "r": partial(agree.pearson_correlation, scores, truth, **options),
        "ρ": partial(agree.spearman_correlation, scores, truth, **options),
        "τ": partial(agree.kendall_correlation, scores, truth, **options),
        "f": partial(agree.band_accuracy, round_half_up(scores), round_half_up(truth), scale.fuzzy, **options),
        "s": partial(agree.band_accuracy, round_half_up(scores), round_half_up(truth), scale.strict, **options),
    }


def round_half_up(scores: Sequence[float]) -> list[int]:
    """Round scores to integers, halves upwards, because bands hold integers and means of votes do not.

    >>> round_half_up([8.5, 7.4, 3])
    [9, 7, 3]
    """
    return [math.floor(score + 0.5) for score in scores]


def pairings_by_split(
    record: Record, people: str = PEOPLE, *, spec: str = SCALE.spec
) -> dict[str, dict[str, list[Pairing]]]:
    """Return every judge's scores on one ballot paired with people's, by judge and split.
    `all` contains every split except training.
    """
    comparison = compare_with_people(record.where(ballot=spec), people)
    by_judge: dict[str, dict[str, list[Pairing]]] = {}
    for judge in comparison.judges:
        parts: dict[str, list[Pairing]] = {}
        for pairing in comparison.pairings(judge, "scores"):
            split = split_of(record, pairing)
            if split != "train":
                parts.setdefault("all", []).append(pairing)
            if split:
                parts.setdefault(split, []).append(pairing)
        if parts:
            by_judge[judge] = {name: parts[name] for name in ("internal", "external", "train", "all") if name in parts}
    return by_judge


def split_of(record: Record, pairing: Pairing) -> str:
    """Return the tag `split` of the response of a pairing, or an empty string."""
    response = record.responses.get((pairing.verdict.item, *pairing.verdict.shown_responses[0]))
    return "" if response is None else response.tags.get("split", "")


def critic_tables(record: Record, people: str = PEOPLE, *, spec: str = SCALE.spec, seed: int = 0) -> list[Table]:
    """Return a table of the six metrics of every judge on one ballot, per split."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge, parts in pairings_by_split(record, people, spec=spec).items():
        for split, pairs in parts.items():
            cells = [
                gaps.cell(f"{judge}, {split}, {name}", metric) for name, metric in _pairing_metrics(pairs, seed).items()
            ]
            rows.append([judge, split, *cells, len(pairs)])
    notes = [
        Note("score-agreement.beside-on-the-same-responses", people=people),
        Note("score-agreement.external-contestants-that-no-critic"),
        *gaps.notes,
    ]
    hint = {"kind": "intervals", "label": "judge", "value": "e", "group": "split"}
    title = Note("score-agreement.title.critics-beside", people=people)
    return [
        Table("critics", title, table_columns("judge", "split", *METRIC_NAMES, "n"), rows, notes, {"seed": seed}, hint)
    ]


def _pairing_metrics(pairs: Sequence[Pairing], seed: int) -> Mapping[str, Callable[[], Estimate]]:
    scores, truth = [pair.marks[0] for pair in pairs], [pair.other_marks[0] for pair in pairs]
    scale = scale_of(pairs[0].verdict.ballot)
    return critic_metrics(scores, truth, scale=scale, cluster=[pair.verdict.item for pair in pairs], seed=seed)


def before_after(
    record: Record, before: str, after: str, people: str = PEOPLE, *, spec: str = SCALE.spec, seed: int = 0
) -> Table:
    """Return the six metrics of two judges on the same responses, and the change between them."""
    by_judge = pairings_by_split(record, people, spec=spec)
    for judge in (before, after):
        if judge not in by_judge:
            raise InputError(f"no response has a score of both {judge!r} and {people!r}; judges: {', '.join(by_judge)}")
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for split in by_judge[before]:
        earlier = {_pairing_key(pair): pair for pair in by_judge[before][split]}
        both = [
            (earlier[_pairing_key(pair)], pair)
            for pair in by_judge[after].get(split, [])
            if _pairing_key(pair) in earlier
        ]
        if both:
            rows += _change_rows(split, both, gaps, seed)
    notes = [Note("score-agreement.splits-each-on-the-responses", n=len(rows) // len(METRIC_NAMES)), *gaps.notes]
    title = Note("score-agreement.title.from-to", before=before, after=after)
    return Table("before and after", title, table_columns("split", "metric", "before", "after", "change"), rows, notes)


def _pairing_key(pair: Pairing) -> tuple[str, tuple[str, int], str, int]:
    verdict = pair.verdict
    return verdict.item, verdict.shown_responses[0], verdict.criterion, verdict.trial


def _change_rows(split: str, both: Sequence[tuple[Pairing, Pairing]], gaps: Gaps, seed: int) -> list[list[Cell]]:
    befores, afters = [before for before, _ in both], [after for _, after in both]
    old, new = _pairing_metrics(befores, seed), _pairing_metrics(afters, seed)
    scale = scale_of(befores[0].verdict.ballot)
    ways: Mapping[str, tuple[Statistic, Bands | None]] = {
        "e": (statistics_for_bootstrap.absolute_error, None),
        "r": (statistics_for_bootstrap.weighted_pearson, None),
        "ρ": (statistics_for_bootstrap.weighted_spearman, None),
        "τ": (statistics_for_bootstrap.weighted_kendall, None),
        "f": (statistics_for_bootstrap.share_equal, scale.fuzzy),
        "s": (statistics_for_bootstrap.share_equal, scale.strict),
    }
    rows: list[list[Cell]] = []
    for name, (statistic, bands) in ways.items():
        columns = [[pair.marks[0] for pair in afters], [pair.marks[0] for pair in befores]]
        columns.append([pair.other_marks[0] for pair in befores])
        value_columns = (
            columns
            if bands is None
            else [agree.band_indices(round_half_up(column), bands).tolist() for column in columns]
        )
        items = [pair.verdict.item for pair in befores]
        change = partial(paired_difference, statistic, *value_columns, cluster=items, seed=seed)
        where = f"{split}, {name}"
        cells = [gaps.cell(where, metric) for metric in (old[name], new[name], change)]
        rows.append([split, name, *cells])
    return rows
