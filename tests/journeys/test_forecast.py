"""What `--dry-run` says that a run will cost, beside what it then costs at a server that bills as providers do."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.models.conftest import noise
from tests.support.commands import write_rows
from tests.support.json_server import JsonServer

REASON = (
    "The first answer names the colours that are in the picture and counts what stands in the foreground. It leaves "
    "out the writing at the edge, which the question does not ask for. Nothing in it is wrong. "
)
CASES = {
    # By the providers' guides: what one picture of 1,024 x 1,024 takes, and dollars for a million tokens in and out.
    "gpt-4o": ("openai", 765, 2.5, 10.0),
    "gpt-4o-mini": ("openai", 25_501, 0.15, 0.6),
    "claude-sonnet-4-5": ("anthropic", 1_399, 3.0, 15.0),
    "gemini-2.5-flash": ("gemini", 1_032, 0.3, 2.5),
}


def counted(text: str) -> int:
    """Tokens as byte pairs give them: a short word with its space is one, a long one several, so is each mark, and
    each Chinese character."""
    pieces = re.findall(r"[A-Za-z]+|\d{1,3}|[\u4e00-\u9fff]|[^\sA-Za-z0-9\u4e00-\u9fff]+|\n+", text)
    return sum(-(-len(piece) // 7) if piece.isascii() and piece.isalpha() else 1 for piece in pieces)


def shown(body: Any) -> Iterator[str | None]:
    """The texts that a request has, and None for each picture, whichever dialect it is in."""
    if isinstance(body, list):
        for part in body:
            yield from shown(part)
    elif isinstance(body, dict):
        if {"image_url", "source", "inline_data", "inlineData"} & body.keys():
            yield None
        else:
            for key, value in body.items():
                if isinstance(value, str) and key in {"text", "content", "system"}:
                    yield value
                else:
                    yield from shown(value)


class BillingServer(JsonServer):
    """Counts what it is sent by the provider's rule, and sends the bill with each ruling."""

    def __init__(self, picture: int, price: tuple[float, float], says: str) -> None:
        self.dollars, self.pictures = 0.0, 0
        lock = threading.Lock()

        def billed(path: str, _headers: object, body: Any) -> object:
            parts = list(shown(body))
            taken = sum(picture if part is None else counted(part) for part in parts)
            given = counted(says)
            with lock:
                self.dollars += (taken * price[0] + given * price[1]) / 1e6
                self.pictures += parts.count(None)
            return _reply(path, says, taken, given)

        super().__init__(billed)
        self.url += "/v1"


def _reply(path: str, says: str, taken: int, given: int) -> dict[str, Any]:
    if path.endswith("/messages"):
        usage = {"input_tokens": taken, "output_tokens": given}
        return {"content": [{"type": "text", "text": says}], "stop_reason": "end_turn", "usage": usage}
    if path.endswith(":generateContent"):
        usage = {"promptTokenCount": taken, "candidatesTokenCount": given}
        return {
            "candidates": [{"content": {"parts": [{"text": says}]}, "finishReason": "STOP"}],
            "usageMetadata": usage,
        }
    usage = {"prompt_tokens": taken, "completion_tokens": given}
    return {"choices": [{"message": {"content": says}, "finish_reason": "stop"}], "usage": usage}


SAYS = {"direct": "[[4]]", "analyze": REASON * 4 + "[[4]]"}


@pytest.mark.parametrize("mode", ["direct", pytest.param("analyze", marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", CASES)
def test_the_forecast_is_within_fifteen_per_cent_of_the_bill(cli, tmp_path, monkeypatch, model, mode):
    """Four questions with a picture each, in English and Chinese, two answers each, of one sentence and of many. How
    much a judge writes when it may think aloud is not known before: there the first item is heard before the forecast.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.jpg").write_bytes(noise(1024, 1024))
    asked = ["What is shown, and how many of each?", "Which colours has the roof?", "图中有什么？", "几个人在走路？"]
    answers = ["A red house with two trees.", REASON * 2, "一座红房子，门前有两棵树，一个人在走路。", "三个。" * 12]
    write_rows(
        tmp_path / "items.jsonl", [{"id": f"q{n}", "question": q, "picture": "p.jpg"} for n, q in enumerate(asked)]
    )
    rows = [
        {"item": f"q{n}", "contestant": who, "text": answers[(n + k) % 4]}
        for n in range(4)
        for k, who in enumerate("ab")
    ]
    write_rows(tmp_path / "answers.jsonl", rows)
    kind, picture, price_in, price_out = CASES[model]
    with BillingServer(picture, (price_in, price_out), SAYS[mode]) as server:
        judge = f"{kind}:{model}@{server.url}?mode={mode}&price_in={price_in}&price_out={price_out}"
        words = ["judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--judge", judge]
        words += ["--ballot", "score:1-5"]
        if mode == "analyze":
            assert cli(*words, "--limit", "1", "--quiet")[0] == 0
        before, heard = server.dollars, server.pictures
        code, out, err = cli(*words, "--dry-run", "--json")
        assert code == 0, err
        assert server.pictures == heard
        (plan,) = json.loads(out)
        forecast = dict(zip(plan["columns"], plan["rows"][0], strict=True))
        code, _, err = cli(*words)
        assert code == 0, err
        assert server.pictures == 8
    bill = server.dollars - before
    printed = float(re.findall(r"cost \$(\d+\.\d+)", err)[-1])
    assert printed == pytest.approx(bill, abs=0.00006)
    assert forecast["dollars"] == pytest.approx(printed, rel=0.15)
