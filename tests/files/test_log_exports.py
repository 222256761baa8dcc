"""Scores for other people's viewers: every mark and every fault arrives, under a name that mixes no two things."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from fullbench.core.verdict_record import Record
from tests.files.several import ASKED, MODELS, rich


def apart(record: Record) -> dict[tuple[str, str], list[float | str]]:
    """What each contestant got, by judge, criterion and ballot: marks, and the names of faults."""
    found: dict[tuple[str, str], list[float | str]] = defaultdict(list)
    for verdict in record:
        ballot = f"/{verdict.ballot}" if verdict.judge == "human" else ""  # people alone ruled by two ballots
        for at, who in enumerate(verdict.contestants):
            name = f"{verdict.judge}/{verdict.criterion}{ballot}"
            found[who, name].append(verdict.marks[at] if verdict.marks else str(verdict.fault))
    return found


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return rich(tmp_path / "r.ledger")


def test_mlflow_has_a_run_for_each_contestant_and_mixes_no_ballots(cli, tmp_path, record, monkeypatch):
    code, _, err = cli("export", "mlflow", "--ledger", "r.ledger", "--out", "mlruns")
    assert code == 0, err
    wanted: dict[str, dict[str, float]] = defaultdict(dict)
    for (who, name), said in apart(record).items():
        plain = name.replace("choice+tie", "choice_tie").replace(ASKED, "openai_judge_cot_ab12")
        if marks := [mark for mark in said if not isinstance(mark, str)]:
            wanted[who][plain] = fmean(marks)
        for fault, count in Counter(fault for fault in said if isinstance(fault, str)).items():
            wanted[who][f"{plain}.{fault}"] = count
    runs = [file.parent for file in (tmp_path / "mlruns" / "1").glob("*/meta.yaml")]
    assert all((run / "artifacts").is_dir() for run in runs), "without it MLflow does not find a run by its id"
    found = {
        (run / "params" / "contestant").read_text(encoding="utf-8"): {
            file.relative_to(run / "metrics").as_posix(): float(file.read_text().split()[1])
            for file in (run / "metrics").rglob("*") if file.is_file()
        }
        for run in runs
    }  # fmt: skip
    assert found == {who: pytest.approx(named) for who, named in wanted.items()}
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: its client opens what we write")
    client = mlflow.MlflowClient(f"file://{tmp_path / 'mlruns'}")
    read = {run.info.run_name: client.get_run(run.info.run_id).data.metrics for run in client.search_runs(["1"])}
    assert read == found


def test_names_that_mlflow_would_take_for_one_stay_two(cli, tmp_path):
    from fullbench.files.exchange.observability_exporters import _metric_files

    names = ["a:b/overall", "a+b/overall", "x/y", "x/y/z", "../up/overall", "./overall"]
    files = _metric_files(names)
    assert len(set(files.values())) == len(names)
    for file in files.values():
        assert not any(other.startswith(f"{file}/") for other in files.values()), "a file is no folder"
        assert not {"..", ".", ""} & set(file.split("/"))


def test_events_and_scores_hold_every_mark_and_every_fault(cli, tmp_path, record):
    for kind, out in (("otel", "events.jsonl"), ("langfuse", "scores.json")):
        code, _, err = cli("export", kind, "--ledger", "r.ledger", "--out", out)
        assert code == 0, err
    wanted = Counter((who, name, said) for (who, name), all_ in apart(record).items() for said in all_)
    lines = (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    events = []
    for line in lines:
        (event,) = json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        events.append({one["key"]: next(iter(one["value"].values())) for one in event["attributes"]})
    assert wanted == Counter(
        (
            event["gen_ai.request.model"], event["gen_ai.evaluation.name"],
            event.get("gen_ai.evaluation.score.value", event.get("error.type")),
        )
        for event in events
    )  # fmt: skip
    told = ("gen_ai.request.model", "fullbench.case", "gen_ai.evaluation.name", "fullbench.trial", "fullbench.rater")
    assert len({tuple(event.get(name) for name in told) for event in events}) == len(events), "no two look the same"
    batch = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))["batch"]
    traces = {event["body"]["id"]: event["body"] for event in batch if event["type"] == "trace-create"}
    scores = [event["body"] for event in batch if event["type"] == "score-create"]
    assert wanted == Counter(
        (traces[score["traceId"]]["userId"], score["name"].removesuffix("/fault"), score["value"]) for score in scores
    )
    assert {score["dataType"] for score in scores if isinstance(score["value"], str)} == {"CATEGORICAL"}
    asked = {trace["name"]: trace["input"] for trace in traces.values()}
    assert asked["q/1"] == "What is it?"
    assert [turn["role"] for turn in asked["对话 3"]] == ["system", "user", "assistant", "user"]
    assert len(traces) == 3 * (len(MODELS) + 1), "three items, an answer of each model, and a second one"
    logs = pytest.importorskip("opentelemetry.proto.logs.v1.logs_pb2", reason="OpenTelemetry is not installed")
    from google.protobuf import json_format

    assert all(json_format.Parse(line, logs.LogsData()).resource_logs for line in lines)


def test_a_log_for_inspect_keeps_ballots_apart_and_names_faults(cli, tmp_path, record):
    who = MODELS[0]
    code, _, err = cli(
        "export", "inspect", "--ledger", "r.ledger", "--out", "log.json", "--option", f"contestant={who}"
    )
    assert code == 0, err
    log = json.loads((tmp_path / "log.json").read_text(encoding="utf-8"))
    marks = {
        name.removesuffix("/overall"): fmean(mark for mark in said if not isinstance(mark, str))
        for (contestant, name), said in apart(record).items() if contestant == who
    }  # fmt: skip
    assert {one["name"]: one["metrics"]["mean"]["value"] for one in log["results"]["scores"]} == pytest.approx(marks)
    wanted = {"human/overall/choice+tie": ["abstained"], ASKED: ["unreadable"]}
    assert [sample["metadata"]["unusable"] for sample in log["samples"]] == [wanted] * 3
