"""What a call of a model costs: CPU, wall, memory, pictures; beside the floor, all in one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.fake_chat_server import FakeServer

from scripts.bench import Row, Target
from scripts.bench.clients import jpeg

ROOT = Path(__file__).parents[2]
LATENCY = 0.05


def measure(client: str, url: str, calls: int, width: int, python: Path | None = None) -> dict[str, float]:
    """One client in a process of its own."""
    command = [str(python or sys.executable), "-m", "scripts.bench.clients", client, url, str(calls), str(width)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none"}
    found: dict[str, float] = json.loads(subprocess.check_output(command, cwd=ROOT, env=env, text=True))
    return found


def cpu(calls: int = 4_000, width: int = 64) -> list[Row]:
    """CPU milliseconds a call, 64 in flight; the better of two runs each."""
    with FakeServer(quick=True) as server:
        mine = min(measure("ours", server.url, calls, width)["cpu_ms"] for _ in range(2))
        least = min(measure("floor", server.url, calls, width)["cpu_ms"] for _ in range(2))
    return [Row.of("a call, CPU", mine, least, "bare asyncio", "ms")]


def wall(calls: int = 5_000, width: int = 128) -> list[Row]:
    """Wall over ideal at 50 ms latency and 128 in flight."""
    ideal = calls / width * LATENCY
    with FakeServer(quick=True, latency=LATENCY) as server:
        mine = measure("ours", server.url, calls, width)["wall"] / ideal
        least = measure("floor", server.url, calls, width)["wall"] / ideal
    return [
        Row.of(
            "wall over ideal, 50 ms latency, 128 in flight",
            mine,
            least,
            "bare asyncio",
            "times",
            target=Target(2.0, "ours"),
        )
    ]


def memory(few: int = 2_000, many: int = 20_000, width: int = 64) -> list[Row]:
    """The most memory held over 20,000 calls, beside 2,000."""
    with FakeServer(quick=True) as server:
        small = measure("ours", server.url, few, width)["peak_mb"]
        large = measure("ours", server.url, many, width)["peak_mb"]
    return [Row.of("memory over 20,000 calls", large, small, "over 2,000", "MB")]


def pictures(count: int = 300) -> list[Row]:
    """The first use of a 40 KB picture on disk (read, checked, measured, encoded), and every later one, beside base64
    of the standard library on bytes in memory."""
    import base64

    from fullbench.core.picture import Picture
    from fullbench.models.wire.image_encoding import Limit, encode_picture

    data = [jpeg(number) for number in range(count)]
    limit = Limit()

    def each(work: object) -> float:
        assert callable(work)
        before = time.process_time()
        work()
        return (time.process_time() - before) / count * 1e3

    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.jpg" for number in range(count)]
        for file, each_data in zip(files, data, strict=True):
            file.write_bytes(each_data)
        made = [Picture.read(file) for file in files]
        first = each(lambda: [encode_picture(picture, limit) for picture in made])
    later = each(lambda: [encode_picture(picture, limit) for picture in made])
    plain = each(lambda: [base64.b64encode(picture) for picture in data])
    return [
        Row.of("a 40 KB picture, first use, CPU", first, plain, "base64", "ms"),
        Row.of("a 40 KB picture, later use, CPU", later, plain, "base64", "ms"),
    ]


def main() -> list[Row]:
    """All rows."""
    return [*cpu(), *wall(), *memory(), *pictures()]
