"""`protocol = "paper"`: the paper's style, a refusal of what replaces it, and the differences without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fullbench.errors import InputError
from fullbench.studies.run.judging_study_kind import StudyRun
from fullbench.studies.study_file import Study


def study_of(folder: Path, *lines: str) -> Study:
    path = folder / "study.toml"
    judges = [] if any("judges" in line for line in lines) else ['judges = ["offline:echo", "length"]']
    path.write_text("\n".join(['name = "v"', 'benchmark = "visitbench"', *judges, *lines]), encoding="utf-8")
    return Study.read(path)


def test_paper_style_is_taken_and_said(tmp_path: Path) -> None:
    study_run = StudyRun(study_of(tmp_path, 'protocol = "paper"'))
    assert "prompt_style=ref-free" in study_run.specs[study_run.judges[0].name]
    (sentence,) = [text for text in study_run.messages if text.startswith("Protocol of the paper (visitbench)")]
    assert "The texts of prompts are ours" in sentence
    assert "template=FILE" in sentence
    assert not any(text.startswith("Not the paper's") for text in study_run.messages)


def test_each_difference_is_named_without_it(tmp_path: Path) -> None:
    lines = ('orders = "sorted"', 'judges = ["offline:echo?mode=direct"]')
    messages = StudyRun(study_of(tmp_path, *lines)).messages
    assert [text for text in messages if text.startswith("Not the paper's protocol")] == [
        "Not the paper's protocol (visitbench): orders are 'sorted', in the paper 'both'.",
        "Not the paper's protocol (visitbench): mode=direct of the judge offline:echo replaces the paper's.",
    ]


@pytest.mark.parametrize("line", ['orders = "sorted"', 'judges = ["offline:echo?mode=direct"]', 'criteria = ["style"]'])
def test_a_difference_next_to_it_is_refused(line: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"protocol = 'paper', but .*; leave out one of the two"):
        StudyRun(study_of(tmp_path, 'protocol = "paper"', line))
