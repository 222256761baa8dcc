"""All commands under one name."""

from __future__ import annotations

from typing import Annotated

import typer

from fullbench.cli import (
    answer,
    batch,
    building,
    card,
    compose,
    critic,
    demo,
    export,
    judge,
    leaderboard,
    ledger,
    ledger_votes,
    listing,
    new,
    peer_review,
    people,
    plan,
    replay,
    report,
    reproduce,
    rerank,
    run,
    serve,
    show,
    simulate,
)


def leave(code: object, **_: object) -> None:
    """What a command returns is its exit code."""
    if isinstance(code, int) and code:
        raise typer.Exit(code)


app = typer.Typer(
    name="fullbench",
    help="Judge multimodal models, and judge the judges.",
    epilog="Start with: fullbench demo. Then: fullbench judge --help.",
    no_args_is_help=True,
    result_callback=leave,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Judge multimodal models, and judge the judges."""
    if version:
        from fullbench import __version__

        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("demo")(demo.demo)
app.command("judge")(judge.judge)
app.command("answer")(answer.answer)
app.command("run")(run.run)
app.command("replay")(replay.replay)
app.command("plan")(plan.plan)
app.command("peer-review")(peer_review.peer_review)
app.command("simulate")(simulate.simulate)
app.command("report")(report.report)
app.command("show")(show.show)
app.command("card")(card.card)
app.command("reproduce")(reproduce.reproduce)
app.command("export")(export.export)
app.command("rerank")(rerank.rerank)
app.command("serve")(serve.serve)
app.command("list")(listing.listing)
app.add_typer(batch.batch_app, name="batch")
for _building in (building.blur, building.distort, building.grid, building.group, building.sanitise):
    compose.compose_app.command(_building.__name__)(_building)
app.add_typer(compose.compose_app, name="compose")
app.add_typer(critic.critic_app, name="critic")
app.add_typer(leaderboard.leaderboard_app, name="leaderboard")
ledger.ledger_app.command("import")(ledger_votes.import_)
ledger.ledger_app.command("alias")(ledger_votes.alias)
ledger.ledger_app.command("reread")(ledger_votes.reread)
app.add_typer(ledger.ledger_app, name="ledger")
app.add_typer(new.new_app, name="new")
app.add_typer(people.people_app, name="people")
