"""`fullbench export`: what a benchmark brings, as files that can be run again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import DEFAULT_LEDGER, LedgerOption, say, show


def export(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="The benchmark, or an exporter, as `fullbench list` shows them; or `site`.")
    ],
    out: Annotated[Path, typer.Option(help="A folder to write to; for `dpo` a file.")],
    data: Annotated[Path | None, typer.Option(help="The released data; the sample where left out.")] = None,
    subset: Annotated[
        str | None, typer.Option(help="Only what a judge got right (hq), or got wrong or hallucinated (hard).")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="The judge that the subset is about.")] = None,
    people: Annotated[str, typer.Option(help="The judge whose verdicts are the labels.")] = "human",
    ledger: LedgerOption = DEFAULT_LEDGER,
    margin: Annotated[float, typer.Option(min=0.0, help="For `dpo`: how far marks given apart must differ.")] = 0.0,
    unveiled: Annotated[
        bool, typer.Option("--unveiled", help="For `dpo`: pairs with sensitive pictures too, as they are.")
    ] = False,
    title: Annotated[str, typer.Option(help="For `site`: its name, in place of the title under [site].")] = "",
    cases: Annotated[int, typer.Option(min=0, help="For `site`: at most so many cases get a page.")] = 2_000,
    verdicts: Annotated[
        int, typer.Option(min=1, help="For `site`: at most so many verdicts, the newest, can be listed.")
    ] = 200_000,
    url: Annotated[
        str, typer.Option(help="For `site`: the address at which it will lie, for previews and citations.")
    ] = "",
    language: Annotated[str, typer.Option(help="For `site`: en or zh.")] = "en",
    charts: Annotated[bool, typer.Option(help="For `site`: draw charts.")] = True,
    names: Annotated[
        Path | None,
        typer.Option(
            help="For `site`: a TOML file, a study's too: names that pages show judges and contestants by, and [site], "
            "what the first page says of the results."
        ),
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--option", help="For an exporter: NAME=VALUE. Again for more.")
    ] = None,
    study: Annotated[str, typer.Option(help="The study of the ledger, where it has several.")] = "",
    withheld_by: Annotated[
        str | None,
        typer.Option(
            "--database",
            envvar="FULLBENCH_DATABASE",
            help="For `site`: the web app's database; cases of its open studies are withheld.",
        ),
    ] = None,
    web: Annotated[
        Path, typer.Option("--web", envvar="FULLBENCH_DATA", help="For `site`: the web app's folder.")
    ] = Path("fullbench-web"),
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
        _site(
            out, ledger, title=title, cases=cases, verdicts=verdicts, language=language, charts=charts, study=study,
            url=url, database=withheld_by or accounts, names=names,
        )  # fmt: skip
        return
    if name == "dpo":
        _dpo(out, judge, ledger, margin, unveiled)
        return
    from fullbench.core import plugin_entry_points

    if (kind := name.replace("-", "_")) in plugin_entry_points.names("exporters"):
        _plugin(kind, out, ledger, [*(options or []), *([f"judge={judge}"] if judge else [])], study or None)
        return
    from fullbench.analysis import right_and_wrong_cases
    from fullbench.errors import InputError
    from fullbench.studies.exchange.export_record import export as write
    from fullbench.studies.run.missing_pictures import lacking
    from fullbench.studies.run.study_inputs import recorded

    if name not in (benchmarks := plugin_entry_points.names("benchmarks")):
        kinds = ["site", *plugin_entry_points.names("exporters")]
        near = plugin_entry_points.did_you_mean(name, [*kinds, *benchmarks]) or ";"
        raise InputError(
            f"{name!r} is nothing that can be exported{near} known are {', '.join(kinds)}, and the benchmarks that "
            "`fullbench list` names"
        )
    if (subset is None) != (judge is None):
        raise InputError("a subset is of a judge: give --subset and --judge together")
    asked = context.get_parameter_source("ledger")
    from_ledger = asked is not None and asked.name == "COMMANDLINE"
    if from_ledger and data is not None:
        raise InputError("--data is a release and --ledger your own verdicts; give one of them")
    if from_ledger:
        from fullbench.ledger.ledger import Ledger
        from fullbench.studies.ledger_columns import judges_named

        with Ledger(ledger, read_only=True) as book:
            record, tables = book.record(study=book.one_study(study or None)), []
            judge = judge and judges_named(book, [judge])[0]
    else:
        brought = recorded(name, data)
        record, tables = brought.record, list(brought.tables)
    if subset is not None and judge is not None:
        if subset not in {"hq", "hard"}:
            raise InputError(f"unknown subset {subset!r}; known: hq, hard")
        record = right_and_wrong_cases.subset(record, judge, "hq" if subset == "hq" else "hard", people=people)
    counts = write(record, out, benchmark=name, people=people, chosen=subset is not None)
    show(tables, as_json=False)
    say(f"Written to {out}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}.")
    if missing := len(lacking(record.items.values())):
        say(
            f"{missing:,} of the {len(record.items):,} items name pictures that are not here: `fullbench "
            "fetch-pictures` brings them in, `fullbench run --without-pictures` goes on without them."
        )
    if not counts["responses"]:
        say(f"Nobody has answered yet: name contestants in {out / 'study.toml'}, then `fullbench run` it.")
        return
    say(f"Next: fullbench run {out / 'study.toml'}")
    if counts.get("verdicts"):
        beside = f"--ledger {out / 'study.ledger'} --benchmark {name} --labels {out / 'verdicts.jsonl'}"
        say(f"Then, to see beside it what judges ruled before: fullbench report {beside}")


def _plugin(name: str, out: Path, ledger: str, options: list[str], study: str | None) -> None:
    from fullbench.core.plugin_entry_points import load
    from fullbench.errors import InputError
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.leaderboards.withheld_test_sets import published
    from fullbench.studies.ledger_columns import judges_named

    wrong = [option for option in options if "=" not in option]
    if wrong:
        raise InputError(f"an option is NAME=VALUE; found {wrong[0]!r}")
    with Ledger(ledger, read_only=True) as book:
        chosen = dict(option.split("=", 1) for option in options)
        if "judge" in chosen:
            (chosen["judge"],) = judges_named(book, [chosen["judge"]])
        named = book.one_study(study)
        record = book.record(study=named)
        items = {item.id: item for item in book.items(study=named)}
        given = {(answer.item, answer.contestant, answer.sample): answer for answer in book.responses(study=named)}
        record, left_out = published(
            replace(record, items={**items, **record.items}, responses={**given, **record.responses})
        )  # nobody has ruled on some of them yet
        if left_out:
            say(f"{left_out:,} items are withheld (tag withheld: yes): nothing of them is written.")
        counts = load("exporters", name)(record, out, chosen)
    say(f"Written: {out} ({', '.join(f'{count:,} {what}' for what, count in counts.items())})")


def _dpo(out: Path, judge: str | None, ledger: str, margin: float, unveiled: bool) -> None:
    from fullbench.errors import InputError
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.exchange.dpo_pairs import export_dpo
    from fullbench.studies.ledger_columns import judges_named

    if judge is None:
        raise InputError("whose preferences? Say --judge NAME, as `fullbench ledger show` lists it")
    with Ledger(ledger, read_only=True) as book:
        (judge,) = judges_named(book, [judge])
        count, veiled = export_dpo(book.record(), judge, out, margin=margin, unveiled=unveiled)
    say(f"Written: {out} ({count:,} pairs that {judge} tells apart)")
    if veiled:
        say(f"{veiled:,} more have sensitive pictures and were left out; --unveiled writes them too.")


def _site(
    out: Path, ledger: str, *, title: str, cases: int, verdicts: int, language: str, charts: bool, study: str, url: str,
    database: str | None, names: Path | None,
) -> None:  # fmt: skip
    from fullbench.errors import InputError, MissingExtra
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.site_info import Imprint

    try:
        from fullbench.web.results.site.static_site import Wish
        from fullbench.web.results.site.static_site import export as write
    except ModuleNotFoundError as error:
        raise MissingExtra("writing the site", "web") from error
    if language not in {"en", "zh"}:
        raise InputError(f"unknown language {language!r}; known: en, zh")
    if url and not url.startswith(("http://", "https://")):
        raise InputError(f"{url!r} is no address of a site; write --url https://lab.example.org/study")
    from fullbench.web.campaigns.votes.hidden_results import judged_in
    from fullbench.web.results.catalogue.rater_pseudonyms import accounts_in
    from fullbench.web.results.pages.shown_names import for_ledger

    judged = judged_in(database) if database else frozenset()
    accounts = accounts_in(database) if database else {}
    wish = Wish(
        title, cases, verdicts, "zh" if language == "zh" else "en", charts, study, url.rstrip("/"), judged, accounts
    )
    absent = ""
    with Ledger(ledger, read_only=True) as book:
        if names is not None:
            chosen, absent = for_ledger(names, book)
            wish = replace(wish, names=chosen, imprint=Imprint.read(names))
        site = write(book, out, wish)
    say(f"Written: {site.files:,} files, {site.bytes / 1e6:,.1f} MB in {out}.")
    say(f"{site.verdicts:,} of {site.total:,} verdicts can be listed.")
    say(f"{site.cases:,} of {site.all_cases:,} cases have a page (more with --cases).")
    if site.withheld:
        say(
            f"{site.withheld:,} verdicts are withheld: people judge their items in an open study, or their test set is "
            "not published."
        )
    if absent:
        say(absent)
    say(f"Open {out / 'index.html'}, or give the folder to any web server.")
