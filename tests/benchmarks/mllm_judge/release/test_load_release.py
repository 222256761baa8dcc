"""The released files as they are: read whole, oddities counted, mistakes told with file and line."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fullbench.benchmarks.mllm_judge.benchmark_definition import mllm_judge
from fullbench.benchmarks.mllm_judge.release import load_release as files
from fullbench.benchmarks.mllm_judge.release import released_line_parsers
from fullbench.benchmarks.mllm_judge.release.load_release import FILES, Release
from fullbench.benchmarks.mllm_judge.release.release_as_record import assemble_record
from fullbench.benchmarks.mllm_judge.release.released_line_parsers import Line, Oddities
from fullbench.benchmarks.mllm_judge.reproduce.all_cells import paper_cells
from fullbench.errors import InputError
from tests.benchmarks.pairwise_releases.test_mllm_judge import DATA, needs_data
from tests.support.data_builders import png

pytestmark = needs_data
KNOWN = {"GPT-4V/pair/HQ", "GPT-4V/pair/Hard"}


@pytest.fixture(scope="module")
def release() -> Release:
    return Release.read(DATA)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The release, its files linked; a test replaces the one it spoils."""
    for source in [*(DATA / "native").rglob("*.gz"), *(DATA / "third_party").glob("*.gz")]:
        target = tmp_path / source.relative_to(DATA)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source.resolve())
    return tmp_path


def spoil(copy: Path, file: str, line: int, change) -> Path:
    """Change one line of a file; `change` takes and gives back the row."""
    path = copy / "native" / f"{file}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as source:
        lines = source.read().splitlines()
    row = json.loads(lines[line - 1])
    change(row)
    lines[line - 1] = json.dumps(row)
    path.unlink()
    with gzip.open(path, "wt", encoding="utf-8") as target:
        target.write("\n".join(lines) + "\n")
    return path


def test_every_native_file_is_read(release: Release):
    there = {str(path.relative_to(DATA / "native")).removesuffix(".jsonl.gz") for path in DATA.rglob("native/**/*.gz")}
    assert {*FILES, files.STEP1} == there
    assert len(there) == 23
    assert {file: len(rows) for file, rows in release.rows.items() if "arxiv" in file or "step3" in file} == {
        files.SCORES: 2987,
        **dict(zip(files.MARKED_SCORES, (215, 215, 216, 215), strict=True)),
        files.PAIRS: 300,
        **dict(zip(files.MARKED_PAIRS, (981, 727, 988, 980), strict=True)),
        files.RANKINGS: 1100,
        files.COGVLM: 3220,
        files.COGVLM_FIRST: 3220,
        files.LLAVA: 1015,
    }
    assert release.instructions == 3400
    assert len(release.third_party_scores) == 5719


@pytest.mark.parametrize(
    ("file", "words", "times"),
    [
        (files.COGVLM_FIRST, "jduge", 1095),
        (files.COGVLM_FIRST, "run together", 1),
        (files.COGVLM, "second run", 1095),
        (files.SCORES, "score is a text", 149),
        (files.SCORES, "has no verdict", 2),
        (files.SCORES, "CR LF", 2987),
        ("Benchmark_Lite/pair_lite", "called 'human'", 344),
        (files.MARKED_PAIRS[2], "letters are small", 1),
        (files.MARKED_PAIRS[2], "compared with itself", 2),
        (files.LLAVA, "more answers than exist", 103),
        (files.LLAVA, "not allowed", 1),
        (files.HQ["score"], "run together", 49),
        (files.HQ["score"], "neither 0, 1 nor -1", 3),
        (files.HARD_RANKINGS, "is missing", 1),
        (files.JUDGES_CSV, "Gemini-2.5-Flash is -1", 310),
    ],
)
def test_what_is_odd_is_counted(release: Release, file: str, words: str, times: int):
    found = [count for (name, done), count in release.oddities.counts.items() if name == file and words in done]
    assert found == [times]


def test_a_glued_ruling_is_read_from_the_words(release: Release):
    odd = [row for row in release.rows[files.COGVLM_FIRST] if row.verdicts[0].verdict_text == ""]
    assert not odd


