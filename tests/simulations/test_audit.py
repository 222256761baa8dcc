"""Audits: a judge without biases is seldom accused, and a bias of the size called "least noticed" is found."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from fullbench import Record, Verdict
from fullbench.audit import audit_card_and_board
from fullbench.audit.cases.build_audit_cases import SIZES, audit_cases
from tests.simulations.records import at_least, at_most, show

ONLY_BIASES = dict.fromkeys(
    ("pairs", "scores", "rankings", "picture_pairs", "picture_use_pairs", "reversed_pairs", "repeated_pairs",
     "reworded_pairs", "attacks"), 0,
)  # fmt: skip
"""Other parts of an audit take long to draw, and say nothing about biases."""


@cache
def cases_of(size: str) -> list:
    name, _, part = size.partition(" ")
    return list(audit_cases(replace(SIZES[name], **ONLY_BIASES) if part else SIZES[name], 0))


@cache
def texts_of(size: str) -> tuple[dict, dict]:
    cases = cases_of(size)
    responses = {(one.item, one.contestant, 0): one for case in cases for one in case.responses}
    return {case.item.id: case.item for case in cases}, responses


def audited(size: str, seed: int, biases: dict[str, float], *, right: float = 0.85) -> audit_card_and_board.Findings:
    """A judge that is right in a share of cases and indifferent between answers of equal worth, but for `biases`.

    A bias is in log-odds per unit of strength. It decides pairs of an original and its changed copy by a coin with
    those odds; everything else it decides by the known quality, wrong in a share of cases.
    """
    draw = random.Random(f"{size}/{seed}")
    verdicts = []
    for case in cases_of(size):
        tags, names = case.item.tags, case.contestants
        if "changed" in names and len(names) == 2:
            odds = biases.get(tags.get("what", ""), 0.0) * float(tags["strength"])
            odds = odds if names[0] == "changed" else -odds
            odds += biases.get("place", 0.0)
            won = float(draw.random() < 1 / (1 + np.exp(-odds)))
            marks: tuple[float, ...] = (won, 1 - won)
        else:
            worth = [float(response.tags.get("quality", 0.5)) for response in case.responses]
            if draw.random() > right:
                draw.shuffle(worth)
            order = sorted(range(len(worth)), key=lambda place: -worth[place])
            spec = case.ballot.spec
            if spec.startswith("choice"):
                marks = tuple(float(place == order[0]) for place in range(len(worth)))
            elif spec == "ranking":
                marks = tuple(float(order.index(place) + 1) for place in range(len(worth)))
            else:
                low, high = case.ballot.low, case.ballot.high
                marks = tuple(float(round(low + min(1.0, max(0.0, one)) * (high - low))) for one in worth)
        verdicts.append(Verdict.from_case(case, "j", marks))
    items, responses = texts_of(size)
    return audit_card_and_board.build_findings(Record(tuple(verdicts), items, responses), "j")


def accused(size: str, runs: int) -> float:
    return float(np.mean([bool(audited(size, seed, {}).flagged_biases) for seed in range(runs)]))


def found(size: str, runs: int, change: str, effect: float) -> float:
    names = [{bias.change for bias in audited(size, seed, {change: effect}).flagged_biases} for seed in range(runs)]
    return float(np.mean([change in each for each in names]))


def test_a_large_bias_is_found_and_a_clean_judge_is_not_accused_in_a_few_audits():
    assert accused("quick biases", 5) <= 0.2
    assert found("quick biases", 3, "length", 2.5) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("size", "runs"), [("quick", 400), ("default", 150)])
def test_a_clean_judge_is_seldom_accused(size, runs):
    share = accused(size, runs)
    show(f"audit {size}, clean: {share:.4f} of {runs} accused")
    assert share <= at_most(0.05, runs)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "runs"), [("quick", 200), ("default", 100)])
def test_the_least_noticed_bias_is_found_in_four_audits_of_five(size, runs):
    least = {bias.change: bias.least_detectable_effect for bias in audited(size, 0, {}).biases}["length"]
    share = found(size, runs, "length", least)
    show(f"audit {size}, length {least:.2f} log-odds per unit: {share:.3f} of {runs} found")
    assert share >= at_least(0.80, runs)
