"""`fullbench power`: how many votes of people are needed, before anybody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from fullbench.cli.options import DEFAULT_LEDGER, JsonOption, LedgerOption, StudyOption, show


def power(
    ledger: LedgerOption = DEFAULT_LEDGER,
    judges: Annotated[
        list[str] | None, typer.Option("--judge", help="Who rules on all pairs. Again for more; all where left out.")
    ] = None,
    criterion: Annotated[str, typer.Option(help="What is judged.")] = "overall",
    family: Annotated[str, typer.Option(help="What votes are: pair, score or ranking.")] = "pair",
    study: StudyOption = None,
    votes: Annotated[
        list[int] | None, typer.Option(min=2, help="What would so many votes tell? Again for more.")
    ] = None,
    width: Annotated[float | None, typer.Option(min=0.1, help="Votes until every rating has ± so many points.")] = None,
    between: Annotated[
        list[str] | None, typer.Option(help="Two contestants as ONE,OTHER: votes to separate them. Again for more.")
    ] = None,
    contestants: Annotated[int | None, typer.Option(min=2, help="Without a ledger: so many equal contestants.")] = None,
    pairs: Annotated[int, typer.Option(min=2, help="Without a ledger: so many pairs that judges rule on.")] = 4000,
    rho: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Without votes: how judges' residuals correlate with people's.")
    ] = 0.5,
    chance: Annotated[
        float, typer.Option("--power", min=0.5, max=0.999, help="How surely a difference is to be found.")
    ] = 0.8,
    out: Annotated[Path | None, typer.Option(help="A file: .html, .json, .csv, .md or .txt.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say how many votes of people are needed, with a judge's help and without. Nothing is asked.

    Examples:

        fullbench power --contestants 5 --pairs 4000 --rho 0.6 --width 25

        fullbench power --ledger fullbench.ledger --width 20 --between alpha,beta
    """
    from fullbench.analysis.people import votes_needed as figures
    from fullbench.columns.verdict_columns import FAMILIES
    from fullbench.core.verdict import PEOPLE
    from fullbench.errors import InputError
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import ledger_columns

    if family not in FAMILIES:
        raise InputError(f"unknown kind of vote {family!r}; known: {', '.join(FAMILIES)}")
    named = [tuple(pair.split(",")) for pair in between or ()]
    if any(len(pair) != 2 for pair in named):
        raise InputError(f"--between takes two contestants as ONE,OTHER; found {', '.join(between or ())}")
    if contestants is not None:
        seen = figures.assumed(contestants, pairs, rho)
    else:
        with Ledger(ledger, read_only=True) as book:
            columns = book.columns(study=book.one_study(study)).of(criterion=criterion)
            judges = ledger_columns.judges_named(book, judges or [])
        chosen = judges or [judge for judge in columns.judges() if judge != PEOPLE]
        seen = figures.outlook(columns, chosen, FAMILIES[FAMILIES.index(family)], rho=rho)
    answer = figures.table(
        seen, votes=votes or (), width=width, between=cast("list[tuple[str, str]]", named), power=chance
    )
    show([answer], as_json=as_json, out=out)
