"""Votes and rulings from files into a ledger, where they stand like everybody's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger

Place = tuple[str, str, int, str, int]
"""Case, judge, trial, rater and revision: what there is one verdict of at most."""


@dataclass(frozen=True)
class Imported:
    """What came of an import: verdicts that are new, those that were there, and those that stand there differently."""

    new: int
    known: int
    differing: int
    raters: int


def import_verdicts(ledger: Ledger, verdicts: Iterable[Verdict], path: Path) -> Imported:
    """Add the verdicts of a file to a ledger's study, each once; what they speak of must be there."""
    rulings = list(verdicts)
    _check(ledger, rulings, path)
    standing: dict[Place, Verdict] = {}
    judges = sorted({verdict.judge for verdict in rulings})
    for verdict in ledger.verdicts(judges, cases={verdict.case for verdict in rulings}, texts=False, revisions=True):
        standing[_place(verdict)] = verdict
    new = [verdict for verdict in rulings if _place(verdict) not in standing]
    ledger.add(*new)
    ledger.flush()
    differing = sum(
        (there.marks, there.fault) != (verdict.marks, verdict.fault)
        for verdict in rulings
        if (there := standing.get(_place(verdict))) is not None
    )
    raters = len({(verdict.judge, verdict.rater) for verdict in rulings})
    return Imported(len(new), len(rulings) - len(new) - differing, differing, raters)


def _place(verdict: Verdict) -> Place:
    # A vote without a rater in the ledger is rater 0 in files that name nobody.
    rater = "" if verdict.rater == "0" else verdict.rater
    return (verdict.case, verdict.judge, verdict.trial, rater, verdict.revision)


def _check(ledger: Ledger, verdicts: list[Verdict], path: Path) -> None:
    """Refuse a file that speaks of items or answers that the study does not hold."""
    items = {item.id for item in ledger.items(study=ledger.study)}
    answers = {
        (response.item, response.contestant, response.sample) for response in ledger.responses(study=ledger.study)
    }
    for verdict in verdicts:
        if verdict.item not in items:
            raise InputError(
                f"the item {verdict.item!r} is not among the {len(items):,} items of the study {ledger.study!r} in "
                f"{ledger.place}; name the study that has it (--study), or check the column 'item'",
                path=path,
            )
        for contestant, sample in verdict.shown:
            if (verdict.item, contestant, sample) not in answers:
                raise InputError(
                    f"{contestant!r} gave no answer to item {verdict.item!r}"
                    f"{f' with the number {sample}' if sample else ''} in the study {ledger.study!r} of "
                    f"{ledger.place}; check the columns 'contestants' and 'samples'",
                    path=path,
                )
