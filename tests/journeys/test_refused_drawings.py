"""Drawings that a generator refused: no call is made about them, nobody is shown them, and no mean has them."""

from __future__ import annotations

import pytest

from fullbench import Ledger
from tests.journeys.voting import Site
from tests.support.commands import cells, cli, read_jsonl, write_rows
from tests.support.scripted_server import ScriptedServer

PROMPTS = ["a red house", "a crime scene", "a blue boat", "a green tree"]
PAINTERS = """
from PIL import Image

def steady(prompt, seed):
    return Image.new("RGB", (24, 24), (len(prompt) * 9, 80, 40 * seed))

def careful(prompt, seed):
    return None if "crime" in prompt else Image.new("RGB", (24, 24), (9, len(prompt) * 9, 60))
"""


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "painters.py").write_text(PAINTERS)
    rows = [{"id": f"p{n}", "question": text, "tags": {"perspective": "alignment", "subset": "object"}}
            for n, text in enumerate(PROMPTS)]  # fmt: skip
    write_rows(tmp_path / "prompts.jsonl", rows)
    cli("answer", "--items", "prompts.jsonl", "--samples", 2, "--out", "drawn.jsonl", "--ledger", "d.ledger", "--quiet",
        "--contestant", "generator:painters:steady", "--contestant", "generator:painters:careful")  # fmt: skip
    assert sum(not row.get("pictures") for row in read_jsonl(tmp_path / "drawn.jsonl")) == 2, "two refused drawings"
    return tmp_path


def test_refused_drawings_reach_no_judge_and_no_mean(drawn):
    with ScriptedServer({"j": lambda asked: "[[4]]" if len(asked.pictures) == 1 else "[[A]]"}) as server:
        (drawn / "s.toml").write_text(
            'name = "s"\nitems = "prompts.jsonl"\nresponses = "drawn.jsonl"\nballots = ["score:1-5"]\n'
            f'ledger = "s.ledger"\njudges = ["vllm:j@{server.url}", "picture:sharpness"]\n'
        )
        told = cli("run", "s.toml", "--quiet", "--json")
        assert len(server.asked) == 2 * 2 * len(PROMPTS) - 2
        assert all(len(asked.pictures) == 1 for asked in server.asked)
        left_out = told.tables["left out"]
        assert cells(left_out, "refused drawings", "contestant") == {"painters:careful": 2}
        assert "2 drawings were refused by the generator" in left_out["notes"][0]
        ranked = cli("rerank", "--items", "prompts.jsonl", "--responses", "drawn.jsonl", "--judge",
                     f"vllm:j@{server.url}", "--ballot", "score:1-5", "--ledger", "r.ledger", "--out", "best.jsonl",
                     "--quiet")  # fmt: skip
        assert "2 drawings were refused" in ranked.output
        assert len(server.asked) == 2 * (2 * 2 * len(PROMPTS) - 2)
    with Ledger(drawn / "s.ledger", read_only=True) as book:
        assert all(verdict.fault is None for verdict in book.verdicts()), "nobody had to abstain"


def test_people_are_not_shown_refused_drawings(drawn):
    (drawn / "site").mkdir()
    site = Site(drawn / "site", None)
    try:
        site.client("boss", "organiser")
        files = ("--items", drawn / "prompts.jsonl", "--responses", drawn / "drawn.jsonl")
        told = site.said("add", "rating", "--kind", "rate", "--ballot", "score:1-10", *files)
        assert "2 refused drawings were left out" in told
        seen = []

        def choose(_person, task):
            seen.append(len(task["responses"]))
            assert all(any("picture" in part for part in one["parts"]) for one in task["responses"]), task["responses"]
            return {f"mark{place}": "5" for place in range(len(task["responses"]))}

        site.vote("rating", ["ann"], choose)
        assert sum(seen) == 2 * 2 * (len(PROMPTS) - 1), "with one drawing left, there is nothing to rate side by side"
    finally:
        site.close()
