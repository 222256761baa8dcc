"""The synthetic benchmark as a benchmark: reproducible cases, and tables that recover what was planted."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from scipy import stats

from fullbench.analysis.boards.leaderboard import leaderboard_tables as leaderboards
from fullbench.benchmarks.synthetic.benchmark_definitions import build_synthetic_benchmark, synthetic_benchmark
from fullbench.core.benchmark import Benchmark
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.synthetic.benchmark_judges_with_planted_faults import FAVOURITE, build_simulated_judges


@pytest.fixture(scope="module")
def tables(heard):
    bench, _, record = heard
    return {table.name: table for table in bench.tables(record)}


def rows(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def cell(table, **where):
    [row] = [row for row in rows(table) if all(str(row[k]).startswith(v) for k, v in where.items())]
    return row


def test_it_is_a_benchmark_like_any_other():
    assert isinstance(synthetic_benchmark, Benchmark)
    assert [item.key for item in synthetic_benchmark.items()] == [
        item.key for item in build_synthetic_benchmark().items()
    ]
    with pytest.raises(InputError, match="leave out the source"):
        synthetic_benchmark.items(Path("somewhere"))


def test_naming_the_benchmark_loads_nothing_heavy():
    program = "import sys, fullbench.benchmarks.synthetic.benchmark_definitions; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout.split()
    assert "fullbench.benchmarks.synthetic.benchmark_definitions" in loaded
    assert not {"numpy", "scipy", "PIL"} & set(loaded)


def test_cases_are_the_same_again_and_none_is_heard_twice(heard):
    bench, cases, record = heard
    again = bench.cases(list(record.items.values()), list(record.responses.values())[::-1])
    assert [case.key for case in again] == [case.key for case in cases]
    assert len({case.key for case in cases}) == len(cases)
    assert Counter(case.ballot.spec for case in cases) == {"score:1-5": 360, "choice+tie": 1800, "ranking": 120}


def test_trials_are_the_same_cases_again(heard):
    bench, cases, record = heard
    twice = list(bench.cases(list(record.items.values()), record.responses.values(), trials=2))
    assert len(twice) == 2 * len(cases)
    assert {case.key for case in twice} == {case.key for case in cases}


def test_every_place_is_everyones(heard):
    _, cases, _ = heard
    pairs = Counter(case.contestants[0] for case in cases if len(case.contestants) == 2)
    assert set(pairs.values()) == {300}
    ranked = [case.contestants for case in cases if len(case.contestants) == 4]
    assert all(names[::-1] in ranked for names in ranked)
    assert len(set(ranked)) > 60


def test_every_judge_rules_and_its_words_name_no_contestant(heard):
    bench, cases, record = heard
    assert len(record) == len(cases) * len(bench.judges())
    names = {model.name for model in bench.contestants()}
    assert not any(name in verdict.text for verdict in record for name in names)


def test_planted_numbers_are_recovered(tables):
    table = tables["planted"]
    inside = Counter(table.column("inside"))
    assert inside["yes"] + inside["no"] == len(table.rows) > 10
    assert inside["yes"] >= stats.binom.ppf(0.001, len(table.rows), 0.95)
    for judge, what in (("first", "position"), ("long", "length"), ("lenient", "leniency"), ("ego", "ego")):
        row = cell(table, judge=judge, what=what)
        assert row["recovered"].low > 0, row
        assert row["recovered"].value == pytest.approx(row["planted"], rel=0.35)
    assert cell(table, judge="blind", what="picture use")["recovered"].high < 0.3


def test_what_was_not_planted_is_seldom_flagged(tables):
    table = tables["unplanted"]
    flagged, chances = sum(table.column("flagged")), sum(table.column("judges without it"))
    assert chances >= 30
    assert flagged <= stats.binom.ppf(0.999, chances, 0.05)


def test_the_leaderboard_is_the_designed_one(tables):
    boards = [table for name, table in tables.items() if name.startswith("leaderboard")]
    assert [table.name.partition("@")[0] for table in boards] == ["leaderboard truth", "leaderboard accurate"]
    for table in boards:
        assert set(table.column("contestant")[:2]) == {"synthetic/keen", "synthetic/wordy"}
        assert table.column("contestant")[-1] == "synthetic/blind"
        assert all(estimate.low < estimate.value < estimate.high for estimate in table.column("rating"))


def test_each_judge_has_a_leaderboard_of_its_own(heard, tables):
    table = tables["means"]
    assert table.column("judge")[0] == "truth"
    assert set(table.column("judge")) == set(heard[2].judges)
    assert set(table.columns[1:3]) == {"synthetic/keen", "synthetic/wordy"}
    ego, accurate = (cell(table, judge=label)[FAVOURITE] for label in ("ego", "accurate"))
    assert ego > accurate + 0.3


def test_the_length_judge_prefers_the_wordy_and_long_words_leans_that_way(heard):
    boards = {name: leaderboards(heard[2].where(judge=name))[0] for name in heard[2].judges}
    won = {name: cell(board, contestant="synthetic/wordy")["matches won"] for name, board in boards.items()}
    assert won["length"].value > 0.9
    assert next(share for name, share in won.items() if name.startswith("long")).low > won["truth"].high


def test_marks_stay_on_their_scale(tables):
    for name, low, high in (("tasks", 1, 5),):
        for row in tables[name].rows:
            assert all(low <= one.low <= one.value <= one.high <= high for one in row[1:])


def test_agreement_ranks_the_judges_by_their_faults(tables):
    table = tables["agreement"]
    error = {row["judge"].partition("@")[0]: row["score error"].value for row in rows(table)}
    assert error["accurate"] < error["noisy"] < error["blind"]
    assert error["lenient"] > 2 * error["accurate"] - 0.02
    right = {row["judge"].partition("@")[0]: row["pairs, no ties"] for row in rows(table)}
    assert right["accurate"].low > right["noisy"].high > 0.8
    for name in ("blind", "chance?seed=7"):
        assert right[name].value == pytest.approx(0.5, abs=0.05)
    flips = {row["judge"].partition("@")[0]: row["swap flips"].value for row in rows(table)}
    assert flips["length"] == 0
    assert flips["first-place"] > flips["accurate"] + 0.1


def test_faults_are_counted_and_never_marked(heard, tables):
    _, cases, record = heard
    row = cell(tables["unusable"], judge="sloppy")
    assert row["refused"] + row["unreadable"] == round(row["share unusable"].value * len(cases)) > 0
    assert row["share unusable"].low < row["planted"] < row["share unusable"].high
    assert all(verdict.marks is None for verdict in record if verdict.fault)
    for judge in build_simulated_judges(7):
        if not judge.biases.unusable_share:
            assert cell(tables["unusable"], judge=judge.name)["share unusable"].value == 0


def test_tables_say_what_made_them_and_hold_no_empty_ones(heard, tables):
    _, _, record = heard
    for table in tables.values():
        assert table.rows
        assert table.source["seed"] == 7
        assert table.source["judges"] == record.judges
    assert synthetic_benchmark.tables(Record(())) == []
    without = record.where(lambda verdict: verdict.judge != "truth")
    assert "agreement" not in {table.name for table in synthetic_benchmark.tables(without)}
