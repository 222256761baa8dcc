"""`fullbench people set`, `open`, `close`, `cancel`, `assign`: how a study for people is run once it is there."""

from __future__ import annotations

from typing import Annotated

import typer

from fullbench.cli.options import JsonOption, say, show
from fullbench.cli.people import (
    DATA,
    DatabaseOption,
    DataOption,
    opened,
    opened_database,
    organiser,
    people_app,
    run_creation,
    settings_of,
)
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.errors import InputError

NameArgument = Annotated[str, typer.Argument(help="The study's name.")]


@people_app.command("open")
def open_(name: NameArgument, database: DatabaseOption = None, data: DataOption = DATA) -> None:
    """Open a study again. If the creation of its tasks was interrupted, it is resumed first."""
    _state(name, "open", database, data)


@people_app.command("close")
def close(name: NameArgument, database: DatabaseOption = None, data: DataOption = DATA) -> None:
    """Close a study: nobody votes any more, and its cases are shown to everybody again."""
    _state(name, "closed", database, data)


@people_app.command("cancel")
def cancel(name: NameArgument, database: DatabaseOption = None, data: DataOption = DATA) -> None:
    """Cancel the creation of a study's tasks. Nothing of the study remains."""
    settings = settings_of(database, data)
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.create import task_creation
    from fullbench.web.database import writing

    with opened_database(settings) as engine:
        with writing(engine) as connection:
            study = campaigns.named(connection, name)
            if not (study.stage == "creating" and task_creation.cancel(connection, study.id)):
                raise InputError(f"All tasks of {name!r} are created, so nothing can be cancelled.")
        task_creation.run(engine, study.id)
    say(f"The creation of {name!r} is cancelled, and its tasks are removed.")


def _state(name: str, state: str, database: str | None, data: DataOption) -> None:
    settings = settings_of(database, data)
    from fullbench.web.campaigns import campaigns
    from fullbench.web.database import reading, writing

    with opened_database(settings) as engine:
        with reading(engine) as connection:
            study = campaigns.named(connection, name)
        if state == "open" and study.stage == "creating":
            run_creation(engine, study.id)
        with writing(engine) as connection:
            study = campaigns.named(connection, name)
            campaigns.set_state(connection, study.id, "open" if state == "open" else "closed")
    say(f"The study {name!r} is {state}.")


@people_app.command("set")
def set_(
    name: NameArgument,
    results: Annotated[
        bool | None, typer.Option("--results/--no-results", help="Whether its annotators may see results meanwhile.")
    ] = None,
    reference: Annotated[
        bool | None, typer.Option("--reference/--no-reference", help="Whether the reference is shown beside the task.")
    ] = None,
    reason: Annotated[
        bool | None, typer.Option("--reason/--no-reason", help="Whether a reason must be written.")
    ] = None,
    confirm: Annotated[
        bool | None, typer.Option("--confirm/--one-key", help="Whether a vote on a pair is confirmed with Enter.")
    ] = None,
    paper: Annotated[
        str | None, typer.Option(help="The shipped guideline of this paper; empty for the plain one of the kind.")
    ] = None,
    assigned: Annotated[
        bool | None, typer.Option("--assigned/--for-all", help="Whether only people who are assigned may work in it.")
    ] = None,
    database: DatabaseOption = None,
    data: DataOption = DATA,
) -> None:
    """Change how a study is run. What is not named stays as it is.

    Example:

        fullbench people set "which answer" --results --reference
    """
    settings = settings_of(database, data)
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.tasks import guidelines

    changes = {"results": results, "reference": reference, "reason": reason, "confirm": confirm, "assigned": assigned}
    with opened(settings) as connection:
        study = campaigns.named(connection, name)
        chosen: dict[str, bool | str] = {key: value for key, value in changes.items() if value is not None}
        if paper is not None:
            chosen["paper"] = guidelines.checked(paper, study.kind_name)
        options = campaigns.set_options(connection, study, chosen)
    said = ", ".join(f"{key}: {'yes' if options.get(key) else 'no'}" for key in changes)
    say(f"The study {name!r}: {said}.")


