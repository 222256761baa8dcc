"""The figures that the released cells are made of, each computed once and kept with its interval.

Numbers are rounded as published figures are (six decimals, four digits for a p-value), so that a file of cells can be
compared with another one digit by digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.errors import Undefined
from fullbench.stats.agreement import two_raters as agree
from fullbench.stats.agreement.ranking_agreement import edit_distance, mean_edit_distance
from fullbench.stats.intervals import weighted_statistics
from fullbench.stats.intervals.bootstrap import Statistic
from fullbench.stats.intervals.share_intervals import wilson

Figures = dict[str, Any]


def rounded(value: float) -> float:
    """Six decimals."""
    return round(value, 6)


def significant(value: float, digits: int = 4) -> float:
    """A number with so many digits.

    >>> significant(8.70123e-36)
    8.701e-36
    """
    return float(f"{value:.{digits}g}")


def average(values: Sequence[float]) -> float | None:
    """The mean, rounded; None of nothing.

    >>> average([1, 2]), average([])
    (1.5, None)
    """
    return rounded(fmean(values)) if values else None


def plain(statistic: Statistic, *columns: Sequence[float]) -> float:
    """A statistic of some columns, without an interval.

    >>> plain(weighted_statistics.absolute_error, [1, 2], [1, 4])
    1.0
    """
    arrays = [np.asarray(column, dtype=np.float64) for column in columns]
    return float(statistic(np.ones((1, len(arrays[0]))), *arrays)[0])


def correlated(judge: Sequence[float], human: Sequence[float]) -> tuple[Figures, Estimate | None]:
    """How scores go with people's: Pearson (and its p), Spearman, mean absolute error."""
    figures: Figures = {"n": len(judge), "pearson": None, "p_value": None, "spearman": None}
    figures["mae"] = rounded(fmean(abs(mark - label) for mark, label in zip(judge, human, strict=True)))
    try:
        r = agree.pearson(judge, human)
    except Undefined:
        return figures, None
    rho = plain(weighted_statistics.spearman, judge, human)
    figures |= {"pearson": rounded(r.value), "p_value": significant(r.p or 0.0), "spearman": rounded(rho)}
    return figures, r


def scored(judge: Sequence[int], human: Sequence[int]) -> tuple[Figures, Estimate | None]:
    """The figures that the third-party study gives: correlations, exact and near hits, error, mean shift."""
    figures, r = correlated(judge, human)
    gaps = [mark - label for mark, label in zip(judge, human, strict=True)]
    n = len(gaps)
    return {
        "n": n,
        "pearson": figures["pearson"],
        "spearman": figures["spearman"],
        "exact": rounded(sum(gap == 0 for gap in gaps) / n),
        "within_1": rounded(sum(abs(gap) <= 1 for gap in gaps) / n),
        "mae": figures["mae"],
        "bias": rounded(sum(gaps) / n),
    }, r


def chosen(judge: Sequence[str], human: Sequence[str]) -> tuple[Figures, Estimate]:
    """How choices go with people's, with ties as a class of their own and with all ties left out."""
    codes = {letter: float(place) for place, letter in enumerate("ABC")}
    choices, truth = [codes[x] for x in judge], [codes[x] for x in human]
    hits = wilson(sum(x == y for x, y in zip(choices, truth, strict=True)), len(choices))
    decided = [(x, y) for x, y in zip(judge, human, strict=True) if "C" not in (x, y)]
    macro = plain(weighted_statistics.f1(False), choices, truth)
    classes = len({*choices, *truth})
    figures = {
        "n": len(choices),
        "accuracy_with_tie": rounded(hits.value),
        "n_without_tie": len(decided),
        "accuracy_without_tie": rounded(sum(x == y for x, y in decided) / len(decided)) if decided else None,
        "macro_f1": rounded(macro),
        "macro_recall": rounded(plain(weighted_statistics.recall(False), choices, truth)),
        "macro_precision": rounded(plain(weighted_statistics.precision(False), choices, truth)),
        "macro_f1_over_ABC": rounded(macro * classes / 3),
    }
    return figures, hits


def ranked(judge: Sequence[str], human: Sequence[str]) -> tuple[Figures, Estimate | None]:
    """How far rankings, as strings of letters, are from people's."""
    pairs = list(zip(judge, human, strict=True))
    n = len(pairs)
    try:
        distance = mean_edit_distance(judge, human)
    except Undefined:
        distance = None
    figures = {
        "n": n,
        "normalized_levenshtein": rounded(fmean(edit_distance(x, y) for x, y in pairs)),
        "levenshtein": rounded(sum(edit_distance(x, y) * max(len(x), len(y)) for x, y in pairs) / n),
        "exact_match": rounded(sum(x == y for x, y in pairs) / n),
        "top1_match": rounded(sum(x[:1] == y[:1] for x, y in pairs) / n),
    }
    return figures, distance


def only(figures: Figures, *names: str) -> Figures:
    """Some of the figures, in the order asked for."""
    return {name: figures[name] for name in names}
