"""VQAScore from the probabilities of a server's first token, through the command line."""

from __future__ import annotations

import hashlib
import math

import pytest

from fullbench.ledger.ledger import Ledger
from tests.support.commands import write_rows
from tests.support.data_builders import png
from tests.support.picture_server import PictureServer


def likely(data: bytes) -> float:
    return int(hashlib.sha256(data).hexdigest()[:4], 16) / 65536 * 0.8 + 0.1


def reply(words: str, pictures: list[bytes]):
    assert "只猫" in words
    (data,) = pictures
    yes = likely(data)
    top = [
        {"token": "Yes", "logprob": math.log(yes * 0.7)}, {"token": " yes", "logprob": math.log(yes * 0.3)},
        {"token": "No", "logprob": math.log(1 - yes)},
    ]  # fmt: skip
    return "Yes", {"logprobs": {"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": top}]}}


def test_the_probability_of_yes_is_the_score_and_every_call_is_billed(cli, tmp_path):
    write_rows(tmp_path / "items.jsonl", [{"id": f"i{n}", "question": f"{n} 只猫"} for n in range(3)])
    rows = []
    for n in range(3):
        for who in ("a", "b"):
            (tmp_path / f"{n}{who}.png").write_bytes(png((n, ord(who), 9)))
            rows.append({"item": f"i{n}", "contestant": who, "pictures": [f"{n}{who}.png"]})
    write_rows(tmp_path / "drawn.jsonl", [*rows, {"item": "i0", "contestant": "words", "text": "a cat"}])
    with PictureServer(reply) as server:
        spec = f"vqascore:openai:eye@{server.url}?price_in=1&price_out=1"
        words = ("judge", "--items", "items.jsonl", "--responses", "drawn.jsonl", "--judge", spec, "--quiet")
        code, _, err = cli(*words, "--ballot", "number", "--ballot", "choice+tie")
        assert code == 0, err
        sent = server.requests[0]
        assert (sent["logprobs"], sent["top_logprobs"], sent["max_tokens"]) == (True, 20, 1)
        calls = len(server.requests)
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        verdicts = list(ledger.verdicts())
        bill = next(account for account in ledger.bill() if account.name.startswith("vqascore"))
    assert bill.usage.calls == calls
    assert bill.usage.dollars == pytest.approx(calls * 110 / 1e6)
    ruled = [verdict for verdict in verdicts if verdict.fault is None]
    assert len([v for v in ruled if v.ballot == "number"]) == 6
    for verdict in ruled:
        scores = [likely((tmp_path / f"{verdict.item[1:]}{who}.png").read_bytes()) for who in verdict.contestants]
        if verdict.ballot == "number":
            assert verdict.marks == pytest.approx(scores)
        else:
            assert verdict.marks == tuple(float(score == max(scores)) for score in scores)
    assert {v.fault for v in verdicts if "words" in v.contestants} == {"abstained"}


def test_a_server_without_probabilities_is_unreadable_not_zero(cli, tmp_path):
    write_rows(tmp_path / "items.jsonl", [{"id": "i", "question": "一只猫"}])
    (tmp_path / "a.png").write_bytes(png((1, 2, 3)))
    write_rows(tmp_path / "drawn.jsonl", [{"item": "i", "contestant": "a", "pictures": ["a.png"]}])
    with PictureServer(lambda *_: "Yes") as server:
        spec = f"vqascore:openai:eye@{server.url}"
        cli("judge", "--items", "items.jsonl", "--responses", "drawn.jsonl", "--judge", spec, "--ballot", "number")
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        assert [verdict.fault for verdict in ledger.verdicts()] == ["unreadable"]
