"""`fullbench peer-review`: a ranking of contestants that review each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message, report_outcome
from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    ChartsOption,
    LedgerOptions,
    PageOption,
    SeedOption,
    ViewOptions,
    more,
    option,
    options,
)
from fullbench.errors import InputError

_LEAD = (
    "There are no labels here. Every contestant wrote questions about the pictures, answered those of the others, "
    "and reviewed two answers at a time to its own questions. The weight of each reviewer was learned from the "
    "reviews."
)


@options("ledger pictures report charts all_tables table shown_judge full_names budget engine dry_run as_json quiet")
def peer_review(
    store: LedgerOptions,
    calls: CallOptions,
    view: ViewOptions,
    images: Annotated[Path | None, option("Folder of pictures. Default: pictures of the synthetic benchmark.")] = None,
    contestants: Annotated[
        list[str] | None,
        option(
            "Contestant; give at least three. Repeatable, or separated by commas: openai:gpt-4o,...",
            "--contestant",
            "--contestants",
        ),
    ] = None,
    limit: Annotated[int | None, option("Use only the first N pictures.", min=1)] = None,
    reviews: Annotated[int | None, option("Number of reviews, spread evenly. Default: all.", min=1)] = None,
    own_family: Annotated[
        bool, more("Allow models to review their own family.", "--own-family/--no-own-family")
    ] = True,
    both_orders: Annotated[bool, option("Judge every pair in both orders.", "--both-orders")] = False,
    mode: Annotated[str, option("Mode of the reviewers: direct, analyze or steps.")] = "analyze",
    constrained: Annotated[
        bool, more("Force the output format of reviewers if their server can.", "--constrained")
    ] = False,
    correlation: Annotated[
        str | None, more("How to compare answers with pictures: clip:FOLDER?device=cuda, tools or colours.")
    ] = None,
    gamma: Annotated[str, more("Weights of correctness, visual match and correlation.")] = "0.4,0.4,0.2",
    questions: Annotated[
        Path | None, option("File of questions that all contestants answer. Then no contestant writes questions.")
    ] = None,
    human_scores: Annotated[
        Path | None,
        option("File with the true score of each contestant (contestant, score), to compare the ranking with."),
    ] = None,
    seeds: Annotated[
        str | None, option("Seeds of several runs, for example 1,2,3,4: show mean and deviation of each method.")
    ] = None,
    reading: Annotated[str, more("Variant of the paper's equations: range, share, plain, sum or rank.")] = "range",
    initial: Annotated[str, more("Start values of the weights: many, uniform or random.")] = "many",
    families: Annotated[
        list[str] | None, more("Families that names do not show, for example gpt-4o=openai,o1=openai. Repeatable.")
    ] = None,
    language: Annotated[str, option("Language of the prompts: en or zh.")] = "en",
    review_template: Annotated[
        Path | None, more("File with your own texts for questions, answers and criteria.")
    ] = None,
    template: Annotated[Path | None, more("File with your own prompt template for reviewers.")] = None,
    best_first: Annotated[
        bool,
        more("--contestants are given from best to worst: check whether the ranking finds this order.", "--best-first"),
    ] = False,
    seed: SeedOption = 0,
    report: PageOption = None,
    charts: ChartsOption = None,
) -> int:
    """Rank models without labels: they write questions about pictures, answer them, and review each other.

    Without options, models that read pixels review each other on pictures with known truth. This needs no key.

    Examples:

        fullbench peer-review --limit 4

        fullbench peer-review --images photos --contestants openai:gpt-4o,gemini:gemini-1.5-pro,ollama:llava --dry-run

        fullbench peer-review --questions mmstar.jsonl --human-scores mmstar.csv --seeds 1,2,3,4 --limit 25
    """
    from fullbench.reports.atomic_write import check_page
    from fullbench.studies.peer_review.peer_review_study_kind import PeerReviewRun
    from fullbench.studies.study_file import Study

    if report is not None:
        check_page(report)
    contestant_specs = tuple(_split_commas(contestants) or ())
    if best_first and not contestant_specs:
        raise InputError("--best-first needs the order of the contestants. Add --contestants, best first.")
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
        print_message(f"Skipped: {complaint}")
    if calls.dry_run:
        calls.print_tables([review.plan() for review in peer_review_run.runs])
        return 0
    with calls.open(store) as open_run:
        study_result = open_run.execute(peer_review_run)
        tables = [*(study_result.plain or study_result.tables), *study_result.run_tables]
        view.print_report(tables, as_json=calls.as_json)
        if charts is not None:
            from fullbench.reports.charts.chart_specification_and_rendering import write_charts

            for path in write_charts(tables, charts):
                print_message(f"Chart: {path}")
        if report is not None:
            from fullbench.reports.results_page import write_page

            source = {"ledger": open_run.book.digest()}
            write_page("Peer review", study_result.record, tables, report, lead=_LEAD, source=source)
            print_message(f"Page: {report}")
        return report_outcome(study_result.job_counts, what="questions, answers or reviews")


def _split_commas(texts: list[str] | None) -> list[str] | None:
    return None if texts is None else [word.strip() for text in texts for word in text.split(",") if word.strip()]


def _parse_seeds(text: str | None) -> list[int] | None:
    words = [] if text is None else [word.strip() for word in text.split(",")]
    if not all(word.lstrip("-").isdecimal() for word in words):
        raise InputError(f"--seeds needs integers separated by commas, for example 1,2,3,4; found {text!r}.")
    return [int(word) for word in words] or None


def _parse_gamma(text: str) -> list[float]:
    from fullbench.analysis.peer_review.reviews_from_record import PARTS

    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError as error:
        raise InputError(f"--gamma needs three numbers, for example 0.4,0.4,0.2; found {text!r}.") from error
    if len(numbers) != len(PARTS):
        raise InputError(f"--gamma needs three numbers: {', '.join(PARTS)}; found {text!r}.")
    return numbers
