"""A contestant that always gives the same answer has infinite alignment and its own quadrant."""

from __future__ import annotations

import math
import random
from statistics import fmean, pstdev

import pytest

from fullbench import Case, Item, Response, Score, Verdict
from fullbench.benchmarks.alignmmbench.quality_and_consistency_quadrants import INFINITE, build_quadrant_table
from fullbench.benchmarks.alignmmbench.tables import tables
from fullbench.core.verdict_record import Record

MARKS = {
    "rock": lambda seed, variant: 6 + seed % 3,
    "good": lambda seed, variant: 7 + (seed + variant) % 3,
    "wild": lambda seed, variant: 1 + (3 * seed + 4 * variant) % 9,
    "meek": lambda seed, variant: 2 + (seed + variant) % 2,
    "good without image": lambda seed, variant: 1 + (seed + variant) % 4,
}


def record(marks=MARKS, seeds=8, variants=4):
    verdicts, items, responses = [], {}, {}
    tasks = ["Counting", "OCR", "Chart", "Writing"]
    for seed in range(seeds):
        for variant in range(variants):
            tags = {"task": tasks[seed % 4], "seed": str(seed), "variant": str(variant)}
            item = Item.ask(f"{seed}-{variant}", f"问题 {seed} {variant}?", reference="r", tags=tags)
            items[item.id] = item
            for name, mark in marks.items():
                response = Response.say(item.id, name, f"{name} {seed} {variant}")
                responses[item.id, name] = response
                case = Case(item, (response,), Score(1, 10))
                verdicts.append(Verdict.from_case(case, "critic", (float(mark(seed, variant)),)))
    return Record(tuple(verdicts), items, responses)


def aligned(mark, seeds=8, variants=4) -> float:
    spreads = [pstdev([mark(seed, variant) for variant in range(variants)]) for seed in range(seeds)]
    return math.inf if not sum(spreads) else seeds / sum(spreads)


def by_name(table, figure="alignment"):
    return dict(zip(table.column("contestant"), table.column(figure), strict=True))


def test_the_steady_one_is_shown_placed_and_moves_the_medians():
    found = {table.name: table for table in tables(record())}
    table = found["quadrants critic"]
    shown = by_name(table)
    assert shown["rock"] == INFINITE
    for name in ("good", "wild", "meek"):
        assert getattr(shown[name], "value", shown[name]) == pytest.approx(aligned(MARKS[name]))
    assert by_name(table, "quadrant") == {
        "rock": "Robust Convergence", "good": "Component-Centric", "wild": "Baseline Limited",
        "meek": "Alignment-Driven", "good without image": None,
    }  # fmt: skip
    assert any("control without pictures" in note for note in table.notes)
    assert (
        found["averages critic"].column("alignment")[found["averages critic"].column("contestant").index("rock")]
        == INFINITE
    )
    assert any("the score is infinite" in note for note in found["averages critic"].notes)


def test_medians_are_over_contestants_with_pictures_infinity_among_them():
    rows = [("a", 8.0, INFINITE), ("b", 6.0, 2.0), ("c", 4.0, 1.0), ("d", 2.0, 0.5), ("x without image", 9.0, 9.0)]
    table = build_quadrant_table(rows)
    assert table.column("quadrant") == [
        "Robust Convergence", "Robust Convergence", "Baseline Limited", "Baseline Limited", None,
    ]  # fmt: skip
    assert "Split at Avg 5.00 and alignment 1.50 (the medians of these 4)" in table.notes[0]


def test_where_half_are_infinite_the_line_is_the_last_number_below():
    table = build_quadrant_table([("a", 8.0, INFINITE), ("b", 6.0, INFINITE), ("c", 4.0, 1.0), ("d", 2.0, 0.5)])
    assert "alignment 1.00" in table.notes[0]
    assert table.column("quadrant") == [
        "Robust Convergence", "Robust Convergence", "Alignment-Driven", "Baseline Limited",
    ]  # fmt: skip
    every = build_quadrant_table([("a", 8.0, INFINITE), ("b", 6.0, INFINITE)])
    assert "alignment ∞" in every.notes[0]
    assert every.column("quadrant") == ["Robust Convergence", "Alignment-Driven"]


def test_few_reworded_seeds_have_a_value_without_an_interval():
    """One seed wavers, all others do not: no interval has an upper end, and the value is shown all the same."""
    marks = {"calm": lambda seed, variant: 5 + (seed == 0 and variant == 0), "other": MARKS["wild"]}
    found = {table.name: table for table in tables(record(marks, seeds=4))}
    shown = dict(
        zip(found["averages critic"].column("contestant"), found["averages critic"].column("alignment"), strict=True)
    )
    value = getattr(shown["calm"], "value", shown["calm"])
    assert value == pytest.approx(aligned(marks["calm"], seeds=4))


def test_random_marks_have_the_papers_score():
    rng = random.Random(3)
    drawn = {(seed, variant): rng.randint(1, 10) for seed in range(10) for variant in range(5)}
    marks = {"any": lambda seed, variant: drawn[seed, variant], "other": MARKS["good"]}
    found = {table.name: table for table in tables(record(marks, seeds=10, variants=5))}
    table = found["quadrants critic"]
    shown = by_name(table)
    spread = fmean(pstdev([drawn[seed, variant] for variant in range(5)]) for seed in range(10))
    assert shown["any"].value == pytest.approx(1 / spread)
