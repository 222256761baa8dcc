"""`fullbench people`: create, show and export studies for people."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.console import print_message, print_tables, progress_bar
from fullbench.cli.display_names_in_command_output import CURRENT
from fullbench.cli.shared_options_and_run_output import (
    JsonOption,
    LedgerOptions,
    RowsFileOption,
    SeedOption,
    VotedCriterionOption,
    VoteOptions,
    argument,
    more,
    option,
    options,
)
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError, require_extra
from fullbench.files.row_writers import Columns
from fullbench.web.site_settings_and_worker_transfer import TASK_LIMIT

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from fullbench.ledger.ledger import Ledger
    from fullbench.web.accounts.users import User
    from fullbench.web.campaigns.campaigns import Campaign, CampaignPlan
    from fullbench.web.campaigns.create.campaign_from_data import CreatedCampaign, Material
    from fullbench.web.campaigns.create.resumable_task_creation import CreationRun
    from fullbench.web.site_settings_and_worker_transfer import Settings

people_app = typer.Typer(help="Run campaigns in which people judge, and export their votes.", no_args_is_help=True)

TASK_LIMIT_VARIABLE = "FULLBENCH_TASK_LIMIT"
TaskLimitOption = Annotated[
    int, option("Maximum number of tasks in a campaign.", "--task-limit", envvar=TASK_LIMIT_VARIABLE, min=1)
]
NameArgument = Annotated[str, argument("Name of the campaign.")]
NEXT_PAIR_COLUMNS: Columns = {
    "item": "text", "contestants": "json", "samples": "json", "ballot": "text", "criterion": "text",
    "probability": "float", "question": "text", "rater": "text", "marks": "json",
}  # fmt: skip


@dataclass(frozen=True)
class SiteOptions:
    """The site with its accounts and studies for people."""

    database: Annotated[
        str | None,
        option(
            "Database of the web app, as for `fullbench serve`. Default: a SQLite file in --data.",
            envvar="FULLBENCH_DATABASE",
        ),
    ] = None
    data: Annotated[Path, option("Folder of the web app, as for `fullbench serve`.", envvar="FULLBENCH_DATA")] = Path(
        "fullbench-web"
    )

    def settings(self, task_limit: int | None = None) -> Settings:
        """Return the settings of the site.

        Args:
            task_limit: Number of tasks that a study may have; None for FULLBENCH_TASK_LIMIT, or else the default.
        """
        with require_extra("campaigns", "web"):
            import fastapi  # noqa: F401
            import sqlalchemy  # noqa: F401
        from fullbench.web.site_settings_and_worker_transfer import Settings

        return Settings(
            self.database or f"sqlite:///{self.data / 'web.sqlite'}",
            data=self.data.resolve(),
            task_limit=task_limit or task_limit_from_environment(),
        )


def task_limit_from_environment() -> int:
    """Return the number of tasks that a study may have, for commands without --task-limit."""
    text = os.environ.get(TASK_LIMIT_VARIABLE) or str(TASK_LIMIT)
    if not text.isdecimal() or not int(text):
        raise InputError(f"{TASK_LIMIT_VARIABLE} must be an integer from 1; found {text!r}. Correct or unset it.")
    return int(text)


@contextmanager
def open_database(settings: Settings) -> Iterator[Engine]:
    """Open the database of the site, created if there is none."""
    from fullbench.web.database import engine_for, upgrade_schema

    settings.data.mkdir(parents=True, exist_ok=True)
    engine = engine_for(settings.database)
    try:
        upgrade_schema(engine)
        yield engine
    finally:
        engine.dispose()


@contextmanager
def database_transaction(settings: Settings) -> Iterator[Connection]:
    """Open one transaction on the database of the site."""
    from fullbench.web.database import write_transaction

    with open_database(settings) as engine, write_transaction(engine) as connection:
        yield connection


@contextmanager
def campaign_transaction(settings: Settings, name: str) -> Iterator[tuple[Connection, Campaign]]:
    """Open one transaction, and return it with the study for people of this name."""
    from fullbench.web.campaigns.campaigns import campaign_by_name

    with database_transaction(settings) as connection:
        yield connection, campaign_by_name(connection, name)


def create_campaign(
    settings: Settings, plan: CampaignPlan, material: Material, *, draft: bool = False
) -> CreatedCampaign:
    """Make a study with all its tasks; a running site keeps answering meanwhile.

    Args:
        settings: The site.
        plan: The study.
        material: What it is made of.
        draft: Whether it stays a draft.
    """
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.create import campaign_from_data
    from fullbench.web.database import read_transaction, write_transaction

    with open_database(settings) as engine:
        preparation = campaign_from_data.prepare_campaign(engine, plan, material, settings.task_limit)
        with write_transaction(engine) as connection:
            created_campaign = campaign_from_data.create_campaign_from_material(
                connection,
                settings,
                find_organiser(connection),
                plan,
                material=material,
                preparation=preparation,
                draft=draft,
            )
        if created_campaign.plan is None:
            return created_campaign
        print_message(
            f"Creating {created_campaign.plan.count:,} tasks. Ctrl-C stops; the site or `fullbench people open` "
            "resumes."
        )
        campaign_from_data.store_large_campaign(engine, created_campaign)
        creation_run = run_creation(engine, created_campaign.campaign.id)
        with read_transaction(engine) as connection:
            return replace(
                created_campaign,
                campaign=campaigns.get_campaign(connection, created_campaign.campaign.id),
                conflict_count=creation_run.pairs_apart,
            )


def run_creation(engine: Engine, campaign_id: str) -> CreationRun:
    """Create the tasks of a study that are still missing, with a bar on a terminal."""
    from fullbench.web.campaigns.create import resumable_task_creation
    from fullbench.web.database import read_transaction

    with progress_bar("Creating", quiet=False) as advance:

        def pause(seconds: float) -> None:
            with read_transaction(engine) as connection:
                progress = resumable_task_creation.progress_of(connection, campaign_id)
            if progress is not None:
                advance("tasks", progress.created_count, progress.total)
            time.sleep(seconds)

        return resumable_task_creation.run_creation(engine, campaign_id, pause)


def find_organiser(connection: Connection) -> User | None:
    """Return the first organiser, who owns uploaded pictures; None if there is none yet."""
    from sqlalchemy import select

    from fullbench.web.accounts.account_and_shared_site_tables import users
    from fullbench.web.accounts.users import COLUMNS, user_from_row

    query = select(*COLUMNS).where(users.c.role == "organiser", users.c.disabled.is_(False)).order_by(users.c.at)
    row = connection.execute(query).first()
    return None if row is None else user_from_row(row)


@contextmanager
def _open_ledger(path: str | None) -> Iterator[Ledger | None]:
    from fullbench.ledger.ledger import Ledger

    if path is None:
        yield None
        return
    with Ledger(path, read_only=True) as ledger:
        CURRENT.use_ledger(ledger)
        yield ledger


@people_app.command("add")
@options("study paper reason draft unverified with_reference own_pictures by_gain pending task_limit database data")
def add(
    name: NameArgument,
    kind: Annotated[str, option("Kind of task: pair, score, rank, agree, rate, verify, write or rewrite.")],
    store: LedgerOptions,
    site: SiteOptions,
    items: Annotated[Path | None, option("Items: JSONL, CSV, Parquet, or a folder of pictures.")] = None,
    responses: Annotated[list[Path] | None, option("Responses: JSONL, CSV or Parquet. Repeatable.")] = None,
    ledger: Annotated[str | None, option("Ledger with the items and responses (for agree: with the verdicts).")] = None,
    queue: Annotated[Path | None, option("For rewrite: the file that `fullbench compose rewrite` wrote.")] = None,
    contestant: Annotated[list[str] | None, option("Use only this contestant. Repeatable.")] = None,
    judge: Annotated[list[str] | None, option("For agree: use only this judge. Repeatable.")] = None,
    ballot: Annotated[str, option("Ballot, for example score:1-10 or choice. Default: the ballot of the kind.")] = "",
    criterion: Annotated[
        str, option("Criterion to judge by. For agree: only verdicts on this criterion (overall: on all).")
    ] = "overall",
    texts: Annotated[
        list[str] | None,
        option("For write: instruction, caption or reference. Repeatable. Default: instruction and caption."),
    ] = None,
    guidelines: Annotated[Path | None, option("Text file with guidelines, shown next to every task.")] = None,
    votes: Annotated[int, option("Number of votes for each task.")] = 1,
    most: Annotated[int, option("Maximum number of votes for a task on which people disagree.")] = 0,
    unanimous: Annotated[bool, more("Count people as agreeing only if all votes are the same.", "--unanimous")] = False,
    gold: Annotated[Path | None, more("File of labels of gold tasks, mixed in with the others.")] = None,
    gold_every: Annotated[int, more("Make one task in N a gold task.")] = 10,
    qualify: Annotated[
        Path | None, more("File of labels of qualification tasks, which everybody answers first.")
    ] = None,
    pass_share: Annotated[float, more("Share of the qualification tasks that must be right.")] = 0.7,
    separate: Annotated[
        Path | None, more("File of pairs of items (one, other) that the same person must not get.")
    ] = None,
    separate_by: Annotated[str, more("Item tag: the same person does not get two items with the same value.")] = "",
    separate_from: Annotated[
        list[str] | None, more("Other campaign (or * for all): nobody gets the same picture in both. Repeatable.")
    ] = None,
    per_item: Annotated[int, option("Number of pairs or responses to draw for each item; 0 for all.")] = 0,
    limit: Annotated[int, option("Maximum number of tasks; 0 for no limit.")] = 0,
    seed: SeedOption = 0,
    paper: Annotated[str, more("Use the guideline of this paper, as `people guidelines` lists them.")] = "",
    reason: Annotated[bool, more("Require a reason with every vote.", "--reason")] = False,
    draft: Annotated[bool, option("Create the campaign as a draft. Open it later.", "--draft")] = False,
    unverified: Annotated[
        bool, more("Include items that are marked as not verified (tag verified: no).", "--unverified")
    ] = False,
    with_reference: Annotated[
        bool, more("Include the reference of each item as the contestant `reference`.", "--with-reference")
    ] = False,
    own_pictures: Annotated[
        bool, more("For write: let people upload pictures to replace those shown.", "--own-pictures")
    ] = False,
    by_gain: Annotated[
        bool, more("For pairs from a ledger: put the most informative tasks first.", "--by-gain")
    ] = False,
    pending: Annotated[
        str, more("From a ledger: use only cases that this cascade leaves to people, as cascade:NAME.")
    ] = "",
    task_limit: TaskLimitOption = TASK_LIMIT,
) -> None:
    """Create a campaign from files or from a ledger, and open it. With --draft, open it later.

    Examples:

        fullbench people add "which answer" --kind pair --ledger fullbench.ledger --votes 3 --most 5

        fullbench people add "is the judge right" --kind agree --ledger fullbench.ledger --judge length

        fullbench people add "the human board" --kind pair --ballot choice --votes 5 --items items.jsonl \
            --responses answers.jsonl --with-reference

        fullbench people add "what waits" --kind pair --ledger fullbench.ledger --pending cascade:cheap
    """
    settings = site.settings(task_limit)
    from fullbench.studies.ledger_display_names_and_name_lookup import find_contestants, find_judges
    from fullbench.web.campaigns.campaigns import CampaignPlan
    from fullbench.web.campaigns.create.campaign_from_data import Material
    from fullbench.web.campaigns.create.new_campaign_form import texts_option

    if guidelines is not None and not guidelines.is_file():
        raise InputError("There is no such file of guidelines.", path=guidelines)
    plan = CampaignPlan(
        name, kind, ballot, criterion, guidelines.read_text(encoding="utf-8") if guidelines else "", votes=votes,
        most=most, settled_by="all" if unanimous else "majority", gold_every=gold_every, pass_share=pass_share,
        seed=seed,
        options={
            **({"paper": paper} if paper else {}),
            **({"reason": True} if reason else {}),
            **texts_option(kind, texts or (), own_pictures=own_pictures),
        },
    )  # fmt: skip
    with _open_ledger(ledger) as book:
        contestants = contestant or [] if book is None else find_contestants(book, contestant or [])
        judges = judge or [] if book is None else find_judges(book, judge or [])
        material = Material(
            items, tuple(responses or ()), queue, book, tuple(contestants), tuple(judges), gold, qualify,
            separate, separate_by, per_item, limit, tuple(separate_from or ()), store.study or "", unverified,
            by_gain, pending,
            with_reference,
        )  # fmt: skip
        counts = create_campaign(settings, plan, material, draft=draft)
    print_message(
        f"The campaign {name!r} is {counts.campaign.stage}: {counts.work:,} tasks, {counts.qualify:,} qualification "
        f"tasks, {counts.gold:,} gold tasks, {counts.conflict_count:,} pairs kept apart."
    )
    if by_gain:
        from fullbench.web.campaigns.tasks.most_informative_first import gain_sentence

        print_message(gain_sentence(counts.campaign.rules.options["gain"]))
    print_message(*counts.omitted_counts.notes())


@people_app.command("list")
@options("as_json database data")
def listing(site: SiteOptions, as_json: JsonOption = False) -> None:
    """List all campaigns and their progress."""
    from fullbench.core.table import Cell, Table

    settings = site.settings()
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.votes.progress_annotator_agreement_and_joined_votes import campaign_progress

    with database_transaction(settings) as connection:
        all_campaigns = campaigns.list_campaigns(connection, count=10_000)
        progress_rows = [(campaign, campaign_progress(connection, campaign, time.time())) for campaign in all_campaigns]
    columns = table_columns("study", "kind", "state", "votes", "wanted", "settled tasks", "tasks", "people")
    rows: list[list[Cell]] = [
        [
            campaign.name,
            campaign.kind_name,
            campaign.state,
            p.votes_given,
            p.votes_wanted,
            p.settled_tasks,
            p.tasks,
            p.people,
        ]
        for campaign, p in progress_rows
    ]
    print_tables([Table("studies", Note("cli.people.title.studies-for-people"), columns, rows)], as_json=as_json)


@people_app.command("show")
@options("rule as_json database data")
def show_study(name: NameArgument, counted: VoteOptions, site: SiteOptions, as_json: JsonOption = False) -> None:
    """Show the results of a campaign: contestants, agreement, and the quality of each person."""
    settings = site.settings()
    from fullbench.analysis.people.joined_votes import rule_of
    from fullbench.web.campaigns.votes import leaderboard_and_task_list, progress_annotator_agreement_and_joined_votes
    from fullbench.web.campaigns.votes.counted_vote_loader import account_names, load_counted_votes

    vote_rule = rule_of(counted.rule)
    with campaign_transaction(settings, name) as (connection, campaign):
        votes = load_counted_votes(connection, campaign)
        known_votes = load_counted_votes(connection, campaign, roles=("gold", "qualify"))
        people = account_names(connection)
        tables = [
            *leaderboard_and_task_list.contestant_tables(connection, campaign, vote_rule),
            progress_annotator_agreement_and_joined_votes.agreement_table(
                campaign, votes, progress_annotator_agreement_and_joined_votes.task_items(connection, campaign)
            ),
            progress_annotator_agreement_and_joined_votes.annotator_table(votes, known_votes, people),
        ]
    print_tables([table for table in tables if table is not None], as_json=as_json)


@people_app.command("export")
@options("database data")
def export(
    name: NameArgument,
    to: RowsFileOption,
    site: SiteOptions,
    what: Annotated[
        str,
        option(
            "Content: votes (all, with revisions), items (that people wrote), queue (for `compose accept`), or "
            "arrivals (people who used the campaign's link)."
        ),
    ] = "votes",
) -> None:
    """Export the votes of a campaign to a file, or other data of it with --what."""
    settings = site.settings()
    from fullbench.files.item_response_verdict_files import write_items
    from fullbench.files.row_writers import write_rows
    from fullbench.web.campaigns import group_links
    from fullbench.web.campaigns.votes import vote_export

    if what not in {"votes", "items", "queue", "arrivals"}:
        raise InputError(f"--what is votes, items, queue or arrivals; found {what!r}.")
    with campaign_transaction(settings, name) as (connection, campaign):
        if what == "votes":
            count = vote_export.export_votes(connection, campaign, to)
        elif what == "arrivals":
            count = write_rows(to, group_links.arrival_rows(connection, campaign), group_links.COLUMNS)
        elif what == "items":
            count = write_items(
                to, vote_export.written_items(connection, campaign, vote_export.picture_finder(settings))
            )
        else:
            count = write_rows(to, vote_export.queue_answer_rows(connection, campaign))
    print_message(
        f"Written: {to} ({count:,} {'votes' if what == 'votes' else 'people' if what == 'arrivals' else 'rows'})"
    )


@people_app.command("keep")
@options("ledger study pilot database data")
def keep(
    name: NameArgument,
    ledger: Annotated[str, option("Ledger for the verdicts.", envvar="FULLBENCH_LEDGER")],
    store: LedgerOptions,
    site: SiteOptions,
    pilot: Annotated[bool, option("Include the votes of a pilot. Their raters are marked.", "--pilot")] = False,
) -> None:
    """Store the votes of a campaign in a ledger, as verdicts of the judge `human`. Each person has a random id and no
    name.

    A changed vote is a revision: all revisions are stored, and the latest counts.

    Example:

        fullbench people keep "which answer" --ledger fullbench.ledger
    """
    keep_votes(site, name, ledger, store.study, pilot=pilot)


def keep_votes(site: SiteOptions, name: str, ledger: str, study: str | None = None, *, pilot: bool = False) -> None:
    """Copy the votes of a study for people to a ledger.

    Args:
        site: The site.
        name: The study for people.
        ledger: The ledger.
        study: The study in the ledger, if it has several.
        pilot: Whether votes of a pilot are copied too.
    """
    settings = site.settings()
    from fullbench.ledger.ledger import Ledger
    from fullbench.web import shared_writable_ledgers_by_study
    from fullbench.web.campaigns.votes import vote_export

    with Ledger(ledger) as writable_ledger:
        study_name = shared_writable_ledgers_by_study.ledger_study_name(writable_ledger, study or "")
    with Ledger(ledger, study=study_name) as book, campaign_transaction(settings, name) as (connection, campaign):
        counts = vote_export.export_to_ledger(
            connection, campaign, book, vote_export.picture_finder(settings, book), pilot=pilot
        )
    print_message(
        f"{counts.new_count:,} verdicts were added to {book.place}, {counts.changed_count:,} of them changed votes; "
        f"{counts.known_count:,} were already there."
    )
    if counts.older_count:
        print_message(
            f"{counts.older_count:,} votes were skipped, because the ledger has a later vote of the same person."
        )
    if counts.renamed_count:
        print_message(
            f"{counts.renamed_count:,} contestants of the ledger had an account name (human:NAME). They are now "
            "shown under a random id (ledger alias)."
        )


@people_app.command("next")
@options("ledger votes judges criterion ballot width planned study seed")
def next_pairs(
    to: RowsFileOption,
    store: LedgerOptions,
    votes: Annotated[int, option("Number of pairs to vote on.", min=1)] = 100,
    judges: Annotated[
        list[str] | None,
        option("Judge whose verdicts are used to choose the pairs. Repeatable. Default: all.", "--judge"),
    ] = None,
    criterion: VotedCriterionOption = None,
    ballot: Annotated[str, option("Ballot for the votes.")] = "choice+tie",
    width: Annotated[
        float, option("Show the number of votes that brings rating intervals to ± N points.", min=0.1)
    ] = 25.0,
    planned: Annotated[int, option("Approximate number of votes planned in all.", min=1)] = 400,
    seed: SeedOption = 0,
) -> None:
    """Write the pairs that people should vote on next, because these votes improve the corrected leaderboard most.

    Fill in the column `marks` and import the file with `fullbench ledger import`. The column `probability` is the
    chance that a pair was drawn. `--corrected` weights votes by it, so the results are unbiased.

    Example:

        fullbench people next --ledger fullbench.ledger --votes 100 --to next.jsonl
    """
    from fullbench.analysis.people.next_pairs_to_vote_on import build_queue
    from fullbench.analysis.people.votes_needed_for_ratings import select_criterion
    from fullbench.core.verdict import PEOPLE
    from fullbench.files.row_writers import write_rows
    from fullbench.studies.ledger_display_names_and_name_lookup import find_judges

    with store.read() as book:
        requested_judges = find_judges(book, judges or [])
        study = book.one_study(store.study)
        criterion, columns = select_criterion(book.columns(study=study), criterion, "pair")
        questions = {item.id: item.question for item in book.items(study=study)}
    judge_names = requested_judges or [judge for judge in columns.judges() if judge != PEOPLE]
    pair_queue = build_queue(columns, judge_names, planned_votes=planned, seed=seed)
    next_asks = pair_queue.pairs[:votes]
    rows = (
        {
            "item": ask.item, "contestants": list(ask.contestants), "samples": list(ask.samples), "ballot": ballot,
            "criterion": criterion, "probability": ask.probability, "question": questions.get(ask.item),
            "rater": None, "marks": None,
        }
        for ask in next_asks
    )  # fmt: skip
    count = write_rows(to, rows, NEXT_PAIR_COLUMNS)
    print_message(f"Written: {to} ({count:,} of {len(pair_queue.pairs):,} pairs without votes)")
    print_message(pair_queue.sentence(width))
