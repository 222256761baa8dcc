"""Marks by the chances of tokens: the mean of all marks that a judge might have written, in ledger and tables."""

from __future__ import annotations

import json
import random
import re
from statistics import fmean

import pytest
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.cli.all_commands import app
from fullbench.studies import judge_contestant_and_benchmark_specs
from tests.support.colour_server import TinyServer

ITEMS, WHO = 6, ("brief", "plain", "wordy")


def shares(said: str) -> dict[str, float]:
    """How likely each mark is for an answer, by a rule that the test can apply again."""
    draw = random.Random(said)
    weights = [draw.random() ** 3 for _ in range(5)]
    return {str(mark): weight / sum(weights) for mark, weight in enumerate(weights, 1)}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    items = [{"id": f"q{i}", "question": f"第 {i} 题?"} for i in range(ITEMS)]
    said = [{"item": f"q{i}", "contestant": who, "text": f"words-{who}-{i}"} for i in range(ITEMS) for who in WHO]
    for name, rows in (("items", items), ("answers", said)):
        text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


class Marker(TinyServer):
    """Writes the likeliest mark, and tells the chances of all, those of half a dozen other tokens among them."""

    def __init__(self, *, logprobs: bool = True) -> None:
        super().__init__(self._rule, logprobs=logprobs, chances=self._told)
        self._now: dict[str, float] = {}

    def _rule(self, words: str, _pictures: list[bytes], _body: dict) -> str:
        self._now = shares(re.search(r"words-\w+-\d+", words)[0])
        return f"Looks fine.\n[[{max(self._now, key=self._now.__getitem__)}]]"

    def _told(self, token: str) -> dict[str, float]:
        return (
            {**{mark: 0.9 * share for mark, share in self._now.items()}, "[[": 0.1}
            if token in self._now
            else {token: 1.0}
        )


def judged(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(
        app, ["judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ledger", "l.ledger", *words]
    )
    return done.exit_code, done.output


def test_the_mark_is_the_mean_by_chances_and_tables_show_it(files):
    with Marker() as server:
        spec = f"vllm:tiny@{server.url}?marks=expected&concurrency=1"
        code, out = judged("--judge", spec, "--ballot", "real:1-5")
        assert code == 0, out
        asked = json.dumps(server.asked[0], ensure_ascii=False)
        assert "a whole number between 1 and 5" in asked
        assert "1 is the worst and 5 the best" in asked
        assert server.asked[0]["logprobs"] is True
        assert judged("--judge", spec, "--ballot", "real:1-5")[0] == 0
        assert len(server.asked) == ITEMS * len(WHO), "nothing is asked twice"
    truth = {
        (f"q{i}", who): sum(int(mark) * share for mark, share in shares(f"words-{who}-{i}").items())
        for i in range(ITEMS)
        for who in WHO
    }
    with Ledger(files / "l.ledger", read_only=True) as ledger:
        record = ledger.record()
        for verdict in record:
            (who,) = verdict.contestants
            chances = shares(f"words-{who}-{verdict.item[1:]}")
            assert verdict.marks == pytest.approx((truth[verdict.item, who],))
            assert verdict.confidence == pytest.approx(max(chances.values()))
        assert ledger.verify() == []
    case = CliRunner().invoke(app, ["show", verdict.case, "--ledger", "l.ledger"])
    assert f": {verdict.marks[0]:g}, sure by {verdict.confidence:.2f}\n" in case.output
    shown = CliRunner().invoke(app, ["report", "--ledger", "l.ledger", "--json"])
    assert shown.exit_code == 0, shown.output
    tables = json.loads(shown.stdout)
    means = {who: fmean(truth[f"q{i}", who] for i in range(ITEMS)) for who in WHO}
    text = json.dumps(tables)
    for who, mean in means.items():
        assert f"{mean:.6f}"[:6] in text, (who, mean)
    read_again = CliRunner().invoke(app, ["ledger", "reread", "l.ledger"])
    assert read_again.exit_code == 0, read_again.output
    assert "chances of tokens" in read_again.output
    with Ledger(files / "l.ledger", read_only=True) as ledger:
        assert {(v.item, v.contestants[0]): v.marks[0] for v in ledger.record()} == pytest.approx(truth)


def test_a_server_without_chances_gives_no_mark_and_says_so(files):
    with Marker(logprobs=False) as server:
        code, out = judged("--judge", f"vllm:tiny@{server.url}?marks=expected", "--ballot", "real:1-5")
    assert code == 1
    assert "without the chances of its tokens" in out
    with Ledger(files / "l.ledger", read_only=True) as ledger:
        assert len(ledger.record()) == 0


@pytest.mark.parametrize("ballot", ["score:1-5", "choice", "real:0-100", "real:0-0.5"])
def test_a_ballot_without_such_marks_is_refused_before_anything_is_asked(cli, files, ballot):
    with Marker() as server:
        files = ("--items", "items.jsonl", "--responses", "answers.jsonl", "--ledger", "l.ledger")
        code, _, err = cli("judge", *files, "--judge", f"vllm:tiny@{server.url}?marks=expected", "--ballot", ballot)
        assert (code, server.asked) == (2, []), err
    assert "--ballot real:1-5" in err


def test_expected_marks_are_another_judge_than_written_ones():
    names = {
        judge_contestant_and_benchmark_specs.judge_from_spec(f"vllm:m{tail}").name
        for tail in ("", "?confidence=logprobs", "?marks=expected")
    }
    assert len(names) == 3
