"""`fullbench canary` and `fullbench equate`: changes of a judge, and its replacement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from fullbench.cli.console import print_message, print_tables, report_outcome
from fullbench.cli.options import (
    CallOptions,
    JsonOption,
    LedgerOptions,
    TablesOption,
    argument,
    ledger_if_any,
    option,
    options,
)
from fullbench.errors import InputError
from fullbench.studies.engines import JobCounts

if TYPE_CHECKING:
    from fullbench.audit.canary_checks import Alarm
    from fullbench.core.verdict_record import Record
    from fullbench.ledger.ledger import Ledger


@options("ledger budget engine dry_run as_json quiet")
def canary(
    store: LedgerOptions,
    calls: CallOptions,
    judge: Annotated[
        str | None, argument("Who is watched, as KIND:NAME?OPTIONS; left out, what is known is shown.")
    ] = None,
    call_count: Annotated[
        int, option("How many canaries are heard, once the baseline is there.", "--calls", min=1)
    ] = 60,
) -> int:
    """Let a judge hear its canaries again, and say whether it has changed.

    The canaries are 60 private cases, drawn from the ledger's secret. The first run hears each thirteen times: that is
    the baseline, and the next runs make it longer for a judge that often differs from itself. Every later run hears
    some again; the alarm tells a change of 10 points within about 200 calls.

    Examples:

        fullbench canary openai:gpt-4o --dry-run

        fullbench canary openai:gpt-4o --calls 60

        fullbench canary
    """
    from fullbench.audit import canary_checks
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.run import call_and_cost_plan

    if judge is None:
        with store.read() as book:
            alarms = canary_checks.load_alarms(book)
        if not alarms:
            raise InputError(f"{store.ledger} has no canaries; `fullbench canary JUDGE` lets a judge hear some")
        calls.print_tables([canary_checks.canary_table([*alarms.values()])])
        return 0
    if calls.dry_run:
        watched_judge = judge_and_model_specs.judge_from_spec(judge)
        with ledger_if_any(store.ledger) as book:
            cases = canary_checks.draw_canaries(book)
            due_cases = canary_checks.due_cases(
                cases, _canary_record(book, watched_judge.name), watched_judge.name, call_count
            )
            forecast = call_and_cost_plan.plan_table(
                book, contestants=(), items=(), judges=[watched_judge], cases=lambda _: iter(due_cases)
            )
        calls.print_tables([forecast])
        return 0
    alarm, job_counts, digest = _judge_canaries(judge, store, call_count, calls)
    calls.print_tables([canary_checks.canary_table([alarm])])
    print_message(f"The set: {digest}, {canary_checks.CASES} cases; nobody without this ledger's secret can know it.")
    _print_alarm(alarm)
    return report_outcome(job_counts, what="verdicts")


def run_canaries_after_study(judges: Sequence[str], ledger: LedgerOptions, call_count: int, calls: CallOptions) -> int:
    """After a run, give its judges canaries, and print an alarm if one has changed.

    Args:
        judges: Their specs.
        ledger: The ledger.
        call_count: Number of canaries of each judge.
        calls: Budget and display of the calls.
    """
    from fullbench.core.panel_and_cascade import is_view

    code = 0
    for spec in judges:
        if is_view(spec):
            print_message(f"{spec} is a view: its members are watched where the study names them as judges too.")
        else:
            alarm, job_counts, _ = _judge_canaries(spec, ledger, call_count, calls)
            print_message(
                f"{alarm.judge}: {alarm.call_count:,} canary calls after a baseline of {alarm.baseline_counts[1]:,}."
            )
            _print_alarm(alarm)
            code = max(code, report_outcome(job_counts, what="canaries"))
    return code


def _judge_canaries(
    spec: str, store: LedgerOptions, call_count: int, calls: CallOptions
) -> tuple[Alarm, list[JobCounts], str]:
    """Judge the canaries that are due; return the alarm, the counts and the digest of the canary set."""
    from fullbench.audit import canary_checks
    from fullbench.core.verdict import Circumstances
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.run import call_and_cost_plan

    watched_judge = judge_and_model_specs.judge_from_spec(spec)
    shared_budget = call_and_cost_plan.check_keys_and_budget(
        call_and_cost_plan.models_of_judges([watched_judge]), calls.budget
    )
    with calls.open(store, canary_checks.STUDY) as opened:
        book = opened.book
        cases = canary_checks.draw_canaries(book)
        due_cases = canary_checks.due_cases(
            cases, _canary_record(book, watched_judge.name), watched_judge.name, call_count
        )
        if len(due_cases) != call_count:
            print_message(f"The baseline comes first: {len(due_cases):,} calls, whatever --calls says.")
        context = opened.call_context(shared_budget, {watched_judge.name: spec})
        job_counts = context.judge_cases(
            [watched_judge],
            due_cases,
            circumstances_by_case={case.key: Circumstances(canary=True) for case in cases},
        )
        return (
            canary_checks.judge_alarm(_canary_record(book, watched_judge.name), watched_judge.name),
            job_counts,
            canary_checks.canary_set_digest(cases),
        )


def _canary_record(book: Ledger, judge: str) -> Record:
    from fullbench.audit import canary_checks
    from fullbench.core.verdict_record import Record

    has_canaries = canary_checks.STUDY in book.studies()
    return book.record([judge], study=canary_checks.STUDY) if has_canaries else Record(())


def _print_alarm(alarm: Alarm) -> None:
    if alarm.rang_at_call:
        print_message(
            f"ALARM: {alarm.judge} is not what it was: the alarm rang at call {alarm.rang_at_call:,} after the "
            "baseline."
        )


@options("ledger study out dry_run withdraw as_json")
def equate(
    old: Annotated[str, argument("The judge whose scale is kept, by its name or its beginning.")],
    new: Annotated[str, argument("Its successor, by its name or its beginning.")],
    store: LedgerOptions,
    out: TablesOption = None,
    dry_run: Annotated[bool, option("Only show it; the ledger stays as it is.", "--dry-run")] = False,
    withdraw: Annotated[
        bool, option("The one does not succeed the other after all: boards lose the seam.", "--withdraw")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Put a judge's successor on its scale, from matches that both ruled on. Nothing is asked.

    The ledger keeps that the one succeeds the other, so that reports, leaderboards and the site show the seam from now
    on. Judges are named in full or by their beginning.

    Examples:

        fullbench equate "openai/gpt-4o+analyze#1a2b3c4d" "openai/gpt-5+analyze#5e6f7a8b" --ledger board.ledger

        fullbench equate openai/gpt-4o openai/gpt-5 --dry-run
    """
    from fullbench.ledger.judge_replacements import JudgeReplacement, add_replacement, withdraw_replacement
    from fullbench.studies import ledger_verdicts_with_panels
    from fullbench.studies.leaderboards import judge_replacement as equating
    from fullbench.studies.ledger_display_names import find_judges

    if dry_run and withdraw:
        raise InputError("--dry-run only shows, and --withdraw only enters: leave one out")
    with store.read(store.study) as book:
        old, new = find_judges(book, [old, new])
        study_name = book.one_study() or book.study
        tables = []
        if not withdraw:
            common_scales = equating.fit_common_scales(
                ledger_verdicts_with_panels.load_record(book, [old, new], study=study_name), old, new
            )
            tables = [equating.common_scale_table(scale, study_name) for scale in common_scales]
    if not dry_run:
        with store.open(study_name) as book:
            replacement = JudgeReplacement(study_name, old, new)
            if withdraw:
                withdraw_replacement(book, replacement)
                print_message(
                    f"{new} succeeds {old} no longer: boards of the study {study_name!r} have no seam between them."
                )
                return
            if add_replacement(book, replacement):
                print_message(
                    f"{store.ledger}: {new} succeeds {old} in the study {study_name!r}; every board of either shows "
                    "the seam."
                )
    print_tables(tables, as_json=as_json, out=out)
