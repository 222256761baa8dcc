"""The figures over a whole ledger are those of the record in memory, and need no more memory when it grows."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from fullbench.studies.lake import lake

from fullbench.errors import InputError
from fullbench.figures import standard
from fullbench.figures.judging import winner
from fullbench.files.nouns import write_verdicts
from fullbench.ledger.store import Ledger
from fullbench.nouns.ballot import Choice, Ranking, Score
from fullbench.nouns.call import Usage
from fullbench.nouns.case import Case
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response
from fullbench.nouns.verdict import Verdict
from fullbench.stats.bootstrap import bootstrap
from fullbench.stats.weighted import mean

ROOT = Path(__file__).parents[2]
NAMES = ("ann", "贝", 'c"d')


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    draw = random.Random(5)
    path = tmp_path_factory.mktemp("lake") / "x.ledger"
    with Ledger(path) as opened:
        for number in range(30):
            item = Item.ask(f"第{number}题", f"question {number}")
            said = [Response.say(item.id, name, f"{name} says {number}") for name in NAMES]
            for judge, trial in product(("j", "k", "unpriced"), (0, 1)):
                opened.add(*_ruled(draw, judge, trial, item, said))
        opened.add_response(item, Response.say(item.id, "paid", "x"), usage=Usage(1, 0, 5, 6, 0.5, 1.0))
    return path


def _ruled(draw, judge, trial, item, said):
    cases = [Case(item, (one,), Score(1, 5), "overall", trial) for one in said]
    cases += [Case(item, (said[0], said[1]), Choice(tie=True), "overall", trial)]
    cases += [Case(item, tuple(reversed(said)), Ranking(), "overall", trial)]
    for case in cases:
        usage = Usage(1, draw.randrange(2), 100, draw.randrange(50), None if judge == "unpriced" else 0.1, 0.7)
        ruling = "refused" if draw.random() < 0.1 else _marks(draw, case)
        yield Verdict.of(case, judge, ruling, usage=usage, text="because 因为")


def _marks(draw, case):
    if isinstance(case.ballot, Score):
        return [float(draw.randrange(1, 6))]
    if isinstance(case.ballot, Choice):
        return draw.choice([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    return draw.sample([1.0, 2.0, 3.0], 3)


@pytest.fixture(scope="module", params=["ledger", "parquet"])
def tables(request, ledger):
    source = ledger
    if request.param == "parquet":
        source = ledger.with_suffix(".parquet")
        with Ledger(ledger, read_only=True) as opened:
            write_verdicts(source, opened.verdicts())
    with lake(str(source)) as opened:
        return {table.name: table for table in opened.tables()}


@pytest.fixture(scope="module")
def record(ledger):
    with Ledger(ledger, read_only=True) as opened:
        return opened.record()


def test_faults_and_costs_are_the_same_tables(tables, record):
    assert tables["faults"] == standard.faults(record)
    ours, theirs = tables["costs"], standard.costs(record)
    assert ours.columns == theirs.columns
    for one, two in zip(ours.rows, theirs.rows, strict=True):
        assert list(one) == [cell if cell is None or isinstance(cell, str) else pytest.approx(cell) for cell in two]


def test_means_and_duels_are_those_of_the_leaderboards(tables, record):
    for judge in record.judges:
        board = standard.leaderboard(record, judge)
        names = board.column("contestant")
        means = dict(zip(names, board.column("mean score:1-5"), strict=True))
        won = dict(zip(names, board.column("duels won"), strict=True))
        mine = {row[2]: row[3] for row in tables["means"].rows if row[0] == judge}
        duels = {row[1]: row[2] for row in tables["duels"].rows if row[0] == judge}
        assert mine.keys() == means.keys() == duels.keys()
        for name in names:
            assert (mine[name].value, mine[name].n) == (pytest.approx(means[name].value), means[name].n)
            assert (duels[name].value, duels[name].n) == (pytest.approx(won[name].value), won[name].n)
            assert duels[name].high - duels[name].low == pytest.approx(won[name].high - won[name].low, rel=0.3)


def test_resampled_intervals_are_those_of_the_report(ledger, record):
    """In one pass, and the same each time."""
    with lake(str(ledger), resamples=3000, seed=1) as opened:
        means, again = opened.means(), opened.means()
        duels, between = opened.duels(), opened.agreement()
    assert means == again
    for judge, _, name, found in means.rows:
        mine = [
            (v.item, v.marks[0]) for v in record.where(judge=judge, fault=None, contestant=name) if len(v.marks) == 1
        ]
        known = bootstrap(mean, [mark for _, mark in mine], cluster=[item for item, _ in mine], resamples=3000)
        near = 0.12 * (known.high - known.low)
        assert (found.low, found.high) == (pytest.approx(known.low, abs=near), pytest.approx(known.high, abs=near))
    methods = {cell.method for table in (means, duels, between) for row in table.rows for cell in row
               if hasattr(cell, "method")}  # fmt: skip
    assert {re.sub(r"\d+ clusters", "clusters", method) for method in methods} == {
        "percentile bootstrap over clusters, 3000 resamples by Poisson weights"
    }


def test_agreement_between_judges_is_that_of_their_pairings(tables, record):
    found = {tuple(row[:3]): row[3:] for row in tables["between judges"].rows}
    for judge, other in (("j", "k"), ("j", "unpriced"), ("k", "unpriced")):
        pairings = [pairing for pairing in record.against(other) if pairing.verdict.judge == judge]
        scores = [pairing for pairing in pairings if len(pairing.marks) == 1]
        same, r = found[judge, other, "scores"]
        assert same.n == len(scores)
        assert same.value == pytest.approx(np.mean([pairing.marks == pairing.other for pairing in scores]))
        assert r == pytest.approx(np.corrcoef([p.marks[0] for p in scores], [p.other[0] for p in scores])[0, 1])
        for shape, size in (("pairs", 2), ("rankings", 3)):
            met = [pairing for pairing in pairings if len(pairing.marks) == size]
            same, _ = found[judge, other, shape]
            assert same.n == len(met)
            assert same.value == pytest.approx(np.mean([winner(p.marks) == winner(p.other) for p in met]))


def test_contestants_bills_come_from_the_ledger_alone(tables, request):
    if "answers" in tables:
        assert next(row for row in tables["answers"].rows if row[0] == "paid")[-1] == 0.5
    else:
        assert "parquet" in request.node.name


def test_what_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="no such file"), lake(str(tmp_path / "gone.parquet")):
        pass
    (tmp_path / "bad.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match="could not be read"), lake(str(tmp_path / "bad.parquet")):
        pass


BIG = """
import json, resource, sys, time
from fullbench.studies.lake import lake
started = time.monotonic()
with lake(sys.argv[1], memory="400MB") as opened:
    made = opened.tables()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([peak / 1024, [len(table.rows) for table in made], made[0].rows[0][1], time.monotonic() - started]))
