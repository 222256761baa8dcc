"""Items, pictures and labels of MJ-Bench: the sample, a folder in our own layout, or the released data set.

The released data set is a table: Parquet, JSON, JSON Lines or CSV, one or several files. Folders may be arranged as on
the hub or as in the authors' repository. A row has a prompt (`caption`, or `info` if there is none), two pictures
(`image0`, `image1`, as bytes or paths) and a `label`, the number of the better one. Columns name the perspective and
the sub-category (with a `caption`, `info` is the sub-category); otherwise the file or folder name does. A row about
bias has one picture, the `occupation` and `demographic` of the person, and flags.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fullbench.benchmarks.mj_bench.bundled_sample_data import build_sample
from fullbench.benchmarks.mj_bench.judging_protocol import Protocol, can_judge
from fullbench.benchmarks.mj_bench.release import released_scores_and_verdicts
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import STORED_ORDER
from fullbench.core.benchmark import LoadedData
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.item import SENSITIVE, Item
from fullbench.core.media import UNKNOWN
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items
from fullbench.files.item_response_verdict_folder import own_record
from fullbench.files.picture_access_policy import find_picture, read_picture
from fullbench.files.row_readers import read_rows
from fullbench.judges.scorers.image_statistics import MEASURES, measure_scorer
from fullbench.judges.scorers.scorer_judge import ScorerJudge
from fullbench.synthetic.perturb.items_from_perturbed_pairs_and_grids import (
    CHOSEN_CONTESTANT,
    PERSPECTIVES,
    REJECTED_CONTESTANT,
    pair_labels,
)

_PROMPT = ("caption", "prompt", "info")
_SHARD = re.compile(r"-\d+-of-\d+$")


@dataclass
class ItemCollection:
    """Items with pictures and preferences, and counts of oddities in the data."""

    items: dict[str, Item] = field(default_factory=dict)
    responses: list[Response] = field(default_factory=list)
    pairs: set[tuple[str, ...]] = field(default_factory=set)
    people: set[tuple[str, str]] = field(default_factory=set)
    oddity_counts: Counter[str] = field(default_factory=Counter)

    def labels(self) -> Iterable[Verdict]:
        """Yield people's choice for each complete pair."""
        return pair_labels(self.items, {(response.item, response.contestant): response for response in self.responses})


def items(source: Path | None = None) -> Iterable[Item]:
    """Return items of the sample, of a file or folder in our own layout, or of the released data set."""
    if source is None:
        return build_sample()[0]
    item_file = source / "items.jsonl" if source.is_dir() else source
    if item_file.is_file() and not _is_released(item_file):
        return read_items(item_file)
    return load_collection(source).items.values()


def bring(source: Path | None = None) -> LoadedData:
    """Return items, pictures and labels as a record; the sample is also judged by the weight-free measures."""
    if source is not None and (source / "items.jsonl").exists():
        return LoadedData(own_record(source))
    collection = load_collection(source)
    responses_by_key = {(response.item, response.contestant): response for response in collection.responses}
    verdicts = list(collection.labels())
    if source is None:
        for name in MEASURES:
            judge = ScorerJudge(measure_scorer(name))
            cases = Protocol().cases(list(collection.items.values()), collection.responses)
            verdicts += judge.judge(case for case in cases if can_judge(judge, case))
    rows: list[list[Cell]] = [[description, count] for description, count in sorted(collection.oddity_counts.items())]
    oddity_tables = (
        [Table("oddities", Note("mj-bench.sources.title.what-was-odd-in-the"), table_columns("what", "rows"), rows)]
        if rows
        else []
    )
    return LoadedData(Record(tuple(verdicts), collection.items, responses_by_key), oddity_tables)


def load_collection(source: Path | None) -> ItemCollection:
    """Load the sample, or the released data set from a file or a folder of files."""
    if source is None:
        sample_items, responses = build_sample()
        return ItemCollection({item.id: item for item in sample_items}, list(responses))
    if not source.exists():
        raise InputError("there is no such file or folder", path=source)
    collection = ItemCollection()
    for file in released_scores_and_verdicts.find_tables(source):
        for line, row in read_rows(file):
            if released_scores_and_verdicts.is_bias_row(row):
                _add_person(collection, file, line, row)
            else:
                _add_pair(collection, file, line, row)
    if collection.items and not collection.responses:
        raise InputError(
            f"none of the pictures of its {len(collection.items):,} items was found. Put them next to the file, or "
            "name their folder with --pictures-from (pictures_from in a study file)",
            path=source,
        )
    return collection


def _is_released(path: Path) -> bool:
    _, row = next(iter(read_rows(path)))
    return released_scores_and_verdicts.is_bias_row(row) or any(
        f"image{end}" in row or f"image_{end}" in row for end in "01"
    )


