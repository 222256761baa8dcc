"""Child processes for the tests of the ledger: `python -m tests.ledger.children WHAT LEDGER [ARGS...]`."""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

from fullbench.errors import LedgerError
from fullbench.ledger.ledger import Ledger
from tests.ledger.making import case, verdict


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def write(path: str, start: str, count: str) -> None:
    """Add `count` verdicts from `start`, in the name of the same judge."""
    with Ledger(path) as ledger:
        say("ready")
        sys.stdin.readline()
        for number in range(int(start), int(start) + int(count)):
            ledger.add(case(number), verdict(number, text=start))


def race(path: str, seed: str, count: str) -> None:
    """Add the same verdicts as the others, in an order of one's own, each as another call."""
    numbers = list(range(int(count)))
    random.Random(int(seed)).shuffle(numbers)
    with Ledger(path) as ledger:
        say("ready")
        sys.stdin.readline()
        for number in numbers:
            ledger.add(case(number), verdict(number, text=seed))


def fill(path: str, limit: str) -> None:
    """Add verdicts until no file may grow further, then try to go on, and say what happened."""
    with Ledger(path) as ledger:
        ledger.add(verdict(0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    ledger = Ledger(path)
    try:
        for number in range(1, 100_000):
            ledger.add(verdict(number, text="x" * 2000))
    except LedgerError as error:
        say(ledger.acknowledged_count)
        say(error)
    try:
        ledger.close()
    except LedgerError as error:
        say(error)


def refill(folder: str) -> None:
    """On a small disk: add verdicts until it is full, make room, and go on."""
    ballast, path = Path(folder) / "ballast", Path(folder) / "x.ledger"
    ballast.write_bytes(bytes(1_000_000))
    ledger = Ledger(path)
    try:
        for number in range(100_000):
            ledger.add(verdict(number, text="x" * 2000))
    except LedgerError as error:
        say(error)
    acknowledged = ledger.acknowledged_count
    ballast.unlink()
    with Ledger(path) as again:
        found = [v.item for v in again.verdicts()]
        say(len(found) >= acknowledged > 0 and found == [f"item-{number}" for number in range(len(found))])
        say(again.verify())
    ledger.close()
    with Ledger(path) as again:
        say(sum(1 for _ in again.verdicts()) == ledger.acknowledged_count)


def die_at_the_mark(path: str) -> None:
    """kill -9 of oneself between a mark that more follows in the log and the commit that follows."""
    from fullbench.ledger.sqlite.connection import SqliteConnection

    with Ledger(path) as ledger:
        ledger.add(verdict(1))
        ledger.flush()
    SqliteConnection.checkpoint = lambda _self: os.kill(os.getpid(), signal.SIGKILL)
    Ledger(path).add(verdict(2))
    time.sleep(600)


def hold(path: str, name: str) -> None:
    """Hold a judge until killed, or say who does."""
    with Ledger(path) as ledger:
        try:
            with ledger.hold_lock(name):
                say("held")
                time.sleep(600)
        except LedgerError as error:
            say(error)


if __name__ == "__main__":
    {"write": write, "race": race, "fill": fill, "refill": refill, "hold": hold, "die": die_at_the_mark}[sys.argv[1]](
        *sys.argv[2:]
    )
