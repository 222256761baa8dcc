"""Importer of AlpacaEval outputs and annotations."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fullbench.core.benchmark import LoadedData
from fullbench.core.item import Item, Turn
from fullbench.errors import InputError
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.harness_metrics_as_marks import number_of
from fullbench.files.exchange.import_record_builder import (
    CHOICE,
    SHARE,
    RecordBuilder,
    files_in,
    question_id,
    read_json,
    tags_of,
    text_of,
    words_of,
)
from fullbench.files.exchange.message_parts import media_in_columns


def _answer_text(row: Mapping[str, Any], name: str, file: Path, line: int) -> str:
    return "" if row.get(name, "") is None else text_of(row, name, path=file, line=line)


def is_alpaca_file(head: FileHead) -> bool:
    """Return True for outputs of a model, and for annotations of two outputs."""
    names = ("output", "generator"), ("output_1", "output_2", "generator_1", "generator_2")
    return head.suffix == ".json" and any(head.has("instruction", *columns) for columns in names)


@detected_by(is_alpaca_file)
def import_alpaca_eval(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import AlpacaEval outputs (instruction, output, generator) and annotations (output_1, output_2, preference).

    Rows have no ids. A question is identified by its text with its `input`, pictures and data set, or by its
    `question_id` if a row has one. An annotator with weighted preferences (such as 1.3) marks both answers by shares,
    whose mean is its win rate.

    AlpacaEval's `glm_preference`, or the options `difficulty` and `weights`, become verdicts on the criterion
    `overall, length-controlled`, whose mean is its length-controlled win rate. `difficulty` is AlpacaEval's
    `instruction_difficulty.csv`, `weights` its `ANNOTATOR/length_controlled_v1/baseline_NAME.csv`.
    """
    builder = RecordBuilder(path)
    lengths = _LengthControl.from_options(options)
    entries = [(file, line, row) for file in files_in(path, "*.json") for line, row in _array_rows(file)]
    questions = [_question_item(row, file, line) for file, line, row in entries]
    sources: dict[str, set[str]] = {}
    for question in questions:
        sources.setdefault(question.id, set()).update(filter(None, [question.tags.get("dataset")]))
    shares = [_preference_share(row.get("preference")) for _, _, row in entries]
    weighing = {
        _annotator_name(row)
        for (_, _, row), share in zip(entries, shares, strict=True)
        if share not in {None, 0, 0.5, 1}
    }
    for (file, line, row), question, share in zip(entries, questions, shares, strict=True):
        several = len(sources[question.id]) > 1  # the same text in several data sets is several questions
        name = question_id(f"{question.id} {question.tags.get('dataset', '')}") if several else question.id
        item = builder.add_item(replace(question, id=name))
        sides = [""] if "generator" in row else ["_1", "_2"]
        shown_responses = []
        for side in sides:
            who = text_of(row, f"generator{side}", path=file, line=line)
            shown_responses.append(
                (who, builder.add_response(item, who, (_answer_text(row, f"output{side}", file, line),)))
            )
            if shown_responses[-1][1]:
                builder.leave_out("further answers of a model to the same question: taken as its next samples")
        if len(shown_responses) == 1:
            continue
        if shown_responses[0] == shown_responses[1]:
            builder.leave_out("annotations that compare an answer with itself")
        elif share is None:
            builder.leave_out("annotations without a preference")
        else:
            judge = _annotator_name(row)
            text = row.get("raw_completion") or ""
            criterion = words_of(row.get("criterion")) or "overall"
            trial = builder.add_verdict(
                judge, item, shown_responses, SHARE if judge in weighing else CHOICE, (1 - share, share),
                rater=words_of(row.get("rater")), criterion=criterion,
                text=text if isinstance(text, str) else json.dumps(text),
            )  # fmt: skip
            if trial:
                builder.leave_out("further annotations of the same two answers: taken as next trials")
            controlled = number_of(row.get("glm_preference"))
            if controlled is None and lengths is not None:
                controlled = lengths.share(builder, row, judge, line)
            if controlled is not None and not trial:
                builder.add_verdict(
                    judge, item, shown_responses, SHARE, (1 - controlled, controlled), criterion=LENGTH_CONTROLLED
                )
    return builder.build()


