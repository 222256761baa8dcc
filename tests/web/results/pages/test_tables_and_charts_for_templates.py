"""Tables as pages show them: many rows, heat maps, charts of the first rows alone."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Table
from fullbench.reports.charts import chart_specification_and_rendering
from fullbench.reports.charts.vega_lite_body_per_chart_kind import LEADS
from fullbench.reports.html_page import table_fragment
from fullbench.reports.table_cell_bars_and_sort_values import column_axes, laid_column
from fullbench.web.page_rendering import template_environment
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.boards.tag_columns import MAX_TAG_COLUMNS, with_tags
from fullbench.web.results.catalogue.verdict_flag_definitions import FLAGS
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.pages.tables_and_charts_for_templates import (
    FEW,
    TAGS_SHOWN,
    build_sheets,
    chart_of,
    group_by_tab,
)
from fullbench.web.results.site.page_urls import ServedPageUrls
from fullbench.web.words import translate_sentence


def rendered(linked: LinkedTable) -> str:
    all_sheets = build_sheets(
        [linked], ("board", "stamp"), ServedPageUrls(), "en", svg=chart_specification_and_rendering.render_svg
    )
    return (
        template_environment()
        .get_template("results/table_sections.html")
        .render(all=all_sheets, groups=group_by_tab(all_sheets), t=partial(translate_sentence, "en"))
    )


def leaderboard(count: int) -> LinkedTable:
    hint = {"kind": "intervals", "label": "contestant", "value": "rating"}
    rows = [[str(place), f"model-{place}", Estimate(2000.0 - place, 1900.0 - place, 2100.0 - place, 5)]
            for place in range(1, count + 1)]  # fmt: skip
    table = Table("leaderboard", "Leaderboard", table_columns("rank", "contestant", "rating"), rows, [], {}, hint)
    return LinkedTable(table, (), [hint])


def test_a_long_table_lays_out_its_first_rows_and_keeps_the_others_ready():
    page = rendered(leaderboard(500))
    first, rest = re.findall(r"<tbody(.*?)</tbody>", page, re.DOTALL)
    assert first.count("<tr") == 40
    assert rest.count("<tr") == 460
    (unread,) = re.findall(r'<noscript class="rest">(.*?)</noscript>', page, re.DOTALL)
    assert rest in unread, "text to a browser that runs scripts, a table to one that does not"
    assert unread.count('<th scope="col"') == 3
    assert "Show all 500 rows" in page
    assert "The chart shows the first 30 of 500 rows." in page
    assert 'aria-label="Leaderboard. Dots with intervals: rating by contestant, 30 rows; from model-30' in page


def test_a_table_that_fits_has_all_of_its_rows_and_its_whole_chart():
    page = rendered(leaderboard(40))
    assert page.count("<tbody") == 1
    assert "Show all" not in page
    assert "The chart shows" not in page
    assert "40 rows; from model-40" in page


def test_who_has_too_few_matches_stands_apart_below_the_ranking():
    """Wherever their figures would put them; where nobody has enough, nobody stands apart."""
    board = leaderboard(4)
    counts = {"model-1": FEW - 1, "model-2": FEW, "model-3": 1, "model-4": 90}
    rows = [[rank, name, replace(rating, n=counts[name])] for rank, name, rating in board.table.rows]
    page = rendered(replace(board, table=replace(board.table, rows=rows)))
    found = re.findall(
        r'<tr(?: class="([^"]*)")?>\s*<th.*?</th>\s*<td class="words"( data-few="[^"]*")?>([^<]*)<', page, re.DOTALL
    )
    assert [(classes, name) for classes, _, name in found] == [
        ("", "model-2"), ("next-tier", "model-4"), ("apart line", "model-1"), ("apart", "model-3")
    ]  # fmt: skip
    assert [few for _, few, _ in found] == ["", "", ' data-few="not enough matches"', ""]
    assert f"2 with fewer than {FEW} matches are listed below the ranking" in page
    fewer = [[rank, name, replace(rating, n=1)] for rank, name, rating in rows]
    assert "apart" not in rendered(replace(board, table=replace(board.table, rows=fewer)))


@given(st.lists(st.floats(-3000, 3000), min_size=2, max_size=9))
def test_an_axis_has_round_ends_that_hold_every_interval(ends):
    table = Table("t", "T", table_columns("rating"), [[Estimate(end, end, end, 9)] for end in ends])
    (axis,) = column_axes(table)
    bars = [cell.bar for cell in laid_column(table, 0)]
    if max(ends) - min(ends) < 1e-9:
        assert axis is None
        assert set(bars) == {None}
        return
    slack = 1e-6 * (max(ends) - min(ends))
    assert axis.low <= min(ends) + slack
    assert axis.high >= max(ends) - slack
    assert 3 <= axis.steps <= 6
    assert axis.high - axis.low <= 3 * (max(ends) - min(ends)) + 1e-9, "what is shown is no small part of it"
    assert [float(tick) for tick in axis.ticks][:: len(axis.ticks) - 1] == pytest.approx([axis.low, axis.high])
    for end, bar in zip(ends, bars, strict=True):
        assert bar[1] == pytest.approx(100 * (end - axis.low) / (axis.high - axis.low), abs=0.051)


def test_who_beats_whom_is_a_table_in_colours_and_no_picture():
    shares = [[None, 1.0, 0.5], [0.0, None, 0.7], [0.5, 0.3, None]]
    names = ["a", "b", "c"]
    rows = [
        [name, *(None if share is None else Estimate(share, share / 2, (1 + share) / 2, 8) for share in row)]
        for name, row in zip(names, shares, strict=True)
    ]
    hint = {"kind": "matrix", "row": "contestant", "columns": names, "column": "against", "value": "won"}
    table = Table(
        "wins",
        "Wins between contestants",
        table_columns("contestant", *map(data_column, names)),
        rows,
        ["Ties half."],
        {},
        hint,
    )
    page = rendered(LinkedTable(table, (), [hint]))
    assert "<img" not in page
    cells = re.findall(
        r'<td class="([^"]+)"(?: data-sort="[^"]+")?(?: data-tip="([^"]+)" data-n="8")?>([^<]*)</td>', page
    )
    assert cells == [
        ("number gap", "", "-"),
        ("number more-2", "a, b: 1.00 [0.50, 1.00] · n=8", "1.00"),
        ("number", "a, c: 0.50 [0.25, 0.75] · n=8", "0.50"),
        ("number less-2", "b, a: 0.00 [0.00, 0.50] · n=8", "0.00"),
        ("number gap", "", "-"),
        ("number more-1", "b, c: 0.70 [0.35, 0.85] · n=8", "0.70"),
        ("number", "c, a: 0.50 [0.25, 0.75] · n=8", "0.50"),
        ("number less-1", "c, b: 0.30 [0.15, 0.65] · n=8", "0.30"),
        ("number gap", "", "-"),
    ]


def by_tag(tag: str, values: int, count: int, name: str = "won") -> LinkedTable:
    heads = [f"{tag}{number}" for number in range(values)]
    rows = [
        [
            f"model-{place}",
            *(Estimate(place / 100 + number / 1000, 0.0, 1.0, 7) for number in range(values)),
            None,
            None,
        ]
        for place in range(1, count + 1)
    ]
    hint = {"kind": "matrix", "row": "contestant", "columns": heads, "column": tag, "value": "won"}
    table = Table(
        f"{name} by {tag}",
        "Won",
        table_columns("contestant", *map(data_column, heads), "all", "worst"),
        rows,
        [],
        {"tag": tag},
        hint,
    )
    return LinkedTable(table, (), [hint])


def test_figures_by_tag_end_the_rows_of_a_board_so_many_at_most_and_said():
    """Tags with few values come first; who has no figure by tag has a gap; columns beyond the first
    few are hidden until chosen."""
    tables = [leaderboard(12), by_tag("language", MAX_TAG_COLUMNS, 12), by_tag("task", 3, 11)]
    shown = with_tags(build_sheets(tables, ("board", "stamp"), ServedPageUrls(), "en"), tables, ServedPageUrls(), "en")
    page = (
        template_environment()
        .get_template("results/table_sections.html")
        .render(all=shown[:1], groups=group_by_tab(shown[:1]), t=partial(translate_sentence, "en"))
    )
    heads = re.findall(r'<th scope="col" class="number by-tag"( hidden)?>(\w+) <span class="unit">([^<]*)<', page)
    assert [head[1:] for head in heads[:3]] == [(f"task{number}", "task, share won") for number in range(3)]
    assert [head[1:] for head in heads[3:]] == [
        (f"language{n}", "language, share won") for n in range(MAX_TAG_COLUMNS - 3)
    ]
    assert [bool(head[0]) for head in heads] == [place >= TAGS_SHOWN for place in range(MAX_TAG_COLUMNS)]
    assert f"{MAX_TAG_COLUMNS} of {MAX_TAG_COLUMNS + 3} numbers by tag can be shown as columns" in page
    assert f"Columns, {MAX_TAG_COLUMNS} by tag" in page
    assert 'data-tip="model-4, task2 (task, share won): 0.04 [0.00, 1.00] · n=7"' in page
    first, last = shown[0].rows[0], shown[0].rows[-1]
    assert [len(row) for row in shown[0].rows] == [3 + MAX_TAG_COLUMNS] * 12
    assert [cell.text for cell in first[3:6]] == ["0.01", "0.01", "0.01"]
    assert [cell.classes for cell in last[3:6]] == ["number gap"] * 3
    assert all("gap" not in cell.classes for cell in last[6:])


def test_a_board_without_tags_stays_as_it_was():
    tables = [leaderboard(4)]
    (alone,) = with_tags(
        build_sheets(tables, ("board", "stamp"), ServedPageUrls(), "en"), tables, ServedPageUrls(), "en"
    )
    assert alone.tag_heads == ()
    assert "by-tag" not in rendered(leaderboard(4))


def test_a_report_and_a_page_lay_a_table_out_alike():
    figures = [Estimate(0.7, 0.6, 0.8, 30), Estimate(0.2, 0.1, 0.3, 30), None, Estimate.bare(0.5, 1, "one item")]
    rows = [[f"评审-{place}", figure, place, place % 2] for place, figure in enumerate(figures)]
    notes = ["Ties count half.", "a < b"]
    table = Table("agreement", "Agreement", table_columns("judge", "agreement", "n", "refused"), rows, notes)
    in_report, labelled = table_fragment(table), rendered(LinkedTable(table))
    on_page = re.sub(r' data-label="(?:agreement|n|refused)"', "", labelled)  # what a phone shows before a cell
    assert labelled.count(" data-label=") == 3 * 4
    cells = r"<(t[hd])\b([^>]*?)(?: title=[^>]*)?>"
    assert len(re.findall(cells, in_report)) == 4 * 5
    assert re.findall(cells, in_report) == re.findall(cells, on_page)
    assert re.findall("<li>.*?</li>", in_report) == re.findall("<li>.*?</li>", on_page)


def test_a_mark_leads_where_the_cell_leads_that_it_is_drawn_from():
    plain = leaderboard(3)
    links = [[None, Filter(contestant=f"model-{place}"), Filter(contestant=f"model-{place}", fault="none")]
             for place in range(1, 4)]  # fmt: skip
    drawn = chart_of(replace(plain, links=links), 0, ServedPageUrls())
    led = {row["label"]: row["href"].removeprefix(LEADS) for row in drawn.spec["data"]["values"]}
    assert led == {f"model-{place}": f"/verdicts?contestant=model-{place}&fault=none" for place in range(1, 4)}
    assert not any("href" in row for row in chart_of(plain, 0, ServedPageUrls()).spec["data"]["values"])


def test_the_script_of_a_static_copy_names_the_flags_in_the_order_in_which_they_are_packed():
    script = (resources.files("fullbench.web") / "static" / "static_copy.js").read_text(encoding="utf-8")
    assert re.search(r"const FLAGS = \[(.*?)\];", script)[1] == ", ".join(f'"{flag}"' for flag in FLAGS)
