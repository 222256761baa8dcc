"""`fullbench card`: one page on the quality of a judge."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated

import typer

from fullbench.cli.console import print_line, print_message, print_tables
from fullbench.cli.options import (
    JsonOption,
    LabelsOption,
    LedgerOptions,
    ReleaseOption,
    ResamplingSeedOption,
    TablesOption,
    VoteOptions,
    argument,
    option,
    options,
)
from fullbench.errors import InputError


@options("ledger study labels benchmark data people rule visible pilot tags own epsilon out seed as_json")
def card(
    judge: Annotated[str, argument("The judge's name, or its beginning, as `ledger show` gives it.")],
    store: LedgerOptions,
    counted: VoteOptions,
    labels: LabelsOption = None,
    benchmark: Annotated[str | None, option("Take the verdicts a benchmark brings, not a ledger's.")] = None,
    data: ReleaseOption = None,
    people: Annotated[str, option("The judge to compare with.")] = "human",
    tags: Annotated[list[str] | None, option("Split agreement by this tag. Again for more.", "--by")] = None,
    own: Annotated[
        list[str] | None, option("A contestant of the judge's own family, or its name's beginning. Again for more.")
    ] = None,
    epsilon: Annotated[
        float, option("How much a judge may lose against a person and replace them.", min=0.0, max=1.0)
    ] = 0.15,
    out: TablesOption = None,
    seed: ResamplingSeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Show one judge's card: agreement with people, other judges, steadiness, biases, replacement, cost.

    Examples:

        fullbench card length --benchmark mllm-as-a-judge --by dataset

        fullbench card CogVLM --benchmark mllm-as-a-judge --data mllm-as-a-judge --by dataset --out card.html
    """
    from fullbench.analysis import record_from_verdict_columns
    from fullbench.analysis.judge_card import build_card as judge_card
    from fullbench.analysis.people.joined_votes import rule_of
    from fullbench.analysis.people.voted_rows_check import CaseFacts
    from fullbench.columns.verdict_columns import Columns
    from fullbench.core.response import LENGTHENS
    from fullbench.core.verdict_record import Record
    from fullbench.files.item_response_verdict_files import read_verdicts
    from fullbench.reports import judge_card_display as cards
    from fullbench.studies import ledger_verdicts_with_panels
    from fullbench.studies.run.study_inputs import load_benchmark_release

    vote_rule = rule_of(counted.rule)
    columns: Columns | None = None
    facts: CaseFacts | None = None
    judge_columns: Columns | None = None
    study_name: str | None = None
    label_verdicts = [] if labels is None else list(read_verdicts(labels, judge=people))
    if benchmark is not None:
        release = load_benchmark_release(benchmark, data)
        record = Record(
            (*release.record.verdicts, *label_verdicts), release.record.items, release.record.responses
        ).in_canonical_order()
        for table in release.tables:
            print_message(
                f"{table.title}: {len(table.rows)} kinds of things; `fullbench export` and `reproduce` list them."
            )
    else:
        with store.read() as book:
            study_name = book.one_study(store.study)
            (judge,) = ledger_verdicts_with_panels.full_judge_names(book, [judge])
            columns = ledger_verdicts_with_panels.load_columns(
                book, extra_verdicts=label_verdicts, study=study_name, pilots=counted.pilot
            )
            # A card shows no usage of other judges: without it, many verdicts take half of the memory.
            judge_columns, columns = columns.where(judge=judge), columns.without_usage()
            compared_rows = record_from_verdict_columns.comparable_rows(
                columns, people, book.items_of_tagged(LENGTHENS)
            )
            record = book.record_of_verdicts(
                record_from_verdict_columns.record_from_columns(compared_rows), study=study_name
            ).in_canonical_order()
            facts = ledger_verdicts_with_panels.load_case_facts(book, columns, study=study_name)
    own_contestants = [_find_contestant(name, record.contestants) for name in own or ()]
    built_card = judge_card(
        record, judge, people=people, tags=tags or (), own_contestants=own_contestants, columns=columns,
        judge_columns=judge_columns, rule=vote_rule, visible=counted.visible, epsilon=epsilon, facts=facts,
        seed=seed,
    )  # fmt: skip
    if columns is not None:
        with store.read() as book:
            sections = {
                name: ledger_verdicts_with_panels.add_ledger_notes(
                    book, section, columns, study=study_name, pilots=counted.pilot
                )
                for name, section in built_card.sections.items()
            }
        built_card = replace(built_card, sections=sections)
    if out is not None:
        cards.write_card(built_card, out)
        print_message(f"Written: {out}")
        return
    if as_json:
        typer.echo(cards.card_json(built_card), nl=False)
        return
    print_line(f"{judge}\n{built_card.lead}\n")
    print_tables(built_card.tables, as_json=False)


def _find_contestant(name: str, judged_contestants: Collection[str]) -> str:
    """Return the contestant with this name or prefix; an unknown one would silently hide a bias."""
    from fullbench.core.language_and_words import resolve_prefix

    contestant = resolve_prefix(name, judged_contestants, "contestant")
    if contestant not in judged_contestants:
        raise InputError(
            f"--own {name!r} is no contestant that was judged beside people; name one of "
            f"{', '.join(sorted(judged_contestants))}"
        )
    return contestant
