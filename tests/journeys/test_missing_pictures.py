"""No command judges an item without its picture silently."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest

from fullbench import Ledger
from tests.support.commands import cli
from tests.support.commands import write_rows as write
from tests.support.data_builders import png
from tests.support.scripted_server import ScriptedServer

NAMES = ("有图", "单图", "gone-1", "gone-2", "words")
SAID = "were judged without the pictures that they name"


@pytest.fixture
def server():
    models = {
        "m-a": lambda asked: f"a sees {len(asked.pictures)}",
        "m-b": lambda asked: f"b sees {len(asked.pictures)} and more",
        "j": lambda _: "[[A]] Overall, Response A is better.",
    }
    with ScriptedServer(models) as running:
        yield running


@pytest.fixture
def study(tmp_path, server):
    """Five items: two with pictures that are there, two whose pictures are not, one without."""
    (tmp_path / "p").mkdir()
    for n in range(3):
        (tmp_path / "p" / f"{n}.png").write_bytes(png((40 * n, 80, 9)))
    pictures = (["p/0.png", "p/1.png"], ["p/2.png"], ["p/away.png"], ["https://example.org/x.png", "p/0.png"], [])
    rows = [
        {"id": name, "question": f"What of {name}?", "pictures": listed}
        for name, listed in zip(NAMES, pictures, strict=True)
    ]
    write(tmp_path / "items.jsonl", rows)
    spec = f"@{server.url}"
    (tmp_path / "study.toml").write_text(
        'name = "s"\nitems = "items.jsonl"\nballots = ["choice"]\nledger = "l.ledger"\ntables = "t.json"\n'
        f'contestants = ["vllm:m-a{spec}", "vllm:m-b{spec}"]\njudges = ["vllm:j{spec}", "length"]\n'
    )
    return tmp_path / "study.toml"


def test_own_items_are_refused_or_judged_without_and_counted(study, server):
    for words in (["run", study, "--quiet"], ["plan", study], ["run", study, "--dry-run"]):
        refused = cli(*words, code=2)
        assert "p/away.png" in refused.output
        assert server.asked == []
    items = study.parent / "items.jsonl"
    out = study.parent / "a.jsonl"
    asked = ("answer", "--items", items, "--contestant", f"vllm:m-a@{server.url}", "--out", out, "--quiet")
    assert "p/away.png" in cli(*asked, code=2).output
    (plan,) = json.loads(cli("run", study, "--without-pictures", "--dry-run", "--json").stdout)
    assert any(
        "by their pictures: 1 with 2, 2 with 1, 2 with 0. 2 lack pictures" in note.replace("\n", " ")
        for note in plan["notes"]
    ), plan["notes"]
    ran = json.loads(cli("run", study, "--without-pictures", "--quiet", "--json").stdout)
    assert all(any(f"2 of 5 items {SAID}" in note for note in table["notes"]) for table in ran)
    # What arrived is what the items name and have: both contestants, and the judge in both orders.
    assert Counter(len(asked.pictures) for asked in server.of("m-a")) == {2: 1, 1: 2, 0: 2}
    judged = Counter((len(asked.pictures), "are not shown to you" in asked.words) for asked in server.of("j"))
    assert judged == {(2, False): 2, (1, False): 2, (1, True): 2, (0, True): 2, (0, False): 2}
    for words in (["report"], ["leaderboard", "show", "--judge", "length"], ["card", "length"]):
        shown = json.loads(cli(*words, "--ledger", study.parent / "l.ledger", "--json").stdout)
        tables = shown if isinstance(shown, list) else shown["tables"]
        assert tables, words
        assert all(any(SAID in note for note in table["notes"]) for table in tables), words
    again = cli("replay", study, "--check", "--without-pictures")
    assert "identical to what the ledger" in again.output


def test_the_authors_rows_have_addresses_and_nobody_is_asked_blind(tmp_path, server):
    """The released layout of VisIT-Bench: addresses of pictures, none of them fetched."""
    columns = [
        "instruction_category", "image", "instruction", "gpt4_prediction", "image_dense_captions",
        "human_ratings_gpt4_correct", "human_ratings_problem_in_caption", "human_ratings_problem_in_gpt4",
    ]  # fmt: skip
    with (tmp_path / "single_image_full_dataset.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        for n in range(6):
            rows.writerow(
                ["animals", f"https://example.org/{n}.jpg", f"问 {n}?", f"ref {n}", f"a {n}", True, False, False]
            )
    judge, model = f"vllm:j@{server.url}", f"vllm:m-a@{server.url}"
    board = ("leaderboard", "add", model, "--data", tmp_path, "--judge", judge, "--ledger", tmp_path / "b.ledger")
    for more in ((), ("--prompt-style", "ref-free")):
        refused = cli(*board, "--quiet", *more, code=2)
        assert "6 of 6 items name pictures that are missing" in refused.output
    (tmp_path / "s.toml").write_text(
        f'name = "s"\nbenchmark = "visitbench"\ndata = "."\ncontestants = ["{model}"]\njudges = ["{judge}"]\n'
    )
    assert "6 of 6 items name pictures" in cli("run", tmp_path / "s.toml", "--quiet", code=2).output
    assert server.asked == []
    assert not (tmp_path / "fullbench.ledger").exists()
    predictions = tmp_path / "mine.jsonl"
    write(predictions, [{"item": f"single-{n}", "text": f"mine {n}"} for n in range(6)])
    words = ("leaderboard", "add", "mine", "--predictions", predictions, "--data", tmp_path, "--judge", judge)
    told = cli(*words, "--prompt-style", "ref-free", "--ledger", tmp_path / "c.ledger", "--quiet", "--json")
    assert {len(asked.pictures) for asked in server.of("j")} == {0}
    assert all("Image context" in asked.words and "not shown" not in asked.words for asked in server.of("j"))
    assert json.loads(told.stdout)
    blind = json.loads(cli(*board, "--without-pictures", "--quiet", "--json").stdout)
    assert all(any(f"6 of 6 items {SAID}" in note for note in table["notes"]) for table in blind)
    with Ledger(tmp_path / "b.ledger", read_only=True) as ledger:
        assert ledger.lacking_pictures() == {f"single-{n}" for n in range(6)}
