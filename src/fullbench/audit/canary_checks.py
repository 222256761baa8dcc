"""Canaries: a fixed, private set of cases that a judge hears again and again, to notice when it has changed.

The set is drawn from the ledger's own secret, so that nobody else can know it or train to it; its digest names it. The
first hearing of each case is what later ones are held against. Only cases are watched that the judge ruled rightly at
first, and alike in the next `CHOSEN` hearings: on the others it differs from itself anyway. The hearings after that are
the baseline, which tells how often it differs from itself on the cases watched; a judge that differs more often has a
longer one (`ROUNDS`), since the alarm must know its noise well to hear a change through it. Canaries stand in a study
of their own, are asked for only where somebody asks, and every hearing is a new trial.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fullbench.audit.cases.build_audit_cases import PAIRS, hidden_pair
from fullbench.audit.cases.synthetic_items import Asked, asked
from fullbench.audit.cases.text_variants import CRITERION
from fullbench.audit.measures.verdicts_with_truth import share
from fullbench.core.case import Case
from fullbench.core.column_labels import headings
from fullbench.core.digests import digest
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.stats.drift_alarm import alarm_call

STUDY = "canaries"
CASES = 60
CHOSEN = 3
"""After the first time, each case is heard so often to be chosen."""
ROUNDS = ((0.014, 12), (0.024, 21), (1.0, 30))
"""Up to which share of differing calls the baseline ends with which hearing, the first one being number 0."""
ENOUGH = 300
"""Of fewer calls that share is too uncertain to ask for more by it."""


def private_seed(ledger: Ledger) -> int:
    """The seed of a ledger's canaries: only who holds the ledger's secret can know it."""
    return int.from_bytes(hmac.digest(ledger.salt or b"", b"canaries", "sha256")[:6])


def canaries(ledger: Ledger, count: int = CASES) -> list[Case]:
    """The canaries of a ledger, first hearings; easy and middling questions, which steady judges get right."""
    seed, chosen = private_seed(ledger), list[Case]()
    index = 0
    while len(chosen) < count:
        known: Asked = asked(seed, "canary", index)
        index += 1
        if known.difficulty != "hard":
            chosen.append(_case(known, len(chosen)))
    return chosen


def _case(known: Asked, number: int) -> Case:
    """Its names tell nothing of the seed."""
    item, pair = hidden_pair(known, f"canary-{number:03d}")
    return Case(item, pair, PAIRS, CRITERION)


def digest_of(cases: Sequence[Case]) -> str:
    """Names a set without telling it."""
    return digest([case.key for case in cases])[:16]


def due(cases: Sequence[Case], record: Record, judge: str, calls: int) -> list[Case]:
    """The next hearings: the first of every case, then the baseline, then so many calls, the cases in turn."""
    heard: dict[str, int] = {}
    for verdict in record.where(judge=judge):
        heard[verdict.case] = max(heard.get(verdict.case, -1), verdict.trial)
    end = baseline_end(_by_case(record, judge))
    wanted: list[Case] = []
    for case in cases:
        last = heard.get(case.key, -1)
        wanted += [replace(case, trial=trial) for trial in range(last + 1, end + 1)]
    if wanted:
        return sorted(wanted, key=lambda case: case.trial)
    rounds = sorted(cases, key=lambda case: heard[case.key])
    return [
        replace(case, trial=heard[case.key] + 1 + number // len(rounds))
        for number, case in zip(range(calls), rounds * (calls // len(rounds) + 1), strict=False)
    ]


def _by_case(record: Record, judge: str) -> dict[str, list[Verdict]]:
    """A judge's hearings of each case, in their order."""
    by_case: dict[str, list[Verdict]] = {}
    for verdict in sorted(record.where(judge=judge), key=lambda hearing: hearing.trial):
        by_case.setdefault(verdict.case, []).append(verdict)
    return by_case


def _chosen(by_case: Mapping[str, list[Verdict]]) -> dict[str, list[Verdict]]:
    """The cases that are watched: ruled rightly at first, and alike while they were chosen."""
    return {
        key: those
        for key, those in by_case.items()
        if those[0].trial == 0
        and _right(those[0])
        and all(hearing.marks == those[0].marks for hearing in those[: CHOSEN + 1])
    }


