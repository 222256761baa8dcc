"""Stored replies read again by the newest reader: nothing is asked and nothing is paid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from fullbench.core.call import NOTHING, Call
from fullbench.core.case import Case
from fullbench.core.verdict import PEOPLE, Reader, Verdict
from fullbench.judges.quoted_prompt_texts import read_reply
from fullbench.ledger.ledger import Ledger

CHUNK = 500


@dataclass(frozen=True)
class Change:
    """A reply that is read differently now."""

    before: Verdict
    after: Verdict


@dataclass
class Rereading:
    """What came of it: so many replies were read again, so many could not be, and which are read differently."""

    read: int = 0
    left: dict[str, int] = field(default_factory=dict)
    """Verdicts that were not read again, by the reason why."""
    changes: list[Change] = field(default_factory=list)


def reread(ledger: Ledger, judges: Sequence[str] | None = None, *, dry_run: bool = False) -> Rereading:
    """Read every stored reply again. A reading that differs becomes a revision, and the earlier one stays."""
    done = Rereading()
    settings = {
        account["name"]: account["settings"] or {}
        for account in ledger.describe()["accounts"]
        if account["role"] == "judge"
    }
    verdicts = ledger.verdicts(judges)
    while batch := list(islice(verdicts, CHUNK)):
        cases = {case.key: case for case in ledger.cases({verdict.case for verdict in batch})}
        for verdict in batch:
            reason = _unfit(verdict, cases.get(verdict.case), settings.get(verdict.judge, {}))
            if reason:
                done.left[reason] = done.left.get(reason, 0) + 1
                continue
            done.read += 1
            after = _read(verdict, cases[verdict.case], settings[verdict.judge])
            if (after.marks, after.fault) != (verdict.marks, verdict.fault):
                done.changes.append(Change(verdict, after))
    if not dry_run:
        ledger.add(*(change.after for change in done.changes))
        ledger.flush()
    return done


def _unfit(verdict: Verdict, case: Case | None, settings: Mapping[str, Any]) -> str:
    if verdict.judge == PEOPLE:
        return "given by people"
    if "wording" not in settings:
        return "of judges that do not reply in words"
    if verdict.fault == "recused":
        return "not asked for"
    if case is None:
        return "whose case is not in the ledger"
    # A second model was asked what such a reply ruled: its words are not the judge's.
    if "reader" in settings:
        return "read by a second model"
    if "marks" in settings:
        return "whose marks are made of the chances of tokens, which no text shows"
    if not verdict.text and not verdict.exchanges:
        return "without a stored reply"
    return ""


def _read(verdict: Verdict, case: Case, settings: Mapping[str, Any]) -> Verdict:
    """The verdict as its reply is read now; a reply that was read again costs nothing."""
    reply = verdict.exchanges[-1] if verdict.exchanges else Call("", verdict.text)
    ruling, reader = read_reply(case, reply, settings, estimated=Reader(verdict.reader).estimated)
    marks, fault = (None, ruling) if isinstance(ruling, str) else (tuple(ruling), None)
    later = verdict.revision + 1
    return replace(verdict, marks=marks, fault=fault, usage=NOTHING, revision=later, reader=reader, at=0.0)


def ruling_text(verdict: Verdict) -> str:
    """What a verdict ruled, in a few characters."""
    return verdict.fault or ", ".join(f"{mark:g}" for mark in verdict.marks or ())


def lines(changes: Sequence[Change]) -> Iterator[str]:
    """Each change in a line: what was read before, and what is read now."""
    for change in changes:
        before, after = change.before, change.after
        yield (
            f"{before.case} {before.judge} trial {before.trial}, item {before.item}: "
            f"{ruling_text(before)} -> {ruling_text(after)}"
        )
