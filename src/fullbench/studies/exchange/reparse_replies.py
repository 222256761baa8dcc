"""Parse stored replies again with the current parser, without calls or costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from fullbench.core.case import Case
from fullbench.core.model_call import NOTHING, Call
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.judges.reply_reader_that_ignores_quoted_prompt_texts import read_reply
from fullbench.ledger.ledger import Ledger

# Texts of one batch are in memory together.
CHUNK = 500


@dataclass(frozen=True)
class Change:
    """A reply that is now parsed differently."""

    before: Verdict
    after: Verdict


@dataclass
class ReparseResult:
    """Number of replies parsed again, number skipped by reason, and the changes."""

    read: int = 0
    left: dict[str, int] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)


def reparse_ledger(ledger: Ledger, judges: Sequence[str] | None = None, *, dry_run: bool = False) -> ReparseResult:
    """Parse every stored reply again. A different result becomes a revision; the earlier one stays."""
    reparse_result = ReparseResult()
    settings = {
        account["name"]: account["settings"] or {}
        for account in ledger.describe()["accounts"]
        if account["role"] == "judge"
    }
    verdicts = ledger.verdicts(judges)
    while batch := list(islice(verdicts, CHUNK)):
        cases = {case.key: case for case in ledger.cases({verdict.case for verdict in batch})}
        for verdict in batch:
            reason = _skip_reason(verdict, cases.get(verdict.case), settings.get(verdict.judge, {}))
            if reason:
                reparse_result.left[reason] = reparse_result.left.get(reason, 0) + 1
                continue
            reparse_result.read += 1
            after = _reparse_verdict(verdict, cases[verdict.case], settings[verdict.judge])
            if (after.marks, after.fault) != (verdict.marks, verdict.fault):
                reparse_result.changes.append(Change(verdict, after))
    if not dry_run:
        ledger.add(*(change.after for change in reparse_result.changes))
        ledger.flush()
    return reparse_result


def _skip_reason(verdict: Verdict, case: Case | None, settings: Mapping[str, Any]) -> str:
    if verdict.judge == PEOPLE:
        return "given by people"
    if "prompt_template" not in settings:
        return "of judges that do not reply in words"
    if verdict.fault == "abstained":
        return "not asked for"
    if case is None:
        return "whose case is not in the ledger"
    # A second model read such a reply, and the stored text may be its own, not the judge's.
    if "reader" in settings:
        return "read by a second model"
    if "marks" in settings:
        return "whose marks are made of the chances of tokens, which no text shows"
    if not verdict.text and not verdict.exchanges:
        return "without a stored reply"
    return ""


def _reparse_verdict(verdict: Verdict, case: Case, settings: Mapping[str, Any]) -> Verdict:
    reply = verdict.exchanges[-1] if verdict.exchanges else Call("", verdict.text)
    marks_or_fault, reading = read_reply(
        case, reply, settings, has_estimated_tokens=verdict.reading.has_estimated_tokens
    )
    marks, fault = (None, marks_or_fault) if isinstance(marks_or_fault, str) else (tuple(marks_or_fault), None)
    later = verdict.revision + 1
    return replace(verdict, marks=marks, fault=fault, usage=NOTHING, revision=later, reading=reading, at=0.0)


def verdict_text(verdict: Verdict) -> str:
    """Return the marks or the fault of a verdict as a short text."""
    return verdict.fault or ", ".join(f"{mark:g}" for mark in verdict.marks or ())


def change_lines(changes: Sequence[Change]) -> Iterator[str]:
    """Yield one line per change, with the verdict before and after."""
    for change in changes:
        before, after = change.before, change.after
        yield (
            f"{before.case} {before.judge} trial {before.trial}, item {before.item}: "
            f"{verdict_text(before)} -> {verdict_text(after)}"
        )