def baseline_end(by_case: Mapping[str, list[Verdict]]) -> int:
    """The last hearing of the baseline, as far as is known: it grows where the judge differs often from itself.

    Each length is judged by what its own hearings show, so that what comes later never moves an end that was passed.
    """
    cases = _chosen(by_case)
    for most, end in ROUNDS:
        differs = _differs(cases, end)
        if sum(map(len, differs.values())) < (end - CHOSEN) * len(cases):
            return end
        calls = [differed for heard in differs.values() for differed in heard]
        if len(calls) < ENOUGH or sum(calls) <= most * len(calls):
            return end
    return ROUNDS[-1][1]


def _differs(cases: Mapping[str, list[Verdict]], end: int) -> dict[str, list[bool]]:
    """For each case, which hearings of the baseline differed from the first."""
    return {
        key: [hearing.marks != those[0].marks for hearing in those if CHOSEN < hearing.trial <= end]
        for key, those in cases.items()
    }


@dataclass(frozen=True)
class Alarm:
    """How a judge fares on its canaries: `rung` is the call after the baseline at which the alarm rang, 0 for none."""

    judge: str
    watched: int
    left_out: int
    baseline: tuple[int, int]
    calls: int
    differed: int
    share: Estimate | None
    rung: int
    served: tuple[str, ...]


def alarm(record: Record, judge: str) -> Alarm:
    """Whether a judge has changed, from all its hearings in their order."""
    # a fault differs from a ruling, so that a judge that begins to refuse is noticed too
    by_case = _by_case(record, judge)
    watched, end = _chosen(by_case), baseline_end(by_case)
    baseline = _differs(watched, end)
    calls = [differed for heard in baseline.values() for differed in heard]
    later = sorted(
        ((verdict.trial, verdict.at, key, verdict.marks != those[0].marks, verdict.item)
         for key, those in watched.items() for verdict in those if verdict.trial > end),
    )  # fmt: skip
    differs = [call[3] for call in later]
    rung = alarm_call(baseline, [(call[2], call[3]) for call in later])
    served = {
        call.served for those in by_case.values() for hearing in those for call in hearing.exchanges if call.served
    }
    return Alarm(
        judge, len(watched), len(by_case) - len(watched), (sum(calls), len(calls)), len(differs), sum(differs),
        share([float(not differed) for differed in differs], [call[4] for call in later]), rung, tuple(sorted(served)),
    )  # fmt: skip


def _right(verdict: Verdict) -> bool:
    marks = verdict.marks
    return marks is not None and dict(zip(verdict.contestants, marks, strict=True)).get("right") == 1.0


def watched(ledger: Ledger) -> Mapping[str, Alarm]:
    """The alarms of all judges that a ledger's canaries watch."""
    if STUDY not in ledger.studies():
        return {}
    record = ledger.record(study=STUDY)
    return {judge: alarm(record, judge) for judge in record.judges}


def canary_table(alarms: Sequence[Alarm]) -> Table:
    """How the judges fare on their canaries."""
    rows: list[list[Cell]] = [
        [
            outcome.judge, outcome.watched, outcome.baseline[0] / outcome.baseline[1] if outcome.baseline[1] else None,
            outcome.calls, outcome.share,
            Note("canary.rang", "changed: the alarm rang at call {n:,}", n=outcome.rung) if outcome.rung
            else Note("canary.quiet", "no sign of a change") if outcome.calls
            else Note("canary.baseline", "baseline only: hear them again later"),
        ]
        for outcome in alarms
    ]  # fmt: skip
    notes = [
        Note(
            "canary.how",
            "Canaries are cases that the judge ruled rightly and steadily at first; each call agrees with that ruling "
            "or not. The alarm rings falsely in about one of a hundred runs of 2,000 calls.",
        )
    ]
    notes += [
        Note(
            "canary.left-out", "{judge}: {n:,} cases are not watched: it ruled them wrongly at first, or not alike.",
            judge=outcome.judge, n=outcome.left_out,
        )
        for outcome in alarms if outcome.left_out
    ]  # fmt: skip
    columns = headings("judge", "canaries", "differed in the baseline", "calls", "as at first", "what is seen")
    return Table("canaries", Note("canary.title", "Canaries: has the judge changed?"), columns, rows, notes)
