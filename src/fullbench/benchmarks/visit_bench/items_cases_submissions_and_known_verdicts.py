"""Items, cases, submissions and known verdicts of VisIT-Bench.

Sources are the sample, a file in our own layout, the release, or a clone of its repository. Known verdicts are
people's votes and those of simple baselines; no model is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fullbench.benchmarks.visit_bench import authors_repository_as_record
from fullbench.benchmarks.visit_bench.items_and_responses_from_release import (
    REFERENCE,
    SAMPLE,
    is_judged,
    item_of,
    parse_submission,
    reference_responses,
)
from fullbench.benchmarks.visit_bench.release_files import is_examples, read_instances
from fullbench.core.ballot import Choice
from fullbench.core.benchmark import LoadedData
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items
from fullbench.files.item_response_verdict_folder import own_items, own_record
from fullbench.judges.baselines import ChanceJudge, LengthJudge, ReferenceJudge


def items(source: Path | None = None) -> Iterable[Item]:
    """Return items of the sample, of a file, of a folder with `items.jsonl`, or the verified ones of the release."""
    if source is None:
        return read_items(SAMPLE / "items.jsonl")
    if is_examples(source):
        return [item_of(row, source.parent) for row in read_instances(source)]
    if (file_items := own_items(source)) is not None:
        return file_items
    if authors_repository_as_record.is_release_folder(source):
        return list(authors_repository_as_record.assemble_release(source)[0].items.values())
    return [item_of(row, source) for row in read_instances(source) if row.is_verified and row.instruction]


def load_submission(path: Path, known_items: Sequence[Item], data: Path | None, name: str) -> Sequence[Response]:
    """Load the answers of a predictions file, in our own layout or in that of the paper's authors."""
    is_clone = data is not None and data.is_dir() and not (data / "items.jsonl").exists()
    is_released = is_clone or (data is not None and is_examples(data))
    instances = list(read_instances(data)) if data is not None and is_released else []
    return parse_submission(path, known_items, instances, name=name).responses


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """Yield every two answers to an item in both orders, reference included; only items with a verified reference."""
    answers = list(responses)
    verified_items = [item for item in items if is_judged(item)]
    if items and not verified_items:
        raise InputError(f"none of the {len(items):,} items has a verified reference, and only such items are judged")
    if not any(response.contestant == REFERENCE for response in answers):
        answers += reference_responses(verified_items)
    yield from cases_of(verified_items, answers, Choice(tie=False), size=2, orders="both", trials=trials)


def bring(source: Path | None = None) -> LoadedData:
    """Load the release, or a folder with `items.jsonl` and optionally `responses.jsonl` and `labels.jsonl`."""
    folder = source or SAMPLE
    if folder.is_file():
        items_by_id = {item.id: item for item in items(folder)}
        answers = {
            (answer.item, answer.contestant): answer for answer in reference_responses(list(items_by_id.values()))
        }
        return LoadedData(Record((), items_by_id, answers))
    if not (folder / "items.jsonl").exists():
        record, oddity_table = authors_repository_as_record.assemble_release(folder)
        return LoadedData(record, [oddity_table] if oddity_table.rows else [])
    folder_record = own_record(folder, ("labels.jsonl",), ballot="choice", needs_responses=False)
    responses = [*folder_record.responses.values(), *reference_responses(folder_record.items.values())]
    verdicts = list(folder_record.verdicts)
    for judge in (LengthJudge(), ChanceJudge(0), ReferenceJudge()):
        outcomes = judge.judge(cases(list(folder_record.items.values()), responses))
        verdicts += [verdict for verdict in outcomes if isinstance(verdict, Verdict)]
    by_place = {(response.item, response.contestant, response.sample): response for response in responses}
    return LoadedData(Record(tuple(verdicts), folder_record.items, by_place))
