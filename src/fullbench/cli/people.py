"""`fullbench people`: studies for people, made and read from the command line."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.options import DEFAULT_LEDGER, JsonOption, LedgerOption, VoteRuleOption, bar, say, show
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.errors import InputError, MissingExtra
from fullbench.files.writers import Columns
from fullbench.web.site_settings import TASK_LIMIT

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from fullbench.ledger.ledger import Ledger
    from fullbench.web.accounts.users import User
    from fullbench.web.campaigns.campaigns import Plan
    from fullbench.web.campaigns.create.campaign_from_data import Made, Material
    from fullbench.web.campaigns.create.task_creation import Run
    from fullbench.web.site_settings import Settings

people_app = typer.Typer(
    help="Studies for people: make one, see how it stands, take the labels out.", no_args_is_help=True
)

DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", envvar="FULLBENCH_DATABASE", help="As for `fullbench serve`; a SQLite file in --data."),
]
DataOption = Annotated[Path, typer.Option("--data", envvar="FULLBENCH_DATA", help="As for `fullbench serve`.")]
TASK_LIMIT_VARIABLE = "FULLBENCH_TASK_LIMIT"
TaskLimitOption = Annotated[
    int,
    typer.Option("--task-limit", envvar=TASK_LIMIT_VARIABLE, min=1, help="Tasks that one study may have."),
]
DATA = Path("fullbench-web")
ASKED: Columns = {
    "item": "text", "contestants": "json", "samples": "json", "ballot": "text", "criterion": "text",
    "probability": "float", "question": "text", "rater": "text", "marks": "json",
}  # fmt: skip


def settings_of(database: str | None, data: Path, task_limit: int | None = None) -> Settings:
    """Return the settings of the site.

    Args:
        database: The URL of its database; None for a SQLite file in `data`.
        data: Its folder.
        task_limit: Number of tasks that a study may have; None for FULLBENCH_TASK_LIMIT, or else the default.
    """
    try:
        import fastapi  # noqa: F401
        import sqlalchemy  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtra("studies for people", "web") from error
    from fullbench.web.site_settings import Settings

    return Settings(
        database or f"sqlite:///{data / 'web.sqlite'}", data=data.resolve(), task_limit=task_limit or limit_set()
    )


def limit_set() -> int:
    """Return the number of tasks that a study may have, for commands without --task-limit."""
    text = os.environ.get(TASK_LIMIT_VARIABLE) or str(TASK_LIMIT)
    if not text.isdecimal() or not int(text):
        raise InputError(f"{TASK_LIMIT_VARIABLE} is a whole number from 1; found {text!r}. Correct or unset it.")
    return int(text)


@contextmanager
def opened_database(settings: Settings) -> Iterator[Engine]:
    """The site's database, which is made if there is none."""
    from fullbench.web.database import engine_for, upgrade

    settings.data.mkdir(parents=True, exist_ok=True)
    engine = engine_for(settings.database)
    try:
        upgrade(engine)
        yield engine
    finally:
        engine.dispose()


@contextmanager
def opened(settings: Settings) -> Iterator[Connection]:
    """One transaction on the site's database, which is made if there is none."""
    from fullbench.web.database import writing

    with opened_database(settings) as engine, writing(engine) as connection:
        yield connection


def make_study(settings: Settings, plan: Plan, material: Material, *, draft: bool = False) -> Made:
    """Make a study with all its tasks; a running site keeps answering meanwhile.

    Args:
        settings: The site.
        plan: The study.
        material: What it is made of.
        draft: Whether it stays a draft.
    """
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.create import campaign_from_data
    from fullbench.web.database import reading, writing

    with opened_database(settings) as engine:
        prepared = campaign_from_data.prepare(engine, plan, material, settings.task_limit)
        with writing(engine) as connection:
            made = campaign_from_data.make(
                connection, settings, organiser(connection), plan, material=material, prepared=prepared, draft=draft
            )
        if made.plan is None:
            return made
        say(f"Creating {made.plan.count:,} tasks. Ctrl-C stops; the site or `fullbench people open` resumes.")
        campaign_from_data.complete(engine, made)
        work = run_creation(engine, made.study.id)
        with reading(engine) as connection:
            return replace(made, study=campaigns.study(connection, made.study.id), apart=work.pairs_apart)


