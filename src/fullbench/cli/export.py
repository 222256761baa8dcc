"""`fullbench export`: data of a benchmark or a ledger as files for fullbench and other tools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.console import command_text, print_message, print_tables
from fullbench.cli.shared_options_and_run_output import (
    LedgerOptions,
    ReleaseOption,
    argument,
    more,
    option,
    options,
    was_given,
)
from fullbench.errors import InputError


@options(
    "ledger margin include_sensitive title cases verdicts url language charts names extra_options study withheld_by web"
)
def export(
    context: typer.Context,
    name: Annotated[str, argument("Benchmark or exporter, as `fullbench list` shows them, or `site`.")],
    out: Annotated[Path, option("Folder for the files. For `dpo`: a file.")],
    store: LedgerOptions,
    data: ReleaseOption = None,
    subset: Annotated[
        str | None, option("Only verdicts that a judge got right (hq), or got wrong or hallucinated (hard).")
    ] = None,
    judge: Annotated[
        str | None, option("Write only this judge's verdicts. For --subset and `dpo`: their judge.")
    ] = None,
    people: Annotated[str, option("Judge whose verdicts are the labels.")] = "human",
    margin: Annotated[float, option("For `dpo`: minimum difference between two scores.", min=0.0)] = 0.0,
    include_sensitive: Annotated[
        bool, option("For `dpo`: include pairs with sensitive pictures.", "--include-sensitive")
    ] = False,
    title: Annotated[str, more("For `site`: its name. Default: the title under [site].")] = "",
    cases: Annotated[int, more("For `site`: maximum number of cases that get a page.", min=0)] = 2_000,
    verdicts: Annotated[int, more("For `site`: maximum number of verdicts in lists, newest first.", min=1)] = 200_000,
    url: Annotated[str, more("For `site`: its future address, for previews and citations.")] = "",
    language: Annotated[str, more("For `site`: language, en or zh.")] = "en",
    charts: Annotated[bool, more("For `site`: draw charts.")] = True,
    names: Annotated[
        Path | None,
        more("For `site`: TOML file (or study) with display names and [site], the texts of the first page."),
    ] = None,
    extra_options: Annotated[list[str] | None, option("For an exporter: NAME=VALUE. Repeatable.", "--option")] = None,
    withheld_by: Annotated[
        str | None,
        more(
            "For `site`: database of the web app. Cases of its open campaigns are withheld.",
            "--database",
            envvar="FULLBENCH_DATABASE",
        ),
    ] = None,
    web: Annotated[Path, more("For `site`: folder of the web app.", "--web", envvar="FULLBENCH_DATA")] = Path(
        "fullbench-web"
    ),
) -> None:
    """Export a benchmark, training pairs, a site or other formats.

    The name of a benchmark writes its items, responses, labels and verdicts as files, and a study that uses them:

        fullbench export mllm-as-a-judge --out sample && fullbench run sample/study.toml

        fullbench export mllm-as-a-judge --data mllm-as-a-judge --subset hard --judge GPT-4V --out hard

        fullbench export mllm-as-a-judge --ledger study.ledger --subset hq --judge GPT-4V --out right

    `dpo` writes preference pairs of a judge in the ledger for the DPO trainer of TRL, for text or picture responses:

        fullbench export dpo --ledger fullbench.ledger --judge length --out pairs.jsonl

    A Parquet file contains the bytes of the pictures, as the trainers of diffusers and TRL expect:

        fullbench export dpo --ledger fullbench.ledger --judge imagereward --out pairs.parquet

    Exporters write a ledger for other tools: `inspect` (a log for its viewer), `alpaca` and `arena` (comparisons),
    `huggingface` (a data set with a card), `langfuse`, `otel` and `mlflow` (scores):

        fullbench export inspect --out log.json --option contestant=gpt-4o

    `site` writes leaderboards, judge cards, verdicts and cases as a folder of pages. It opens from disk, and any web
    server can host it:

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
    from fullbench.analysis import right_and_wrong_cases_for_rerun
    from fullbench.studies.exchange.runnable_study_export import export_study as write
    from fullbench.studies.judge_contestant_and_benchmark_specs import bundled_sample_message
    from fullbench.studies.run.missing_pictures import items_without_pictures
    from fullbench.studies.run.study_items_responses_and_labels import load_benchmark_release

    if name not in (benchmarks := plugin_entry_points.plugin_names("benchmarks")):
        kinds = ["site", *plugin_entry_points.plugin_names("exporters")]
        hint = plugin_entry_points.did_you_mean(name, [*kinds, *benchmarks]) or ";"
        raise InputError(
            f"There is no export {name!r}{hint} known are {', '.join(kinds)}, and the benchmarks that `fullbench "
            "list` shows."
        )
    if (subset is None) != (judge is None):
        raise InputError("--subset needs --judge, and --judge needs --subset. Give both.")
    from_ledger = was_given(context, "ledger")
    if from_ledger and data is not None:
        raise InputError("--data and --ledger exclude each other. Use one of them.")
    from fullbench.studies.ledger_display_names_and_name_lookup import find_judges, find_name, record_display_names

    if from_ledger:
        with store.read() as book:
            record, tables = book.record(study=book.one_study(store.study)), []
            judge = judge and find_judges(book, [judge])[0]
    else:
        release = load_benchmark_release(name, data)
        if message := bundled_sample_message(name, data):
            print_message(message)
        record, tables = release.record, list(release.tables)
        judge = judge and find_name(judge, record.judges, record_display_names(record), "judge")
    if subset is not None and judge is not None:
        if subset not in {"hq", "hard"}:
            raise InputError(f"Unknown subset {subset!r}. Use hq or hard.")
        record = right_and_wrong_cases_for_rerun.select_subset(
            record, judge, "hq" if subset == "hq" else "hard", people=people
        )
    counts = write(record, out, benchmark=name, people=people, only_these_cases=subset is not None)
    print_tables(tables, as_json=False)
    print_message(f"Written to {out}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}.")
    if missing := len(items_without_pictures(record.items.values())):
        print_message(
            f"{missing:,} of the {len(record.items):,} items name missing pictures. `fullbench fetch-pictures` "
            "downloads them; `fullbench run --without-pictures` runs without them."
        )
    if not counts["responses"]:
        print_message(
            f"There are no responses yet. Add contestants to {out / 'study.toml'}, then: "
            f"{command_text('run', out / 'study.toml')}"
        )
        return
    print_message(f"Next: {command_text('run', out / 'study.toml')}")
    if counts.get("verdicts"):
        words = ("--ledger", out / "study.ledger", "--benchmark", name, "--labels", out / "verdicts.jsonl")
        print_message(f"Then compare with earlier verdicts: {command_text('report', *words)}")