def _add_pair(collection: ItemCollection, file: Path, line: int, row: Mapping[str, Any]) -> None:
    """Broken pictures are kept; judges abstain on them."""
    prompt_fields = [name for name in _PROMPT if isinstance(row.get(name), str) and row[name].strip()]
    label = str(row.get("label"))
    if not prompt_fields:
        raise InputError(f"the row has no prompt: one of {', '.join(_PROMPT)}", path=file, line=line)
    if label not in {"0", "1"}:
        raise InputError(f"'label' is 0 or 1, the better picture; found {row.get('label')!r}", path=file, line=line)
    stem = file.name.split(".")[0]
    row_id = row.get("id")
    name = f"{stem}-{row_id}" if isinstance(row_id, int) else str(row_id or f"{stem}-{line}")
    if released_scores_and_verdicts.in_repository(file):
        pictures = tuple(str(row.get(f"image{end}")) for end in "01")
        if (row[prompt_fields[0]], *pictures) in collection.pairs:
            collection.oddity_counts["the same pair stands in two files of the repository: it is taken once"] += 1
            return
        collection.pairs.add((row[prompt_fields[0]], *pictures))
        name = f"{released_scores_and_verdicts.file_subset(file)}-{row_id}"
    if name in collection.items:
        raise InputError(f"the id {name!r} occurs twice; ids must differ", path=file, line=line)
    places = f"{file.parent.name}/{stem}".lower()
    about = str(
        row.get("perspective") or next((perspective for perspective in PERSPECTIVES if perspective in places), "")
    )
    info = row["info"].strip() if "info" in prompt_fields[1:] else ""
    tags = {
        "perspective": about,
        "subset": str(
            row.get("subset")
            or row.get("category")
            or info
            or released_scores_and_verdicts.file_subset(file)
            or _SHARD.sub("", stem)
        ),
        STORED_ORDER: CHOSEN_CONTESTANT if label == "0" else REJECTED_CONTESTANT,
    }
    sensitive_tags = {SENSITIVE: "yes"} if about == "safety" else {}
    collection.items[name] = Item.ask(
        name, row[prompt_fields[0]], tags={key: value for key, value in {**tags, **sensitive_tags}.items() if value}
    )
    for end in "01":
        picture = _load_picture(row.get(f"image{end}", row.get(f"image_{end}")), file, collection)
        if picture is not None:
            contestant = CHOSEN_CONTESTANT if end == label else REJECTED_CONTESTANT
            collection.responses.append(
                Response(name, contestant, (picture,), sensitive_tags if contestant == REJECTED_CONTESTANT else {})
            )


def _add_person(collection: ItemCollection, file: Path, line: int, row: Mapping[str, Any]) -> None:
    """All pictures of one occupation form one item."""
    work, person = str(row.get("occupation") or "").strip(), str(row.get("demographic") or "").strip()
    if not work or not person:
        raise InputError(
            f"a bias row needs an occupation and a demographic; found {work!r} and {person!r}",
            path=file,
            line=line,
        )
    name = f"bias-{work}"
    prompt = next((row[part] for part in _PROMPT if isinstance(row.get(part), str) and row[part].strip()), work)
    item = Item.ask(name, prompt, tags={"perspective": "bias", "subset": str(row.get("subset") or "occupation")})
    if collection.items.setdefault(name, item).question != prompt:
        raise InputError(f"the prompt for {work!r} differs from earlier rows", path=file, line=line)
    if (name, person) in collection.people:
        raise InputError(f"{person!r} as {work!r} occurs twice", path=file, line=line)
    collection.people.add((name, person))
    picture = _load_picture(
        next((row[part] for part in released_scores_and_verdicts.PICTURES if row.get(part)), None), file, collection
    )
    if picture is not None:
        collection.responses.append(
            Response(name, person, (picture,), released_scores_and_verdicts.demographic_groups(row, person))
        )


def _load_picture(value: Any, file: Path, collection: ItemCollection) -> Picture | None:
    if isinstance(value, Mapping):
        value = value["bytes"] if isinstance(value.get("bytes"), bytes) else value.get("path")
    if isinstance(value, str) and value:
        path = find_picture(file.parent, value)
        if path is None:
            collection.oddity_counts["a picture's file is missing: the pair is left out"] += 1
            return None
        return _count_unknown_picture(
            read_picture(file.parent, str(path.absolute()), path=file, is_answer=True), collection
        )
    if not isinstance(value, bytes):
        collection.oddity_counts["half of a pair is missing: the pair is left out"] += 1
        return None
    return _count_unknown_picture(Picture.from_any_bytes(value, value), collection)


def _count_unknown_picture(picture: Picture, collection: ItemCollection) -> Picture:
    if picture.media_type == UNKNOWN:
        collection.oddity_counts["a picture is none that we know: judges abstain"] += 1
    return picture
