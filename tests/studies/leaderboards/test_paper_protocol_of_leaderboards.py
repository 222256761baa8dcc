"""`leaderboard --protocol paper`: VisIT-Bench's style, rule and Elo, from a user's own items to the board."""

from __future__ import annotations

import random
import re
import statistics

import pytest

from fullbench import Ledger
from tests.support.commands import cells, cli, write_rows
from tests.support.scripted_server import Asked, ScriptedServer

ITEMS = 12
WORTH = {"one": 1.0, "two": 2.0, "three": 2.5}


def lay_out(folder):
    write_rows(
        folder / "items.jsonl",
        [
            {"id": f"q{n}", "question": f"What of {n}?", "reference": f"reference says {n}",
             "captions": [f"caption {n}"], "pictures": [], "tags": {"verified": "yes", "family": f"f{n % 2}"}}
            for n in range(ITEMS)
        ],
    )  # fmt: skip
    for name in WORTH:
        write_rows(folder / f"{name}.jsonl", [{"item": f"q{n}", "text": f"{name} says {n}"} for n in range(ITEMS)])


def choose(asked: Asked) -> str:
    """Prefer what is worth more, with noise and a bias for the first one shown."""
    names = re.findall(r"\b(one|two|three|reference) says (\d+)", asked.last)[-2:]
    noise = random.Random(asked.last)
    marks = [{**WORTH, "reference": 3.0}[name] + noise.uniform(-1.5, 1.5) for name, _ in names]
    return f"Overall, Response {'A' if marks[0] + 0.3 >= marks[1] else 'B'} is better."


def elo(matches: list[tuple[str, str, float]], draws: int = 400) -> dict[str, float]:
    """Elo as the paper has it: K = 4 from 1000, the median over random orders."""
    found = {name: [] for match in matches for name in match[:2]}
    lot = random.Random(3)
    for _ in range(draws):
        lot.shuffle(matches)
        ratings = dict.fromkeys(found, 1000.0)
        for first, second, won in matches:
            expected = 1 / (1 + 10 ** ((ratings[second] - ratings[first]) / 400))
            ratings[first] += 4 * (won - expected)
            ratings[second] -= 4 * (won - expected)
        for name, rating in ratings.items():
            found[name].append(rating)
    return {name: statistics.median(each) for name, each in found.items()}


def test_a_leaderboard_follows_the_paper_and_names_each_difference_without(tmp_path):
    lay_out(tmp_path)
    ledger = tmp_path / "b.ledger"
    with ScriptedServer({"j": choose}) as server:
        common = ("--data", tmp_path / "items.jsonl", "--judge", f"vllm:j@{server.url}", "--ledger", ledger, "--quiet")
        for name in WORTH:
            told = cli("leaderboard", "add", name, "--predictions", tmp_path / f"{name}.jsonl", "--opponents", 2,
                       "--protocol", "paper", *common)  # fmt: skip
            assert "Not the paper's protocol" not in told.output
        assert not any(asked.pictures for asked in server.asked)
        assert all("caption" in asked.words for asked in server.asked), "the paper's judge reads captions"
        calls = len(server.asked)
        other = ("leaderboard", "add", "one", *common, "--rule", "mean", "--dry-run")
        planned = cli(*other)
        assert "rule 'mean', in the paper 'both-agree'" in planned.output
        assert "prompt style 'with-picture', in the paper 'ref-free'" in planned.output
        assert "leave out one of the two" in cli(*other, "--protocol", "paper", code=2).output
        assert len(server.asked) == calls
    show = ("leaderboard", "show", "--ledger", ledger)
    assert "Not the paper's protocol (visitbench): rule 'mean'" in cli(*show).output
    assert "sets the rule" in cli(*show, "--protocol", "paper", "--rule", "mean", code=2).output
    assert "unknown protocol 'papers'" in cli(*show, "--protocol", "papers", code=2).output
    board = cli(*show, "--protocol", "paper", "--json").tables["board"]
    assert board["columns"][:2] == ["contestant", "Elo"]
    with Ledger(ledger, read_only=True) as book:
        verdicts = list(book.verdicts())
    orders: dict[tuple[str, str, str], list[float]] = {}
    for verdict in verdicts:
        first, second = sorted(verdict.contestants)
        orders.setdefault((verdict.item, first, second), []).append(
            verdict.marks[verdict.contestants.index(first)] - verdict.marks[verdict.contestants.index(second)]
        )
    assert all(len(leads) == 2 for leads in orders.values())
    matches = [
        (first, second, 0.5 if leads[0] != leads[1] else float(leads[0] > 0))
        for (_, first, second), leads in orders.items()
    ]
    assert {0.0, 0.5, 1.0} == {won for *_, won in matches}, "some orders disagree"
    shown = cells(board, "Elo", "contestant")
    assert shown == pytest.approx(elo(matches), abs=1.5), "medians over different random orders"
    assert list(shown) == sorted(shown, key=lambda name: -shown[name])
    against = cells(board, "wins against the reference", "contestant")
    for name in WORTH:
        decided = [(pair, won) for *pair, won in matches if {name, "reference"} == set(pair) and won != 0.5]
        assert against[name] == pytest.approx(
            sum((pair[0] == name) == (won == 1) for pair, won in decided) / len(decided)
        )
