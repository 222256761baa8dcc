"""`fullbench scale`: what a run of any size would take, by a model of a run."""

from __future__ import annotations

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
    as_json: JsonOption = False,
) -> None:
    """Foresee what runs of any size take: hours, what holds them back, dollars, bytes. Nothing is asked.

    Example: fullbench scale --calls 1e8 --latency 0.8 --in-flight 2000 --ledger postgres --away 0.02 --dollars 0.0005
    """
    from fullbench.studies import scale as model

    run = model.Run(1, latency, spread, in_flight, per_minute, failing, drivers, ledger, away, dollars)
    sizes = [int(count) for count in calls or [10.0**power for power in range(4, 10)]]
    show([model.table(run, sizes)], as_json=as_json)
