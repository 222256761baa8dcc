"""The public pages at a million verdicts: leaderboards of 100 contestants, the list of verdicts, filters, search.

A ledger of made-up verdicts is written, the catalogue filled from it on SQLite and on PostgreSQL, a panel of three
judges rules on every case, and a real server is asked over one connection; the floor is a small static file of the same
server in the same run. `FULLBENCH_BENCH_VERDICTS` takes another number, `FULLBENCH_BENCH_DATABASES` fewer databases.
"""

from __future__ import annotations

import http.client
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from tests.postgres import Postgres
from tests.web.conftest import start_live

from fullbench.ledger.store import Ledger
from fullbench.nouns.ballot import Choice
from fullbench.nouns.call import Usage
from fullbench.nouns.case import Case
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response
from fullbench.nouns.verdict import Verdict
from fullbench.web.database import engine_for, reading, upgrade, writing
from fullbench.web.results import boards, cards, catalogue, listing, panels, refreshing
from fullbench.web.results.filters import Filter
from fullbench.web.results.places import judge_name
from scripts.bench import Row

DATABASES = os.environ.get("FULLBENCH_BENCH_DATABASES", "sqlite,postgresql").split(",")
COUNT = int(os.environ.get("FULLBENCH_BENCH_VERDICTS", "1000000"))
CONTESTANTS, JUDGES, PAIRS = 100, 20, 10
TASKS = ("counting", "colours", "比较", "reading", "memes")
TIMES = 60
STUDY = "default"
PANEL = panels.Panel("three", "majority", ("judge-0", "judge-1", "judge-2"))
USAGE = Usage(1, 0, 900, 60, 0.001, 0.8)


