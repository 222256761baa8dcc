"""Where items and verdicts come from: the sample that ships with us, files in our own layout, or the release."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fullbench.benchmarks.align_mm import release_files
from fullbench.core.item import Item
from fullbench.core.record import Record
from fullbench.core.reproduction import Brought
from fullbench.errors import InputError
from fullbench.files.own_layout import own_items, own_record


def items(source: Path | None = None) -> Iterable[Item]:
    """Items of the sample, of a file, of a folder with `items.jsonl`, or of the release."""
    if source is None:
        from fullbench.benchmarks.align_mm.sample import items as sampled

        return sampled()
    return own_items(source) or list(release_files.items(release_files.read_questions(source), source))


def bring(source: Path | None = None) -> Brought:
    """Everything known about a source.

    A release holds questions, and beside them `responses/NAME.jsonl` and `results/NAME.jsonl` as its evaluator reads
    and writes them. A folder in our own layout holds `items.jsonl`, `responses.jsonl`, and where there are any
    `labels.jsonl` (people's) and `verdicts.jsonl` (judges').
    """
    if source is None:
        from fullbench.benchmarks.align_mm.sample import record

        return Brought(record())
    if source.is_file():
        raise InputError(
            "a file of items brings no answers; name contestants or responses in the study beside it", path=source
        )
    if (source / "items.jsonl").exists():
        return Brought(own_record(source))
    questions = release_files.read_questions(source)
    asked = {item.id: item for item in release_files.items(questions, source)}
    responses = {
        (response.item, response.contestant): response
        for name, path in release_files.files(source, "responses").items()
        for response in release_files.read_responses(path, name, asked)
    }
    verdicts = [
        verdict
        for name, path in release_files.files(source, "results").items()
        for verdict in release_files.read_ratings(path, name, asked, responses)
    ]
    return Brought(Record(tuple(verdicts), asked, responses), [release_files.oddities(questions, source)])
