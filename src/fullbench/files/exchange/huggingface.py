"""Importer of Hugging Face data sets with a column map, and exporter of a data set folder with a card."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench.core.benchmark import LoadedData
from fullbench.core.item import Item, Part, Turn
from fullbench.core.media import PART_NAMES, SUFFIXES, Kind
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError, require_extra
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.import_record_builder import RecordBuilder, files_in, tags_of, words_of
from fullbench.files.exchange.message_parts import MEDIA_COLUMNS, media_of
from fullbench.files.item_response_verdict_files import write_items, write_responses, write_verdicts
from fullbench.files.item_response_verdict_folder import ITEMS, RESPONSES, VERDICTS, own_record
from fullbench.files.items_from_picture_folder import check_new
from fullbench.files.picture_access_policy import WEB, is_written_out
from fullbench.files.row_readers import read_rows
from fullbench.files.row_writers import replace_atomically

FILES = ("*.parquet", "*.jsonl", "*.csv")
OPTIONS = ("id", "question", "image", "video", "audio", "document", "reference", "winner", "folder")
_MEDIA_OPTIONS: Mapping[Kind, str] = {**PART_NAMES, "image": "image"}
_USUAL_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "index"), "question": ("question", "prompt", "instruction", "query"),
    **{_MEDIA_OPTIONS[kind]: columns for kind, columns in MEDIA_COLUMNS.items()},
    "reference": ("reference", "answer", "target"),
}  # fmt: skip
_PREFERENCE = ("chosen", "rejected")
"""Columns of a preference set: the better answer and the worse one."""


def is_own_file(head: FileHead) -> bool:
    """Return True for the files that `export huggingface` writes: those of fullbench, with a card."""
    names = {ITEMS, RESPONSES, *VERDICTS}
    return head.path.name in names and head.path.with_name(ITEMS).exists() and head.path.with_name("README.md").exists()


def is_table(head: FileHead) -> bool:
    """Return True for any file of a data set: options name its columns."""
    return f"*{head.suffix}" in FILES


@detected_by(is_own_file, named=is_table)
def import_huggingface(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import a data set on disk: Parquet, JSONL or CSV, one file or a folder.

    A folder written by `export huggingface` is read unchanged. Options name the columns: `id`, `question`, `image`,
    `video`, `audio`, `document`, `reference`; `response.NAME=COLUMN` for the answers of contestant NAME; `winner` for
    the column with the name (or column) of the better one according to people. Without `response`, the columns `chosen`
    and `rejected` are two answers of which people chose the first. `folder` is where named files are, if not next to
    the data.
    """
    answers = {key.partition(".")[2]: column for key, column in options.items() if key.startswith("response.")}
    strange = [key for key in options if key not in OPTIONS and not key.startswith("response.")]
    if strange:
        raise InputError(f"unknown option {strange[0]!r}; known: {', '.join(OPTIONS)}, response.NAME", path=path)
    if not options and (path / ITEMS).exists() and (path / RESPONSES).exists():
        return LoadedData(own_record(path))
    builder = RecordBuilder(path)
    number = 0
    for file in files_in(path, *FILES):
        for line, row in read_rows(file):
            number += 1
            where = {name: options.get(name) or _usual_column(name, row) for name in _USUAL_COLUMNS}
            named_columns = [column for name, column in options.items() if name in _USUAL_COLUMNS or name == "winner"]
            for column in [*named_columns, *answers.values()]:
                if column not in row:
                    raise InputError(f"there is no column {column!r}; found {', '.join(row)}", path=file, line=line)
            if not where["question"]:
                raise InputError(
                    f"which column is the question? Add --option question=COLUMN; found {', '.join(row)}", path=file
                )
            if not words_of(row[where["question"]]):
                builder.leave_out("rows without a question")
                continue
            media = [
                part for kind, name in _MEDIA_OPTIONS.items()
                for part in _media_cells(row, where[name], kind, options.get("folder", ""), file)
            ]  # fmt: skip
            name = (words_of(row[where["id"]]) if where["id"] else "") or str(number)
            reference = row.get(where["reference"]) if where["reference"] else None
            item = builder.add_item(
                Item(
                    name, (Turn("user", (*media, str(row[where["question"]]))),),
                    None if reference is None else str(reference), tags=tags_of(row),
                )
            )  # fmt: skip
            columns = answers or _preference_columns(row)
            shown_responses = [
                (who, builder.add_response(item, who, (words_of(row[column]),))) for who, column in columns.items()
            ]
            if "winner" in options:
                _add_vote(builder, item, shown_responses, columns, row[options["winner"]])
            elif columns and not answers:
                _add_vote(builder, item, shown_responses, columns, _PREFERENCE[0])
    return builder.build()


