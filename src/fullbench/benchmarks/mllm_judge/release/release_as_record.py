"""The release as one record: items, responses, verdicts of people and judges, and people's reviews of verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from fullbench.benchmarks.mllm_judge.release import load_release as files
from fullbench.benchmarks.mllm_judge.release.load_release import Release, ThirdPartyScores
from fullbench.benchmarks.mllm_judge.release.release_row import BALLOTS, ReleasedVerdict, Row, Task, parse_marks
from fullbench.benchmarks.mllm_judge.release.released_line_parsers import Line, Oddities
from fullbench.benchmarks.mllm_judge.reviews_of_verdicts import review_verdicts
from fullbench.benchmarks.mllm_judge.source_datasets import BY_NAME
from fullbench.core.case import Case
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.files.picture_access_policy import read_picture
from fullbench.files.row_readers import read_rows

UNKNOWN = "unknown"
"""Contestant of a score whose answer was not released."""
VerdictKey = tuple[str, str, tuple[str, ...]]


@lru_cache(maxsize=1)
def assemble_record(release: Release) -> Record:
    """Build the record and count odd rows; cached, because a second run would count them twice."""
    return _Assembly(release).record()


class _Assembly:
    def __init__(self, release: Release) -> None:
        self.release = release
        self.oddities: Oddities = release.oddities
        self.pictures = _read_pictures(release.folder, self.oddities)
        self.images = release.places.images
        self.items: dict[str, Item] = {}
        self.responses: dict[tuple[str, str], Response] = {}
        self.verdicts: list[Verdict] = []
        self.earlier_marks: dict[VerdictKey, list[str]] = {}
        self.case = lru_cache(maxsize=None)(self._case)

    def record(self) -> Record:
        scores: dict[int, Row] = {}
        for file, rows in self.release.rows.items():
            for row in rows:
                if row.task == "score":
                    scores.setdefault(row.number, row)
                self._add_row(row)
                # The later release of CogVLM's run replaces the first one (see `_compare_releases`).
                if file != files.COGVLM_FIRST:
                    for judgment in row.verdicts:
                        self._add_verdict(row, judgment)
        self._add_third_party_verdicts(scores)
        return Record(tuple(self.verdicts), self.items, self.responses)

    def _add_row(self, row: Row) -> None:
        if row.item_id not in self.items:
            tags = {**BY_NAME[row.dataset].tags, "task": row.task}
            picture = self.pictures.get((row.task, row.item)) or self._find_picture(row)
            parts = () if picture is None else (picture,)
            if picture is None:
                tags[WITHOUT_PICTURES] = row.picture
            self.items[row.item_id] = Item.ask(row.item_id, row.question, *parts, tags=tags)
        for name, answer in zip(row.contestants, row.answers, strict=True):
            if (row.item_id, name) not in self.responses:
                self.responses[row.item_id, name] = Response.say(row.item_id, name, answer)

    def _find_picture(self, row: Row) -> Picture | None:
        name = Path(row.picture).name
        path = next((folder / name for folder in self.images if (folder / name).exists()), None)
        if path is None:
            return None
        inside = str(path.relative_to(self.release.folder))
        picture = read_picture(self.release.folder, inside, path=Path(row.file), line=row.line)
        if picture.media_type != "image/jpeg" and path.suffix == ".jpg":
            self.oddities.note("image", f"a picture called .jpg is {picture.media_type}: read by its content")
        return picture

    def _case(self, item: str, contestants: tuple[str, ...], task: Task) -> Case:
        responses = tuple(self.responses[item, name] for name in contestants)
        return Case(self.items[item], responses, BALLOTS[task])

    def _add_verdict(self, row: Row, judgment: ReleasedVerdict) -> None:
        verdict_marks = parse_marks(row.task, judgment.verdict_text, len(row.contestants))
        if verdict_marks is None and judgment.judge == PEOPLE:
            return
        case = self.case(row.item_id, row.contestants, row.task)
        trial = self._trial(row.file, judgment, (judgment.judge, row.item_id, row.contestants), verdict_marks)
        if trial is None:
            return
        verdict = Verdict.from_case(
            case.at(trial) if trial else case, judgment.judge, verdict_marks or "unreadable", text=judgment.text
        )
        self.verdicts.append(verdict)
        if judgment.review is not None:
            self.verdicts += review_verdicts(verdict, judgment.review)

    def _trial(
        self, file: str, judgment: ReleasedVerdict, verdict_key: VerdictKey, verdict_marks: tuple[float, ...] | None
    ) -> int | None:
        """Trial number, or None if the verdict adds nothing or contradicts an earlier human label."""
        judge, item, contestants = verdict_key
        marks_by_name = dict(zip(contestants, verdict_marks or (), strict=False))
        earlier = self.earlier_marks.setdefault((judge, item, tuple(sorted(contestants))), [])
        named_marks = str(sorted(marks_by_name.items()))
        if earlier and judge == PEOPLE:
            same = named_marks in earlier
            words = "was given before: counted once" if same else "differs from an earlier file's, which is kept"
            self.oddities.note(file, f"people's label {words}")
            return None
        if earlier and file in {files.HARD_SCORES, *files.HQ.values(), files.HARD_RANKINGS, files.HARD_PAIRS}:
            words = (
                "the same as in an earlier file: counted once"
                if named_marks in earlier
                else "other than before: kept too"
            )
            self.oddities.note(file, f"the judge's verdict is {words}")
            if named_marks in earlier:
                return None
        elif earlier:
            self.oddities.note(file, "the judge judged the same answer twice: stored as another trial")
        earlier.append(named_marks)
        return len(earlier) - 1

    def _add_third_party_verdicts(self, scores: Mapping[int, Row]) -> None:
        for score_row in self.release.third_party_scores:
            case = self._third_party_case(score_row, scores)
            place = (case.item.id, case.contestants)
            if score_row.human is not None:
                judgment = ReleasedVerdict(PEOPLE, str(score_row.human))
                if self._trial(files.JUDGES_CSV, judgment, (PEOPLE, *place), (float(score_row.human),)) is not None:
                    self.verdicts.append(Verdict.from_case(case, PEOPLE, (score_row.human,)))
            for judge, score in score_row.judges.items():
                self.verdicts.append(Verdict.from_case(case, judge, "unreadable" if score is None else (score,)))

    def _third_party_case(self, score_row: ThirdPartyScores, scores: Mapping[int, Row]) -> Case:
        row = scores.get(score_row.score_id) if score_row.score_id is not None else None
        if row is not None:
            return self.case(row.item_id, row.contestants, "score")
        name = f"final-{score_row.row}"
        tags = {**BY_NAME[score_row.dataset].tags, "task": "score", "released": "no"}
        self.items[name] = Item.ask(name, "", tags=tags)
        self.responses[name, UNKNOWN] = Response.say(name, UNKNOWN, "")
        return self.case(name, (UNKNOWN,), "score")


def _read_pictures(folder: Path, oddities: Oddities) -> dict[tuple[str, int], Picture]:
    index = folder / "images" / "index.jsonl"
    if not index.exists():
        return {}
    pictures: dict[tuple[str, int], Picture] = {}
    for number, values in read_rows(index):
        line = Line("images/index", str(index), number, values, oddities)
        name = str(line["file"])
        picture = read_picture(folder, f"{index.parent.name}/{name}", path=index, line=number)
        if picture.media_type != "image/jpeg" and name.endswith(".jpg"):
            line.note(f"a picture called .jpg is {picture.media_type}: read by its content")
        pictures[str(line["task"]), line.integer("id")] = picture
    return pictures


def released_items(record: Record) -> Iterator[Item]:
    """Return the items whose texts were released."""
    return (item for item in record.items.values() if item.tags.get("released") != "no")
