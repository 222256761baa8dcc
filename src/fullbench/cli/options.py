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
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.studies.engines import Budget, Engine, RetryPolicy, Stop

if TYPE_CHECKING:
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
        own = dict(inspect.signature(command, eval_str=True).parameters)
        groups = {name: own.pop(name).annotation for name in [*own] if is_dataclass(own[name].annotation)}
        shared, group_of = {}, {}
        for group_name, group in groups.items():
            hints = get_type_hints(group, include_extras=True)
            for field in fields(group):
                shared[field.name] = Parameter(
                    field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
                )
                group_of[field.name] = group_name
        known = {**shared, **own}
        order = [name for name in own if name not in names.split()] + names.split()

        @functools.wraps(command)
        def call(*arguments: Any, **values: Any) -> Result:
            group_values: dict[str, dict[str, Any]] = {name: {} for name in groups}
            for name in values.keys() - own.keys():
                group_values[group_of[name]][name] = values.pop(name)
            filled_groups = {name: group(**group_values[name]) for name, group in groups.items()}
            return command(*arguments, **values, **filled_groups)

        parameters = [known[name].replace(kind=Parameter.KEYWORD_ONLY) for name in order]
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {}  # Typer reads the signature, which is evaluated already
        return call

    return decorate


def _refuse_blank_study(study: str | None) -> str | None:
    # A shell variable that is not set gives a blank name, which would mean the study `default`.
    if study is not None and not study.strip():
        raise InputError("--study names a study, and what was given is blank; leave it out, or give a name")
    return study


JsonOption = Annotated[bool, option("Print JSON on standard output, nothing else.", "--json")]
QuietOption = Annotated[bool, option("No progress display.", "--quiet")]
SeedOption = Annotated[int, option("For whatever is drawn at random.")]
StrongOption = Annotated[
    float, option("How often ratings count the strongest preference of a graded choice, such as 3 on choice:5.")
]
ResamplingSeedOption = Annotated[int, option("Seed of resampled intervals, which are used from 100 items on.")]
TablesOption = Annotated[Path | None, option("A file: .html, .json, .csv, .md or .txt.")]
StudyArgument = Annotated[Path, argument("The study, a TOML file.")]
OwnLedgerOption = Annotated[str | None, option("Instead of the study's own ledger: a file or a URL.")]
ItemsOption = Annotated[Path, option("What was asked: JSONL, CSV or Parquet, or a folder of pictures.")]
ItemsFileOption = Annotated[Path, option("What was asked: JSONL, CSV or Parquet.")]
ResponsesOption = Annotated[Path, option("What was answered: JSONL, CSV or Parquet.")]
LabelsOption = Annotated[Path | None, option("People's verdicts to compare with.")]
CriterionOption = Annotated[str, option("What to judge by.")]
TrialsOption = Annotated[int, option("How often every case is heard.", min=1)]
JudgeOption = Annotated[str, option("Who judges, as KIND:NAME?OPTIONS.")]
PageOption = Annotated[Path | None, option("Write a page with tables, charts and cases here.", "--report", "--out")]
ChartsOption = Annotated[Path | None, option("A folder for the charts, each as SVG and PNG.")]
ReleaseOption = Annotated[Path | None, option("The benchmark's released data; its sample where left out.")]
RowsFileOption = Annotated[Path, option("File to write: .jsonl, .json, .csv, .tsv (or .gz), .parquet.")]
DraftOption = Annotated[Path, option("Write the queue for people here (.csv, .jsonl or .parquet).")]
SafeOption = Annotated[
    bool, more("Refuse a study that runs code or sends variables or files.", "--safe", envvar="FULLBENCH_SAFE")
]


