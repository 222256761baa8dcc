"""`fullbench scale`: what a run of any size would take, by a model of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from fullbench.cli.common import JsonOption, show


def scale(
    calls: Annotated[list[float] | None, typer.Option(help="How many, as 1e8; repeatable. Else 1e4 to 1e9.")] = None,
    latency: Annotated[float, typer.Option(min=0.0001, help="Median seconds of a call.")] = 1.0,
    spread: Annotated[float, typer.Option(min=0.0, help="The standard deviation of its logarithm.")] = 0.5,
    in_flight: Annotated[int, typer.Option(min=1, help="Calls in flight, over all servers.")] = 128,
    per_minute: Annotated[float | None, typer.Option(min=0.001, help="The providers' limit on requests.")] = None,
    failing: Annotated[float, typer.Option(min=0.0, max=0.99, help="The share of calls that are made again.")] = 0.0,
    drivers: Annotated[int, typer.Option(min=1, help="Processes that ask, each with judges of its own.")] = 1,
    ledger: Annotated[str, typer.Option(help="sqlite, postgres or none.")] = "sqlite",
    away: Annotated[float, typer.Option(min=0.0, help="Seconds to the ledger, one way.")] = 0.0,
    dollars: Annotated[float, typer.Option(min=0.0, help="What a call costs.")] = 0.0,
    verdicts_per_item: Annotated[float, typer.Option(help="Verdicts that share an item.")] = 12.0,
    verdicts_per_case: Annotated[float, typer.Option(help="Verdicts that share a case: judges, times trials.")] = 3.0,
    reply_bytes: Annotated[float, typer.Option(min=0.0, help="Text of a judge's reply.")] = 400.0,
    answer_bytes: Annotated[float, typer.Option(min=0.0, help="Text of an answer, and of a question.")] = 200.0,
    driver: Annotated[
        float | None,
        typer.Option(min=0.0, help="Seconds of a core for a verdict: 0.0003 if idle, 0.0005 to 0.0008 if shared."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Foresee what runs of any size take: hours, what holds them back, dollars, bytes. Nothing is asked.

    Example: fullbench scale --calls 1e8 --latency 0.8 --in-flight 2000 --ledger postgres --away 0.02 --dollars 0.0005
    """
    from fullbench.studies import scale as model

    run = model.Run(
        1, latency, spread, in_flight, per_minute, failing, drivers, ledger, away, dollars,
        verdicts_per_item, verdicts_per_case, reply_bytes, answer_bytes,
    )  # fmt: skip
    run.check()
    measured = model.MEASURED if driver is None else replace(model.MEASURED, driver=driver)
    sizes = [int(count) for count in calls or [10.0**power for power in range(4, 10)]]
    show([model.table(run, sizes, measured)], as_json=as_json)
