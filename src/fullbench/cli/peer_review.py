"""`fullbench peer-review`: a ranking of contestants that review each other, from pictures alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import (
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
_MAIN = {
    "ranking", "benchmark", "order", "warnings", "reviewers", "runs", "left out", "faults", "cost a picture",
}  # fmt: skip
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
        str | None, typer.Option(help="How answers meet pictures: clip:FOLDER?device=cuda, tools, or colours.")
    ] = None,
    gamma: Annotated[str, typer.Option(help="Weights of correctness, visual, correlation.")] = "0.4,0.4,0.2",
    questions: Annotated[
        Path | None,
        typer.Option(help="Questions about pictures, in place of --images: all answer them, nobody writes any."),
    ] = None,
    human_scores: Annotated[
        Path | None, typer.Option(help="Contestants' true scores (contestant, score) to compare the ranking with.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Several runs, such as 1,2,3,4: mean and deviation of each method over them.")
    ] = None,
    reading: Annotated[
        str, typer.Option(help="How the paper's equations are read: range, share, plain, sum, or rank.")
    ] = "range",
    initial: Annotated[str, typer.Option(help="Where weights begin: many, uniform, or random.")] = "many",
    families: Annotated[
        list[str] | None, typer.Option(help="Families that names do not show: gpt-4o=openai,o1=openai.")
    ] = None,
    language: Annotated[str, typer.Option(help="Of what contestants and reviewers are asked: en or zh.")] = "en",
    wording: Annotated[
        Path | None, typer.Option(help="Your own words for questions, answers and criteria, in a file.")
    ] = None,
    template: Annotated[Path | None, typer.Option(help="Your own prompt for reviewers, in a file.")] = None,
    best_first: Annotated[
        bool, typer.Option("--best-first", help="The contestants are named best first: is that order found?")
    ] = False,
    seed: Annotated[int, typer.Option(help="For whatever is drawn at random.")] = 0,
    ledger: LedgerOption = DEFAULT_LEDGER,
    pictures: PicturesOption = None,
    report: Annotated[
        Path | None, typer.Option("--report", "--out", help="Write a page with tables, charts and cases here.")
    ] = None,
    charts: Annotated[Path | None, typer.Option(help="A folder for the charts, each as SVG and PNG.")] = None,
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

        fullbench peer-review --questions mmstar.jsonl --human-scores mmstar.csv --seeds 1,2,3,4 --limit 25
    """
    from fullbench.errors import InputError
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.atomic_write import check_page
    from fullbench.studies.peer_review.peer_review_kind import Reviewing
    from fullbench.studies.study_file import Study

    if report is not None:
        check_page(report)
    named = tuple(_words(contestants) or ())
    if best_first and not named:
        raise InputError("--best-first says in which order --contestants are named; name them")
    options = {
        "images": images, "limit": limit, "reviews": reviews, "kin": kin, "both_orders": both_orders, "mode": mode,
        "constrained": constrained, "correlation": correlation, "gamma": _gamma(gamma), "best_first": best_first,
        "questions": questions, "human_scores": human_scores, "seeds": _numbers(seeds), "reading": reading,
        "initial": initial, "families": _words(families), "language": language, "wording": wording,
        "template": template,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    reviewing = Reviewing(Study("peer review", kind="peer-review", contestants=named, seed=seed, options=given))
    for complaint in reviewing.unreadable:
        say(f"Left out: {complaint}")
    if dry_run:
        show([review.plan() for review in reviewing.runs], as_json=as_json)
        return 0
    with asking_from(engine) as where, Ledger(ledger, pictures=pictures) as book, stoppable() as stop:
        done = reviewing.conduct(book, engine=where, budget=budget, stop=stop, quiet=quiet)
        tables = [*(done.plain or done.tables), *done.run_tables]
        more = [] if everything or as_json else [table.name for table in tables if table.name not in _MAIN]
        show([table for table in tables if table.name not in more], as_json=as_json)
        if more and report is None:
            say(f"{len(more)} more tables ({', '.join(more)}): --all prints them, --report PAGE shows them all.")
        if charts is not None:
            from fullbench.reports.charts.vega_lite import write_charts

            for path in write_charts(tables, charts):
                say(f"The chart: {path}")
        if report is not None:
            from fullbench.reports.record_page import page

            page("Peer review", done.record, tables, report, lead=_LEAD, source={"ledger": book.digest()})
            say(f"The page: {report}")
        return closing(done.tallies, what="questions, answers or reviews")


def _words(texts: list[str] | None) -> list[str] | None:
    """What was named with commas between, once or several times."""
    return None if texts is None else [word.strip() for text in texts for word in text.split(",") if word.strip()]


def _numbers(text: str | None) -> list[int] | None:
    from fullbench.errors import InputError

    words = [] if text is None else [word.strip() for word in text.split(",")]
    if not all(word.lstrip("-").isdecimal() for word in words):
        raise InputError(f"--seeds takes whole numbers with commas between, such as 1,2,3,4; found {text!r}")
    return [int(word) for word in words] or None


def _gamma(text: str) -> list[float]:
    from fullbench.analysis.peer_review.reviews_from_record import PARTS
    from fullbench.errors import InputError

    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError as error:
        raise InputError(f"--gamma takes three numbers such as 0.4,0.4,0.2; found {text!r}") from error
    if len(numbers) != len(PARTS):
        raise InputError(f"--gamma takes three numbers: {', '.join(PARTS)}; found {text!r}")
    return numbers
