"""Peer reviews by command in which a leaning was planted: the warning names it, and a clean review has none."""

from __future__ import annotations

import math
import re

import pytest

from tests.support.commands import cli
from tests.support.data_builders import chance, png
from tests.support.scripted_server import Asked, ScriptedServer

SKILL = {"alpha-1": 0.9, "alpha-2": 0.3, "beta-1": 0.75, "beta-2": 0.5, "gamma-1": 0.65, "gamma-2": 0.4}
PICTURES = 10
PLANTED = {
    "nothing": "",
    "colluders": "two reviewers prefer each other",
    "own family": "answers of the reviewer's family win",
    "length": "longer answers win",
}


def normal(*what: object) -> float:
    return math.sqrt(-2 * math.log(1 - chance(*what, 1))) * math.cos(2 * math.pi * chance(*what, 2))


def said(planted: str, asked: Asked) -> str:
    """Quality and author stand in the answer, where no real model would see them: rulings are made of both."""
    model, picture = asked.model, asked.pictures[0][:12]
    answers = re.findall(r"<(response [A-Z] \w+)>\n(.*?)\n</\1>", asked.last, re.DOTALL)
    if not answers:
        if "What is" not in asked.last:
            return f"What is {chance('what', model, picture):.6f}?"
        worth = SKILL[model] + 0.3 * normal("worth", model, asked.last)
        return f"[{model}] {worth:.4f}{' indeed' * int(1 + 12 * chance('long', model, asked.last))}"
    marks = []
    for _, text in answers:
        author, worth = re.match(r"\[([\w-]+)\] (-?[\d.]+)", text).groups()
        mark = float(worth) + 0.15 * normal("sees", model, asked.last[-200:], text)
        mark += 0.35 * (author[:4] == model[:4]) if planted == "own family" else 0
        mark += 0.25 * math.log2(len(text)) if planted == "length" else 0
        mark += 9 * ({author, model} == {"beta-2", "gamma-2"}) if planted == "colluders" else 0
        marks.append(mark)
    return f"[[{'A' if marks[0] > marks[1] else 'B'}]]"


@pytest.mark.slow
@pytest.mark.parametrize("planted", list(PLANTED))
def test_what_was_planted_is_warned_of_and_nothing_else(tmp_path, planted):
    """Kin who favour each other may be named as two who do: that is what they do."""
    (tmp_path / "photos").mkdir()
    for number in range(PICTURES):
        (tmp_path / "photos" / f"{number}.png").write_bytes(png((20 * number, 40, 90)))
    with ScriptedServer(dict.fromkeys(SKILL, lambda asked: said(planted, asked))) as server:
        named = ",".join(f"vllm:{name}@{server.url}?label=here" for name in SKILL)
        done = cli(
            "peer-review", "--images", tmp_path / "photos", "--contestants", named, "--quiet", "--json",
            "--ledger", tmp_path / "a.ledger", "--families", ",".join(f"{name}={name[:-2]}" for name in SKILL),
        )  # fmt: skip
    table = done.tables["warnings"]
    warned = {(row[0], row[1]) for row in table["rows"] if row[4] == "WARNING"}
    who = "beta-2@here and gamma-2@here" if planted == "colluders" else ""
    kin = {(PLANTED["colluders"], f"{name}-1@here and {name}-2@here") for name in ("alpha", "beta", "gamma")}
    beside = kin if planted == "own family" else set()
    assert warned - beside == ({(PLANTED[planted], who)} if PLANTED[planted] else set())
    assert any("The truth is unknown here" in note for note in table["notes"])