def refused(copy: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        Release.read(copy)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_missing_file_is_named(copy: Path):
    gone = copy / "native" / f"{files.LLAVA}.jsonl.gz"
    gone.unlink()
    assert str(refused(copy)).startswith(f"{gone}: ")


def test_a_label_out_of_range_is_told_with_its_line(copy: Path):
    path = spoil(copy, files.SCORES, 17, lambda row: row.update(Human_answer=7))
    error = refused(copy)
    assert (error.path, error.line) == (path, 17)
    assert "found 7" in str(error)


def test_a_pair_label_out_of_range_is_told_with_its_line(copy: Path):
    spoil(copy, files.MARKED_PAIRS[0], 3, lambda row: row.update(human_answer="D"))
    error = refused(copy)
    assert error.line == 3
    assert "A, B or C" in str(error)


def test_a_file_cut_short_is_told_with_its_line(copy: Path):
    path = copy / "native" / f"{files.COGVLM}.jsonl.gz"
    whole = path.read_bytes()
    path.unlink()
    path.write_bytes(whole[: len(whole) // 2])
    error = refused(copy)
    assert error.path == path
    assert error.line is not None
    assert error.line > 100


def test_a_line_cut_short_is_told_with_its_number(copy: Path):
    path = copy / "native" / f"{files.RANKINGS}.jsonl.gz"
    text = gzip.decompress(path.read_bytes())
    path.unlink()
    path.write_bytes(gzip.compress(text[:-200]))
    error = refused(copy)
    assert (error.path, error.line) == (path, 1100)


def test_a_file_of_another_task_is_recognised(copy: Path):
    path = copy / "native" / f"{files.COGVLM}.jsonl.gz"
    path.unlink()
    shutil.copy(DATA / "native" / f"{files.LLAVA}.jsonl.gz", path)
    error = refused(copy)
    assert (error.path, error.line) == (path, 1)
    assert "laid out for the task 'batch'" in str(error)


def test_the_command_leaves_nothing_half_written(copy: Path, tmp_path_factory: pytest.TempPathFactory):
    spoil(copy, files.SCORES, 17, lambda row: row.update(Human_answer=7))
    folder = tmp_path_factory.mktemp("out")
    command = [str(Path(sys.executable).parent / "fullbench"), "reproduce", "mllm-as-a-judge", "--data", str(copy)]
    done = subprocess.run([*command, "--out", str(folder / "cells.json")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert not list(folder.iterdir())


def test_the_command_writes_all_cells(tmp_path: Path):
    command = [str(Path(sys.executable).parent / "fullbench"), "reproduce", "mllm-as-a-judge", "--data", str(DATA)]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "cells.json"), "--json"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "cells.json").read_text())
    assert written == json.loads(done.stdout)
    assert set(written["cells"][0]) == {"id", "value", "n"}
    assert len(written["cells"]) > 130


def test_the_samples_of_the_full_download_are_read():
    """One to three rows of every file that is too large for the smaller release."""
    whole = {Path(name).name: entry for name, entry in files.WHOLE_RUNS.items() if "step3" in name}
    final = {Path(name).name: entry for name, entry in files.WHOLE_RUNS.items() if "Benchmark" in name}
    read = 0
    for text in (DATA / "native_samples" / "native_samples.jsonl").read_text().splitlines():
        sample = json.loads(text)
        path = Path(sample["file"])
        if "Verbose" in path.name or "step2" in path.name:
            continue
        task, how = (final if "Benchmark" in path.parts else whole)[path.stem]
        if "step3" in path.parts:
            task, how = files.WHOLE_RUNS["/".join(path.parts[-3:]).removesuffix(".jsonl")]
        found = released_line_parsers.parse_row(Line(str(path), str(path), 1, sample["row"], Oddities()), task, how)
        assert found.verdicts[0].verdict_text
        read += 1
    assert read == 19


def test_a_whole_run_is_joined_by_item_and_names_and_turned(copy: Path):
    """GPT-4V as it would be if it ruled as people did, half of its pairs shown the other way round."""
    with gzip.open(copy / "native" / f"{files.MARKED_PAIRS[0]}.jsonl.gz", "rt", encoding="utf-8") as source:
        rows = [json.loads(line) for line in source]
    for place, row in enumerate(rows):
        letter = row.pop("human_answer")
        if place % 2:
            row["answer1"], row["answer2"] = row["answer2"], row["answer1"]
            letter = {"A": "B", "B": "A"}.get(letter, letter)
        row["result"] = {"judge": letter, "analysis": ""}
    path = copy / "native" / "step3" / "Pair" / "new GPT-4V(ision).jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    release = Release.read(copy)
    made = {cell.id: cell for cell in paper_cells(release)}
    mine = [cell for name, cell in made.items() if name.startswith("GPT-4V/pair/") and name not in KNOWN]
    assert sum(cell.n for cell in mine) > 900
    assert {cell.value["accuracy_with_tie"] for cell in mine} == {1.0}
    assert made["GPT-4V/pair/coco"].paper == 0.696
    assert (
        release.oddities.counts["step3/Pair/new GPT-4V(ision)", "the judge has no name: taken from the file name"]
        == 981
    )


def test_a_picture_is_what_its_bytes_say(copy: Path):
    (copy / "image").mkdir()
    (copy / "image" / "100.jpg").write_bytes(png())
    release = Release.read(copy)
    found = assemble_record(release).items["score-100"]
    assert [picture.media_type for picture in found.pictures] == ["image/png"]
    assert release.oddities.counts["image", "a picture called .jpg is image/png: read by its content"] == 1


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_very_few_rows_give_fewer_cells_and_no_crash(tmp_path: Path, rows: int):
    for source in [*(DATA / "native").rglob("*.gz"), *(DATA / "third_party").glob("*.gz")]:
        target = tmp_path / source.relative_to(DATA)
        target.parent.mkdir(parents=True, exist_ok=True)
        kept = gzip.decompress(source.read_bytes()).split(b"\n")[: rows + (".csv" in source.name)]
        target.write_bytes(gzip.compress(b"\n".join(kept) + b"\n"))
    made = mllm_judge.reproduce(tmp_path)
    assert all(cell.n > 0 or "human_review" in cell.id for cell in made.cells)
    assert [cell.table_value for cell in made.cells]
    assert mllm_judge.tables(mllm_judge.record(tmp_path))
