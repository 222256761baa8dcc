"""`fullbench audit watch` and `fullbench audit replace`: changes of a judge, and its replacement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from fullbench.cli.console import print_message, print_tables, report_outcome
from fullbench.cli.shared_options_and_run_output import (
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
    from fullbench.core.judge import Judge
    from fullbench.core.verdict_record import Record
    from fullbench.ledger.ledger import Ledger


@options("ledger budget engine dry_run as_json quiet")
def watch_judge(
    store: LedgerOptions,
    calls: CallOptions,
    judge: Annotated[
        str | None, argument("Judge to check, as KIND:NAME?OPTIONS. Default: show the results of all judges.")
    ] = None,
    call_count: Annotated[int, option("Number of canary calls after the baseline.", "--calls", min=1)] = 60,
    medium: Annotated[str, option("What the canaries show: picture, video, audio or document.", "--media")] = "picture",
) -> int:
    """Repeat fixed test cases and report whether the judge has changed.

    The canaries are 60 private cases, drawn from the secret of the ledger. The first run judges each of them 13 times;
    this is the baseline. The baseline grows in the next runs if the judge often contradicts itself. Later runs repeat
    some cases. A change of 10 points raises the alarm within about 200 calls.

    Examples:

        fullbench audit watch openai:gpt-4o --dry-run

        fullbench audit watch openai:gpt-4o --calls 60

        fullbench audit watch "openai:gpt-4o?video=frames" --media video

        fullbench audit watch
    """
    from fullbench.audit import canary_checks
    from fullbench.studies.run import call_and_cost_plan

    if judge is None:
        with store.read() as book:
            alarms = canary_checks.load_alarms(book)
        if not alarms:
            raise InputError(f"{store.ledger} contains no canaries. `fullbench audit watch JUDGE` runs some.")
        calls.print_tables([canary_checks.canary_table(alarms)])
        return 0
    if medium not in canary_checks.CANARY_MEDIA:
        raise InputError(f"There are no canaries on {medium!r}. Use --media {', '.join(canary_checks.CANARY_MEDIA)}.")
    if calls.dry_run:
        watched_judge = _judge_to_call(judge, store)
        with ledger_if_any(store.ledger) as book:
            cases = canary_checks.draw_canaries(book, medium=medium)
            due_cases = canary_checks.due_cases(
                cases, _canary_record(book, watched_judge.name, medium), watched_judge.name, call_count
            )
            forecast = call_and_cost_plan.plan_table(
                book, contestants=(), items=(), judges=[watched_judge], cases=lambda _: iter(due_cases)
            )
        calls.print_tables([forecast])
        return 0
    alarm, job_counts, digest = _judge_canaries(judge, store, call_count, calls, medium)
    calls.print_tables([canary_checks.canary_table([alarm])])
    print_message(f"Canary set {digest}: {canary_checks.CASES} cases, drawn from the secret of this ledger.")
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
            print_message(f"{spec} combines other judges. Its members are checked if the study names them as judges.")
        else:
            alarm, job_counts, _ = _judge_canaries(spec, ledger, call_count, calls)
            print_message(
                f"{alarm.judge}: {alarm.call_count:,} canary calls after a baseline of {alarm.baseline_counts[1]:,}."
            )
            _print_alarm(alarm)
            code = max(code, report_outcome(job_counts, what="canaries"))
    return code


def _judge_to_call(spec: str, store: LedgerOptions) -> Judge:
    """Build the judge of a spec; explain that a name of the ledger is no spec."""
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.ledger_display_names_and_name_lookup import find_judges

    try:
        return judge_contestant_and_benchmark_specs.judge_from_spec(spec)
    except InputError as error:
        try:
            with store.read() as book:
                find_judges(book, [spec])
        except InputError:
            raise error from None
        raise InputError(
            f"{spec!r} is a judge of this ledger. This command calls the judge, so give its spec, such as "
            "openai:gpt-4o. Without a judge, the command shows the stored results."
        ) from error


def _judge_canaries(
    spec: str, store: LedgerOptions, call_count: int, calls: CallOptions, medium: str = "picture"
) -> tuple[Alarm, list[JobCounts], str]:
    """Judge the canaries that are due; return the alarm, the counts and the digest of the canary set."""
    from fullbench.audit import canary_checks
    from fullbench.core.verdict import Circumstances
    from fullbench.studies.run import call_and_cost_plan

    watched_judge = _judge_to_call(spec, store)
    shared_budget = call_and_cost_plan.check_keys_and_budget(
        call_and_cost_plan.models_of_judges([watched_judge]), calls.budget
    )
    with calls.open(store, canary_checks.study_of(medium)) as open_run:
        book = open_run.book
        cases = canary_checks.draw_canaries(book, medium=medium)
        due_cases = canary_checks.due_cases(
            cases, _canary_record(book, watched_judge.name, medium), watched_judge.name, call_count
        )
        if len(due_cases) != call_count:
            print_message(f"The baseline comes first. It takes {len(due_cases):,} calls, whatever --calls says.")
        context = open_run.call_context(shared_budget, {watched_judge.name: spec})
        job_counts = context.judge_cases(
            [watched_judge],
            due_cases,
            circumstances_by_case={case.key: Circumstances(canary=True) for case in cases},
        )
        return (
            canary_checks.judge_alarm(_canary_record(book, watched_judge.name, medium), watched_judge.name, medium),
            job_counts,
            canary_checks.canary_set_digest(cases),
        )


def _canary_record(book: Ledger, judge: str, medium: str) -> Record:
    from fullbench.audit import canary_checks
    from fullbench.core.verdict_record import Record

    study = canary_checks.study_of(medium)
    return book.record([judge], study=study) if study in book.studies() else Record(())


def _print_alarm(alarm: Alarm) -> None:
    if alarm.rang_at_call:
        print_message(
            f"ALARM: {alarm.judge} has changed. The alarm was raised at call {alarm.rang_at_call:,} after the baseline."
        )


@options("ledger study out dry_run withdraw as_json")
def replace_judge(
    old: Annotated[str, argument("Old judge, whose scale is kept: its name or a unique prefix.")],
    new: Annotated[str, argument("New judge: its name or a unique prefix.")],
    store: LedgerOptions,
    out: TablesOption = None,
    dry_run: Annotated[bool, option("Show the common scale and change nothing in the ledger.", "--dry-run")] = False,
    withdraw: Annotated[bool, option("Undo: remove this replacement from the ledger.", "--withdraw")] = False,
    as_json: JsonOption = False,
) -> None:
    """Put a new judge on the scale of the old one, using matches that both judged. No model is called.

    The ledger stores the replacement. From then on, reports, leaderboards and the site show where the judge changed.

    Examples:

        fullbench audit replace gpt-4o gpt-5 --ledger board.ledger

        fullbench audit replace gpt-4o gpt-5 --dry-run
    """
    from fullbench.ledger.judge_replacements import JudgeReplacement, add_replacement, withdraw_replacement
    from fullbench.studies import ledger_verdicts_with_panels
    from fullbench.studies.leaderboards import common_scale_after_judge_replacement as equating
    from fullbench.studies.ledger_display_names_and_name_lookup import find_judges

    if dry_run and withdraw:
        raise InputError("--dry-run and --withdraw exclude each other. Use one of them.")
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
                print_message(f"{new} no longer replaces {old} in the study {study_name!r}.")
                return
            if add_replacement(book, replacement):
                print_message(
                    f"{store.ledger}: {new} replaces {old} in the study {study_name!r}. Every board of either judge "
                    "shows the change."
                )
    print_tables(tables, as_json=as_json, out=out)
