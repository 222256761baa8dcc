"""Every table by contestant counts the unusable verdicts that its rows lack, as a slow count of the verdicts does."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from fullbench.analysis.boards.head_to_head_and_slices import mark_distributions, slices_by_tag, win_matrix
from fullbench.analysis.boards.leaderboard import Settings, build_boards
from fullbench.analysis.boards.leaderboard_companion_tables import standing_tables
from fullbench.core.ballot import Choice, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import FAULTS, Verdict
from fullbench.core.verdict_record import Record

NAMES = ("r", "a", "b", "c")


def judged(ballot, size, seed):
    """A record of one judge that often fails on the answers of b."""
    draw = random.Random(seed)
    items = [Item.ask(f"i{number}", "?", tags={"family": "xyz"[number % 3]}) for number in range(15)]
    responses, verdicts = {}, []
    for item in items:
        said = {name: Response.say(item.id, name, "word " * draw.randint(1, 30)) for name in NAMES}
        responses |= {(item.id, name): response for name, response in said.items()}
        for shown in combinations(NAMES, size):
            for order in {shown, shown[::-1]}:
                case = Case(item, tuple(said[name] for name in order), ballot)
                marks = [float(draw.randint(1, 5))] if size == 1 else draw.choice([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
                is_lost = draw.random() < (0.4 if "b" in order else 0.1)
                verdicts.append(Verdict.from_case(case, "j", draw.choice(FAULTS) if is_lost else marks))
    return Record(tuple(verdicts), {item.id: item for item in items}, responses)


def lost_by_row(record, family, *names):
    """Unusable verdicts on a family of items ("" for all) that show one contestant, or that a match of two lacks."""
    count = 0
    for verdict in record:
        shown = set(verdict.contestants)
        is_in_family = not family or record.items[verdict.item].tags["family"] == family
        is_shown = shown <= set(names) if len(names) == 2 else names[0] in shown
        count += verdict.fault is not None and is_in_family and is_shown
    return count


@pytest.mark.parametrize(("ballot", "size"), [(Choice(tie=True), 2), (Score(1, 5), 1)])
def test_tables_next_to_a_leaderboard_count_unusable_verdicts(ballot, size):
    record = judged(ballot, size, seed=size)
    tables = standing_tables(record, "j", Settings(reference="r"), tag="family")
    by_contestant = [table for table in tables if "contestant" in table.columns]
    assert {table.name for table in by_contestant} >= {
        "board", "rules", "wins", "fit", "style ratings", "length controlled", "by family", "by family against r",
    }  # fmt: skip
    for table in by_contestant:
        labels = [label for label in ("contestant", "against") if label in table.columns]
        against = ["r"] if table.name in {"length controlled", "by family against r"} else []
        families = table.column("family") if "family" in table.columns else [""] * len(table.rows)
        names = zip(*(table.column(label) for label in labels), strict=True)
        for family, row, unusable in zip(families, names, table.column("unusable"), strict=True):
            assert unusable == lost_by_row(record, family, *row, *against), table.name


def test_tables_of_the_site_count_unusable_verdicts():
    record = judged(Score(1, 5), 1, seed=3)
    (board,) = build_boards(record)
    families = {item.id: item.tags["family"] for item in record.items.values()}
    slices = [win_matrix(board), *slices_by_tag(board, "family", families), *mark_distributions(board)]
    assert {slice_.table.name.split()[0] for slice_ in slices} >= {"wins", "won", "densities", "thresholds"}
    for slice_ in slices:
        table = slice_.table
        expected = [lost_by_row(record, "", str(name)) for name in table.column("contestant")]
        assert table.column("unusable") == expected, table.name


def test_no_column_without_unusable_verdicts():
    record = judged(Choice(tie=True), 2, seed=4)
    usable = Record(tuple(v for v in record if v.fault is None), record.items, record.responses)
    for table in standing_tables(usable, "j", Settings(reference="r"), tag="family"):
        assert "unusable" not in table.columns
