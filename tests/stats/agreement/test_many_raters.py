"""Several raters against statsmodels, evalica and published figures."""

import evalica
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa as theirs

from fullbench.errors import Undefined
from fullbench.stats.agreement.many_raters import fleiss_kappa, krippendorff_alpha

# The worked example that most texts use: ten subjects, fourteen raters, five categories; kappa is 0.210 (Fleiss 1971's
# method as commonly tabulated).
FOURTEEN = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip

# Krippendorff 2011, section C: four observers, twelve units, some values missing. Alpha: nominal 0.743, ordinal 0.815,
# interval 0.849.
NO = None
FOUR = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
    [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
]


def long(counts):
    rows = [(item, mark) for item, row in enumerate(counts) for mark, n in enumerate(row) for _ in range(n)]
    return np.array(rows).T


def observed(matrix):
    rows = [(unit, value) for row in matrix for unit, value in enumerate(row) if value is not None]
    return np.array(rows).T


def test_fleiss_gives_the_published_figure():
    found = fleiss_kappa(*long(FOURTEEN))
    assert found.value == pytest.approx(0.210, abs=0.0005)
    assert found.value == pytest.approx(theirs(np.array(FOURTEEN)))
    assert found.low < found.value < found.high


@pytest.mark.parametrize(("distance", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorff_gives_the_published_figures(distance, value):
    found = krippendorff_alpha(*observed(FOUR), distance=distance)
    assert found.value == pytest.approx(value, abs=0.0006)
    assert found.n == 11


@given(st.lists(st.lists(st.sampled_from([None, 1, 2, 3, 5]), min_size=3, max_size=3), min_size=3, max_size=12))
@settings(max_examples=60)
@pytest.mark.parametrize("distance", ["nominal", "ordinal", "interval"])
def test_krippendorff_is_evalicas_with_any_gaps(distance, units):
    pairable = [value for unit in units if sum(v is not None for v in unit) > 1 for value in unit if value is not None]
    assume(len(set(pairable)) > 1)
    try:
        ours = krippendorff_alpha(*observed(list(zip(*units, strict=True))), distance=distance)
    except Undefined:
        return
    theirs = evalica.alpha(pd.DataFrame(units, dtype=float).T, distance=distance)
    assert ours.value == pytest.approx(theirs.alpha, abs=1e-9)


def test_raters_in_full_agreement_on_one_class_define_nothing():
    with pytest.raises(Undefined):
        krippendorff_alpha([1, 1, 2, 2], [3, 3, 3, 3])
    with pytest.raises(Undefined):
        fleiss_kappa([1, 1, 2, 2], [3, 3, 3, 3])


def test_an_uneven_number_of_ratings_is_not_fleiss():
    with pytest.raises(Undefined, match="1 to 2"):
        fleiss_kappa([1, 1, 2], [3, 2, 3])


def test_single_ratings_pair_with_nothing():
    with pytest.raises(Undefined, match="two ratings"):
        krippendorff_alpha([1, 2], [3, 2])
