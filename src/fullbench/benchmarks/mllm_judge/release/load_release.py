"""The released data as it is: all files read, every oddity counted, and one record made of them."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fullbench.benchmarks.mllm_judge.release import file_layouts
from fullbench.benchmarks.mllm_judge.release.file_layouts import Line, Rulings
from fullbench.benchmarks.mllm_judge.release.file_locations import Places
from fullbench.benchmarks.mllm_judge.release.oddities import Oddities
from fullbench.benchmarks.mllm_judge.release.release_row import Row, Task
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.files.item_files import read_rows

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

FILES: dict[str, tuple[Task, Rulings]] = {
    SCORES: ("score", file_layouts.people),
    **dict.fromkeys(MARKED_SCORES, ("score", file_layouts.people)),
    PAIRS: ("pair", file_layouts.people),
    **dict.fromkeys(MARKED_PAIRS, ("pair", file_layouts.people)),
    RANKINGS: ("batch", file_layouts.people),
    "Benchmark_Lite/score_lite": ("score", file_layouts.people),
    "Benchmark_Lite/pair_lite": ("pair", file_layouts.people),
    COGVLM: ("score", file_layouts.judge),
    COGVLM_FIRST: ("score", file_layouts.judge),
    LLAVA: ("batch", file_layouts.judge),
    HQ["score"]: ("score", file_layouts.judged_and_labelled),
    HQ["pair"]: ("pair", file_layouts.judged_and_labelled),
    HQ["batch"]: ("batch", file_layouts.ranked_and_labelled),
    HARD_PAIRS: ("pair", file_layouts.two_judges),
    HARD_RANKINGS: ("batch", file_layouts.two_judges),
    HARD_SCORES: ("batch", file_layouts.two_judges),
}
WHOLE_RUNS: dict[str, tuple[Task, Rulings]] = {
    FINAL_SCORES: ("score", file_layouts.people),
    FINAL_PAIRS: ("pair", file_layouts.people),
    FINAL_RANKINGS: ("batch", file_layouts.people),
    "Benchmark_Lite/batch_lite": ("batch", file_layouts.people),
    "step3/Score/GPT-4V": ("score", file_layouts.judge),
    "step3/Score/Gemini": ("score", file_layouts.judge),
    "step3/Score/LLaVA": ("score", file_layouts.judge),
    "step3/Pair/new GPT-4V(ision)": ("pair", file_layouts.judge),
    "step3/Pair/new Gemini": ("pair", file_layouts.judge),
    "step3/Pair/new LLaVA": ("pair", file_layouts.judge),
    "step3/Pair/new CogVLM": ("pair", file_layouts.judge),
    "step3/Batch/GPT-4V(ision)": ("batch", file_layouts.judge),
    "step3/Batch/Gemini": ("batch", file_layouts.judge),
}
"""Files of the full download, read where they are there; the smaller release does without."""
THIRD_PARTY = {
    "LLaVA-Critic-7B": "llava_critic_7b_score",
    "Phi-4-reasoning-15B": "phi4_reasoning_15b_score",
    "Gemini-2.5-Flash": "gemini_2_5_flash_score",
}


@dataclass(frozen=True, slots=True)
class Scored:
    """A row of the third-party file: what people and three later judges scored; None where they gave no score."""

    row: int
    score_id: int | None
    dataset: str
    human: int | None
    judges: Mapping[str, int | None]


@dataclass(frozen=True, eq=False)
class Release:
    """Everything the released files hold, line by line, and what was odd in them."""

    folder: Path
    rows: Mapping[str, tuple[Row, ...]]
    scored: tuple[Scored, ...]
    instructions: int
    oddities: Oddities
    places: Places

    @classmethod
    def read(cls, folder: str | Path) -> Release:
        """The release in a folder: a clone of the authors' repository, or `native/` and `third_party/` as condensed.

        The condensed form is whole, or an error. Of a clone, what is not there is counted and left out.
        """
        places = Places.of(Path(folder))
        odd = Oddities()
        there = {file: entry for file, entry in WHOLE_RUNS.items() if places.find(file, ".jsonl")}
        subsets = [file for file in FILES if file.startswith("Hard_HQ/")]
        first = {file: entry for file, entry in FILES.items() if file not in subsets}
        ordered = {**first, **there, **{file: FILES[file] for file in subsets}}
        rows = {file: tuple(_rows(places, file, task, how, odd)) for file, (task, how) in ordered.items()}
        if not any(rows.values()):
            known = ", ".join(f"{file}.jsonl" for file in WHOLE_RUNS if file.startswith("Benchmark/"))
            raise InputError(f"no file of the release is here, such as {known}", path=places.root)
        if not places.whole:
            for file in WHOLE_RUNS:
                if file not in there:
                    odd.note(file, "the file is not here: what needs it is left out")
        _compare_answers(rows, odd)
        _compare_releases(rows, odd)
        _count_unlabelled(rows, odd)
        return cls(Path(folder), rows, tuple(_scored(places, odd)), _instructions(places, rows, odd), odd, places)

    def labels(self, *files: str) -> dict[int, str]:
        """People's rulings of some files by the authors' number of the row; where a number comes twice, the last.

        A file that is not there adds nothing.
        """
        rows = [row for file in files for row in self.rows.get(file, ())]
        return {row.number: judgment.ruling for row in rows if (judgment := row.by(PEOPLE))}


def _lines(places: Places, file: str, suffix: str, odd: Oddities) -> Iterator[Line]:
    path = places.find(file, suffix)
    if path is None and not places.whole:
        odd.note(file, "the file is not here: what needs it is left out")
        return
    if path is None:
        raise InputError("the file is missing; the release has it", path=places.expected(file, suffix))
    number = 0
    try:
        for number, values in read_rows(path):
            yield Line(file, str(path), number, values, odd)
    except InputError as error:
        if error.line is not None:
            raise
        raise InputError(str(error).removeprefix(f"{path}: "), path=path, line=number + 1) from error
    odd.note(file, "the line ends with CR LF: read all the same", _windows_ends(path))


def _windows_ends(path: Path) -> int:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        return file.read().count(b"\r\n")


def _rows(places: Places, file: str, task: Task, how: Rulings, odd: Oddities) -> Iterator[Row]:
    for line in _lines(places, file, ".jsonl", odd):
        yield file_layouts.row(line, task, how)


def _scored(places: Places, odd: Oddities) -> Iterator[Scored]:
    for line in _lines(places, JUDGES_CSV, ".csv", odd):
        dataset = file_layouts.known_dataset(line)
        human = _score(line, "human", nothing="0")
        judges = {judge: _score(line, column, nothing="-1") for judge, column in THIRD_PARTY.items()}
        if human is None:
            line.note("the human score is 0: no verdict of people")
        for judge, score in judges.items():
            if score is None:
                line.note(f"the score of {judge} is -1 or missing: the verdict is 'unreadable'")
        if line["score_id"] is None:
            line.note("no score_id: the answer is known by its row alone")
        yield Scored(_whole(line, "row") or 0, _whole(line, "score_id"), dataset, human, judges)


def _whole(line: Line, column: str) -> int | None:
    value = line[column]
    if value is not None and not str(value).isdecimal():
        raise line.error(f"{column!r} must be a whole number; found {value!r}")
    return None if value is None else int(value)


def _score(line: Line, column: str, *, nothing: str) -> int | None:
    value = line[column]
    if value is None or value == nothing:
        return None
    if value not in set("12345"):
        raise line.error(f"{column!r} must be 1 to 5, or {nothing} for none; found {value!r}")
    return int(value)


def _instructions(places: Places, rows: Mapping[str, Iterable[Row]], odd: Oddities) -> int:
    """How many instructions of the first step there are; those that later files do not ask so are counted as odd."""
    asked = {(row.dataset, row.question) for group in rows.values() for row in group}
    seen: set[int] = set()
    count = 0
    for line in _lines(places, STEP1, ".jsonl", odd):
        count += 1
        if line.whole("id") in seen:
            line.note("the id occurs before: no item is made from this file")
        seen.add(line.whole("id"))
        if (file_layouts.known_dataset(line), str(line["instruction"])) not in asked:
            line.note("no labelled row of the same data set asks this: not used")
    return count


def _compare_answers(rows: Mapping[str, Iterable[Row]], odd: Oddities) -> None:
    """Count the rows that give a model's answer to an item in other words than an earlier row did."""
    texts: dict[tuple[str, str], str] = {}
    for group in rows.values():
        for row in group:
            for name, answer in zip(row.contestants, row.answers, strict=True):
                if texts.setdefault((row.item_id, name), answer.strip()) != answer.strip():
                    odd.note(row.file, "an answer differs in wording from an earlier file: joined by the model's name")


