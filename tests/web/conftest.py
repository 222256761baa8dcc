"""The web app for the tests: on SQLite and on PostgreSQL, with people who are signed in, and as a real server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from sqlalchemy import text
from starlette.testclient import TestClient

from fullbench.reports.charts.chart_specification_and_rendering import Chart
from fullbench.web import app as app_module
from fullbench.web.accounts import passwords, sessions, users
from fullbench.web.accounts.account_and_shared_site_tables import users as users_table
from fullbench.web.app import create_app
from fullbench.web.database import engine_for, upgrade_schema, write_transaction
from fullbench.web.results.pages.chart_process import ChartDrawer
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.forked_command import ForkedCommand
from tests.support.ports import free_port

PASSWORD = "a long sentence of mine"
BASE = "http://testserver"


@pytest.fixture(scope="session", autouse=True)
def usual_hasher():
    """The hasher that servers have; within the tests' own process hashes cost less, since they make hundreds.

    A hash names its own cost, so either hasher knows what the other made.
    """
    usual, cheap = passwords._password_hasher(), PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_password_hasher", lambda: cheap)
        yield usual


class SharedDrawer(ChartDrawer):
    """Draws each chart once, for all apps of this process."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: dict[str, str] = {}

    def svg(self, chart: Chart) -> str:
        key = json.dumps(dict(chart.spec))
        if key not in self.drawn:
            self.drawn[key] = super().svg(chart)
        return self.drawn[key]

    def close(self) -> None:
        """Leave the process to the next app."""


@pytest.fixture(scope="session", autouse=True)
def shared_drawer():
    """Apps start a process for charts each, which takes a second; those of the tests share one."""
    drawer = SharedDrawer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_module, "ChartDrawer", lambda: drawer)
        yield
    ChartDrawer.close(drawer)


@pytest.fixture(scope="session")
def one_postgres(postgres) -> str:
    """One PostgreSQL database for all tests, made once: many small ones are slow to make and slow to stop."""
    url = postgres.database()
    engine = engine_for(url)
    upgrade_schema(engine)
    engine.dispose()
    return url


