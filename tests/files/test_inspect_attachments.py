"""Inspect condenses pictures and long texts of a sample into its attachments; a log with them is read as it is."""

from __future__ import annotations

import base64
import json
import zipfile

import pytest

from fullbench import Ledger
from tests.files.test_exchange import put
from tests.files.test_mm_vet_and_llava_bench import board
from tests.support.data_builders import png

LONG = "Answer with one word. " * 40
GRADES = ("C", "I", "P", "C")


def sample(number: int, grade: str) -> dict:
    """A sample as Inspect writes it since its logs condense: a picture, a tool call with a screenshot, an answer."""
    keys = {"picture": f"{number}a" * 16, "text": "b" * 32, "screen": f"{number}c" * 16}
    uris = {name: f"data:image/png;base64,{base64.b64encode(png((number, shade, 9))).decode()}"
            for shade, name in enumerate(("picture", "screen"))}  # fmt: skip
    asked = {"role": "user", "source": "input", "content": [
        {"type": "text", "text": "attachment://" + keys["text"]},
        {"type": "image", "image": "attachment://" + keys["picture"], "detail": "auto"},
    ]}  # fmt: skip
    called = {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": "look", "arguments": {}}]}
    shown = {"role": "tool", "content": [{"type": "image", "image": "attachment://" + keys["screen"]}]}
    said = {"role": "assistant", "content": "attachment://" + keys["text"] if number == 3 else f"It is {number}."}
    return {
        "id": number, "epoch": 1, "input": [asked], "target": "red", "scores": {"match": {"value": grade}},
        "messages": [{"role": "system", "content": "s"}, asked, called, shown, said],
        "output": {"model": "m", "choices": [{"message": said, "stop_reason": "stop"}]},
        "attachments": {keys["picture"]: uris["picture"], keys["screen"]: uris["screen"], keys["text"]: LONG},
    }  # fmt: skip


@pytest.mark.parametrize("suffix", [".json", ".eval"])
def test_a_log_with_attachments(cli, tmp_path, suffix):
    head = {"version": 2, "status": "success", "eval": {"task": "see", "model": "openai/gpt-4o", "created": "now"}}
    samples = [sample(number, grade) for number, grade in enumerate(GRADES)]
    log = tmp_path / "logs" / f"2026-01-01T00-00-00_see_x{suffix}"
    put(log, {**head, "samples": samples})
    if suffix == ".eval":
        with zipfile.ZipFile(log, "w") as archive:
            archive.writestr("header.json", json.dumps(head))
            for one in samples:
                archive.writestr(f"samples/{one['id']}_epoch_1.json", json.dumps(one))
    put(tmp_path / "logs" / "notes.json", {"about": "no log"})
    rows, left = board(cli, tmp_path / "logs")
    assert rows["openai/gpt-4o"]["mean real:0-1"]["value"] == pytest.approx((1 + 0 + 0.5 + 1) / 4)
    assert left == {
        "tool calls of models: only the final answer is taken": 4, "results of tools": 4,
        "pictures in the messages after the question, such as screenshots": 4,
        "earlier messages of models: only the final answer is taken": 4,
        "system messages that a solver put before the question": 4,
    }  # fmt: skip
    with Ledger("x.ledger", read_only=True) as book:
        items = {item.id: item for item in book.items()}
        answers = {answer.item: answer.text for answer in book.responses()}
    words, picture = items["see/2"].turns[0].parts
    assert (words, picture.data()) == (LONG, png((2, 0, 9)))
    assert (answers["see/2"], answers["see/3"]) == ("It is 2.", LONG)