def run_creation(engine: Engine, study_id: str) -> Run:
    """Create the tasks of a study that are still missing, with a bar on a terminal."""
    from fullbench.web.campaigns.create import task_creation
    from fullbench.web.database import reading

    with bar("Creating", quiet=False) as advance:

        def pause(seconds: float) -> None:
            with reading(engine) as connection:
                progress = task_creation.progress_of(connection, study_id)
            if progress is not None:
                advance("tasks", progress.created, progress.total)
            time.sleep(seconds)

        return task_creation.run(engine, study_id, pause)


def organiser(connection: Connection) -> User | None:
    """The organiser who has been there longest, in whose name pictures are kept; None where there is none yet."""
    from sqlalchemy import select

    from fullbench.web.accounts.account_tables import users
    from fullbench.web.accounts.users import COLUMNS, of_row

    query = select(*COLUMNS).where(users.c.role == "organiser", users.c.disabled.is_(False)).order_by(users.c.at)
    row = connection.execute(query).first()
    return None if row is None else of_row(row)


@contextmanager
def _ledger(path: str | None) -> Iterator[Ledger | None]:
    from fullbench.ledger.ledger import Ledger

    if path is None:
        yield None
        return
    with Ledger(path, read_only=True) as ledger:
        yield ledger


@people_app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="The study's name.")],
    kind: Annotated[str, typer.Option(help="pair, score, rank, agree, rate, verify, write or rewrite.")],
    items: Annotated[Path | None, typer.Option(help="Items, as for `fullbench judge`.")] = None,
    responses: Annotated[list[Path] | None, typer.Option(help="Responses; may be given several times.")] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Take items and responses (or, for agree, verdicts) from this ledger.")
    ] = None,
    queue: Annotated[Path | None, typer.Option(help="For rewrite: what `fullbench compose rewrite` wrote.")] = None,
    contestant: Annotated[list[str] | None, typer.Option(help="Only these contestants.")] = None,
    judge: Annotated[list[str] | None, typer.Option(help="For agree: only these judges.")] = None,
    ballot: Annotated[str, typer.Option(help="Another ballot than the kind's own, e.g. score:1-10 or choice.")] = "",
    criterion: Annotated[
        str, typer.Option(help="What is judged; for agree: only verdicts on this (overall: on all).")
    ] = "overall",
    asks: Annotated[
        list[str] | None,
        typer.Option(help="For write: instruction, caption or reference, again for more; the first two otherwise."),
    ] = None,
    guidelines: Annotated[Path | None, typer.Option(help="A text file that is shown beside every task.")] = None,
    votes: Annotated[int, typer.Option(help="Votes for each task.")] = 1,
    most: Annotated[int, typer.Option(help="Where people disagree, up to so many.")] = 0,
    unanimous: Annotated[bool, typer.Option("--unanimous", help="People agree only when all say the same.")] = False,
    gold: Annotated[Path | None, typer.Option(help="Labels of tasks that are sprinkled in.")] = None,
    gold_every: Annotated[int, typer.Option(help="One task in so many is gold.")] = 10,
    qualify: Annotated[Path | None, typer.Option(help="Labels of tasks that everybody answers first.")] = None,
    pass_share: Annotated[float, typer.Option(help="The share of these that must be right.")] = 0.7,
    apart: Annotated[Path | None, typer.Option(help="Pairs of items (one, other) for different people.")] = None,
    apart_by: Annotated[str, typer.Option(help="Items with the same value of this tag are for different people.")] = "",
    apart_from: Annotated[
        list[str] | None,
        typer.Option(help="Another study, or * for all: nobody meets the same picture in both. Again for more."),
    ] = None,
    per_item: Annotated[int, typer.Option(help="Pairs or responses of each item, drawn; 0 for all.")] = 0,
    limit: Annotated[int, typer.Option(help="Tasks at most; 0 for all.")] = 0,
    seed: Annotated[int, typer.Option(help="Decides orders and draws.")] = 0,
    ledger_study: Annotated[str, typer.Option("--study", help="The study of the ledger, where it has several.")] = "",
    paper: Annotated[
        str, typer.Option(help="The shipped guideline of this paper, as `people guidelines` lists them.")
    ] = "",
    reason: Annotated[bool, typer.Option("--reason", help="A reason must be written with every vote.")] = False,
    draft: Annotated[bool, typer.Option("--draft", help="Do not open it yet.")] = False,
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Items too that are marked as not verified (tag verified: no).")
    ] = False,
    with_reference: Annotated[
        bool, typer.Option("--with-reference", help="The items' references compete, as the contestant `reference`.")
    ] = False,
    own_pictures: Annotated[
        bool, typer.Option("--own-pictures", help="For write: people bring pictures in the places of those shown.")
    ] = False,
    by_gain: Annotated[
        bool, typer.Option("--by-gain", help="For pairs of a ledger: ask first where votes count most.")
    ] = False,
    pending: Annotated[
        str, typer.Option(help="Of a ledger: only what this cascade leaves to people, as cascade:NAME.")
    ] = "",
    task_limit: TaskLimitOption = TASK_LIMIT,
    database: DatabaseOption = None,
    data: DataOption = DATA,
) -> None:
    """Make a study for people from files or from a ledger; it opens at once, or with --draft when you open it.

    Examples:

        fullbench people add "which answer" --kind pair --ledger fullbench.ledger --votes 3 --most 5

        fullbench people add "is the judge right" --kind agree --ledger fullbench.ledger --judge length

        fullbench people add "the human board" --kind pair --ballot choice --votes 5 --items items.jsonl \\
            --responses answers.jsonl --with-reference

        fullbench people add "what waits" --kind pair --ledger fullbench.ledger --pending cascade:cheap
    """
    settings = settings_of(database, data, task_limit)
    from fullbench.web.campaigns.campaigns import Plan
    from fullbench.web.campaigns.create.campaign_from_data import Material
    from fullbench.web.campaigns.create.new_campaign_form import asking_of

    if guidelines is not None and not guidelines.is_file():
        raise InputError("there is no such file of guidelines", path=guidelines)
    plan = Plan(
        name, kind, ballot, criterion, guidelines.read_text(encoding="utf-8") if guidelines else "", votes=votes,
        most=most, settled_by="all" if unanimous else "majority", gold_every=gold_every, pass_share=pass_share,
        seed=seed,
        options={
            **({"paper": paper} if paper else {}),
            **({"reason": True} if reason else {}),
            **asking_of(kind, asks or (), own_pictures=own_pictures),
        },
    )  # fmt: skip
    with _ledger(ledger) as book:
        material = Material(
            items, tuple(responses or ()), queue, book, tuple(contestant or ()), tuple(judge or ()), gold, qualify,
            apart, apart_by, per_item, limit, tuple(apart_from or ()), ledger_study, unverified, by_gain, pending,
            with_reference,
        )  # fmt: skip
        counts = make_study(settings, plan, material, draft=draft)
    say(
        f"The study {name!r} is {counts.study.stage}: {counts.work:,} tasks, {counts.qualify:,} trial tasks, "
        f"{counts.gold:,} known answers, {counts.apart:,} pairs kept apart."
    )
    if by_gain:
        from fullbench.web.campaigns.tasks.most_informative_first import sentence

        say(sentence(counts.study.rules.options["gain"]))
    for note in counts.omitted.notes():
        say(note)


