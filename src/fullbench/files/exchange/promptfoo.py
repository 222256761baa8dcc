"""Importer of promptfoo's results, as `promptfoo eval --output results.json` and `promptfoo export eval` write them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fullbench.core.benchmark import LoadedData
from fullbench.core.item import Item, Turn
from fullbench.errors import InputError
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.harness_metrics_as_marks import Measures, number_of
from fullbench.files.exchange.import_record_builder import RecordBuilder, files_in, question_id, read_json, words_of
from fullbench.files.exchange.message_parts import parse_conversation

JUDGE = "promptfoo"
_NO_ASSERTIONS = "No assertions"
_ERROR = 2
"""promptfoo's `failureReason` of a call that failed; 1 is a failed assertion."""


def is_promptfoo_file(head: FileHead) -> bool:
    """Return True for results of all versions, and for what `share` sends."""
    return _result_rows(head.content) is not None


def _result_rows(content: Any) -> list[Any] | None:
    """Return the list of results: `results`, or `results.results`, or below `data`; None if there is none."""
    for _ in range(3):
        if not isinstance(content, Mapping):
            return None
        content = content.get("results", content.get("data"))
        if isinstance(content, list):
            first = content[0] if content else None
            is_result = isinstance(first, Mapping) and "prompt" in first and first.keys() & {"vars", "testCase"}
            return content if is_result else None
    return None


@detected_by(is_promptfoo_file)
def import_promptfoo(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import results of promptfoo. Each type of assertion becomes a judge, and the total score the judge `promptfoo`.

    A contestant is a provider; with several prompts, a provider with a prompt, as in promptfoo's columns. Then the
    question has the variables of the test. An assertion's `metric` is a criterion. Option: `scale`, for scores outside
    0 to 1.
    """
    builder = RecordBuilder(path)
    measures = Measures(builder, options)
    for file in files_in(path, "*.json"):
        rows = _result_rows(read_json(file))
        if rows is None:
            raise InputError("the file has no results of promptfoo ('results' with 'prompt' and 'vars')", path=file)
        labels = _prompt_labels(rows)
        for row in rows:
            if isinstance(row, Mapping):
                _add_result(builder, measures, row, labels, file)
    measures.settle()
    return builder.build()


def _prompt_key(row: Mapping[str, Any]) -> str:
    """Return what distinguishes the prompts before their variables were filled in."""
    prompt = row.get("prompt")
    label = prompt.get("label", prompt.get("display")) if isinstance(prompt, Mapping) else None
    return words_of(row.get("promptIdx")) if label is None else words_of(label)


def _prompt_labels(rows: list[Any]) -> dict[str, str]:
    """Return a label for each prompt; empty if there is only one."""
    keys = list(dict.fromkeys(_prompt_key(row) for row in rows if isinstance(row, Mapping)))
    return {} if len(keys) < 2 else {key: f"prompt {place}" for place, key in enumerate(keys, 1)}


def _add_result(
    builder: RecordBuilder, measures: Measures, row: Mapping[str, Any], labels: Mapping[str, str], file: Path
) -> None:
    provider = row.get("provider")
    who = words_of(provider.get("label") or provider.get("id")) if isinstance(provider, Mapping) else words_of(provider)
    who = " ".join(filter(None, [who or "model", labels.get(_prompt_key(row), "")]))
    turns = _question_turns(row, file, with_variables=bool(labels))
    place = row.get("testIdx")
    name = f"test-{place}" if isinstance(place, int) else question_id("\n".join(turn.text for turn in turns))
    test = row["testCase"] if isinstance(row.get("testCase"), Mapping) else {}
    description = words_of(test.get("description"))
    item = builder.add_item(Item(name, turns, tags={"description": description} if description else {}))
    reply = row.get("response", row.get("providerResponse"))
    output = reply.get("output") if isinstance(reply, Mapping) else reply
    if output is None or row.get("failureReason") == _ERROR:
        builder.leave_out("results without an answer, since the call failed")
        return
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    shown_response = (who, builder.add_response(item, who, (text,)))
    grading = row["gradingResult"] if isinstance(row.get("gradingResult"), Mapping) else {}
    reason = words_of(grading.get("reason"))
    if reason == _NO_ASSERTIONS or not grading:
        builder.leave_out("results without assertions, which promptfoo counts as passed")
        return
    if (score := number_of(row.get("score", grading.get("score")))) is not None:
        measures.add(JUDGE, item, shown_response, score, text=reason)
    seen: Counter[tuple[str, str]] = Counter()
    for result in _assertion_results(grading):
        assertion = result["assertion"]
        judge = words_of(assertion.get("type")) or "assertion"
        criterion = words_of(assertion.get("metric")) or "overall"
        seen[judge, criterion] += 1
        again = seen[judge, criterion]
        mark = number_of(result.get("score"))
        if mark is None:
            builder.leave_out(f"results of {judge} without a score")
            continue
        measures.add(
            judge, item, shown_response, mark, criterion=criterion if again == 1 else f"{criterion} {again}",
            text=words_of(result.get("reason")),
        )  # fmt: skip


def _assertion_results(grading: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the results of assertions, those in sets of assertions too."""
    for result in grading.get("componentResults") or ():
        if not isinstance(result, Mapping):
            continue
        if isinstance(result.get("assertion"), Mapping):
            yield result
        else:
            yield from _assertion_results(result)


def _question_turns(row: Mapping[str, Any], file: Path, *, with_variables: bool) -> tuple[Turn, ...]:
    prompt = row.get("prompt")
    text = words_of(prompt.get("raw") if isinstance(prompt, Mapping) else prompt)
    test = row["testCase"] if isinstance(row.get("testCase"), Mapping) else {}
    variables = row.get("vars", test.get("vars"))
    if with_variables and isinstance(variables, Mapping) and variables:
        variable_texts = {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in variables.items()
        }
        lines = [value if len(variable_texts) == 1 else f"{name}: {value}" for name, value in variable_texts.items()]
        return (Turn("user", ("\n".join(lines),)),)
    try:
        messages = json.loads(text) if text.lstrip().startswith("[") else None
    except ValueError:
        messages = None
    turns = parse_conversation(messages, file) if isinstance(messages, list) else ()
    return turns if any(turn.role == "user" for turn in turns) else (Turn("user", (text,)),)
