"""Exporters of verdicts for other viewers: Inspect logs, Langfuse scores, OpenTelemetry events, MLflow runs."""

from __future__ import annotations

import json
import re
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import Any

from fullbench.core.item import Item, Part
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.exchange.message_parts import count_omitted_media, typed_parts
from fullbench.files.items_from_picture_folder import check_new
from fullbench.files.row_writers import replace_atomically, write_rows


@dataclass(frozen=True, slots=True)
class _MarkedResponse:
    verdict: Verdict
    name: str
    who: str
    sample: int
    mark: float | None

    @property
    def trace(self) -> str:
        """Id of the response."""
        return digest([self.verdict.item, self.who, self.sample])


def _marked_responses(record: Record) -> Iterator[_MarkedResponse]:
    """Yield each response of every verdict with its mark, under a name for judge and criterion.
    If a judge used several ballots on a criterion, the ballot is part of the name, since a rank is not a score.
    """
    ballots: dict[tuple[str, str], set[str]] = defaultdict(set)
    for verdict in record:
        ballots[verdict.judge, verdict.criterion].add(verdict.ballot)
    for verdict in record:
        several = len(ballots[verdict.judge, verdict.criterion]) > 1
        name = f"{verdict.judge}/{verdict.criterion}" + (f"/{verdict.ballot}" if several else "")
        for at, (who, sample) in enumerate(verdict.shown_responses):
            yield _MarkedResponse(verdict, name, who, sample, None if verdict.marks is None else verdict.marks[at])


def _iso_time(at: float) -> str:
    return datetime.fromtimestamp(at or 0, UTC).isoformat()


