"""Canaries: a fixed, private set of cases judged repeatedly, to notice when a judge has changed.

The set is drawn from the ledger's own secret, so nobody else can know it or train on it; its digest identifies it.
Later verdicts on a case are compared with the first. A case is watched only if its first verdict is right and the next
`SELECTION_ROUNDS` verdicts are equal to it: on other cases the judge differs from itself anyway. The verdicts after
that are the baseline. It shows how often the judge differs from itself on the watched cases. A judge that differs more
often gets a longer baseline (`ROUNDS`), since the alarm must know the noise well to detect a change. Canaries are in
their own study, are judged only on request, and every repetition is a new trial.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fullbench.audit.cases.build_audit_cases import PAIRS, hidden_pair
from fullbench.audit.cases.irrelevant_answer_changes_and_rewordings import CRITERION
from fullbench.audit.cases.media_use_cases import MEDIA, hidden_pair_case
from fullbench.audit.cases.synthetic_items import SceneQuestion, draw_question
from fullbench.audit.measures.verdicts_with_truth import share_over_items
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.estimate import Estimate
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import NOUNS
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.ledger.ledger import Ledger
from fullbench.stats.drift_alarm import alarm_call

STUDY = "canaries"
"""Study of the canaries on pictures; those on another medium are in a study of its own."""
PICTURE = "picture"
CANARY_MEDIA = (PICTURE, *MEDIA)
CASES = 60
SELECTION_ROUNDS = 3
"""Trials after the first verdict that select the watched cases."""
ROUNDS = ((0.014, 12), (0.024, 21), (1.0, 30))
"""(largest share of differing verdicts, last trial of the baseline); the first trial is number 0."""
MIN_BASELINE_CALLS = 300
"""With fewer calls, that share is too uncertain to lengthen the baseline."""


def private_seed(ledger: Ledger) -> int:
    """Return the seed of a ledger's canaries, which only a holder of the ledger's secret can know."""
    return int.from_bytes(hmac.digest(ledger.salt or b"", b"canaries", "sha256")[:6])


def study_of(medium: str) -> str:
    """Return the study of the canaries on a medium.

    >>> study_of("picture"), study_of("video")
    ('canaries', 'canaries-video')
    """
    return STUDY if medium == PICTURE else f"{STUDY}-{medium}"


def draw_canaries(ledger: Ledger, count: int = CASES, *, medium: str = PICTURE) -> list[Case]:
    """Return the ledger's canaries as first trials; of pictures, easy and medium questions only."""
    seed, cases = private_seed(ledger), list[Case]()
    if medium != PICTURE:
        kind = next(name for name in MEDIA if name == medium)
        return [hidden_pair_case(kind, seed, number, f"canary-{medium}-{number:03d}") for number in range(count)]
    index = 0
    while len(cases) < count:
        scene_question: SceneQuestion = draw_question(seed, "canary", index)
        index += 1
        if scene_question.difficulty != "hard":
            cases.append(_canary_case(scene_question, len(cases)))
    return cases


def _canary_case(scene_question: SceneQuestion, number: int) -> Case:
    item, pair = hidden_pair(scene_question, f"canary-{number:03d}")
    return Case(item, pair, PAIRS, CRITERION)


def canary_set_digest(cases: Sequence[Case]) -> str:
    """Return a digest that identifies a set without revealing it."""
    return digest([case.key for case in cases])[:16]


