"""Lakes of many verdicts: bytes of each, and what a leaderboard of ten millions takes."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

from tests.ledger import court_lake
from tests.ledger.generated import CONTESTANTS, JUDGES, lake_of


@pytest.mark.slow
@pytest.mark.parametrize("contestants", [1, 4])
def test_a_verdict_takes_at_most_120_bytes_beside_its_texts_and_40_in_narrow_columns(tmp_path, contestants):
    lake, verdicts = court_lake.lake_of(tmp_path, 3_000 // contestants, contestants=contestants)
    sizes = court_lake.column_bytes(lake)
    assert sum(sizes.values()) == sum(path.stat().st_size for path in (lake / "segments").rglob("*.parquet"))
    texts = sum(sizes[name] for name in court_lake.TEXTS)
    assert texts > 10 * verdicts  # they are there, and no two alike
    assert (sum(sizes.values()) - texts) / verdicts < 120
    assert sum(sizes[name] for name in court_lake.NARROW) / verdicts < 40


@pytest.mark.slow
def test_the_means_of_ten_million_verdicts_take_a_minute_of_work_and_a_gigabyte(tmp_path):
    items = lake_of(tmp_path / "lake", 10_000_000)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["leaderboard", "show", "--means", "--json", "--ledger", str(tmp_path / "lake")]
    done = subprocess.run([sys.executable, "-m", "fullbench", *words], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime < 60
    assert used.ru_maxrss < 1 << 20
    tables = json.loads(done.stdout)
    assert len(tables) == JUDGES
    for table in tables:
        means = {row[1]: row[2] for row in table["rows"]}
        assert [row[1] for row in table["rows"]] == [f"model-{number:02d}" for number in reversed(range(CONTESTANTS))]
        assert {mean["n"] for mean in means.values()} == {items}
        assert means["model-12"]["value"] == pytest.approx(3.0, abs=0.02)
