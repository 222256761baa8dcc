"""Kill a process that judges cases, again and again, and prove that nothing acknowledged is lost.

The child judges a list of cases with a judge that answers at once. It says on a pipe which case it is about to
ask (`?`) and which verdicts are committed (`!`). The parent kills it at random moments; the next child goes on.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

CHILD = """
import os, sys
from fullbench.core.ballot import Score
from fullbench.core.model_call import Usage
from fullbench.core.case import Case
from fullbench.core.verdict import Verdict
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.ledger.ledger import Ledger

def say(mark, keys):
    os.write(1, "".join(f"{mark}{key}\\n" for key in keys).encode())

path, count = sys.argv[1], int(sys.argv[2])
with Ledger(path, on_commit=lambda done: say("!", [v.case for v in done if isinstance(v, Verdict)])) as ledger:
    with ledger.hold_lock("judge"):
        for start in range(0, count, 100):
            cases = []
            for number in range(start, start + 100):
                item = Item.ask(f"item-{number}", f"what is {number}?")
                cases.append(Case(item, (Response.say(item.id, "a", "x" * 300),), Score(1, 5)))
            judged = ledger.judged_keys("judge", [(case.key, 0) for case in cases])
            for case in cases:
                if (case.key, 0) not in judged:
                    say("?", [case.key])
                    ledger.add(case, Verdict.from_case(case, "judge", [3.0], text="y" * 300, usage=Usage(1)))
            ledger.flush()
os.write(1, b"end\\n")
"""


@dataclass(frozen=True)
class Kills:
    """What the kills did: verdicts acknowledged, lost, and given twice; cases asked again and in flight when killed."""

    kills: int
    acknowledged: int
    lost: int
    twice: int
    asked_again: int
    in_flight: int


def kill_and_check(folder: Path, *, kills: int, seed: int = 0, count: int = 100_000) -> Kills:
    """Start and kill `kills` children in turn on one ledger; after each, compare what they said with what is there."""
    from fullbench.ledger.ledger import Ledger

    path, rng = folder / "killed.ledger", random.Random(seed)
    asked: Counter[str] = Counter()
    acknowledged: set[str] = set()
    lost: set[str] = set()
    in_flight = twice = 0
    for _ in range(kills):
        lines = _one(path, count, rng.uniform(0.005, 0.3))
        said = [line[1:] for line in lines if line.startswith("?")]
        done = {line[1:] for line in lines if line.startswith("!")}
        asked.update(said)
        acknowledged |= done
        in_flight += len(set(said) - done)
        with Ledger(path) as ledger:
            kept = [verdict.case for verdict in ledger.verdicts("judge")]
            problems = ledger.verify()
        if problems:
            raise AssertionError(problems)
        lost |= acknowledged - set(kept)
        twice += len(kept) - len(set(kept))
    again = sum(times - 1 for times in asked.values())
    return Kills(kills, len(acknowledged), len(lost), twice, again, in_flight)


def _one(path: Path, count: int, delay: float) -> list[str]:
    """What one child said on the pipe until it was killed, whole lines only."""
    command = [sys.executable, "-c", CHILD, str(path), str(count)]
    with (path.parent / "said").open("wb+") as said:
        child = subprocess.Popen(command, stdout=said)
        while said.seek(0, 2) == 0 and child.poll() is None:
            time.sleep(0.002)
        time.sleep(delay)
        child.kill()
        child.wait()
        said.seek(0)
        text = said.read().decode()
    if child.returncode not in {0, -9}:
        raise AssertionError(f"the child ended with {child.returncode}")
    return text[: text.rfind("\n") + 1].splitlines()
