"""Where items come from (the sample, a file of our own layout, the release, or the clone of its repository), and
answers that were handed in to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from fullbench.benchmarks.visit_bench import released
from fullbench.benchmarks.visit_bench.release import is_examples, read_instances
from fullbench.benchmarks.visit_bench.sources import SAMPLE, item_of, submission
from fullbench.files.item_files import read_items
from fullbench.files.own_layout import own_items
from fullbench.core.item import Item
from fullbench.core.response import Response


def items(source: Path | None = None) -> Iterable[Item]:
    """Items of the sample, of a file, of a folder with `items.jsonl`, or the verified ones of the release."""
    if source is None:
        return read_items(SAMPLE / "items.jsonl")
    if is_examples(source):
        return [item_of(row, source.parent) for row in read_instances(source)]
    if (own := own_items(source)) is not None:
        return own
    if released.is_here(source):
        return list(released.bring(source)[0].items.values())
    return [item_of(row, source) for row in read_instances(source) if row.verified and row.instruction]


def submitted(path: Path, asked: Sequence[Item], data: Path | None, name: str) -> Sequence[Response]:
    """The answers of a predictions file, in our own layout or in that of the paper's authors."""
    clone = data is not None and data.is_dir() and not (data / "items.jsonl").exists()
    released = clone or (data is not None and is_examples(data))
    instances = list(read_instances(data)) if data is not None and released else []
    return submission(path, asked, instances, name=name).responses
