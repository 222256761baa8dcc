"""Lakes of many verdicts: bytes of each, and what boards, a report and a card of ten millions take."""

from __future__ import annotations

import json

import pytest

from tests.ledger import synthetic_lake
from tests.ledger.generated import CONTESTANTS, JUDGES, lake_of
from tests.support.measured_command import run_measured


@pytest.mark.slow
@pytest.mark.parametrize("contestants", [1, 4])
def test_a_verdict_takes_at_most_120_bytes_beside_its_texts_and_40_in_narrow_columns(tmp_path, contestants):
    lake, verdicts = synthetic_lake.lake_of(tmp_path, 3_000 // contestants, contestants=contestants)
    sizes = synthetic_lake.column_bytes(lake)
    assert sum(sizes.values()) == sum(path.stat().st_size for path in (lake / "segments").rglob("*.parquet"))
    texts = sum(sizes[name] for name in synthetic_lake.TEXTS)
    assert texts > 10 * verdicts  # they are there, and no two alike
    assert (sum(sizes.values()) - texts) / verdicts < 120
    assert sum(sizes[name] for name in synthetic_lake.NARROW) / verdicts < 40


@pytest.fixture(scope="module")
def ten_million(tmp_path_factory):
    """A lake of ten million generated verdicts, and how many items they are on."""
    folder = tmp_path_factory.mktemp("lake")
    return folder, lake_of(folder, 10_000_000)


def measured(*words):
    """What a command printed as JSON; it took at most a minute of work and a gigabyte."""
    done = run_measured(["-m", "fullbench", *words, "--json"])
    assert done.cpu_seconds < 60
    assert done.peak_bytes < 10**9
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_means_of_ten_million_verdicts_take_a_minute_of_work_and_a_gigabyte(ten_million):
    lake, items = ten_million
    tables = measured("leaderboard", "show", "--means", "--ledger", str(lake))
    assert len(tables) == JUDGES
    for table in tables:
        _true_means(table, items, place=2)


@pytest.mark.slow
def test_a_report_of_ten_million_verdicts_takes_a_minute_of_work_and_a_gigabyte(ten_million):
    lake, items = ten_million
    tables = {table["name"]: table for table in measured("report", "--ledger", str(lake))}
    boards = [table for name, table in tables.items() if name.startswith("leaderboard")]
    assert len(boards) == JUDGES
    for table in boards:
        _true_means(table, items, place=table["columns"].index("mean score:1-5"))
    spent = tables["costs"]
    assert [row[spent["columns"].index("verdicts")] for row in spent["rows"]] == [items * CONTESTANTS] * JUDGES
    # Generated dollars are whole millionths from 1 to 399, so 1,000 verdicts cost 0.2 on average.
    each = [row[spent["columns"].index("dollars per 1,000")] for row in spent["rows"]]
    assert each == pytest.approx([0.2] * JUDGES, rel=0.01)


@pytest.mark.slow
def test_a_card_and_a_board_from_ten_million_verdicts_take_a_minute_of_work_and_a_gigabyte(ten_million):
    lake, items = ten_million
    (board, *_) = measured("leaderboard", "show", "--judge", "judge-03", "--ledger", str(lake))
    _true_means(board, items, place=board["columns"].index("mean score:1-5"))
    card = measured("card", "judge-03", "--ledger", str(lake))
    assert card["judge"] == "judge-03"
    (shown,) = (table for table in card["tables"] if table["name"].startswith("leaderboard"))
    ratings = [
        {row[1]: row[table["columns"].index("rating")]["value"] for row in table["rows"]} for table in (board, shown)
    ]
    assert ratings[0] == ratings[1]


def _true_means(table, items, *, place):
    """The board has all contestants in their true order, and means of all items near the true ones."""
    means = {row[1]: row[place] for row in table["rows"]}
    assert [row[1] for row in table["rows"]] == [f"model-{number:02d}" for number in reversed(range(CONTESTANTS))]
    assert {mean["n"] for mean in means.values()} == {items}
    assert means["model-12"]["value"] == pytest.approx(3.0, abs=0.02)
