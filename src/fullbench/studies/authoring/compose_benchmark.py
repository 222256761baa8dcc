"""Composing a benchmark of one's own: pictures that are alike, models that reword, queues for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fullbench.core.ballot import Language
from fullbench.core.column_labels import headings
from fullbench.core.item import Item
from fullbench.core.model import Model
from fullbench.core.note import Note
from fullbench.core.picture import SUFFIXES, Picture
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError, Unscorable
from fullbench.files.picture_access_policy import read_picture
from fullbench.judges.scorers.decoded_pictures import decode
from fullbench.ledger.ledger import Ledger
from fullbench.studies.authoring import reworded_questions
from fullbench.studies.authoring.near_duplicates import NEAR, fingerprint, near
from fullbench.studies.authoring.reworded_questions import Reworded
from fullbench.studies.engines import HERE, Budget, Engine, Stop, Tally
from fullbench.studies.run.answer_items import answer
from fullbench.studies.run.progress_display import watching

SAME = "the same file"
ALIKE = "nearly the same picture"


def across(pictures: Mapping[str, Picture], others: Mapping[str, Mapping[str, Picture]], *, most: int = NEAR) -> Table:
    """Pictures that another set has too, by its name: the same bytes, or nearly the same picture."""
    together = dict(pictures)
    owner: dict[str, str] = {}
    for name, known in others.items():
        for path, picture in known.items():
            together[f"{name}: {path}"] = picture
            owner[f"{name}: {path}"] = name
    found = alike(together, most=most, every=True)
    rows = [row for row in found.rows if (str(row[0]) in owner) != (str(row[1]) in owner)]
    turned: list[list[Cell]] = [[b, a, *rest] if str(a) in owner else [a, b, *rest] for a, b, *rest in rows]
    note = Note(
        "compose.across",
        "{n:,} pictures beside {others:,} of {sets}; a picture that is twice within one set is not shown here.",
        n=len(pictures),
        others=len(owner),
        sets=", ".join(others),
    )
    title = Note("compose.title.across", "Pictures that another set has too")
    return Table(
        "across", title, headings("picture", "picture beside", "alike", "bits"), turned, [note, *found.notes[1:]]
    )


def alike(pictures: Mapping[str, Picture], *, most: int = NEAR, every: bool = False) -> Table:
    """Pictures that are there twice: the same bytes, or fingerprints that differ in `most` of 256 bits at most.

    A picture that cannot be decoded is compared by its bytes alone, and named in the notes. Of several files with the
    same bytes each is shown beside the first, or with `every` beside each other one.
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
    notes = [
        Note(
            "compose.pictures-different-files-near-of",
            "{n:,} pictures, {n_2:,} different files. Near: {most} of 256 bits differ, or fewer.",
            n=len(pictures),
            n_2=len(first),
            most=most,
        )
    ]
    for name in first.values():
        try:
            prints[name] = fingerprint(decode(pictures[name]))
        except Unscorable as reason:
            notes.append(Note("compose.text", "{name}: {reason}.", name=name, reason=str(reason)))
    for name, other, bits in near(prints, most=most):
        pairs = [(name, other)]
        if every:
            pairs = [(one, two) for one in copies[pictures[name].digest] for two in copies[pictures[other].digest]]
        rows += [[one, two, ALIKE, bits] for one, two in pairs]
    return Table(
        "alike",
        Note("compose.title.pictures-that-are-alike", "Pictures that are alike"),
        headings("picture", "picture beside", "alike", "bits"),
        rows,
        notes,
        {"most": most},
    )


def read_pictures(folder: Path) -> tuple[dict[str, Picture], list[str]]:
    """All pictures of a folder and the folders in it by their path, and why some files are none."""
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
class Rewritten:
    """The queue of rewordings, what is amiss with others, and what became of the calls."""

    reworded: Reworded
    tallies: list[Tally] = field(default_factory=list)


def rewrite(
    models: Sequence[Model],
    items: Sequence[Item],
    ledger: Ledger,
    *,
    count: int = reworded_questions.REWRITES,
    language: Language | None = None,
    engine: Engine = HERE,
    specs: Mapping[str, str] | None = None,
    budget: Budget | None = None,
    stop: Stop | None = None,
    quiet: bool = False,
) -> Rewritten:
    """Let models reword the question of every single-turn item; what the ledger holds already is not asked again.

    What comes back waits for people: see `authoring.reworded_questions.confirm`. `engine` and `specs` are as for
    `answer`.
    """
    asked = reworded_questions.requests(items, count, language)
    names = [model.name for model in models]
    with watching("rewordings", names, len(asked), quiet=quiet) as watch:
        tallies = answer(models, asked, ledger, engine=engine, specs=specs, budget=budget, stop=stop, watch=watch)
    replies = list(ledger.responses(names, item_keys=[item.key for item in asked])) if asked else []
    return Rewritten(reworded_questions.reworded(items, replies, count), tallies)
