"""`fullbench peer-review`: a ranking of contestants that review each other, from pictures alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.common import (
    DEFAULT_LEDGER,
    BudgetOption,
    DryRunOption,
    EngineOption,
    JsonOption,
    LedgerOption,
    PicturesOption,
    QuietOption,
    asking_from,
    closing,
    say,
    show,
    stoppable,
)

_LEAD = (
    "Nobody labelled anything here: every contestant wrote questions about the pictures, answered those of the others, "
    "and reviewed two answers at a time to its own. What a review counts was learned from the reviews themselves."
)
_MAIN = {"ranking", "order", "reviewers", "left out", "faults", "cost a picture"}
"""The tables that a person wants to see first."""


def peer_review(
    images: Annotated[Path | None, typer.Option(help="A folder of pictures. Without it: the court's own.")] = None,
    contestants: Annotated[
        list[str] | None,
        typer.Option(
            "--contestant",
            "--contestants",
            help="At least three, again for more or with commas between: openai:gpt-4o,...",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many of the pictures.")] = None,
    reviews: Annotated[int | None, typer.Option(min=1, help="So many reviews, spread evenly, not all.")] = None,
    kin: Annotated[bool, typer.Option("--kin/--no-kin", help="Whether a model may review its own family.")] = True,
    both_orders: Annotated[bool, typer.Option("--both-orders", help="Hear every pair in both orders.")] = False,
    mode: Annotated[str, typer.Option(help="How reviewers rule: direct, analyze, or steps.")] = "analyze",
    constrained: Annotated[
        bool, typer.Option("--constrained", help="Hold reviewers to the form of a ruling, where their server can.")
    ] = False,
    correlation: Annotated[
        str | None, typer.Option(help="How answers are compared with pictures: clip:FOLDER, tools, or colours.")
    ] = None,
    gamma: Annotated[str, typer.Option(help="Weights of correctness, visual, correlation.")] = "0.4,0.4,0.2",
    best_first: Annotated[
        bool, typer.Option("--best-first", help="The contestants are named best first: is that order found?")
    ] = False,
    seed: Annotated[int, typer.Option(help="For whatever is drawn at random.")] = 0,
    ledger: LedgerOption = DEFAULT_LEDGER,
    pictures: PicturesOption = None,
    report: Annotated[
        Path | None, typer.Option("--report", "--out", help="Write a page with tables, charts and cases here.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print every table, not the main ones alone.")] = False,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Rank models without labels: they write questions about pictures, answer them, and review each other.

    With no option at all, models that read pixels review each other on pictures whose truth is known: no key is needed.

    Examples:

        fullbench peer-review --limit 4

        fullbench peer-review --images photos --contestants openai:gpt-4o,gemini:gemini-1.5-pro,ollama:llava --dry-run
    """
    from fullbench.errors import InputError
    from fullbench.ledger.store import Ledger
    from fullbench.studies.kinds.peer_review import Reviewing
    from fullbench.studies.study import Study

    named = tuple(spec.strip() for text in contestants or [] for spec in text.split(",") if spec.strip())
    if best_first and not named:
        raise InputError("--best-first says in which order --contestants are named; name them")
    options = {
        "images": images, "limit": limit, "reviews": reviews, "kin": kin, "both_orders": both_orders, "mode": mode,
        "constrained": constrained, "correlation": correlation, "gamma": _gamma(gamma), "best_first": best_first,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    reviewing = Reviewing(Study("peer review", kind="peer-review", contestants=named, seed=seed, options=given))
    for complaint in reviewing.unreadable:
        say(f"Left out: {complaint}")
    if dry_run:
        show([reviewing.review.plan()], as_json=as_json)
        return 0
    with asking_from(engine) as where, Ledger(ledger, pictures=pictures) as book, stoppable() as stop:
        done = reviewing.review.conduct(
            book, engine=where, specs=reviewing.specs, budget=budget, stop=stop, quiet=quiet
        )
        more = [] if everything or as_json else [table.name for table in done.tables if table.name not in _MAIN]
        show([table for table in done.tables if table.name not in more], as_json=as_json)
        if more and report is None:
            say(f"{len(more)} more tables ({', '.join(more)}): --all prints them, --report PAGE shows them all.")
        if report is not None:
            from fullbench.reports.overview import page

            page("Peer review", done.record, done.tables, report, lead=_LEAD, source={"ledger": book.digest()})
            say(f"The page: {report}")
        return closing(done.tallies, what="questions, answers or reviews")


def _gamma(text: str) -> list[float]:
    from fullbench.errors import InputError
    from fullbench.figures.peers.reviews import PARTS

    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError as error:
        raise InputError(f"--gamma takes three numbers such as 0.4,0.4,0.2; found {text!r}") from error
    if len(numbers) != len(PARTS):
        raise InputError(f"--gamma takes three numbers: {', '.join(PARTS)}; found {text!r}")
    return numbers
