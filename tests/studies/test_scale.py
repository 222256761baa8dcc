"""The model of a run: what it foresees is what real runs take, and where it breaks is where it should."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from fullbench.errors import InputError
from fullbench.ledger.store import Ledger
from fullbench.studies import scale, specs
from fullbench.studies.hear import hear
from fullbench.studies.scale import MEASURED, Run, foresee
from tests.fake_server import FakeServer
from tests.journeys.commands import cli
from tests.studies.test_endurance import docket


def measured(place, calls: int, latency: float, in_flight: int) -> tuple[float, float]:
    """The seconds of a real run, and those of its process for a verdict."""
    with FakeServer({}, seed=1, says="[[4]]", latency=latency) as server, Ledger(place) as ledger:
        judge = specs.judge(f"vllm:m@{server.url}?concurrency={in_flight}&mode=direct")
        began, worked = time.monotonic(), time.process_time()
        hear([judge], lambda _: docket(calls), ledger)
        took, work = time.monotonic() - began, time.process_time() - worked
        assert len(list(ledger.verdicts())) == calls
    return took, work / calls


@pytest.mark.slow
@pytest.mark.parametrize(("calls", "latency", "in_flight"), [(300, 0.2, 20), (10_000, 0.2, 128)])
def test_a_real_run_takes_what_was_foreseen(tmp_path, calls, latency, in_flight):
    """On an idle machine: walls mean nothing on a busy one, whatever the driver's own work was."""
    took, work = measured(tmp_path / "x.ledger", calls, latency, in_flight)
    seen = foresee(Run(calls, latency, 0.0, in_flight), replace(MEASURED, driver=work))
    assert 0.67 < took / seen.seconds < 1.5, (took, seen)


def test_a_steady_run_is_calls_by_latency_over_those_in_flight():
    plain = replace(MEASURED, driver=0.0, start=0.0)
    for calls in (10_000, 1_000_000, 100_000_000):
        seen = foresee(Run(calls, 1.0, 0.0, 100, ledger="none"), plain)
        assert seen.seconds == pytest.approx(calls / 100, rel=0.02)


def test_what_holds_a_run_back_is_named_and_sets_its_pace():
    base = Run(1_000_000, 0.5, 0.5, 256)
    for run, limit, pace in (
        (base, "the servers", 256 / (0.5 * 1.1331)),
        (replace(base, per_minute=600), "the limit on requests", 10),
        (replace(base, in_flight=100_000), "the driver", 1 / MEASURED.driver),
    ):
        seen = foresee(run)
        assert seen.limit == limit
        assert seen.run.calls / seen.seconds == pytest.approx(pace, rel=0.05)
    apart = foresee(replace(base, in_flight=100_000, drivers=16, ledger="postgres"))
    assert apart.seconds < foresee(replace(base, in_flight=100_000, ledger="postgres")).seconds / 5


def test_calls_that_fail_are_made_again_and_a_far_ledger_does_not_hold_back():
    base = Run(200_000, 0.05, 0.0, 128, ledger="postgres")
    near, far = foresee(base), foresee(replace(base, away=0.02))
    assert far.seconds < 1.3 * near.seconds
    assert foresee(replace(base, failing=0.5)).seconds == pytest.approx(2 * near.seconds, rel=0.05)


def test_the_command_shows_sizes_beside_each_other_and_refuses_nonsense():
    words = ("scale", "--calls", "1e4", "--calls", "1e9", "--dollars", "0.001", "--ledger", "postgres")
    (table,) = json.loads(cli(*words, "--json").stdout)
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert [row["calls"] for row in rows] == [10_000, 1_000_000_000]
    assert rows[1]["dollars"] == pytest.approx(1_000_000)
    assert rows[1]["GB in the lake"] == pytest.approx(138)
    assert rows[1]["hours"] > 90_000 * rows[0]["hours"] / 2
    assert "known: sqlite" in cli("scale", "--ledger", "oracle", code=2).stderr
    with pytest.raises(InputError, match="below 1"):
        scale.foresee(Run(10, failing=1.0))
