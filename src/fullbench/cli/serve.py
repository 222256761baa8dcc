"""`fullbench serve`: the web app."""

from __future__ import annotations

import errno
import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from fullbench.cli.console import print_line, print_message
from fullbench.cli.people import TaskLimitOption
from fullbench.cli.shared_options_and_run_output import more, option
from fullbench.errors import InputError, require_extra
from fullbench.web.site_settings_and_worker_transfer import TASK_LIMIT

if TYPE_CHECKING:
    from fullbench.web.site_settings_and_worker_transfer import Settings


def serve(
    ledger: Annotated[
        str | None, option("Ledger to show: a file or a URL.", "--ledger", envvar="FULLBENCH_LEDGER")
    ] = None,
    database: Annotated[
        str | None,
        option(
            "Database of accounts and votes: postgresql://USER@HOST/NAME. Default: a SQLite file in --data.",
            "--database",
            envvar="FULLBENCH_DATABASE",
        ),
    ] = None,
    data: Annotated[
        Path, option("Folder of the SQLite file and of uploads.", "--data", envvar="FULLBENCH_DATA")
    ] = Path("fullbench-web"),
    host: Annotated[str, option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("Port to listen on.", min=1, max=65535)] = 8000,
    workers: Annotated[int, option("Number of processes.", min=1, max=64)] = 1,
    title: Annotated[str, option("Name of the site. Default: the title under [site].")] = "",
    public: Annotated[bool, option("Show results without an account.", "--public")] = False,
    url: Annotated[str, option("Public address of the site, for example https://bench.example.org.")] = "",
    plain: Annotated[
        bool, more("Listen on the network without https. Passwords can then be read by others.", "--plain")
    ] = False,
    proxies: Annotated[str, more("Addresses of trusted reverse proxies, separated by commas.")] = "127.0.0.1",
    secret: Annotated[
        str, more("Secret that signs forms. Default: a random one in the database.", envvar="FULLBENCH_SECRET")
    ] = "",
    task_limit: TaskLimitOption = TASK_LIMIT,
    invite: Annotated[
        str | None, option("Print a link that creates an account (organiser, annotator or viewer), and exit.")
    ] = None,
    names: Annotated[
        Path | None,
        option(
            "TOML file (or study) with display names and [site], the texts of the first page.",
            show_default=False,
        ),
    ] = None,
    programs: Annotated[
        list[str] | None,
        more("Judge that may run code here on request, for example command:./judge.py. Repeatable.", "--program"),
    ] = None,
    requests: Annotated[bool, more("Log every request: time, path, status, size, duration.", "--log-requests")] = False,
    check: Annotated[bool, option("Upgrade the database, open everything, and exit.", "--check")] = False,
) -> None:
    """Serve the web app for annotation and results.

    The first start prints a link that creates the first account. Stop with Ctrl-C.

    Examples:

        fullbench serve --ledger study.ledger

        fullbench serve --ledger study.ledger --database postgresql://bench@db/bench --workers 4 --url https://bench.example.org

        fullbench serve --invite organiser
    """
    with require_extra("the web app", "web"):
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401

        from fullbench.web.site_settings_and_worker_transfer import Settings
    https = url.startswith("https://")
    if url and not https and not url.startswith("http://"):
        raise InputError(f"{url!r} is not the address of a site. Use --url https://bench.example.org.")
    if urlsplit(url).path.strip("/"):
        raise InputError(
            f"{url!r} has a path, but a site needs its own host name. Use --url https://bench.example.org."
        )
    if not _is_loopback(host) and not https and not plain:
        raise InputError(
            f"Other machines can reach {host}, and passwords would be sent without encryption. Put an https proxy in "
            "front and add --url https://..., or accept it with --plain."
        )
    if ledger is not None and "://" not in ledger and not Path(ledger).exists():
        raise InputError(f"There is no ledger {ledger!r}. `fullbench judge` or `fullbench demo` creates one.")
    if invite is not None:
        _refuse_unknown_role(invite)
    settings = Settings(
        database or f"sqlite:///{data.resolve() / 'web.sqlite'}", ledger, data.resolve(), title=title, secret=secret,
        host=host, port=port, workers=workers, https=https, public=public, proxies=proxies, url=url,
        names="" if names is None else str(names.resolve()), task_limit=task_limit,
        programs=tuple(programs or ()),
    )  # fmt: skip
    if names is not None:
        _check_names(names, ledger, alone=invite is not None)
    _prepare_site(settings)
    if invite is not None:
        _print_invitation(settings, invite, is_address_chosen=bool(url) or (host, port) != ("127.0.0.1", 8000))
    elif check:
        _check_site(settings)
    else:
        _run_server(settings, requests=requests)


