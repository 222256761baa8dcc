"""`fullbench serve`: the web app."""

from __future__ import annotations

import errno
import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from fullbench.cli.options import say
from fullbench.cli.people import TaskLimitOption
from fullbench.errors import InputError, MissingExtra
from fullbench.web.site_settings import TASK_LIMIT

if TYPE_CHECKING:
    from fullbench.web.site_settings import Settings


def serve(
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", envvar="FULLBENCH_LEDGER", help="The ledger to show: a path or a URL."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            envvar="FULLBENCH_DATABASE",
            help="Accounts and votes: postgresql://USER@HOST/NAME. A SQLite file in --data where left out.",
        ),
    ] = None,
    data: Annotated[
        Path, typer.Option("--data", envvar="FULLBENCH_DATA", help="Folder of the SQLite file and of uploads.")
    ] = Path("fullbench-web"),
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that share the work.")] = 1,
    title: Annotated[str, typer.Option(help="The name of this site, in place of the title under [site].")] = "",
    public: Annotated[bool, typer.Option("--public", help="Results can be read without an account.")] = False,
    url: Annotated[
        str, typer.Option(help="The address by which people reach the site, such as https://bench.example.org.")
    ] = "",
    plain: Annotated[
        bool, typer.Option("--plain", help="Listen beyond this machine without https; passwords can be read.")
    ] = False,
    proxies: Annotated[
        str, typer.Option(help="Addresses of reverse proxies that are believed, with commas.")
    ] = "127.0.0.1",
    secret: Annotated[
        str,
        typer.Option(
            envvar="FULLBENCH_SECRET", help="Signs forms; where left out, one is drawn and kept in the database."
        ),
    ] = "",
    task_limit: TaskLimitOption = TASK_LIMIT,
    invite: Annotated[
        str | None,
        typer.Option(help="Print a link that makes an account (organiser, annotator or viewer), and leave."),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file, a study's too: names that pages show judges and contestants by, and [site], what the "
            "first page says of the results.",
            show_default=False,
        ),
    ] = None,
    requests: Annotated[
        bool, typer.Option("--log-requests", help="Write a line for every request: time, path, status, size, duration.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Bring the database up to date, open everything, and leave.")
    ] = False,
) -> None:
    """Serve the web app: people judge, and everybody sees the results.

    The first start prints a link that makes the organiser's account. Ctrl-C stops.

    Examples:

        fullbench serve --ledger study.ledger

        fullbench serve --ledger study.ledger --database postgresql://bench@db/bench --workers 4 --url https://bench.example.org

        fullbench serve --invite organiser
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401

        from fullbench.web.site_settings import Settings
    except ModuleNotFoundError as error:
        raise MissingExtra("the web app", "web") from error
    https = url.startswith("https://")
    if url and not https and not url.startswith("http://"):
        raise InputError(f"{url!r} is no address of a site; write --url https://bench.example.org")
    if urlsplit(url).path.strip("/"):
        raise InputError(
            f"{url!r} has a path, and a site needs a host of its own; write --url https://bench.example.org"
        )
    if not _loopback(host) and not https and not plain:
        raise InputError(
            f"{host} can be reached from other machines, and passwords would travel in the clear: put a proxy that "
            "speaks https in front and add --url https://..., or add --plain to accept it"
        )
    if ledger is not None and "://" not in ledger and not Path(ledger).exists():
        raise InputError(f"there is no ledger {ledger!r}; `fullbench judge` or `fullbench demo` makes one")
    if invite is not None:
        _known_role(invite)
    settings = Settings(
        database or f"sqlite:///{data.resolve() / 'web.sqlite'}",
        ledger,
        data.resolve(),
        title=title,
        secret=secret,
        host=host,
        port=port,
        workers=workers,
        https=https,
        public=public,
        proxies=proxies,
        url=url,
        names="" if names is None else str(names.resolve()),
        task_limit=task_limit,
    )
    if names is not None:
        _check_names(names, ledger, alone=invite is not None)
    _prepare(settings)
    if invite is not None:
        _invite(settings, invite, chosen=bool(url) or (host, port) != ("127.0.0.1", 8000))
    elif check:
        _check(settings)
    else:
        _run(settings, requests=requests)


def _check_names(path: Path, ledger: str | None, *, alone: bool) -> None:
    """Refuse names that do not fit, or that others in the ledger have, before anything is made; say which are of
    nobody in it. With `alone` only the file is looked at."""
    from contextlib import ExitStack

    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.site_info import Imprint
    from fullbench.web.results.pages.shown_names import Names, for_ledger

    Imprint.read(path)
    if alone:
        Names.read(path)
        return
    with ExitStack() as opened:
        book = None if ledger is None else opened.enter_context(Ledger(ledger, read_only=True))
        _, absent = for_ledger(path, book)
    if absent:
        say(absent)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _free(settings: Settings) -> None:
    """Refuse an address that cannot be listened on, before anything is made."""
    import socket

    try:
        address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(address[0], address[1]) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address[4])
    except OSError as error:
        why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be listened on ({error.strerror})"
        raise InputError(f"{settings.host}:{settings.port} {why}; choose another with --host and --port") from error


def _known_role(role: str) -> None:
    from fullbench.web.accounts.users import as_role

    as_role(role)


def _prepare(settings: Settings) -> None:
    from fullbench.web.database import engine_for, upgrade

    engine = engine_for(settings.database)
    if engine.dialect.name == "sqlite" and str(settings.data) in settings.database:
        settings.data.mkdir(parents=True, exist_ok=True)
    upgrade(engine)
    engine.dispose()
    if settings.ledger is not None:
        _open_once(settings.ledger)


def _open_once(where: str) -> None:
    """Say what is wrong with a ledger before listening; one of an older fullbench is brought up to date."""
    from fullbench.errors import LedgerError
    from fullbench.ledger.ledger import Ledger

    try:
        Ledger(where, read_only=True).close()
    except LedgerError:
        Ledger(where).close()


def _invite(settings: Settings, role: str, *, chosen: bool) -> None:
    """Print a link under the address that was `chosen`, else under the one that the site was last started with."""
    from fullbench.web.accounts import audit_log, invitations, users
    from fullbench.web.accounts.random_ids_and_digests import address
    from fullbench.web.database import engine_for, writing

    engine = engine_for(settings.database)
    with writing(engine) as connection:
        _, secret = invitations.make(connection, users.as_role(role), None, note="fullbench serve --invite")
        base = settings.base if chosen else address(connection) or settings.base
        audit_log.write(connection, None, "invited", "fullbench serve --invite", role=role)
    engine.dispose()
    typer.echo(f"{base}/join/{secret}")


def _check(settings: Settings) -> None:
    from fullbench.web.app import create_app
    from fullbench.web.database import shown

    app = create_app(settings)
    say(f"The database {shown(app.state.engine)} is up to date.")
    if app.state.ledger is not None:
        say(f"The ledger {app.state.ledger.place} is open.")
        app.state.ledger.close()
    app.state.engine.dispose()


def _logging(*, requests: bool) -> dict[str, Any]:
    """Every line of the log has its time; requests are logged where wished for."""
    lines = {"format": "%(asctime)s %(levelname)s %(message)s", "datefmt": "%Y-%m-%d %H:%M:%S"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"timed": lines},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "timed"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "fullbench.web.access": {"level": "INFO" if requests else "WARNING"},
            "fullbench.web.results": {"level": "INFO"},
        },
    }


def _run(settings: Settings, *, requests: bool = False) -> None:
    import uvicorn

    from fullbench.web.accounts import invitations
    from fullbench.web.accounts.random_ids_and_digests import set_address
    from fullbench.web.database import engine_for, writing

    _free(settings)
    settings.data.mkdir(parents=True, exist_ok=True)
    engine = engine_for(settings.database)
    with writing(engine) as connection:
        first = invitations.first(connection)
        set_address(connection, settings.base)
    engine.dispose()
    where = f"{settings.host}:{settings.port}, as {settings.base}" if settings.url else settings.base
    say(f"Listening on {where} (stop with Ctrl-C)")
    if first is not None:
        say(f"Nobody has an account yet. Make the organiser's, within a day: {settings.base}/join/{first}")
    settings.to_environment()
    uvicorn.run(
        "fullbench.web.app:from_environment",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        proxy_headers=True,
        forwarded_allow_ips=settings.proxies,
        server_header=False,
        access_log=False,
        log_config=_logging(requests=requests),
        timeout_graceful_shutdown=10,
    )
