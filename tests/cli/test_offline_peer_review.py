"""A peer review of real pictures without a key: picture tools, rules for texts, and a known order."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.support.commands import run_in
from tests.support.offline_tools import PHOTOS, drawn, with_photos, with_tools

CHAIN = ("objects+text+colours", "kinds+text+colours", "text+colours", "headline+colours", "colours", "colour", "none")
"""Best first: each can do all that the next can, and more."""


def table_of(done, named):
    assert done.returncode == 0, done.stderr
    return next(table for table in json.loads(done.stdout) if table["name"] == named)


def ranking(done):
    table = table_of(done, "ranking")
    name, score = table["columns"].index("contestant"), table["columns"].index("UPME")
    return {row[name].split("#")[0]: row[score] for row in table["rows"]}


@pytest.mark.slow
@with_tools
@with_photos
def test_on_real_photos_the_known_order_is_found(tmp_path):
    (tmp_path / "photos").mkdir()
    for name in (119, 141, 1506, 1673):
        shutil.copy(PHOTOS / f"{name}.jpg", tmp_path / "photos")
    (tmp_path / "photos" / "broken.jpg").write_bytes((PHOTOS / "119.jpg").read_bytes()[:2000])
    pool = ",".join(f"composed:{tools}" for tools in CHAIN)
    words = ["peer-review", "--images", "photos", "--contestants", pool, "--best-first", "--quiet", "--json"]
    done = run_in(tmp_path, *words)
    assert "Skipped:" in done.stderr
    scores = ranking(done)
    ((contestants, spearman, in_order),) = table_of(done, "order")["rows"]
    assert (contestants, spearman["value"]) == (len(CHAIN), 1)
    assert spearman["low"] > 0.9
    assert in_order > 0.5
    again = run_in(tmp_path, *words)
    assert ranking(again) == scores
    assert sum(row[1] for row in json.loads(again.stdout)[-1]["rows"]) == 0, "a second run asks nothing"


def test_nothing_but_pixels_is_needed_for_colours(tmp_path):
    (tmp_path / "drawn").mkdir()
    for name in ("light", "house", "fruit"):
        (tmp_path / "drawn" / f"{name}.png").write_bytes(drawn("mllm_judge", name).data())
    pool = "composed:colours,composed:none,synthetic:blind"
    scores = ranking(run_in(tmp_path, "peer-review", "--images", "drawn", "--contestants", pool, "--quiet", "--json"))
    assert max(scores, key=lambda name: scores[name]["value"]) == "rules+colours"


@pytest.mark.parametrize(
    ("contestants", "sentence"),
    [
        ("composed:colours,composed:colour+colours,composed:none", "'colour' repeats a part of 'colours'"),
        ("composed:colours", "at least three contestants"),
        ("composed:colours,composed:colours,composed:none", "two of the contestants are the same"),
        ("composed:smell,composed:none,composed:colours", "there is no tool 'smell'"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, contestants, sentence):
    (tmp_path / "drawn").mkdir()
    (tmp_path / "drawn" / "light.png").write_bytes(drawn("mllm_judge", "light").data())
    done = run_in(tmp_path, "peer-review", "--images", "drawn", "--contestants", contestants)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "fullbench.ledger").exists()


def test_an_order_is_only_compared_when_one_was_named(tmp_path):
    done = run_in(tmp_path, "peer-review", "--best-first")
    assert done.returncode == 2
    assert "--best-first needs the order of the contestants" in done.stderr