LENGTH_CONTROLLED = "overall, length-controlled"
_MODEL_WEIGHT, _DIFFICULTY_WEIGHT = "not_gamed_baseline.astype(float)", "instruction_difficulty"


@dataclass(frozen=True)
class _LengthControl:
    """AlpacaEval's logistic regressions at equal length: its own weights of models and difficulties of questions."""

    annotator: str
    baseline: str
    difficulties: Sequence[float]
    weights: Mapping[str, tuple[float, float]]

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> _LengthControl | None:
        if not options.keys() & {"difficulty", "weights"}:
            return None
        if not {"difficulty", "weights"} <= options.keys():
            raise InputError(
                "Length-controlled win rates need both --option difficulty=instruction_difficulty.csv and "
                "--option weights=ANNOTATOR/length_controlled_v1/baseline_NAME.csv, as AlpacaEval has them."
            )
        difficulty, weights = Path(options["difficulty"]), Path(options["weights"])
        numbers = [_csv_number(row, list(row)[-1], difficulty) for row in _csv_rows(difficulty)]
        fitted = {
            next(iter(row.values())): (
                _csv_number(row, _MODEL_WEIGHT, weights), _csv_number(row, _DIFFICULTY_WEIGHT, weights)
            )
            for row in _csv_rows(weights)
        }  # fmt: skip
        return cls(weights.resolve().parent.parent.name, weights.stem.removeprefix("baseline_"), numbers, fitted)

    def share(self, builder: RecordBuilder, row: Mapping[str, Any], judge: str, line: int) -> float | None:
        """Return the share of a model at equal length; None if there are no weights for it. Questions go by order."""
        model = words_of(row.get("generator_2"))
        if judge != self.annotator or words_of(row.get("generator_1")) != self.baseline or model not in self.weights:
            builder.leave_out("annotations that the weights for length control are not for")
            return None
        if line > len(self.difficulties):
            raise InputError(f"There are {len(self.difficulties)} difficulties, and more annotations in one file.")
        model_weight, slope = self.weights[model]
        return 1 / (1 + math.exp(-(model_weight + slope * self.difficulties[line - 1])))


def _csv_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table that pandas wrote: its first column has no name."""
    try:
        return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"it cannot be read ({getattr(error, 'strerror', None) or error})", path=path) from error


def _csv_number(row: Mapping[str, str], name: str, path: Path) -> float:
    number = number_of(row.get(name))
    if number is None:
        raise InputError(f"the column {name!r} has no number; found {', '.join(filter(None, row))}", path=path)
    return number


def _array_rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    content = read_json(file)
    if isinstance(content, Mapping) and len(content) == 1:
        (content,) = content.values()
    if not isinstance(content, list) or not all(isinstance(row, Mapping) for row in content):
        raise InputError("AlpacaEval's files contain one array of objects [{...}]", path=file)
    yield from enumerate(content, 1)


def _question_item(row: Mapping[str, Any], file: Path, line: int) -> Item:
    words = text_of(row, "instruction", path=file, line=line)
    if extra := words_of(row.get("input")):
        words = f"{words}\n\n{extra}"
    media = media_in_columns(row, file)
    name = words_of(row.get("question_id")) or question_id(
        "\n".join([words, *(part if isinstance(part, str) else part.digest for part in media)])
    )
    return Item(name, (Turn("user", (*media, words)),), tags=tags_of(row))


def _annotator_name(row: Mapping[str, Any]) -> str:
    return str(row.get("annotator") or "alpaca_eval")


def _preference_share(preference: Any) -> float | None:
    """Return the second answer's share of a preference; older releases write a tie as 0."""
    try:
        number = float(preference)
    except (TypeError, ValueError):
        return None
    return 0.5 if number == 0 else number - 1 if 1 <= number <= 2 else None
