"""`fullbench audit`: picture use, knowledge, stability, bias and cost of a judge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.console import print_line, print_message, print_tables, report_outcome
from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    InputOptions,
    LedgerOptions,
    ViewOptions,
    argument,
    ledger_if_any,
    more,
    option,
    options,
)
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.analysis.judge_card import Card
    from fullbench.audit.audit_card_and_board import Findings
    from fullbench.core.case import Case
    from fullbench.core.table import Table


@options(
    "limit picture_use_only panels ledger pictures out budget budget_for engine anyway again dry_run all_tables table "
    "full_names as_json quiet"
)
def audit(
    store: LedgerOptions,
    inputs: InputOptions,
    calls: CallOptions,
    view: ViewOptions,
    judges: Annotated[
        list[str] | None,
        argument("Judge to audit, as KIND:NAME?OPTIONS. Several judges get cards side by side."),
    ] = None,
    quick: Annotated[bool, option("Use about 180 cases instead of 1,000.", "--quick")] = False,
    deep: Annotated[bool, option("Use about 3,200 cases and every attack.", "--deep")] = False,
    seed: Annotated[int, option("Random seed. Another seed draws other pictures and questions.", min=0)] = 0,
    media: Annotated[
        str,
        option(
            "Media that the judge gets: picture, video, audio or document, or several with commas. Video, audio and "
            "documents take 60 to 80 cases with --quick, and 160 to 210 without.",
            "--media",
        ),
    ] = "picture",
    items: Annotated[Path | None, option("Your own items instead of generated ones: JSONL, CSV or Parquet.")] = None,
    responses: Annotated[Path | None, option("Responses to your own items: JSONL, CSV or Parquet.")] = None,
    picture_use_only: Annotated[
        bool, option("With your own items: measure only whether the judge uses the picture.", "--picture-use-only")
    ] = False,
    panels: Annotated[
        Path | None, more("TOML file that defines panels and cascades, for example a study file.")
    ] = None,
    out: Annotated[Path | None, option("Output file: .html, .json, .md, .txt, .csv, or .svg for a badge.")] = None,
) -> int:
    """Measure a judge's accuracy, picture use, biases and cost.

    fullbench generates the cases, so the right verdicts are known. You need no data, labels or people. Run the same
    command again to continue after an interruption. Without a judge, the command shows all audited judges in the
    ledger.

    `fullbench audit watch JUDGE` checks whether a judge has changed. `fullbench audit replace OLD NEW` puts a new judge
    on the scale of an old one. Both have their own --help.

    Examples:

        fullbench audit simulated:long-words --quick

        fullbench audit openai:gpt-4o --dry-run

        fullbench audit "vllm:qwen2-vl@http://localhost:8000/v1" --quick --budget 1 --out card.html

        fullbench audit openai:gpt-4o openai:gpt-4o-mini --quick

        fullbench audit "openai:gpt-4o?video=frames" --media video --quick

        fullbench audit panel:trio --panels study.toml --quick

        fullbench audit openai:gpt-4o --items items.jsonl --responses answers.jsonl --picture-use-only

        fullbench audit --ledger fullbench.ledger
    """
    from fullbench.audit.audit_run import AuditRun
    from fullbench.studies.ledger_display_names_and_name_lookup import with_card_names

    if quick and deep:
        raise InputError("--quick and --deep exclude each other. Use one of them.")
    if out is not None and out.suffix.lower() not in SUFFIXES:
        raise InputError(f"An audit can be written as {', '.join(SUFFIXES)}, not as {out.suffix or out.name!r}.")
    if not judges:
        return _print_board(store.ledger, out, as_json=calls.as_json)
    own_data = (
        None
        if items is None
        else _load_own_cases(items, responses, picture_use_only=picture_use_only, seed=seed, limit=inputs.limit)
    )
    if own_data is None and (responses is not None or picture_use_only or inputs.limit is not None):
        raise InputError(
            "--responses, --picture-use-only and --limit need your own items. Add --items, or use --quick for fewer "
            "cases."
        )
    size = "quick" if quick else "deep" if deep else "default"
    tested_media = [name.strip() for name in media.split(",") if name.strip()]
    if own_data is not None and tested_media != ["picture"]:
        raise InputError("--media selects generated cases. With --items, your own items decide.")
    audit_run = AuditRun(judges, size=size, seed=seed, media=tested_media, own_data=own_data, panels=panels)
    if out is not None and out.suffix.lower() == ".svg" and (len(judges) > 1 or own_data is not None):
        raise InputError("A badge shows one judge, audited on generated cases. Name one judge and leave out --items.")
    print_message(*audit_run.media_warnings())
    if calls.dry_run:
        return calls.print_plan(audit_run, store.ledger)
    audit_run.check_ready(calls.budget)
    with calls.open(store, audit_run.study.name) as open_run:
        study_result = open_run.execute(audit_run)
        judged = [name for name in audit_run.audited_judges.names if name in study_result.record.judges]
        judge_cards = [
            with_card_names(audit_run.card(study_result.record, name), study_result.names) for name in judged
        ]
        findings = (
            [] if audit_run.has_own_items else [audit_run.judge_findings(study_result.record, name) for name in judged]
        )
        _print_cards(judge_cards, findings, out, view, as_json=calls.as_json)
        return report_outcome(study_result.job_counts, what="verdicts")


SUFFIXES = (".html", ".htm", ".json", ".md", ".txt", ".csv", ".svg")


def _print_cards(
    judge_cards: list[Card],
    findings: list[Findings],
    out: Path | None,
    view: ViewOptions,
    *,
    as_json: bool,
) -> None:
    """Print or write one card, or several next to each other. `findings` are those of drawn cases."""
    from fullbench.audit.audit_card_and_board import audit_board, render_badge, side_by_side_table
    from fullbench.audit.measures.example_cases import select_exhibits
    from fullbench.reports import judge_card_display as cards
    from fullbench.reports.atomic_write import write_file

    if not judge_cards:
        print_message("There is no verdict of this judge yet, so there is no card.")
        return
    card = judge_cards[0]
    boards = [[audit_board([of_judge])] for of_judge in findings] or [[] for _ in judge_cards]
    comparison_tables = [audit_board(findings), side_by_side_table(findings)] if len(findings) > 1 else []
    all_tables = [*comparison_tables, *(table for each in judge_cards for table in _tables_with_judge(each))]
    if as_json:
        _print_json(judge_cards)
    elif out is None or comparison_tables:
        for judge_card, board in zip(judge_cards, boards, strict=True):
            # The board's row of this judge has its main numbers. Several judges are compared on one board instead.
            if comparison_tables:
                print_line("\n".join([judge_card.judge, *cards.lead_sentences(judge_card.lead)]) + "\n")
            else:
                view.print_card(replace(judge_card, sections={"": [*board, *judge_card.tables]}))
        if comparison_tables:
            view.print_report(all_tables, as_json=False, sentences=[])
    if out is None:
        return
    if out.suffix.lower() == ".svg":
        write_file(out, render_badge(findings[0]))
    elif len(judge_cards) > 1:
        print_tables(all_tables, as_json=False, out=out)
        return
    else:
        cards.write_card(card, out, select_exhibits(findings[0]) if findings else None)
    if not as_json:
        print_line(f"{card.judge}\n{card.lead}")
    print_message(f"Written: {out}")


def _tables_with_judge(card: Card) -> list[Table]:
    """Return a card's tables with the judge in their titles, to tell them from those of other judges."""
    from fullbench.core.translatable_note import Note

    judge = card.names.get(card.judge, card.judge)
    return [replace(table, title=Note("title.source", title=table.title, source=judge)) for table in card.tables]


