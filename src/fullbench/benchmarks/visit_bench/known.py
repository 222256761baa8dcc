"""What is known of a source before anybody is asked: people's votes, and what simple rules make of the answers."""

from __future__ import annotations

from pathlib import Path

from fullbench.benchmarks.visit_bench.sources import SAMPLE, items, references
from fullbench.errors import InputError
from fullbench.files.nouns import read_responses, read_verdicts
from fullbench.judges.rules import ChanceJudge, LengthJudge, ReferenceJudge
from fullbench.nouns.benchmark import Cases
from fullbench.nouns.record import Record
from fullbench.nouns.verdict import Verdict


def record(cases: Cases, source: Path | None = None) -> Record:
    """A folder holds `items.jsonl`, `responses.jsonl`, and `labels.jsonl` where people voted."""
    folder = source or SAMPLE
    if not (folder / "items.jsonl").exists():
        raise InputError("neither votes nor verdicts were released: there is nothing to record", path=folder)
    asked = {item.id: item for item in items(folder)}
    responses = [*read_responses(folder / "responses.jsonl", items=set(asked)), *references(asked.values())]
    verdicts: list[Verdict] = []
    if (folder / "labels.jsonl").exists():
        verdicts += read_verdicts(folder / "labels.jsonl", ballot="choice")
    for judge in (LengthJudge(), ChanceJudge(0), ReferenceJudge()):
        heard = judge.hear(cases(list(asked.values()), responses))
        verdicts += [verdict for verdict in heard if isinstance(verdict, Verdict)]
    return Record(tuple(verdicts), asked, {(response.item, response.contestant): response for response in responses})