"""


def big(path: Path, count: int) -> None:
    """So many verdicts of four judges on five contestants, as an export has them."""
    import duckdb

    duckdb.execute(
        f"COPY (SELECT 'judge-' || (i % 4) AS judge, 'item-' || (i // 20) AS item, "
        "'[\"m' || (i // 4 % 5) || '\"]' AS contestants, 'score:1-5' AS ballot, 'overall' AS criterion, 0 AS trial, "
        "CASE WHEN hash(i) % 50 > 0 THEN '[' || (hash(i) % 5 + 1) || '.0]' END AS marks, "
        "CASE WHEN hash(i) % 50 = 0 THEN 'unreadable' END AS fault, 1 AS calls, 0 AS retries, 900 AS tokens_in, "
        f"50 AS tokens_out, 0.001 AS dollars, 1.5 AS seconds FROM range({count}) t(i)) TO '{path}' (FORMAT parquet)"
    )


@pytest.mark.slow
def test_a_million_verdicts_need_little_memory(tmp_path):
    big(tmp_path / "big.parquet", 1_000_000)
    command = [sys.executable, "-c", BIG, str(tmp_path / "big.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    peak, rows, first, _ = json.loads(done.stdout)
    assert rows == [4, 20, 20, 6, 4]
    assert first == 250_000
    assert peak < 900