def _compare_releases(rows: Mapping[str, Iterable[Row]], odd: Oddities) -> None:
    later: dict[int, list[str]] = defaultdict(list)
    for row in rows[COGVLM]:
        later[row.number].append(row.given[0].ruling)
    for row in rows[COGVLM_FIRST]:
        same = row.given[0].ruling in later[row.number]
        odd.note(
            row.file,
            "the later release rules the same: counted there"
            if same
            else "the later release rules otherwise: set aside",
        )


def _count_unlabelled(rows: Mapping[str, Iterable[Row]], odd: Oddities) -> None:
    """Count the rows of judges on which no person ruled: they enter no figure."""
    labelled: dict[str, set[tuple[str, frozenset[str]]]] = defaultdict(set)
    final = [file for file in rows if file.startswith("Benchmark/")]
    for file in (SCORES, *MARKED_SCORES, PAIRS, *MARKED_PAIRS, RANKINGS, *final):
        for row in rows[file]:
            labelled[row.task].add((row.item_id, frozenset(row.contestants)))
    judged = [file for file in WHOLE_RUNS if file in rows and file.startswith("step3/")]
    for file in (COGVLM, LLAVA, *judged, HARD_RANKINGS, HARD_PAIRS):
        for row in rows[file]:
            if (row.item_id, frozenset(row.contestants)) not in labelled[row.task]:
                odd.note(file, "no person ruled on these answers: the row enters no figure")
