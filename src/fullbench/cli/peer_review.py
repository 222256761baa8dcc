"""`fullbench peer-review`: a ranking of contestants that review each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message, report_outcome
from fullbench.cli.options import CallOptions, ChartsOption, LedgerOptions, PageOption, SeedOption, option, options
from fullbench.errors import InputError

_LEAD = (
    "Nobody labelled anything here: every contestant wrote questions about the pictures, answered those of the others, "
    "and reviewed two answers at a time to its own. What a review counts was learned from the reviews themselves."
)
_MAIN = {
    "ranking", "benchmark", "order", "warnings", "reviewers", "runs", "left out", "unusable", "cost a picture",
}  # fmt: skip
"""Tables that are printed without --all."""


@options("ledger pictures report charts everything budget engine dry_run as_json quiet")
def peer_review(
    store: LedgerOptions,
    calls: CallOptions,
    images: Annotated[
        Path | None, option("A folder of pictures. Without it: those of the synthetic benchmark.")
    ] = None,
    contestants: Annotated[
        list[str] | None,
        option(
            "At least three, again for more or with commas between: openai:gpt-4o,...", "--contestant", "--contestants"
        ),
    ] = None,
    limit: Annotated[int | None, option("So many of the pictures.", min=1)] = None,
    reviews: Annotated[int | None, option("So many reviews, spread evenly, not all.", min=1)] = None,
    own_family: Annotated[
        bool, option("Whether a model may review its own family.", "--own-family/--no-own-family")
    ] = True,
    both_orders: Annotated[bool, option("Hear every pair in both orders.", "--both-orders")] = False,
    mode: Annotated[str, option("How reviewers rule: direct, analyze, or steps.")] = "analyze",
    constrained: Annotated[
        bool, option("Hold reviewers to the form of a ruling, where their server can.", "--constrained")
    ] = False,
    correlation: Annotated[
        str | None, option("How answers meet pictures: clip:FOLDER?device=cuda, tools, or colours.")
    ] = None,
    gamma: Annotated[str, option("Weights of correctness, visual, correlation.")] = "0.4,0.4,0.2",
    questions: Annotated[
        Path | None, option("Questions about pictures, in place of --images: all answer them, nobody writes any.")
    ] = None,
    human_scores: Annotated[
        Path | None, option("Contestants' true scores (contestant, score) to compare the ranking with.")
    ] = None,
    seeds: Annotated[
        str | None, option("Several runs, such as 1,2,3,4: mean and deviation of each method over them.")
    ] = None,
    reading: Annotated[str, option("How the paper's equations are read: range, share, plain, sum, or rank.")] = "range",
    initial: Annotated[str, option("Where weights begin: many, uniform, or random.")] = "many",
    families: Annotated[list[str] | None, option("Families that names do not show: gpt-4o=openai,o1=openai.")] = None,
    language: Annotated[str, option("Of what contestants and reviewers are asked: en or zh.")] = "en",
    review_template: Annotated[
        Path | None, option("Your own words for questions, answers and criteria, in a file.")
    ] = None,
    template: Annotated[Path | None, option("Your own prompt for reviewers, in a file.")] = None,
    best_first: Annotated[
        bool, option("The contestants are named best first: is that order found?", "--best-first")
    ] = False,
    seed: SeedOption = 0,
    report: PageOption = None,
    charts: ChartsOption = None,
    everything: Annotated[bool, option("Print every table, not the main ones alone.", "--all")] = False,
) -> int:
    """Rank models without labels: they write questions about pictures, answer them, and review each other.

    With no option at all, models that read pixels review each other on pictures whose truth is known: no key is needed.

    Examples:

        fullbench peer-review --limit 4

        fullbench peer-review --images photos --contestants openai:gpt-4o,gemini:gemini-1.5-pro,ollama:llava --dry-run

        fullbench peer-review --questions mmstar.jsonl --human-scores mmstar.csv --seeds 1,2,3,4 --limit 25
    """
    from fullbench.reports.atomic_write import check_page
    from fullbench.studies.peer_review.peer_review_kind import PeerReviewRun
    from fullbench.studies.study_file import Study

    if report is not None:
        check_page(report)
    contestant_specs = tuple(_split_commas(contestants) or ())
    if best_first and not contestant_specs:
        raise InputError("--best-first says in which order --contestants are named; name them")
    all_options = {
        "images": images, "limit": limit, "reviews": reviews, "own_family": own_family, "both_orders": both_orders,
        "mode": mode,
        "constrained": constrained, "correlation": correlation, "gamma": _parse_gamma(gamma), "best_first": best_first,
        "questions": questions, "human_scores": human_scores, "seeds": _parse_seeds(seeds), "reading": reading,
        "initial": initial, "families": _split_commas(families), "language": language,
        "review_template": review_template,
        "template": template,
    }  # fmt: skip
    study_options = {name: value for name, value in all_options.items() if value is not None}
    peer_review_run = PeerReviewRun(
        Study("peer review", kind="peer-review", contestants=contestant_specs, seed=seed, options=study_options)
    )
    for complaint in peer_review_run.unreadable:
        print_message(f"Left out: {complaint}")
    if calls.dry_run:
        calls.print_tables([review.plan() for review in peer_review_run.runs])
        return 0
    with calls.open(store) as opened:
        study_result = opened.execute(peer_review_run)
        tables = [*(study_result.plain or study_result.tables), *study_result.run_tables]
        hidden_names = (
            [] if everything or calls.as_json else [table.name for table in tables if table.name not in _MAIN]
        )
        calls.print_tables([table for table in tables if table.name not in hidden_names])
        if hidden_names and report is None:
            print_message(
                f"{len(hidden_names)} more tables ({', '.join(hidden_names)}): --all prints them, --report PAGE "
                "shows them all."
            )
        if charts is not None:
            from fullbench.reports.charts.vega_lite import write_charts

            for path in write_charts(tables, charts):
                print_message(f"The chart: {path}")
        if report is not None:
            from fullbench.reports.results_page import write_page

            source = {"ledger": opened.book.digest()}
            write_page("Peer review", study_result.record, tables, report, lead=_LEAD, source=source)
            print_message(f"The page: {report}")
        return report_outcome(study_result.job_counts, what="questions, answers or reviews")


def _split_commas(texts: list[str] | None) -> list[str] | None:
    return None if texts is None else [word.strip() for text in texts for word in text.split(",") if word.strip()]


def _parse_seeds(text: str | None) -> list[int] | None:
    words = [] if text is None else [word.strip() for word in text.split(",")]
    if not all(word.lstrip("-").isdecimal() for word in words):
        raise InputError(f"--seeds takes whole numbers with commas between, such as 1,2,3,4; found {text!r}")
    return [int(word) for word in words] or None


def _parse_gamma(text: str) -> list[float]:
    from fullbench.analysis.peer_review.reviews_from_record import PARTS

    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError as error:
        raise InputError(f"--gamma takes three numbers such as 0.4,0.4,0.2; found {text!r}") from error
    if len(numbers) != len(PARTS):
        raise InputError(f"--gamma takes three numbers: {', '.join(PARTS)}; found {text!r}")
    return numbers
