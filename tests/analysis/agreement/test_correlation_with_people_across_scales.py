"""A judge's marks on one scale beside people's on another, against scipy on rows of their own making."""

from __future__ import annotations

import random
from collections import defaultdict
from statistics import fmean

import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from fullbench import Record, Verdict
from fullbench.analysis.agreement import (
    correlation_with_people_across_scales,
    count_of_verdicts_excluded_by_ballot_mismatch,
)
from fullbench.analysis.judge_card import build_card
from fullbench.analysis.standard_verdict_tables import verdict_tables
from fullbench.columns.column_builder import columns_from_verdicts

RATERS = ("安", "bo", "cy")


def verdict(judge, place, ballot, mark, **more):
    item, contestant, sample = place
    case = f"{item}/{contestant}/{sample}/{ballot}"
    return Verdict(case, judge, item, (contestant,), ballot, marks=(mark,), samples=(sample,), **more)


def made():
    """A total from 0 to 1 and an expected mark from 1 to 5 beside three people's whole marks, two answers each; on some
    answers people used the total's scale, too, and those are compared there."""
    rng = random.Random(4)
    verdicts, totals, expected, votes, shared = [], {}, {}, defaultdict(list), set()
    for number in range(24):
        for contestant in ("ace", "mid", "贝塔"):
            for sample in (0, 1):
                place, worth = (f"题{number}", contestant, sample), rng.gauss(3, 1)
                totals[place] = min(1.0, max(0.0, (worth - 1) / 4 + rng.gauss(0, 0.2)))
                expected[place] = min(5.0, max(1.0, worth + rng.gauss(0, 0.7)))
                verdicts.append(verdict("rubric:total", place, "real:0-1", totals[place]))
                verdicts.append(verdict("expects", place, "real:1-5", expected[place]))
                for rater in RATERS:
                    mark = float(min(5, max(1, round(worth + rng.gauss(0, 0.5)))))
                    votes[place].append(mark)
                    verdicts.append(verdict("human", place, "score:1-5", mark, rater=rater))
                if number < 4:
                    shared.add(place)
                    verdicts.append(verdict("human", place, "real:0-1", (mark - 1) / 4, rater="dee"))
    return Record(tuple(verdicts)), totals, expected, votes, shared


def rows_of(table):
    names = [str(column) for column in table.columns]
    return {(row[0], row[names.index("the other's ballots")]): dict(zip(names, row, strict=True)) for row in table.rows}


def test_correlations_are_those_of_scipy_on_what_is_on_another_scale_alone():
    record, totals, expected, votes, shared = made()
    found = rows_of(correlation_with_people_across_scales.correlation_table(columns_from_verdicts(record)))
    assert set(found) == {("rubric:total", "score:1-5"), ("expects", "score:1-5"), ("expects", "real:0-1")}
    for judge, own, left in (("rubric:total", totals, shared), ("expects", expected, set())):
        places = [place for place in own if place not in left]
        ours, theirs = [own[place] for place in places], [fmean(votes[place]) for place in places]
        row = found[judge, "score:1-5"]
        assert row["n"] == len(places)
        for name, figure in (("Pearson", pearsonr), ("Spearman", spearmanr), ("Kendall", kendalltau)):
            assert row[name].value == pytest.approx(figure(ours, theirs).statistic)
            assert row[name].low < row[name].value < row[name].high
            assert row[name].units == len({place[0] for place in places})
        if judge == "rubric:total":
            assert row["error"] is None, "no distance between two units"
        else:
            distances = [abs(one - two) for one, two in zip(ours, theirs, strict=True)]
            assert row["error"].value == pytest.approx(fmean(distances))
    assert found["expects", "real:0-1"]["n"] == len(shared)


def test_what_is_compared_on_another_scale_is_not_counted_as_compared_with_nothing():
    record, *_ = made()
    pair = Verdict("q", "rubric:total", "题1", ("ace", "mid"), "choice", marks=(1.0, 0.0))
    people = Verdict("p", "human", "题1", ("ace", "mid"), "choice+tie", marks=(0.5, 0.5), rater="bo")
    columns = columns_from_verdicts(Record((*record.verdicts, pair, people)))
    assert [
        row[-1] for row in count_of_verdicts_excluded_by_ballot_mismatch.uncompared_verdicts_table(columns).rows
    ] == [1], "choices with and without ties stay apart"
    names = {table.name for table in verdict_tables(columns)}
    assert {"other scales", "not compared", "agreement scores"} <= names


def test_a_card_says_how_its_marks_go_with_people_on_their_scale():
    record, *_ = made()
    lone = Record(tuple(v for v in record.verdicts if v.ballot != "real:0-1" or v.judge != "human"))
    (table,) = [t for t in build_card(lone, "rubric:total").sections["Agreement"] if t.name == "other scales"]
    lead = build_card(lone, "rubric:total").lead
    assert f"Pearson of its marks with people's on another scale (score:1-5) is {table.rows[0][3]}." in lead
    assert "agreement cannot be computed" not in lead
