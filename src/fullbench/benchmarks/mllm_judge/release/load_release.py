"""Reader of all released files of MLLM-as-a-Judge, with counts of oddities."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fullbench.benchmarks.mllm_judge.release import released_line_parsers
from fullbench.benchmarks.mllm_judge.release.release_row import Row, Task
from fullbench.benchmarks.mllm_judge.release.released_line_parsers import Line, Oddities, VerdictReader
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.files.row_readers import read_rows

MARKERS = (1, 3, 4, 5)
SCORES = "arxiv_data/score/score_arxiv_done_v2"
MARKED_SCORES = tuple(f"arxiv_data/score/marker{who}_arxiv_score" for who in MARKERS)
PAIRS = "arxiv_data/pair/pair_arxiv_done"
MARKED_PAIRS = tuple(f"arxiv_data/pair/marker{who}_arxiv_pair" for who in MARKERS)
RANKINGS = "arxiv_data/batch/arxiv_batch"
COGVLM = "step3/Score/CogVLM"
COGVLM_FIRST = "step3/Score/CogVLM.first_release"
LLAVA = "step3/Batch/LLaVA"
HQ: dict[Task, str] = {"score": "Hard_HQ/HQ/Score", "pair": "Hard_HQ/HQ/Pair", "batch": "Hard_HQ/HQ/Batch"}
HARD_RANKINGS, HARD_PAIRS, HARD_SCORES = "Hard_HQ/Hard/Batch", "Hard_HQ/Hard/Pair", "Hard_HQ/Hard/Score"
STEP1 = "step1/step1"
JUDGES_CSV = "third_party/score_judges"

FINAL_SCORES, FINAL_PAIRS, FINAL_RANKINGS = "Benchmark/score", "Benchmark/pair", "Benchmark/batch"

FILES: dict[str, tuple[Task, VerdictReader]] = {
    SCORES: ("score", released_line_parsers.read_people_label),
    **dict.fromkeys(MARKED_SCORES, ("score", released_line_parsers.read_people_label)),
    PAIRS: ("pair", released_line_parsers.read_people_label),
    **dict.fromkeys(MARKED_PAIRS, ("pair", released_line_parsers.read_people_label)),
    RANKINGS: ("batch", released_line_parsers.read_people_label),
    "Benchmark_Lite/score_lite": ("score", released_line_parsers.read_people_label),
    "Benchmark_Lite/pair_lite": ("pair", released_line_parsers.read_people_label),
    COGVLM: ("score", released_line_parsers.read_judge_verdict),
    COGVLM_FIRST: ("score", released_line_parsers.read_judge_verdict),
    LLAVA: ("batch", released_line_parsers.read_judge_verdict),
    HQ["score"]: ("score", released_line_parsers.read_reviewed_verdict),
    HQ["pair"]: ("pair", released_line_parsers.read_reviewed_verdict),
    HQ["batch"]: ("batch", released_line_parsers.read_reviewed_ranking),
    HARD_PAIRS: ("pair", released_line_parsers.read_two_judges),
    HARD_RANKINGS: ("batch", released_line_parsers.read_two_judges),
    HARD_SCORES: ("batch", released_line_parsers.read_two_judges),
}
WHOLE_RUNS: dict[str, tuple[Task, VerdictReader]] = {
    FINAL_SCORES: ("score", released_line_parsers.read_people_label),
    FINAL_PAIRS: ("pair", released_line_parsers.read_people_label),
    FINAL_RANKINGS: ("batch", released_line_parsers.read_people_label),
    "Benchmark_Lite/batch_lite": ("batch", released_line_parsers.read_people_label),
    "step3/Score/GPT-4V": ("score", released_line_parsers.read_judge_verdict),
    "step3/Score/Gemini": ("score", released_line_parsers.read_judge_verdict),
    "step3/Score/LLaVA": ("score", released_line_parsers.read_judge_verdict),
    "step3/Pair/new GPT-4V(ision)": ("pair", released_line_parsers.read_judge_verdict),
    "step3/Pair/new Gemini": ("pair", released_line_parsers.read_judge_verdict),
    "step3/Pair/new LLaVA": ("pair", released_line_parsers.read_judge_verdict),
    "step3/Pair/new CogVLM": ("pair", released_line_parsers.read_judge_verdict),
    "step3/Batch/GPT-4V(ision)": ("batch", released_line_parsers.read_judge_verdict),
    "step3/Batch/Gemini": ("batch", released_line_parsers.read_judge_verdict),
}
"""Files of the full download, read if present; the smaller release lacks them."""
THIRD_PARTY = {
    "LLaVA-Critic-7B": "llava_critic_7b_score",
    "Phi-4-reasoning-15B": "phi4_reasoning_15b_score",
    "Gemini-2.5-Flash": "gemini_2_5_flash_score",
}


@dataclass(frozen=True, slots=True)
class ThirdPartyScores:
    """A row of the third-party file: scores by people and three later judges; None if there is no score."""

    row: int
    score_id: int | None
    dataset: str
    human: int | None
    judges: Mapping[str, int | None]


@dataclass(frozen=True, eq=False)
class Release:
    """Contents of the released files, line by line, and their oddities."""

    folder: Path
    rows: Mapping[str, tuple[Row, ...]]
    third_party_scores: tuple[ThirdPartyScores, ...]
    instructions: int
    oddities: Oddities
    places: Places

    @classmethod
    def read(cls, folder: str | Path) -> Release:
        """Read a clone of the authors' repository, or our condensed form (`native/` and `third_party/`).

        A missing file is an error in the condensed form. In a clone it is counted and left out.
        """
        places = Places.from_folder(Path(folder))
        oddities = Oddities()
        present_runs = {file: entry for file, entry in WHOLE_RUNS.items() if places.find(file, ".jsonl")}
        subsets = [file for file in FILES if file.startswith("Hard_HQ/")]
        main_files = {file: entry for file, entry in FILES.items() if file not in subsets}
        # Subsets come last: they repeat verdicts of the runs, and a repetition is counted only once.
        ordered_files = {**main_files, **present_runs, **{file: FILES[file] for file in subsets}}
        rows = {
            file: tuple(_parse_rows(places, file, task, read_verdicts, oddities))
            for file, (task, read_verdicts) in ordered_files.items()
        }
        if not any(rows.values()):
            file_examples = ", ".join(f"{file}.jsonl" for file in WHOLE_RUNS if file.startswith("Benchmark/"))
            raise InputError(f"the folder contains no file of the release, such as {file_examples}", path=places.root)
        if not places.is_condensed:
            for file in WHOLE_RUNS:
                if file not in present_runs:
                    oddities.note(file, "the file is missing: what needs it is left out")
        _compare_answers(rows, oddities)
        _compare_releases(rows, oddities)
        _count_unlabelled(rows, oddities)
        return cls(
            Path(folder),
            rows,
            tuple(_read_third_party_scores(places, oddities)),
            _count_instructions(places, rows, oddities),
            oddities,
            places,
        )

    def labels(self, *files: str) -> dict[int, str]:
        """Return people's labels of some files by the authors' row number; the last one if a number repeats."""
        rows = [row for file in files for row in self.rows.get(file, ())]
        return {row.number: judgment.verdict_text for row in rows if (judgment := row.verdict_by(PEOPLE))}


def _read_lines(places: Places, file: str, suffix: str, oddities: Oddities) -> Iterator[Line]:
    path = places.find(file, suffix)
    if path is None and not places.is_condensed:
        oddities.note(file, "the file is missing: what needs it is left out")
        return
    if path is None:
        raise InputError("the file is missing; the authors' repository has it", path=places.expected_path(file, suffix))
    number = 0
    try:
        for number, values in read_rows(path):
            yield Line(file, str(path), number, values, oddities)
    except InputError as error:
        if error.line is not None:
            raise
        raise InputError(str(error).removeprefix(f"{path}: "), path=path, line=number + 1) from error
    oddities.note(file, "the line ends with CR LF: read anyway", _windows_ends(path))


def _windows_ends(path: Path) -> int:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        return file.read().count(b"\r\n")


def _parse_rows(
    places: Places, file: str, task: Task, read_verdicts: VerdictReader, oddities: Oddities
) -> Iterator[Row]:
    for line in _read_lines(places, file, ".jsonl", oddities):
        yield released_line_parsers.parse_row(line, task, read_verdicts)


def _read_third_party_scores(places: Places, oddities: Oddities) -> Iterator[ThirdPartyScores]:
    for line in _read_lines(places, JUDGES_CSV, ".csv", oddities):
        dataset = released_line_parsers.known_dataset(line)
        human = _parse_score(line, "human", nothing="0")
        judges = {judge: _parse_score(line, column, nothing="-1") for judge, column in THIRD_PARTY.items()}
        if human is None:
            line.note("the human score is 0: no verdict of people")
        for judge, score in judges.items():
            if score is None:
                line.note(f"the score of {judge} is -1 or missing: the verdict is 'unreadable'")
        if line["score_id"] is None:
            line.note("no score_id: the answer is known by its row alone")
        yield ThirdPartyScores(
            _parse_integer(line, "row") or 0, _parse_integer(line, "score_id"), dataset, human, judges
        )


def _parse_integer(line: Line, column: str) -> int | None:
    value = line[column]
    if value is not None and not str(value).isdecimal():
        raise line.error(f"{column!r} must be a whole number; found {value!r}")
    return None if value is None else int(value)


def _parse_score(line: Line, column: str, *, nothing: str) -> int | None:
    value = line[column]
    if value is None or value == nothing:
        return None
    if value not in set("12345"):
        raise line.error(f"{column!r} must be 1 to 5, or {nothing} for none; found {value!r}")
    return int(value)


def _count_instructions(places: Places, rows: Mapping[str, Iterable[Row]], oddities: Oddities) -> int:
    asked_questions = {(row.dataset, row.question) for group in rows.values() for row in group}
    seen_ids: set[int] = set()
    count = 0
    for line in _read_lines(places, STEP1, ".jsonl", oddities):
        count += 1
        if line.integer("id") in seen_ids:
            line.note("the id occurs before: no item is made from this file")
        seen_ids.add(line.integer("id"))
        if (released_line_parsers.known_dataset(line), str(line["instruction"])) not in asked_questions:
            line.note("no labelled row of the same data set asks this: not used")
    return count


def _compare_answers(rows: Mapping[str, Iterable[Row]], oddities: Oddities) -> None:
    texts: dict[tuple[str, str], str] = {}
    for group in rows.values():
        for row in group:
            for name, answer in zip(row.contestants, row.answers, strict=True):
                if texts.setdefault((row.item_id, name), answer.strip()) != answer.strip():
                    oddities.note(
                        row.file, "an answer differs in wording from an earlier file: joined by the model's name"
                    )


def _compare_releases(rows: Mapping[str, Iterable[Row]], oddities: Oddities) -> None:
    later: dict[int, list[str]] = defaultdict(list)
    for row in rows[COGVLM]:
        later[row.number].append(row.verdicts[0].verdict_text)
    for row in rows[COGVLM_FIRST]:
        same = row.verdicts[0].verdict_text in later[row.number]
        oddities.note(
            row.file,
            "the later release has the same verdict: counted there"
            if same
            else "the later release has another verdict: excluded",
        )


def _count_unlabelled(rows: Mapping[str, Iterable[Row]], oddities: Oddities) -> None:
    labelled_keys: dict[str, set[tuple[str, frozenset[str]]]] = defaultdict(set)
    final = [file for file in rows if file.startswith("Benchmark/")]
    for file in (SCORES, *MARKED_SCORES, PAIRS, *MARKED_PAIRS, RANKINGS, *final):
        for row in rows[file]:
            labelled_keys[row.task].add((row.item_id, frozenset(row.contestants)))
    judge_files = [file for file in WHOLE_RUNS if file in rows and file.startswith("step3/")]
    for file in (COGVLM, LLAVA, *judge_files, HARD_RANKINGS, HARD_PAIRS):
        for row in rows[file]:
            if (row.item_id, frozenset(row.contestants)) not in labelled_keys[row.task]:
                oddities.note(file, "no person judged these answers: the row is in no number")


_CLONE_FOLDERS = ("Benchmark", "Benchmark_Lite", "raw_data", "Hard & HQ")
"""Folders that identify a clone."""
_CLONE_PREFIXES = {"step1/": "raw_data/step1/", "step3/": "raw_data/step3/", "Hard_HQ/": "Hard & HQ/"}
_IMAGES = ("image", "Images", "images")


@dataclass(frozen=True)
class Places:
    """A folder of the release: a clone of the authors' repository, the hub's copy, or our condensed form.

    Files have the names of the condensed form, where no file may be missing (`is_condensed`). A clone has them under
    `Dataset/`: the authors' three steps in `raw_data/`, the subsets in `Hard & HQ/`. A clone lacks the labels of the
    first release, which only its history holds, and files of other projects.
    """

    folder: Path
    root: Path
    is_condensed: bool

    @classmethod
    def from_folder(cls, folder: Path) -> Places:
        """Detect the layout of a folder: with `native/`, or a clone (the folder itself or its `Dataset/`)."""
        if not folder.is_dir():
            raise InputError(
                "there is no such folder; give a clone of the authors' repository, or a folder with native/",
                path=folder,
            )
        if (folder / "native").is_dir():
            return cls(folder, folder / "native", is_condensed=True)
        for root in (folder / "Dataset", folder / "Datasets", folder):
            if any((root / mark).is_dir() for mark in _CLONE_FOLDERS):
                return cls(folder, root, is_condensed=False)
        raise InputError(
            "the folder contains no release: no native/, no Dataset/ of a clone with one of "
            f"{', '.join(_CLONE_FOLDERS)}, and no items.jsonl of your own",
            path=folder,
        )

    def find(self, file: str, suffix: str) -> Path | None:
        """Return the path of a file, gzipped or not, or None if it is missing."""
        return next((path for path in self._candidates(file, suffix) if path.exists()), None)

    def expected_path(self, file: str, suffix: str) -> Path:
        """Return the preferred path of a file, present or not."""
        return next(self._candidates(file, suffix))

    def _candidates(self, file: str, suffix: str) -> Iterator[Path]:
        roots = [self.folder] if file.startswith("third_party/") else [self.root]
        if not self.is_condensed:
            for condensed_prefix, clone_prefix in _CLONE_PREFIXES.items():
                if file.startswith(condensed_prefix):
                    file = clone_prefix + file.removeprefix(condensed_prefix)
            roots.append(self.folder)
        for root in roots:
            yield root / f"{file}{suffix}.gz"
            yield root / f"{file}{suffix}"

    @property
    def images(self) -> list[Path]:
        """Folders that hold pictures under their original names."""
        roots = dict.fromkeys((self.root, self.folder))
        folders = [root / name for root in roots for name in _IMAGES if (root / name).is_dir()]
        # A folder with an index names its pictures by its own numbers.
        return [folder for folder in folders if not (folder / "index.jsonl").exists()]
