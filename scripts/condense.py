"""Make the condensed data folders of MLLM-as-a-Judge and VisIT-Bench from clones of their authors' repositories.

    python scripts/condense.py mllm-as-a-judge --clone MLLM-Judge --out mllm-as-a-judge
    python scripts/condense.py visitbench --clone visit_bench_sandbox --multi VisIT-Bench --out visitbench

A clone may be bare. Files are taken from the commits that docs/reference/data.md names, whatever is checked out.
`sources.json` next to the data names the repository, commit, path, digest and rows of every file, and the files that
are missing.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

MLLM = ("Dongping-Chen/MLLM-Judge", "523b4b9", "43d8159")
"""The repository, its last commit, and the one that holds the labels of the first release."""
SANDBOX = ("Hritikbansal/visit_bench_sandbox", "e0c911c")
VISIT = ("mlfoundations/VisIT-Bench", "45b9bf8")
MARKERS = (1, 3, 4, 5)
FIRST = [
    "score/score_arxiv_done_v2", *(f"score/marker{who}_arxiv_score" for who in MARKERS),
    *(f"pair/marker{who}_arxiv_pair" for who in MARKERS), "pair/pair_arxiv_done", "batch/arxiv_batch",
]  # fmt: skip
LAST = {
    "Benchmark_Lite/score_lite": "Benchmark_Lite/score_lite",
    "Benchmark_Lite/pair_lite": "Benchmark_Lite/pair_lite",
    "step1/step1": "raw_data/step1/step1",
    "step3/Score/CogVLM": "raw_data/step3/Score/CogVLM",
    "step3/Batch/LLaVA": "raw_data/step3/Batch/LLaVA",
    **{
        f"Hard_HQ/{part}/{task}": f"Hard & HQ/{part}/{task}"
        for part in ("HQ", "Hard") for task in ("Score", "Pair", "Batch")
    },
}  # fmt: skip
BLANKED = "harmful_memes"
"""The family whose texts are blanked."""
MISSING = ("", "None")
"""What stands for no answer."""
TRIALS = "lynx_test"
"""Two trial submissions of one team, which are left out."""
FLAGS = ("human_ratings_gpt4_correct", "human_ratings_problem_in_caption", "human_ratings_problem_in_gpt4")
SINGLE = (
    "instruction_category", "image", "instruction", "gpt4_prediction", "image_dense_captions", "reference_output",
    *FLAGS,
)  # fmt: skip
MULTI = (
    "instruction_category", "images", "instruction", "gpt4_prediction", "images_dense_captions",
    "images_blip2_captions", "reference_output", *FLAGS,
)  # fmt: skip


class Clone:
    """A clone, bare or not, at a commit."""

    def __init__(self, place: Path, repository: str, commit: str) -> None:
        self.place, self.repository, self.commit = place, repository, commit
        inner = place / ".git"
        self.git = ["git", f"--git-dir={inner if inner.exists() else place}"]

    def read(self, path: str) -> bytes | None:
        """A file's bytes; None where the clone does not have them."""
        done = subprocess.run([*self.git, "show", f"{self.commit}:{path}"], capture_output=True, check=False)
        return done.stdout if done.returncode == 0 else None

    def listed(self, folder: str) -> list[str]:
        """The files in a folder."""
        command = [*self.git, "-c", "core.quotePath=off", "ls-tree", "--name-only", self.commit, f"{folder}/"]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        return done.stdout.splitlines()


class Out:
    """The folder that is written, and the list of where all of it came from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[dict[str, Any]] = []
        self.absent: list[dict[str, str]] = []

    def bytes(self, name: str, data: bytes, clone: Clone, *paths: str) -> None:
        """A file, compressed so that the same data always give the same bytes."""
        target = self.folder / f"{name}.jsonl.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.compress(data, mtime=0))
        self.files.append(
            {"file": f"{name}.jsonl.gz", "repository": clone.repository, "commit": clone.commit, "paths": list(paths),
             "sha256": hashlib.sha256(data).hexdigest(), "rows": data.count(b"\n")}
        )  # fmt: skip

    def rows(self, name: str, rows: Iterable[dict[str, Any]], clone: Clone, *paths: str) -> None:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        self.bytes(name, text.encode(), clone, *paths)

    def close(self) -> None:
        told = {"files": self.files, "absent": self.absent}
        (self.folder / "sources.json").write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", "utf-8")
        print(f"{len(self.files)} files in {self.folder}, {len(self.absent)} could not be had")


def mllm(place: Path, out: Out) -> None:
    """The authors' files as they are, only compressed."""
    repository, last, first = MLLM
    wanted = [(f"native/{name}", last, f"Dataset/{path}.jsonl") for name, path in LAST.items()]
    wanted += [(f"native/arxiv_data/{name}", first, f"Dataset/Benchmark/arxiv_data/{name}.jsonl") for name in FIRST]
    wanted.append(("native/step3/Score/CogVLM.first_release", first, "Dataset/step3/Score/CogVLM.jsonl"))
    for name, commit, path in wanted:
        clone = Clone(place, repository, commit)
        data = clone.read(path)
        if data is None:
            out.absent.append({"file": name, "repository": repository, "commit": commit, "path": path})
        else:
            out.bytes(name, data, clone, path)


