"""AlpacaEval's outputs and annotations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fullbench.core.item import Item, Turn
from fullbench.core.reproduction import Brought
from fullbench.errors import InputError
from fullbench.files.exchange.importer_base import (
    CHOICE,
    SHARE,
    Gathering,
    files_in,
    listed,
    picture_of,
    question_id,
    read_json,
    tags_of,
    text_of,
    words_of,
)
from fullbench.files.item_files import PICTURES


def _output(row: Mapping[str, Any], name: str, file: Path, line: int) -> str:
    """The words of an answer, which may be none; the field itself has to be there."""
    return "" if row.get(name, "") is None else text_of(row, name, path=file, line=line)


def alpaca_eval(path: Path, _options: Mapping[str, str]) -> Brought:
    """AlpacaEval's outputs (instruction, output, generator) and annotations (output_1, output_2, preference).

    They have no ids: a question is its words with its `input`, pictures and data set, or its `question_id` where a row
    has one. An annotator that weighs (a preference of 1.3) marks both answers by shares, whose mean is its win rate.
    """
    held = Gathering(path)
    entries = [(file, line, row) for file in files_in(path, "*.json") for line, row in _array(file)]
    asked = [_question(row, file, line) for file, line, row in entries]
    sources: dict[str, set[str]] = {}
    for question in asked:
        sources.setdefault(question.id, set()).update(filter(None, [question.tags.get("dataset")]))
    shares = [_share(row.get("preference")) for _, _, row in entries]
    weighing = {
        _annotator(row) for (_, _, row), share in zip(entries, shares, strict=True) if share not in {None, 0, 0.5, 1}
    }
    for (file, line, row), question, share in zip(entries, asked, shares, strict=True):
        several = len(sources[question.id]) > 1  # the same words in several data sets are several questions
        name = question_id(f"{question.id} {question.tags.get('dataset', '')}") if several else question.id
        item = held.item(replace(question, id=name))
        sides = [""] if "generator" in row else ["_1", "_2"]
        shown = []
        for side in sides:
            who = text_of(row, f"generator{side}", path=file, line=line)
            shown.append((who, held.response(item, who, (_output(row, f"output{side}", file, line),))))
            if shown[-1][1]:
                held.leave_out("further answers of a model to the same question: taken as its next samples")
        if len(shown) == 1:
            continue
        if shown[0] == shown[1]:
            held.leave_out("annotations of an answer beside itself")
        elif share is None:
            held.leave_out("annotations without a preference")
        else:
            judge = _annotator(row)
            text = row.get("raw_completion") or ""
            criterion = words_of(row.get("criterion")) or "overall"
            trial = held.rule(
                judge, item, shown, SHARE if judge in weighing else CHOICE, (1 - share, share),
                rater=words_of(row.get("rater")), criterion=criterion,
                text=text if isinstance(text, str) else json.dumps(text),
            )  # fmt: skip
            if trial:
                held.leave_out("further annotations of the same two answers: taken as next trials")
    return held.brought()


def _array(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    content = read_json(file)
    if isinstance(content, Mapping) and len(content) == 1:
        (content,) = content.values()
    if not isinstance(content, list) or not all(isinstance(row, Mapping) for row in content):
        raise InputError("AlpacaEval's files hold one array of objects [{...}]", path=file)
    yield from enumerate(content, 1)


def _question(row: Mapping[str, Any], file: Path, line: int) -> Item:
    """What a row asks; its id is a digest of that, unless it has one."""
    words = text_of(row, "instruction", path=file, line=line)
    if extra := words_of(row.get("input")):
        words = f"{words}\n\n{extra}"
    pictures = [picture_of(value, file) for name in ("pictures", *PICTURES) for value in listed(row.get(name)) if value]
    name = words_of(row.get("question_id")) or question_id("\n".join([words, *(one.digest for one in pictures)]))
    return Item(name, (Turn("user", (*pictures, words)),), tags=tags_of(row))


def _annotator(row: Mapping[str, Any]) -> str:
    return str(row.get("annotator") or "alpaca_eval")


def _share(preference: Any) -> float | None:
    """How much of a preference is the second answer's; older releases write a draw as 0."""
    try:
        number = float(preference)
    except (TypeError, ValueError):
        return None
    return 0.5 if number == 0 else number - 1 if 1 <= number <= 2 else None