NAME = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?")
"""Name of a data set on the hub with an optional revision: ORG/NAME@REVISION."""


def download_dataset(name: str) -> Path:
    """Return the folder of a data set on the Hugging Face hub; files in its cache are reused."""
    with require_extra(f"fetching the data set {name!r} from Hugging Face", "hub"):
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    repo, _, revision = name.partition("@")
    try:
        folder = snapshot_download(
            repo, repo_type="dataset", revision=revision or None,
            allow_patterns=[*FILES, *(f"**/*{suffix}" for suffix in sorted(SUFFIXES))],
        )  # fmt: skip
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        why = str(error).strip().splitlines()[0]
        raise InputError(f"the data set {name!r} cannot be fetched from Hugging Face: {why}") from error
    return Path(folder)


def _usual_column(name: str, row: Mapping[str, Any]) -> str:
    return next((column for column in _USUAL_COLUMNS[name] if column in row), "")


def _preference_columns(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the two answers of a preference set; empty if the row is none."""
    is_preference = all(isinstance(row.get(name), str) for name in _PREFERENCE)
    return {name: name for name in _PREFERENCE} if is_preference else {}


def _media_cells(row: Mapping[str, Any], column: str, kind: Kind, folder: str, file: Path) -> list[Part]:
    """Return the files of a cell; a name is looked up in `folder`, unless it is the file itself."""
    cells = row.get(column) if column else None
    values = [value for value in (cells if isinstance(cells, list) else [cells]) if value]
    return [
        media_of(f"{folder}/{value}" if folder and isinstance(value, str) and _is_name(value) else value, kind, file)
        for value in values
    ]


def _is_name(value: str) -> bool:
    return not WEB.match(value) and not is_written_out(value)


def _add_vote(
    builder: RecordBuilder, item: str, shown_responses: list[tuple[str, int]], answers: Mapping[str, str], winner: Any
) -> None:
    names = {column: who for who, column in answers.items()} | {who: who for who in answers}
    if str(winner).lower() in {"tie", "both", "draw"}:
        builder.add_verdict(
            PEOPLE, item, shown_responses, "choice+tie", [1 / len(shown_responses)] * len(shown_responses)
        )
    elif str(winner) in names:
        builder.add_verdict(
            PEOPLE,
            item,
            shown_responses,
            "choice+tie",
            [float(who == names[str(winner)]) for who, _ in shown_responses],
        )
    else:
        builder.leave_out("rows without a winner")


def write_dataset(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Write a folder that `datasets` loads: items, responses and verdicts as three configurations, and a card."""
    check_new(path)
    counts = {
        "items": write_items(path / ITEMS, record.items.values()),
        "responses": write_responses(path / RESPONSES, record.responses.values()),
        "verdicts": write_verdicts(path / "verdicts.jsonl", record),
    }
    head = ["---", f"pretty_name: {json.dumps(options.get('name', path.name), ensure_ascii=False)}", "configs:"]
    for name in counts:
        head += [f"- config_name: {name}", f"  data_files: {name}.jsonl"]
    faults = record.faults()
    lines = [
        "---",
        "",
        f"# {options.get('name', path.name)}",
        "",
        f"{len(record):,} verdicts of {len(record.judges)} judges on {len(record.items):,} items and "
        f"{len(record.contestants)} contestants, written by fullbench.",
        "",
        "| judge | verdicts | refused | unreadable | abstained |",
        "|---|---|---|---|---|",
        *(
            f"| {judge} | {' | '.join(str(count) for count in fault_counts.values())} |"
            for judge, fault_counts in faults.items()
        ),
        "",
        "A row of `verdicts` has a mark for every response shown (`contestants`, in that order; higher is better), "
        "or a `fault`: a reply that could not be read, or a refusal, is never a mark.",
        "",
    ]
    with replace_atomically(path / "README.md") as part:
        part.write_text("\n".join([*head, *lines]), encoding="utf-8")
    return counts
