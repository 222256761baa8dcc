"""Where items and verdicts come from: the sample that ships with us, files in our own layout, or the release."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fullbench.benchmarks.mllm_judge.cases import cases
from fullbench.benchmarks.mllm_judge.record import assemble, released_items
from fullbench.benchmarks.mllm_judge.release import Release
from fullbench.files.nouns import own_items, read_items, read_responses, read_verdicts
from fullbench.judges.rules import ChanceJudge, LengthJudge, ReferenceJudge
from fullbench.nouns.item import Item
from fullbench.nouns.record import Record
from fullbench.nouns.reproduction import Brought
from fullbench.nouns.verdict import Verdict

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
    asked = {item.id: item for item in read_items(folder / "items.jsonl")}
    answered = folder / "responses.jsonl"
    given = read_responses(answered, items=set(asked)) if answered.exists() else ()
    responses = {(response.item, response.contestant): response for response in given}
    verdicts: list[Verdict] = []
    for name in ("labels.jsonl", "verdicts.jsonl", "reviews.jsonl"):
        if (folder / name).exists():
            verdicts += read_verdicts(folder / name)
    if source is None:
        verdicts += _by_rule(list(asked.values()), Record((), asked, responses))
    return Brought(Record(tuple(verdicts), asked, responses))


def _by_rule(asked: list[Item], known: Record) -> Iterable[Verdict]:
    for judge in (LengthJudge(), ChanceJudge(0), ReferenceJudge()):
        for heard in judge.hear(cases(asked, known.responses.values(), trials=2)):
            if isinstance(heard, Verdict):
                yield heard
