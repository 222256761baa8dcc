"""`fullbench export`: data of a benchmark or a ledger as files for fullbench and other tools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.console import print_message, print_tables
from fullbench.cli.options import LedgerOptions, ReleaseOption, argument, option, options
from fullbench.errors import InputError


@options(
    "ledger margin include_sensitive title cases verdicts url language charts names extra_options study withheld_by web"
)
def export(
    context: typer.Context,
    name: Annotated[str, argument("The benchmark, or an exporter, as `fullbench list` shows them; or `site`.")],
    out: Annotated[Path, option("A folder to write to; for `dpo` a file.")],
    store: LedgerOptions,
    data: ReleaseOption = None,
    subset: Annotated[
        str | None, option("Only what a judge got right (hq), or got wrong or hallucinated (hard).")
    ] = None,
    judge: Annotated[str | None, option("The judge that the subset is about.")] = None,
    people: Annotated[str, option("The judge whose verdicts are the labels.")] = "human",
    margin: Annotated[float, option("For `dpo`: how far marks given apart must differ.", min=0.0)] = 0.0,
    include_sensitive: Annotated[
        bool, option("For `dpo`: pairs with sensitive pictures too, as they are.", "--include-sensitive")
    ] = False,
    title: Annotated[str, option("For `site`: its name, in place of the title under [site].")] = "",
    cases: Annotated[int, option("For `site`: at most so many cases get a page.", min=0)] = 2_000,
    verdicts: Annotated[
        int, option("For `site`: at most so many verdicts, the newest, can be listed.", min=1)
    ] = 200_000,
    url: Annotated[str, option("For `site`: the address at which it will lie, for previews and citations.")] = "",
    language: Annotated[str, option("For `site`: en or zh.")] = "en",
    charts: Annotated[bool, option("For `site`: draw charts.")] = True,
    names: Annotated[
        Path | None,
        option(
            "For `site`: a TOML file, a study's too: names that pages show judges and contestants by, and [site], "
            "what the first page says of the results."
        ),
    ] = None,
    extra_options: Annotated[
        list[str] | None, option("For an exporter: NAME=VALUE. Again for more.", "--option")
    ] = None,
    withheld_by: Annotated[
        str | None,
        option(
            "For `site`: the web app's database; cases of its open studies are withheld.",
            "--database",
            envvar="FULLBENCH_DATABASE",
        ),
    ] = None,
    web: Annotated[Path, option("For `site`: the web app's folder.", "--web", envvar="FULLBENCH_DATA")] = Path(
        "fullbench-web"
    ),
) -> None:
    """Write a benchmark's items, responses, labels and verdicts as files, with a study that runs them.

    Examples:

        fullbench export mllm-as-a-judge --out sample && fullbench run sample/study.toml

        fullbench export mllm-as-a-judge --data mllm-as-a-judge --subset hard --judge GPT-4V --out hard

        fullbench export mllm-as-a-judge --ledger study.ledger --subset hq --judge GPT-4V --out right

    With `dpo` in place of a benchmark's name, the pairs that a judge in the ledger tells apart are written for TRL's
    DPO trainer, answers in words or in pictures:

        fullbench export dpo --ledger fullbench.ledger --judge length --out pairs.jsonl

    Pictures are written with their bytes, as the trainers of diffusers and of TRL read them:

        fullbench export dpo --ledger fullbench.ledger --judge imagereward --out pairs.parquet

    Exporters write what a ledger holds for other tools: `inspect` (a log for its viewer), `alpaca` and `arena`
    (comparisons), `huggingface` (a data set with a card), `langfuse`, `otel` and `mlflow` (scores):

        fullbench export inspect --out log.json --option contestant=gpt-4o

    With `site`, the leaderboards, judge cards, verdicts and cases of a ledger are written as a folder of pages that
    opens from disk and that any web server can host:

        fullbench export site --ledger fullbench.ledger --out site
    """
    if name == "site":
        accounts = f"sqlite:///{web / 'web.sqlite'}" if (web / "web.sqlite").exists() else None
        _export_site(
            out, store, title=title, cases=cases, verdicts=verdicts, language=language, charts=charts,
            url=url, database=withheld_by or accounts, names=names,
        )  # fmt: skip
        return
    if name == "dpo":
        _export_dpo(out, judge, store, margin, include_sensitive)
        return
    from fullbench.core import plugin_entry_points

    if (kind := name.replace("-", "_")) in plugin_entry_points.plugin_names("exporters"):
        _export_with_plugin(kind, out, store, [*(extra_options or []), *([f"judge={judge}"] if judge else [])])
        return
    from fullbench.analysis import right_and_wrong_case_subsets
    from fullbench.studies.exchange.runnable_study_export import export_study as write
    from fullbench.studies.run.missing_pictures import items_without_pictures
    from fullbench.studies.run.study_inputs import load_benchmark_release

    if name not in (benchmarks := plugin_entry_points.plugin_names("benchmarks")):
        kinds = ["site", *plugin_entry_points.plugin_names("exporters")]
        hint = plugin_entry_points.did_you_mean(name, [*kinds, *benchmarks]) or ";"
        raise InputError(
            f"{name!r} is nothing that can be exported{hint} known are {', '.join(kinds)}, and the benchmarks that "
            "`fullbench list` names"
        )
    if (subset is None) != (judge is None):
        raise InputError("a subset is of a judge: give --subset and --judge together")
    ledger_source = context.get_parameter_source("ledger")
    from_ledger = ledger_source is not None and ledger_source.name == "COMMANDLINE"
    if from_ledger and data is not None:
        raise InputError("--data is a release and --ledger your own verdicts; give one of them")
    from fullbench.studies.ledger_display_names import find_judges, find_name, record_display_names

    if from_ledger:
        with store.read() as book:
            record, tables = book.record(study=book.one_study(store.study)), []
            judge = judge and find_judges(book, [judge])[0]
    else:
        release = load_benchmark_release(name, data)
        record, tables = release.record, list(release.tables)
        judge = judge and find_name(judge, record.judges, record_display_names(record), "judge")
    if subset is not None and judge is not None:
        if subset not in {"hq", "hard"}:
            raise InputError(f"unknown subset {subset!r}; known: hq, hard")
        record = right_and_wrong_case_subsets.select_subset(
            record, judge, "hq" if subset == "hq" else "hard", people=people
        )
    counts = write(record, out, benchmark=name, people=people, only_these_cases=subset is not None)
    print_tables(tables, as_json=False)
    print_message(f"Written to {out}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}.")
    if missing := len(items_without_pictures(record.items.values())):
        print_message(
            f"{missing:,} of the {len(record.items):,} items name pictures that are not here: `fullbench "
            "fetch-pictures` brings them in, `fullbench run --without-pictures` goes on without them."
        )
    if not counts["responses"]:
        print_message(f"Nobody has answered yet: name contestants in {out / 'study.toml'}, then `fullbench run` it.")
        return
    print_message(f"Next: fullbench run {out / 'study.toml'}")
    if counts.get("verdicts"):
        report_options = f"--ledger {out / 'study.ledger'} --benchmark {name} --labels {out / 'verdicts.jsonl'}"
        print_message(f"Then, to see beside it what judges ruled before: fullbench report {report_options}")


def _export_with_plugin(name: str, out: Path, store: LedgerOptions, options: list[str]) -> None:
    from fullbench.core.plugin_entry_points import load_plugin
    from fullbench.studies.leaderboards.withheld_test_sets import without_withheld_items
    from fullbench.studies.ledger_display_names import find_contestants, find_judges

    malformed_options = [option for option in options if "=" not in option]
    if malformed_options:
        raise InputError(f"an option is NAME=VALUE; found {malformed_options[0]!r}")
    with store.read() as book:
        option_values = dict(option.split("=", 1) for option in options)
        if "judge" in option_values:
            (option_values["judge"],) = find_judges(book, [option_values["judge"]])
        if "contestant" in option_values:
            (option_values["contestant"],) = find_contestants(book, [option_values["contestant"]])
        study_name = book.one_study(store.study)
        record = book.record(study=study_name)
        items = {item.id: item for item in book.items(study=study_name)}
        responses_by_key = {
            (answer.item, answer.contestant, answer.sample): answer for answer in book.responses(study=study_name)
        }
        record, withheld_count = without_withheld_items(
            replace(record, items={**items, **record.items}, responses={**responses_by_key, **record.responses})
        )  # also items and responses without a verdict
        if withheld_count:
            print_message(f"{withheld_count:,} items are withheld (tag withheld: yes): nothing of them is written.")
        counts = load_plugin("exporters", name)(record, out, option_values)
    print_message(f"Written: {out} ({', '.join(f'{count:,} {what}' for what, count in counts.items())})")


def _export_dpo(out: Path, judge: str | None, store: LedgerOptions, margin: float, include_sensitive: bool) -> None:
    from fullbench.studies.exchange.dpo_pairs import export_dpo
    from fullbench.studies.ledger_display_names import find_judges

    if judge is None:
        raise InputError("whose preferences? Say --judge NAME, as `fullbench ledger show` lists it")
    with store.read() as book:
        (judge,) = find_judges(book, [judge])
        count, omitted_count = export_dpo(book.record(), judge, out, margin=margin, include_sensitive=include_sensitive)
    print_message(f"Written: {out} ({count:,} pairs that {judge} tells apart)")
    if omitted_count:
        print_message(
            f"{omitted_count:,} more have sensitive pictures and were left out; --include-sensitive writes them too."
        )


def _export_site(
    out: Path, store: LedgerOptions, *, title: str, cases: int, verdicts: int, language: str, charts: bool, url: str,
    database: str | None, names: Path | None,
) -> None:  # fmt: skip
    from fullbench.errors import InputError, require_extra
    from fullbench.reports.site_info import Imprint

    with require_extra("writing the site", "web"):
        from fullbench.web.results.site.static_site import SiteOptions
        from fullbench.web.results.site.static_site import export_site as write
    if language not in {"en", "zh"}:
        raise InputError(f"unknown language {language!r}; known: en, zh")
    if url and not url.startswith(("http://", "https://")):
        raise InputError(f"{url!r} is no address of a site; write --url https://lab.example.org/study")
    from fullbench.web.campaigns.votes.results_hidden_from_annotators import load_open_campaign_items
    from fullbench.web.results.catalogue.rater_pseudonyms import rater_names_in
    from fullbench.web.results.pages.shown_names import read_names

    open_campaign_items = load_open_campaign_items(database) if database else frozenset()
    options = SiteOptions(
        title, cases, verdicts, "zh" if language == "zh" else "en", charts, store.study or "", url.rstrip("/"),
        open_campaign_items,
    )  # fmt: skip
    if database:
        raters = rater_names_in(database)
        options = replace(options, accounts=raters.accounts, rater_key=raters.key)
    absent_names = ""
    with store.read() as book:
        if names is not None:
            display_names, absent_names = read_names(names, book)
            options = replace(options, names=display_names, imprint=Imprint.read(names))
        site = write(book, out, options)
    print_message(f"Written: {site.files:,} files, {site.bytes / 1e6:,.1f} MB in {out}.")
    print_message(f"{site.verdicts:,} of {site.total:,} verdicts can be listed.")
    print_message(f"{site.cases:,} of {site.all_cases:,} cases have a page (more with --cases).")
    if site.withheld:
        print_message(
            f"{site.withheld:,} verdicts are withheld: people judge their items in an open study, or their test set is "
            "not published."
        )
    if absent_names:
        print_message(absent_names)
    print_message(f"Open {out / 'index.html'}, or give the folder to any web server.")
