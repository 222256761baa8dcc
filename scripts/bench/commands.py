"""What commands take before and beside the work itself: start-up, and `fullbench judge` from files to tables."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.support.fake_chat_server import FakeServer

from scripts.bench import Row, Target
from scripts.bench.clients import jpeg
from scripts.bench.report import cost

JUDGE = ("-m", "fullbench", "judge", "--items", "items.jsonl", "--responses", "responses.jsonl", "--quiet")
FEW, MANY = 20_000, 200_000
"""Verdicts whose memory is compared."""


def _files(folder: Path, items: int, contestants: int, *, pictures: bool = False) -> None:
    asked: list[dict[str, object]] = [
        {"id": f"item-{number}", "prompt": f"What is in picture {number}?"} for number in range(items)
    ]
    if pictures:
        for number, item in enumerate(asked):
            item["pictures"] = [f"{number}.jpg"]
            (folder / f"{number}.jpg").write_bytes(jpeg(number))
    said = [
        {"item": item["id"], "contestant": f"model-{who}", "text": "word " * (1 + (number * 7 + who * 5) % 23)}
        for number, item in enumerate(asked)
        for who in range(contestants)
    ]
    for name, rows in (("items", asked), ("responses", said)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def _least(command: list[str], folder: Path, times: int = 3) -> float:
    """CPU seconds; the least of some runs, each with a ledger of its own."""
    return min(cost([*command, *_ledger(command, number)], folder)[0] for number in range(times))


def _ledger(command: list[str], number: int) -> list[str]:
    return ["--ledger", f"{number}.ledger"] if "judge" in command else []


def start_up() -> list[Row]:
    """CPU until a command has done next to nothing, beside that of Python itself."""
    python, rows = sys.executable, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _files(folder, 1, 2)
        bare = _least([python, "-c", "pass"], folder)
        for what, command, limit in (
            ("import fullbench", ["-c", "import fullbench"], 0.1),
            ("fullbench --help", ["-m", "fullbench", "--help"], 0.5),
            ("fullbench judge on one case", [*JUDGE, "--judge", "length", "--ballot", "choice"], 0.6),
        ):
            used = _least([python, *command], folder)
            rows.append(Row.of(what, used, bare, "python -c pass", "s of CPU", target=Target(limit, "ours")))
    return rows


def verdicts(items: int = 1_000) -> list[Row]:
    """CPU a verdict of `fullbench judge` with a model behind a server: files, pictures of 40 KB, calls, ledger and
    tables. What the command takes before its first verdict is a row of its own (`start_up`), and left out here."""
    with tempfile.TemporaryDirectory() as name, FakeServer(quick=True) as server:
        # The quick server always says [[4]].
        model = [sys.executable, *JUDGE, "--judge", f"vllm:judge@{server.url}?mode=direct", "--ballot", "score:1-5"]
        took = {}
        for count in (1, items):
            folder = Path(name) / str(count)
            folder.mkdir()
            _files(folder, count, 2, pictures=True)
            took[count] = _least(model, folder)
    each, whole = (took[items] - took[1]) / (2 * items - 2), took[items] / (2 * items)
    what = f"fullbench judge on {2 * items:,} cases with pictures, a verdict beyond start-up"
    return [
        Row.of(what, 1000 * each, 1000 * whole, "start-up spread over all", "ms of CPU", target=Target(0.45, "ours"))
    ]


def memory() -> list[Row]:
    """How much more `fullbench judge` holds at the most for ten times the verdicts on the same data."""
    peaks = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _files(folder, FEW // 20, 5)
        for count in (FEW, MANY):
            command = [sys.executable, *JUDGE, "--judge", "length", "--ballot", "choice", "--trials", str(count // FEW)]
            peaks.append(cost([*command, "--ledger", f"{count}.ledger"], folder)[1])
    small, large = peaks
    growth = (large - small) * 2**20 / (MANY - FEW)
    return [
        Row.of(f"memory of fullbench judge, {MANY:,} verdicts", large, small, f"{FEW:,} verdicts", "MB"),
        Row.of("memory of fullbench judge, a further verdict", growth, 100.0, "the aim", "bytes", target=Target(1.0)),
    ]


def main() -> list[Row]:
    """All rows."""
    return [*start_up(), *verdicts(), *memory()]
