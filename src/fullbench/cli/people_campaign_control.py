"""`fullbench people open`, `close`, `set`, `assign`, `link` and others: how a study for people is run."""

from __future__ import annotations

from typing import Annotated

import typer

from fullbench.cli.console import print_message, print_tables
from fullbench.cli.people import (
    NameArgument,
    SiteOptions,
    campaign_transaction,
    find_organiser,
    open_database,
    people_app,
    run_creation,
)
from fullbench.cli.shared_options_and_run_output import JsonOption, argument, option, options
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError


@people_app.command("open")
@options("database data")
def open_(name: NameArgument, site: SiteOptions) -> None:
    """Open a campaign again. If the creation of its tasks was interrupted, it continues first."""
    _set_state(name, "open", site)


@people_app.command("close")
@options("database data")
def close(name: NameArgument, site: SiteOptions) -> None:
    """Close a campaign: nobody can vote any more, and its cases become visible again."""
    _set_state(name, "closed", site)


@people_app.command("cancel")
@options("database data")
def cancel(name: NameArgument, site: SiteOptions) -> None:
    """Cancel the creation of a campaign's tasks. The campaign is deleted."""
    settings = site.settings()
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.create import resumable_task_creation
    from fullbench.web.database import write_transaction

    with open_database(settings) as engine:
        with write_transaction(engine) as connection:
            campaign = campaigns.campaign_by_name(connection, name)
            if not (campaign.stage == "creating" and resumable_task_creation.cancel_creation(connection, campaign.id)):
                raise InputError(f"All tasks of {name!r} exist already, so there is nothing to cancel.")
        resumable_task_creation.run_creation(engine, campaign.id)
    print_message(f"The creation of {name!r} was cancelled, and its tasks were removed.")


def _set_state(name: str, state: str, site: SiteOptions) -> None:
    settings = site.settings()
    from fullbench.web.campaigns import campaigns
    from fullbench.web.database import read_transaction, write_transaction

    with open_database(settings) as engine:
        with read_transaction(engine) as connection:
            campaign = campaigns.campaign_by_name(connection, name)
        if state == "open" and campaign.stage == "creating":
            run_creation(engine, campaign.id)
        with write_transaction(engine) as connection:
            campaign = campaigns.campaign_by_name(connection, name)
            campaigns.set_state(connection, campaign.id, "open" if state == "open" else "closed")
    print_message(f"The campaign {name!r} is {state}.")


@people_app.command("set")
@options("database data")
def set_(
    name: NameArgument,
    site: SiteOptions,
    results: Annotated[
        bool | None, option("Let annotators see results during the campaign.", "--results/--no-results")
    ] = None,
    reference: Annotated[
        bool | None, option("Show the reference next to the task.", "--reference/--no-reference")
    ] = None,
    reason: Annotated[bool | None, option("Require a reason with every vote.", "--reason/--no-reason")] = None,
    confirm: Annotated[
        bool | None, option("Confirm a vote on a pair with Enter, or use one key.", "--confirm/--one-key")
    ] = None,
    paper: Annotated[
        str | None, option("Use the guideline of this paper; empty for the plain one of the kind.")
    ] = None,
    assigned: Annotated[bool | None, option("Let only assigned people work on it.", "--assigned/--for-all")] = None,
) -> None:
    """Change settings of a campaign. Other settings stay the same.

    Example:

        fullbench people set "which answer" --results --reference
    """
    settings = site.settings()
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.tasks import shipped_guidelines_and_scale_anchors

    changes = {"results": results, "reference": reference, "reason": reason, "confirm": confirm, "assigned": assigned}
    with campaign_transaction(settings, name) as (connection, campaign):
        option_changes: dict[str, bool | str] = {key: value for key, value in changes.items() if value is not None}
        if paper is not None:
            option_changes["paper"] = shipped_guidelines_and_scale_anchors.check_paper(paper, campaign.kind_name)
        options = campaigns.set_options(connection, campaign, option_changes)
    options_text = ", ".join(f"{key}: {'yes' if options.get(key) else 'no'}" for key in changes)
    print_message(f"The campaign {name!r}: {options_text}.")


