"""`fullbench power`: number of human votes that a result needs."""

from __future__ import annotations

from typing import Annotated, cast

from fullbench.cli.console import print_tables
from fullbench.cli.shared_options_and_run_output import (
    JsonOption,
    LedgerOptions,
    TablesOption,
    VotedCriterionOption,
    option,
    options,
)
from fullbench.errors import InputError


@options("ledger judges criterion family study votes width between contestants pairs rho chance out full_names as_json")
def power(
    store: LedgerOptions,
    judges: Annotated[
        list[str] | None, option("Judge that judges all pairs. Repeatable. Default: all judges.", "--judge")
    ] = None,
    criterion: VotedCriterionOption = None,
    family: Annotated[str, option("Kind of vote: pair, score or ranking.")] = "pair",
    votes: Annotated[list[int] | None, option("Show what N votes would give. Repeatable.", min=2)] = None,
    width: Annotated[
        float | None, option("Show the number of votes that brings every rating interval to ± N points.", min=0.1)
    ] = None,
    between: Annotated[
        list[str] | None,
        option("Show the number of votes that separates two contestants, given as ONE,OTHER. Repeatable."),
    ] = None,
    contestants: Annotated[int | None, option("Without a ledger: number of equally good contestants.", min=2)] = None,
    pairs: Annotated[int, option("Without a ledger: number of pairs that the judges have judged.", min=2)] = 4000,
    rho: Annotated[
        float, option("Assumed correlation between judge and people. Used if there are no votes.", min=0.0, max=1.0)
    ] = 0.5,
    chance: Annotated[float, option("Statistical power.", "--power", min=0.5, max=0.999)] = 0.8,
    out: TablesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate how many votes of people are needed, with and without a judge. No model is called.

    Examples:

        fullbench power --contestants 5 --pairs 4000 --rho 0.6 --width 25

        fullbench power --ledger fullbench.ledger --width 20 --between alpha,beta
    """
    from fullbench.analysis.people import votes_needed_for_ratings as figures
    from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
    from fullbench.columns.verdict_columns import FAMILIES
    from fullbench.core.verdict import PEOPLE
    from fullbench.studies.disputed_and_unusable_ledger_cases import BASELINES
    from fullbench.studies.ledger_display_names_and_name_lookup import find_contestants, find_judges

    if family not in FAMILIES:
        raise InputError(f"Unknown kind of vote {family!r}. Use {', '.join(FAMILIES)}.")
    contestant_pairs = [tuple(pair.split(",")) for pair in between or ()]
    if any(len(pair) != 2 for pair in contestant_pairs):
        raise InputError(f"--between needs two contestants as ONE,OTHER; found {', '.join(between or ())}.")
    if contestants is not None:
        vote_outlook = figures.assumed_outlook(contestants, pairs, rho)
    else:
        with store.read() as book:
            criterion, columns = figures.select_criterion(
                book.columns(study=book.one_study(store.study)), criterion, family
            )
            judges = find_judges(book, judges or [])
            contestant_pairs = [tuple(find_contestants(book, pair)) for pair in contestant_pairs]
            useful_judges = [name for name in columns.judges() if name != PEOPLE and book.has_judged(name)]
        judge_names = judges or [judge for judge in useful_judges if judge not in BASELINES] or useful_judges
        vote_outlook = figures.estimate_outlook(columns, judge_names, family, rho=rho)
    answer = figures.votes_needed_table(
        vote_outlook,
        votes=votes or (),
        width=width,
        rival_pairs=cast("list[tuple[str, str]]", contestant_pairs),
        power=chance,
        criterion=criterion or OVERALL,
    )
    print_tables([answer], as_json=as_json, out=out)
