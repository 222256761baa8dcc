"""Options that several commands share, and helpers for runs and their output."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import Parameter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Unpack, get_type_hints

import typer

from fullbench.cli.console import print_message, print_tables, stop_on_signals
from fullbench.cli.display_names_in_command_output import CURRENT
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.studies.engines import Budget, Engine, RetryPolicy, Stop

if TYPE_CHECKING:
    from fullbench.analysis.judge_card import Card
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.run.base_run import BaseRun, StudyResult
    from fullbench.studies.run.call_context import CallContext
    from fullbench.studies.run.run_options import RunOptionsByName
    from fullbench.studies.study_file import Study

Result = TypeVar("Result")

DEFAULT_LEDGER = "fullbench.ledger"


def option(text: str, *names: str, **settings: Any) -> Any:
    """Return a Typer option with this help text."""
    return typer.Option(*names, help=text, **settings)


def more(text: str, *names: str, **settings: Any) -> Any:
    """Return a Typer option in the panel of rarely used options."""
    return typer.Option(*names, help=text, rich_help_panel="More options", **settings)


def argument(text: str, **settings: Any) -> Any:
    """Return a Typer argument with this help text."""
    return typer.Argument(help=text, **settings)


def options(names: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a command shared options. Parameters whose type is a dataclass are option groups.

    Args:
        names: Fields of these groups, in the order of the help. Other fields keep their defaults. Parameters of the
            command may be named as well; those that are not named come first.
    """

    def decorate(command: Callable[..., Result]) -> Callable[..., Result]:
        own_options = dict(inspect.signature(command, eval_str=True).parameters)
        groups = {
            name: own_options.pop(name).annotation
            for name in [*own_options]
            if is_dataclass(own_options[name].annotation)
        }
        shared, group_of = {}, {}
        for group_name, group in groups.items():
            hints = get_type_hints(group, include_extras=True)
            for field in fields(group):
                shared[field.name] = Parameter(
                    field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
                )
                group_of[field.name] = group_name
        all_options = {**shared, **own_options}
        order = [name for name in own_options if name not in names.split()] + names.split()

        @functools.wraps(command)
        def call(*arguments: Any, **values: Any) -> Result:
            group_values: dict[str, dict[str, Any]] = {name: {} for name in groups}
            for name in values.keys() - own_options.keys():
                group_values[group_of[name]][name] = values.pop(name)
            filled_groups = {name: group(**group_values[name]) for name, group in groups.items()}
            return command(*arguments, **values, **filled_groups)

        parameters = [all_options[name].replace(kind=Parameter.KEYWORD_ONLY) for name in order]
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {}  # Typer reads the signature, which is evaluated already
        return call

    return decorate


