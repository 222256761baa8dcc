"""One table in five forms, and what each must not lose."""

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fullbench.core.estimate import Estimate
from fullbench.core.table import Column, Table
from fullbench.errors import InputError
from fullbench.reports.table_formats import render_table, table_from_json, write_tables

TABLE = Table(
    "agreement",
    "Agreement with people",
    ("judge", "r", "rating", Column("refused", kind="fault"), "words"),
    (
        ("gpt|4", Estimate(0.812, 0.774, 0.851, 412, method="Wilson", p=0.01), 1034.4, 3, "a,b"),
        ("智谱评审模型", Estimate(-0.001, -0.1, 0.1, 400), 988.6, 0, 'say "hi"'),
        ("chance", None, None, 0, "-"),
    ),
    notes=("r is Pearson's",),
    source={"seed": 7, "judges": ["gpt|4", "智谱评审模型"]},
    chart={"kind": "intervals", "label": "judge", "value": "r"},
)

NUMBERS = st.floats(-1e6, 1e6)
WORDS = st.text(st.characters(codec="utf-8"))
SHARES = st.none() | st.floats(0, 1)
ESTIMATES = st.builds(Estimate, NUMBERS, NUMBERS, NUMBERS, st.integers(0, 10**9), st.just(0.9), WORDS, SHARES)
CELLS = st.none() | WORDS | st.integers(-(2**62), 2**62) | NUMBERS | ESTIMATES


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_json_loses_nothing(rows):
    table = Table("t", "T", ("a", "b"), tuple(rows), ("note",), {"seed": 1, "of": {"x": [1, None]}}, {"kind": "heat"})
    again = table_from_json(render_table(table, "json"))
    assert again == table
    assert [[type(cell) for cell in row] for row in again.rows] == [[type(cell) for cell in row] for row in table.rows]


def test_text_is_aligned_for_every_script_and_shows_n_and_interval():
    lines = render_table(TABLE, "text", width=100).splitlines()
    assert "0.81 [0.77, 0.85]" in lines[3]
    assert lines[3].endswith("412")
    assert "0.00 [-0.10, 0.10]" in lines[4]
    ends = {cell_len(line[: line.index("]")]) for line in lines[3:5]}
    assert len(ends) == 1
    assert lines[5].split()[1:3] == ["-", "-"]
    assert lines[-2:] == ["r is Pearson's", "Intervals (95 %): Wilson."]


@pytest.mark.parametrize("width", [20, 28, 40])
def test_a_narrow_terminal_keeps_every_figure_whole(width):
    lines = render_table(TABLE, "text", width=width).splitlines()
    assert any("0.81 [0.77, 0.85]" in line for line in lines) or width < 24
    assert max(map(cell_len, lines)) <= width


def test_a_terminal_cannot_be_rewritten_by_a_name():
    table = Table("t", "\x1b]0;owned\x07", ["judge"], [["\x1b[2J[bold]x[/bold]\r\n"]])
    text = render_table(table, "text")
    assert "\x1b" not in text
    assert "[bold]x[/bold]" in text


def test_colour_marks_faults_only_when_asked():
    assert re.findall(r"\x1b\[33m *(\S+)\x1b", render_table(TABLE, "text", color=True)) == ["3"]
    assert "\x1b" not in render_table(TABLE, "text")


def test_an_interval_of_whole_numbers_keeps_the_columns_decimals():
    table = Table("t", "T", ["x"], [[Estimate(5, 5, 5, 8)], [Estimate(3.667, 2.125, 5, 8)]])
    assert "| 5.00 [5.00, 5.00] | 8 |" in render_table(table, "markdown")
    assert "| 3.67 [2.12, 5.00] | 8 |" in render_table(table, "markdown")


def test_different_ns_in_a_row_stand_in_their_cells():
    table = Table("t", "T", ["x", "y"], [[Estimate(0.5, 0.4, 0.6, 10), Estimate(0.5, 0.4, 0.6, 20)]])
    assert "0.50 [0.40, 0.60] n=10 | 0.50 [0.40, 0.60] n=20" in render_table(table, "markdown")


def test_markdown_escapes_what_would_break_the_row():
    table = Table("t", "T*", ["a|b"], [["x|y\nz <b>"]])
    assert render_table(table, "markdown") == "**T\\***\n\n| a\\|b |\n| :--- |\n| x\\|y z \\<b> |\n"


def test_csv_spreads_estimates_at_full_precision():
    rows = list(csv.DictReader(io.StringIO(render_table(TABLE, "csv"))))
    assert list(rows[0]) == ["judge", "r", "r_low", "r_high", "r_n", "rating", "refused", "words"]
    assert (float(rows[0]["r"]), rows[0]["r_n"], rows[0]["words"]) == (0.812, "412", "a,b")
    assert rows[1]["words"] == 'say "hi"'
    assert rows[2]["r"] == rows[2]["r_low"] == rows[2]["rating"] == ""


