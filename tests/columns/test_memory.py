"""What tables take in memory, from the first row to the last table."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fullbench.analysis import standard_verdict_tables
from fullbench.columns.column_builder import Builder
from fullbench.columns.verdict_columns import expand_ranges, group_rows, is_constant
from fullbench.core.json_digests_and_cached_properties import digest

ITEMS, CONTESTANTS = 250, 5
MOST = 100
"""Bytes a verdict, tables included."""


def pairs(trials):
    """Pairs in both orders as rows for a builder: one judge, five contestants, so many trials; seconds all differ."""
    seconds = iter(range(ITEMS * 20 * trials))
    for item in range(ITEMS):
        for one, two in permutations(range(CONTESTANTS), 2):
            key = digest([item, one, two])
            for trial in range(trials):
                marks = (1.0, 0.0) if (item * 7 + one * 5 + trial) % 23 > (item * 3 + two) % 19 else (0.0, 1.0)
                shown = (f"m{one}", f"m{two}")
                kind = ("default", "judge", "overall", "choice", "", None, shown, (), trial, 0, 1, 0, 0, None)
                yield kind, f"item-{item}", key, marks, 900, 40, None, next(seconds) / 7, None, None, ""


def columns_of_rows(rows):
    builder = Builder()
    builder.extend(rows)
    return builder.finish()


@cache
def one_trial():
    return columns_of_rows(pairs(1))


def peak(trials):
    """The most that is held from the first row to the last table."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        standard_verdict_tables.verdict_tables(columns_of_rows(pairs(trials)))
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_a_further_verdict_takes_little_memory_with_all_its_tables():
    peak(1)  # what is imported late is imported now
    # Other threads of the test run allocate too: the least of some tries is what the tables take.
    assert min((peak(10) - peak(2)) / (ITEMS * 20 * 8) for _ in range(3)) <= MOST


def test_a_column_with_one_value_is_stored_once_and_stays_so_in_a_part_of_the_rows():
    columns = columns_of_rows(pairs(2))
    for name in ("study", "judge", "criterion", "rater", "revision", "fault", "blind", "tokens_in", "probability"):
        assert is_constant(getattr(columns, name)), name
    assert not is_constant(columns.seconds)
    part = columns.rows(columns.trial == 1)
    assert is_constant(part.probability)
    assert len(part.probability) == len(part) == len(columns) // 2
    assert np.isnan(part.probability).all()
    assert part.nbytes < 45 * len(part)
    assert set(part.tokens_in.tolist()) == {900}
    assert part.contestant.tolist() == columns.contestant.reshape(-1, 2)[columns.trial == 1].ravel().tolist()


def test_rulings_without_what_they_used_take_less_memory_and_have_the_same_tables():
    columns = columns_of_rows(pairs(2))
    rulings = columns.without_usage()
    assert columns.nbytes - rulings.nbytes > 7 * len(columns)  # the seconds, which all differ
    assert is_constant(rulings.seconds)
    wanted = standard_verdict_tables.verdict_tables(columns)
    assert [table.name for table in wanted if table.name == "costs"] == ["costs"]
    assert (
        standard_verdict_tables.verdict_tables(rulings, precomputed_costs=standard_verdict_tables.cost_table(columns))
        == wanted
    )


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.booleans())
def test_groups_have_the_same_rows_whether_or_not_they_lie_together(judges, together):
    some = one_trial().rows(np.arange(len(judges)))
    code = np.array(sorted(judges) if together else judges, dtype=np.uint8)
    columns = replace(some, judge=code, names={**some.names, "judge": ("a", "b", "c", "d")})
    parts = {judge: part.seconds.tolist() for (judge,), part in columns.by("judge")}
    assert parts == {"abcd"[number]: columns.seconds[code == number].tolist() for number in sorted(set(judges))}


@given(st.lists(st.tuples(st.sampled_from([0, 3, 2**40, 7]), st.sampled_from([0.5, -1.0, float("nan")])), min_size=1))
def test_groups_are_numbered_in_the_order_of_their_values(rows):
    keys, marks = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    code, first = group_rows(keys, marks)
    named = [(key, float("inf") if np.isnan(mark) else mark) for key, mark in rows]
    wanted = sorted(set(named))
    assert code.tolist() == [wanted.index(name) for name in named]
    assert [named[row] for row in first] == wanted
    assert keys.tolist() == [row[0] for row in rows]  # nothing was changed in place


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 4))))
def test_places_are_spread_over_as_many_rows_as_each_has(rows):
    start = np.array([first for first, _ in rows], dtype=np.uint8)
    sizes = np.array([size for _, size in rows], dtype=np.uint8)
    assert expand_ranges(start, sizes).tolist() == [first + place for first, size in rows for place in range(size)]