def _check_names(path: Path, ledger: str | None, *, alone: bool) -> None:
    """Refuse display names that are invalid or taken, and print those that match nothing in the ledger.

    With `alone`, only the file is checked.
    """
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.site_info import Imprint
    from fullbench.web.results.pages.judge_and_contestant_names_on_pages import Names, read_names

    Imprint.read(path)
    if alone:
        Names.read(path)
        return
    names = Names.read(path)
    if ledger is None:
        absent = names.absent_names_sentence((), path)
    else:
        with Ledger(ledger, read_only=True) as book:
            _, absent = read_names(path, book)
    if absent:
        print_message(absent)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_used_address(settings: Settings) -> None:
    import socket

    try:
        address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(address[0], address[1]) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address[4])
    except OSError as error:
        why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
        raise InputError(f"{settings.host}:{settings.port} {why}. Choose another with --host and --port.") from error


def _refuse_unknown_role(role: str) -> None:
    from fullbench.web.accounts.users import parse_role

    parse_role(role)


def _prepare_site(settings: Settings) -> None:
    from fullbench.web.database import engine_for, upgrade_schema

    engine = engine_for(settings.database)
    if engine.dialect.name == "sqlite" and str(settings.data) in settings.database:
        settings.data.mkdir(parents=True, exist_ok=True)
    upgrade_schema(engine)
    engine.dispose()
    if settings.ledger is not None:
        _check_ledger_opens(settings.ledger)


def _check_ledger_opens(where: str) -> None:
    """Refuse a damaged ledger before the server starts; upgrade an older one."""
    from fullbench.errors import LedgerError
    from fullbench.ledger.ledger import Ledger

    try:
        Ledger(where, read_only=True).close()
    except LedgerError:
        Ledger(where).close()


def _print_invitation(settings: Settings, role: str, *, is_address_chosen: bool) -> None:
    """Print a link with the chosen address, else with that of the last start of the site."""
    from fullbench.web.accounts import audit_log, invitations, users
    from fullbench.web.accounts.random_ids_digests_and_site_key import site_address
    from fullbench.web.database import engine_for, write_transaction

    engine = engine_for(settings.database)
    with write_transaction(engine) as connection:
        _, secret = invitations.create_invitation(
            connection, users.parse_role(role), None, note="fullbench serve --invite"
        )
        base = settings.base if is_address_chosen else site_address(connection) or settings.base
        audit_log.write_entry(connection, None, "invited", "fullbench serve --invite", role=role)
    engine.dispose()
    print_line(f"{base}/join/{secret}")


def _check_site(settings: Settings) -> None:
    from fullbench.web.app import create_app
    from fullbench.web.database import url_without_password

    app = create_app(settings)
    print_message(f"The database {url_without_password(app.state.engine)} is up to date.")
    if app.state.ledger is not None:
        print_message(f"The ledger {app.state.ledger.place} is open.")
        app.state.ledger.close()
    app.state.engine.dispose()


def _logging_config(*, requests: bool) -> dict[str, Any]:
    """Return a logging configuration with the time in every line."""
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


def _run_server(settings: Settings, *, requests: bool = False) -> None:
    import uvicorn

    from fullbench.web.accounts import invitations
    from fullbench.web.accounts.random_ids_digests_and_site_key import set_site_address
    from fullbench.web.database import engine_for, write_transaction

    _refuse_used_address(settings)
    settings.data.mkdir(parents=True, exist_ok=True)
    engine = engine_for(settings.database)
    with write_transaction(engine) as connection:
        first_secret = invitations.create_first_invitation(connection)
        set_site_address(connection, settings.base)
    engine.dispose()
    where = f"{settings.host}:{settings.port}, as {settings.base}" if settings.url else settings.base
    print_message(f"Listening on {where} (stop with Ctrl-C)")
    if first_secret is not None:
        print_message(
            f"There is no account yet. Create the first one within a day: {settings.base}/join/{first_secret}"
        )
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
        log_config=_logging_config(requests=requests),
        timeout_graceful_shutdown=10,
    )
