"""`fullbench people link`: one link by which many people come to a study."""

from __future__ import annotations

from typing import Annotated

import typer

from fullbench.cli.campaigns import NameArgument
from fullbench.cli.common import say
from fullbench.cli.people import DATA, DatabaseOption, DataOption, opened, organiser, people_app, settings_of
from fullbench.errors import InputError


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
    from fullbench.web.campaigns import group_links, campaigns

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