def _export_with_plugin(name: str, out: Path, store: LedgerOptions, options: list[str]) -> None:
    from fullbench.core.plugin_entry_points import load_plugin
    from fullbench.studies.leaderboards.withheld_test_sets import without_withheld_items
    from fullbench.studies.ledger_display_names_and_name_lookup import find_contestants, find_judges

    malformed_options = [option for option in options if "=" not in option]
    if malformed_options:
        raise InputError(f"--option {malformed_options[0]!r} is not NAME=VALUE.")
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
            print_message(f"{withheld_count:,} items are withheld (tag withheld: yes) and not written.")
        if "judge" in option_values:
            judges = record.judges
            record = record.where(judge=option_values["judge"])
            if not len(record):
                raise InputError(
                    f"Judge {option_values['judge']!r} has no verdict here. Judges with verdicts: "
                    f"{', '.join(judges) or 'none'}."
                )
        counts = load_plugin("exporters", name)(record, out, option_values)
    print_message(f"Written: {out} ({', '.join(f'{count:,} {what}' for what, count in counts.items())})")


def _export_dpo(out: Path, judge: str | None, store: LedgerOptions, margin: float, include_sensitive: bool) -> None:
    from fullbench.studies.exchange.dpo_pairs import export_dpo
    from fullbench.studies.ledger_display_names_and_name_lookup import find_judges

    if judge is None:
        raise InputError("No judge given. Add --judge NAME, as `fullbench ledger show` lists it.")
    with store.read() as book:
        (judge,) = find_judges(book, [judge])
        counts = export_dpo(book.record(), judge, out, margin=margin, include_sensitive=include_sensitive)
    print_message(f"Written: {out} ({counts.written:,} pairs that {judge} decided)")
    if counts.sensitive:
        print_message(
            f"{counts.sensitive:,} more pairs have sensitive pictures and were skipped. --include-sensitive writes "
            "them too."
        )
    if counts.with_documents:
        print_message(
            f"{counts.with_documents:,} more pairs have documents, which trainers do not take, and were skipped."
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
        raise InputError(f"Unknown language {language!r}. Use en or zh.")
    if url and not url.startswith(("http://", "https://")):
        raise InputError(f"{url!r} is not the address of a site. Use --url https://lab.example.org/study.")
    from fullbench.web.campaigns.votes.hidden_open_campaign_cases_and_results import load_open_campaign_items
    from fullbench.web.results.catalogue.rater_pseudonyms import rater_names_in
    from fullbench.web.results.pages.judge_and_contestant_names_on_pages import read_names

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
        site = write(book, out, options, print_message)
    print_message(f"Written: {site.files:,} files, {site.bytes / 1e6:,.1f} MB in {out}.")
    print_message(f"{site.verdicts:,} of {site.total:,} verdicts are in lists.")
    print_message(f"{site.cases:,} of {site.all_cases:,} cases have a page (more with --cases).")
    if site.withheld:
        print_message(
            f"{site.withheld:,} verdicts are withheld: an open campaign uses their items, or their test set is not "
            "published."
        )
    if absent_names:
        print_message(absent_names)
    print_message(f"Open {out / 'index.html'}, or copy the folder to any web server.")
