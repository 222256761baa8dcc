"""Is the critic any good? Six figures beside people's scores, in splits, and before against after training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from fullbench.analysis.agreement.judges_with_people import meet
from fullbench.analysis.estimate_cells import Gaps
from fullbench.core.ballot import Score, ballot
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.record import Pairing, Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.stats.agreement import two_raters as agree
from fullbench.stats.intervals import weighted_statistics
from fullbench.stats.intervals.bootstrap import Statistic
from fullbench.stats.paired_comparison_of_judges import paired_difference

Bands = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Scale:
    """The bands in which two scores count as the same, loosely (`fuzzy`) and by what the scores mean (`strict`)."""

    fuzzy: Bands
    strict: Bands


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
"""The paper's bands from 1 to 10, and those into which a score from 1 to 5 falls when it is doubled."""
SCALE = Score(1, 10)
"""The scale where none is named: that of AlignMMBench's critic."""
FIGURES = ("e", "r", "ρ", "τ", "f", "s")


def scale_of(spec: str) -> Scale:
    """The bands of a ballot."""
    form = ballot(spec)
    scale = SCALES.get((form.low, form.high)) if isinstance(form, Score) else None
    if scale is None:
        known = ", ".join(f"score:{low}-{high}" for low, high in SCALES)
        raise InputError(f"no bands are known for the ballot {spec}; known: {known}")
    return scale


def figures(
    scores: Sequence[float],
    truth: Sequence[float],
    *,
    scale: Scale = SCALES[1, 10],
    cluster: Sequence[str] | None = None,
    seed: int = 0,
) -> Mapping[str, Callable[[], Estimate]]:
    """The six figures of two columns of scores, each computed when called: e, r, ρ, τ, f, s.

    >>> found = figures([1, 5, 8, 9], [2, 5, 6, 10])
    >>> found["e"]().value, found["f"]().value, found["s"]().value
    (1.0, 1.0, 0.5)
    """
    options: agree.Options = {"cluster": cluster, "seed": seed}
    return {
        "e": partial(agree.absolute_error, scores, truth, **options),
        "r": partial(agree.pearson, scores, truth, **options),
        "ρ": partial(agree.spearman, scores, truth, **options),
        "τ": partial(agree.kendall, scores, truth, **options),
        "f": partial(agree.band_accuracy, whole(scores), whole(truth), scale.fuzzy, **options),
        "s": partial(agree.band_accuracy, whole(scores), whole(truth), scale.strict, **options),
    }


def whole(scores: Sequence[float]) -> list[int]:
    """Scores as bands know them: the mean of several people's is rounded, a half upwards.

    >>> whole([8.5, 7.4, 3])
    [9, 7, 3]
    """
    return [math.floor(score + 0.5) for score in scores]


def pairings(record: Record, people: str = PEOPLE, *, spec: str = SCALE.spec) -> dict[str, dict[str, list[Pairing]]]:
    """Every judge's scores on one ballot beside people's, by judge and split.

    `all` has those of every split but training.
    """
    meetings = meet(record.where(ballot=spec), people)
    by_judge: dict[str, dict[str, list[Pairing]]] = {}
    for judge in meetings.judges:
        parts: dict[str, list[Pairing]] = {}
        for pairing in meetings.of(judge, "scores"):
            split = split_of(record, pairing)
            if split != "train":
                parts.setdefault("all", []).append(pairing)
            if split:
                parts.setdefault(split, []).append(pairing)
        if parts:
            by_judge[judge] = {name: parts[name] for name in ("internal", "external", "train", "all") if name in parts}
    return by_judge


def split_of(record: Record, pairing: Pairing) -> str:
    """The split of the response that a pairing is about: its tag `split`, else nothing."""
    response = record.responses.get((pairing.verdict.item, *pairing.verdict.shown[0]))
    return "" if response is None else response.tags.get("split", "")