def was_given(context: typer.Context, name: str) -> bool:
    """Return True if an option was typed; a variable of the environment does not count."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _refuse_blank_study(study: str | None) -> str | None:
    # A shell variable that is not set gives a blank name, which would mean the study `default`.
    if study is not None and not study.strip():
        raise InputError("The name after --study is blank. Leave --study out, or give a name.")
    return study


def _show_full_names(value: bool) -> bool:
    CURRENT.shows_full_names = value
    return value


FullNamesOption = Annotated[
    bool,
    option("Show the full names of judges and contestants.", "--full-names", callback=_show_full_names),
]
JsonOption = Annotated[bool, option("Print JSON on standard output and nothing else.", "--json")]
QuietOption = Annotated[bool, option("Hide the progress display.", "--quiet")]
SeedOption = Annotated[int, option("Random seed.")]
StrongOption = Annotated[
    float, option("Weight in ratings of the strongest preference on a graded ballot such as choice:5.")
]
ResamplingSeedOption = Annotated[int, option("Random seed of resampled intervals, which are used from 100 items on.")]
TablesOption = Annotated[Path | None, option("Output file: .html, .json, .csv, .md or .txt.")]
StudyArgument = Annotated[Path, argument("Study file (TOML).")]
OwnLedgerOption = Annotated[str | None, option("Use this ledger (a file or a URL) instead of the study's own.")]
ItemsOption = Annotated[Path, option("Items (questions): JSONL, CSV, Parquet, or a folder of pictures or clips.")]
ItemsFileOption = Annotated[Path, option("Items (questions): JSONL, CSV or Parquet.")]
ResponsesOption = Annotated[Path, option("Responses (answers): JSONL, CSV or Parquet.")]
LabelsOption = Annotated[Path | None, option("Labels: people's verdicts to compare with.")]
VerdictsOption = Annotated[
    list[Path] | None,
    option("Verdicts of judges that exist already: scores or winners, with a column judge. Repeatable.", "--verdicts"),
]
CriterionOption = Annotated[str, option("Criterion to judge by.")]
VotedCriterionOption = Annotated[
    str | None, option("Criterion of the votes. Default: overall, or the only one.", "--criterion")
]
TrialsOption = Annotated[int, option("Number of times that each case is judged.", min=1)]
JudgeOption = Annotated[str, option("Judge, as KIND:NAME?OPTIONS.")]
PageOption = Annotated[Path | None, option("File for an HTML page with tables, charts and cases.", "--report", "--out")]
ChartsOption = Annotated[Path | None, option("Folder for the charts, as SVG and PNG.")]
ReleaseOption = Annotated[
    Path | None, option("Folder of the benchmark's released data. Default: the sample of fullbench.")
]
RowsFileOption = Annotated[Path, option("Output file: .jsonl, .json, .csv, .tsv (or .gz), .parquet.", "--to", "--out")]
DraftOption = Annotated[Path, option("File for the queue for people (.csv, .jsonl or .parquet).")]
SafeOption = Annotated[
    bool, more("Refuse a study that runs code or sends variables or files.", "--safe", envvar="FULLBENCH_SAFE")
]


@dataclass(frozen=True)
class LedgerOptions:
    """The ledger of a command."""

    place: Annotated[str | None, argument("Ledger: a file, or postgresql://user@host/database. Same as --ledger.")] = (
        None
    )
    ledger: Annotated[
        str,
        option(
            "Ledger where results are stored: a file, or postgresql://user@host/database.", envvar="FULLBENCH_LEDGER"
        ),
    ] = DEFAULT_LEDGER
    study: Annotated[
        str | None,
        option(
            "Name of the study in the ledger. Use different names for unrelated data.", callback=_refuse_blank_study
        ),
    ] = None
    full_names: FullNamesOption = False
    supersede: Annotated[bool, more("Replace items whose content has changed.", "--supersede")] = False
    pictures: Annotated[
        str | None,
        more(
            "Place for pictures: a folder, or s3://bucket/prefix. The ledger remembers it. Default: next to the "
            "ledger.",
            envvar="FULLBENCH_PICTURES",
        ),
    ] = None
    durability: Annotated[
        str | None,
        more(
            "power (default): results survive a power cut. process: faster; results survive only a crash of the "
            "program.",
            envvar="FULLBENCH_DURABILITY",
        ),
    ] = None

    @property
    def path(self) -> str:
        return self.place or self.ledger

    def open(self, study: str | None = None) -> Ledger:
        """Open the ledger for writing, for this study or that of --study."""
        from fullbench.ledger.database_from_path import durability_of
        from fullbench.ledger.ledger import Ledger

        book = Ledger(
            self.path,
            pictures=self.pictures,
            study=study or self.study,
            supersede=self.supersede,
            durability=durability_of(self.durability),
        )
        CURRENT.use_ledger(book)
        return book

    def read(self, study: str | None = None) -> Ledger:
        """Open the ledger read-only."""
        from fullbench.ledger.ledger import Ledger

        book = Ledger(self.path, read_only=True, study=study)
        CURRENT.use_ledger(book)
        return book


@dataclass(frozen=True)
class InputOptions:
    """The items of a command, and access to their pictures."""

    question: Annotated[str | None, option("Question about every file, if --items is a folder.")] = None
    limit: Annotated[
        int | None, option("Use only the first N items. Run again without --limit to continue.", min=1)
    ] = None
    verdicts: VerdictsOption = None
    pictures_from: Annotated[
        list[Path] | None,
        more("Allow pictures from this folder too, not only from the folder of the data. Repeatable."),
    ] = None
    without_pictures: Annotated[
        bool, more("Continue if pictures are missing. Tables count the items without them.", "--without-pictures")
    ] = False
    fetch_urls: Annotated[
        bool,
        more("Download pictures with http(s) addresses. Private networks are never contacted.", "--fetch-urls"),
    ] = False

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(self.pictures_from or ())

    @contextmanager
    def allow_pictures(self) -> Iterator[None]:
        """Within the block, read pictures as these options allow."""
        from fullbench.files.picture_access_policy import allow_picture_folders, without_pictures

        with allow_picture_folders(*self.folders, urls=self.fetch_urls), without_pictures(self.without_pictures):
            yield

    def added_to(self, study: Study) -> Study:
        """Return the study with these options added to its own."""
        return replace(
            study,
            question=study.question or self.question,
            limit=self.limit or study.limit,
            verdicts=(*study.verdict_files, *(self.verdicts or ())) or None,
            pictures_from=(*study.pictures_from, *self.folders),
            without_pictures=study.without_pictures or self.without_pictures,
            fetch_urls=study.fetch_urls or self.fetch_urls,
        )


@dataclass(frozen=True)
class VoteOptions:
    """Votes of people that count, and the rule that joins them."""

    rule: Annotated[
        str,
        option(
            "How to combine several people's votes on the same responses: mean, median, majority, dawid-skene, "
            "each, adjudicated (a lead's decision if there is one), or default (the usual rule of the ballot)."
        ),
    ] = "default"
    visible: Annotated[
        bool,
        more(
            "Include votes by people who saw the names of the contestants. By default they are excluded.", "--visible"
        ),
    ] = False
    pilot: Annotated[bool, more("Include votes of pilots. By default they are excluded.", "--pilot")] = False
    corrected: Annotated[
        bool, option("Show judges' numbers corrected by people's votes, next to the uncorrected ones.", "--corrected")
    ] = False


@dataclass(frozen=True)
class CallOptions:
    """Limits, place and display of the calls of a run."""

    budget: Annotated[float | None, option("Stop before spending more than this many dollars.", min=0.0)] = None
    budget_for: Annotated[
        Literal["run", "study"], more("What the budget covers: this run, or all runs of the study.")
    ] = "run"
    anyway: Annotated[bool, more("Continue even if the first 20 verdicts of a judge are unusable.", "--anyway")] = False
    again: Annotated[
        bool, more("Retry calls that failed permanently, for example because a prompt was too long.", "--again")
    ] = False
    engine: Annotated[
        str | None, more("Where to run the calls: here, ray (started here), ray:auto, ray:HOST:PORT, ray://...")
    ] = None
    dry_run: Annotated[bool, option("Show the planned calls and their cost. Call no model.", "--dry-run")] = False
    as_json: JsonOption = False
    quiet: QuietOption = False

    @contextmanager
    def open(self, ledger: LedgerOptions, study: str | None = None, engine: str = "here") -> Iterator[OpenRun]:
        """Open an engine and a ledger for a run that signals stop.

        Args:
            ledger: The ledger.
            study: Its study; default: that of --study.
            engine: The engine without --engine.
        """
        from fullbench.studies.engines import engine_from_spec

        # The engine comes before the ledger, so that a wrong engine leaves no new ledger behind.
        with (
            stop_on_signals() as stop,
            engine_from_spec(self.engine or engine) as active_engine,
            ledger.open(study) as book,
        ):
            yield OpenRun(self, book, active_engine, stop)

    def print_plan(self, study_run: BaseRun, ledger: str | Path) -> int:
        """Print the planned calls and their cost; return the exit code."""
        if self.engine in {None, "here"}:  # on a cluster, other machines have the packages
            for judge in study_run.judges:
                if (check_packages := getattr(getattr(judge, "scorer", None), "check_packages", None)) is not None:
                    check_packages()
        with ledger_if_any(ledger) as book:
            plan = study_run.plan(book)
        if plan.rows or self.as_json:
            self.print_tables([plan])
        else:
            print_message("No model is called: all verdicts of this study exist already.")
        return 0

    def print_tables(self, tables: Sequence[Table], out: Path | None = None) -> None:
        print_tables(tables, as_json=self.as_json, out=out)


@dataclass(frozen=True)
class ViewOptions:
    """Parts of a result that a command prints."""

    all_tables: Annotated[bool, option("Print every table, not only the summary.", "--all")] = False
    table: Annotated[str | None, option("Print one table, by its name or the beginning of its name.", "--table")] = None
    shown_judge: Annotated[str | None, option("Print the tables about one judge.", "--judge")] = None

    @property
    def is_default(self) -> bool:
        """True if only the summary is printed."""
        return not (self.all_tables or self.table or self.shown_judge)

    def print_report(
        self,
        tables: Sequence[Table],
        *,
        as_json: bool,
        out: Path | None = None,
        sentences: Sequence[str] | None = None,
        elsewhere: str = "",
    ) -> None:
        """Print the summary of a result, or the tables that these options name.

        Args:
            tables: All tables of the result.
            as_json: Print JSON instead.
            out: File for the tables.
            sentences: Sentences above the tables. Default: those of the summary.
            elsewhere: Where other tables can be found, for the error on an unknown table.
        """
        from fullbench.cli.console import print_report
        from fullbench.reports.one_screen_result_summary import Selection

        view = Selection(self.all_tables, self.table, self.shown_judge, elsewhere)
        print_report(tables, view, as_json=as_json, out=out, sentences=sentences)

    def print_card(self, card: Card) -> None:
        """Print a judge's card: its name, the sentences of its introduction, and its first numbers."""
        from fullbench.reports.judge_card_display import lead_sentences

        sentences = [CURRENT.text(part) for part in (card.judge, *lead_sentences(card.lead))]
        if self.all_tables:
            typer.echo("\n".join(sentences) + "\n")
        self.print_report(card.tables, as_json=False, sentences=sentences)


