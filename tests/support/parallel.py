"""Pytest plugin `--workers N`: collect once, fork N processes, steal work at the end.

pytest-xdist collects in every worker; here a collection costs 37 s of CPU. Workers take whole files, so that module
fixtures are set up once. A worker that finds no new file takes tests from the end of the file with most tests left.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
from collections import deque
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

import pytest

STOP = -1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, help="run tests in N forked processes after one collection")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count = session.config.getoption("--workers")
    if count < 2 or session.config.option.collectonly or session.testsfailed:
        return None
    Pool(session, count).run()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    return True


class Pool:
    """The parent's side: hands out tests, receives reports, replaces a worker that died."""

    def __init__(self, session: pytest.Session, count: int) -> None:
        self.session, self.count = session, count
        files: dict[str, deque[int]] = {}
        for number, item in enumerate(session.items):
            files.setdefault(item.nodeid.partition("::")[0], deque()).append(number)
        self.new_files = deque(files.values())
        self.open_files: list[deque[int]] = []
        self.file_of: dict[Connection, deque[int]] = {}
        self.assigned: dict[Connection, deque[int]] = {}
        self.pids: dict[Connection, int] = {}

    def run(self) -> None:
        for _ in range(self.count):
            self._start_worker()
        while self.pids:
            for connection in wait(list(self.pids)):
                try:
                    kind, value = pickle.loads(connection.recv_bytes())
                except EOFError:
                    self._bury(connection)
                    continue
                if kind == "next":
                    connection.send_bytes(pickle.dumps(self._next_test(connection)))
                elif kind == "done":
                    self.assigned[connection].popleft()
                else:
                    self._log(value)
        missed = sum(map(len, (*self.new_files, *self.open_files)))
        if missed and not (self.session.shouldfail or self.session.shouldstop):
            raise RuntimeError(f"{missed} tests were not run: all workers ended early")

    def _log(self, data: dict[str, Any]) -> None:
        config = self.session.config
        report = config.hook.pytest_report_from_serializable(config=config, data=data)
        config.hook.pytest_runtest_logreport(report=report)

    def _next_test(self, connection: Connection) -> int:
        if self.session.shouldfail or self.session.shouldstop:
            return STOP
        file = self.file_of.get(connection)
        if not file and self.new_files:
            file = self.file_of[connection] = self.new_files.popleft()
            self.open_files.append(file)
        if file:
            number = file.popleft()
        elif longest := max(self.open_files, key=len, default=None):
            number = longest.pop()
        else:
            return STOP
        self.assigned[connection].append(number)
        return number

    def _start_worker(self) -> None:
        # What the parent has buffered would be printed again by every child.
        sys.stdout.flush()
        sys.stderr.flush()
        ours, theirs = Pipe()
        base = self.session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        if (pid := os.fork()) == 0:
            ours.close()
            for connection in self.pids:
                connection.close()
            _work(self.session, theirs, base / f"worker-{os.getpid()}")
        theirs.close()
        self.pids[ours], self.assigned[ours] = pid, deque()

    def _bury(self, connection: Connection) -> None:
        """Reap a worker. If it died in a test, report that test as failed and start another worker."""
        _, status = os.waitpid(self.pids.pop(connection), 0)
        left = self.assigned.pop(connection)
        connection.close()
        if not left:
            if status:
                raise RuntimeError(f"a worker ended between tests (wait status {status})")
            return
        item = self.session.items[left.popleft()]
        self.session.config.hook.pytest_runtest_logreport(
            report=pytest.TestReport(
                item.nodeid, item.location, {}, "failed", f"the worker died in this test (wait status {status})", "call"
            )
        )
        if left:
            self.new_files.appendleft(left)
        self._start_worker()


def _work(session: pytest.Session, connection: Connection, base: Any) -> NoReturn:
    """The child's side: run tests until none is left. One test is fetched ahead, since teardown depends on it."""
    status = 1
    try:
        atexit._clear()
        config = session.config
        _use_own_files(config, base)

        def send(kind: str, value: Any = None) -> None:
            connection.send_bytes(pickle.dumps((kind, value)))

        def numbers() -> Iterator[int]:
            while True:
                send("next")
                number = pickle.loads(connection.recv_bytes())
                if number == STOP:
                    return
                yield number

        class Sender:
            @pytest.hookimpl
            def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
                send("report", config.hook.pytest_report_to_serializable(config=config, report=report))

        config.pluginmanager.register(Sender(), "sender")
        queue = numbers()
        current = next(queue, None)
        while current is not None:
            following = next(queue, None)
            item = session.items[current]
            nextitem = None if following is None else session.items[following]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            send("done")
            current = following
        atexit._run_exitfuncs()
        status = 0
    finally:
        connection.close()
        os._exit(status)


def _use_own_files(config: pytest.Config, base: Any) -> None:
    """Give a child its own captured output, temporary folder and terminal."""
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    terminal = config.pluginmanager.getplugin("terminalreporter")
    terminal._tw._file = open(os.devnull, "w")  # noqa: PTH123, SIM115
    capture.start_global_capturing()
    capture.suspend_global_capture()
    base.mkdir()
    config._tmp_path_factory._basetemp = base  # type: ignore[attr-defined]
