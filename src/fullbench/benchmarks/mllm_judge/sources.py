"""Where items and verdicts come from: the sample that ships with us, files in our own layout, or the release."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fullbench.benchmarks.mllm_judge.record import record as assemble
from fullbench.benchmarks.mllm_judge.record import released_items
from fullbench.benchmarks.mllm_judge.release import Release
from fullbench.core.cases import Verdict
from fullbench.core.files import read_items, read_responses, read_verdicts
from fullbench.core.items import Item
from fullbench.core.record import Record
from fullbench.judges.rules import ChanceJudge, LengthJudge, ReferenceJudge

SAMPLE = Path(__file__).parent / "sample"


def items(source: Path | None = None) -> Iterable[Item]:
    """Items of the sample, of a file, of a folder with `items.jsonl`, or of the release."""
    if source is None:
        return read_items(SAMPLE / "items.jsonl")
    if not source.is_dir():
        return read_items(source)
    if (source / "items.jsonl").exists():
        return read_items(source / "items.jsonl")
    return released_items(assemble(Release.read(source)))


def record(source: Path | None = None) -> Record:
    """Everything known about a source: of the release what it holds, of the sample what simple rules make of it.

    A folder in our own layout holds `items.jsonl`, `responses.jsonl`, `labels.jsonl`, and `verdicts.jsonl` where judges
    were heard.
    """
    folder = source or SAMPLE
    if not (folder / "items.jsonl").exists():
        return assemble(Release.read(folder))
    asked = {item.id: item for item in read_items(folder / "items.jsonl")}
    said = {(r.item, r.contestant): r for r in read_responses(folder / "responses.jsonl", items=set(asked))}
    verdicts: list[Verdict] = list(read_verdicts(folder / "labels.jsonl"))
    if (folder / "verdicts.jsonl").exists():
        verdicts += read_verdicts(folder / "verdicts.jsonl")
    if source is None:
        verdicts += _by_rule(list(asked.values()), Record((), asked, said))
    return Record(tuple(verdicts), asked, said)


def _by_rule(asked: list[Item], known: Record) -> Iterable[Verdict]:
    from fullbench.benchmarks.mllm_judge.bench import mllm_judge

    for judge in (LengthJudge(), ChanceJudge(0), ReferenceJudge()):
        for heard in judge.hear(mllm_judge.cases(asked, known.responses.values(), trials=2)):
            if isinstance(heard, Verdict):
                yield heard