@people_app.command("assign")
@options("database data")
def assign(
    name: NameArgument,
    site: SiteOptions,
    person: Annotated[list[str], argument("Names of accounts.")],
) -> None:
    """Assign people to a campaign. Then only assigned people can work on it.

    Example:

        fullbench people assign "which answer" ann bob
    """
    settings = site.settings()
    from fullbench.web.campaigns import campaign_members

    with campaign_transaction(settings, name) as (connection, campaign):
        new = campaign_members.assign_people(connection, campaign, person)
    print_message(
        f"{new} people were assigned to the campaign {name!r}; {len(set(person)) - new} were assigned already."
    )


@people_app.command("link")
@options("database data")
def link(
    name: NameArgument,
    site: SiteOptions,
    max_people: Annotated[int, option("Maximum number of people.")] = 100,
    days: Annotated[int, option("Number of days that the link works.")] = 30,
    each: Annotated[int, option("Number of tasks for each person; 0 for all.")] = 0,
    code: Annotated[str, option("Completion code at the end, or the https:// address that people return to.")] = "",
    any_browser: Annotated[bool, option("Let people with an id continue in any browser.", "--any-browser")] = False,
    release: Annotated[
        str, option("Create no link. Let the person with this id continue in another browser.", metavar="ID")
    ] = "",
    end: Annotated[
        bool, option("Create no link. End the current one; people who used it can continue.", "--end")
    ] = False,
) -> None:
    """Print one link for many people. It replaces an earlier link.

    Each person gives an id, works only on this campaign, and gets a code at the end. `people export --what arrivals`
    shows who used the link.

    Examples:

        fullbench people link "which answer" --max-people 40 --each 20 --code C1A2B3

        fullbench people link "which answer" --release 5f3c

        fullbench people link "which answer" --end
    """
    if end and release:
        raise InputError("--end and --release exclude each other. Use one of them.")
    settings = site.settings()
    from fullbench.web.accounts import audit_log
    from fullbench.web.accounts.random_ids_digests_and_site_key import site_address
    from fullbench.web.campaigns import group_links

    with campaign_transaction(settings, name) as (connection, campaign):
        lead = find_organiser(connection)
        if end:
            if group_links.GroupLink.from_campaign(campaign) is None:
                raise InputError(f"The campaign {name!r} has no link to end.")
            group_links.end_group_link(connection, campaign)
            audit_log.write_entry(connection, lead, "group link ended", campaign.name)
        elif release:
            group_links.release_id(connection, campaign, release)
            audit_log.write_entry(connection, lead, "id released", campaign.name, id=release)
        else:
            secret = group_links.create_group_link(
                connection, campaign, max_people=max_people, days=days, each=each, code=code, any_browser=any_browser
            )
            audit_log.write_entry(connection, lead, "group link made", campaign.name)
            base = site_address(connection) or settings.base
    if end:
        print_message(f"The link of {name!r} has ended. People who used it can continue.")
    elif release:
        print_message(f"The next person with the id {release!r} can continue its work in {name!r}.")
    else:
        typer.echo(base + group_links.link_path(campaign, secret))


