"""The vision-expert experiment as a study: Table 6 by value, replay, and two kills on its way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein
from scipy import stats

from tests.journeys.studying import ITEMS, heard, lay_out, people, sighted, study, writer
from tests.support.commands import cli, read_jsonl, write_rows
from tests.support.scripted_server import ScriptedServer
from tests.support.wait_until import LONG, until


@pytest.fixture
def folder(tmp_path):
    return lay_out(tmp_path)


def expert(folder, name, server, **keys):
    return study(
        folder, name, kind="experiment", orders="sorted", tables=f"{name}.json",
        judges=[f"vllm:j@{server.url}", f"vllm:k@{server.url}?mode=direct"],
        options={"what": "vision-expert", "model": f"vllm:w@{server.url}", "out": f"{name}-described.jsonl"}, **keys,
    )  # fmt: skip


def test_the_vision_expert_is_heard_beside_seeing_and_unseeing(folder):
    """Table 6: each judge with the pictures, with another's descriptions and with neither, beside people.

    Half of the items have no captions of their own: the descriptions take their place.
    """
    rows = read_jsonl(folder / "items.jsonl")
    write_rows(folder / "items.jsonl", [{**row, "captions": row["captions"] * (n % 2)} for n, row in enumerate(rows)])
    votes = people(folder)
    with ScriptedServer({"w": writer, "j": sighted, "k": sighted}) as server:
        path = expert(folder, "expert", server, labels="labels.jsonl")
        told = cli("run", path, "--quiet", "--json")
        assert "were not written" not in told.output
        assert len(server.of("w")) == ITEMS
        seen = Counter((len(asked.pictures), "It is " in asked.words) for asked in server.of("j"))
        assert set(seen) == {(1, False), (0, True), (0, False)}
        assert len(set(seen.values())) == 1
        before = len(server.asked)
        assert "Called 0" in cli("run", path, "--quiet", "--json").output
        assert len(server.asked) == before
        assert "identical to what the ledger" in cli("replay", path, "--check").output
        alone = cli("run", expert(folder, "alone", server), "--quiet", "--json").tables["vision expert"]
    assert [row[1] for row in alone["rows"]] == ["described", "none"] * 2, "beside the judge that sees"
    described = read_jsonl(folder / "expert-described.jsonl")
    assert all(row["captions"][0].startswith("It is ") for row in described)
    table = told.tables["vision expert"]
    assert next(name for name in told.tables if not name.startswith("summary")) == "vision expert", "it comes first"
    verdicts = [verdict for verdict in heard(folder / "expert.ledger") if verdict.judge != "human"]
    by_judge = {name: [v for v in verdicts if v.judge == name] for name in {v.judge for v in verdicts}}
    assert len(by_judge) == len(table["rows"]) == 6
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert [row["picture mode"] for row in rows] == ["image", "described", "none"] * 2
    found = [[round(row[name]["value"], 9) for name in PRINTED] for row in rows]
    assert sorted(found) == sorted(agreed(each, votes) for each in by_judge.values())
    assert [found[0], found[3]] == [agreed(by_judge[rows[place]["judge"]], votes) for place in (0, 3)], "who sees"
    assert {row["verdicts"] for row in rows} == {14}


PRINTED = ("Pearson", "accuracy with ties", "accuracy without ties", "edit distance")


def agreed(verdicts, votes) -> list[float]:
    """Pearson, accuracy with and without ties, and the normalised edit distance of orders, by other libraries."""
    pairs = [(v.marks, votes[(v.item, *v.contestants)]) for v in verdicts]
    scores = [(ours[0], theirs[0]) for ours, theirs in pairs if len(ours) == 1]
    signs = [(np.sign(ours[0] - ours[1]), np.sign(theirs[0] - theirs[1])) for ours, theirs in pairs if len(ours) == 2]
    orders = [["".join("ABC"[p] for p in np.argsort(-np.array(marks))) for marks in pair]
              for pair in pairs if len(pair[0]) == 3]  # fmt: skip
    decided = [one == two for one, two in signs if one and two]
    figures = [
        stats.pearsonr(*zip(*scores, strict=True)).statistic, np.mean([one == two for one, two in signs]),
        np.mean(decided), np.mean([Levenshtein.distance(one, two) / 3 for one, two in orders]),
    ]  # fmt: skip
    return [round(float(figure), 9) for figure in figures]


def ruled(ledger) -> set[tuple[str, str]]:
    """What judges have ruled on so far, each once."""
    verdicts = [(verdict.judge, verdict.case) for verdict in heard(ledger) if verdict.judge != "human"]
    assert len(set(verdicts)) == len(verdicts)
    return set(verdicts)


@pytest.mark.slow
def test_a_vision_expert_study_that_is_killed_while_writing_and_while_judging_goes_on(folder):
    """kill -9 twice: nothing that was paid for is asked again, and the tables are those of a run that nobody killed."""
    people(folder)
    slow = {name: (lambda asked, rule=rule: (time.sleep(0.05), rule(asked))[1])
            for name, rule in {"w": writer, "j": sighted, "k": sighted}.items()}  # fmt: skip
    with ScriptedServer(slow) as server:
        path = expert(folder, "killed", server, labels="labels.jsonl")
        # One picture at a time is described, so that the first kill comes between two of them.
        path.write_text(
            path.read_text(encoding="utf-8").replace(f"vllm:w@{server.url}", f"vllm:w@{server.url}?concurrency=1")
        )
        for enough in (lambda: len(server.of("w")) >= 3, lambda: len(ruled(folder / "killed.ledger")) >= 9):
            command = [sys.executable, "-c", "from fullbench.cli import main; main()", "run", str(path), "--quiet"]
            running = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until(enough)
            assert running.poll() is None, "it was at work"
            os.kill(running.pid, signal.SIGKILL)
            running.wait(LONG)
        paid, before = ruled(folder / "killed.ledger"), len(server.asked)
        assert 9 <= len(paid) < 14 * 6
        # Of the describing, what was under way at the kill is asked again: one call, and an answer of the last 0.03 s,
        # which the ledger had not committed yet.
        assert ITEMS <= len(server.of("w")) <= ITEMS + 2
        killed = cli("run", path, "--quiet", "--json")
        assert len(ruled(folder / "killed.ledger")) == 14 * 6
        asked = {(one.model, one.turns, one.pictures) for one in server.asked[before:]}
        assert len(asked) == 14 * 6 - len(paid), "only what was missing"
        whole = cli("run", expert(folder, "whole", server, labels="labels.jsonl"), "--quiet", "--json")
        assert "identical to what the ledger" in cli("replay", path, "--check").output
    for name in ("vision expert", "scores by dataset", "pairs by dataset", "rankings by dataset"):
        assert killed.tables[name]["rows"] == whole.tables[name]["rows"]
