"""The number of verdicts next to each number is what its link finds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from fullbench.web.database import read_transaction
from fullbench.web.results.lists import verdict_counts_of_cells, verdict_list
from fullbench.web.results.lists.verdict_filters import Filter
from tests.web.results.making import TASKS, WORTH


def test_counts_of_cells_equal_those_of_their_links(filled):
    names = list(WORTH)
    filters = [
        Filter(judge=judge, criterion=criterion, contestant=name, fault=fault, shown=shown)
        for judge, criterion, name, fault, shown in product(
            ("steady", "human", "nobody"),
            ("overall", "style"),
            ("", *names),
            ("", "none", "any"),
            ("", "choice", "one"),
        )
    ]
    filters += [replace(one, ballot="score:1-5") for one in filters[::5]]
    some = Filter(judge="steady", criterion="overall", fault="none", shown="choice")
    filters += [replace(some, contestant=one, other=two) for one, two in product(names[:2], names) if one != two]
    filters += [
        replace(some, contestant=name, tag="task", value=task)
        for name, task in product(names[:2], (*TASKS, "none", ""))
    ]
    with read_transaction(filled) as connection:
        counts = verdict_counts_of_cells.count_cells(connection, filters)
        expected = {one: verdict_list.count_verdicts(connection, one).n for one in filters}
        left_out = verdict_counts_of_cells.count_cells(connection, [Filter(judge="steady", opposed=True)])
    assert counts == expected
    assert len({count for count in counts.values() if count}) > 5
    assert left_out == {}