@people_app.command("list")
def listing(as_json: JsonOption = False, database: DatabaseOption = None, data: DataOption = DATA) -> None:
    """All studies and how far they are."""
    from fullbench.core.table import Cell, Table

    settings = settings_of(database, data)
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.votes.vote_quality import progress

    with opened(settings) as connection:
        listed = campaigns.listed(connection, count=10_000)
        far = [(study, progress(connection, study, time.time())) for study in listed]
    columns = headings("study", "kind", "state", "votes", "wanted", "settled tasks", "tasks", "people")
    rows: list[list[Cell]] = [
        [study.name, study.kind_name, study.state, p.voted, p.wanted, p.settled, p.tasks, p.people] for study, p in far
    ]
    show(
        [Table("studies", Note("cli.people.title.studies-for-people", "Studies for people"), columns, rows)],
        as_json=as_json,
    )


@people_app.command("show")
def show_study(
    name: Annotated[str, typer.Argument(help="The study's name.")],
    rule: VoteRuleOption = "default",
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    data: DataOption = DATA,
) -> None:
    """How a study stands: contestants, agreement, and each person's quality."""
    settings = settings_of(database, data)
    from fullbench.analysis.people.joined_votes import rule_of
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.votes import campaign_results, vote_quality
    from fullbench.web.campaigns.votes.counted_votes import counted, names

    joining = rule_of(rule)
    with opened(settings) as connection:
        study = campaigns.named(connection, name)
        votes = counted(connection, study)
        known = counted(connection, study, roles=("gold", "qualify"))
        people = names(connection)
        tables = [
            *campaign_results.contestants(connection, study, joining),
            vote_quality.agreement(study, votes),
            vote_quality.quality(votes, known, people),
        ]
    show([table for table in tables if table is not None], as_json=as_json)