def test_html_is_a_table_with_caption_and_escaped_cells():
    table = Table("t", "<i>T</i>", ["judge"], [["<script>alert(1)</script>"]], ["<b>"], {"by": "<u>"})
    html = render_table(table, "html")
    assert "<script" not in html
    assert "<caption>&lt;i&gt;T&lt;/i&gt;</caption>" in html
    assert "<b>" not in html
    assert "<u>" not in html


def test_nan_is_no_cell():
    table = Table("t", "T", ["a"], [[float("nan")]])
    for form in ("text", "markdown", "json", "html"):
        with pytest.raises(ValueError, match="finite"):
            render_table(table, form)


@pytest.mark.parametrize("suffix", [".txt", ".md", ".csv", ".json", ".html"])
def test_the_suffix_chooses_the_form_and_nothing_else_is_left_behind(tmp_path, suffix):
    path = tmp_path / "new" / f"table{suffix}"
    assert write_tables(TABLE, path) == [path]
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert "智谱评审模型" in path.read_text(encoding="utf-8")


def test_several_tables_share_a_file_except_as_csv(tmp_path):
    other = Table("other", "Other", ("a",), ((1,),))
    assert write_tables([TABLE, other], tmp_path / "all.json") == [tmp_path / "all.json"]
    entries = json.loads((tmp_path / "all.json").read_bytes())
    assert [table_from_json(json.dumps(entry)) for entry in entries] == [TABLE, other]
    assert [path.name for path in write_tables([TABLE, other], tmp_path / "all.csv")] == [
        "all-agreement.csv",
        "all-other.csv",
    ]
    assert "Other" in write_tables([TABLE, other], tmp_path / "all.md")[0].read_text()


def test_mistakes_say_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"\.txt, \.md"):
        write_tables(TABLE, tmp_path / "table.docx")
    with pytest.raises(InputError, match="no JSON"):
        table_from_json("{")
    with pytest.raises(InputError, match="not a table"):
        table_from_json("{}")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_tables(TABLE, tmp_path / "file" / "table.md")


def test_a_failed_write_leaves_the_old_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "table.md"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_tables(TABLE, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_how_intervals_were_made_stands_below_a_table_in_every_form_for_people():
    first = Estimate(0.5, 0.4, 0.6, 9, method="percentile bootstrap over 4 clusters, 1000 resamples")
    second = Estimate(0.7, 0.4, 0.8, 9, method="percentile bootstrap over 7 clusters, 1000 resamples")
    table = Table("t", "T", ["x", "y"], [[first, Estimate(1, 0.5, 1, 3, 0.9, "Wilson")], [second, None]], ["noted"])
    for form in ("text", "markdown", "html"):
        told = render_table(table, form, width=200)
        assert told.count("Intervals (95 %): percentile bootstrap over clusters, 1000 resamples.") == 1
        assert told.index("noted") < told.index("Intervals (90 %): Wilson.")
    assert "".join(table_from_json(render_table(table, "json")).notes) == "noted"
    assert "Intervals" not in render_table(Table("t", "T", ["x"], [[Estimate(1, 0, 2, 3)]]), "text")


def test_what_an_estimate_says_of_its_interval_survives_json():
    told = Estimate(
        0.5, 0.25, 0.5, 90, method="bound", units=30, one_sided=True, simultaneous=True, corrected=True
    )  # fmt: skip
    table = Table("t", "T", ("a",), ((told,), (Estimate(0.5, 0.2, 0.6, 9),)))
    assert table_from_json(render_table(table, "json")) == table
    assert '"units": 30' in render_table(table, "json")
    assert render_table(table, "json").count('"one_sided"') == 1


def test_a_table_that_fits_looks_as_rich_would_draw_it():
    """Tables are laid out by ourselves where nothing has to be folded; rich draws the same in ten times the time."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    columns = (Column("judge", kind="name"), Column("share", kind="metric"), Column("refused", kind="fault"))
    rows = (("裁判 one", Estimate(0.5, 0.4, 0.6, 9), 3), ("b", None, 0), ("a longer name", Estimate(1, 0.9, 1, 9), 12))
    for color in (False, True):
        out = io.StringIO()
        console = Console(file=out, width=90, force_terminal=color, no_color=not color, emoji=False, markup=False,
                          color_system="standard" if color else None)  # fmt: skip
        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        for name, right in (("judge", False), ("share", True), ("refused", True), ("n", True)):
            grid.add_column(Text(name), justify="right" if right else "left")
        for cells in (("裁判 one", "0.50 [0.40, 0.60]", "3", "9"), ("b", "-", "0", "-"),
                      ("a longer name", "1.00 [0.90, 1.00]", "12", "9")):  # fmt: skip
            grid.add_row(
                *(Text(cell, "yellow" if place == 2 and cell != "0" else "") for place, cell in enumerate(cells))
            )
        console.print(grid)
        drawn = [line.rstrip() for line in out.getvalue().splitlines()]
        shown = render_table(Table("t", "T", columns, rows), "text", width=90, color=color).splitlines()[
            1 : 1 + len(drawn)
        ]
        assert [_seen(line) for line in shown] == [_seen(line) for line in drawn]
        assert ("\x1b[33m" in "".join(shown)) == color


def _seen(line: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", line).rstrip()
