"""200 people voting at once, 50,000 votes, on PostgreSQL; and the same with server and database killed in the middle.

`FULLBENCH_BENCH_VOTES` makes it smaller. Each person thinks for about two seconds before a vote.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from pathlib import Path

from tests.support.postgres import Postgres

from scripts.bench import Row, Target
from scripts.bench.annotators import Load, Site, check, work

PEOPLE = 200
VOTES = int(os.environ.get("FULLBENCH_BENCH_VOTES", "50000")) // 3 * 3
THINK = float(os.environ.get("FULLBENCH_BENCH_THINK", "2.0"))
WORKERS = 2


def main() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, Postgres(durable=True) as database:
        return [*_steady(Path(folder), database), *_killed(Path(folder), database)]


def _site(folder: Path, database: Postgres, count: int) -> Site:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    site = Site(database.database(), folder, port, WORKERS)
    site.fill(count, PEOPLE)
    site.start()
    return site


def _steady(folder: Path, database: Postgres) -> list[Row]:
    site = _site(folder, database, VOTES)
    before = site.cpu()
    load = work(site, think=THINK)
    used = site.cpu() - before
    kept = check(site, load)
    site.kill()
    if kept != VOTES:
        raise AssertionError(f"{kept} votes are kept, {VOTES} were wanted")
    return [
        Row.of("votes kept, none lost, none twice", kept, VOTES, "wanted", "votes", target=Target(1.0, least=True)),
        Row.of("a vote with the next task, median", load.quantile(0.5), 0.2, "limit", "s"),
        Row.of("a vote with the next task, p95", load.quantile(0.95), 0.2, "limit", "s", target=Target(0.2, of="ours")),
        Row.of("votes a second", kept / load.wall, PEOPLE / THINK, "people ready to vote", "votes/s"),
        Row.of("server's CPU a vote", used / kept, 0.01, "a hundred a second a core", "s"),
    ]


def _killed(folder: Path, database: Postgres) -> list[Row]:
    count = VOTES // 5 // 3 * 3
    site = _site(folder, database, count)

    def killing(load: Load) -> None:
        for part in (1, 2):
            while len(load.acknowledged) < part * count // 3:
                time.sleep(0.02)
            site.kill()
            database.kill()
            database.start()
            site.start()

    load = work(site, think=THINK, during=killing)
    kept = check(site, load)
    site.kill()
    return [
        Row.of("acknowledged votes kept after two kills of all", len(load.acknowledged), kept, "kept", "votes"),
        Row.of("requests sent again", load.again, kept, "votes", "requests"),
    ]
