"""Where items and verdicts come from: the sample that ships with us, files in our own layout, or the release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from fullbench.benchmarks.mllm_judge.bench import cases
from fullbench.benchmarks.mllm_judge.release.load_release import Release
from fullbench.benchmarks.mllm_judge.release.release_as_record import assemble, released_items
from fullbench.core.item import Item
from fullbench.core.record import Record
from fullbench.core.reproduction import Brought
from fullbench.core.verdict import Verdict
from fullbench.files.item_files import read_items
from fullbench.files.own_layout import VERDICTS, own_items, own_record
from fullbench.judges.baselines import ChanceJudge, LengthJudge, ReferenceJudge

SAMPLE = Path(__file__).parent / "sample"


def items(source: Path | None = None) -> Iterable[Item]:
    """Items of the sample, of a file, of a folder with `items.jsonl`, or of the release."""
    if source is None:
        return read_items(SAMPLE / "items.jsonl")
    return own_items(source) or released_items(assemble(Release.read(source)))


def bring(source: Path | None = None) -> Brought:
    """Everything known about a source: of the release what it holds, of the sample what simple rules make of it.

    A folder in our own layout holds `items.jsonl`, and `responses.jsonl`, `labels.jsonl` of people, `verdicts.jsonl` of
    judges and `reviews.jsonl` of people who reviewed these verdicts as far as there are such.
    """
    folder = source or SAMPLE
    if folder.is_file():
        return Brought(Record((), {item.id: item for item in read_items(folder)}, {}))
    if not (folder / "items.jsonl").exists():
        release = Release.read(folder)
        record = assemble(release)
        return Brought(record, [release.oddities.table()])
    record = own_record(folder, (*VERDICTS, "reviews.jsonl"), answered=False)
    if source is None:
        record = replace(record, verdicts=(*record.verdicts, *_by_rule(record)))
    return Brought(record)


def _by_rule(known: Record) -> Iterable[Verdict]:
    for judge in (LengthJudge(), ChanceJudge(0), ReferenceJudge()):
        for heard in judge.hear(cases(list(known.items.values()), known.responses.values(), trials=2)):
            if isinstance(heard, Verdict):
                yield heard
