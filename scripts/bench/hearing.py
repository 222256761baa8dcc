"""A judge call end to end: case, prompt, server, reading, ledger; beside peers that do less of it, all in one run."""

from __future__ import annotations

import sys

from tests.fake_server import FakeServer

from scripts.bench import Row
from scripts.bench.calls import LATENCY, measure
from scripts.bench.peers import python_of

PEERS = {"sdk": ("OpenAI SDK", "openai", 600), "inspect": ("inspect_ai generate", "inspect-ai", 300)}


def cpu(calls: int = 4_000, width: int = 64) -> list[Row]:
    """CPU of a whole hearing, ledger on, against the bare call of each peer."""
    rows = []
    with FakeServer(quick=True) as server:
        mine = min(measure("hearing", server.url, calls, width)["cpu_ms"] for _ in range(2))
        for client, (name, package, count) in PEERS.items():
            python = python_of(package)
            if python is None:
                sys.stderr.write(f"{name} is left out: {package} could not be installed\n")
                continue
            theirs = min(measure(client, server.url, count, width, python)["cpu_ms"] for _ in range(2))
            rows.append(Row.of("a verdict end to end, ledger on, CPU", mine, theirs, name, "ms"))
    return rows


def wall(calls: int = 5_000, width: int = 128) -> list[Row]:
    """Wall over ideal at 50 ms latency and 128 in flight, ledger on."""
    ideal = calls / width * LATENCY
    with FakeServer(quick=True, latency=LATENCY) as server:
        mine = measure("hearing", server.url, calls, width)["wall"]
    return [Row.of("verdicts at 50 ms latency, 128 in flight", mine, ideal, "ideal", "s")]


def memory(few: int = 2_000, many: int = 20_000, width: int = 64) -> list[Row]:
    """The most memory held over 20,000 verdicts, beside 2,000."""
    with FakeServer(quick=True) as server:
        small = measure("hearing", server.url, few, width)["peak_mb"]
        large = measure("hearing", server.url, many, width)["peak_mb"]
    return [Row.of("memory over 20,000 verdicts", large, small, "over 2,000", "MB")]


def main() -> list[Row]:
    """All rows."""
    return [*cpu(), *wall(), *memory()]
