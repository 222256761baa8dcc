"""A clone in the layout of the authors' repository gives the same cells as the shared tables."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from fullbench.benchmarks.mj_bench.release.judge_and_category_names import CLOSED_JUDGES
from tests.golden.reproduced import DATA

SHARED = DATA / "mjbench"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SHARED.is_dir(), reason=f"the released data are not at {SHARED}"),
]


def rows(name: str) -> list[dict]:
    with gzip.open(SHARED / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def clone(folder: Path) -> Path:
    """The files of the repository, made of the shared tables."""
    for name, files in (("quality_pairs", {"motion_blur": "blur"}), ("safety_pairs", {})):
        kept: dict[Path, list[dict]] = {}
        for row in rows(name):
            part = files.get(row["subset"]) or row.get("file") or row["subset"]
            edited = row.get("edited_part") or ""
            line = {
                "id": int(row["id"]), "caption": "?", "label": "0", "image_1_path": f"x_edited_{edited}.jpg",
                "score_0": float(row["score_0"]), "score_1": float(row["score_1"]),
            }  # fmt: skip
            kept.setdefault(folder / "personal" / "result" / row["judge"] / f"{part}0.0.json", []).append(line)
        for path, lines in kept.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(lines))
    people = rows("bias_scores")
    (folder / "bias" / "new_bias").mkdir(parents=True)
    plain = ("clipscore_v2", "blipscore", "pickscore_v1", "hps_v2.1", "ImageReward", "aesthetics")
    axes = ("age", "gender", "race", "nationality", "religion")
    for judge in CLOSED_JUDGES:
        for scale, name in (
            ("number5", f"new_bias_dataset_{judge}.json"), ("number10", f"new_bias/scale_10_bias_dataset_{judge}.json"),
            ("likert5_raw", f"new_bias/narrative_bias_dataset_{judge}.json"),
        ):  # fmt: skip
            lines = [
                {
                    "demographic": row["demographic"], "occupation": row["occupation"], "prompt": "?",
                    **{axis: row[axis] == "1" for axis in axes}, **{model: float(row[model]) for model in plain},
                    judge: row[f"{judge}|{scale}"] or row[f"{judge}|number5"],
                }
                for row in people
            ]  # fmt: skip
            (folder / "bias" / name).write_text(json.dumps(lines))
    return folder


def test_a_clone_is_reproduced_like_the_tables_and_says_what_it_lacks(cli, tmp_path):
    clone(tmp_path / "clone")
    cells = {}
    for name, data in (("clone", tmp_path / "clone"), ("tables", SHARED)):
        code, out, err = cli("reproduce", "mjbench", "--data", data, "--out", f"{name}.json")
        assert code == 0, err
        found = json.loads((tmp_path / f"{name}.json").read_text())
        cells[name] = {cell["id"]: cell for cell in (found["cells"] if isinstance(found, dict) else found)}
        if name == "clone":
            assert "not in this folder: its cells are not computed" in out + err
    both = cells["clone"].keys() & cells["tables"].keys()
    assert len(both) > 200
    assert both == cells["clone"].keys()
    assert {cells["clone"][name] == cells["tables"][name] for name in both} == {True}
