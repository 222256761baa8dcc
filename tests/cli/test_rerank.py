"""`fullbench rerank` and `fullbench export dpo`, on words and on pictures."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import ImageFilter

from fullbench.ledger.ledger import Ledger
from tests.judges.scorers.making import encoded, texture
from tests.support.commands import read_jsonl as read
from tests.support.commands import write_rows


def parquet(path: Path) -> list[dict]:
    return pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()


@pytest.fixture
def pictures(tmp_path) -> Path:
    """Two prompts, three pictures each: sharp, soft, softer; and one that is broken."""
    rows = []
    for item in ("one", "two"):
        for trial, radius in enumerate((4, 0, 2)):
            image = texture(len(item), side=96).filter(ImageFilter.GaussianBlur(radius))
            (tmp_path / f"{item}-{trial}.png").write_bytes(encoded(image))
            rows.append({"item": item, "contestant": "painter", "sample": trial, "pictures": [f"{item}-{trial}.png"]})
    (tmp_path / "broken.jpg").write_bytes(encoded(texture(9), "JPEG")[:300])
    rows.append({"item": "two", "contestant": "painter", "sample": 3, "pictures": ["broken.jpg"]})
    write_rows(tmp_path / "prompts.jsonl", [{"id": item, "question": f"scene {item}"} for item in ("one", "two")])
    write_rows(tmp_path / "pictures.jsonl", rows)
    return tmp_path


SHARP = (
    "rerank", "--items", "prompts.jsonl", "--responses", "pictures.jsonl", "--judge", "picture:sharpness", "--quiet",
)  # fmt: skip


def test_the_sharpest_of_a_painters_tries_comes_first(cli, pictures):
    code, _, err = cli(*SHARP, "--out", "ranked.jsonl")
    assert code == 0, err
    assert "1 response got no mark" in err
    ranked = read(pictures / "ranked.jsonl")
    assert [(row["item"], row["sample"], row["rank"]) for row in ranked] == [
        ("one", 1, 1), ("one", 2, 2), ("one", 0, 3), ("two", 1, 1), ("two", 2, 2), ("two", 0, 3), ("two", 3, None),
    ]  # fmt: skip
    assert (pictures / ranked[0]["pictures"][0]).exists()


@pytest.mark.parametrize("ballot", ["choice+tie", "ranking", "score:1-5"])
def test_best_of_n_by_any_ballot(cli, pictures, ballot):
    rows = [row for row in read(pictures / "pictures.jsonl") if row["sample"] < 3]
    write_rows(pictures / "pictures.jsonl", rows)
    code, _, err = cli(*SHARP, "--ballot", ballot, "--keep", "1", "--out", "best.jsonl")
    assert code == 0, err
    assert [(row["item"], row["sample"]) for row in read(pictures / "best.jsonl")] == [("one", 1), ("two", 1)]


def test_pairs_of_words_for_training(cli, data):
    judged = ("judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--judge", "length", "--quiet")
    assert cli(*judged, "--ballot", "choice+tie")[0] == 0
    code, _, err = cli("export", "dpo", "--judge", "length", "--out", "pairs/pairs.jsonl")
    assert code == 0, err
    rows = read(data / "pairs" / "pairs.jsonl")
    assert len(rows) == 36
    for row in rows:
        assert set(row) == {"images", "prompt", "chosen", "rejected"}
        assert [part["type"] for part in row["prompt"][-1]["content"]] == ["image", "text"]
        assert row["chosen"][0]["role"] == "assistant"
        assert len(row["chosen"][0]["content"][0]["text"]) > len(row["rejected"][0]["content"][0]["text"])
        assert (data / "pairs" / row["images"][0]).exists()


def test_pairs_of_pictures_for_training(cli, tmp_path):
    rows = []
    for contestant, radius in (("sharp", 0), ("soft", 3), ("same", 3)):
        image = texture(1, side=96).filter(ImageFilter.GaussianBlur(radius))
        image.putpixel((0, 0), (len(contestant), 0, 0) if contestant == "same" else image.getpixel((0, 0)))
        (tmp_path / f"{contestant}.png").write_bytes(encoded(image))
        rows.append({"item": "one", "contestant": contestant, "pictures": [f"{contestant}.png"]})
    write_rows(tmp_path / "prompts.jsonl", [{"id": "one", "question": "a scene"}])
    write_rows(tmp_path / "pictures.jsonl", rows)
    judged = ("judge", "--items", "prompts.jsonl", "--responses", "pictures.jsonl", "--quiet")
    assert cli(*judged, "--judge", "picture:sharpness", "--ballot", "real:0-1")[0] == 0
    code, _, err = cli("export", "dpo", "--judge", "sharpness", "--margin", "0.1", "--out", "pairs.jsonl")
    assert code == 2
    assert "give --out FILE.parquet" in err
    code, _, err = cli("export", "dpo", "--judge", "sharpness", "--margin", "0.1", "--out", "pairs.parquet")
    assert code == 0, err
    made = parquet(tmp_path / "pairs.parquet")
    assert len(made) == 2
    sharp = (tmp_path / "sharp.png").read_bytes()
    for row in made:
        assert row["prompt"] == row["caption"] == "a scene"
        assert row["chosen"]["bytes"] == sharp
        assert row["rejected"]["bytes"] != sharp
        assert row["jpg_0" if row["label_0"] else "jpg_1"] == sharp, "the label names the better one"


def test_sensitive_pictures_are_copied_only_when_asked_for(cli, tmp_path):
    rows = []
    for contestant, radius, tags in (("sharp", 0, {}), ("soft", 3, {"sensitive": "yes"}), ("softer", 6, {})):
        image = texture(1, side=96).filter(ImageFilter.GaussianBlur(radius))
        (tmp_path / f"{contestant}.png").write_bytes(encoded(image))
        rows.append({"item": "one", "contestant": contestant, "pictures": [f"{contestant}.png"], "tags": tags})
    write_rows(tmp_path / "prompts.jsonl", [{"id": "one", "question": "a scene"}])
    write_rows(tmp_path / "pictures.jsonl", rows)
    judged = ("judge", "--items", "prompts.jsonl", "--responses", "pictures.jsonl", "--quiet")
    assert cli(*judged, "--judge", "picture:sharpness", "--ballot", "real:0-1")[0] == 0
    code, _, said = cli("export", "dpo", "--judge", "sharpness", "--out", "pairs/pairs.parquet")
    assert (code, len(parquet(tmp_path / "pairs/pairs.parquet"))) == (0, 1)
    assert "2 more pairs have sensitive pictures" in said
    hidden = (tmp_path / "soft.png").read_bytes()
    assert hidden not in (tmp_path / "pairs/pairs.parquet").read_bytes()
    cli("export", "dpo", "--judge", "sharpness", "--include-sensitive", "--out", "all/pairs.parquet")
    everything = parquet(tmp_path / "all/pairs.parquet")
    assert len(everything) == 3
    assert hidden in [row[name]["bytes"] for row in everything for name in ("chosen", "rejected")]


def test_a_pair_whose_winner_changes_with_the_order_is_left_out():
    from fullbench import Case, Choice, Item, Record, Response, Verdict
    from fullbench.studies.exchange.dpo_pairs import preference_pairs

    item = Item.ask("i", "?")
    a, b = Response.say("i", "a", "x"), Response.say("i", "b", "y")
    known = {("i", "a"): a, ("i", "b"): b}
    both = [Case(item, (a, b), Choice()), Case(item, (b, a), Choice())]
    first = tuple(Verdict.from_case(case, "first", (1.0, 0.0)) for case in both)
    assert list(preference_pairs(Record(first, {"i": item}, known), "first")) == []
    steady = (Verdict.from_case(both[0], "s", (1.0, 0.0)), Verdict.from_case(both[1], "s", (0.5, 0.5)))
    assert list(preference_pairs(Record(steady, {"i": item}, known), "s")) == [(item, a, b)]


def test_whose_preferences_must_be_said_and_known(cli, data):
    assert cli("judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--judge", "length",
               "--ballot", "choice", "--quiet")[0] == 0  # fmt: skip
    code, _, err = cli("export", "dpo", "--out", "pairs.jsonl")
    assert (code, "--judge" in err) == (2, True)
    code, _, err = cli("export", "dpo", "--judge", "nobody", "--out", "pairs.jsonl")
    assert (code, "'nobody'" in err, "length" in err) == (2, True, True)


@pytest.mark.parametrize("bytes_", [b"", b"<svg/>", encoded(texture(3), "JPEG")[:90]], ids=["empty", "svg", "cut"])
def test_an_answer_that_is_no_picture_is_a_fault_of_its_cases_alone(cli, tmp_path, bytes_):
    """Empty, an SVG named .png, cut off: the file is read, the judge abstains there, all else is judged."""
    (tmp_path / "good.png").write_bytes(encoded(texture(1)))
    (tmp_path / "soft.png").write_bytes(encoded(texture(1).filter(ImageFilter.GaussianBlur(3))))
    (tmp_path / "bad.png").write_bytes(bytes_)
    write_rows(tmp_path / "p.jsonl", [{"id": item, "question": "a scene"} for item in ("one", "two")])
    shown = {"one": ("good.png", "soft.png"), "two": ("good.png", "bad.png")}
    write_rows(
        tmp_path / "r.jsonl",
        [
            {"item": item, "contestant": who, "pictures": [name]}
            for item, names in shown.items()
            for who, name in zip(("a", "b"), names, strict=True)
        ],
    )
    asked = ("--items", "p.jsonl", "--responses", "r.jsonl", "--judge", "picture:sharpness", "--ballot", "choice+tie")
    code, _, said = cli("judge", *asked, "--ledger", "l.ledger", "--quiet")
    assert code == 0, said
    with Ledger(tmp_path / "l.ledger", read_only=True) as ledger:
        ruled = {(verdict.item, verdict.fault) for verdict in ledger.verdicts()}
    assert ruled == {("one", None), ("two", "abstained")}


def test_a_function_in_the_folder_is_a_judge(cli, pictures):
    (pictures / "brightness_of_mine.py").write_text(
        "def score(prompt, image):\n"
        "    if 'two' in prompt:\n"
        "        return float('nan')\n"
        "    return image.convert('L').resize((1, 1)).getpixel((0, 0)) / 255\n"
    )
    words = [word if word != "picture:sharpness" else "scorer:brightness_of_mine:score?span=0,1" for word in SHARP]
    code, _, err = cli(*words, "--ballot", "choice+tie", "--out", "ranked.jsonl")
    assert code == 0, err
    assert "the score nan, nan does not fit choice+tie" in err
    ranked = read(pictures / "ranked.jsonl")
    assert {row["item"] for row in ranked if row["rank"] is not None} == {"one"}
    code, _, err = cli(
        *[word.replace("picture:sharpness", "scorer:nowhere:score") for word in SHARP], "--out", "x.jsonl"
    )
    assert code == 2
    assert "cannot be found (No module named 'nowhere')" in err
