"""Label Studio and Argilla behind the doors of `import` and `export`: what people were asked, and what they said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench.core.ballot import LETTERS
from fullbench.core.item import Item
from fullbench.core.record import Record
from fullbench.core.reproduction import Brought
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.files.annotation_tools import read_labels, write_labels
from fullbench.files.annotation_tools.label_content import parts_of_response, turns_of
from fullbench.files.exchange.importer_base import Gathering, files_in
from fullbench.files.readers import read_rows


def labels(path: Path, options: Mapping[str, str]) -> Brought:
    """Records of Label Studio or Argilla with the question and answers that they show, and what each person said.

    The data of a record name `item` and `contestants`; the answers are `response_a`, `response_b`..., with pictures
    beside them as `files.annotation_tools.label_content` has them. Options: `question`, the column with the question
    where it is not called so.
    """
    held = Gathering(path)
    column, passed_over = options.get("question", "question"), Counter[str]()
    for file in files_in(path, "*.json", "*.jsonl", "*.parquet"):
        for line, row in read_rows(file):
            record = read_labels.nested(row)
            item, answers = _entered(held, file, line, _data(record), column)
            said = list(read_labels.votes(file, line, record, passed_over))
            for _ in range(_without_status(record)):
                held.leave_out("answers without a state, as Argilla's to_json writes them: taken as sent")
            for flat in said:
                held.rule(
                    str(flat.get("judge") or PEOPLE), item, answers, _ballot(flat, file, line),
                    flat.get("marks") or flat["fault"], criterion=str(flat.get("criterion") or "overall"),
                    rater=str(flat.get("rater") or ""), text=str(flat.get("text") or ""),
                    revision=int(flat.get("revision") or 0),
                )  # fmt: skip
    for why, count in passed_over.items():
        held.left_out["drafts of votes" if why == "drafts" else f"votes {why}"] = count
    return held.brought()


def _data(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a record is about: the data of Label Studio, fields and metadata of Argilla."""
    parts = [row.get(name) for name in ("data", "fields", "metadata")]
    return {name: value for part in parts if isinstance(part, Mapping) for name, value in part.items()}


def _without_status(row: Mapping[str, Any]) -> int:
    """How many people's answers a record of Argilla has of which it does not say whether they were sent."""
    questions = row["responses"] if isinstance(row.get("responses"), Mapping) else {}
    given = [one for name, some in questions.items() if name not in read_labels.TEXTS for one in some or ()]
    return len({str(one.get("user_id")) for one in given if not one.get("status") and one.get("value") is not None})


def _ballot(flat: Mapping[str, Any], path: Path, line: int) -> str:
    if not flat.get("ballot"):
        raise InputError("a record on one answer says how it was marked: 'ballot', as score:1-5", path=path, line=line)
    return str(flat["ballot"])


def _entered(
    held: Gathering, path: Path, line: int, data: Mapping[str, Any], column: str
) -> tuple[str, list[tuple[str, int]]]:
    """The item and the answers of a record."""
    names = data.get("contestants") or [data[name] for name in ("model_a", "model_b") if data.get(name)]
    names = read_labels.listed(names, "contestants", path, line)
    if not data.get("item") or not data.get(column) or not names:
        raise InputError(
            f"a record needs 'item', 'contestants' and the question, here {column!r}, in its 'data' (Label Studio) or "
            f"'fields' (Argilla); found there: {', '.join(sorted(data)) or 'nothing'}; name another column with "
            "--option question=COLUMN",
            path=path,
            line=line,
        )
    item = held.item(Item(str(data["item"]), turns_of(data, column, path, line)))
    samples = read_labels.listed(data.get("samples") or [0] * len(names), "samples", path, line)
    if len(samples) != len(names) or not all(isinstance(sample, int) for sample in samples):
        raise InputError(f"'samples' has a whole number for each of {len(names)} contestants", path=path, line=line)
    answers = []
    for name, letter, sample in zip(names, LETTERS, samples, strict=False):
        parts = parts_of_response(data, letter.lower(), path, line)
        answers.append((str(name), held.response(item, str(name), parts, sample)))
    return item, answers


def write_label_studio(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Tasks of Label Studio, one a case, with what each judge or person said as its annotations.

    Options: `blank=yes` leaves these out, so that people label the same cases afresh.
    """
    return _write("label-studio", record, path, options)


def write_argilla(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Records of Argilla, one a case, with what each judge or person said as its responses; options as above."""
    return _write("argilla", record, path, options)


def _write(tool: read_labels.Tool, record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    blank = options.get("blank", "no")
    if blank not in {"yes", "no"}:
        raise InputError(f"the option blank is yes or no; found {blank!r}")
    count = write_labels.write(path, tool, record, record.items, record.responses, blank=blank == "yes")
    return {"records" if blank == "yes" else "votes": count}
