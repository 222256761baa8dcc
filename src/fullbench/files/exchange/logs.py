"""Verdicts for other people's viewers: an Inspect log, scores for Langfuse, OpenTelemetry events, an MLflow run."""

from __future__ import annotations

import json
import time
import zipfile
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

from fullbench.errors import InputError
from fullbench.files.folders import check_new
from fullbench.files.writers import replacing, write_rows
from fullbench.nouns.digests import digest
from fullbench.nouns.item import Item
from fullbench.nouns.picture import Picture
from fullbench.nouns.record import Record
from fullbench.nouns.text import one_beginning
from fullbench.nouns.verdict import Verdict


def _marks(record: Record) -> Iterator[tuple[Verdict, str, int, float]]:
    """Every mark that was given: verdict, contestant, sample, mark."""
    for verdict in record:
        for (who, sample), mark in zip(verdict.shown, verdict.marks or (), strict=bool(verdict.marks)):
            yield verdict, who, sample, mark


def _when(at: float) -> str:
    return datetime.fromtimestamp(at or 0, UTC).isoformat()


def write_inspect(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """A log of Inspect (`.eval` or `.json`) for one contestant: each judge and criterion is a scorer, the mean of its
    marks a score.

    Options: `contestant`, whose answers, or the beginning of the name; needed where there are several. `task`, the
    task's name.
    """
    if path.suffix not in {".eval", ".json"}:
        raise InputError("Inspect knows its logs by their names: they end in .eval or in .json", path=path)
    named = options.get("contestant") or (record.contestants[0] if len(record.contestants) == 1 else "")
    who = one_beginning(named, record.contestants, "contestant") if named else ""
    if who not in record.contestants:
        raise InputError(f"whose answers? Say --option contestant=NAME; there are: {', '.join(record.contestants)}")
    scored: dict[tuple[str, int], dict[str, list[tuple[float, str]]]] = defaultdict(lambda: defaultdict(list))
    for verdict, contestant, sample, mark in _marks(record):
        if contestant == who:
            name = verdict.judge if verdict.criterion == "overall" else f"{verdict.judge}/{verdict.criterion}"
            scored[verdict.item, sample][name].append((mark, verdict.text))
    scorers = sorted({name for scores in scored.values() for name in scores})
    created = _when(max((verdict.at for verdict in record), default=0.0))
    samples: list[dict[str, Any]] = []
    for (item, number), scores in scored.items():
        answer = record.responses.get((item, who, number))
        asked = _messages(record.items[item]) if item in record.items else [{"role": "user", "content": item}]
        reply = answer.text if answer is not None else ""
        message = {"role": "assistant", "content": reply, "source": "generate"}
        samples.append({
            "id": item, "epoch": number + 1,
            "input": asked[0]["content"] if len(asked) == 1 and isinstance(asked[0]["content"], str) else asked,
            "target": (record.items[item].reference if item in record.items else None) or "",
            "messages": [*asked, message],
            "output": {"model": who, "choices": [{"message": message, "stop_reason": "stop"}], "completion": reply},
            "scores": {
                name: {"value": fmean(mark for mark, _ in marks), "answer": reply, "explanation": marks[-1][1]}
                for name, marks in scores.items()
            },
            "metadata": {}, "store": {}, "events": [], "model_usage": {}, "attachments": {},
        })  # fmt: skip
    results = [
        {
            "name": name, "scorer": name, "params": {},
            "metrics": {"mean": {"name": "mean", "value": fmean(
                sample["scores"][name]["value"] for sample in samples if name in sample["scores"]), "params": {}}},
        }
        for name in scorers
    ]  # fmt: skip
    ids = sorted({item for item, _ in scored})
    log = {
        "version": 2, "status": "success",
        "eval": {
            "eval_id": digest([who, ids])[:22], "run_id": digest([record.digest()])[:22], "created": created,
            "task": options.get("task", "fullbench"), "task_id": digest([options.get("task", "fullbench")])[:22],
            "task_version": 0, "task_attribs": {}, "task_args": {}, "model": who, "model_args": {},
            "dataset": {"name": options.get("task", "fullbench"), "samples": len(ids), "sample_ids": ids},
            "config": {"epochs": max((number for _, number in scored), default=0) + 1},
            "packages": {"fullbench": version("fullbench")},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": results},
        "stats": {"started_at": created, "completed_at": created, "model_usage": {}},
        "samples": samples,
    }  # fmt: skip
    with replacing(path) as part:
        if path.suffix == ".eval":
            _packed(part, log)
        else:
            part.write_text(json.dumps(log, ensure_ascii=False, indent=1), encoding="utf-8")
    return {"samples": len(samples), "scorers": len(scorers)}


def _messages(item: Item) -> list[dict[str, Any]]:
    """What was asked as Inspect has it: a message for each turn, pictures as data URIs."""
    messages: list[dict[str, Any]] = []
    for turn in item.turns:
        parts = [
            {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": _data_uri(part)}
            for part in turn.parts
        ]
        messages.append({"role": turn.role, "content": parts if turn.pictures else turn.text})
    return messages


def _data_uri(picture: Picture) -> str:
    return f"data:{picture.media};base64,{b64encode(picture.data()).decode()}"


def _words(asked: Any) -> str:
    """What was asked without its pictures."""
    if isinstance(asked, str):
        return asked
    contents = [message["content"] for message in asked]
    texts = [
        [content] if isinstance(content, str) else [part.get("text", "") for part in content] for content in contents
    ]
    return "\n".join(filter(None, (text for part in texts for text in part)))


def _packed(path: Path, log: Mapping[str, Any]) -> None:
    """A log as Inspect packs it: an archive with a head, a file for each sample, and a list of them for its viewer."""
    head = {name: value for name, value in log.items() if name != "samples"}
    listed = ("id", "epoch", "target", "scores")
    members: dict[str, Any] = {
        "_journal/start.json": {name: log[name] for name in ("version", "eval", "plan")},
        **{f"samples/{sample['id']}_epoch_{sample['epoch']}.json": sample for sample in log["samples"]},
        "summaries.json": [
            {**{name: sample[name] for name in listed}, "input": _words(sample["input"]), "completed": True}
            for sample in log["samples"]
        ],
        "header.json": head,
    }  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, json.dumps(content, ensure_ascii=False))


def write_langfuse(record: Record, path: Path, _options: Mapping[str, str]) -> dict[str, int]:
    """A body for Langfuse's ingestion API: a trace for each response, a score for each mark that it got."""
    events: list[dict[str, Any]] = []
    traces: set[str] = set()
    scores = 0
    for verdict, who, sample, mark in _marks(record):
        trace = digest([verdict.item, who, sample])
        if trace not in traces:
            traces.add(trace)
            answer, item = record.responses.get((verdict.item, who, sample)), record.items.get(verdict.item)
            body: dict[str, Any] = {
                "id": trace, "name": verdict.item, "userId": who, "input": item.question if item else None,
                "output": answer.text if answer else None, "timestamp": _when(verdict.at),
            }  # fmt: skip
            events.append(
                {"id": digest(["trace", trace]), "type": "trace-create", "timestamp": _when(verdict.at), "body": body}
            )
        key = digest([verdict.case, verdict.judge, verdict.trial, verdict.rater, who, sample])
        score = {
            "id": key, "traceId": trace, "name": f"{verdict.judge}/{verdict.criterion}", "value": mark,
            "dataType": "NUMERIC", "comment": verdict.text,
        }  # fmt: skip
        events.append(
            {"id": digest(["score", key]), "type": "score-create", "timestamp": _when(verdict.at), "body": score}
        )
        scores += 1
    with replacing(path) as part:
        part.write_text(json.dumps({"batch": events}, ensure_ascii=False), encoding="utf-8")
    return {"traces": len(traces), "scores": scores}


def write_otel(record: Record, path: Path, _options: Mapping[str, str]) -> dict[str, int]:
    """OTLP logs in JSON lines: an event `gen_ai.evaluation.result` for each mark, as the conventions have it."""

    def attribute(key: str, value: str | float) -> dict[str, Any]:
        return {"key": key, "value": {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}}

    resource = {
        "attributes": [attribute("service.name", "fullbench"), attribute("service.version", version("fullbench"))]
    }

    def lines() -> Iterator[dict[str, Any]]:
        for verdict, who, sample, mark in _marks(record):
            attributes = [
                attribute("gen_ai.evaluation.name", f"{verdict.judge}/{verdict.criterion}"),
                attribute("gen_ai.evaluation.score.value", float(mark)),
                attribute("gen_ai.evaluation.explanation", verdict.text),
                attribute("gen_ai.request.model", who),
                attribute("gen_ai.response.id", digest([verdict.item, who, sample])),
                attribute("fullbench.item", verdict.item),
                attribute("fullbench.ballot", verdict.ballot),
            ]
            event = {"eventName": "gen_ai.evaluation.result", "timeUnixNano": str(int(verdict.at * 1e9)),
                     "attributes": attributes}  # fmt: skip
            yield {
                "resourceLogs": [
                    {"resource": resource, "scopeLogs": [{"scope": {"name": "fullbench"}, "logRecords": [event]}]}
                ]
            }

    return {"events": write_rows(path, lines())}


def write_mlflow(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """A folder as MLflow's file store has it: a run for each contestant, a metric for each judge's mean mark."""
    check_new(path)
    means: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for verdict, who, _, mark in _marks(record):
        means[who][f"{verdict.judge}/{verdict.criterion}"].append(mark)
    now = int(max((verdict.at for verdict in record), default=time.time()) * 1000)
    experiment = path / "1"
    _text(experiment / "meta.yaml", {
        "artifact_location": "", "creation_time": now, "experiment_id": "'1'", "last_update_time": now,
        "lifecycle_stage": "active", "name": json.dumps(options.get("name", "fullbench"), ensure_ascii=False),
    })  # fmt: skip
    metrics = 0
    for who, named in means.items():
        run = digest([record.digest(), who])[:32]
        _text(experiment / run / "meta.yaml", {
            "artifact_uri": "''", "end_time": now, "entry_point_name": "''", "experiment_id": "'1'",
            "lifecycle_stage": "active", "run_id": run, "run_name": json.dumps(who, ensure_ascii=False),
            "run_uuid": run,
            "source_name": "''", "source_type": 4, "source_version": "''", "start_time": now, "status": 3, "tags": "[]",
            "user_id": "fullbench",
        })  # fmt: skip
        _plain(experiment / run / "params" / "contestant", who)
        _plain(experiment / run / "tags" / "mlflow.runName", who)
        for name, marks in named.items():
            metrics += 1
            safe = "".join(letter if letter.isalnum() or letter in "-_./ " else "_" for letter in name)
            _plain(experiment / run / "metrics" / safe, f"{now} {fmean(marks)!r} 0\n")
    return {"runs": len(means), "metrics": metrics}


def _text(path: Path, values: Mapping[str, object]) -> None:
    _plain(path, "".join(f"{name}: {value}\n" for name, value in values.items()))


def _plain(path: Path, text: str) -> None:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
