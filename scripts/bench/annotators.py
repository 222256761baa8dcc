"""Many people at work at once, over HTTP, against a real server that may be killed at any moment.

Each person asks for a task, thinks, votes, and gets the next one with the answer. A vote that is not acknowledged is
sent again under the same key, as the page does, until it is.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, insert, select
from tests.support.campaign_tasks import add_tasks

from fullbench import Item, Response
from fullbench.web.accounts import api_tokens, users
from fullbench.web.accounts.account_and_shared_site_tables import users as users_table
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_tables import slots, tasks, votes
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import engine_for, read_transaction, upgrade_schema, write_transaction


@dataclass
class Site:
    """A study with people on a database, and the server's processes."""

    database: str
    folder: Path
    port: int
    workers: int = 1
    study: str = ""
    secrets: list[str] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def engine(self) -> Engine:
        return engine_for(self.database)

    def fill(self, count: int, people: int, redundancy: int = 3) -> None:
        """A study that takes `count` votes, and people with tokens."""
        engine = self.engine
        upgrade_schema(engine)
        with write_transaction(engine) as connection:
            made = campaigns.create_campaign(connection, campaigns.CampaignPlan("load", "pair", votes=redundancy))
            add_tasks(connection, made, (_pair(number) for number in range(count // redundancy)))
            self.study = made.id
            for number in range(people):
                user = users.User(f"{number:016x}", f"person {number}", "annotator", at=time.time())
                row = {"id": user.id, "rater": user.id, "name": user.name, "name_key": user.name, "role": user.role}
                connection.execute(insert(users_table).values(**row, disabled=False, at=user.at, password="-"))
                self.secrets.append(api_tokens.create_token(connection, user, "load", "write")[1])
        engine.dispose()

    def start(self) -> None:
        """`fullbench serve` in processes of its own."""
        command = [str(Path(sys.executable).with_name("fullbench")), "serve", "--port", str(self.port)]
        command += ["--data", str(self.folder), "--database", self.database, "--workers", str(self.workers)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=5).close()
            except OSError:
                time.sleep(0.05)
                continue
            return
        raise RuntimeError((self.folder / "log").read_text()[-2000:])

    def kill(self) -> None:
        """kill -9 of the server and its workers."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=30)

    def cpu(self) -> float:
        """CPU seconds that the server's processes have used so far."""
        assert self.process is not None
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                values = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(values[3]) == self.process.pid:
                ticks += int(values[11]) + int(values[12])
        return ticks / os.sysconf("SC_CLK_TCK")


def _pair(number: int) -> Content:
    item = Item.ask(f"item-{number}", f"What is shown in picture {number}? " * 4)
    return Content(item, tuple(Response.say(item.id, name, f"{name} says " * 30) for name in ("one", "two")))


@dataclass
class Load:
    """What came of it: the key of every acknowledged vote, how long each took, and how often one was sent again."""

    acknowledged: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    again: int = 0
    refused: Counter[int] = field(default_factory=Counter)
    wall: float = 0.0

    def quantile(self, share: float) -> float:
        ranked = sorted(self.seconds)
        return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def work(site: Site, *, think: float, during: Callable[[Load], Any] | None = None) -> Load:
    """Let everybody work until nothing is left; `during` runs beside in a thread."""
    load = Load()
    started = time.perf_counter()
    asyncio.run(_all(site, load, think, during))
    load.wall = time.perf_counter() - started
    return load


async def _all(site: Site, load: Load, think: float, during: Callable[[Load], Any] | None) -> None:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(site.url, connector=connector, timeout=aiohttp.ClientTimeout(60)) as session:
        people = [_person(session, site, secret, load, think) for secret in site.secrets]
        extra = [asyncio.to_thread(during, load)] if during is not None else []
        await asyncio.gather(*people, *extra)


async def _person(session: Any, site: Site, secret: str, load: Load, think: float) -> None:
    headers = {"Authorization": f"Bearer {secret}"}
    path = f"/api/v1/studies/{site.study}"
    draw = random.Random(secret)
    await asyncio.sleep(draw.random() * think)
    given: Any = None
    while True:
        if given is None or given["task"] is None:
            given = await _post(session, f"{path}/next", {}, headers, load)
            if given is None:
                continue
            if given["why"] == "done":
                return
            if given["task"] is None:
                await asyncio.sleep(0.2)
                continue
        await asyncio.sleep(draw.uniform(0.5, 1.5) * think)
        lease = given["task"]["lease"]
        sent = {"lease": lease, "key": lease, "fields": {"best": str(draw.randrange(2))}, "next": True}
        started = time.perf_counter()
        kept = await _post(session, f"{path}/votes", sent, headers, load)
        if kept is not None:
            load.seconds.append(time.perf_counter() - started)
            load.acknowledged.append(lease)
        given = None if kept is None else kept["next"]


async def _post(session: Any, path: str, body: Any, headers: dict[str, str], load: Load) -> Any:
    """The answer; sent again while there is none; None where the server refuses."""
    import aiohttp

    while True:
        try:
            async with session.post(path, json=body, headers=headers) as answer:
                if answer.status < 300:
                    return await answer.json()
                if answer.status < 500:
                    load.refused[answer.status] += 1
                    return None
        except (aiohttp.ClientError, TimeoutError, OSError):
            pass
        load.again += 1
        await asyncio.sleep(0.25)


def check(site: Site, load: Load) -> int:
    """Prove that every acknowledged vote is there exactly once, that nobody voted twice, and that counters are right.

    The number of votes that are kept.
    """
    engine = site.engine
    with read_transaction(engine) as connection:
        kept = connection.execute(select(votes.c.key, votes.c.task, votes.c.person)).all()
        counters = {row.id: row.voted for row in connection.execute(select(tasks.c.id, tasks.c.voted))}
        filled = connection.execute(select(slots.c.task).where(slots.c.revision > 0)).scalars().all()
    engine.dispose()
    keys = Counter(row.key for row in kept)
    lost = set(load.acknowledged) - set(keys)
    twice = [key for key, times in keys.items() if times > 1]
    met = Counter((row.task, row.person) for row in kept)
    if lost or twice or max(met.values(), default=0) > 1 or len(set(load.acknowledged)) < len(load.acknowledged):
        raise AssertionError(f"lost {len(lost)}, twice {len(twice)}, met twice {sum(n > 1 for n in met.values())}")
    times = Counter(row.task for row in kept)
    if Counter(filled) != times or any(counters[task] != count for task, count in times.items()):
        raise AssertionError("the counters of tasks and slots do not agree with the votes")
    return len(kept)
