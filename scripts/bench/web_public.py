"""The public pages at a million verdicts: leaderboards of 100 contestants, the list of cases, filters, orders, search.

A ledger of made-up verdicts (`web_ledger`) is written, the catalogue filled from it on SQLite and on PostgreSQL, a
panel of three judges rules on every case, and a real server is asked over one connection; the floor is a small static
file of the same server in the same run. Beside the time that a page takes stands the CPU time that the server, what it
started and the database spend on it, which says more on a busy machine. `FULLBENCH_BENCH_VERDICTS` takes another
number, `FULLBENCH_BENCH_DATABASES` fewer databases.
"""

from __future__ import annotations

import http.client
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from playwright.sync_api import sync_playwright
from tests.support.postgres import Postgres
from tests.web.conftest import Live, add_person, start_live
from tests.web.vitals import measured

from fullbench.ledger.ledger import Ledger
from fullbench.web.accounts import api_tokens, sessions
from fullbench.web.database import engine_for, read_transaction, upgrade_schema, write_transaction
from fullbench.web.results.boards import board_store, judge_cards
from fullbench.web.results.catalogue import catalogue_board_and_page_updater, fill_catalogue, panels_created_on_site
from fullbench.web.results.lists import case_list, verdict_list
from fullbench.web.results.lists import case_list as case_rows
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.site.page_urls import judge_name
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from scripts.bench import Row, Target, web_ledger
from scripts.bench.web_ledger import JUDGES, PAIRED, SCORED

DATABASES = os.environ.get("FULLBENCH_BENCH_DATABASES", "sqlite,postgresql").split(",")
COUNT = int(os.environ.get("FULLBENCH_BENCH_VERDICTS", "1000000"))
TIMES = 20
PANEL = panels_created_on_site.Panel("three", "majority", ("judge-0", "judge-1", "judge-2"))
DRAWN, BLOCKED, VISITS = Target(1500, of="ours"), Target(200, of="ours"), 5
"""Milliseconds until the largest part of a page is drawn, and in which it is blocked, on a slow machine and line."""
SOON, CPU = Target(300, of="ours"), Target(100, of="ours")
"""What a page may take at most, in milliseconds."""


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def cpu_seconds(*processes: int) -> float:
    """The CPU time that processes have spent so far, with all that they started and that still run."""
    spent = 0
    for process in processes:
        for task in Path(f"/proc/{process}/task").glob("*"):
            try:
                spent += int((task / "schedstat").read_text().split()[0])
                started = (task / "children").read_text().split()
            except OSError:  # it has ended meanwhile
                continue
            spent += int(1e9 * cpu_seconds(*map(int, started)))
    return spent / 1e9


def quiet(process: int) -> None:
    """Wait until a server has done what it does after a start: it looks for verdicts, takes a digest, draws ahead."""
    spent, calm = cpu_seconds(process), 0
    for _ in range(600):
        time.sleep(2)
        before, spent = spent, cpu_seconds(process)
        calm = calm + 1 if spent - before < 0.2 else 0
        if calm == 3:
            return
    raise RuntimeError("the server is still busy with itself after twenty minutes")


