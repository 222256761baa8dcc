"""`fullbench canary` and `fullbench equate`: has a judge changed, and how does its successor stand on its scale?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.common import (
    DEFAULT_LEDGER,
    BudgetOption,
    DryRunOption,
    JsonOption,
    LedgerOption,
    QuietOption,
    StudyOption,
    closing,
    say,
    show,
    stoppable,
)


def canary(
    judge: Annotated[
        str | None, typer.Argument(help="Who is watched, as KIND:NAME?OPTIONS; left out, what is known is shown.")
    ] = None,
    calls: Annotated[int, typer.Option(min=1, help="How many canaries are heard, once the baseline is there.")] = 60,
    ledger: LedgerOption = DEFAULT_LEDGER,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Let a judge hear its canaries again, and say whether it has changed.

    The canaries are 60 private cases, drawn from the ledger's secret. The first run hears each eleven times: that is
    the baseline. Every later run hears some again; the alarm tells a change of 10 points within about 200 calls.

    Examples:

        fullbench canary openai:gpt-4o --dry-run

        fullbench canary openai:gpt-4o --calls 60

        fullbench canary
    """
    from fullbench.audit import canaries
    from fullbench.errors import InputError
    from fullbench.ledger.store import Ledger
    from fullbench.studies import plan, specs
    from fullbench.studies.hear import hear
    from fullbench.studies.progress import watching

    if judge is None:
        with Ledger(ledger, read_only=True) as book:
            alarms = canaries.watched(book)
        if not alarms:
            raise InputError(f"{ledger} has no canaries; `fullbench canary JUDGE` lets a judge hear some")
        show([canaries.canary_table([*alarms.values()])], as_json=as_json)
        return 0
    watched = specs.judge(judge)
    models = plan.models_asked([watched])
    if not dry_run:
        for model in models:
            model.answer(())
    purse = plan.purse(budget, models) if budget is not None else None
    with stoppable() as stop, Ledger(ledger, study=canaries.STUDY) as book:
        cases = canaries.canaries(book)
        record = book.record([watched.name], study=canaries.STUDY)
        due = canaries.due(cases, record, watched.name, calls)
        if dry_run:
            show(
                [plan.table(book, contestants=(), items=(), judges=[watched], cases=lambda _: iter(due))],
                as_json=as_json,
            )
            return 0
        with watching("verdicts", [watched.name], len(due), quiet=quiet) as watch:
            tallies = hear(
                [watched], lambda _: due, book, specs={watched.name: judge}, budget=purse, stop=stop, watch=watch
            )
        alarm = canaries.alarm(book.record([watched.name], study=canaries.STUDY), watched.name)
    show([canaries.canary_table([alarm])], as_json=as_json)
    say(f"The set: {canaries.digest_of(cases)}, {len(cases)} cases; nobody without this ledger's secret can know it.")
    if alarm.rung:
        say(f"ALARM: {alarm.judge} is not what it was: the alarm rang at call {alarm.rung:,} after the baseline.")
    return closing(tallies, what="verdicts")


def equate(
    old: Annotated[str, typer.Argument(help="The judge whose scale is kept, by its full name.")],
    new: Annotated[str, typer.Argument(help="Its successor, by its full name.")],
    ledger: LedgerOption = DEFAULT_LEDGER,
    study: StudyOption = None,
    out: Annotated[Path | None, typer.Option(help="A file: .html, .json, .csv, .md or .txt.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Put a judge's successor on its scale, from matches that both ruled on. Nothing is asked.

    Examples:

        fullbench equate "openai/gpt-4o+analyze#1a2b3c4d" "openai/gpt-5+analyze#5e6f7a8b" --ledger board.ledger
    """
    from fullbench.audit import equate as equating
    from fullbench.ledger.store import Ledger
    from fullbench.studies import seated

    with Ledger(ledger, read_only=True, study=study) as book:
        record = seated.record(book, [old, new])
    show([equating.equated_table(one) for one in equating.equate(record, old, new)], as_json=as_json, out=out)
