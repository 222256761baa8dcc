"""The name of a benchmark in place of a study file is answered by the command that writes its sample."""

from __future__ import annotations


def test_run_names_the_command_that_writes_the_sample(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = cli("run", "mllm-as-a-judge")
    assert code == 2
    assert "`fullbench export mllm-as-a-judge --out mllm-as-a-judge`" in err
    assert cli("export", "mllm-as-a-judge", "--out", "mllm-as-a-judge")[0] == 0
    assert cli("run", "mllm-as-a-judge/study.toml", "--dry-run")[0] == 0