def _cases(count: int) -> Iterator[Case]:
    """Items with ten pairs each, in both orders."""
    draw = random.Random(0)
    for number in range(-(-count // (2 * PAIRS))):
        name = f"item-{number:06}"
        tags = {"task": TASKS[number % len(TASKS)], "language": "zh" if number % 2 else "en"}
        item = Item.ask(name, f"How many shapes are there in picture {number}? 图{number}里有几个圆形？", tags=tags)
        for _ in range(PAIRS):
            one, two = draw.sample(range(CONTESTANTS), 2)
            shown = [
                Response.say(name, f"model-{who:03}", f"There are {who % 7} shapes, 共{who % 7}个")
                for who in (one, two)
            ]
            yield Case(item, tuple(shown), Choice())
            yield Case(item, tuple(shown[::-1]), Choice())


def _write(path: Path, count: int) -> None:
    draw = random.Random(1)
    with Ledger(path) as ledger:
        for place, case in enumerate(_cases(count // JUDGES)):
            first, second = (int(name.removeprefix("model-")) for name in case.contestants)
            ruled: list[Verdict] = []
            for judge in range(JUDGES):
                lead = (second - first) / 60 + draw.gauss(0, 0.4 + judge / 10)
                marks = (1.0, 0.0) if lead > 0.05 else (0.0, 1.0) if lead < -0.05 else (0.5, 0.5)
                told = f"answer {'A' if lead > 0 else 'B'} counts better 因为更准确 {place % 997}"
                ruling = "unreadable" if draw.random() < 0.01 else marks
                ruled.append(Verdict.of(case, f"judge-{judge}", ruling, text=told, usage=USAGE, at=1.0 + place))
            ledger.add(case, *ruled)


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class _Client:
    """One connection that is kept open, signed in."""

    def __init__(self, url: str, cookie: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        self._headers = {"Cookie": cookie}

    def get(self, path: str) -> bytes:
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
        return body

    def times(self, path: str, count: int = TIMES) -> tuple[float, float, float]:
        """The first answer, the median and the 95th percentile of the next ones, in milliseconds."""
        first = 1000 * _timed(lambda: self.get(path))
        found = sorted(1000 * _timed(lambda: self.get(path)) for _ in range(count))
        return first, statistics.median(found), found[int(0.95 * len(found))]


def _pages() -> dict[str, str]:
    wanted = Filter(judge="judge-3", contestant="model-017", shown="several", fault="none")
    tagged = Filter(judge="judge-3", tag="task", value="比较")
    both = Filter(judge="judge-3", both=True, decided=True)
    beside = Filter(judge="judge-3", beside="judge-4", fault="none")
    return {
        "leaderboard of 100 contestants": f"/boards/{boards.board_name(STUDY, 'judge-3', 'overall')}",
        "leaderboard of a panel": f"/boards/{boards.board_name(STUDY, PANEL.judge, 'overall')}",
        "judge card": f"/judges/{judge_name('judge-3')}",
        "first page, all leaderboards": "/",
        "verdicts, first page": "/verdicts",
        "verdicts, one judge and contestant": f"/verdicts?{wanted.address()}",
        "verdicts, a tag of the items": f"/verdicts?{tagged.address()}",
        "verdicts, judges disagree": "/verdicts?split=1",
        "verdicts, heard in both orders": f"/verdicts?{both.address()}",
        "verdicts, beside another judge": f"/verdicts?{beside.address()}",
        "verdicts, search for a rare word": "/verdicts?q=item-000123",
        "verdicts, search for common Chinese": f"/verdicts?q={quote('更准确')}",
        "verdicts, search within one judge": f"/verdicts?judge=judge-3&q={quote('几个圆形')}",
    }


def _serving(folder: Path, ledger: Path, database: str) -> list[Row]:
    live = start_live(folder, "--ledger", str(ledger), database=database)
    try:
        cookie = live.cookie("bench", "viewer")
        client = _Client(live.url, f"{cookie['name']}={cookie['value']}")
        client.get("/")
        made = []
        for what, path in _pages().items():
            _, floor, floor_95 = client.times("/static/icon.svg")
            first, middle, most = client.times(path)
            made.append(Row.of(f"{what}, p50", middle, floor, "a static file", "ms"))
            made.append(Row.of(f"{what}, p95", most, floor_95, "a static file", "ms"))
            made.append(Row.of(f"{what}, first time", first, floor, "a static file", "ms"))
        with reading(live.engine) as connection:
            case = listing.page(connection, Filter(), size=1).lines[0].case
        _, floor, floor_95 = client.times("/static/icon.svg")
        _, middle, most = client.times(f"/cases/{case}")
        made.append(Row.of("one case with all judges, p50", middle, floor, "a static file", "ms"))
        made.append(Row.of("one case with all judges, p95", most, floor_95, "a static file", "ms"))
        return made
    finally:
        live.process.terminate()
        live.process.wait(timeout=60)
        live.engine.dispose()


def _filling(ledger: Path, database: str, written: float) -> list[Row]:
    engine = engine_for(database)
    upgrade(engine)
    with Ledger(ledger, read_only=True) as book:
        filled = _timed(lambda: catalogue.fill(engine, book))
        with writing(engine) as connection:
            panels.add(connection, PANEL.name, PANEL.rule, PANEL.judges)
        ruled = _timed(lambda: panels.derive(engine, book))
        while not catalogue.settle(engine):
            pass
        figured = _timed(lambda: refreshing.refresh(engine, book))
        carded = _timed(lambda: cards.refresh(engine, book))
    engine.dispose()
    timed = {
        f"filling the catalogue with {COUNT:,} verdicts": filled,
        f"a panel of three rules on {COUNT // JUDGES:,} cases": ruled,
        f"computing {JUDGES + 1} leaderboards": figured,
        f"computing {JUDGES} judge cards": carded,
    }
    return [Row.of(what, seconds, written, "writing the ledger", "s") for what, seconds in timed.items()]


def _measured(folder: Path, ledger: Path, database: str, written: float) -> list[Row]:
    folder.mkdir()
    made = [*_filling(ledger, database, written), *_serving(folder, ledger, database)]
    kind = "" if database.startswith("sqlite") else "PostgreSQL: "
    return [replace(row, what=f"{kind}{row.what}") for row in made]


def main() -> list[Row]:
    """All rows."""
    made: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger = folder / "bench.ledger"
        written = _timed(lambda: _write(ledger, COUNT))
        if "sqlite" in DATABASES:
            database = f"sqlite:///{folder / 'web.sqlite'}"
            made += _measured(folder / "sqlite", ledger, database, written)
        if "postgresql" in DATABASES:
            with Postgres(durable=True) as server:
                made += _measured(folder / "postgresql", ledger, server.database(), written)
    return made
