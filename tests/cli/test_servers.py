"""Two servers are two judges and two contestants, through the command line and in one ledger."""

from __future__ import annotations

import json

import pytest

from tests.support.fake_chat_server import FakeServer

FILES = ("--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "choice+tie", "--quiet")


def calls(server: FakeServer) -> int:
    return sum(server.books()["attempts"].values())


def test_two_servers_in_one_ledger_are_two_judges(cli, data):
    with FakeServer(says="[[A]]") as one, FakeServer(says="[[B]]") as two:
        assert cli("judge", *FILES, "--judge", f"openai:qwen@{one.url}")[0] == 0
        assert (calls(one), calls(two)) == (72, 0)
        assert cli("judge", *FILES, "--judge", f"vllm:qwen@{two.url}")[0] == 0
        assert (calls(one), calls(two)) == (72, 72), "what one server said is never taken for the other's"
        assert cli("judge", *FILES, "--judge", f"openai:qwen@{one.url}", "--judge", f"vllm:qwen@{two.url}/")[0] == 0
        assert (calls(one), calls(two)) == (72, 72), "and each is found again"
        _, out, _ = cli("report", "--json")
        places = [server.url.removeprefix("http://") for server in (one, two)]
    tables = json.loads(out)
    names = {table["name"] for table in tables if table["name"].startswith("leaderboard")}
    assert len(names) == 2
    assert all(any(f"qwen@{place}+t0+analyze#" in name for name in names) for place in places)


def test_a_label_is_shown_in_place_of_the_address_and_two_servers_still_never_share_a_name(cli, data):
    with FakeServer(says="[[A]]") as one, FakeServer(says="[[B]]") as two:
        for server in (one, two):
            code, _, err = cli("judge", *FILES, "--judge", f"vllm:qwen@{server.url}?label=mine")
            assert code == 0
            # The name asked for is that of the model, not the label.
            assert "the server reports the model fake-2026-11 instead of qwen" in err
        assert (calls(one), calls(two)) == (72, 72)
        _, out, _ = cli("report", "--json")
        names = {table["name"] for table in json.loads(out) if table["name"].startswith("leaderboard")}
        assert len(names) == 2
        assert all("mine+analyze#" in name for name in names)
        asked = ("answer", "--items", "items.jsonl", "--ledger", "fullbench.ledger", "--quiet", "--out", "said.jsonl")
        assert cli(*asked, "--contestant", f"vllm:qwen@{one.url}?label=lab")[0] == 0
        code, _, err = cli(*asked, "--contestant", f"vllm:qwen@{two.url}?label=lab")
        assert code != 0
        assert "qwen@lab" in err


def test_contestants_on_two_servers_are_two(cli, data):
    asked = ("answer", "--items", "items.jsonl", "--ledger", "fullbench.ledger", "--quiet")
    with FakeServer(says="red") as one, FakeServer(says="blue") as two:
        both = [f"vllm:qwen@{server.url}" for server in (one, two)]
        code, _, err = cli(*asked, "--contestant", both[0], "--contestant", both[1], "--out", "said.jsonl")
        assert code == 0, err
        assert (calls(one), calls(two)) == (12, 12)
        rows = [json.loads(line) for line in (data / "said.jsonl").read_text(encoding="utf-8").splitlines()]
        said = {(row["contestant"], row["text"]) for row in rows}
        assert said == {(f"qwen@{server.url.removeprefix('http://')}", text)
                        for server, text in ((one, "red"), (two, "blue"))}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "stop", "text"),
    [("please be long", "length", True), ("please filter", "filter", True), ("please call", "tool", False)],
)
def test_an_answer_that_did_not_end_by_itself_says_so_in_exported_rows(cli, tmp_path, words, stop, text):
    (tmp_path / "items.jsonl").write_text(json.dumps({"id": "i1", "question": f"{words} #1"}) + "\n", encoding="utf-8")
    with FakeServer() as server:
        code, _, err = cli(
            "answer", "--items", "items.jsonl", "--contestant", f"vllm:m@{server.url}", "--out", "a.jsonl"
        )
        assert code == 0, err
    (row,) = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert row["tags"]["stop"] == stop
    assert bool(row["text"]) == text


def test_an_answer_without_words_is_never_kept_silently(cli, tmp_path):
    (tmp_path / "items.jsonl").write_text(json.dumps({"id": "i1", "question": "What?"}) + "\n", encoding="utf-8")
    code, _, err = cli("answer", "--items", "items.jsonl", "--contestant", "offline:canned?text=", "--out", "a.jsonl")
    assert code == 0, err
    (row,) = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (row["text"], row["tags"]["stop"]) == ("", "empty")
