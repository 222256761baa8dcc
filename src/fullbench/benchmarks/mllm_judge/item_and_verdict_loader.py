"""Items and verdicts of MLLM-as-a-Judge: the bundled sample, files in our own layout, or the release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from fullbench.benchmarks.mllm_judge.benchmark_definition import cases
from fullbench.benchmarks.mllm_judge.release.load_release import Release
from fullbench.benchmarks.mllm_judge.release.release_as_record import assemble_record, released_items
from fullbench.core.benchmark import LoadedData
from fullbench.core.item import Item
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.files.item_response_verdict_files import read_items
from fullbench.files.item_response_verdict_folder import VERDICTS, own_items, own_record
from fullbench.judges.baselines import ChanceJudge, LengthJudge, ReferenceJudge

SAMPLE = Path(__file__).parent / "sample"


def items(source: Path | None = None) -> Iterable[Item]:
    """Return items of the sample, of a file, of a folder with `items.jsonl`, or of the release."""
    if source is None:
        return read_items(SAMPLE / "items.jsonl")
    return own_items(source) or released_items(assemble_record(Release.read(source)))


def bring(source: Path | None = None) -> LoadedData:
    """Load items, responses and verdicts of a source; for the sample, add verdicts of simple baselines.

    A folder in our own layout holds `items.jsonl` and optionally `responses.jsonl`, `labels.jsonl` (people's),
    `verdicts.jsonl` (judges') and `reviews.jsonl` (people's reviews of these verdicts).
    """
    folder = source or SAMPLE
    if folder.is_file():
        return LoadedData(Record((), {item.id: item for item in read_items(folder)}, {}))
    if not (folder / "items.jsonl").exists():
        release = Release.read(folder)
        record = assemble_record(release)
        return LoadedData(record, [release.oddities.table()])
    record = own_record(folder, (*VERDICTS, "reviews.jsonl"), needs_responses=False)
    if source is None:
        record = replace(record, verdicts=(*record.verdicts, *_rule_based_verdicts(record)))
    return LoadedData(record)


def _rule_based_verdicts(record: Record) -> Iterable[Verdict]:
    for judge in (LengthJudge(), ChanceJudge(0), ReferenceJudge()):
        for verdict in judge.judge(cases(list(record.items.values()), record.responses.values(), trials=2)):
            if isinstance(verdict, Verdict):
                yield verdict
