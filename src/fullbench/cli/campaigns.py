"""`fullbench people set`, `open`, `close`, `cancel`, `assign`: how a study for people is run once it is there."""

from __future__ import annotations

from typing import Annotated

import typer

from fullbench.cli.common import say
from fullbench.cli.people import (
    DATA,
    DatabaseOption,
    DataOption,
    opened,
    opened_database,
    people_app,
    run_creation,
    settings_of,
)
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
    from fullbench.web.database import writing
    from fullbench.web.campaigns.create import task_creation
    from fullbench.web.campaigns import campaigns

    with opened_database(settings) as engine:
        with writing(engine) as connection:
            study = campaigns.named(connection, name)
            if not (study.stage == "creating" and task_creation.cancel(connection, study.id)):
                raise InputError(f"All tasks of {name!r} are created, so nothing can be cancelled.")
        task_creation.run(engine, study.id)
    say(f"The creation of {name!r} is cancelled, and its tasks are removed.")


def _state(name: str, state: str, database: str | None, data: DataOption) -> None:
    settings = settings_of(database, data)
    from fullbench.web.database import reading, writing
    from fullbench.web.campaigns import campaigns

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
    from fullbench.web.campaigns.tasks import guidelines
    from fullbench.web.campaigns import campaigns

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
