"""`fullbench audit`: does a judge see, know, stay steady; what sways it, can it be fooled, what does it cost?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.options import (
    DEFAULT_LEDGER,
    AgainOption,
    AnywayOption,
    BudgetForOption,
    BudgetOption,
    DryRunOption,
    EngineOption,
    JsonOption,
    LedgerOption,
    LimitOption,
    PicturesOption,
    QuietOption,
    asking_from,
    closing,
    ledger_if_any,
    say,
    show,
    stoppable,
)

if TYPE_CHECKING:
    from fullbench.analysis.judge_card import Card
    from fullbench.audit.audit_card import Findings
    from fullbench.core.case import Case
    from fullbench.core.table import Table


def audit(
    judges: Annotated[
        list[str] | None,
        typer.Argument(
            help="Who is audited, as KIND:NAME?OPTIONS; several for cards side by side; none for the board."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="About 150 cases instead of 1,000.")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="About 3,000 cases, with every attack.")] = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Draws other pictures and questions, so that nothing can be trained to them.")
    ] = 0,
    items: Annotated[
        Path | None, typer.Option(help="Your own items instead of drawn ones: JSONL, CSV or Parquet.")
    ] = None,
    responses: Annotated[Path | None, typer.Option(help="What was answered to your items.")] = None,
    limit: LimitOption = None,
    look: Annotated[bool, typer.Option("--look", help="On your own items: only whether the judge looks.")] = False,
    panels: Annotated[
        Path | None, typer.Option(help="A TOML file that names panels and cascades, such as a study's.")
    ] = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
    pictures: PicturesOption = None,
    out: Annotated[
        Path | None, typer.Option(help="A file: .html, .json, .md, .txt, .csv, or .svg for a badge.")
    ] = None,
    budget: BudgetOption = None,
    budget_for: BudgetForOption = "run",
    engine: EngineOption = None,
    anyway: AnywayOption = False,
    again: AgainOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Audit a judge: does it see, does it know, is it steady, what sways it, can it be fooled, what does it cost?

    The cases are drawn by fullbench, so the truth about them is known: no data, no labels and no people are needed.
    Stopped half-way, the same command goes on. Without a judge, the board of all audited judges in the ledger is shown.

    Examples:

        fullbench audit simulated:long-words --quick

        fullbench audit openai:gpt-4o --dry-run

        fullbench audit "vllm:qwen2-vl@http://localhost:8000/v1" --quick --budget 1 --out card.html

        fullbench audit openai:gpt-4o openai:gpt-4o-mini --quick

        fullbench audit panel:trio --panels study.toml --quick

        fullbench audit openai:gpt-4o --items items.jsonl --responses answers.jsonl --look

        fullbench audit --ledger fullbench.ledger
    """
    from fullbench.audit.audit_run import Auditing
    from fullbench.errors import InputError
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.engines import Insistence

    if quick and deep:
        raise InputError("an audit is quick or deep; leave one out")
    if out is not None and out.suffix.lower() not in SUFFIXES:
        raise InputError(f"an audit is written as {', '.join(SUFFIXES)}; found {out.suffix or out.name!r}")
    if not judges:
        return _board(ledger, out, as_json=as_json)
    own = None if items is None else _own(items, responses, look=look, seed=seed, limit=limit)
    if own is None and (responses is not None or look or limit is not None):
        raise InputError(
            "--responses, --look and --limit go with your own items; name them by --items (--quick draws few cases)"
        )
    size = "quick" if quick else "deep" if deep else "default"
    auditing = Auditing(judges, size=size, seed=seed, own=own, panels=panels)
    if out is not None and out.suffix.lower() == ".svg" and (len(judges) > 1 or own is not None):
        raise InputError("a badge is of one judge, audited on drawn cases; name one, and no items")
    if dry_run:
        with ledger_if_any(ledger) as book:
            show([auditing.plan(book)], as_json=as_json)
        return 0
    auditing.ready(budget)
    with (
        asking_from(engine) as where,
        stoppable() as stop,
        Ledger(ledger, pictures=pictures, study=auditing.study.name) as book,
    ):
        spent = book.spent(book.study) if budget_for == "study" else 0.0
        done = auditing.conduct(
            book, engine=where, budget=budget, spent=spent, stop=stop, insist=Insistence(anyway, again), quiet=quiet
        )
        names = [name for name in auditing.seats.names if name in done.record.judges]
        judge_cards = [auditing.card(done.record, name) for name in names]
        findings = [] if auditing.own else [auditing.findings(done.record, name) for name in names]
        _show(judge_cards, findings, out, as_json=as_json)
        return closing(done.tallies, what="verdicts")


