"""`fullbench card`: on one page, whether a judge can be trusted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import (
    DEFAULT_LEDGER,
    JsonOption,
    LedgerOption,
    PilotOption,
    StudyOption,
    VisibleOption,
    VoteRuleOption,
    say,
    show,
)


def card(
    judge: Annotated[str, typer.Argument(help="The judge's name, or its beginning, as `ledger show` gives it.")],
    ledger: LedgerOption = DEFAULT_LEDGER,
    study: StudyOption = None,
    labels: Annotated[Path | None, typer.Option(help="People's verdicts to compare with.")] = None,
    benchmark: Annotated[str | None, typer.Option(help="Take the verdicts a benchmark brings, not a ledger's.")] = None,
    data: Annotated[Path | None, typer.Option(help="The benchmark's released data; its sample where left out.")] = None,
    people: Annotated[str, typer.Option(help="The judge to compare with.")] = "human",
    rule: VoteRuleOption = "default",
    visible: VisibleOption = False,
    pilot: PilotOption = False,
    tags: Annotated[list[str] | None, typer.Option("--by", help="Split agreement by this tag. Again for more.")] = None,
    own: Annotated[
        list[str] | None,
        typer.Option(help="A contestant of the judge's own family, or its name's beginning. Again for more."),
    ] = None,
    epsilon: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="How much a judge may lose against a person and replace them.")
    ] = 0.15,
    out: Annotated[Path | None, typer.Option(help="A file: .html, .json, .md, .txt or .csv.")] = None,
    seed: Annotated[int, typer.Option(help="For the bootstrap.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show one judge's card: agreement with people, standing, steadiness, biases, replacement, faults and cost.

    Examples:

        fullbench card length --benchmark mllm-as-a-judge --by dataset

        fullbench card CogVLM --benchmark mllm-as-a-judge --data mllm-as-a-judge --by dataset --out card.html
    """
    from fullbench.analysis import verdicts_from_columns
    from fullbench.analysis.judge_card import card as judge_card
    from fullbench.analysis.people.joined_votes import rule_of
    from fullbench.columns.verdict_columns import Columns
    from fullbench.core.record import Record
    from fullbench.core.response import LENGTHENS
    from fullbench.files.item_files import read_verdicts
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports import judge_card_display as cards
    from fullbench.studies import ledger_columns
    from fullbench.studies.run.study_inputs import recorded

    joining = rule_of(rule)
    columns: Columns | None = None
    heard: Columns | None = None
    chosen: str | None = None
    voted = [] if labels is None else list(read_verdicts(labels, judge=people))
    if benchmark is not None:
        brought = recorded(benchmark, data)
        record = Record((*brought.record.verdicts, *voted), brought.record.items, brought.record.responses).ordered()
        for table in brought.tables:
            say(f"{table.title}: {len(table.rows)} kinds of things; `fullbench export` and `reproduce` list them.")
    else:
        with Ledger(ledger, read_only=True) as book:
            chosen = book.one_study(study)
            (judge,) = ledger_columns.judges_named(book, [judge])
            columns = ledger_columns.columns(book, beside=voted, study=chosen, pilots=pilot)
            # What the other judges used is on no card: without it a card of many verdicts takes half of the memory.
            heard, columns = columns.of(judge=judge), columns.without_usage()
            compared = verdicts_from_columns.rows_beside(columns, people, book.items_of_tagged(LENGTHENS))
            record = book.beside(verdicts_from_columns.narrow(compared), study=chosen).ordered()
    kin = [_contestant(name, record.contestants) for name in own or ()]
    built = judge_card(
        record, judge, people=people, tags=tags or (), own=kin, columns=columns, heard=heard, rule=joining,
        visible=visible, epsilon=epsilon, seed=seed,
    )  # fmt: skip
    if columns is not None:
        with Ledger(ledger, read_only=True) as book:
            sections = {
                name: ledger_columns.noted(book, section, columns, study=chosen, pilots=pilot)
                for name, section in built.sections.items()
            }
        built = replace(built, sections=sections)
    if out is not None:
        cards.write(built, out)
        say(f"Written: {out}")
        return
    if as_json:
        typer.echo(cards.as_json(built), nl=False)
        return
    typer.echo(f"{judge}\n{built.lead}\n")
    show(built.tables, as_json=False)


def _contestant(name: str, known: Collection[str]) -> str:
    """The contestant of that name or beginning; one that nobody judged would hide a bias without a word."""
    from fullbench.core.text import one_beginning
    from fullbench.errors import InputError

    contestant = one_beginning(name, known, "contestant")
    if contestant not in known:
        raise InputError(
            f"--own {name!r} is no contestant that was judged beside people; name one of {', '.join(sorted(known))}"
        )
    return contestant
