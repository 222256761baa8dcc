"""`fullbench card`: one page on the quality of a judge."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from fullbench.cli.console import print_message
from fullbench.cli.shared_options_and_run_output import (
    JsonOption,
    LabelsOption,
    LedgerOptions,
    ReleaseOption,
    ResamplingSeedOption,
    TablesOption,
    ViewOptions,
    VoteOptions,
    argument,
    more,
    option,
    options,
)


@options(
    "ledger study labels benchmark data people rule visible pilot tags own epsilon all_tables table out seed "
    "full_names as_json"
)
def card(
    judge: Annotated[str, argument("Judge name as shown by `ledger show`, or a unique prefix.")],
    store: LedgerOptions,
    counted: VoteOptions,
    view: ViewOptions,
    labels: LabelsOption = None,
    benchmark: Annotated[str | None, option("Use the released verdicts of this benchmark instead of a ledger.")] = None,
    data: ReleaseOption = None,
    people: Annotated[str, more("Judge or people to compare with.")] = "human",
    tags: Annotated[list[str] | None, option("Split agreement by this tag. Repeatable.", "--by")] = None,
    own: Annotated[
        list[str] | None, more("Contestant of the judge's own family, by name or prefix. Repeatable.")
    ] = None,
    epsilon: Annotated[
        float,
        more(
            "Tolerance of the alternative annotator test: how much worse than a person a judge may be.",
            min=0.0,
            max=1.0,
        ),
    ] = 0.15,
    out: TablesOption = None,
    seed: ResamplingSeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Show one judge's agreement with people, biases and cost.

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
    from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
    from fullbench.studies import ledger_verdicts_with_panels
    from fullbench.studies.judge_contestant_and_benchmark_specs import bundled_sample_message
    from fullbench.studies.ledger_display_names_and_name_lookup import (
        find_judges,
        find_name,
        load_display_names,
        record_display_names,
        with_card_names,
    )
    from fullbench.studies.run.study_items_responses_and_labels import load_benchmark_release

    vote_rule = rule_of(counted.rule)
    columns: Columns | None = None
    names = DisplayNames()
    facts: CaseFacts | None = None
    judge_columns: Columns | None = None
    study_name: str | None = None
    label_verdicts = [] if labels is None else list(read_verdicts(labels, judge=people))
    if benchmark is not None:
        release = load_benchmark_release(benchmark, data)
        if message := bundled_sample_message(benchmark, data):
            print_message(message)
        record = Record(
            (*release.record.verdicts, *label_verdicts), release.record.items, release.record.responses
        ).in_canonical_order()
        for table in release.tables:
            print_message(f"{table.title}: {len(table.rows)} rows. `fullbench export` and `reproduce` list them.")
    else:
        with store.read() as book:
            study_name = book.one_study(store.study)
            (judge,) = find_judges(book, [judge])
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
            names = load_display_names(book)
            own_contestants = [find_name(name, record.contestants, names, "contestant") for name in own or ()]
    if columns is None:
        judge = find_name(judge, record.judges, record_display_names(record), "judge")
        own_contestants = [find_name(name, record.contestants, DisplayNames(), "contestant") for name in own or ()]
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
    built_card = with_card_names(built_card, record_display_names(record) if columns is None else names)
    if out is not None:
        cards.write_card(built_card, out)
        print_message(f"Written: {out}")
        return
    if as_json:
        typer.echo(cards.card_json(built_card), nl=False)
        return
    view.print_card(built_card)
