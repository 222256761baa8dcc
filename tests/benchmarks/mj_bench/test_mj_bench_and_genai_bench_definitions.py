"""The benchmark as it is run: sample, cases, tables, and what a judge is asked."""

from __future__ import annotations

import pytest

from fullbench.benchmarks.mj_bench import item_picture_and_label_loader, picture_prompt_template_and_rubrics
from fullbench.benchmarks.mj_bench.judging_protocol import can_judge
from fullbench.benchmarks.mj_bench.mj_bench_and_genai_bench_definitions import genai_bench, mj_bench, mj_bench_scales
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import OWN_UNITS, SCALE_BALLOTS
from fullbench.core.ballot import Choice
from fullbench.core.table import Table
from fullbench.judges.scorers.image_statistics import measure_scorer
from fullbench.judges.scorers.scorer_judge import CallableScorer, ScorerJudge
from fullbench.models.local.offline_models_for_tests import OfflineModel
from fullbench.synthetic.perturb.items_from_perturbed_pairs_and_grids import (
    CHOSEN_CONTESTANT,
    PERSPECTIVES,
    REJECTED_CONTESTANT,
)
from fullbench.testing import check_benchmark


@pytest.mark.parametrize("benchmark", [mj_bench, mj_bench_scales, genai_bench], ids=lambda b: b.name)
def test_it_keeps_its_promises(benchmark, tmp_path):
    check_benchmark(benchmark, tmp_path)


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return {table.name: table for table in mj_bench.tables(mj_bench.bring().record)}


def rows(table: Table, **wanted) -> list[dict]:
    found = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return [row for row in found if all(row[key] == value for key, value in wanted.items())]


def test_the_sample_has_every_perspective_and_marks_what_is_sensitive():
    loaded = item_picture_and_label_loader.load_collection(None)
    assert {item.tags["perspective"] for item in loaded.items.values()} == set(PERSPECTIVES)
    veiled = [r for r in loaded.responses if r.tags.get("sensitive")]
    assert {r.contestant for r in veiled} == {REJECTED_CONTESTANT}
    assert all(r.item.startswith("safety") for r in veiled)
    assert len({p.digest for r in loaded.responses for p in r.pictures}) == len(loaded.responses)


def test_a_sharp_eye_finds_the_blur_and_knows_nothing_of_the_prompt(tables):
    for subset in ("defocused", "motion"):
        wanted = {"judge": "sharpness", "way": "single own units", "sub-category": subset}
        (row,) = rows(tables["sub-categories"], **wanted)
        assert row["right"].value == 1.0
    (aligned,) = rows(tables["preferences"], judge="sharpness", perspective="alignment", way="single own units")
    assert aligned["right"].value < 1.0


def test_both_averages_stand_there_under_their_names(tables):
    found = rows(tables["sub-categories"], judge="noise", way="single own units", perspective="quality")
    by_name = {row["sub-category"]: row["right"] for row in found}
    parts = [value.value for name, value in by_name.items() if ":" not in name and "mean" not in name]
    assert by_name["mean of the sub-categories"] == pytest.approx(sum(parts) / len(parts))
    assert by_name["pooled: all rows in one"].n == 8


def test_a_score_judge_is_consistent_and_the_order_study_says_so(tables):
    for row in rows(tables["orders"]):
        assert row["consistent"] == 1.0
        assert row["pair, chosen first"].value == row["pair, chosen second"].value