class Client:
    """One connection that is kept open, of somebody with an account: by a cookie, at the API by a token."""

    def __init__(self, live: Live) -> None:
        parts = urlsplit(live.url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        with write_transaction(live.engine) as connection:
            user = add_person(connection, "bench", "viewer")
            cookie = sessions.start_session(connection, user)
            _, token = api_tokens.create_token(connection, user, "bench", "read")
        self._headers = {"Cookie": f"{SESSION}={cookie}"}
        self._script = {"Authorization": f"Bearer {token}"}

    def close(self) -> None:
        self._connection.close()

    def get(self, path: str) -> bytes:
        headers = self._script if path.startswith("/api/") else self._headers
        language = {"Accept-Language": "zh"} if path.endswith("#zh") else {}
        self._connection.request("GET", path.removesuffix("#zh"), headers=headers | language)
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


def pages(case: str, half: int) -> dict[str, str]:
    """Every kind of page, by what it is; `case` is the key of a case, `half` a meeting in the middle of the list."""
    board = board_store.board_name(PAIRED, "judge-3", "overall")
    card, chinese, common = judge_name("judge-3"), quote("比较"), quote("更准确")
    last = f"judge-{JUDGES - 1}"
    lists = {
        "all": "",
        "in Chinese": "#zh",
        "disagreement first": "order=doubt",
        "in the middle": f"before={half}",
        "the oldest": "after=0",
        "disagreement first, in the middle": f"order=doubt&before={2 * 2**32 + half}",
        "another study and criterion": f"study={SCORED}&criterion={web_ledger.CRITERIA[1]}",
        "one judge": "judge=judge-3",
        "a judge that came last, disagreement first": f"judge={last}&order=doubt",
        "people": "judge=human",
        "one of the people": "judge=human&rater=r1",
        "one contestant": "contestant=model-017",
        "two contestants": "contestant=model-017&other=model-033",
        "one judge and contestant": "judge=judge-3&contestant=model-017&shown=several&fault=none",
        "one item": "item=item-000003",
        "a tag of the items": f"tag=task&value={chinese}",
        "a tag, one judge": f"judge=judge-3&tag=task&value={chinese}",
        "any fault": "fault=any",
        "no fault": "fault=none",
        "judges disagree": "split=1",
        "turned with the order": "swapped=1",
        "people ruled too": "met=1",
        "against people": "opposed=1",
        "against people, one judge": "judge=judge-3&opposed=1",
        "heard in both orders": "judge=judge-3&both=1&decided=1",
        "beside another judge": "judge=judge-3&beside=judge-4&fault=none",
        "beside people": f"judge={last}&beside=human",
        "one contestant, disagreement": "contestant=model-017&split=1&order=doubt",
        "search for a rare word": "q=item-000003",
        "search for common Chinese": f"q={common}",
        "search within one judge": f"judge=judge-3&q={quote('几个圆形')}",
        "search, disagreement first": f"order=doubt&q={common}",
        "search, judges disagree": f"split=1&q={common}",
        "search for nothing there": "q=zzzz",
    }
    return {
        "first page": "/",
        "first page in Chinese": "/#zh",
        "first page of another study": f"/?study={SCORED}",
        "first page of one task": f"/?task={quote('task:')}{chinese}",
        "leaderboard of 100 contestants": f"/boards/{board}",
        "leaderboard in Chinese": f"/boards/{board}#zh",
        "leaderboard of people": f"/boards/{board_store.board_name(PAIRED, 'human', 'overall')}",
        "leaderboard of a panel": f"/boards/{board_store.board_name(PAIRED, PANEL.judge, 'overall')}",
        "chart": f"/boards/{board}/charts/0-0.svg",
        "judges": "/judges",
        "judge card": f"/judges/{card}",
        "results as CSV": "/results.csv",
        "results as JSON": "/results.json",
        **{f"cases, {what}": f"/verdicts?{asked}" for what, asked in lists.items()},
        "one case with all judges": f"/cases/{case}",
        "API: leaderboards": "/api/v1/boards",
        "API: leaderboard": f"/api/v1/boards/{board}",
        "API: judges": "/api/v1/judges",
        "API: judge card": f"/api/v1/judges/{card}",
        "API: verdicts": "/api/v1/verdicts",
        "API: verdicts of a judge and contestant": f"/api/v1/verdicts?judge={last}&contestant=model-017",
        "API: verdicts, search": f"/api/v1/verdicts?q={common}",
        "API: one case": f"/api/v1/cases/{case}",
    }


def visits_in_a_browser(url: str, paths: dict[str, str]) -> list[Row]:
    """Visits of a browser with a slow machine and line (`tests/web/vitals.py`); none without Chromium."""
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        return []
    rows = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--disable-gpu", "--no-sandbox"])
        for what, path in paths.items():
            floor = min(measured(browser, f"{url}/login").largest for _ in range(VISITS))
            visits = [measured(browser, url + path) for _ in range(VISITS)]
            drawn, blocked = min(visit.largest for visit in visits), min(visit.blocking for visit in visits)
            rows.append(Row.of(f"{what}, drawn in a browser", drawn, floor, "the sign-in page", "ms", target=DRAWN))
            rows.append(
                Row.of(
                    f"{what}, blocked in a browser", blocked, floor, "drawing the sign-in page", "ms", target=BLOCKED
                )
            )
        browser.close()
    return rows


def _serving(folder: Path, ledger: Path, database: str, *behind: int) -> list[Row]:
    """`behind` are processes whose CPU time counts, too."""
    live = start_live(folder, "--ledger", str(ledger), "--public", database=database, forked=False)
    try:
        quiet(live.process.pid)
        client = Client(live)
        with read_transaction(live.engine) as connection:
            newest = case_list.find_cases(
                connection, Filter(), verdict_list.count_verdicts(connection, Filter())
            ).response_sets[0]
            case = case_rows.case_rows(connection, [newest])[0].case
        made = []
        for what, path in pages(case, newest // 2).items():
            _, floor, floor_95 = client.times("/static/icon.svg")
            first, middle, most = client.times(path)
            spent = cpu_seconds(live.process.pid, *behind)
            client.times(path)
            spent = 1000 * (cpu_seconds(live.process.pid, *behind) - spent) / (TIMES + 1)
            made.append(Row.of(f"{what}, p50", middle, floor, "a static file", "ms"))
            made.append(Row.of(f"{what}, p95", most, floor_95, "a static file", "ms", target=SOON))
            made.append(Row.of(f"{what}, first time", first, floor, "a static file", "ms"))
            made.append(Row.of(f"{what}, CPU", spent, floor, "a static file", "ms", target=CPU))
        client.close()
        shown = pages(case, newest // 2)
        drawn = {what: shown[what] for what in ("first page", "leaderboard of 100 contestants")}
        return [*made, *visits_in_a_browser(live.url, drawn)]
    finally:
        live.process.terminate()
        live.process.wait(timeout=60)
        live.engine.dispose()


def _filling(ledger: Path, database: str, written: float) -> list[Row]:
    engine = engine_for(database)
    upgrade_schema(engine)
    with Ledger(ledger, read_only=True) as book:
        spent = time.process_time()
        filled = _timed(lambda: fill_catalogue.fill_from_ledger(engine, book))
        spent = time.process_time() - spent
        with write_transaction(engine) as connection:
            panels_created_on_site.add_panel(connection, PANEL.name, PANEL.rule, PANEL.judges)
        ruled = _timed(lambda: panels_created_on_site.update_panel_verdicts(engine, book))
        while not fill_catalogue.settle_flags(engine):
            pass
        with read_transaction(engine) as connection:
            due = len(board_store.board_headings(connection))
        figured = _timed(lambda: catalogue_board_and_page_updater.refresh_boards(engine, book))
        carded = _timed(lambda: judge_cards.refresh_cards(engine, book))
    engine.dispose()
    timed = {
        f"filling the catalogue with {COUNT:,} verdicts": filled,
        f"filling the catalogue with {COUNT:,} verdicts, our CPU": spent,
        f"a panel of three rules on {COUNT // JUDGES:,} cases": ruled,
        f"computing {due} leaderboards": figured,
        "computing all judge cards": carded,
    }
    return [Row.of(what, seconds, written, "writing the ledger", "s") for what, seconds in timed.items()]


def _measured(folder: Path, ledger: Path, database: str, written: float, *behind: int) -> list[Row]:
    folder.mkdir()
    made = [*_filling(ledger, database, written), *_serving(folder, ledger, database, *behind)]
    kind = "" if database.startswith("sqlite") else "PostgreSQL: "
    return [replace(row, what=f"{kind}{row.what}") for row in made]


def main() -> list[Row]:
    """All rows."""
    made: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger = folder / "bench.ledger"
        written = _timed(lambda: web_ledger.write(ledger, COUNT))
        if "sqlite" in DATABASES:
            database = f"sqlite:///{folder / 'web.sqlite'}"
            made += _measured(folder / "sqlite", ledger, database, written)
        if "postgresql" in DATABASES:
            with Postgres(durable=True) as server:
                made += _measured(folder / "postgresql", ledger, server.database(), written, server.pid)
    return made