SUFFIXES = (".html", ".htm", ".json", ".md", ".txt", ".csv", ".svg")


def _show(judge_cards: list[Card], findings: list[Findings], out: Path | None, *, as_json: bool) -> None:
    """One card, or several side by side, on standard output or in a file; `findings` is what drawn cases show."""
    from fullbench.audit.audit_card import badge, beside, board
    from fullbench.audit.measures.example_cases import exhibits
    from fullbench.reports import judge_card_display as cards
    from fullbench.reports.atomic_write import write_file

    if not judge_cards:
        say("No verdict is there yet, so there is nothing to say of the judge.")
        return
    card = judge_cards[0]
    together = [board(findings), beside(findings)] if len(findings) > 1 else []
    if as_json:
        _print_json(judge_cards)
    elif out is None:
        for shown in judge_cards:
            typer.echo(f"{shown.judge}\n{shown.lead}\n")
            show([] if together else shown.tables, as_json=False)
        show(together, as_json=False)
    if out is None:
        return
    if out.suffix.lower() == ".svg":
        write_file(out, badge(findings[0]))
    elif len(judge_cards) > 1:
        show([*together, *(table for shown in judge_cards for table in shown.tables)], as_json=False, out=out)
        return
    else:
        cards.write(card, out, exhibits(findings[0]) if findings else None)
    if not as_json:
        typer.echo(f"{card.judge}\n{card.lead}")
    say(f"Written: {out}")


def _own(items: Path, responses: Path | None, *, look: bool, seed: int, limit: int | None) -> tuple[str, list[Case]]:
    """The study and the cases of one's own data."""
    from fullbench.audit.audit_of_own_items import own_docket, usable_items
    from fullbench.errors import InputError
    from fullbench.files.item_files import read_items, read_responses
    from fullbench.studies.run.study_inputs import left_by_limit

    if responses is None:
        raise InputError("your own items need answers to be judged; name them by --responses")
    asked = list(read_items(items))
    answers = list(read_responses(responses, items={item.id for item in asked}))
    cases = own_docket(asked, answers, sway=not look, seed=seed, limit=limit)
    usable = len(usable_items(asked, answers))
    if usable < len(asked):
        left_out = len(asked) - usable
        say(f"{left_out:,} of {len(asked):,} items lack a picture or two answers in words; they are left out.")
    for line in left_by_limit(min(usable, limit or usable), usable):
        say(line)
    return f"{'look' if look else 'own-audit'}-{items.stem}", cases


def _print_json(judge_cards: list[Card]) -> None:
    from fullbench.reports import judge_card_display as cards

    texts = [cards.as_json(card).rstrip() for card in judge_cards]
    typer.echo(texts[0] if len(texts) == 1 else "[\n" + ",\n".join(texts) + "\n]")


def _board(ledger: str, out: Path | None, *, as_json: bool) -> int:
    from fullbench.audit.audit_card import board
    from fullbench.audit.audit_run import audited
    from fullbench.errors import InputError

    with ledger_if_any(ledger) as book:
        audits = audited(book)
    if not audits:
        raise InputError(f"{ledger} holds no audit; `fullbench audit simulated:accurate --quick` makes one")
    tables = []
    for study in dict.fromkeys(name for name, _ in audits):
        table = board([result for name, result in audits if name == study])
        tables.append(_of_study(table, study))
    show(tables, as_json=as_json, out=out)
    return 0


def _of_study(table: Table, study: str) -> Table:
    from dataclasses import replace

    from fullbench.core.note import Note

    title = Note("audit.board.of", "Audited judges ({study})", study=study)
    return replace(table, title=title, source={"study": study})
