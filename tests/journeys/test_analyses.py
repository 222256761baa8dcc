"""Whose reasons are better: judges' analyses exported, compared by three raters, and the judges ranked by them."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import combinations

import pytest

from tests.journeys.commands import cells, cli, read_jsonl, write_rows
from tests.making import png
from tests.scripted_server import ScriptedServer


def test_judges_are_ranked_by_which_analysis_people_prefer(tmp_path):
    (tmp_path / "p.png").write_bytes(png((200, 9, 9)))
    rows = [{"id": f"题{n}", "question": f"What of {n}?", "pictures": ["p.png"], "tags": {"task": "pair"}}
            for n in range(8)]  # fmt: skip
    write_rows(tmp_path / "items.jsonl", rows)
    answers = [{"item": row["id"], "contestant": name, "text": f"{name} on {row['id']}"}
               for row in rows for name in ("alpha", "beta")]  # fmt: skip
    write_rows(tmp_path / "answers.jsonl", answers)
    judges = {f"j{n}": (lambda asked, n=n: f"理由 {n}: the first is clearer. [[A]]") for n in range(3)}
    with ScriptedServer(judges) as server:
        specs = ", ".join(f'"vllm:{name}@{server.url}"' for name in judges)
        (tmp_path / "s.toml").write_text(
            'name = "s"\nbenchmark = "mllm-as-a-judge"\ndata = "items.jsonl"\nresponses = "answers.jsonl"\n'
            f'orders = "sorted"\nledger = "s.ledger"\njudges = ["length", {specs}]\n',
            encoding="utf-8",
        )
        cli("run", tmp_path / "s.toml", "--quiet", "--json")
    out = ("--ledger", tmp_path / "s.ledger", "--to")
    told = cli("ledger", "export", "--what", "hearings", *out, tmp_path / "hearings.jsonl")
    assert "wrote 8 hearings" in told.output
    cli("ledger", "export", "--what", "analyses", *out, tmp_path / "analyses.jsonl")
    hearings, reasons = read_jsonl(tmp_path / "hearings.jsonl"), read_jsonl(tmp_path / "analyses.jsonl")
    assert len(reasons) == 8 * 3, "length wrote no reasons"
    assert all("alpha on" in str(row) and "beta on" in str(row) and "What of" in str(row) for row in hearings)
    assert {row["item"] for row in reasons} == {row["id"] for row in hearings}
    names = sorted({row["contestant"] for row in reasons})
    votes, won = [], defaultdict(list)
    for row in hearings:
        for one, two in combinations(names, 2):
            for rater in ("r1", "r2", "r3"):
                first = random.Random(f"{row['id']}{one}{two}{rater}").random() < 0.3 + 0.2 * names.index(two)
                votes.append({"item": row["id"], "judge": "human", "rater": rater, "contestants": [one, two],
                              "marks": [float(first), float(not first)], "ballot": "choice"})  # fmt: skip
                won[one].append(first)
                won[two].append(not first)
    write_rows(tmp_path / "votes.jsonl", votes)
    (tmp_path / "c.toml").write_text(
        'name = "c"\nitems = "hearings.jsonl"\nresponses = "analyses.jsonl"\nlabels = "votes.jsonl"\n'
        'ledger = "c.ledger"\njudges = ["length"]\nballots = ["choice"]\n',
        encoding="utf-8",
    )
    cli("run", tmp_path / "c.toml", "--quiet", "--json")
    show = ("leaderboard", "show", "--ledger", tmp_path / "c.ledger", "--judge", "human", "--rule", "each", "--json")
    board = cli(*show).tables["standings"]
    assert cells(board, "duels won", "contestant") == pytest.approx(
        {name: sum(each) / len(each) for name, each in won.items()}
    )
    charts = tmp_path / "charts"
    cli("report", "--ledger", tmp_path / "c.ledger", "--out", tmp_path / "c.html", "--charts", charts)
    assert list(charts.glob("*human*.svg"))
