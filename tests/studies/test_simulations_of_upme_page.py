"""The simulations on UPME's page, computed again by command."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from statistics import fmean

import pytest

from fullbench.studies.peer_review.simulation import SimulationSetting
from fullbench.studies.peer_review.simulation_tables import method_nearness
from tests.support.commands import cli

PAGE = Path(__file__).parents[2] / "docs" / "papers" / "upme-simulations.md"
METHODS = ("UPME", "UPME, robust", "PRD", "uniform", "rating vote", "majority vote")
ROW = re.compile(r"^\| ([^|]+) \| (?:`([^`]*)`)? ?\|((?: \*{0,2}-?\d\.\d{3}\*{0,2} \|){6})$", re.MULTILINE)


def rows() -> list[tuple[str, str, int, tuple[float, ...]]]:
    """Court, options, seeds and the printed figures of every row that names its options."""
    text = PAGE.read_text(encoding="utf-8")
    second = text.index("Less convenient simulations")
    found = []
    for match in ROW.finditer(text):
        figures = tuple(map(float, re.findall(r"-?\d\.\d{3}", match[3])))
        found.append((match[1], match[2] or "", 200 if match.start() < second else 100, figures))
    return found


def simulated(options: str, seeds: int) -> dict[str, float]:
    done = cli("simulate", *shlex.split(options), "--seeds", seeds, "--sizes", 5, "--json")
    labels = [entry["label"] if isinstance(entry, dict) else entry for entry in done.tables["methods"]["columns"]]
    place = labels.index("pearson")
    return {row[0]: row[place] for row in done.tables["methods"]["rows"]}


def test_the_page_names_every_simulation_that_it_shows():
    assert len(rows()) == 14


@pytest.mark.slow
@pytest.mark.parametrize(("simulation", "options", "seeds", "figures"), rows(), ids=lambda value: str(value)[:40])
def test_a_printed_row_is_what_the_command_gives(simulation, options, seeds, figures):
    found = simulated(options, seeds)
    assert [round(found[method], 3) for method in METHODS] == pytest.approx(figures, abs=5e-4), simulation


def test_with_a_liking_for_ones_own_family_upme_is_behind_plain_peer_review():
    """Two marks for kin, in a few simulations; the page has a hundred, by command."""
    setting = SimulationSetting(length=0, own_family=2, families=True)
    near = {
        method: fmean(near.pearson for near in method_nearness(setting, method, range(8)))
        for method in ("UPME", "UPME, robust", "uniform")
    }
    assert near["UPME"] < near["UPME, robust"] < near["uniform"]
