"""`fullbench people splits`, `adjudicate`, `pilot`, `guidelines`: what leads do with a study for people."""

from __future__ import annotations

from typing import Annotated

import typer

from fullbench.cli.campaigns import NameArgument
from fullbench.cli.common import JsonOption, say, show
from fullbench.cli.people import DATA, DatabaseOption, DataOption, opened, organiser, people_app, settings_of
from fullbench.errors import InputError
from fullbench.core.column_labels import headings
from fullbench.core.note import Note


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
    from fullbench.web.campaigns.votes import adjudication, campaign_results
    from fullbench.web.campaigns import campaigns
    from fullbench.web.campaigns.tasks.task_content import Content

    wanted = {"split", "differ", "ruled"} if every else {"split"}
    rows: list[list[Cell]] = []
    with opened(settings) as connection:
        study = campaigns.named(connection, name)
        for task in adjudication.listed(connection, study):
            if task.standing not in wanted:
                continue
            content = Content.of(task.content)
            votes = [campaign_results.spoken(study, content, vote.label) for vote in task.votes if vote.label is not None]
            ruled = [campaign_results.spoken(study, content, vote.label) for vote in task.rulings[-1:] if vote.label is not None]
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
    from fullbench.web.campaigns.votes import adjudication
    from fullbench.web.campaigns import campaigns

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
    from fullbench.web.campaigns.create import pilot_campaign
    from fullbench.web.campaigns import campaigns
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
