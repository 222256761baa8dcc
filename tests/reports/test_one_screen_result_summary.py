"""The first screen fits 80 x 40 for anything, and breaks no name."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from rich.cells import cell_len

from fullbench.analysis.item_clustered_means_and_shares import Gaps
from fullbench.analysis.standard_verdict_tables import verdict_tables
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.reports.display_names_of_judges_and_contestants import Display, DisplayNames
from fullbench.reports.names_shortened_for_narrow_tables import shorten_names
from fullbench.reports.one_screen_result_summary import Selection, render_first_screen, select_tables
from fullbench.reports.table_cell_bars_and_sort_values import laid_column
from fullbench.reports.tables_as_terminal_text import render_texts
from fullbench.stats.agreement.two_raters import pearson_correlation
from tests.analysis.summary.made_ledgers import Made, MadeJudge

SMALL = verdict_tables(Made({"sharp": MadeJudge(0.1), "odd": MadeJudge(2.0)}, items=32, voted=32).record())


def stretched(tables: list[Table], seed: int) -> list[Table]:
    """Return the summary with many more rows, criteria, studies and columns, and with long names."""
    draw = random.Random(seed)
    contestants, judges = tables[:2]
    names = [f"vendor-{n}/model-name-of-some-length-{n:03}" for n in range(draw.choice((2, 13, 300)))]
    criteria = [f"criterion {n}" for n in range(draw.choice((1, 2, 40)))]
    columns = [f"org/judge-{n}@127.0.0.1:8000/v1" for n in range(draw.choice((1, 3)))]
    value = Estimate(1000.0, 900.0, 1100.0, 50)
    wide = replace(
        contestants,
        columns=table_columns("criterion", "tier", "contestant", *map(data_column, columns)),
        rows=[[criterion, "1", name, *(value for _ in columns)] for criterion in criteria for name in names],
        notes=[*contestants.notes[:3]],
    )
    row = dict(zip(map(str, judges.columns), judges.rows[0], strict=True))
    heads = table_columns("judge", "criterion", *judges.columns[1:])
    cells = [row[str(head)] for head in judges.columns[1:]]
    many = replace(judges, columns=heads, rows=[[name, criterion, *cells] for name in names for criterion in criteria])
    return [wide, many, *tables[2:]]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("width", [80, 120])
def test_any_summary_fits_forty_lines(seed: int, width: int) -> None:
    lines = render_first_screen(stretched(SMALL, seed), width=width).splitlines()
    assert len(lines) <= 40
    assert max(map(cell_len, lines)) <= width
    assert "ann leads" in lines[0]


def test_rows_of_every_criterion_are_shown_and_the_rest_is_counted() -> None:
    rows = [[f"c{number}", "1", f"n{place}", 1.0] for number in range(3) for place in range(20)]
    columns = table_columns("criterion", "tier", "contestant", "rating")
    table = replace(SMALL[0], columns=columns, rows=rows)
    text = render_first_screen([table, *SMALL[1:]])
    assert all(f"\nc{number}" in text for number in range(3))
    assert "+48 more rows: --table 'summary contestants'" in text


def test_the_reason_for_an_empty_cell_is_below_its_table() -> None:
    gaps = Gaps()
    columns = table_columns("contestant", "rating")
    cell = gaps.cell("ann", lambda: pearson_correlation([1, 1, 1], [1, 2, 3]))
    text = render_first_screen([Table("short", "Short", columns, [["ann", cell], ["bob", 1.0]], gaps.notes)])
    assert "- for ann: a correlation needs two columns that vary" in text
    full = Table("short", "Short", columns, [["ann", 2.0], ["bob", 1.0]], gaps.notes)
    assert "for ann" not in render_first_screen([full])


def test_columns_are_dropped_before_a_name_is_cut() -> None:
    name = "a-name-of-exactly-thirty-cells"
    columns = table_columns("contestant", *(data_column(f"task number {n}") for n in range(20)))
    table = Table("wide", "Wide", columns, [[name, *range(20)]])
    text = render_first_screen([table])
    assert name in text
    assert "+15 columns: --table wide" in text


def test_numbers_are_explained_above_their_table() -> None:
    text = render_first_screen(SMALL)
    assert "\nContestants. Numbers: ratings (mean 1000), with 95 % intervals." in text
    assert "\nJudges. Agreement: share of pairs with people's result (win, loss or tie).\n" in text


def test_shares_of_one_criterion_keep_their_decimals_next_to_ratings_of_another() -> None:
    values = {"safe": Estimate(0.437, 0.31, 0.56, 50), "style": Estimate(1036.6, 951.0, 1122.0, 50)}
    rows = [[criterion, "1", "ann", value] for criterion, value in values.items()]
    table = replace(SMALL[0], columns=table_columns("criterion", "tier", "contestant", "people"), rows=rows)
    screen, page = render_first_screen([table, *SMALL[1:]]), [cell.text for cell in laid_column(table, 3)]
    for text in (screen, "".join(render_texts([table], width=120))):
        assert "0.44 [0.31, 0.56]" in text
        assert "1037 [951, 1122]" in text
    assert page == ["0.44", "1037"]


def test_contestants_without_judges_fit_a_screen() -> None:
    text = render_first_screen([SMALL[0], replace(SMALL[1], rows=[])])
    assert "ann leads" in text


@pytest.mark.parametrize("seed", range(8))
def test_shortened_names_fit_and_stay_different(seed: int) -> None:
    draw = random.Random(seed)
    sizes = draw.sample(range(1000), 12)
    names = [f"vendor-{draw.randrange(3)}/model-with-a-name-{size}B-instruct-vision" for size in sizes]
    names += ["模型" * draw.randrange(1, 12), *names[:3]]
    for most in (12, 20, 29):
        short = shorten_names(names, most)
        assert max(map(cell_len, short)) <= most
        assert len(set(short)) == len(set(names))
        assert [name for name in names if cell_len(name) <= most] == [
            new for new, name in zip(short, names, strict=True) if cell_len(name) <= most
        ]


@pytest.mark.parametrize("width", [70, 80, 110])
def test_all_parts_of_a_wide_table_name_their_rows_and_break_no_name(width: int) -> None:
    names = [f"vendor/judge-with-a-long-name-{number}B-instruct" for number in range(3)]
    heads = [f"vendor/contestant-of-a-long-name-{number}" for number in range(6)]
    value = Estimate(1000.0, 900.0, 1100.0, 50)
    columns = table_columns("criterion", "judge", *map(data_column, heads))
    table = Table("wide", "Wide", columns, [["helpfulness", name, *(value for _ in heads)] for name in names])
    (text,) = render_texts([table], width=width)
    parts = [part.splitlines() for part in text.split("\n\n")]
    assert len(parts) > 1
    assert all(f"-{number}B-instruct" in "\n".join(part) for part in parts for number in range(3))
    assert max(cell_len(line) for part in parts for line in part) <= width
    assert sum(line.count("[900, 1100]") for part in parts for line in part) == 18


def test_all_tables_have_each_note_once_and_whole_names() -> None:
    name = "judge-with-a-name-of-fifty-cells-which-is-not-broken"
    tables = [
        Table(f"t{n}", f"T{n}", table_columns("judge", "why"), [[name, "word " * 30]], ["The same note.", f"Note {n}."])
        for n in range(3)
    ]
    text = "\n".join(render_texts(tables, width=80))
    assert text.count("The same note.") == 1
    assert text.count(name) == 3
    assert "T2 [1, 4]" in text
    assert "[4] Note 2." in text


def test_one_table_or_one_judge_can_be_chosen() -> None:
    names = DisplayNames({"sharp": Display("the sharp one")})
    assert [table.name for table in select_tables(SMALL, Selection(table="summary j"))] == ["summary judges"]
    chosen = select_tables(SMALL, Selection(judge="the sharp"), names)
    assert chosen
    assert all("odd" not in map(str, table.rows) for table in chosen)
    assert {str(cell) for table in chosen if table.place("judge") is not None for cell in table.column("judge")} == {
        "sharp"
    }
    with pytest.raises(InputError, match=r"there is no table 'leadrboard'. Near it"):
        select_tables(SMALL, Selection(table="leadrboard"))
    with pytest.raises(InputError, match=r"there is no judge 'nobody'\. Judges: odd, sharp"):
        select_tables(SMALL, Selection(judge="nobody"))
