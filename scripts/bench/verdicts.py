"""A judge call end to end: case, prompt, server, reading, ledger; beside peers that do less of it, all in one run."""

from __future__ import annotations

import sys

from tests.support.fake_chat_server import FakeServer

from scripts.bench import Row, Target
from scripts.bench.calls import LATENCY, measure
from scripts.bench.peers import python_of

PEERS = {"sdk": ("OpenAI SDK", "openai", 600), "inspect": ("inspect_ai generate", "inspect-ai", 300)}
MEGABYTES = 20.0


def cpu(calls: int = 4_000, width: int = 64) -> list[Row]:
    """CPU of a whole verdict, ledger on, against a raw socket client and the bare call of each peer."""
    what = "a verdict end to end, 40 KB picture, ledger on, CPU"
    with FakeServer(quick=True) as server:
        mine = min(measure("hearing", server.url, calls, width)["cpu_ms"] for _ in range(3))
        least = min(measure("floor", server.url, calls, width)["cpu_ms"] for _ in range(3))
        rows = [Row.of(what, mine, least, "raw asyncio socket", "ms", target=Target(0.35, "ours"))]
        for client, (name, package, count) in PEERS.items():
            python = python_of(package)
            if python is None:
                sys.stderr.write(f"{name} is left out: {package} could not be installed\n")
                continue
            theirs = min(measure(client, server.url, count, width, python)["cpu_ms"] for _ in range(2))
            rows.append(Row.of(what, mine, theirs, name, "ms"))
    return rows


def wall(calls: int = 5_000, width: int = 128) -> list[Row]:
    """Wall at 50 ms latency and 128 in flight, ledger on: over ideal, and beside a raw client on the same machine."""
    what, ideal = "verdicts at 50 ms latency, 128 in flight", calls / width * LATENCY
    with FakeServer(quick=True, latency=LATENCY) as server:
        mine = _told(what, measure("hearing", server.url, calls, width))
        least = measure("floor", server.url, calls, width)["wall"]
    return [
        Row.of(what, mine, ideal, "ideal", "s", target=Target(2.0)),
        Row.of(what, mine, least, "raw asyncio socket", "s"),
    ]


def uneven(calls: int = 4_000, width: int = 256) -> list[Row]:
    """Wall where latency is as uneven as a provider's: lognormal around 800 ms, 256 in flight, ledger on."""
    what = "verdicts at 800 ms lognormal latency, 256 in flight"
    with FakeServer(quick=True, latency=0.8, spread=0.5) as server:
        mine = _told(what, measure("hearing", server.url, calls, width))
    with FakeServer(quick=True, latency=0.8, spread=0.5) as server:
        least = measure("floor", server.url, calls, width)["wall"]
    return [Row.of(what, mine, least, "raw asyncio socket", "s", target=Target(1.1))]


def _told(what: str, found: dict[str, float]) -> float:
    """The wall, and a word on how much of it other processes had the cores: a wall means little where that is much."""
    if found["queued"] > 0.1 * found["wall"]:
        sys.stderr.write(f"{what}: {found['queued']:.1f} of {found['wall']:.1f} s were spent waiting for a core\n")
    return found["wall"]


def memory(few: int = 10_000, many: int = 100_000, width: int = 64) -> list[Row]:
    """How much more memory is held at the most over 100,000 verdicts than over 10,000."""
    with FakeServer(quick=True) as server:
        small = measure("hearing", server.url, few, width)["peak_mb"]
        large = measure("hearing", server.url, many, width)["peak_mb"]
    what = "memory over 100,000 verdicts"
    return [
        Row.of(what, large, small, "over 10,000", "MB"),
        Row.of(
            f"{what}, growth from 10,000", max(0.0, large - small), MEGABYTES, "the limit", "MB", target=Target(1.0)
        ),
    ]


def main() -> list[Row]:
    """All rows."""
    return [*cpu(), *wall(), *uneven(), *memory()]