def tables(record: Record, people: str = PEOPLE, *, spec: str = SCALE.spec, seed: int = 0) -> list[Table]:
    """The six figures of every judge on one ballot, in each split."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge, parts in pairings(record, people, spec=spec).items():
        for split, pairs in parts.items():
            cells = [gaps.cell(f"{judge}, {split}, {name}", figure) for name, figure in _of(pairs, seed).items()]
            rows.append([judge, split, *cells, len(pairs)])
    notes = [
        Note(
            "score-agreement.beside-on-the-same-responses",
            "Beside {people} on the same responses; items are resampled. e: mean absolute error; r, ρ, τ: Pearson, "
            "Spearman, Kendall; f: in the same of [1,2] [3,5] [6,8] [9,10]; s: in the same of [1] [2] [3] [4,5] [6] "
            "[7,8] [9,10]. A score from 1 to 5 is doubled to find its band.",
            people=people,
        ),
        Note(
            "score-agreement.external-contestants-that-no-critic",
            "External: contestants that no critic was trained on. Internal: a tenth of the rest of each category. "
            "`all` leaves out what was trained on.",
        ),
        *gaps.notes,
    ]
    hint = {"kind": "intervals", "label": "judge", "value": "e", "group": "split"}
    title = Note("score-agreement.title.critics-beside", "Critics beside {people}", people=people)
    return [Table("critics", title, headings("judge", "split", *FIGURES, "n"), rows, notes, {"seed": seed}, hint)]


def _of(pairs: Sequence[Pairing], seed: int) -> Mapping[str, Callable[[], Estimate]]:
    scores, truth = [pair.marks[0] for pair in pairs], [pair.other[0] for pair in pairs]
    scale = scale_of(pairs[0].verdict.ballot)
    return figures(scores, truth, scale=scale, cluster=[pair.verdict.item for pair in pairs], seed=seed)


def before_after(
    record: Record, before: str, after: str, people: str = PEOPLE, *, spec: str = SCALE.spec, seed: int = 0
) -> Table:
    """The six figures of two judges on the same responses, and what changed from one to the other."""
    by_judge = pairings(record, people, spec=spec)
    for judge in (before, after):
        if judge not in by_judge:
            raise InputError(f"no score of {judge!r} stands beside one of {people!r}; judges: {', '.join(by_judge)}")
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for split in by_judge[before]:
        earlier = {_place(pair): pair for pair in by_judge[before][split]}
        both = [(earlier[_place(pair)], pair) for pair in by_judge[after].get(split, []) if _place(pair) in earlier]
        if both:
            rows += _changes(split, both, gaps, seed)
    notes = [
        Note(
            "score-agreement.splits-each-on-the-responses",
            "{n} splits, each on the responses that both scored.",
            n=len(rows) // len(FIGURES),
        ),
        *gaps.notes,
    ]
    title = Note("score-agreement.title.from-to", "From {before} to {after}", before=before, after=after)
    return Table("before and after", title, headings("split", "figure", "before", "after", "change"), rows, notes)


def _place(pair: Pairing) -> tuple[str, tuple[str, int], str, int]:
    verdict = pair.verdict
    return verdict.item, verdict.shown[0], verdict.criterion, verdict.trial


def _changes(split: str, both: Sequence[tuple[Pairing, Pairing]], gaps: Gaps, seed: int) -> list[list[Cell]]:
    befores, afters = [before for before, _ in both], [after for _, after in both]
    old, new = _of(befores, seed), _of(afters, seed)
    scale = scale_of(befores[0].verdict.ballot)
    ways: Mapping[str, tuple[Statistic, Bands | None]] = {
        "e": (weighted_statistics.absolute_error, None),
        "r": (weighted_statistics.pearson, None),
        "ρ": (weighted_statistics.spearman, None),
        "τ": (weighted_statistics.kendall, None),
        "f": (weighted_statistics.share_equal, scale.fuzzy),
        "s": (weighted_statistics.share_equal, scale.strict),
    }
    rows: list[list[Cell]] = []
    for name, (statistic, bands) in ways.items():
        columns = [[pair.marks[0] for pair in afters], [pair.marks[0] for pair in befores]]
        columns.append([pair.other[0] for pair in befores])
        placed = columns if bands is None else [agree.bands(whole(column), bands).tolist() for column in columns]
        items = [pair.verdict.item for pair in befores]
        change = partial(paired_difference, statistic, *placed, cluster=items, seed=seed)
        where = f"{split}, {name}"
        cells = [gaps.cell(where, figure) for figure in (old[name], new[name], change)]
        rows.append([split, name, *cells])
    return rows
