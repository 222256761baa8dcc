"""What is known of a source before anybody is asked: people's votes, and what simple rules make of the answers."""

from __future__ import annotations

from pathlib import Path

from fullbench.benchmarks.visit_bench import released
from fullbench.benchmarks.visit_bench.asked import items
from fullbench.benchmarks.visit_bench.cases import cases
from fullbench.benchmarks.visit_bench.sources import SAMPLE, references
from fullbench.files.own_layout import own_record
from fullbench.judges.baselines import ChanceJudge, LengthJudge, ReferenceJudge
from fullbench.core.record import Record
from fullbench.core.reproduction import Brought
from fullbench.core.verdict import Verdict


def bring(source: Path | None = None) -> Brought:
    """A folder holds `items.jsonl`, `responses.jsonl` where there are answers, `labels.jsonl` where people voted; or it
    is the release."""
    folder = source or SAMPLE
    if folder.is_file():
        alone = {item.id: item for item in items(folder)}
        answers = {(answer.item, answer.contestant): answer for answer in references(list(alone.values()))}
        return Brought(Record((), alone, answers))
    if not (folder / "items.jsonl").exists():
        record, odd = released.bring(folder)
        return Brought(record, [odd] if odd.rows else [])
    own = own_record(folder, ("labels.jsonl",), ballot="choice", answered=False)
    responses = [*own.responses.values(), *references(own.items.values())]
    verdicts = list(own.verdicts)
    for judge in (LengthJudge(), ChanceJudge(0), ReferenceJudge()):
        heard = judge.hear(cases(list(own.items.values()), responses))
        verdicts += [verdict for verdict in heard if isinstance(verdict, Verdict)]
    by_place = {(response.item, response.contestant, response.sample): response for response in responses}
    return Brought(Record(tuple(verdicts), own.items, by_place))
