"""What a study starts from: the items, responses and labels of its files, or of its benchmark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fullbench.core.benchmark import Benchmark
from fullbench.core.column_labels import headings
from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.reproduction import Brought
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.files.item_files import read_items, read_responses, read_verdicts
from fullbench.files.picture_access_policy import allowing, without_pictures
from fullbench.files.picture_folders import left_out, named_whole
from fullbench.ledger.aliases import voter
from fullbench.ledger.ledger import Ledger
from fullbench.plugin_registry import benchmark as benchmark_named
from fullbench.studies.study_file import Study

# The verdicts that a benchmark brings: people's, and those of judges whose runs were released.


def recorded(name: str, data: Path | None = None) -> Brought:
    """What a benchmark brings: of its released data, or of the sample that ships with it."""
    return benchmark_named(name).brought(data)


# Items that somebody marked as not verified: they are judged only where a study asks for them.

VERIFIED = "verified"
"""The tag that says `yes` or `no`."""


def is_unverified(item: Item) -> bool:
    return item.tags.get(VERIFIED) == "no"


def without_unverified(items: Iterable[Item], *, asked: bool) -> tuple[list[Item], list[Table]]:
    """The items to be judged, and a table that says how many were left out; all of them where that was `asked` for."""
    every = list(items)
    left_out = [] if asked else [item for item in every if is_unverified(item)]
    if not left_out:
        return every, []
    said = Note(
        "unverified.left-out",
        "{n:,} of {all:,} items are marked as not verified and were not judged; --unverified (in a study: unverified = "
        "true) judges them too.",
        n=len(left_out), all=len(every),
    )  # fmt: skip
    table = Table(
        "unverified", Note("unverified.title", "Items that are not verified"), headings("items", "left out"),
        [[len(every), len(left_out)]], [said],
    )  # fmt: skip
    return [item for item in every if not is_unverified(item)], [table]


def read_answers(path: Path | None, every: Iterable[Item], judged: Container[str]) -> list[Response]:
    """The responses of a file to the items that are judged; one to an item that is nowhere is refused."""
    answers = () if path is None else read_responses(path, items={item.id for item in every})
    return [response for response in answers if response.item in judged]


# What a limit leaves out is said, in the same words by every command.


def left_by_limit(taken: int, there: int) -> list[str]:
    """The sentence about a run on the first items alone; none where all were taken.

    >>> left_by_limit(2, 5), left_by_limit(5, 5)
    (['Only the first 2 of 5 items are in this run, as the limit says.'], [])
    """
    if taken >= there:
        return []
    return [f"Only the first {taken:,} of {there:,} items are in this run, as the limit says."]


Vote = tuple[str, str, int, str]
"""Case, judge, trial and rater: what there is one vote of."""


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
    if study.items is not None and study.items.is_dir() and (shared := named_whole(study.items)):
        yield f"{study.items}: {shared}."


def _of_labels(study: Study, read: Material, contestants: Collection[str]) -> Iterator[str]:
    if study.labels is not None:
        ids = {item.id for item in read.items}
        yield from about_labels(str(study.labels), read.labels, ids, read.given, contestants)


def about_labels(
    place: str,
    labels: Sequence[Verdict],
    ids: Collection[str],
    given: Iterable[Response],
    contestants: Collection[str] = (),
) -> Iterator[str]:
    """Sentences on labels about what is not there, which are kept and compared with nothing, and on labels that do not
    say of which answer they are."""
    answers = list(given)
    known = {response.contestant for response in answers} | set(contestants)
    strangers = [label for label in labels if not set(label.contestants) <= known]
    elsewhere = [label for label in labels if label.item not in ids]
    for stray, what, names in (
        (elsewhere, "items that are not here", {label.item for label in elsewhere}),
        (strangers, "contestants that have no response here", {c for s in strangers for c in s.contestants} - known),
    ):
        if stray:
            listed = ", ".join(sorted(names)[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            counts = f"{len(stray):,} of {len(labels):,} labels"
            kept = "compared with no judge, and only in people's own tables"
            yield f"{place}: {counts} are on {what} ({listed}): {kept}."
    several = {response.contestant for response in answers if response.sample}
    first = [label for label in labels if several.intersection(label.contestants)]
    if first and not any(label.samples for label in labels):
        yield (
            f"{place}: {len(first):,} of {len(labels):,} labels are on contestants that answered several times "
            f"({', '.join(sorted(several)[:3])}) and name no sample: they are taken for the first answer, sample 0; "
            "a column samples names others."
        )


def enter_labels(labels: Iterable[Verdict], ledger: Ledger) -> int:
    """People's labels stand in the ledger like everybody's verdicts, once each; how many took the place of others.

    A label that says something else than the ledger holds of the same person is a revision: both stay, the new one
    counts.
    """
    fresh, changed = unheld(labels, ledger)
    ledger.add(*fresh)
    ledger.flush()
    return changed


def unheld(labels: Iterable[Verdict], ledger: Ledger) -> tuple[list[Verdict], int]:
    """The labels that a ledger does not hold as they are, and how many of them it holds with other marks: these are
    numbered as revisions of what is there."""
    by_vote: dict[Vote, list[Verdict]] = defaultdict(list)
    for label in labels:
        by_vote[_vote(label)].append(label)
    judges = sorted({judge for _, judge, _, _ in by_vote})
    keys = {case for case, _, _, _ in by_vote}
    held = {_vote(verdict): verdict for verdict in ledger.verdicts(judges, cases=keys, texts=False)} if keys else {}
    fresh: list[Verdict] = []
    changed = 0
    for vote, given in by_vote.items():
        there, latest = held.get(vote), max(given, key=lambda label: label.revision)
        if there is None:
            fresh += given
        elif latest.revision > there.revision:
            fresh += [label for label in given if label.revision > there.revision]
        # A file that numbers its revisions, and has fewer of them than the ledger, is older.
        elif latest.revision in {0, there.revision} and (latest.marks, latest.fault) != (there.marks, there.fault):
            fresh.append(replace(latest, revision=there.revision + 1))
            changed += 1
    return fresh, changed


def _vote(label: Verdict) -> Vote:
    judge, trial, rater = voter(label.judge, label.trial, label.rater)
    return label.case, judge, trial, rater


def of_changed_labels(place: str, changed: int) -> list[str]:
    """The sentence on labels that are not as they were."""
    if not changed:
        return []
    return [
        f"{place}: {changed:,} labels say something else than the ledger held of the same people; the file's count "
        "from now on, and the earlier ones stay as older revisions."
    ]
