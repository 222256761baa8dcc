"""Is a judge as often right as it is sure? By what it says, and by the chances of its tokens."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.audit.cases.build_audit_cases import SIZES, audit_cases
from fullbench.audit.measures.calibration import measure_calibration
from fullbench.audit.measures.verdicts_with_truth import load_judged_cases
from fullbench.audit.simulated_judges import simulated_judge
from fullbench.cli.all_commands import app
from fullbench.errors import InputError
from fullbench.parsing.stated_and_token_confidence import stated_confidence, token_confidence
from fullbench.studies import judge_contestant_and_benchmark_specs
from tests.audit.test_planted_faults_are_found import record_of
from tests.support.colour_server import TinyServer


def test_what_is_stated_is_read_where_the_judge_speaks():
    assert stated_confidence("Confidence: 70%\nxyz [[A]]") == 0.7
    assert stated_confidence("**Confidence: 70 %**") == 0.7
    assert stated_confidence("> Confidence: 100%\nConfidence: 55%") == 0.55
    assert stated_confidence("My confidence is high") is None
    assert stated_confidence("Confidence: 700%") is None


def test_chances_of_tokens_are_those_of_legal_rulings():
    apart = [("[[", {"[[": 1.0}), ("B", {"A": 0.1, "B": 0.3, "D": 0.6}), ("]]", {"]]": 1.0})]
    assert token_confidence(apart, "ABC") == pytest.approx(0.75)
    assert token_confidence([("4", {"4": 1.0})], "12345") is None
    assert token_confidence([], "AB") is None


def test_a_judge_that_boasts_is_found_and_one_that_does_not_is_not():
    asked = replace(
        SIZES["default"],
        scores=0,
        rankings=0,
        picture_pairs=0,
        picture_use_pairs=0,
        hidden_picture_pairs=0,
        changes=(),
        attacks=0,
    )
    cases = [case for case in audit_cases(asked, 0) if case.item.tags["part"] in {"pairs", "reworded"}]
    assert len(cases) == 310
    for boast, too_sure in ((0.0, False), (2.0, True)):
        judge = simulated_judge("noisy", {"states": "1", "boast": str(boast)})
        record = record_of(judge, cases)
        result = measure_calibration(load_judged_cases(record, judge.name))
        assert (result.overconfidence.low > 0) == too_sure
        # by hand, from the replies
        gaps = []
        for verdict in record:
            sure = float(re.search(r"Confidence: ([\d.]+)%", verdict.text)[1]) / 100
            gaps.append(sure - dict(zip(verdict.contestants, verdict.marks, strict=True))["right"])
        assert result.overconfidence.value == pytest.approx(np.mean(gaps), abs=1e-9)
        assert result.brier.value == pytest.approx(np.mean(np.square(gaps)), abs=1e-9)


@pytest.mark.parametrize("source", ["stated", "logprobs"])
def test_confidence_of_a_server_comes_into_the_card(source, tmp_path, monkeypatch):
    """A server that rules at random, and says that it is sure by 90 %: by words, or by the chances of its letters."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VLLM_API_KEY", "sk-not-a-key")

    def rules(words: str, _pictures: list[bytes], _body: dict) -> str:
        letter = random.Random(words).choice("AB")
        nonce = re.search(r"Write (\w{8}) in front", words)
        sure = "Confidence: 90%\n" if "Confidence: N%" in words else ""
        return f"{sure}{nonce[1] if nonce else ''} [[{letter}]]"

    def chances(token: str) -> dict[str, float]:
        return {token: 0.9, "A" if token == "B" else "B": 0.1} if token in {"A", "B"} else {token: 1.0}

    with TinyServer(rules, chances=chances) as server:
        spec = f"vllm:tiny@{server.url}?mode=direct&confidence={source}"
        done = CliRunner().invoke(app, ["audit", spec, "--quick", "--quiet", "--json"])
        assert done.exit_code == 0, (done.output, done.exception)
        assert all(("logprobs" in body) == (source == "logprobs") for body in server.asked)
    card = json.JSONDecoder().raw_decode(done.output[done.output.index("{") :])[0]
    calibrated = card["measures"]["calibration"]
    assert calibrated["confidence"] == pytest.approx(0.9)
    assert calibrated["overconfidence"]["low"] > 0
    assert "It is overconfident: mean confidence 90%" in card["lead"]
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        record = ledger.record(study="audit-quick-0")
    right = []
    for verdict in record:
        tags = record.items[verdict.item].tags
        if verdict.marks and (tags["part"] in {"pairs", "reworded"} or tags.get("what") == "swapped"):
            better = "wrong" if tags.get("what") == "swapped" else "right"
            right.append(dict(zip(verdict.contestants, verdict.marks, strict=True))[better])
    assert calibrated["overconfidence"]["value"] == pytest.approx(0.9 - np.mean(right))
    assert calibrated["verdicts"] == len(right)


def test_confidence_that_cannot_be_is_refused():
    with pytest.raises(InputError, match="stated or logprobs"):
        judge_contestant_and_benchmark_specs.judge_from_spec("vllm:x@http://127.0.0.1:9/v1?confidence=loud")
    with pytest.raises(InputError, match="returns no token probabilities"):
        judge_contestant_and_benchmark_specs.judge_from_spec("anthropic:claude?confidence=logprobs")
    with pytest.raises(InputError, match="our own prompts"):
        judge_contestant_and_benchmark_specs.judge_from_spec("vllm:x@http://127.0.0.1:9/v1?confidence=stated&form=json")
