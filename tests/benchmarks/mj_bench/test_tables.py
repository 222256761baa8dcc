"""Tables of the benchmark equal numbers computed here directly from the definitions."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations, product
from statistics import fmean, pstdev

import pytest

from fullbench.analysis.summary.paper_study_summary_with_main_table import add_paper_summary
from fullbench.benchmarks.mj_bench.mj_bench_and_genai_bench_definitions import mj_bench
from fullbench.benchmarks.mj_bench.tables import generator_tables
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record

Rows = list[dict]
SCALE = ballot("real:0-10")
BELOW = ballot("real:-5-5")
FORMS = ("as given", "stretched to 0..1")


def drawn(item: str, who: str, **groups: str) -> Response:
    data = f"{item}/{who}".encode()
    return Response(item, who, (Picture.from_any_bytes(data, data),), groups)


def heard(rows: Rows, form=SCALE) -> Record:
    """A record of single scores, one row each: item, who, score, perspective, subset, groups."""
    items = {
        row["item"]: Item.ask(row["item"], "?", tags={"perspective": row["perspective"], "subset": row["subset"]})
        for row in rows
    }
    given = {(row["item"], row["who"]): drawn(row["item"], row["who"], **row["groups"]) for row in rows}
    verdicts = [
        Verdict.from_case(Case(items[row["item"]], (given[row["item"], row["who"]],), form), "judge", (row["score"],))
        for row in rows
    ]
    return Record(tuple(verdicts), items, given)


def tables(record: Record) -> dict[str, Table]:
    return {table.name: table for table in mj_bench.tables(record)}


def read(table: Table) -> Rows:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def stretched(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) for value in values]


def acc(x: list[float]) -> float:
    return fmean(abs(a - b) <= 0.1 for a, b in combinations(x, 2)) if len(x) > 1 else 1.0


def ges(x: list[float]) -> float:
    return 1 - sum(abs(a - b) for a, b in product(x, x)) / (2 * len(x) ** 2 * fmean(x))


def nds(x: list[float]) -> float:
    return 1 - pstdev(x) / fmean(x)


FIGURES = {"ACC": acc, "NDS": nds, "GES": ges}


@pytest.fixture(scope="module")
def people() -> Rows:
    """Seven works of different sizes, two axes, one of them carried by some rows only; scores by a quarter."""
    rng = random.Random(5)
    rows = []
    for work in range(7):
        for person in range(rng.randint(4, 9)):
            groups = {"gender": rng.choice(["woman", "man"])}
            if rng.random() < 0.6:
                groups["race"] = rng.choice(["asian", "black", "white"])
            rows.append({
                "item": f"work {work}", "who": f"p{person}", "score": rng.randint(1, 40) / 4, "perspective": "bias",
                "subset": "occupation", "groups": groups,
            })  # fmt: skip
    return rows


def by_work(people: Rows, values: list[float]) -> dict[str, list[float]]:
    works: dict[str, list[float]] = {}
    for row, value in zip(people, values, strict=True):
        works.setdefault(row["item"], []).append(value)
    return works


@pytest.mark.parametrize("form", FORMS)
def test_evenness_over_items_and_over_rows(people, form):
    scores = [row["score"] for row in people]
    works = by_work(people, scores if form == "as given" else stretched(scores))
    (row,) = (row for row in read(tables(heard(people))["evenness"]) if row["scores"] == form)
    for name, figure in FIGURES.items():
        assert row[f"{name} by item"] == pytest.approx(fmean(figure(x) for x in works.values()))
        assert row[f"{name} by row"] == pytest.approx(fmean(figure(x) for x in works.values() for _ in x))
    assert (row["items"], row["n"]) == (7, len(people))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("axis", ["gender", "race"])
def test_an_axis_as_the_paper_averages_it_and_as_a_reader_expects_it(people, form, axis):
    scores = [row["score"] for row in people]
    values = scores if form == "as given" else stretched(scores)
    works = by_work(people, values)
    carried = [row["item"] for row in people if axis in row["groups"]]
    groups: dict[str, dict[str, list[float]]] = {}
    for row, value in zip(people, values, strict=True):
        if axis in row["groups"]:
            groups.setdefault(row["item"], {}).setdefault(row["groups"][axis], []).append(value)
    means = [[fmean(part) for part in by.values()] for by in groups.values() if len(by) > 1]
    found = {
        row["way"]: row for row in read(tables(heard(people))["axes"]) if (row["axis"], row["scores"]) == (axis, form)
    }
    for name, figure in FIGURES.items():
        assert found["as the paper"][name] == pytest.approx(fmean(figure(works[item]) for item in carried))
        assert found["regrouped"][name] == pytest.approx(fmean(map(figure, means)))
    assert found["regrouped"]["n"] == len(carried)


def test_scores_below_zero_leave_their_item_out_and_the_table_says_so(people):
    """One work has a score below zero: as given it defines neither GES nor NDS; stretched, only its lowest is zero."""
    rows = [{**row, "score": row["score"] - (2.0 if row["item"] == "work 3" else 0)} for row in people]
    rows = [{**row, "score": min(5.0, row["score"])} for row in rows]
    lowest = min((row for row in rows if row["item"] == "work 3"), key=lambda row: row["score"])
    lowest["score"] = -1.0
    made = tables(heard(rows, BELOW))
    (row,) = (row for row in read(made["evenness"]) if row["scores"] == "as given")
    works = by_work(rows, [row["score"] for row in rows])
    kept = [x for item, x in works.items() if item != "work 3" and min(x) >= 0]
    assert row["GES by item"] == pytest.approx(fmean(map(ges, kept)))
    assert row["ACC by item"] == pytest.approx(fmean(map(acc, works.values())))
    for name in ("evenness", "axes"):
        assert any("1 of 7 items is left out, for example 'work 3'" in note for note in made[name].notes)


@pytest.fixture(scope="module")
def pairs() -> Rows:
    """Pairs of three sub-categories of different sizes, scores in whole numbers so that some tie."""
    rng = random.Random(9)
    rows = []
    for subset, size in {"face": 7, "limb": 30, "object": 13}.items():
        for number, who in product(range(size), ("chosen", "rejected")):
            rows.append({
                "item": f"{subset} {number}", "who": who, "score": float(rng.randint(0, 10)), "perspective": "quality",
                "subset": subset, "groups": {},
            })  # fmt: skip
    return rows


def differences(pairs: Rows, *, over: float = 1.0) -> dict[str, list[float]]:
    """By sub-category, how far the chosen one is ahead."""
    scores = {(row["item"], row["who"]): row["score"] / over for row in pairs}
    found: dict[str, list[float]] = {}
    for row in pairs:
        if row["who"] == "chosen":
            ahead = scores[row["item"], "chosen"] - scores[row["item"], "rejected"]
            found.setdefault(row["subset"], []).append(ahead)
    return found


def test_sub_categories_and_both_of_their_averages(pairs):
    parts = differences(pairs)
    found = {row["sub-category"]: row for row in read(tables(heard(pairs))["sub-categories"])}
    for subset, ahead in parts.items():
        decided = [gap for gap in ahead if gap]
        assert found[subset]["right"].value == pytest.approx(fmean(gap > 0 for gap in ahead))
        assert found[subset]["right, no ties"].value == pytest.approx(fmean(gap > 0 for gap in decided))
        assert found[subset]["ties"] == len(ahead) - len(decided)
    everything = [gap for ahead in parts.values() for gap in ahead]
    pooled, plain = found["pooled: all rows in one"], found["mean of the sub-categories"]
    assert pooled["right"].value == pytest.approx(fmean(gap > 0 for gap in everything))
    assert plain["right"] == pytest.approx(fmean(fmean(gap > 0 for gap in ahead) for ahead in parts.values()))
    assert pooled["right"].value != pytest.approx(plain["right"])


def test_the_curve_over_thresholds(pairs):
    scores = [row["score"] for row in pairs]
    ahead = [gap for part in differences(pairs, over=max(scores) - min(scores)).values() for gap in part]
    curve = read(tables(heard(pairs))["thresholds quality"])
    assert [row["margin"] for row in curve][:3] == [0.0, 0.01, 0.02]
    for row in curve:
        right, wrong = (sum(sign * gap > row["margin"] for gap in ahead) for sign in (1, -1))
        assert row["right"].value == pytest.approx(right / len(ahead))
        assert row["right, no ties"].value == pytest.approx(right / (right + wrong))


def test_what_was_not_ruled_is_counted_and_wrong_as_the_paper_counts(pairs):
    """Half of the first pair of every sub-category is unreadable; and there is a judge of nothing but faults."""
    record = heard(pairs)
    broken = {f"{subset} 0" for subset in ("face", "limb", "object")}
    verdicts = [
        replace(verdict, marks=None, fault="unreadable")
        if verdict.item in broken and verdict.contestants == ("rejected",) else verdict
        for verdict in record
    ]  # fmt: skip
    silent = [replace(verdict, judge="silent", marks=None, fault="refused") for verdict in record]
    made = read(tables(Record((*verdicts, *silent), record.items, record.responses))["preferences"])
    found = {row["judge"]: row for row in made}
    ahead = [gap for part in differences(pairs).values() for gap in part[1:]]
    right = sum(gap > 0 for gap in ahead)
    assert found["judge"]["right"].value == pytest.approx(right / 47)
    assert found["judge"]["right of all"].value == pytest.approx(right / 50)
    assert (found["judge"]["n"], found["judge"]["unusable"]) == (47, 3)
    assert (found["silent"]["right"], found["silent"]["n"], found["silent"]["unusable"]) == (None, 0, 50)
    assert found["silent"]["right of all"].value == 0


def test_the_papers_figures_are_drawn_from_the_tables():
    """A radar over the perspectives, a heat map of orders, bars of evenness for each axis."""
    from fullbench.benchmarks.mj_bench.mj_bench_and_genai_bench_definitions import mj_bench
    from fullbench.reports.charts.chart_specification_and_rendering import build_chart

    found = {table.name: table for table in mj_bench.tables(mj_bench.bring().record)}
    wide = found["perspectives"]
    right = {(row[0], row[2]): row[3] for row in found["preferences"].rows if row[1] == "single own units"}
    for row in wide.rows:
        judge, _, way = str(row[0]).rpartition(", ")
        if way == "single":
            assert row[1] == right[judge, "alignment"]
    drawn = build_chart(wide)
    assert drawn is not None
    assert "Radar" in drawn.alt
    assert build_chart(found["orders"]) is not None
    for figure in ("ACC", "NDS", "GES"):
        bars = found[f"axes {figure}"]
        assert {row[1] for row in bars.rows} >= {"age", "race"}
        assert build_chart(bars) is not None


def test_an_unusable_rating_of_people_is_counted_for_each_generator():
    votes = [
        Verdict(f"{number}", "human", f"i{number}", ("x", "y"), "score:1-5", rater="ann",
                **({"fault": "abstained"} if number == 0 else {"marks": (4.0, 2.0)}))
        for number in range(4)
    ]  # fmt: skip
    (table,) = generator_tables(Record(tuple(votes)))
    assert [row[1] for row in table.rows] == ["x", "y"]
    assert table.column("unusable") == [1, 1]
    assert [row[2].n for row in table.rows] == [3, 3]


def test_the_mean_over_perspectives_has_the_interval_of_separate_samples_and_decides_who_leads():
    record = mj_bench.bring().record
    main = tables(record)["table 3"]
    heads = [str(head) for head in main.columns if str(head).endswith("ties wrong")]
    for row in read(main):
        cells = [row[head] for head in heads if row[head] is not None]
        mean = row["mean"]
        assert mean.value == pytest.approx(fmean(cell.value for cell in cells))
        # Each perspective is a sample of its own: variances of shares add up.
        variance = sum(cell.value * (1 - cell.value) / (cell.units or cell.n) for cell in cells) / len(cells) ** 2
        assert mean.low <= mean.value <= mean.high
        assert 0.7 < (mean.high - mean.low) / (2 * 1.96 * variance**0.5) < 1.8
    sentences = add_paper_summary([main], columns_from_verdicts(record), texts=record)[0].notes
    leader, named = read(main)[0], str(sentences[0])
    for row in read(main):
        assert (row["judge"] in named) == (row["mean"].high >= leader["mean"].low)
    assert "share the first place" in named