def table(data: bytes) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    csv.field_size_limit(1 << 24)
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"))))


def instances(rows: Iterable[dict[str, str]], columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Rows with their numbers, lists as lists, and the texts of one family left out."""
    for number, row in enumerate(rows):
        blank = row["instruction_category"] == BLANKED
        made: dict[str, Any] = {"row": number}
        for column in columns:
            value: Any = row.get(column) or None
            if column in FLAGS:
                value = str(value).lower() == "true"
            elif column.startswith("images") and value is not None:
                value = json.loads(value)
            if blank and column not in {"instruction_category", *FLAGS}:
                value = None
            made[column] = value
        yield made


def visit(place: Path, multi: Path | None, out: Out) -> None:
    """Instances by row, predictions and pairs that refer to these rows."""
    clone = Clone(place, *SANDBOX)
    data = clone.read("single_image_full_dataset.csv")
    if data is None:
        sys.exit(f"{place}: the clone has no single_image_full_dataset.csv at {clone.commit}")
    rows = table(data)
    out.rows("single_image", instances(rows, SINGLE), clone, "single_image_full_dataset.csv")
    asked = {(row["image"].rpartition("/")[2], row["instruction"]): number for number, row in enumerate(rows)}
    known = set(rows[0]) | {"image_id", "image_url", "idx", "question", "", "Unnamed: 0"}
    predictions: list[dict[str, Any]] = []
    paths = clone.listed("full_model_predictions")
    for path in paths:
        for row in table(clone.read(path) or b""):
            image = (row.get("image") or row.get("image_url") or "").rpartition("/")[2]
            number = asked.get((image, row["instruction"]))
            column = next((name for name in row if name not in known), None)
            if column is None or column.startswith(TRIALS):
                continue
            if number is not None and rows[number]["instruction_category"] != BLANKED:
                said = None if row[column] in MISSING else row[column]
                predictions.append({"row": number, "model": column, "prediction": said})
    out.rows("predictions", predictions, clone, *paths)
    pairs: list[dict[str, Any]] = []
    paths = clone.listed("leaderboard_submission_model_queries")
    for path in paths:
        for line in (clone.read(path) or b"").decode().splitlines():
            pair = json.loads(line)
            number = asked.get((pair["image_url"].rpartition("/")[2], pair["instruction"]))
            trial = pair["A_model"].startswith(TRIALS) or pair["B_model"].startswith(TRIALS)
            if number is not None and not trial:
                pairs.append({"row": number, "A_model": pair["A_model"], "B_model": pair["B_model"]})
    out.rows("pair_queries", pairs, clone, *paths)
    if multi is not None:
        other = Clone(multi, *VISIT)
        found = other.read("visit_bench_multi_images.csv")
        if found is not None:
            out.rows("multi_image", instances(table(found), MULTI), other, "visit_bench_multi_images.csv")
    votes = {"file": "human_preferences", "repository": VISIT[0], "commit": VISIT[1],
             "path": "visit_bench_human_preferences.csv"}  # fmt: skip
    if multi is None or Clone(multi, *VISIT).read(votes["path"]) is None:
        out.absent.append(votes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=("mllm-as-a-judge", "visitbench"))
    parser.add_argument("--clone", type=Path, required=True)
    parser.add_argument("--multi", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    out = Out(asked.out)
    if asked.which == "mllm-as-a-judge":
        mllm(asked.clone, out)
    else:
        visit(asked.clone, asked.multi, out)
    out.close()


if __name__ == "__main__":
    main()
