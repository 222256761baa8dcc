"""The benchmark keeps every promise that fullbench asks of one."""

from __future__ import annotations

import pytest

from fullbench.core import plugin_entry_points
from fullbench.testing import check_benchmark


@pytest.mark.parametrize("name", ["upme", "upme_tables", "prd_peer_review", "pico_peer_review"])
def test_it_is_a_benchmark_like_any_other(tmp_path, name):
    check_benchmark(plugin_entry_points.load_plugin("benchmarks", name), tmp_path)


def test_sample_questions_bear_their_picture_and_author():
    items = plugin_entry_points.load_plugin("benchmarks", "upme").items()
    assert len(items) == 24
    assert {item.tags["reviewer"] for item in items} == {
        "synthetic/blind", "synthetic/blurred", "synthetic/colourblind", "synthetic/hasty", "synthetic/keen",
        "synthetic/wordy",
    }  # fmt: skip
    assert len({item.tags["image"] for item in items}) == 4
    assert all(len(item.pictures) == 1 and item.question.endswith("?") for item in items)
