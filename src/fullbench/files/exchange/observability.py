"""Verdicts for other people's viewers: an Inspect log, scores for Langfuse, OpenTelemetry events, an MLflow run."""

from __future__ import annotations

import json
import re
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import Any

from fullbench.core.digests import digest
from fullbench.core.item import Item
from fullbench.core.record import Record
from fullbench.core.text import one_beginning
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.files.picture_access_policy import data_uri
from fullbench.files.picture_folders import check_new
from fullbench.files.writers import replacing, write_rows


@dataclass(frozen=True, slots=True)
class _Ruled:
    """What one verdict says of one response: a mark, or the fault that prevented it."""

    verdict: Verdict
    name: str
    who: str
    sample: int
    mark: float | None

    @property
    def trace(self) -> str:
        """The response, as an id."""
        return digest([self.verdict.item, self.who, self.sample])


def _rulings(record: Record) -> Iterator[_Ruled]:
    """Every verdict on every response that it speaks of, under a name for its judge and criterion.

    Where a judge ruled by several ballots on a criterion, the ballot is part of the name: a rank is no score.
    """
    ballots: dict[tuple[str, str], set[str]] = defaultdict(set)
    for verdict in record:
        ballots[verdict.judge, verdict.criterion].add(verdict.ballot)
    for verdict in record:
        several = len(ballots[verdict.judge, verdict.criterion]) > 1
        name = f"{verdict.judge}/{verdict.criterion}" + (f"/{verdict.ballot}" if several else "")
        for at, (who, sample) in enumerate(verdict.shown):
            yield _Ruled(verdict, name, who, sample, None if verdict.marks is None else verdict.marks[at])


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
    faults: dict[tuple[str, int], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for ruled in _rulings(record):
        place = (ruled.verdict.item, ruled.sample)
        if ruled.who != who:
            continue
        name = ruled.name.removesuffix("/overall")
        scores = scored[place]
        if ruled.mark is None:
            faults[place][name].append(str(ruled.verdict.fault))
        else:
            scores[name].append((ruled.mark, ruled.verdict.text))
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
            "metadata": {"faults": faults[item, number]} if (item, number) in faults else {},
            "store": {}, "events": [], "model_usage": {}, "attachments": {},
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
            {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": data_uri(part)}
            for part in turn.parts
        ]
        messages.append({"role": turn.role, "content": parts if turn.pictures else turn.text})
    return messages


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
    """A body for Langfuse's ingestion API: a trace for each response, a score for each mark that it got, and a
    categorical one for each fault."""
    events: dict[str, dict[str, Any]] = {}

    def add(kind: str, key: str, at: float, body: dict[str, Any]) -> None:
        events[key] = {"id": digest([kind, key]), "type": f"{kind}-create", "timestamp": _when(at), "body": body}

    for ruled in _rulings(record):
        verdict, trace = ruled.verdict, ruled.trace
        if trace not in events:
            answer = record.responses.get((verdict.item, ruled.who, ruled.sample))
            add("trace", trace, verdict.at, {
                "id": trace, "name": verdict.item, "userId": ruled.who, "input": _asked(record.items.get(verdict.item)),
                "output": answer.text if answer else None, "timestamp": _when(verdict.at),
            })  # fmt: skip
        key = digest([verdict.case, verdict.judge, verdict.trial, verdict.rater, ruled.who, ruled.sample])
        said = {"value": verdict.fault, "dataType": "CATEGORICAL"} if ruled.mark is None else {
            "value": ruled.mark, "dataType": "NUMERIC",
        }  # fmt: skip
        add("score", key, verdict.at, {
            "id": key, "traceId": trace, "name": f"{ruled.name}/fault" if ruled.mark is None else ruled.name, **said,
            "comment": verdict.text or None, "metadata": {
                "case": verdict.case, "ballot": verdict.ballot, "trial": verdict.trial, "rater": verdict.rater,
            },
        })  # fmt: skip
    with replacing(path) as part:
        part.write_text(json.dumps({"batch": list(events.values())}, ensure_ascii=False), encoding="utf-8")
    counted = Counter(event["type"] for event in events.values())
    return {"traces": counted["trace-create"], "scores": counted["score-create"]}


def _asked(item: Item | None) -> str | list[dict[str, str]] | None:
    """What was asked, in words: the question, or the messages of a conversation."""
    if item is None or len(item.turns) == 1:
        return item.question if item else None
    return [{"role": turn.role, "content": turn.text} for turn in item.turns]


def write_otel(record: Record, path: Path, _options: Mapping[str, str]) -> dict[str, int]:
    """OTLP logs in JSON lines: an event `gen_ai.evaluation.result` for each mark, as the conventions have it; where
    there is none, `error.type` names the fault."""

    def attribute(key: str, value: str | float) -> dict[str, Any]:
        form = {"stringValue": value}
        if not isinstance(value, str):
            form = {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}
        return {"key": key, "value": form}

    resource = {
        "attributes": [attribute("service.name", "fullbench"), attribute("service.version", version("fullbench"))]
    }

    def lines() -> Iterator[dict[str, Any]]:
        for ruled in _rulings(record):
            verdict = ruled.verdict
            said = {"error.type": str(verdict.fault)} if ruled.mark is None else {
                "gen_ai.evaluation.score.value": float(ruled.mark),
            }  # fmt: skip
            named: dict[str, str | float] = {
                "gen_ai.evaluation.name": ruled.name, **said, "gen_ai.evaluation.explanation": verdict.text,
                "gen_ai.request.model": ruled.who, "gen_ai.response.id": ruled.trace, "fullbench.item": verdict.item,
                "fullbench.sample": ruled.sample, "fullbench.case": verdict.case, "fullbench.ballot": verdict.ballot,
                "fullbench.trial": verdict.trial, "fullbench.rater": verdict.rater,
            }  # fmt: skip
            event = {
                "eventName": "gen_ai.evaluation.result", "timeUnixNano": str(int(verdict.at * 1e9)),
                "attributes": [attribute(key, value) for key, value in named.items() if value != ""],
            }  # fmt: skip
            yield {
                "resourceLogs": [
                    {"resource": resource, "scopeLogs": [{"scope": {"name": "fullbench"}, "logRecords": [event]}]}
                ]
            }

    return {"events": write_rows(path, lines())}


def write_mlflow(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """A folder as MLflow's file store has it: a run for each contestant, a metric for each judge's mean mark, and one
    for the number of each of its faults."""
    check_new(path)
    means: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    faults: dict[str, Counter[str]] = defaultdict(Counter)
    for ruled in _rulings(record):
        if ruled.mark is None:
            faults[ruled.who][f"{ruled.name}.{ruled.verdict.fault}"] += 1
        else:
            means[ruled.who][ruled.name].append(ruled.mark)
    values = {
        who: {name: fmean(marks) for name, marks in means[who].items()}
        | {name: float(count) for name, count in faults[who].items()}
        for who in [*means, *(who for who in faults if who not in means)]
    }
    files = _metric_files({name for named in values.values() for name in named})
    now = int(max((verdict.at for verdict in record), default=time.time()) * 1000)
    experiment = path / "1"
    place = experiment.resolve().as_uri()
    _text(experiment / "meta.yaml", {
        "artifact_location": place, "creation_time": now, "experiment_id": "'1'", "last_update_time": now,
        "lifecycle_stage": "active", "name": json.dumps(options.get("name", "fullbench"), ensure_ascii=False),
    })  # fmt: skip
    for who, named in values.items():
        run = digest([record.digest(), who])[:32]
        _text(experiment / run / "meta.yaml", {
            "artifact_uri": f"{place}/{run}/artifacts", "end_time": now, "entry_point_name": "''",
            "experiment_id": "'1'", "lifecycle_stage": "active", "run_id": f"'{run}'",
            "run_name": json.dumps(who, ensure_ascii=False), "run_uuid": f"'{run}'",
            "source_name": "''", "source_type": 4, "source_version": "''", "start_time": now, "status": 3, "tags": "[]",
            "user_id": "fullbench",
        })  # fmt: skip
        (experiment / run / "artifacts").mkdir()  # a run without this folder is found by nobody who asks for it by id
        _plain(experiment / run / "params" / "contestant", who)
        _plain(experiment / run / "tags" / "mlflow.runName", who)
        for name, value in named.items():
            _plain(experiment / run / "metrics" / files[name], f"{now} {value!r} 0\n")
    return {"runs": len(values), "metrics": sum(map(len, values.values()))}


def _metric_files(names: Iterable[str]) -> dict[str, str]:
    """The file of each metric: its name in the letters that MLflow allows, no two of them the same, and none the folder
    of another."""
    plain = {
        name: "/".join(re.sub(r"[^\w.\- ]", "_", part).strip(" ") or "_" for part in name.split("/")) for name in names
    }
    plain = {name: re.sub(r"(^|/)\.+(?=/|$)", r"\1_", file) for name, file in plain.items()}
    shared = Counter(plain.values())
    folders = {parent.as_posix() for file in shared for parent in PurePosixPath(file).parents}
    return {
        name: f"{file}-{digest(name)[:6]}" if shared[file] > 1 or file in folders else file
        for name, file in plain.items()
    }


def _text(path: Path, values: Mapping[str, object]) -> None:
    _plain(path, "".join(f"{name}: {value}\n" for name, value in values.items()))


def _plain(path: Path, text: str) -> None:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