def write_inspect(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Write an Inspect log (`.eval` or `.json`) for one contestant.

    Each judge and criterion is a scorer; the mean of its marks is the score. Options: `contestant`, its full
    name, required if there are several; `task`, the task's name.
    """
    if path.suffix not in {".eval", ".json"}:
        raise InputError("a log of Inspect needs a name that ends in .eval or .json", path=path)
    who = options.get("contestant") or (record.contestants[0] if len(record.contestants) == 1 else "")
    if who not in record.contestants:
        raise InputError(
            f"a log has the answers of one contestant. Add --option contestant=NAME; contestants: "
            f"{', '.join(record.contestants)}"
        )
    scores_by_answer: dict[tuple[str, int], dict[str, list[tuple[float, str]]]] = defaultdict(lambda: defaultdict(list))
    faults: dict[tuple[str, int], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for marked_response in _marked_responses(record):
        place = (marked_response.verdict.item, marked_response.sample)
        if marked_response.who != who:
            continue
        name = marked_response.name.removesuffix("/overall")
        scores = scores_by_answer[place]
        if marked_response.mark is None:
            faults[place][name].append(str(marked_response.verdict.fault))
        else:
            scores[name].append((marked_response.mark, marked_response.verdict.text))
    scorers = sorted({name for scores in scores_by_answer.values() for name in scores})
    created_at = _iso_time(max((verdict.at for verdict in record), default=0.0))
    samples: list[dict[str, Any]] = []
    for (item, number), scores in scores_by_answer.items():
        answer = record.responses.get((item, who, number))
        question_messages = (
            _inspect_messages(record.items[item]) if item in record.items else [{"role": "user", "content": item}]
        )
        reply = answer.text if answer is not None else ""
        has_files = answer is not None and bool(answer.media)
        content = _inspect_parts(answer.parts) if answer is not None and has_files else reply
        message = {"role": "assistant", "content": content, "source": "generate"}
        samples.append(
            {
                "id": item,
                "epoch": number + 1,
                "input": question_messages[0]["content"]
                if len(question_messages) == 1 and isinstance(question_messages[0]["content"], str)
                else question_messages,
                "target": (record.items[item].reference if item in record.items else None) or "",
                "messages": [*question_messages, message],
                "output": {"model": who, "choices": [{"message": message, "stop_reason": "stop"}], "completion": reply},
                "scores": {
                    name: {"value": fmean(mark for mark, _ in marks), "answer": reply, "explanation": marks[-1][1]}
                    for name, marks in scores.items()
                },
                "metadata": {"unusable": faults[item, number]} if (item, number) in faults else {},
                "store": {},
                "events": [],
                "model_usage": {},
                "attachments": {},
            }
        )
    results = [
        {
            "name": name, "scorer": name, "params": {},
            "metrics": {"mean": {"name": "mean", "value": fmean(
                sample["scores"][name]["value"] for sample in samples if name in sample["scores"]), "params": {}}},
        }
        for name in scorers
    ]  # fmt: skip
    ids = sorted({item for item, _ in scores_by_answer})
    log = {
        "version": 2, "status": "success",
        "eval": {
            "eval_id": digest([who, ids])[:22], "run_id": digest([record.digest()])[:22], "created": created_at,
            "task": options.get("task", "fullbench"), "task_id": digest([options.get("task", "fullbench")])[:22],
            "task_version": 0, "task_attribs": {}, "task_args": {}, "model": who, "model_args": {},
            "dataset": {"name": options.get("task", "fullbench"), "samples": len(ids), "sample_ids": ids},
            "config": {"epochs": max((number for _, number in scores_by_answer), default=0) + 1},
            "packages": {"fullbench": version("fullbench")},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": results},
        "stats": {"started_at": created_at, "completed_at": created_at, "model_usage": {}},
        "samples": samples,
    }  # fmt: skip
    with replace_atomically(path) as part:
        if path.suffix == ".eval":
            _write_archive(part, log)
        else:
            part.write_text(json.dumps(log, ensure_ascii=False, indent=1), encoding="utf-8")
    return {"samples": len(samples), "scorers": len(scorers)}


def _inspect_messages(item: Item) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for turn in item.turns:
        messages.append({"role": turn.role, "content": _inspect_parts(turn.parts) if turn.media else turn.text})
    return messages


def _inspect_parts(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return parts as Inspect's content blocks, which name the formats of videos and recordings by suffix."""
    return [
        block if isinstance(part, str) or part.kind in {"image", "document"} else {**block, "format": part.suffix}
        for part, block in zip(parts, typed_parts(parts), strict=True)
    ]


def _question_text(question: Any) -> str:
    if isinstance(question, str):
        return question
    contents = [message["content"] for message in question]
    texts = [
        [content] if isinstance(content, str) else [part.get("text", "") for part in content] for content in contents
    ]
    return "\n".join(filter(None, (text for part in texts for text in part)))


def _write_archive(path: Path, log: Mapping[str, Any]) -> None:
    """Write a log as Inspect's archive: a header, a file for each sample, and summaries for its viewer."""
    head = {name: value for name, value in log.items() if name != "samples"}
    summary_fields = ("id", "epoch", "target", "scores")
    members: dict[str, Any] = {
        "_journal/start.json": {name: log[name] for name in ("version", "eval", "plan")},
        **{f"samples/{sample['id']}_epoch_{sample['epoch']}.json": sample for sample in log["samples"]},
        "summaries.json": [
            {
                **{name: sample[name] for name in summary_fields},
                "input": _question_text(sample["input"]),
                "completed": True,
            }
            for sample in log["samples"]
        ],
        "header.json": head,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, json.dumps(content, ensure_ascii=False))


def write_langfuse(record: Record, path: Path, _options: Mapping[str, str]) -> dict[str, int]:
    """Write a body for Langfuse's ingestion API.
    Each response is a trace, each mark a score, and each fault a categorical score.
    """
    events: dict[str, dict[str, Any]] = {}

    def add(kind: str, key: str, at: float, body: dict[str, Any]) -> None:
        events[key] = {"id": digest([kind, key]), "type": f"{kind}-create", "timestamp": _iso_time(at), "body": body}

    for marked_response in _marked_responses(record):
        verdict, trace = marked_response.verdict, marked_response.trace
        if trace not in events:
            answer = record.responses.get((verdict.item, marked_response.who, marked_response.sample))
            add(
                "trace",
                trace,
                verdict.at,
                {
                    "id": trace,
                    "name": verdict.item,
                    "userId": marked_response.who,
                    "input": _question_content(record.items.get(verdict.item)),
                    "output": answer.text if answer else None,
                    "timestamp": _iso_time(verdict.at),
                },
            )
        key = digest(
            [verdict.case, verdict.judge, verdict.trial, verdict.rater, marked_response.who, marked_response.sample]
        )
        score_fields = {"value": verdict.fault, "dataType": "CATEGORICAL"} if marked_response.mark is None else {
            "value": marked_response.mark, "dataType": "NUMERIC",
        }  # fmt: skip
        add(
            "score",
            key,
            verdict.at,
            {
                "id": key,
                "traceId": trace,
                "name": f"{marked_response.name}/fault" if marked_response.mark is None else marked_response.name,
                **score_fields,
                "comment": verdict.text or None,
                "metadata": {
                    "case": verdict.case,
                    "ballot": verdict.ballot,
                    "trial": verdict.trial,
                    "rater": verdict.rater,
                },
            },
        )
    with replace_atomically(path) as part:
        part.write_text(json.dumps({"batch": list(events.values())}, ensure_ascii=False), encoding="utf-8")
    event_counts = Counter(event["type"] for event in events.values())
    counts = {"traces": event_counts["trace-create"], "scores": event_counts["score-create"]}
    return counts | count_omitted_media(record, questions=True, answers=True)


def _question_content(item: Item | None) -> str | list[dict[str, str]] | None:
    if item is None or len(item.turns) == 1:
        return item.question if item else None
    return [{"role": turn.role, "content": turn.text} for turn in item.turns]


def write_otel(record: Record, path: Path, _options: Mapping[str, str]) -> dict[str, int]:
    """Write OTLP logs in JSON lines: a `gen_ai.evaluation.result` event for each mark.
    Without a mark, `error.type` names the fault.
    """

    def attribute(key: str, value: str | float) -> dict[str, Any]:
        form = {"stringValue": value}
        if not isinstance(value, str):
            form = {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}
        return {"key": key, "value": form}

    resource = {
        "attributes": [attribute("service.name", "fullbench"), attribute("service.version", version("fullbench"))]
    }

    def lines() -> Iterator[dict[str, Any]]:
        for marked_response in _marked_responses(record):
            verdict = marked_response.verdict
            score_attributes = (
                {"error.type": str(verdict.fault)}
                if marked_response.mark is None
                else {
                    "gen_ai.evaluation.score.value": float(marked_response.mark),
                }
            )
            attributes: dict[str, str | float] = {
                "gen_ai.evaluation.name": marked_response.name,
                **score_attributes,
                "gen_ai.evaluation.explanation": verdict.text,
                "gen_ai.request.model": marked_response.who,
                "gen_ai.response.id": marked_response.trace,
                "fullbench.item": verdict.item,
                "fullbench.sample": marked_response.sample,
                "fullbench.case": verdict.case,
                "fullbench.ballot": verdict.ballot,
                "fullbench.trial": verdict.trial,
                "fullbench.rater": verdict.rater,
            }
            event = {
                "eventName": "gen_ai.evaluation.result",
                "timeUnixNano": str(int(verdict.at * 1e9)),
                "attributes": [attribute(key, value) for key, value in attributes.items() if value != ""],
            }
            yield {
                "resourceLogs": [
                    {"resource": resource, "scopeLogs": [{"scope": {"name": "fullbench"}, "logRecords": [event]}]}
                ]
            }

    return {"events": write_rows(path, lines())}


def write_mlflow(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Write a folder in the format of MLflow's file store, with a run for each contestant.
    Metrics are the mean mark of each judge and the number of each of its faults.
    """
    check_new(path)
    means: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    faults: dict[str, Counter[str]] = defaultdict(Counter)
    for marked_response in _marked_responses(record):
        if marked_response.mark is None:
            faults[marked_response.who][f"{marked_response.name}.{marked_response.verdict.fault}"] += 1
        else:
            means[marked_response.who][marked_response.name].append(marked_response.mark)
    values = {
        who: {name: fmean(marks) for name, marks in means[who].items()}
        | {name: float(count) for name, count in faults[who].items()}
        for who in [*means, *(who for who in faults if who not in means)]
    }
    files = _metric_files({name for metric_values in values.values() for name in metric_values})
    now = int(max((verdict.at for verdict in record), default=time.time()) * 1000)
    experiment = path / "1"
    place = experiment.resolve().as_uri()
    _write_yaml(experiment / "meta.yaml", {
        "artifact_location": place, "creation_time": now, "experiment_id": "'1'", "last_update_time": now,
        "lifecycle_stage": "active", "name": json.dumps(options.get("name", "fullbench"), ensure_ascii=False),
    })  # fmt: skip
    for who, metric_values in values.items():
        run = digest([record.digest(), who])[:32]
        _write_yaml(experiment / run / "meta.yaml", {
            "artifact_uri": f"{place}/{run}/artifacts", "end_time": now, "entry_point_name": "''",
            "experiment_id": "'1'", "lifecycle_stage": "active", "run_id": f"'{run}'",
            "run_name": json.dumps(who, ensure_ascii=False), "run_uuid": f"'{run}'",
            "source_name": "''", "source_type": 4, "source_version": "''", "start_time": now, "status": 3, "tags": "[]",
            "user_id": "fullbench",
        })  # fmt: skip
        (experiment / run / "artifacts").mkdir()  # MLflow does not find a run by id without it
        _write_text(experiment / run / "params" / "contestant", who)
        _write_text(experiment / run / "tags" / "mlflow.runName", who)
        for name, value in metric_values.items():
            _write_text(experiment / run / "metrics" / files[name], f"{now} {value!r} 0\n")
    return {"runs": len(values), "metrics": sum(map(len, values.values()))}


def _metric_files(names: Iterable[str]) -> dict[str, str]:
    """Return the file of each metric: its name in the characters that MLflow allows.
    No two files have the same name, and none has the name of another's folder.
    """
    plain = {
        name: "/".join(re.sub(r"[^\w.\- ]", "_", part).strip(" ") or "_" for part in name.split("/")) for name in names
    }
    plain = {name: re.sub(r"(^|/)\.+(?=/|$)", r"\1_", file) for name, file in plain.items()}
    file_counts = Counter(plain.values())
    folders = {parent.as_posix() for file in file_counts for parent in PurePosixPath(file).parents}
    return {
        name: f"{file}-{digest(name)[:6]}" if file_counts[file] > 1 or file in folders else file
        for name, file in plain.items()
    }


def _write_yaml(path: Path, values: Mapping[str, object]) -> None:
    _write_text(path, "".join(f"{name}: {value}\n" for name, value in values.items()))


def _write_text(path: Path, text: str) -> None:
    with replace_atomically(path) as part:
        part.write_text(text, encoding="utf-8")