@people_app.command("assign")
def assign(
    name: NameArgument,
    person: Annotated[list[str], typer.Argument(help="Names of accounts.")],
    database: DatabaseOption = None,
    data: DataOption = DATA,
) -> None:
    """Let people work in a study; from then on it is for those who are assigned alone.

    Example:

        fullbench people assign "which answer" ann bob
    """
    settings = settings_of(database, data)
    from fullbench.web.campaigns import campaign_members, campaigns

    with opened(settings) as connection:
        study = campaigns.named(connection, name)
        new = campaign_members.assign(connection, study, person)
    say(f"{new} people were assigned to the study {name!r}, {len(set(person)) - new} had been before.")


# `fullbench people link`: one link by which many people come to a study.


@people_app.command("link")
def link(
    name: NameArgument,
    places: Annotated[int, typer.Option(help="How many people may come.")] = 100,
    days: Annotated[int, typer.Option(help="How many days it works.")] = 30,
    each: Annotated[int, typer.Option(help="Tasks for each person; 0 for all.")] = 0,
    code: Annotated[
        str, typer.Option(help="The completion code at the end, or the https:// address that people return to.")
    ] = "",
    any_browser: Annotated[
        bool, typer.Option("--any-browser", help="Let whoever gives an id go on with its work, from every browser.")
    ] = False,
    release: Annotated[
        str, typer.Option(metavar="ID", help="Make no link: let this id go on in another browser than its own.")
    ] = "",
    end: Annotated[bool, typer.Option("--end", help="Make no link: end the one there is; who came works on.")] = False,
    database: DatabaseOption = None,
    data: DataOption = DATA,
) -> None:
    """Print one link for many people, in place of an earlier one: each gives an id, works in this study alone, and gets
    a code at the end. `people export --what arrivals` says who came.

    Examples:

        fullbench people link "which answer" --places 40 --each 20 --code C1A2B3

        fullbench people link "which answer" --release 5f3c

        fullbench people link "which answer" --end
    """
    if end and release:
        raise InputError("--end and --release are two things: give one of them")
    settings = settings_of(database, data)
    from fullbench.web.accounts import audit_log
    from fullbench.web.accounts.random_ids_and_digests import address
    from fullbench.web.campaigns import campaigns, group_links

    with opened(settings) as connection:
        study, lead = campaigns.named(connection, name), organiser(connection)
        if end:
            if group_links.GroupLink.of(study) is None:
                raise InputError(f"the study {name!r} has no link that could end")
            group_links.end(connection, study)
            audit_log.write(connection, lead, "group link ended", study.name)
        elif release:
            group_links.release(connection, study, release)
            audit_log.write(connection, lead, "id released", study.name, id=release)
        else:
            secret = group_links.make(
                connection, study, places=places, days=days, each=each, code=code, any_browser=any_browser
            )
            audit_log.write(connection, lead, "group link made", study.name)
            base = address(connection) or settings.base
    if end:
        say(f"The link of {name!r} has ended; who came by it works on.")
    elif release:
        say(f"Whoever comes next with the id {release!r} goes on with its work in {name!r}.")
    else:
        typer.echo(base + group_links.path(study, secret))


# `fullbench people splits`, `adjudicate`, `pilot`, `guidelines`: what leads do with a study for people.


@people_app.command("splits")
def splits(
    name: NameArgument,
    every: Annotated[bool, typer.Option("--all", help="All tasks on which people are not of one mind.")] = False,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    data: DataOption = DATA,
) -> None:
    """The tasks on which people are split, with what was said: for `people adjudicate`.

    Example:

        fullbench people splits "which answer"
    """
    settings = settings_of(database, data)
    from fullbench.core.table import Cell, Table
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.tasks.task_content import Content
    from fullbench.web.campaigns.votes import adjudication, campaign_results

    wanted = {"split", "differ", "ruled"} if every else {"split"}
    rows: list[list[Cell]] = []
    with opened(settings) as connection:
        study = campaigns.named(connection, name)
        for task in adjudication.listed(connection, study):
            if task.standing not in wanted:
                continue
            content = Content.of(task.content)
            votes = [
                campaign_results.spoken(study, content, vote.label) for vote in task.votes if vote.label is not None
            ]
            ruled = [
                campaign_results.spoken(study, content, vote.label)
                for vote in task.rulings[-1:]
                if vote.label is not None
            ]
            shown = ", ".join(response.contestant for response in content.responses)
            rows.append([task.id, content.item.id, shown, "; ".join(votes), ruled[0] if ruled else ""])
    columns = headings("task", "item", "contestants", "votes", "ruling")
    show([Table("splits", Note("cli.people.title.splits", "Splits"), columns, rows)], as_json=as_json)