@pytest.fixture(scope="session")
def one_sqlite(tmp_path_factory) -> Path:
    """An empty SQLite database with all tables, to be copied."""
    path = tmp_path_factory.mktemp("sqlite") / "web.sqlite"
    engine = engine_for(f"sqlite:///{path}")
    upgrade_schema(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    return path


# Tests of queries, locks and migrations run on both databases. All others run on SQLite, which is faster to set up.
ON_BOTH_DATABASES = (
    "web/test_database.py",
    "web/accounts/test_races.py",
    "web/campaigns/create/",
    "web/campaigns/test_scenario.py",
    "web/campaigns/votes/",
    "web/results/boards/test_board_store.py",
    "web/results/catalogue/",
    "web/results/lists/",
)


def pytest_generate_tests(metafunc):
    for fixture, scope in (("database", "function"), ("new_engine", "session")):
        own = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
        definitions = metafunc._arg2fixturedefs.get(fixture)
        if fixture in metafunc.fixturenames and fixture not in own and definitions and not definitions[-1].params:
            both = any(part in metafunc.definition.nodeid for part in ON_BOTH_DATABASES)
            metafunc.parametrize(fixture, ["sqlite", "postgresql"] if both else ["sqlite"], indirect=True, scope=scope)


@pytest.fixture
def database(request, tmp_path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("one_sqlite"), tmp_path / "web.sqlite")
        return f"sqlite:///{tmp_path / 'web.sqlite'}"
    url = request.getfixturevalue("one_postgres")
    emptied(url)
    return url


def emptied(url: str) -> None:
    """Every row of a PostgreSQL database goes; the tables stay."""
    engine = engine_for(url)
    with engine.begin() as connection:
        names = connection.execute(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).scalars()
        tables = ", ".join(name for name in names if name != "alembic_version")
        connection.execute(text(f"TRUNCATE {tables} RESTART IDENTITY CASCADE"))
    engine.dispose()


@pytest.fixture
def settings(database, tmp_path) -> Settings:
    """Override this fixture to give an app other settings."""
    return Settings(database, data=tmp_path / "data")


@pytest.fixture
def app(settings):
    made = create_app(settings)
    yield made
    made.state.engine.dispose()


@pytest.fixture
def client(app):
    """A visitor who is not signed in. `client.token()` gives the CSRF token of a page."""
    with Visitor(app) as visitor:
        yield visitor


class Visitor(TestClient):
    """A browser without scripts."""

    def __init__(self, app, *, raise_server_exceptions=True):
        super().__init__(app, base_url=BASE, follow_redirects=False, raise_server_exceptions=raise_server_exceptions)
        self.user = None

    def token(self, page: str = "/login") -> str:
        """The CSRF token that a page carries."""
        answer = self.get(page, follow_redirects=True)
        return re.search(r'<meta name="csrf" content="([0-9a-f]{64})">', answer.text)[1]

    def submit(self, path: str, data: dict | None = None, **options):
        """Post a form as a page of ours would."""
        return self.post(path, data={"csrf": self.token(), **(data or {})}, **options)


def person(app, name: str, role: str) -> users.User:
    """An account made straight in the database; its password is `PASSWORD`."""
    with write_transaction(app.state.engine) as connection:
        return add_person(connection, name, role)


_hash: list[str] = []


def add_person(connection, name: str, role: str) -> users.User:
    from sqlalchemy import insert

    from fullbench.web.accounts.random_ids_digests_and_site_key import new_id

    if not _hash:
        _hash.append(passwords.hash_password(PASSWORD))
    user = users.User(new_id(), name, role, at=time.time(), rater=new_id())
    row = {
        "id": user.id,
        "name": name,
        "name_key": users.fold_name(name),
        "role": role,
        "disabled": False,
        "at": user.at,
        "rater": user.rater,
    }
    connection.execute(insert(users_table).values(**row, password=_hash[0]))
    return user


def signed_in(app, name: str, role: str) -> Visitor:
    """A browser of somebody with an account; `visitor.user` says who."""
    visitor = Visitor(app)
    visitor.user = person(app, name, role)
    with write_transaction(app.state.engine) as connection:
        visitor.cookies.set(SESSION, sessions.start_session(connection, visitor.user))
    return visitor


@pytest.fixture
def organiser(app):
    with signed_in(app, "Olga", "organiser") as visitor:
        yield visitor


@pytest.fixture
def annotator(app):
    with signed_in(app, "安娜", "annotator") as visitor:
        yield visitor


@pytest.fixture
def viewer(app):
    with signed_in(app, "Vic", "viewer") as visitor:
        yield visitor


@dataclass
class Live:
    """A real server: its address, its settings, and an engine on its database."""

    url: str
    settings: Settings
    engine: object
    process: subprocess.Popen | ForkedCommand

    def cookie(self, name: str, role: str) -> dict:
        """A new account, signed in: a cookie for Playwright's `context.add_cookies`."""
        with write_transaction(self.engine) as connection:
            secret = sessions.start_session(connection, add_person(connection, name, role))
        return {"name": SESSION, "value": secret, "url": self.url}


def start_live(folder: Path, *options: str, database: str | None = None, port: int = 0, forked: bool = True) -> Live:
    """`fullbench serve` in a process of its own; end it by `live.process.terminate()`.

    Args:
        folder: For its data and log.
        options: Further words of the command.
        database: SQLite in the folder unless another is named.
        port: A free one unless named.
        forked: Fork it from a process that has imported everything. False starts the command itself.
    """
    port = port or free_port()
    url = database or f"sqlite:///{folder / 'web.sqlite'}"
    settings = Settings(url, data=folder, port=port)
    engine = engine_for(url)
    upgrade_schema(engine)
    words = ["serve", "--port", str(port), "--data", str(folder), "--database", url, *options]
    process: subprocess.Popen | ForkedCommand
    if forked:
        process = ForkedCommand(words, folder / "log")
    else:
        with (folder / "log").open("ab") as log:
            command = [str(Path(sys.executable).with_name("fullbench")), *words]
            process = subprocess.Popen(command, stdout=log, stderr=log)
    # A forked server answers before it has read its ledger in.
    path = "/ready" if forked and "--ledger" in options else "/health"
    for _ in range(2400):
        try:
            urllib.request.urlopen(f"{settings.base}{path}", timeout=5).close()
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.05)
            continue
        return Live(settings.base, settings, engine, process)
    process.kill()
    raise RuntimeError((folder / "log").read_text())


@pytest.fixture
def live(tmp_path):
    """A real server on SQLite; see `start_live` for others."""
    served = start_live(tmp_path)
    yield served
    served.process.terminate()
    served.process.wait(timeout=120)
    served.engine.dispose()


def axe_violations(page, *, every: bool = False) -> list[str]:
    """What axe finds serious or critical on a page, or all that it finds, one line each."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found
        if every or one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]


@pytest.fixture
def axe():
    """`assert axe(page) == []`"""
    return axe_violations