def _load_own_cases(
    items: Path, responses: Path | None, *, picture_use_only: bool, seed: int, limit: int | None
) -> tuple[str, list[Case]]:
    from fullbench.audit.audit_of_user_items import build_own_cases, usable_items
    from fullbench.files.item_response_verdict_files import read_items, read_responses
    from fullbench.studies.run.study_items_responses_and_labels import limit_messages

    if responses is None:
        raise InputError("Your own items need responses. Add --responses.")
    own_items = list(read_items(items))
    answers = list(read_responses(responses, items={item.id for item in own_items}))
    cases = build_own_cases(own_items, answers, with_bias_cases=not picture_use_only, seed=seed, limit=limit)
    usable = len(usable_items(own_items, answers))
    if usable < len(own_items):
        omitted_count = len(own_items) - usable
        print_message(
            f"{omitted_count:,} of {len(own_items):,} items were skipped: they lack two text responses, or media of "
            "kinds that another item has, too."
        )
    print_message(*limit_messages(min(usable, limit or usable), usable))
    return f"{'picture-use' if picture_use_only else 'own-audit'}-{items.stem}", cases


def _print_json(judge_cards: list[Card]) -> None:
    from fullbench.reports import judge_card_display as cards

    texts = [cards.card_json(card).rstrip() for card in judge_cards]
    typer.echo(texts[0] if len(texts) == 1 else "[\n" + ",\n".join(texts) + "\n]")


def _print_board(ledger: str, out: Path | None, *, as_json: bool) -> int:
    from fullbench.audit.audit_card_and_board import audit_board
    from fullbench.audit.audit_run import load_audit_findings

    with ledger_if_any(ledger) as book:
        audits = load_audit_findings(book)
    if not audits:
        raise InputError(f"{ledger} contains no audit. `fullbench audit simulated:accurate --quick` creates one.")
    tables = []
    for study in dict.fromkeys(name for name, _ in audits):
        table = audit_board([findings for name, findings in audits if name == study])
        tables.append(_title_with_study(table, study))
    print_tables(tables, as_json=as_json, out=out)
    return 0


def _title_with_study(table: Table, study: str) -> Table:
    from fullbench.core.translatable_note import Note

    title = Note("audit.board.of", study=study)
    return replace(table, title=title, source={"study": study})
