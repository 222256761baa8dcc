"""MJ-Bench and GenAI-Bench: every figure that the released files allow, against independently computed ones."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from fullbench.benchmarks.mj_bench.mj_bench_and_genai_bench_definitions import genai_bench, mj_bench
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import (
    ALIGNMENT,
    AXES,
    BLUR,
    CLOSED_JUDGES,
    DISTORTION,
    OPEN_JUDGES,
    SCALES,
    SCORE_MODELS,
    TWO_PICTURES,
)
from fullbench.benchmarks.mj_bench.release.released_scores_and_verdicts import Release
from fullbench.benchmarks.mj_bench.reproduce import genai_bench_cells
from fullbench.benchmarks.mj_bench.reproduce.bias_tables import BY_AXIS
from fullbench.benchmarks.mj_bench.reproduce.percentage_cells_and_printed_numbers import printed_numbers
from fullbench.core.benchmark import Reproduced, Reproduction

SHARED = Path(__file__).parents[3] / ".." / "shared" / "data"
SETS = {"mjbench": mj_bench, "genai_bench": genai_bench}
PRESENT = {name: (SHARED / name / "expected.json").exists() for name in SETS}


def expected(name: str) -> list[dict[str, Any]]:
    files = [SHARED / name / file for file in ("expected.json", "expected_more.json")] if PRESENT[name] else []
    return [check for file in files if file.exists() for check in json.loads(file.read_text())["checks"]]


NOT_IN_THE_FILES = "/stored_pred_agrees"
"""Predictions were released for GPT-4V alone; see `test_stored_predictions_are_compared_where_there_are_any`."""


@pytest.fixture(scope="module", params=SETS)
def checked(request: pytest.FixtureRequest) -> tuple[list[dict[str, Any]], dict[str, Reproduced]]:
    if not PRESENT[request.param]:
        pytest.skip(f"the released data are not at {SHARED / request.param}")
    made = SETS[request.param].reproduce(SHARED / request.param).cells
    assert len({cell.id for cell in made}) == len(made)
    return expected(request.param), {cell.id: cell for cell in made}


@pytest.fixture(scope="module")
def made() -> Reproduction:
    if not PRESENT["mjbench"]:
        pytest.skip(f"the released data are not at {SHARED / 'mjbench'}")
    return mj_bench.reproduce(SHARED / "mjbench")


def test_every_cell_is_what_independent_code_computed(checked: tuple[list[dict[str, Any]], dict[str, Reproduced]]):
    listed, ours = checked
    wanted = [check for check in listed if not check["id"].endswith(NOT_IN_THE_FILES) or check["id"] in ours]
    missing = [check["id"] for check in wanted if check["id"] not in ours]
    assert not missing
    wrong = [
        (check["id"], ours[check["id"]].value, check["recomputed"])
        for check in wanted
        if abs(ours[check["id"]].value - check["recomputed"]) > check["impl_tol"]
    ]
    assert not wrong


def test_the_command_computes_the_same_cells_in_a_process_of_its_own(made: Reproduction, tmp_path: Path):
    """As a user types it: nothing that another test imported is there."""
    words = [
        "reproduce",
        "mjbench",
        "--data",
        str((SHARED / "mjbench").resolve()),
        "--out",
        str(tmp_path / "cells.json"),
    ]
    done = subprocess.run([sys.executable, "-m", "fullbench", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "cells.json").read_text(encoding="utf-8"))
    values = {cell["id"]: cell["value"] for cell in written["cells"]}
    assert values == pytest.approx({cell.id: cell.value for cell in made.cells}, abs=1e-6)


def test_stored_predictions_are_compared_where_there_are_any(made: Reproduction):
    """The checks say 100 for all. The file holds GPT-4V's only; the 421 that name a picture follow its scores."""
    (cell,) = (cell for cell in made.cells if cell.id.endswith(NOT_IN_THE_FILES))
    assert (cell.id, cell.value, cell.n) == ("pickapic/gpt-4v/stored_pred_agrees", 100.0, 421)


def test_what_is_printed_stands_beside_ours(made: Reproduction):
    """Our copy of the printed tables is theirs, and matches ours exactly where the checks say that it does."""
    ours = {cell.id: cell for cell in made.cells}
    for check in expected("mjbench"):
        if check["published"] is None or check["id"].startswith("pickapic"):
            continue
        cell = ours[check["id"]]
        assert cell.paper == check["published"], check["id"]
        assert (abs(cell.value - cell.paper) <= check["published_tol"] + 1e-9) == check["matches"], check["id"]


def test_every_printed_figure_of_genai_bench_is_reproduced():
    if not PRESENT["genai_bench"]:
        pytest.skip(f"the released data are not at {SHARED / 'genai_bench'}")
    cells = {cell.id: cell for cell in genai_bench.reproduce(SHARED / "genai_bench").cells}
    beside = {name: cell for name, cell in cells.items() if cell.paper is not None}
    assert len(beside) == 68
    assert all(abs(cell.value - cell.paper) <= 0.0051 for cell in beside.values())
    for check in expected("genai_bench"):
        assert cells[check["id"]].paper == check["published"], check["id"]


