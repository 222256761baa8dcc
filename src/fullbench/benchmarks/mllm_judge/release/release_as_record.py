"""The release as one record: items, responses, people's verdicts, judges' verdicts, and people's reviews of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from fullbench.benchmarks.mllm_judge.release import load_release as files
from fullbench.benchmarks.mllm_judge.release.file_layouts import Line
from fullbench.benchmarks.mllm_judge.release.load_release import Release, Scored
from fullbench.benchmarks.mllm_judge.release.oddities import Oddities
from fullbench.benchmarks.mllm_judge.release.release_row import BALLOTS, Given, Row, Task, marks
from fullbench.benchmarks.mllm_judge.reviews_of_verdicts import reviewed
from fullbench.benchmarks.mllm_judge.source_datasets import BY_NAME
from fullbench.core.case import Case
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.picture import Picture
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.files.item_files import read_rows
from fullbench.files.picture_access_policy import read_picture

UNKNOWN = "unknown"
"""The contestant of a score whose answer was not released."""
Place = tuple[str, str, tuple[str, ...]]


@lru_cache(maxsize=1)
def assemble(release: Release) -> Record:
    """Everything the release says, once. What is said twice or differently is counted in the release's oddities.

    It is made once for a release: made again, it would count again.
    """
    return _Assembly(release).record()


class _Assembly:
    """The record while it is being put together."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.odd: Oddities = release.oddities
        self.pictures = _pictures(release.folder, self.odd)
        self.images = release.places.images
        self.items: dict[str, Item] = {}
        self.responses: dict[tuple[str, str], Response] = {}
        self.verdicts: list[Verdict] = []
        self.said: dict[Place, list[str]] = {}
        self.case = lru_cache(maxsize=None)(self._case)

    def record(self) -> Record:
        scores: dict[int, Row] = {}
        for file, rows in self.release.rows.items():
            for row in rows:
                if row.task == "score":
                    scores.setdefault(row.number, row)
                self._know(row)
                if file != files.COGVLM_FIRST:
                    for judgment in row.given:
                        self._hear(row, judgment)
        self._hear_scored(scores)
        return Record(tuple(self.verdicts), self.items, self.responses)

    def _know(self, row: Row) -> None:
        if row.item_id not in self.items:
            tags = {**BY_NAME[row.dataset].tags, "task": row.task}
            picture = self.pictures.get((row.task, row.item)) or self._native(row)
            parts = () if picture is None else (picture,)
            if picture is None:
                tags[WITHOUT_PICTURES] = row.picture
            self.items[row.item_id] = Item.ask(row.item_id, row.question, *parts, tags=tags)
        for name, answer in zip(row.contestants, row.answers, strict=True):
            if (row.item_id, name) not in self.responses:
                self.responses[row.item_id, name] = Response.say(row.item_id, name, answer)

    def _native(self, row: Row) -> Picture | None:
        """The picture under its own name, as the full download has it. Its type is what its bytes say."""
        name = Path(row.picture).name
        path = next((folder / name for folder in self.images if (folder / name).exists()), None)
        if path is None:
            return None
        inside = str(path.relative_to(self.release.folder))
        picture = read_picture(self.release.folder, inside, path=Path(row.file), line=row.line)
        if picture.media != "image/jpeg" and path.suffix == ".jpg":
            self.odd.note("image", f"a picture called .jpg is {picture.media}: taken for what it is")
        return picture

    def _case(self, item: str, contestants: tuple[str, ...], task: Task) -> Case:
        shown = tuple(self.responses[item, name] for name in contestants)
        return Case(self.items[item], shown, BALLOTS[task])

    def _hear(self, row: Row, judgment: Given) -> None:
        ruling = marks(row.task, judgment.ruling, len(row.contestants))
        if ruling is None and judgment.judge == PEOPLE:
            return
        case = self.case(row.item_id, row.contestants, row.task)
        trial = self._trial(row.file, judgment, (judgment.judge, row.item_id, row.contestants), ruling)
        if trial is None:
            return
        verdict = Verdict.of(
            case.at(trial) if trial else case, judgment.judge, ruling or "unreadable", text=judgment.text
        )
        self.verdicts.append(verdict)
        if judgment.review is not None:
            self.verdicts += reviewed(verdict, judgment.review)

    def _trial(self, file: str, judgment: Given, place: Place, ruling: tuple[float, ...] | None) -> int | None:
        """Which trial a ruling is; None where it says nothing new, or people said otherwise before."""
        judge, item, contestants = place
        named = dict(zip(contestants, ruling or (), strict=False))
        earlier = self.said.setdefault((judge, item, tuple(sorted(contestants))), [])
        named_marks = str(sorted(named.items()))
        if earlier and judge == PEOPLE:
            same = named_marks in earlier
            words = "was given before: counted once" if same else "differs from an earlier file's, which is kept"
            self.odd.note(file, f"people's label {words}")
            return None
        if earlier and file in {files.HARD_SCORES, *files.HQ.values(), files.HARD_RANKINGS, files.HARD_PAIRS}:
            words = (
                "the same as in an earlier file: counted once"
                if named_marks in earlier
                else "other than before: kept too"
            )
            self.odd.note(file, f"the judge's ruling is {words}")
            if named_marks in earlier:
                return None
        elif earlier:
            self.odd.note(file, "the judge rules a second time on the same answer: kept as another trial")
        earlier.append(named_marks)
        return len(earlier) - 1

    def _hear_scored(self, scores: Mapping[int, Row]) -> None:
        for scored in self.release.scored:
            case = self._scored_case(scored, scores)
            place = (case.item.id, case.contestants)
            if scored.human is not None:
                judgment = Given(PEOPLE, str(scored.human))
                if self._trial(files.JUDGES_CSV, judgment, (PEOPLE, *place), (float(scored.human),)) is not None:
                    self.verdicts.append(Verdict.of(case, PEOPLE, (scored.human,)))
            for judge, score in scored.judges.items():
                self.verdicts.append(Verdict.of(case, judge, "unreadable" if score is None else (score,)))

    def _scored_case(self, scored: Scored, scores: Mapping[int, Row]) -> Case:
        row = scores.get(scored.score_id) if scored.score_id is not None else None
        if row is not None:
            return self.case(row.item_id, row.contestants, "score")
        name = f"final-{scored.row}"
        tags = {**BY_NAME[scored.dataset].tags, "task": "score", "released": "no"}
        self.items[name] = Item.ask(name, "", tags=tags)
        self.responses[name, UNKNOWN] = Response.say(name, UNKNOWN, "")
        return self.case(name, (UNKNOWN,), "score")


def _pictures(folder: Path, odd: Oddities) -> dict[tuple[str, int], Picture]:
    """The pictures at hand, by task and item. Their type is what their bytes say."""
    index = folder / "images" / "index.jsonl"
    if not index.exists():
        return {}
    pictures: dict[tuple[str, int], Picture] = {}
    for number, values in read_rows(index):
        line = Line("images/index", str(index), number, values, odd)
        name = str(line["file"])
        picture = read_picture(folder, f"{index.parent.name}/{name}", path=index, line=number)
        if picture.media != "image/jpeg" and name.endswith(".jpg"):
            line.note(f"a picture called .jpg is {picture.media}: taken for what it is")
        pictures[str(line["task"]), line.whole("id")] = picture
    return pictures


def released_items(everything: Record) -> Iterator[Item]:
    """The items whose words were released."""
    return (item for item in everything.items.values() if item.tags.get("released") != "no")