@people_app.command("export")
def export(
    name: Annotated[str, typer.Argument(help="The study's name.")],
    to: Annotated[Path, typer.Option(help="The file: .jsonl, .parquet, .csv ...")],
    what: Annotated[
        str,
        typer.Option(
            help="votes (all, with revisions), items (what people wrote), queue (for compose accept), or arrivals (who "
            "came by the study's link, and how much each did)."
        ),
    ] = "votes",
    database: DatabaseOption = None,
    data: DataOption = DATA,
) -> None:
    """Write every single vote of a study to a file; or the items that people wrote, a queue with their answers, or who
    came by the study's link."""
    settings = settings_of(database, data)
    from fullbench.files.item_files import write_items, write_rows
    from fullbench.web.campaigns import campaigns, group_links
    from fullbench.web.campaigns.votes import vote_export

    if what not in {"votes", "items", "queue", "arrivals"}:
        raise InputError(f"export votes, items, queue or arrivals; found {what!r}")
    with opened(settings) as connection:
        study = campaigns.named(connection, name)
        if what == "votes":
            count = vote_export.export(connection, study, to)
        elif what == "arrivals":
            count = write_rows(to, group_links.rows(connection, study), group_links.COLUMNS)
        elif what == "items":
            count = write_items(to, vote_export.written(connection, study, vote_export.finder(settings)))
        else:
            count = write_rows(to, vote_export.answered(connection, study))
    say(f"Written: {to} ({count:,} {'votes' if what == 'votes' else 'people' if what == 'arrivals' else 'rows'})")