@dataclass(frozen=True)
class LedgerOptions:
    """The ledger of a command."""

    place: Annotated[str | None, argument("The ledger: a file, or postgresql://user@host/database; also --ledger.")] = (
        None
    )
    ledger: Annotated[
        str, option("Where all is kept: a file, or postgresql://user@host/database.", envvar="FULLBENCH_LEDGER")
    ] = DEFAULT_LEDGER
    study: Annotated[
        str | None,
        option("The study in the ledger; unrelated data are kept apart by it.", callback=_refuse_blank_study),
    ] = None
    supersede: Annotated[
        bool, more("Items whose content changed take the place of the earlier ones.", "--supersede")
    ] = False
    pictures: Annotated[
        str | None,
        more(
            "Where pictures are kept: a folder, or s3://bucket/prefix; the ledger remembers it. Else beside it.",
            envvar="FULLBENCH_PICTURES",
        ),
    ] = None
    durability: Annotated[
        str | None,
        more(
            "What is kept survives: power (a loss of power too; usual), process (kill -9, quicker on slow disks).",
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

        return Ledger(
            self.path,
            pictures=self.pictures,
            study=study or self.study,
            supersede=self.supersede,
            durability=durability_of(self.durability),
        )

    def read(self, study: str | None = None) -> Ledger:
        """Open the ledger read-only."""
        from fullbench.ledger.ledger import Ledger

        return Ledger(self.path, read_only=True, study=study)


@dataclass(frozen=True)
class InputOptions:
    """The items of a command, and access to their pictures."""

    question: Annotated[str | None, option("What to ask about every picture, where --items is a folder of them.")] = (
        None
    )
    limit: Annotated[int | None, option("Try it on so many of the first items; the same command goes on.", min=1)] = (
        None
    )
    pictures_from: Annotated[
        list[Path] | None,
        more("Read pictures that data files name from this folder too, not only from the data's own. Repeatable."),
    ] = None
    without_pictures: Annotated[
        bool, more("Go on where items name pictures that are not here; tables count these.", "--without-pictures")
    ] = False
    fetch_urls: Annotated[
        bool,
        more("Fetch pictures that data files name by http(s) addresses; never from private networks.", "--fetch-urls"),
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
            pictures_from=(*study.pictures_from, *self.folders),
            without_pictures=study.without_pictures or self.without_pictures,
            fetch_urls=study.fetch_urls or self.fetch_urls,
        )


@dataclass(frozen=True)
class VoteOptions:
    """Which votes of people count, and how."""

    rule: Annotated[
        str,
        option(
            "How several people's votes on the same responses count as one: mean, median, majority, dawid-skene, each "
            "on its own, or adjudicated (a lead's ruling where there is one); default is the usual one of the ballot."
        ),
    ] = "default"
    visible: Annotated[
        bool, option("Count votes too that were cast with names in view; else they are left out.", "--visible")
    ] = False
    pilot: Annotated[bool, option("Count votes too that were cast in pilots; else they are left out.", "--pilot")] = (
        False
    )
    corrected: Annotated[
        bool, option("Judges' figures corrected by people's votes, all side by side.", "--corrected")
    ] = False


@dataclass(frozen=True)
class CallOptions:
    """Limits, place and display of the calls of a run."""

    budget: Annotated[float | None, option("Stop before this many dollars are spent.", min=0.0)] = None
    budget_for: Annotated[
        Literal["run", "study"], more("The budget is for this run, or for the study with all its earlier runs.")
    ] = "run"
    anyway: Annotated[
        bool, more("Go on with a judge although it has given 20 unusable verdicts and no usable one.", "--anyway")
    ] = False
    again: Annotated[
        bool, more("Ask again what failed for good before, such as prompts that were too long.", "--again")
    ] = False
    engine: Annotated[
        str | None, more("Where to ask from: here, ray (started here), ray:auto, ray:HOST:PORT, ray://...")
    ] = None
    dry_run: Annotated[bool, option("Say what would be asked and what it would cost; ask nothing.", "--dry-run")] = (
        False
    )
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
            self.print_tables([study_run.plan(book)])
        return 0

    def print_tables(self, tables: Sequence[Table], out: Path | None = None) -> None:
        print_tables(tables, as_json=self.as_json, out=out)


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
    from fullbench.studies.study_file import Study

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
        print_message(f"{study.path}: {sentence} (--safe refuses that)")


@contextmanager
def ledger_if_any(place: str | Path) -> Iterator[Ledger]:
    """Open the ledger read-only, or a temporary empty one if there is none: reading creates no file."""
    from fullbench.ledger.database_from_path import database_at
    from fullbench.ledger.ledger import Ledger

    file = database_at(place)
    if file.exists():
        with Ledger(place, read_only=True) as book:
            yield book
        return
    with TemporaryDirectory() as folder, Ledger(Path(folder) / file.path.name) as book:
        yield book
