"""Where items come from (the sample, a file of our own layout, the release, or the clone of its repository), and
answers that were handed in to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fullbench.benchmarks.visit_bench import authors_repository
from fullbench.benchmarks.visit_bench.items_from_release import (
    REFERENCE,
    SAMPLE,
    is_judged,
    item_of,
    references,
    submission,
)
from fullbench.benchmarks.visit_bench.release_files import is_examples, read_instances
from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.record import Record
from fullbench.core.reproduction import Brought
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.files.item_files import read_items
from fullbench.files.own_layout import own_items, own_record
from fullbench.judges.baselines import ChanceJudge, LengthJudge, ReferenceJudge


def items(source: Path | None = None) -> Iterable[Item]:
    """Items of the sample, of a file, of a folder with `items.jsonl`, or the verified ones of the release."""
    if source is None:
        return read_items(SAMPLE / "items.jsonl")
    if is_examples(source):
        return [item_of(row, source.parent) for row in read_instances(source)]
    if (own := own_items(source)) is not None:
        return own
    if authors_repository.is_here(source):
        return list(authors_repository.bring(source)[0].items.values())
    return [item_of(row, source) for row in read_instances(source) if row.verified and row.instruction]


def submitted(path: Path, asked: Sequence[Item], data: Path | None, name: str) -> Sequence[Response]:
    """The answers of a predictions file, in our own layout or in that of the paper's authors."""
    clone = data is not None and data.is_dir() and not (data / "items.jsonl").exists()
    released = clone or (data is not None and is_examples(data))
    instances = list(read_instances(data)) if data is not None and released else []
    return submission(path, asked, instances, name=name).responses


# What is judged.


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """Every two answers to an item, the verified reference among them, in both orders.

    An item whose reference was found wrong, or was not verified yet, is not judged.
    """
    answers = list(responses)
    verified = [item for item in items if is_judged(item)]
    if items and not verified:
        raise InputError(f"none of the {len(items):,} items has a verified reference, and only such items are judged")
    if not any(response.contestant == REFERENCE for response in answers):
        answers += references(verified)
    yield from cases_of(verified, answers, Choice(tie=False), size=2, orders="both", trials=trials)


# What is known of a source before anybody is asked: people's votes, and what simple rules make of the answers.


def bring(source: Path | None = None) -> Brought:
    """A folder holds `items.jsonl`, `responses.jsonl` where there are answers, `labels.jsonl` where people voted; or it
    is the release."""
    folder = source or SAMPLE
    if folder.is_file():
        alone = {item.id: item for item in items(folder)}
        answers = {(answer.item, answer.contestant): answer for answer in references(list(alone.values()))}
        return Brought(Record((), alone, answers))
    if not (folder / "items.jsonl").exists():
        record, odd = authors_repository.bring(folder)
        return Brought(record, [odd] if odd.rows else [])
    own = own_record(folder, ("labels.jsonl",), ballot="choice", answered=False)
    responses = [*own.responses.values(), *references(own.items.values())]
    verdicts = list(own.verdicts)
    for judge in (LengthJudge(), ChanceJudge(0), ReferenceJudge()):
        heard = judge.hear(cases(list(own.items.values()), responses))
        verdicts += [verdict for verdict in heard if isinstance(verdict, Verdict)]
    by_place = {(response.item, response.contestant, response.sample): response for response in responses}
    return Brought(Record(tuple(verdicts), own.items, by_place))
