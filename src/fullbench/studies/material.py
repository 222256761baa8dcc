"""What a study starts from: the items, responses and labels of its files, or of its benchmark."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from fullbench.errors import InputError
from fullbench.files.folders import left_out
from fullbench.files.nouns import read_items, read_verdicts
from fullbench.files.pictures import allowing, without_pictures
from fullbench.nouns.benchmark import Benchmark
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response
from fullbench.nouns.table import Table
from fullbench.nouns.verdict import PEOPLE, Verdict
from fullbench.studies.limited import left_by_limit
from fullbench.studies.study import Study
from fullbench.studies.verified import read_answers, without_unverified


@dataclass
class Material:
    """Items, the responses that were given with them, people's labels, and sentences about what was left out."""

    items: list[Item]
    given: list[Response] = field(default_factory=list)
    labels: list[Verdict] = field(default_factory=list)
    odd: Sequence[Table] = ()
    """What a benchmark has to say about what it brought."""
    said: list[str] = field(default_factory=list)


def material(study: Study, benchmark: Benchmark | None, contestants: Collection[str]) -> Material:
    """All that a study reads; with a `limit`, of its first items alone. `contestants` are those who will answer."""
    with allowing(*study.pictures_from, urls=study.fetch_urls), without_pictures(study.without_pictures):
        every = list(_items(study, benchmark))
        judged, odd = without_unverified(every, asked=study.unverified)
        read = Material(judged[: study.limit], odd=odd)
        ids = {item.id for item in read.items}
        read.given = read_answers(study.responses, every, ids)
        form = study.ballots[0] if len(study.ballots) == 1 else None
        voted = list(read_verdicts(study.labels, ballot=form)) if study.labels else []
        if benchmark is not None and benchmark.labels is not None and study.labels is None:
            voted = [label for label in benchmark.labels(study.data) if label.item in ids]
        if benchmark is not None and benchmark.bring is not None and not (study.responses or contestants):
            brought = benchmark.brought(study.data)
            read.given = [response for response in brought.record.responses.values() if response.item in ids]
            read.odd = [*odd, *brought.tables]
            if study.labels is None:
                voted = [label for label in brought.record.where(judge=PEOPLE) if label.item in ids]
    cut = {item.id for item in judged} - ids
    read.labels = [label for label in voted if label.item not in cut]
    read.said = [*_of_items(study, len(judged), len(read.items)), *_of_labels(study, read, contestants)]
    return read


def _items(study: Study, benchmark: Benchmark | None) -> Iterator[Item]:
    if benchmark is not None:
        if study.question is not None:
            raise InputError("a benchmark brings its own questions: leave out the question", path=study.path)
        yield from benchmark.items(study.data)
    elif study.items is not None:
        yield from read_items(study.items, question=study.question)


def _of_items(study: Study, there: int, taken: int) -> Iterator[str]:
    yield from left_by_limit(taken, there)
    if study.items is not None and study.items.is_dir() and (others := left_out(study.items)):
        yield f"{study.items}: {others}; they were left out."


def _of_labels(study: Study, read: Material, contestants: Collection[str]) -> Iterator[str]:
    """Labels about what is not there: they are kept, and compared with no judge."""
    if study.labels is None:
        return
    ids = {item.id for item in read.items}
    known = {response.contestant for response in read.given} | set(contestants)
    strangers = [label for label in read.labels if not set(label.contestants) <= known]
    elsewhere = [label for label in read.labels if label.item not in ids]
    total = len(read.labels)
    for labels, what, names in (
        (elsewhere, "items that are not here", {label.item for label in elsewhere}),
        (strangers, "contestants that have no response here", {c for s in strangers for c in s.contestants} - known),
    ):
        if labels:
            listed = ", ".join(sorted(names)[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            counts = f"{len(labels):,} of {total:,} labels"
            kept = "compared with no judge, and only in people's own tables"
            yield f"{study.labels}: {counts} are on {what} ({listed}): {kept}."
