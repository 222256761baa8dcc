"""`fullbench canary` and `fullbench equate`: has a judge changed, and how does its successor stand on its scale?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.options import (
    DEFAULT_LEDGER,
    BudgetOption,
    DryRunOption,
    EngineOption,
    JsonOption,
    LedgerOption,
    QuietOption,
    StudyOption,
    asking_from,
    closing,
    ledger_if_any,
    say,
    show,
    stoppable,
)
from fullbench.studies.engines import Tally

if TYPE_CHECKING:
    from fullbench.audit.canary_checks import Alarm
    from fullbench.core.record import Record
    from fullbench.ledger.ledger import Ledger


def canary(
    judge: Annotated[
        str | None, typer.Argument(help="Who is watched, as KIND:NAME?OPTIONS; left out, what is known is shown.")
    ] = None,
    calls: Annotated[int, typer.Option(min=1, help="How many canaries are heard, once the baseline is there.")] = 60,
    ledger: LedgerOption = DEFAULT_LEDGER,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
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
    from fullbench.errors import InputError
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.run import study_plan

    if judge is None:
        with Ledger(ledger, read_only=True) as book:
            alarms = canary_checks.watched(book)
        if not alarms:
            raise InputError(f"{ledger} has no canaries; `fullbench canary JUDGE` lets a judge hear some")
        show([canary_checks.canary_table([*alarms.values()])], as_json=as_json)
        return 0
    if dry_run:
        watched = judge_and_model_specs.judge(judge)
        with ledger_if_any(ledger) as book:
            cases = canary_checks.canaries(book)
            due = canary_checks.due(cases, _record(book, watched.name), watched.name, calls)
            forecast = study_plan.table(book, contestants=(), items=(), judges=[watched], cases=lambda _: iter(due))
        show([forecast], as_json=as_json)
        return 0
    alarm, tallies, digest = _heard_again(judge, ledger, calls, budget, engine=engine, quiet=quiet)
    show([canary_checks.canary_table([alarm])], as_json=as_json)
    say(f"The set: {digest}, {canary_checks.CASES} cases; nobody without this ledger's secret can know it.")
    _ring(alarm)
    return closing(tallies, what="verdicts")


def ride_along(judges: Sequence[str], ledger: str | Path, calls: int, budget: float | None, *, quiet: bool) -> int:
    """After a run: let its judges hear so many canaries, and say at once where one has changed."""
    from fullbench.core.panel import is_view

    code = 0
    for spec in judges:
        if is_view(spec):
            say(f"{spec} is a view: its members are watched where the study names them as judges too.")
        else:
            alarm, tallies, _ = _heard_again(spec, ledger, calls, budget, quiet=quiet)
            say(f"{alarm.judge}: {alarm.calls:,} canary calls after a baseline of {alarm.baseline[1]:,}.")
            _ring(alarm)
            code = max(code, closing(tallies, what="canaries"))
    return code


def _heard_again(
    spec: str, ledger: str | Path, calls: int, budget: float | None, *, engine: str | None = None, quiet: bool
) -> tuple[Alarm, list[Tally], str]:
    """Let a judge hear the canaries that are due; what its alarm says, what was asked, and which set it was."""
    from fullbench.audit import canary_checks
    from fullbench.core.verdict import Circumstances
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.run import study_plan
    from fullbench.studies.run.judge_cases import hear
    from fullbench.studies.run.progress_display import watching

    watched = judge_and_model_specs.judge(spec)
    purse = study_plan.ready(study_plan.models_asked([watched]), budget)
    with asking_from(engine) as where, stoppable() as stop, Ledger(ledger, study=canary_checks.STUDY) as book:
        cases = canary_checks.canaries(book)
        due = canary_checks.due(cases, _record(book, watched.name), watched.name, calls)
        if len(due) != calls:
            say(f"The baseline comes first: {len(due):,} calls, whatever --calls says.")
        with watching("verdicts", [watched.name], len(due), quiet=quiet) as watch:
            tallies = hear(
                [watched], lambda _: due, book, engine=where, specs={watched.name: spec}, budget=purse, stop=stop,
                watch=watch, marked={case.key: Circumstances(canary=True) for case in cases},
            )  # fmt: skip
        return canary_checks.alarm(_record(book, watched.name), watched.name), tallies, canary_checks.digest_of(cases)


def _record(book: Ledger, judge: str) -> Record:
    from fullbench.audit import canary_checks
    from fullbench.core.record import Record

    there = canary_checks.STUDY in book.studies()
    return book.record([judge], study=canary_checks.STUDY) if there else Record(())


def _ring(alarm: Alarm) -> None:
    if alarm.rung:
        say(f"ALARM: {alarm.judge} is not what it was: the alarm rang at call {alarm.rung:,} after the baseline.")


def equate(
    old: Annotated[str, typer.Argument(help="The judge whose scale is kept, by its name or its beginning.")],
    new: Annotated[str, typer.Argument(help="Its successor, by its name or its beginning.")],
    ledger: LedgerOption = DEFAULT_LEDGER,
    study: StudyOption = None,
    out: Annotated[Path | None, typer.Option(help="A file: .html, .json, .csv, .md or .txt.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show it; the ledger stays as it is.")] = False,
    back: Annotated[
        bool, typer.Option("--take-back", help="The one does not succeed the other after all: boards lose the seam.")
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
    from fullbench.errors import InputError
    from fullbench.ledger.judge_replacements import Succession, succeed, take_back
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import ledger_columns
    from fullbench.studies.leaderboards import judge_replacement as equating

    if dry_run and back:
        raise InputError("--dry-run only shows, and --take-back only enters: leave one out")
    with Ledger(ledger, read_only=True, study=study) as book:
        old, new = ledger_columns.judges_named(book, [old, new])
        where = book.one_study() or book.study
        tables = []
        if not back:
            equated = equating.equate(ledger_columns.record(book, [old, new], study=where), old, new)
            tables = [equating.equated_table(found, where) for found in equated]
    if not dry_run:
        with Ledger(ledger, study=where) as book:
            succession = Succession(where, old, new)
            if back:
                take_back(book, succession)
                say(f"{new} succeeds {old} no longer: boards of the study {where!r} have no seam between them.")
                return
            if succeed(book, succession):
                say(f"{ledger}: {new} succeeds {old} in the study {where!r}; every board of either shows the seam.")
    show(tables, as_json=as_json, out=out)
