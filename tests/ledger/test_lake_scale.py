"""Lakes of many verdicts: bytes of each, and what a leaderboard of ten millions takes."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys

import pytest
from pyarrow.parquet import ParquetFile

from fullbench import Case, Item, Ledger, Response, Score, Verdict
from fullbench.columns.builder import KIND, REAL, WHOLE
from fullbench.ledger.lake import writing
from fullbench.ledger.lake.stores import Folder
from fullbench.nouns.call import Call, Usage
from tests.ledger.generated import CONTESTANTS, JUDGES, lake_of

NARROW = {*KIND, *WHOLE, *REAL, "case_key", "item", "marks"}


@pytest.mark.slow
def test_a_verdict_takes_at_most_120_bytes_beside_its_exchange_and_40_in_narrow_columns(tmp_path):
    rng = random.Random(3)
    at = 1.7e9
    with Ledger(tmp_path / "x.ledger", durability="process") as ledger:
        for number in range(4_000):
            item = Item.ask(f"item-{number}", "几条腿？")
            case = Case(item, (Response.say(item.id, rng.choice("abc"), f"{rng.random()}"),), Score(1, 5))
            ledger.add(case)
            for judge in ("one", "two", "three"):
                at += rng.expovariate(50)
                used = Usage(1, 0, rng.randint(500, 1500), rng.randint(5, 90), rng.randint(1, 400) / 1e6, rng.random())
                prompt, name = (f"{rng.getrandbits(128):032x}" for _ in range(2))
                call = Call(name, f"because {rng.random()}", prompt=prompt, usage=used, at=at)
                rest = {"text": call.text, "prompt": prompt, "usage": used, "at": at, "exchanges": (call,)}
                ledger.add(Verdict.of(case, judge, [rng.randint(1, 5)], **rest))
        entry = writing.write(ledger, Folder(tmp_path / "lake")).entry
    (segment,) = (segment for segment in entry.segments if segment.table == "verdicts")
    narrow = 0
    with ParquetFile(tmp_path / "lake" / segment.file) as file:
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            columns = (group.column(place) for place in range(group.num_columns))
            narrow += sum(column.total_compressed_size for column in columns if column.path_in_schema in NARROW)
    assert segment.rows == 12_000
    assert segment.bytes / segment.rows < 120
    assert narrow / segment.rows < 40


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
