"""Label Studio and Argilla behind the doors of `import` and `export`: what people were asked, and what they said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.files import label_tools
from fullbench.files.exchange.common import Gathering, files_in
from fullbench.files.readers import read_rows
from fullbench.nouns.ballot import LETTERS
from fullbench.nouns.item import Item, Turn
from fullbench.nouns.record import Record
from fullbench.nouns.reproduction import Brought
from fullbench.nouns.verdict import PEOPLE


def labels(path: Path, options: Mapping[str, str]) -> Brought:
    """Records of Label Studio or Argilla with the question and answers that they show, and what each person said.

    The data of a record name `item` and `contestants`; the answers are `response_a`, `response_b`... Options:
    `question`, the column with the question where it is not called so.
    """
    held = Gathering(path)
    column, passed_over = options.get("question", "question"), Counter[str]()
    for file in files_in(path, "*.json", "*.jsonl"):
        for line, row in read_rows(file):
            item, answers = _entered(held, file, line, _data(row), column)
            for flat in label_tools.votes(file, line, dict(row), passed_over):
                if "marks" not in flat:
                    held.leave_out("votes of people who could not judge")
                    continue
                held.rule(
                    str(flat.get("judge") or PEOPLE), item, answers, str(flat["ballot"]), flat["marks"],
                    criterion=str(flat.get("criterion") or "overall"), rater=str(flat.get("rater") or ""),
                    text=str(flat.get("text") or ""),
                )  # fmt: skip
    for why, count in passed_over.items():
        held.left_out["drafts of votes" if why == "drafts" else f"votes {why}"] = count
    return held.brought()


def _data(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a record is about: the data of Label Studio, fields and metadata of Argilla."""
    return {**(row.get("data") or {}), **(row.get("fields") or {}), **(row.get("metadata") or {})}


def _entered(
    held: Gathering, path: Path, line: int, data: Mapping[str, Any], column: str
) -> tuple[str, list[tuple[str, int]]]:
    """The item and the answers of a record."""
    names = data.get("contestants") or [data[name] for name in ("model_a", "model_b") if data.get(name)]
    names = [names] if isinstance(names, str) else names
    if not data.get("item") or not data.get(column) or not names:
        raise InputError(
            f"a record needs 'item', 'contestants' and the question, here {column!r}, in its 'data' (Label Studio) or "
            f"'fields' (Argilla); found there: {', '.join(sorted(data)) or 'nothing'}; name another column with "
            "--option question=COLUMN",
            path=path,
            line=line,
        )
    item = held.item(Item(str(data["item"]), (Turn("user", (str(data[column]),)),)))
    letters = [letter.lower() for letter in LETTERS]
    texts = [str(data.get(f"response_{letter}") or "") for letter in letters[: len(names)]]
    return item, [(str(name), held.response(item, str(name), (text,))) for name, text in zip(names, texts, strict=True)]


def write_label_studio(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Tasks of Label Studio, one a case, with what each judge or person said as its annotations.

    Options: `blank=yes` leaves these out, so that people label the same cases afresh.
    """
    return _write("label-studio", record, path, options)


def write_argilla(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Records of Argilla, one a case, with what each judge or person said as its responses; options as above."""
    return _write("argilla", record, path, options)


def _write(tool: label_tools.Tool, record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    blank = options.get("blank", "no")
    if blank not in {"yes", "no"}:
        raise InputError(f"the option blank is yes or no; found {blank!r}")
    count = label_tools.write(path, tool, record, record.items, record.responses, blank=blank == "yes")
    return {"records" if blank == "yes" else "votes": count}