@people_app.command("splits")
@options("every as_json database data")
def splits(
    name: NameArgument,
    site: SiteOptions,
    every: Annotated[bool, option("Include all tasks with different votes.", "--all")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the tasks on which people disagree, with their votes. Decide them with `people adjudicate`.

    Example:

        fullbench people splits "which answer"
    """
    settings = site.settings()
    from fullbench.core.table import Cell, Table
    from fullbench.web.campaigns.tasks.task_content import Content
    from fullbench.web.campaigns.votes import adjudication, leaderboard_and_task_list

    standings = {"split", "differ", "adjudicated"} if every else {"split"}
    rows: list[list[Cell]] = []
    with campaign_transaction(settings, name) as (connection, campaign):
        for task in adjudication.list_tasks(connection, campaign):
            if task.standing not in standings:
                continue
            content = Content.from_json(task.content)
            votes, verdict_texts = (
                [
                    leaderboard_and_task_list.label_text(campaign, content, vote.label)
                    for vote in cast_votes
                    if vote.label is not None
                ]
                for cast_votes in (task.votes, task.adjudications[-1:])
            )
            contestant_names = ", ".join(response.contestant for response in content.responses)
            lead_verdict = verdict_texts[0] if verdict_texts else ""
            rows.append([task.id, content.item.id, contestant_names, "; ".join(votes), lead_verdict])
    columns = table_columns("task", "item", "contestants", "votes", "verdict")
    print_tables([Table("splits", Note("cli.people.title.splits"), columns, rows)], as_json=as_json)


@people_app.command("adjudicate")
@options("database data")
def adjudicate(
    name: NameArgument,
    site: SiteOptions,
    task: Annotated[int, argument("Task number, as `people splits` shows it.")],
    field: Annotated[
        list[str],
        option("Form field as NAME=VALUE: best=0 (first response), best=tie, mark=4, order=1,0. Repeatable.", "--set"),
    ],
    reason: Annotated[str, option("Reason for the decision.")] = "",
) -> None:
    """Decide a task on which people disagree. Every vote is kept; `--rule adjudicated` uses this decision instead.

    Example:

        fullbench people adjudicate "which answer" 12 --set best=0 --reason "B misreads the sign"
    """
    settings = site.settings()
    from fullbench.web.campaigns.votes import adjudication

    malformed_fields = [setting for setting in field if "=" not in setting]
    if malformed_fields:
        raise InputError(f"--set {malformed_fields[0]!r} is not NAME=VALUE.")
    fields = dict(setting.split("=", 1) for setting in field) | ({"reason": reason} if reason else {})
    with campaign_transaction(settings, name) as (connection, campaign):
        split_task = adjudication.task_of(connection, campaign, task)
        if split_task is None:
            raise InputError(f"The campaign {name!r} has no task {task}. `fullbench people splits` lists them.")
        lead = find_organiser(connection)
        if lead is None:
            raise InputError(
                "There is no lead's account yet. Start `fullbench serve` and open the link that it prints."
            )
        revision = adjudication.store_adjudication(connection, campaign, split_task, lead, fields)
    print_message(f"Decided task {task} of {name!r} (revision {revision}). Its {len(split_task.votes)} votes are kept.")


@people_app.command("pilot")
@options("database data")
def pilot(
    name: NameArgument,
    site: SiteOptions,
    tasks: Annotated[int, option("Number of tasks.")] = 10,
) -> None:
    """Open a pilot with a few tasks of a campaign. Its votes are marked, and excluded by default.

    Example:

        fullbench people pilot "which answer" --tasks 10
    """
    settings = site.settings()
    from fullbench.web.campaigns.create import pilot_campaign
    from fullbench.web.campaigns.votes.progress_annotator_agreement_and_joined_votes import campaign_progress

    with campaign_transaction(settings, name) as (connection, campaign):
        new_pilot = pilot_campaign.create_pilot(connection, campaign, tasks, settings.task_limit)
        pilot_progress = campaign_progress(connection, new_pilot, 0.0)
    print_message(f"The pilot {new_pilot.name!r} is open: {pilot_progress.tasks:,} tasks.")


@people_app.command("guidelines")
def guidelines(
    kind: Annotated[str, argument("Kind of task. Default: list all guidelines.")] = "",
    paper: Annotated[str, option("Paper. Default: the plain guideline of the kind.")] = "",
    language: Annotated[str, option("Language: en, zh or both.")] = "both",
) -> None:
    """Print a guideline, to change it and use it with `people add --guidelines`; or list all guidelines.

    Example:

        fullbench people guidelines score --paper mllm-as-a-judge
    """
    SiteOptions().settings()
    from fullbench.web.campaigns.tasks import shipped_guidelines_and_scale_anchors
    from fullbench.web.campaigns.tasks.task_kinds import kind_of, kinds_by_name

    if not kind:
        for kind_name in kinds_by_name():
            papers = shipped_guidelines_and_scale_anchors.papers_for_kind(kind_name)
            print_message(f"{kind_name}: {', '.join([shipped_guidelines_and_scale_anchors.PLAIN, *papers])}")
        return
    if language not in {"en", "zh", "both"}:
        raise InputError(f"--language is en, zh or both; found {language!r}.")
    name = (
        shipped_guidelines_and_scale_anchors.check_paper(paper, kind_of(kind).name)
        or shipped_guidelines_and_scale_anchors.PLAIN
    )
    english, chinese = (
        shipped_guidelines_and_scale_anchors.shipped_text(kind, "en", name),
        shipped_guidelines_and_scale_anchors.shipped_text(kind, "zh", name),
    )
    typer.echo({"en": english, "zh": chinese, "both": f"{english}\n\n<!-- zh -->\n\n{chinese}"}[language])