@dataclass(frozen=True)
class OpenRun:
    """A run with its ledger and engine open."""

    calls: CallOptions
    book: Ledger
    engine: Engine
    stop: Stop

    @property
    def spent_dollars(self) -> float:
        """Cost of earlier runs, if the budget covers them."""
        return self.book.study_cost(self.book.study) if self.calls.budget_for == "study" else 0.0

    @property
    def retry_policy(self) -> RetryPolicy:
        return RetryPolicy(self.calls.anyway, self.calls.again)

    def execute(self, study_run: BaseRun, **settings: Unpack[RunOptionsByName]) -> StudyResult:
        """Execute a study with these options; `settings` replace some of them."""
        defaults: RunOptionsByName = {
            "engine": self.engine,
            "budget": self.calls.budget,
            "spent_dollars": self.spent_dollars,
            "stop": self.stop,
            "retry_policy": self.retry_policy,
            "quiet": self.calls.quiet,
        }
        defaults.update(settings)
        return study_run.execute(self.book, **defaults)

    def call_context(self, budget: Budget | None, specs: dict[str, str]) -> CallContext:
        """Return the settings for calls of models.

        Args:
            budget: What they may spend together.
            specs: The spec of each model by its name.
        """
        from fullbench.studies.run.call_context import CallContext

        return CallContext(self.book, self.engine, specs, budget, self.stop, self.calls.quiet, self.retry_policy)


