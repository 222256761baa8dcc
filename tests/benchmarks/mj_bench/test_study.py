"""MJ-Bench as a study: from the exported sample to tables and a page, by the commands a user types."""

from __future__ import annotations

from pathlib import Path

import pytest

from fullbench.benchmarks.mj_bench import asking
from fullbench.core.errors import InputError
from fullbench.ledger.store import Ledger
from fullbench.runs import specs
from tests.benchmarks.mj_bench.test_sources import released
from tests.cli.test_judge import cli, data

__all__ = ["cli", "data", "released"]


@pytest.fixture
def sample(cli, tmp_path) -> Path:
    """The sample, exported; a study of it beside its files."""
    code, _, err = cli("export", "mjbench", "--out", "sample")
    assert code == 0, err
    return tmp_path / "sample"


def judged_by(study: Path, *judges: str) -> None:
    lines = study.read_text().splitlines()
    named = ", ".join(f'"{judge}"' for judge in judges)
    study.write_text("\n".join(f"judges = [{named}]" if line.startswith("judges") else line for line in lines))


def test_the_exported_study_is_heard_by_judges_that_see_pictures(cli, sample):
    code, out, err = cli("run", "sample/study.toml", "--quiet")
    assert code == 0, err
    assert "sharpness" in out
    with Ledger(sample / "study.ledger") as ledger:
        record = ledger.record()
    assert {verdict.judge for verdict in record} == {"sharpness", "chance"}
    assert not [verdict for verdict in record if verdict.fault]
    assert (sample / "report.html").exists()


def test_a_study_asks_a_model_by_the_rubric_of_each_perspective(cli, sample):
    """`offline:echo` says what it was told, so that its verdicts hold the prompts."""
    judged_by(sample / "study.toml", "offline:echo?resample=0")
    code, _, err = cli("run", "sample/study.toml", "--quiet")
    assert code == 0, err
    with Ledger(sample / "study.ledger") as ledger:
        verdicts = list(ledger.verdicts())
    assert {verdict.criterion for verdict in verdicts} == set(asking.CRITERIA)
    for verdict in verdicts:
        assert asking.CRITERIA[verdict.criterion] in verdict.text
        assert verdict.fault == "unreadable"


def test_wording_is_part_of_a_judges_name_and_can_be_had_anywhere():
    plain, worded = specs.judge("offline:echo"), specs.judge("offline:echo?wording=mjbench")
    assert plain.name != worded.name
    assert worded.name == asking.judge(specs.contestant("offline:echo")).name
    assert specs.in_words_of("mjbench", "offline:echo?mode=direct") == "offline:echo?mode=direct&wording=mjbench"
    assert specs.in_words_of("mjbench", "offline:echo?wording=mjbench") == "offline:echo?wording=mjbench"
    assert specs.in_words_of("court", "offline:echo") == "offline:echo"
    with pytest.raises(InputError, match="no wording of its own"):
        specs.judge("offline:echo?wording=court")


def test_a_study_of_the_released_data_needs_nothing_else(cli, released):
    """Pictures and labels come with the data; broken pairs are faults of their own, and what was odd is shown."""
    (released / "released").mkdir()
    for file in [*released.glob("*.png"), *released.glob("*.jsonl")]:
        file.rename(released / "released" / file.name)
    (released / "study.toml").write_text(
        'name = "s"\nbenchmark = "mjbench"\ndata = "released"\njudges = ["picture:sharpness"]\nreport = "r.html"\n'
    )
    code, out, err = cli("run", "study.toml", "--quiet")
    assert code == 0, err
    assert "half of a pair is missing: the pair is left out" in out
    assert "the same picture is shown twice" in out
    assert "the picture has no bytes" in out
    assert "human" in out
    page = (released / "r.html").read_text(encoding="utf-8")
    assert "What was odd in the data" in page
