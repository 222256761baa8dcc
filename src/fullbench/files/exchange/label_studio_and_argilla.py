"""Importer and exporters for Label Studio and Argilla records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench.core.ballot import LETTERS
from fullbench.core.benchmark import LoadedData
from fullbench.core.item import Item
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.annotation_tools import read_labels, verdicts_as_annotation_records
from fullbench.files.annotation_tools.verdicts_as_annotation_records import parts_of_response, turns_of
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.import_record_builder import RecordBuilder, files_in
from fullbench.files.row_readers import read_rows


def is_label_file(head: FileHead) -> bool:
    """Return True for records of Label Studio or Argilla about an item and its contestants."""
    row = read_labels.nest_record(dict(head.rows[0])) if head.rows else {}
    return "item" in _record_data(row) and bool(row.keys() & {"annotations", "responses"})


@detected_by(is_label_file)
def import_labels(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import Label Studio or Argilla records with their question, answers and people's votes.

    The data of a record contain `item` and `contestants`. The answers are `response_a`, `response_b`..., with pictures
    as in `files.annotation_tools.verdicts_as_annotation_records`. Option: `question`, the name of the question column.
    """
    builder = RecordBuilder(path)
    column, passed_over = options.get("question", "question"), Counter[str]()
    for file in files_in(path, "*.json", "*.jsonl", "*.parquet"):
        for line, row in read_rows(file):
            record = read_labels.nest_record(row)
            item, answers = _add_item_and_answers(builder, file, line, _record_data(record), column)
            votes = list(read_labels.vote_rows(file, line, record, passed_over))
            for _ in range(_count_without_status(record)):
                builder.leave_out("answers without a state, as Argilla's to_json writes them: taken as sent")
            for flat in votes:
                builder.add_verdict(
                    str(flat.get("judge") or PEOPLE), item, answers, _ballot_spec(flat, file, line),
                    flat.get("marks") or flat["fault"], criterion=str(flat.get("criterion") or "overall"),
                    rater=str(flat.get("rater") or ""), text=str(flat.get("text") or ""),
                    revision=int(flat.get("revision") or 0),
                )  # fmt: skip
    for why, count in passed_over.items():
        builder.left_out["drafts of votes" if why == "drafts" else f"votes {why}"] = count
    return builder.build()


def _record_data(row: Mapping[str, Any]) -> dict[str, Any]:
    parts = [row.get(name) for name in ("data", "fields", "metadata")]
    return {name: value for part in parts if isinstance(part, Mapping) for name, value in part.items()}


def _count_without_status(row: Mapping[str, Any]) -> int:
    questions = row["responses"] if isinstance(row.get("responses"), Mapping) else {}
    answers = [
        answer
        for name, question_answers in questions.items()
        if name not in read_labels.REASON_FIELDS
        for answer in question_answers or ()
    ]
    return len(
        {
            str(answer.get("user_id"))
            for answer in answers
            if not answer.get("status") and answer.get("value") is not None
        }
    )


def _ballot_spec(flat: Mapping[str, Any], path: Path, line: int) -> str:
    if not flat.get("ballot"):
        raise InputError(
            "a record on one answer needs its scale: add 'ballot', such as score:1-5", path=path, line=line
        )
    return str(flat["ballot"])


def _add_item_and_answers(
    builder: RecordBuilder, path: Path, line: int, data: Mapping[str, Any], column: str
) -> tuple[str, list[tuple[str, int]]]:
    names = data.get("contestants") or [data[name] for name in ("model_a", "model_b") if data.get(name)]
    names = read_labels.parse_list(names, "contestants", path, line)
    if not data.get("item") or not data.get(column) or not names:
        raise InputError(
            f"a record needs 'item', 'contestants' and the question, here {column!r}, in its 'data' (Label Studio) or "
            f"'fields' (Argilla); found there: {', '.join(sorted(data)) or 'nothing'}; name another column with "
            "--option question=COLUMN",
            path=path,
            line=line,
        )
    item = builder.add_item(Item(str(data["item"]), turns_of(data, column, path, line)))
    samples = read_labels.parse_list(data.get("samples") or [0] * len(names), "samples", path, line)
    if len(samples) != len(names) or not all(isinstance(sample, int) for sample in samples):
        raise InputError(f"'samples' has a whole number for each of {len(names)} contestants", path=path, line=line)
    answers = []
    for name, letter, sample in zip(names, LETTERS, samples, strict=False):
        parts = parts_of_response(data, letter.lower(), path, line)
        answers.append((str(name), builder.add_response(item, str(name), parts, sample)))
    return item, answers


def write_label_studio(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Write Label Studio tasks, one per case, with the votes of each judge or person as annotations.
    Option: `blank=yes` leaves the votes out, so that people label the same cases again.
    """
    return _write_records("label-studio", record, path, options)


def write_argilla(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Write Argilla records, one per case, with the votes as responses; options as in `write_label_studio`."""
    return _write_records("argilla", record, path, options)


def _write_records(tool: read_labels.Tool, record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    blank = options.get("blank", "no")
    if blank not in {"yes", "no"}:
        raise InputError(f"the option blank is yes or no; found {blank!r}")
    count = verdicts_as_annotation_records.write_records(
        path, tool, record, record.items, record.responses, blank=blank == "yes"
    )
    return {"records" if blank == "yes" else "votes": count}