def due_cases(cases: Sequence[Case], record: Record, judge: str, calls: int) -> list[Case]:
    """Return the next trials: first trials, then the baseline, then `calls` trials over the cases in turn."""
    last_trials: dict[str, int] = {}
    for verdict in record.where(judge=judge):
        last_trials[verdict.case] = max(last_trials.get(verdict.case, -1), verdict.trial)
    end = baseline_end(_verdicts_by_case(record, judge))
    baseline_cases: list[Case] = []
    for case in cases:
        last_trial = last_trials.get(case.key, -1)
        baseline_cases += [replace(case, trial=trial) for trial in range(last_trial + 1, end + 1)]
    if baseline_cases:
        return sorted(baseline_cases, key=lambda case: case.trial)
    ordered_cases = sorted(cases, key=lambda case: last_trials[case.key])
    return [
        replace(case, trial=last_trials[case.key] + 1 + number // len(ordered_cases))
        for number, case in zip(range(calls), ordered_cases * (calls // len(ordered_cases) + 1), strict=False)
    ]


def _verdicts_by_case(record: Record, judge: str) -> dict[str, list[Verdict]]:
    verdicts_by_case: dict[str, list[Verdict]] = {}
    for verdict in sorted(record.where(judge=judge), key=lambda judge_verdict: judge_verdict.trial):
        verdicts_by_case.setdefault(verdict.case, []).append(verdict)
    return verdicts_by_case


def _watched_cases(verdicts_by_case: Mapping[str, list[Verdict]]) -> dict[str, list[Verdict]]:
    return {
        key: verdicts
        for key, verdicts in verdicts_by_case.items()
        if verdicts[0].trial == 0
        and _is_right(verdicts[0])
        and all(verdict.marks == verdicts[0].marks for verdict in verdicts[: SELECTION_ROUNDS + 1])
    }


def baseline_end(verdicts_by_case: Mapping[str, list[Verdict]]) -> int:
    """Return the last trial of the baseline, as far as known; it grows if the judge often differs from itself.

    Each length is decided by its own trials only, so that later trials never move an end that was passed.
    """
    cases = _watched_cases(verdicts_by_case)
    for max_share, end in ROUNDS:
        differences_by_case = _baseline_differences(cases, end)
        if sum(map(len, differences_by_case.values())) < (end - SELECTION_ROUNDS) * len(cases):
            return end
        calls = [is_different for differences in differences_by_case.values() for is_different in differences]
        if len(calls) < MIN_BASELINE_CALLS or sum(calls) <= max_share * len(calls):
            return end
    return ROUNDS[-1][1]


def _baseline_differences(cases: Mapping[str, list[Verdict]], end: int) -> dict[str, list[bool]]:
    return {
        key: [verdict.marks != verdicts[0].marks for verdict in verdicts if SELECTION_ROUNDS < verdict.trial <= end]
        for key, verdicts in cases.items()
    }


@dataclass(frozen=True)
class Alarm:
    """State of a judge's canaries: `rang_at_call` is the call after the baseline that raised the alarm, 0 for none."""

    judge: str
    watched_count: int
    unwatched_count: int
    baseline_counts: tuple[int, int]
    call_count: int
    share: Estimate | None
    rang_at_call: int
    served_models: tuple[str, ...]
    medium: str = PICTURE


def judge_alarm(record: Record, judge: str, medium: str = PICTURE) -> Alarm:
    """Decide if a judge has changed, from all its trials in order."""
    # An unusable verdict differs from one with marks, so a judge that starts to refuse is noticed too.
    verdicts_by_case = _verdicts_by_case(record, judge)
    watched_cases, end = _watched_cases(verdicts_by_case), baseline_end(verdicts_by_case)
    differences_by_case = _baseline_differences(watched_cases, end)
    calls = [is_different for differences in differences_by_case.values() for is_different in differences]
    later_calls = sorted(
        (
            (verdict.trial, verdict.at, key, verdict.marks != verdicts[0].marks, verdict.item)
            for key, verdicts in watched_cases.items()
            for verdict in verdicts
            if verdict.trial > end
        ),
    )
    later_differences = [call[3] for call in later_calls]
    rang_at_call = alarm_call(differences_by_case, [(call[2], call[3]) for call in later_calls])
    served_models = {
        call.served
        for verdicts in verdicts_by_case.values()
        for past_verdict in verdicts
        for call in past_verdict.exchanges
        if call.served
    }
    return Alarm(
        judge,
        len(watched_cases),
        len(verdicts_by_case) - len(watched_cases),
        (sum(calls), len(calls)),
        len(later_differences),
        share_over_items(
            [float(not is_different) for is_different in later_differences], [call[4] for call in later_calls]
        ),
        rang_at_call,
        tuple(sorted(served_models)),
        medium,
    )


def _is_right(verdict: Verdict) -> bool:
    marks = verdict.marks
    return marks is not None and dict(zip(verdict.contestants, marks, strict=True)).get("right") == 1.0


def load_alarms(ledger: Ledger) -> list[Alarm]:
    """Return the alarms of all judges with canaries in a ledger, one for each medium."""
    studies = ledger.studies()
    records = {medium: ledger.record(study=study_of(medium)) for medium in CANARY_MEDIA if study_of(medium) in studies}
    return [judge_alarm(record, judge, medium) for medium, record in records.items() for judge in record.judges]


def _noun_of(medium: str) -> str:
    return next((NOUNS[name] for name in MEDIA if name == medium), PICTURE)


def canary_table(alarms: Sequence[Alarm]) -> Table:
    """Return a table of the judges' canaries."""
    has_media = any(alarm.medium != PICTURE for alarm in alarms)
    rows: list[list[Cell]] = [
        [
            alarm.judge,
            *([word_note(_noun_of(alarm.medium))] if has_media else []),
            alarm.watched_count,
            alarm.baseline_counts[0] / alarm.baseline_counts[1] if alarm.baseline_counts[1] else None,
            alarm.call_count,
            alarm.share,
            Note("canary.rang", n=alarm.rang_at_call)
            if alarm.rang_at_call
            else Note("canary.quiet")
            if alarm.call_count
            else Note("canary.baseline"),
        ]
        for alarm in alarms
    ]
    notes = [Note("canary.how")]
    notes += [
        Note("canary.left-out", judge=alarm.judge, n=alarm.unwatched_count) for alarm in alarms if alarm.unwatched_count
    ]
    columns = table_columns(
        "judge",
        *(["medium"] if has_media else []),
        "canaries",
        "differed in the baseline",
        "calls",
        "as at first",
        "what is seen",
    )
    return Table("canaries", Note("canary.title"), columns, rows, notes)
