"""Columns are the same from a record, SQLite, PostgreSQL and Parquet, and so are the tables made of them."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.agreement.between_judges import judge_agreement_table
from fullbench.analysis.agreement.judges_with_people import winner_index
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.columns.columns_from_parquet import read_parquet_columns
from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.model_call import Usage
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import write_verdicts
from fullbench.ledger.ledger import Ledger
from tests.support.measured_command import run_measured

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
        if judge == "k" or (judge == "j" and trial):
            usage = replace(usage, cached=draw.randrange(100), counted=100)
        ruling = "refused" if draw.random() < 0.1 else _marks(draw, case)
        yield Verdict.from_case(case, judge, ruling, usage=usage, text="because 因为")


def _marks(draw, case):
    if isinstance(case.ballot, Score):
        return [float(draw.randrange(1, 6))]
    if isinstance(case.ballot, Choice):
        return draw.choice([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    return draw.sample([1.0, 2.0, 3.0], 3)


@pytest.fixture(scope="module")
def record(ledger):
    with Ledger(ledger, read_only=True) as opened:
        return opened.record()


@pytest.fixture(scope="module", params=["ledger", "parquet", "folder"])
def columns(request, ledger, tmp_path_factory):
    with Ledger(ledger, read_only=True) as opened:
        if request.param == "ledger":
            return opened.columns()
        folder = tmp_path_factory.mktemp("export")
        if request.param == "folder":
            for judge in ("j", "k", "unpriced"):
                write_verdicts(folder / f"{judge}.parquet", opened.verdicts(judge))
            return read_parquet_columns(folder)
        write_verdicts(folder / "all.parquet", opened.verdicts())
        return read_parquet_columns(folder / "all.parquet")


def test_columns_are_the_same_from_every_source_and_small(columns, record):
    assert columns.has_same_verdicts(columns_from_verdicts(record))
    assert columns.nbytes < 100 * len(columns)
    assert not columns.has_same_verdicts(columns_from_verdicts(record.where(judge="j")))


def test_names_may_hold_any_character(tmp_path):
    """What a name holds is never taken for what stands between two names, in whatever store."""
    odd = ("a\x1fb", "a", "b\x1fc", 'q"uote', "back\\slash", "new\nline", "zero\0", "名,字", "[1]", "'", "\U0001f600")
    item = Item.ask("i\x1f1", "?")
    said = [Response.say(item.id, name, "x") for name in odd]
    # Joined by the separator of an earlier release, the first two judges' kinds would be one.
    judges = [("j", "c\x1fd"), ("j\x1fc", "d"), *((name, name) for name in odd)]
    ruled = [
        Verdict.from_case(
            Case(item, (one, two), Choice(tie=True), criterion, 0), judge, [1.0, 0.0], usage=Usage(), text=""
        )
        for judge, criterion in judges
        for one, two in pairwise(said)
    ]
    with Ledger(tmp_path / "x.ledger") as opened:
        opened.add(*ruled)
        columns = opened.columns()
    assert len(columns) == len(ruled)
    assert columns.has_same_verdicts(columns_from_verdicts(ruled))
    assert set(columns.names["contestant"]) == set(odd)
    write_verdicts(tmp_path / "x.parquet", ruled)
    assert read_parquet_columns(tmp_path / "x.parquet").has_same_verdicts(columns)


def test_costs_count_what_came_from_caches_by_those_who_said_it(columns, record):
    """One judge says it always, one of half of its calls, one never."""
    shown = standard_verdict_tables.cost_table(columns)
    names = [column.key for column in shown.typed_columns]
    for judge in ("j", "k", "unpriced"):
        used = [verdict.usage for verdict in record if verdict.judge == judge]
        said = [usage for usage in used if usage.cached is not None]
        row = dict(zip(names, next(row for row in shown.rows if row[0] == judge), strict=True))
        assert row["tokens in"] == sum(usage.tokens_in for usage in used)
        assert row["from cache"] == (sum(usage.cached for usage in said) if said else None)
        share = 100 * sum(usage.cached for usage in said) / sum(usage.tokens_in for usage in used) if said else None
        assert row["from cache %"] == (None if share is None else pytest.approx(share))
    assert [str(note).split(":")[0].split(". ")[0] for note in shown.notes] == [
        "From cache", "For some calls the server did not report its cache",
    ]  # fmt: skip


def test_a_reason_is_read_from_an_export_and_other_texts_are_not(tmp_path):
    item = Item.ask("i", "?")
    case = Case(item, (Response.say("i", "a", "x"),), Score(1, 5))
    ruled = [
        Verdict.from_case(case.at(0), "j", [1.0], usage=Usage(), text="one"),
        Verdict.from_case(case.at(1), "j", "abstained", usage=Usage(), text="no picture"),
        Verdict.from_case(case.at(2), "j", "refused", usage=Usage(), text="I cannot"),
    ]
    write_verdicts(tmp_path / "x.parquet", ruled)
    assert (
        read_parquet_columns(tmp_path / "x.parquet").abstentions
        == {1: "no picture"}
        == columns_from_verdicts(ruled).abstentions
    )


def test_agreement_between_judges_is_that_of_their_pairings(columns, record):
    found = {tuple(row[:3]): row[3:] for row in judge_agreement_table(columns).rows}
    for judge, other in (("j", "k"), ("j", "unpriced"), ("k", "unpriced")):
        pairings = [pairing for pairing in record.against(other) if pairing.verdict.judge == judge]
        scores = [pairing for pairing in pairings if len(pairing.marks) == 1]
        same, r = found[judge, other, "scores"]
        assert same.n == len(scores)
        assert same.value == pytest.approx(np.mean([pairing.marks == pairing.other_marks for pairing in scores]))
        assert r == pytest.approx(np.corrcoef([p.marks[0] for p in scores], [p.other_marks[0] for p in scores])[0, 1])
        for shape, size in (("pairs", 2), ("rankings", 3)):
            met = [pairing for pairing in pairings if len(pairing.marks) == size]
            same, _ = found[judge, other, shape]
            assert same.n == len(met)
            shares = [winner_index(p.marks) == winner_index(p.other_marks) for p in met]
            assert same.value == pytest.approx(np.mean(shares))


def test_what_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_parquet_columns(tmp_path / "gone.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match="could not be read"):
        read_parquet_columns(tmp_path / "bad.parquet")


BIG = """
import json, sys
from fullbench.columns.columns_from_parquet import read_parquet_columns
from fullbench.analysis import standard_verdict_tables as standard
columns = read_parquet_columns(sys.argv[1])
made = standard.verdict_tables(columns)
print(json.dumps([{table.name: len(table.rows) for table in made}, len(columns)]))
"""


def big(path: Path, count: int) -> None:
    """So many verdicts of four judges on five contestants, as an export has them."""
    import duckdb

    duckdb.execute(
        f"COPY (SELECT md5(i::VARCHAR) AS \"case\", 'judge-' || (i % 4) AS judge, 'item-' || (i // 20) AS item, "
        "'[\"m' || (i // 4 % 5) || '\"]' AS contestants, 'score:1-5' AS ballot, 'overall' AS criterion, 0 AS trial, "
        "CASE WHEN hash(i) % 50 > 0 THEN '[' || (hash(i) % 5 + 1) || '.0]' END AS marks, "
        "CASE WHEN hash(i) % 50 = 0 THEN 'unreadable' END AS fault, 1 AS calls, 0 AS retries, 900 AS tokens_in, "
        f"50 AS tokens_out, 0.001 AS dollars, 1.5 AS seconds FROM range({count}) t(i)) TO '{path}' (FORMAT parquet)"
    )


@pytest.mark.slow
def test_a_million_verdicts_need_little_memory(tmp_path):
    big(tmp_path / "big.parquet", 1_000_000)
    done = run_measured(["-c", BIG, str(tmp_path / "big.parquet")], cwd=ROOT)
    rows, count = json.loads(done.stdout)
    assert [rows[f"leaderboard judge-{n}"] for n in range(4)] == [5, 5, 5, 5]
    assert (rows["unusable"], rows["costs"], rows["summary judges"]) == (4, 4, 4)
    assert count == 1_000_000
    assert done.peak_bytes < 900 << 20


def test_tables_without_people_make_no_verdict_objects(ledger):
    """Rows become columns directly, without a `Verdict` for each."""
    made = []

    def note_verdict(frame, event, _):
        if event == "call" and frame.f_code is Verdict.__post_init__.__code__:
            made.append(frame.f_locals["self"])

    with Ledger(ledger, read_only=True) as opened:
        stored = sum(1 for _ in opened.verdicts())
        sys.setprofile(note_verdict)
        try:
            read_back = sum(1 for _ in opened.verdicts())
            objects_of_reading, made = len(made), []
            tables = standard_verdict_tables.verdict_tables(opened.columns())
        finally:
            sys.setprofile(None)
    assert objects_of_reading == read_back == stored > 0, "the profile sees every verdict that is made"
    assert any(table.name.startswith("leaderboard") for table in tables)
    assert not made