def read_study(file: Path, ledger: str | None, inputs: InputOptions, *, safe: bool) -> Study:
    """Read a study, warn of its risks, and add the options for its inputs.

    Args:
        file: The study.
        ledger: The ledger; default: that of the study.
        inputs: The options.
        safe: Whether a study with risks is refused.
    """
    from fullbench.core.plugin_entry_points import plugin_names
    from fullbench.studies.study_file import Study

    if not file.exists() and str(file) in plugin_names("benchmarks"):
        raise InputError(
            f"{file} is a benchmark, not a study file; `fullbench export {file} --out {file}` writes its "
            f"sample, then run {file}/study.toml"
        )
    study = Study.read(file)
    warn_of_risks(study, ledger or study.ledger, safe=safe)
    return inputs.added_to(study)


def warn_of_risks(study: Study, ledger: str | Path, *, safe: bool) -> None:
    """Before the first run of a study, print what it does beyond calling models; with `safe`, refuse it."""
    from fullbench.ledger.database_from_path import database_at
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.study_file_trust import refuse_risks

    risks = refuse_risks(study, safe=safe)
    if not risks:
        return
    if database_at(ledger).exists():
        with Ledger(ledger, read_only=True) as book:
            if study.name in book.studies():
                return
    for sentence in risks:
        print_message(f"{study.path}: {sentence} (--safe refuses this.)")


@contextmanager
def ledger_if_any(place: str | Path) -> Iterator[Ledger]:
    """Open the ledger read-only, or a temporary empty one if there is none: reading creates no file."""
    from fullbench.ledger.database_from_path import database_at
    from fullbench.ledger.ledger import Ledger

    file = database_at(place)
    if file.exists():
        with Ledger(place, read_only=True) as book:
            CURRENT.use_ledger(book)
            yield book
        return
    with TemporaryDirectory() as folder, Ledger(Path(folder) / file.path.name) as book:
        CURRENT.use_ledger(book)
        yield book