def test_every_family_of_mj_bench_is_complete(made: Reproduction):
    members = defaultdict(set)
    for cell in made.cells:
        family, _, member = cell.id.rpartition("/")
        members[family].add(member)
    sevenths = {*AXES, "item_avg"}
    for judge in set(BY_AXIS) - {"pickscore_v1"}:
        for table, figure in (("T15", "ACC"), ("T16", "NDS"), ("T17", "GES")):
            assert members[f"bias/{judge}/{table}/{figure}"] == sevenths
    for judge in {*SCORE_MODELS, *CLOSED_JUDGES} - {"pickscore_v1"}:
        assert members[f"bias/{judge}/T3"] == {"ACC", "NDS", "GES"}
    scales = {family.rsplit("/", 1)[0]: set() for family in members if "/T18/" in family}
    for family in members:
        if "/T18/" in family:
            scales[family.rsplit("/", 1)[0]].add(family.rsplit("/", 1)[1])
            assert members[family] == {"ACC", "NDS", "GES"}
    assert scales.pop("bias/MiniGPT-v2/T18") == {"number10"}
    assert {name: found for name, found in scales.items() if name.split("/")[1] in CLOSED_JUDGES} == {
        f"bias/{judge}/T18": {"n5", "n10", "lik"} for judge in CLOSED_JUDGES
    }
    assert len(scales) == 14
    for judge in SCORE_MODELS:
        assert members[f"quality/{judge}/T12"] == {*DISTORTION, BLUR, "distortion_avg"}
        assert members[f"quality/{judge}/no_tie"] == {*DISTORTION, BLUR}
        assert members[f"safety/{judge}/T9"] == {"toxicity_avg", "nsfw_evasive"}
        assert members[f"safety/{judge}"] == {"nsfw_prefers_inpainted"}
    assert members["alignment/count"] == {"action", "attribute", "location", "object", "other"}
    averages = {"avg", "avg_no_tie"}
    for judge in OPEN_JUDGES:
        for table in (6, 7, 8):
            wanted = {*ALIGNMENT, *averages}
            if judge == "llava-v1.6-vicuna-13b-hf" and table != 8:
                wanted = {"object", "attribute", *averages}  # the other files were not released
            assert members[f"vlm/Table {table}/{judge}"] == wanted
        for table in (12, 13, 14):
            assert members[f"vlm/Table {table}/{judge}"] == {*DISTORTION, *averages}
        for table in (9, 10, 11):
            assert members[f"vlm/Table {table} toxicity/{judge}"] == {"toxic"}
        assert members[f"vlm/Table 5/{judge}"] == set(SCALES)
    for judge in TWO_PICTURES:
        asked = {f"{about}_{way}" for about in ("alignment", "safety", "artifacts") for way in ("single", "pair")}
        assert members[f"vlm/Table 4/{judge}"] == asked
    for judge in CLOSED_JUDGES:
        assert members[f"vlm/Table 6/{judge}"] == {*ALIGNMENT, *averages}
        assert members[f"vlm/Table 3/{judge}"] == {"alignment_no_tie"}
    assert len(made.cells) >= 962


def test_every_family_of_genai_bench_is_complete():
    if not PRESENT["genai_bench"]:
        pytest.skip(f"the released data are not at {SHARED / 'genai_bench'}")
    votes = genai_bench_cells.read_votes(SHARED / "genai_bench")
    ids = {cell.id for cell in genai_bench_cells.genai_bench_cells(votes)}
    judges = set(votes[0].judges)
    assert len(judges) == 17
    assert {f"average/{judge}" for judge in judges} <= ids
    assert {f"{task}/{judge}/accuracy" for task in genai_bench_cells.TASKS for judge in judges} <= ids
    decided = {"acc_decided", "first_position_share"}
    silent = {
        (task, judge)
        for task in genai_bench_cells.TASKS
        for judge in judges
        if f"{task}/{judge}/acc_decided" not in ids
    }
    for task, judge in silent:
        both = [
            v
            for v in votes
            if v.task == task and {v.judges[judge], v.human} <= {genai_bench_cells.LEFT, genai_bench_cells.RIGHT}
        ]
        assert not both, (task, judge)
    assert {name.rsplit("/", 1)[1] for name in ids if name.count("/") == 2} == {"accuracy", *decided}


def test_the_paper_prints_the_same_six_numbers_in_two_tables():
    """The rows of CLIP in Tables 16 and 17 are equal, although one holds NDS and the other GES."""
    paper = printed_numbers()
    for axis in (*AXES, "item_avg"):
        assert paper[f"bias/clipscore_v2/T16/NDS/{axis}"] == paper[f"bias/clipscore_v2/T17/GES/{axis}"]


def test_pickscore_has_no_bias_figures_and_the_reader_is_told(made: Reproduction):
    assert not [cell.id for cell in made.cells if cell.id.startswith("bias/pickscore_v1")]
    (table,) = made.tables
    assert any("every score of pickscore_v1 is 1" in str(row[2]) for row in table.rows)


def test_blip_was_read_the_wrong_way_round(made: Reproduction):
    """Its scores are logits, and turned round they stand with CLIP's and ImageReward's, both on toxicity and on NSFW.

    The cosines of the same model on Pick-a-Pic, which other code computed, agree with people.
    """
    ours = {cell.id: cell.value for cell in made.cells}
    toxic = {judge: ours[f"safety/{judge}/T9/toxicity_avg"] for judge in SCORE_MODELS}
    assert toxic.pop("blipscore") < 5
    assert min(toxic.values()) > 57
    assert ours["pickapic/blipscore/acc_no_human_tie"] > 61
    pairs = Release.read(SHARED / "mjbench").safety
    first = {
        judge: sum(pair.first > pair.second for pair in pairs["nsfw", judge]) / len(pairs["nsfw", judge])
        for judge in ("clipscore_v2", "ImageReward", "blipscore")
    }
    assert first["clipscore_v2"] < first["ImageReward"] < 0.22
    assert 1 - first["blipscore"] == pytest.approx(0.308, abs=0.001)
    scores = [score for pair in pairs["toxic", "blipscore"] for score in (pair.first, pair.second)]
    assert min(scores) < -4
    assert max(scores) > 5
