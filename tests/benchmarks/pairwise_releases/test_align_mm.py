"""AlignMMBench: every figure that the released data allow, against independently computed and printed ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from sklearn.metrics import mean_absolute_error

from fullbench.analysis.agreement.critic_with_people import SCALES, critic_metrics
from fullbench.benchmarks.alignmmbench import release_files, reproduce
from fullbench.benchmarks.alignmmbench.benchmark_definition import align_mm
from fullbench.benchmarks.alignmmbench.task_names import CATEGORIES, TASKS
from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.files.row_readers import read_rows

DATA = Path(__file__).parents[3] / ".." / "shared" / "data" / "alignmmbench"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the released data are not at {DATA}")
FILES = [DATA / name for name in ("expected.json", "expected_more.json")]
EXPECTED = [cell for file in FILES if file.is_file() for cell in json.loads(file.read_text())["checks"]]


@pytest.fixture(scope="module")
def reproduction() -> Reproduction:
    return align_mm.reproduce(DATA)


@pytest.fixture(scope="module")
def made(reproduction: Reproduction) -> dict[str, Reproduced]:
    assert len({cell.id for cell in reproduction.cells}) == len(reproduction.cells)
    return {cell.id: cell for cell in reproduction.cells}


@needs_data
@pytest.mark.parametrize("wanted", EXPECTED, ids=lambda cell: cell["id"])
def test_a_cell_is_what_independent_code_computed(wanted: dict[str, Any], made: dict[str, Reproduced]):
    assert made[wanted["id"]].value == pytest.approx(wanted["recomputed"], abs=wanted["impl_tol"])


@needs_data
@pytest.mark.parametrize("wanted", [cell for cell in EXPECTED if cell["published"]], ids=lambda cell: cell["id"])
def test_a_cell_is_near_what_the_paper_prints(wanted: dict[str, Any], made: dict[str, Reproduced]):
    ours = made[wanted["id"]]
    assert ours.value == pytest.approx(wanted["published"], abs=wanted["published_tol"])
    assert ours.paper == pytest.approx(wanted["published"], abs=wanted["published_tol"])


@needs_data
def test_every_family_is_complete(made: dict[str, Reproduced]):
    models = set(reproduce.printed_averages())
    assert len(models) == 17
    for family in ("avg", "micro_avg"):
        assert {name.removeprefix(f"{family}/") for name in made if name.startswith(f"{family}/")} == models
    tasks = {name.removeprefix("count/task/") for name in made if name.startswith("count/task/")}
    assert tasks == {task.name for task in TASKS}
    assert len(tasks) == 13
    assert {f"count/category/{name}" for name in CATEGORIES} <= set(made)
    for name in ("questions", "images", "seeds", "single_question_seeds"):
        assert f"count/{name}" in made


@needs_data
def test_all_averages_follow_from_the_task_scores(made: dict[str, Reproduced]):
    """Monkey-Chat's 4.706 is printed as 4.70: one hundredth of rounding is all that is amiss."""
    for model, average in reproduce.printed_averages().items():
        assert made[f"avg/{model}"].paper == average
        assert made[f"avg/{model}"].value == pytest.approx(average, abs=0.0101)


@needs_data
def test_the_parts_add_up(made: dict[str, Reproduced]):
    whole = made["count/questions"].value
    assert sum(made[f"count/task/{task.name}"].value for task in TASKS) == whole == 4978
    assert sum(made[f"count/category/{name}"].value for name in CATEGORIES) == whole
    assert made["count/single_turn"].value + made["count/multi_turn"].value == whole


@needs_data
def test_one_variant_seeds_are_the_dialogues():
    """The paper rewrites single-turn seeds only, so no dialogue enters the alignment score."""
    questions = release_files.read_questions(DATA)
    variants: dict[str, list[release_files.Question]] = {}
    for question in questions:
        variants.setdefault(question.seed, []).append(question)
    alone = [found[0] for found in variants.values() if len(found) == 1]
    assert len(alone) == 271
    assert {question.task.category for question in alone} == {"Dialogue Context"}
    assert all(question.history for question in alone)


@needs_data
def test_what_was_odd_is_said(reproduction: Reproduction):
    said = {row[1]: row[0] for table in reproduction.tables if table.name == "oddities" for row in table.rows}
    assert next(count for what, count in said.items() if "one wording only" in what) == 271
    assert next(count for what, count in said.items() if "two wordings are the same" in what) == 5
    assert next(count for what, count in said.items() if "share their picture" in what) == 2


@needs_data
def test_gpt4o_does_not_lead_as_the_paper_says():
    """Section 5.3.1 has GPT-4o first and CogVLM2 second; Table 3 has Qwen2-VL, Claude, GPT-4o, CogVLM2."""
    ranked = sorted(reproduce.read_printed_scores(DATA), key=lambda row: -row.average)
    assert [row.model for row in ranked[:4]] == ["Qwen2-VL", "Claude", "GPT-4o", "CogVLM2"]
    coherence = max(ranked, key=lambda row: row.scores["Coherence"])
    assert coherence.model == "Claude"


@needs_data
def test_the_two_averages_rank_differently(made: dict[str, Reproduced]):
    """Over tasks Qwen2-VL leads, over questions Claude does."""
    for family, first in (("avg", "Qwen2-VL"), ("micro_avg", "Claude")):
        assert max(reproduce.printed_averages(), key=lambda name: made[f"{family}/{name}"].value) == first


def test_not_every_chinese_model_is_ahead():
    """Section 5.3.4 says so; Yi-VL (Chinese, 34B) is behind two English models of 13B."""
    printed = reproduce.printed_averages()
    assert printed["Yi-VL"] < printed["LLava-v1.5"] < printed["ShareGPT4V"]


SCORED = DATA.parent / "mllm-as-a-judge" / "third_party" / "score_judges.csv.gz"
TEN = {
    "f": ((1, 2), (3, 4, 5), (6, 7, 8), (9, 10)),
    "s": ((1,), (2,), (3,), (4, 5), (6,), (7, 8), (9, 10)),
}


@pytest.mark.skipif(not SCORED.is_file(), reason=f"scores that people gave are not at {SCORED}")
@pytest.mark.parametrize("judge", ["llava_critic_7b", "phi4_reasoning_15b", "gemini_2_5_flash"])
def test_the_six_figures_on_real_labels_are_those_of_other_libraries(judge: str):
    """Real people's scores of real answers, and three critics that were tried on them."""
    rows = [row for _, row in read_rows(SCORED)]
    pairs = [(float(row[f"{judge}_score"]), float(row["human"])) for row in rows if row[f"{judge}_score"]]
    pairs = [(given, truth) for given, truth in pairs if 1 <= given <= 5 and given.is_integer()]
    assert len(pairs) > 1000
    given, truth = zip(*pairs, strict=True)
    made = {name: figure() for name, figure in critic_metrics(given, truth, scale=SCALES[1, 5]).items()}
    assert made["e"].value == pytest.approx(mean_absolute_error(truth, given))
    assert made["r"].value == pytest.approx(stats.pearsonr(given, truth).statistic)
    assert made["ρ"].value == pytest.approx(stats.spearmanr(given, truth).statistic)
    assert made["τ"].value == pytest.approx(stats.kendalltau(given, truth).statistic)
    for name, bands in TEN.items():
        where = {mark: place for place, band in enumerate(bands) for mark in band}
        same = [where[int(2 * one)] == where[int(2 * two)] for one, two in pairs]
        assert made[name].value == pytest.approx(sum(same) / len(same))
    assert all(figure.low < figure.value < figure.high for figure in made.values())