def test_thresholds_fall_and_a_constant_judge_has_none():
    loaded = item_picture_and_label_loader.load_collection(None)
    items = list(loaded.items.values())
    flat = ScorerJudge(CallableScorer("flat", lambda *_: 5.0))
    sharp = ScorerJudge(measure_scorer("sharpness"))
    cases = list(mj_bench.cases(items, loaded.responses))
    verdicts = [v for judge in (flat, sharp) for v in judge.judge(case for case in cases if can_judge(judge, case))]
    known = {(r.item, r.contestant): r for r in loaded.responses}
    record = item_picture_and_label_loader.Record(tuple(verdicts), loaded.items, known)
    table = {table.name: table for table in mj_bench.tables(record)}
    for about in ("alignment", "quality", "safety"):
        curve = table[f"thresholds {about}"]
        values = [row["right"].value for row in rows(curve, judge="sharpness")]
        assert values == sorted(values, reverse=True)
        (constant,) = rows(curve, judge="flat")
        assert constant["right"] is None
        assert any("constant" in note for note in curve.notes)
    even = rows(table["evenness"], judge="flat", scores="as given")
    assert [row["GES by item"] for row in even] == [1.0]
    assert rows(table["evenness"], judge="flat", scores="stretched to 0..1")[0]["GES by item"] is None


def test_axes_are_shown_both_ways_and_a_biased_judge_is_found():
    """A judge that scores by race alone: regrouped, race is uneven and age is even; the paper's way cannot tell."""
    loaded = item_picture_and_label_loader.load_collection(None)
    worth = {"asian": 2.0, "black": 5.0, "white": 8.0}
    races = {r.pictures[0].digest: r.tags["race"] for r in loaded.responses if "race" in r.tags}
    verdicts = []
    for case in mj_bench.cases(list(loaded.items.values()), loaded.responses):
        if case.ballot.spec == OWN_UNITS:
            continue
        digest = case.responses[0].pictures[0].digest
        if digest in races:
            verdicts.append(item_picture_and_label_loader.Verdict.from_case(case, "unfair", (worth[races[digest]],)))
    known = {(r.item, r.contestant): r for r in loaded.responses}
    table = {
        t.name: t for t in mj_bench.tables(item_picture_and_label_loader.Record(tuple(verdicts), loaded.items, known))
    }["axes"]
    found = {(row["axis"], row["way"]): row for row in rows(table, scores="stretched to 0..1")}
    assert found["age", "regrouped"]["GES"] == pytest.approx(1.0)
    assert found["race", "regrouped"]["ACC"] == 0
    assert found["race", "as the paper"]["GES"] == found["age", "as the paper"]["GES"]


def test_the_scale_study_has_every_scale():
    loaded = item_picture_and_label_loader.load_collection(None)
    judge = ScorerJudge(measure_scorer("sharpness"))
    verdicts = tuple(judge.judge(mj_bench_scales.cases(list(loaded.items.values()), loaded.responses)))
    record = item_picture_and_label_loader.Record(
        verdicts, loaded.items, {(r.item, r.contestant): r for r in loaded.responses}
    )
    table = {table.name: table for table in mj_bench_scales.tables(record)}["scales"]
    for row in rows(table):  # alone, and rated in pairs
        assert all(row[name] is not None for name in SCALE_BALLOTS)
        assert row["[0, 1]"].value >= row["[0, 100]"].value >= row["5 words"].value  # rounding makes ties
    assert [row["way"] for row in rows(table)] == ["single", "pair ratings"]


def test_a_vlm_is_asked_by_the_rubric_sees_both_pictures_and_no_name():
    loaded = item_picture_and_label_loader.load_collection(None)
    cases = list(mj_bench.cases(list(loaded.items.values()), loaded.responses))
    asked = []

    def talk(prompt):
        asked.append(prompt)
        return "Both show it. [[A]]"

    judge = picture_prompt_template_and_rubrics.build_judge(OfflineModel("talker", talk))
    pairs = [case for case in cases if isinstance(case.ballot, Choice)]
    verdicts = list(judge.judge(pairs))
    assert all(verdict.marks == (1.0, 0.0) for verdict in verdicts)
    for case, prompt in zip(pairs, asked, strict=True):
        shown = [part for turn in prompt.turns for part in turn.pictures]
        assert shown == [picture for response in case.responses for picture in response.pictures]
        words = "\n".join(turn.text for turn in prompt.turns)
        assert picture_prompt_template_and_rubrics.CRITERIA[case.criterion] in words
        assert CHOSEN_CONTESTANT not in words
        assert REJECTED_CONTESTANT not in words
