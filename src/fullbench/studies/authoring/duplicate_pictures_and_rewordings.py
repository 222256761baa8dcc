"""Steps to compose your own benchmark: find duplicate pictures, let models reword questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fullbench.core.ballot import Language
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.item import Item
from fullbench.core.model import Model
from fullbench.core.picture import SUFFIXES, Picture
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError, Unscorable
from fullbench.files.picture_access_policy import read_picture
from fullbench.judges.scorers.safe_picture_decoding import decode_picture
from fullbench.ledger.ledger import Ledger
from fullbench.studies.authoring import human_review_of_rewordings_and_references
from fullbench.studies.authoring.human_review_of_rewordings_and_references import RewordingQueue
from fullbench.studies.authoring.near_duplicate_pictures_and_manifest import (
    NEAR,
    near_fingerprints,
    picture_fingerprint,
)
from fullbench.studies.engines import HERE, Budget, Engine, JobCounts, Stop
from fullbench.studies.run.answer_items import collect_answers
from fullbench.studies.run.progress_display import watch_progress

SAME = "the same file"
ALIKE = "nearly the same picture"


def shared_pictures_table(
    pictures: Mapping[str, Picture], other_sets: Mapping[str, Mapping[str, Picture]], *, most: int = NEAR
) -> Table:
    """Return a table of pictures that also occur in another set: the same bytes, or a near-duplicate."""
    together = dict(pictures)
    owner: dict[str, str] = {}
    for name, other_pictures in other_sets.items():
        for path, picture in other_pictures.items():
            together[f"{name}: {path}"] = picture
            owner[f"{name}: {path}"] = name
    all_duplicates = duplicate_pictures_table(together, most=most, every=True)
    rows = [row for row in all_duplicates.rows if (str(row[0]) in owner) != (str(row[1]) in owner)]
    ordered_rows: list[list[Cell]] = [
        [b, a, *details] if str(a) in owner else [a, b, *details] for a, b, *details in rows
    ]
    note = Note("compose.across", n=len(pictures), others=len(owner), sets=", ".join(other_sets))
    title = Note("compose.title.across")
    return Table(
        "across",
        title,
        table_columns("picture", "picture beside", "alike", "bits"),
        ordered_rows,
        [note, *all_duplicates.notes[1:]],
    )


def duplicate_pictures_table(pictures: Mapping[str, Picture], *, most: int = NEAR, every: bool = False) -> Table:
    """Return a table of duplicates: the same bytes, or fingerprints that differ in at most `most` of 256 bits.

    A picture that cannot be decoded is compared only by its bytes, and named in the notes. Files with the same bytes
    are each paired with the first, or with `every` with each other.
    """
    first: dict[str, str] = {}
    rows: list[list[Cell]] = []
    copies: dict[str, list[str]] = {}
    for name, picture in pictures.items():
        first.setdefault(picture.digest, name)
        earlier = copies.setdefault(picture.digest, [])
        rows += [[original, name, SAME, 0] for original in (earlier if every else earlier[:1])]
        earlier.append(name)
    prints: dict[str, int] = {}
    notes = [Note("compose.pictures-different-files-near-of", n=len(pictures), n_2=len(first), most=most)]
    for name in first.values():
        try:
            prints[name] = picture_fingerprint(decode_picture(pictures[name]))
        except Unscorable as reason:
            notes.append(Note("compose.text", name=name, reason=str(reason)))
    for name, other_name, bits in near_fingerprints(prints, most=most):
        pairs = [(name, other_name)]
        if every:
            pairs = [
                (left, right) for left in copies[pictures[name].digest] for right in copies[pictures[other_name].digest]
            ]
        rows += [[left, right, ALIKE, bits] for left, right in pairs]
    return Table(
        "alike",
        Note("compose.title.pictures-that-are-alike"),
        table_columns("picture", "picture beside", "alike", "bits"),
        rows,
        notes,
        {"most": most},
    )


def read_pictures(folder: Path) -> tuple[dict[str, Picture], list[str]]:
    """Read all pictures of a folder and its subfolders by path; also return an error for each unreadable file."""
    if not folder.is_dir():
        raise InputError("this is no folder of pictures", path=folder)
    pictures: dict[str, Picture] = {}
    wrong = []
    for file in sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES):
        try:
            pictures[str(file.relative_to(folder))] = read_picture(folder, str(file.relative_to(folder)))
        except InputError as reason:
            wrong.append(str(reason))
    if not pictures:
        raise InputError(f"the folder holds no picture that can be read; {len(wrong)} cannot", path=folder)
    return pictures, wrong


@dataclass
class RewordingResult:
    """Queue of rewordings with the failures, and the counts of the calls."""

    queue: RewordingQueue
    job_counts: list[JobCounts] = field(default_factory=list)


def reword_items(
    models: Sequence[Model],
    items: Sequence[Item],
    ledger: Ledger,
    *,
    count: int = human_review_of_rewordings_and_references.REWRITES,
    language: Language | None = None,
    engine: Engine = HERE,
    specs: Mapping[str, str] | None = None,
    budget: Budget | None = None,
    stop: Stop | None = None,
    quiet: bool = False,
) -> RewordingResult:
    """Let models reword the question of every single-turn item. Stored replies are used again.

    People confirm the result with `human_review_of_rewordings_and_references.confirm_rewordings`; `engine` and `specs`
    are as in `collect_answers`.
    """
    requests = human_review_of_rewordings_and_references.rewording_requests(items, count, language)
    names = [model.name for model in models]
    with watch_progress("rewordings", names, len(requests), quiet=quiet) as watch:
        job_counts = collect_answers(
            models, requests, ledger, engine=engine, specs=specs, budget=budget, stop=stop, watch=watch
        )
    replies = list(ledger.responses(names, item_keys=[item.key for item in requests])) if requests else []
    return RewordingResult(
        human_review_of_rewordings_and_references.build_rewording_queue(items, replies, count), job_counts
    )
