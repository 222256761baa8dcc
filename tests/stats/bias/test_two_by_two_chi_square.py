"""Association of two by two: against scipy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fullbench.errors import Undefined
from fullbench.stats.bias.two_by_two_chi_square import chi_square_association, chi_square_p, phi_of


@given(st.lists(st.integers(1, 300), min_size=4, max_size=4))
def test_it_is_pearsons_chi_square(cells):
    table = [cells[:2], cells[2:]]
    found = chi_square_association(table)
    wanted = stats.chi2_contingency(table, correction=False)
    assert found.chi_square == pytest.approx(wanted.statistic, abs=1e-9)
    assert found.p == pytest.approx(wanted.pvalue)
    assert abs(found.phi) == pytest.approx(stats.contingency.association(table, method="cramer"), abs=1e-7)
    assert abs(found.phi) == pytest.approx(phi_of(found.chi_square, found.n))


def test_an_answer_that_nobody_gave_leaves_nothing_to_test():
    with pytest.raises(Undefined, match="one was never given"):
        chi_square_association([[3, 4], [0, 0]])
    assert chi_square_p(0) == 1