@people_app.command("adjudicate")
def adjudicate(
    name: NameArgument,
    task: Annotated[int, typer.Argument(help="The task, as `people splits` numbers it.")],
    field: Annotated[
        list[str],
        typer.Option(
            "--set", help="NAME=VALUE of the form, e.g. best=0 (the first response), best=tie, mark=4, order=1,0."
        ),
    ],
    reason: Annotated[str, typer.Option(help="Why.")] = "",
    database: DatabaseOption = None,
    data: DataOption = DATA,
) -> None:
    """Rule on a task where people are split. Every vote stays; `--rule adjudicated` counts this ruling in their place.

    Example:

        fullbench people adjudicate "which answer" 12 --set best=0 --reason "B misreads the sign"
    """
    settings = settings_of(database, data)
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.votes import adjudication

    wrong = [setting for setting in field if "=" not in setting]
    if wrong:
        raise InputError(f"write NAME=VALUE; found {wrong[0]!r}")
    fields = dict(setting.split("=", 1) for setting in field) | ({"reason": reason} if reason else {})
    with opened(settings) as connection:
        study = campaigns.named(connection, name)
        there = adjudication.task_of(connection, study, task)
        if there is None:
            raise InputError(f"the study {name!r} has no task {task}; `fullbench people splits` lists them")
        lead = organiser(connection)
        if lead is None:
            raise InputError("nobody has an organiser's account yet: start `fullbench serve`, open the link it prints")
        revision = adjudication.rule(connection, study, there, lead, fields)
    say(f"Ruled on task {task} of {name!r} (revision {revision}); its {len(there.votes)} votes stay.")


@people_app.command("pilot")
def pilot(
    name: NameArgument,
    tasks: Annotated[int, typer.Option(help="How many tasks.")] = 10,
    database: DatabaseOption = None,
    data: DataOption = DATA,
) -> None:
    """Open a pilot of a few tasks of a study: its votes are marked, and left out unless you ask for them.

    Example:

        fullbench people pilot "which answer" --tasks 10
    """
    settings = settings_of(database, data)
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.create import pilot_campaign
    from fullbench.web.campaigns.votes.vote_quality import progress

    with opened(settings) as connection:
        new_pilot = pilot_campaign.make(connection, campaigns.named(connection, name), tasks, settings.task_limit)
        far = progress(connection, new_pilot, 0.0)
    say(f"The pilot {new_pilot.name!r} is open: {far.tasks:,} tasks.")


@people_app.command("guidelines")
def guidelines(
    kind: Annotated[str, typer.Argument(help="The kind of task; left out, all texts are listed.")] = "",
    paper: Annotated[str, typer.Option(help="The paper; left out, the plain text of the kind.")] = "",
    language: Annotated[str, typer.Option(help="en, zh, or both.")] = "both",
) -> None:
    """Print a guideline that is shipped, to be changed and given to `people add --guidelines`; or list them all.

    Example:

        fullbench people guidelines score --paper mllm-as-a-judge
    """
    settings_of(None, DATA)
    from fullbench.web.campaigns.tasks import guidelines
    from fullbench.web.campaigns.tasks.task_kinds import kind_of, kinds

    if not kind:
        for known in kinds():
            say(f"{known}: {', '.join([guidelines.PLAIN, *guidelines.papers_with(known)])}")
        return
    if language not in {"en", "zh", "both"}:
        raise InputError(f"a guideline is in en, zh or both; found {language!r}")
    name = guidelines.checked(paper, kind_of(kind).name) or guidelines.PLAIN
    english, chinese = guidelines.shipped(kind, "en", name), guidelines.shipped(kind, "zh", name)
    typer.echo({"en": english, "zh": chinese, "both": f"{english}\n\n<!-- zh -->\n\n{chinese}"}[language])