@people_app.command("keep")
def keep(
    name: Annotated[str, typer.Argument(help="The study's name.")],
    ledger: Annotated[str, typer.Option(help="The ledger that takes the verdicts.", envvar="FULLBENCH_LEDGER")],
    ledger_study: Annotated[str, typer.Option("--study", help="The study of the ledger, where it has several.")] = "",
    pilot: Annotated[bool, typer.Option("--pilot", help="Also the votes of a pilot; their raters are marked.")] = False,
    database: DatabaseOption = None,
    data: DataOption = DATA,
) -> None:
    """Put a study's votes into a ledger: verdicts of the judge `human`, each person under a random id, no names.

    A vote that was changed is a revision: all stay, the latest counts.

    Example:

        fullbench people keep "which answer" --ledger fullbench.ledger
    """
    settings = settings_of(database, data)
    from fullbench.ledger.ledger import Ledger
    from fullbench.web import open_ledgers
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.votes import vote_export

    with Ledger(ledger) as whole:
        chosen = open_ledgers.study_of(whole, ledger_study)
    with Ledger(ledger, study=chosen) as book, opened(settings) as connection:
        study = campaigns.named(connection, name)
        counts = vote_export.keep(connection, study, book, vote_export.finder(settings, book), pilot=pilot)
    say(
        f"{counts.new:,} verdicts went into {book.place}, {counts.changed:,} of them changed votes; "
        f"{counts.known:,} were there."
    )
    if counts.older:
        say(f"{counts.older:,} votes are older than what the same person said in the ledger since; they were left out.")
    if counts.renamed:
        say(
            f"{counts.renamed:,} contestants of the ledger were called human:NAME by somebody's account; from now on "
            "they are read under a random id (ledger alias)."
        )


@people_app.command("next")
def next_pairs(
    to: Annotated[Path, typer.Option("--to", help="File to write: .jsonl, .json, .csv, .tsv (or .gz), .parquet.")],
    ledger: LedgerOption = DEFAULT_LEDGER,
    votes: Annotated[int, typer.Option(min=1, help="How many pairs to ask about.")] = 100,
    judges: Annotated[
        list[str] | None, typer.Option("--judge", help="Whose rulings say where votes count. Again for more; all.")
    ] = None,
    criterion: Annotated[str, typer.Option(help="What is judged.")] = "overall",
    ballot: Annotated[str, typer.Option(help="How people vote.")] = "choice+tie",
    width: Annotated[float, typer.Option(min=0.1, help="Say how many votes bring ratings to ± so many points.")] = 25.0,
    planned: Annotated[int, typer.Option(min=1, help="About how many votes are to be cast in all.")] = 400,
    ledger_study: Annotated[str | None, typer.Option("--study", help="The study, where it has several.")] = None,
    seed: Annotated[int, typer.Option(help="Decides what is drawn.")] = 0,
) -> None:
    """Write the pairs to ask people about next: where votes shrink the corrected leaderboard fastest.

    Fill the column `marks` and take the file in with `fullbench ledger import`. The column `probability` is the chance
    that a pair had of being asked about; `--corrected` figures weigh votes by it, so they stay unbiased.

    Example:

        fullbench people next --ledger fullbench.ledger --votes 100 --to ask.jsonl
    """
    from fullbench.analysis.people.next_pairs_to_vote_on import queue
    from fullbench.core.verdict import PEOPLE
    from fullbench.files.item_files import write_rows
    from fullbench.ledger.ledger import Ledger

    with Ledger(ledger, read_only=True) as book:
        study = book.one_study(ledger_study)
        columns = book.columns(study=study).of(criterion=criterion)
        questions = {item.id: item.question for item in book.items(study=study)}
    ruling = judges or [judge for judge in columns.judges() if judge != PEOPLE]
    ordered = queue(columns, ruling, planned=planned, seed=seed)
    asked = ordered.asks[:votes]
    rows = (
        {
            "item": ask.item, "contestants": list(ask.contestants), "samples": list(ask.samples), "ballot": ballot,
            "criterion": criterion, "probability": ask.probability, "question": questions.get(ask.item),
            "rater": None, "marks": None,
        }
        for ask in asked
    )  # fmt: skip
    count = write_rows(to, rows, ASKED)
    say(f"Written: {to} ({count:,} pairs of {len(ordered.asks):,} that nobody voted on)")
    say(ordered.sentence(width))
