"""Import of votes and verdicts from files into a ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger

VerdictKey = tuple[str, str, int, str, int]


@dataclass(frozen=True)
class ImportCounts:
    """Counts of an import: new verdicts, duplicates, and those that differ from the ledger."""

    new: int
    duplicates: int
    differing: int
    raters: int


def import_verdicts(ledger: Ledger, verdicts: Iterable[Verdict], path: Path) -> ImportCounts:
    """Add the verdicts of a file to a ledger's study, each once. Their items and responses must exist there."""
    file_verdicts = list(verdicts)
    _refuse_unknown_references(ledger, file_verdicts, path)
    stored_verdicts: dict[VerdictKey, Verdict] = {}
    judges = sorted({verdict.judge for verdict in file_verdicts})
    for verdict in ledger.verdicts(
        judges, cases={verdict.case for verdict in file_verdicts}, texts=False, revisions=True
    ):
        stored_verdicts[_verdict_key(verdict)] = verdict
    new = [verdict for verdict in file_verdicts if _verdict_key(verdict) not in stored_verdicts]
    ledger.add(*new)
    ledger.flush()
    differing = sum(
        (stored_verdict.marks, stored_verdict.fault) != (verdict.marks, verdict.fault)
        for verdict in file_verdicts
        if (stored_verdict := stored_verdicts.get(_verdict_key(verdict))) is not None
    )
    raters = len({(verdict.judge, verdict.rater) for verdict in file_verdicts})
    return ImportCounts(len(new), len(file_verdicts) - len(new) - differing, differing, raters)


def _verdict_key(verdict: Verdict) -> VerdictKey:
    # Files without rater names use rater "0"; the ledger stores such votes without a rater.
    rater = "" if verdict.rater == "0" else verdict.rater
    return (verdict.case, verdict.judge, verdict.trial, rater, verdict.revision)


def _refuse_unknown_references(ledger: Ledger, verdicts: list[Verdict], path: Path) -> None:
    items = {item.id for item in ledger.items(study=ledger.study)}
    answers = {
        (response.item, response.contestant, response.sample) for response in ledger.responses(study=ledger.study)
    }
    for verdict in verdicts:
        if verdict.item not in items:
            raise InputError(
                f"the item {verdict.item!r} is not among the {len(items):,} items of the study {ledger.study!r} in "
                f"{ledger.place}; choose its study (--study), or check the column 'item'",
                path=path,
            )
        for contestant, sample in verdict.shown_responses:
            if (verdict.item, contestant, sample) not in answers:
                raise InputError(
                    f"{contestant!r} gave no answer to item {verdict.item!r}"
                    f"{f' with the number {sample}' if sample else ''} in the study {ledger.study!r} of "
                    f"{ledger.place}; check the columns 'contestants' and 'samples'",
                    path=path,
                )
