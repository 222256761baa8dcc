"""MJ-Bench's protocol in whole journeys: negative scores, ratings and a choice in one call, stored orders."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from fullbench.core.verdict import PEOPLE
from fullbench.ledger.ledger import Ledger
from fullbench.parsing.ratings_and_choice import parts
from tests.judges.scorers.making import encoded, texture
from tests.support.commands import write_rows
from tests.support.picture_server import PictureServer

PAIRS = 10


@pytest.fixture
def released(tmp_path) -> Path:
    """Ten pairs in two sub-categories, in the layout of the hub, the better picture stored first or second."""
    folder = tmp_path / "data" / "alignment"
    folder.mkdir(parents=True)
    lines = []
    for n in range(PAIRS):
        for end in (0, 1):
            (folder / f"{n}-{end}.png").write_bytes(encoded(texture(10 * n + end)))
        lines.append({
            "id": f"p{n}", "caption": f"一只猫 {n}", "image0": f"{n}-0.png", "image1": f"{n}-1.png",
            "label": n % 3 == 0, "category": "object" if n % 2 else "count",
        })  # fmt: skip
    write_rows(folder / "alignment.jsonl", [{**line, "label": int(line["label"])} for line in lines])
    return tmp_path


def worth(data: bytes) -> int:
    """A number from -40 to 40 for a picture: what the judges of this file go by."""
    return int(hashlib.sha256(data).hexdigest(), 16) % 81 - 40


def study(folder: Path, judge: str, more: str = "") -> Path:
    path = folder / "study.toml"
    path.write_text(
        f'name = "s"\nbenchmark = "mjbench"\ndata = "data"\njudges = ["{judge}"]\nledger = "s.ledger"\n{more}'
    )
    return path


def tables(out: str) -> dict:
    return {table["name"]: table for table in json.loads(out)}


def cells(table: dict) -> list[dict]:
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def test_scores_below_zero_are_scores_and_ties_go_by_the_models_own_units(cli, released):
    (released / "below_zero.py").write_text(
        "def below(prompt, image):\n    return sum(image.resize((1, 1)).getpixel((0, 0))) / 100 - 5\n"
    )
    code, out, err = cli("run", study(released, "scorer:below_zero:below"), "--quiet", "--json")
    assert code == 0, err
    with Ledger(released / "s.ledger") as ledger:
        verdicts = [verdict for verdict in ledger.verdicts() if verdict.judge != PEOPLE]
    assert not [verdict for verdict in verdicts if verdict.fault]
    singles = {(v.item, v.contestants[0]): v.marks[0] for v in verdicts if len(v.contestants) == 1}
    assert len(singles) == 2 * PAIRS
    assert min(singles.values()) < 0
    gaps = np.array([singles[f"p{n}", "chosen"] - singles[f"p{n}", "rejected"] for n in range(PAIRS)])
    shown = tables(out)
    (single,) = [row for row in cells(shown["preferences"]) if row["way"] == "single own units"]
    assert single["right"]["value"] == pytest.approx((gaps > 0).mean())
    assert single["n"] == PAIRS
    for row in cells(shown["ties"]):
        margin = (
            0 if not row["share of ties"] else np.sort(np.abs(gaps))[int(np.ceil(row["share of ties"] * PAIRS)) - 1]
        )
        assert row["margin"] == pytest.approx(margin)
        assert row["right"]["value"] == pytest.approx((gaps > margin).mean())


def reply(_: str, pictures: list[bytes]) -> str:
    """Alone, a rating; together, two ratings, and the choice of the other one: so the two can be told apart."""
    ratings = [abs(worth(data)) % 10 + 1 for data in pictures]
    if len(pictures) == 1:
        return f"It is a picture. [[{ratings[0]}]]"
    better = 0 if ratings[0] == ratings[1] else 1 + (ratings[0] > ratings[1])
    lines = [f"IMAGE-{place} RATING: {rating}" for place, rating in enumerate(ratings, 1)]
    return "\n".join(["Both are pictures.", *lines, f"BETTER IMAGE: {better}"])


def test_two_ratings_and_a_choice_come_from_one_call_in_whole_numbers_and_both_stored_orders(cli, released):
    with PictureServer(reply) as server:
        code, out, err = cli("run", study(released, f"openai:eye@{server.url}"), "--quiet", "--json")
        assert code == 0, err
        calls = len(server.requests)
        asked = [json.dumps(request["messages"], ensure_ascii=False) for request in server.requests]
        code, _, err = cli("run", released / "study.toml", "--quiet", "--json")
        assert len(server.requests) == calls, "nothing is asked twice"
    assert calls == 2 * PAIRS + 2 * PAIRS, "each picture alone, each pair in both orders once"
    assert all("a whole number from 1 to 10" in text for text in asked if "BETTER IMAGE" in text)
    assert all("a whole number between 1 and 10" in text for text in asked if "BETTER IMAGE" not in text)
    with Ledger(released / "s.ledger") as ledger:
        verdicts = [verdict for verdict in ledger.verdicts() if verdict.judge != PEOPLE]
        spent = sum(account.usage.calls for account in ledger.bill())
    assert spent == calls, "a call is billed once, however many verdicts it gave"
    assert not [verdict for verdict in verdicts if verdict.fault]
    together = [verdict for verdict in verdicts if len(verdict.contestants) == 2]
    assert {verdict.ballot for verdict in together} == {"score:1-10", "choice+tie"}
    assert len({verdict.exchanges[0].id for verdict in together}) == 2 * PAIRS
    picture = {}
    for n in range(PAIRS):
        files = [(released / "data" / "alignment" / f"{n}-{end}.png").read_bytes() for end in (0, 1)]
        better = int(n % 3 == 0)
        picture[f"p{n}"] = {"chosen": files[better], "rejected": files[1 - better], "first": files[0]}
    for verdict in together:
        mine = [abs(worth(picture[verdict.item][who])) % 10 + 1 for who in verdict.contestants]
        if verdict.ballot == "score:1-10":
            assert list(verdict.marks) == mine
        else:
            assert list(verdict.marks) == ([0.5, 0.5] if mine[0] == mine[1] else [float(m == min(mine)) for m in mine])
    shown = tables(out)
    (row,) = cells(shown["orders"])
    wins = [float(v.marks[v.contestants.index("chosen")] == 1) for v in together if v.ballot == "choice+tie"]
    stored = [
        float(v.marks[v.contestants.index("chosen")] == 1)
        for v in together
        if v.ballot == "choice+tie" and (v.contestants[0] == "chosen") == (int(v.item[1:]) % 3 != 0)
    ]
    assert len(stored) == PAIRS
    assert row["pair-f"]["value"] == pytest.approx(np.mean(stored))
    assert row["pair-f"]["value"] == row["pair-r"]["value"] == pytest.approx(np.mean(wins))
    assert row["consistent"] == 1.0
    ways = {row["way"] for row in cells(shown["preferences"])}
    assert {"pair ratings [0, 10], chosen first", "pair, chosen second", "single [0, 10]"} <= ways


def test_the_protocol_can_be_chosen_and_what_is_wrong_in_it_is_said(cli, released):
    chosen = '[protocol]\nscales = ["[0, 5]", "likert:bad|fair|good"]\npairs = "choice"\norders = "reversed"\n'
    words = ["bad", "fair", "good"]

    def answer(text: str, pictures: list[bytes]) -> str:
        if len(pictures) == 2:
            return "[[A]]"
        return f"[[{words[worth(pictures[0]) % 3]}]]" if "fair" in text else f"[[{abs(worth(pictures[0])) % 5 + 1}]]"

    with PictureServer(answer) as server:
        code, _, err = cli("run", study(released, f"openai:eye@{server.url}", chosen), "--quiet", "--json")
        assert code == 0, err
        assert len(server.requests) == 4 * PAIRS + PAIRS
    with Ledger(released / "s.ledger") as ledger:
        ruled = [verdict for verdict in ledger.verdicts() if verdict.judge != PEOPLE]
    assert {verdict.ballot for verdict in ruled} == {"score:1-5", "likert:bad|fair|good", "choice+tie"}
    for verdict in ruled:
        if verdict.ballot == "choice+tie":  # the second stored picture is shown first
            assert (verdict.contestants[0] == "chosen") == (int(verdict.item[1:]) % 3 == 0)
    for wrong, sentence in (
        ('[protocol]\norders = "sorted"\n', "orders is one of both, stored, reversed"),
        ('[protocol]\nscale = "x"\n', "unknown key 'scale'"),
        ('[protocol]\nscales = []\n', "nothing can be rated"),
        ('[protocol]\nscales = ["stars:5"]\n', "unknown ballot"),
    ):  # fmt: skip
        code, _, err = cli("run", study(released, "picture:sharpness", wrong), "--quiet")
        assert code == 2
        assert sentence in err, err


def test_half_a_reply_gives_the_half_that_it_has():
    from fullbench.core.ballot import Likert, Score

    scale = Score(1, 10)
    assert parts("IMAGE-1 RATING: 7\nIMAGE-2 RATING: 8", scale, 2) == ((7.0, 8.0), None)
    assert parts("IMAGE-1 RATING: 7\nIMAGE-2 RATING: 18\nBETTER IMAGE: 2", scale, 2) == (None, (0.0, 1.0))
    assert parts("**IMAGE-1 RATING:** 7\n**BETTER IMAGE:** IMAGE-2", scale, 2) == (None, (0.0, 1.0))
    assert parts("<think>BETTER IMAGE: 1</think>\nBETTER IMAGE: 0", scale, 2) == (None, (0.5, 0.5))
    words = Likert(("Extremely Poor", "Poor", "Good"))
    said = '{"IMAGE-1 RATING": "Extremely Poor", "IMAGE-2 RATING": "Good", "BETTER IMAGE": "2"}'
    assert parts(said, words, 2) == ((1.0, 3.0), (0.0, 1.0))


def test_people_of_a_bias_row_are_read_with_their_groups_and_scored_evenly_or_not(cli, tmp_path):
    """The layout of the repository and of the hub: one picture a row, five flags, groups joined by underscores."""
    people = [f"{age}_{gender}" for age in ("old", "young") for gender in ("female", "male", "non-binary")]
    lines = []
    for work in ("Nurse", "Pilot"):
        for person in people:
            file = f"{work}-{person}.png"
            (tmp_path / file).write_bytes(encoded(texture(len(lines))))
            flags = {"age": True, "gender": True, "race": False, "nationality": False, "religion": False}
            lines.append({"demographic": person, "occupation": work, "image": file, "caption": f"A {work}.", **flags})
    (tmp_path / "bias.json").write_text(json.dumps(lines))
    (tmp_path / "redness.py").write_text(
        "def by_red(prompt, image):\n    return image.resize((1, 1)).getpixel((0, 0))[0] / 25.5 - 3\n"
    )
    lines = ['name = "s"', 'benchmark = "mjbench"', 'data = "bias.json"', 'judges = ["scorer:redness:by_red"]']
    (tmp_path / "study.toml").write_text("\n".join([*lines, 'ledger = "s.ledger"', ""]))
    code, out, err = cli("run", "study.toml", "--quiet", "--json")
    assert code == 0, err
    with Ledger(tmp_path / "s.ledger") as ledger:
        verdicts = list(ledger.verdicts())
        marks = {(v.item, v.contestants[0]): v.marks[0] for v in verdicts}
    assert len(marks) == 12
    shown = tables(out)
    (axis,) = [
        row for row in cells(shown["axes"])
        if row["axis"] == "age" and row["way"] == "regrouped" and row["scores"] == "as given"
    ]  # fmt: skip
    gaps = []
    for work in ("Nurse", "Pilot"):
        old, young = (
            np.mean([mark for (item, who), mark in marks.items() if item == f"bias-{work}" and who.startswith(age)])
            for age in ("old", "young")
        )
        gaps.append(float(abs(old - young) <= 0.1))
    assert axis["ACC"] == pytest.approx(np.mean(gaps))
    code, _, err = cli("export", "mjbench", "--data", "bias.json", "--out", "copy")
    assert code == 0, err


def test_a_clone_of_the_repository_is_read_and_pairs_that_stand_in_two_files_once(cli, tmp_path):
    place = tmp_path / "clone" / "alignment" / "benchmark" / "actions"
    place.mkdir(parents=True)
    pairs = []
    for n in range(3):
        for end in (0, 1):
            (place / f"{n}{end}.jpg").write_bytes(encoded(texture(n + 10 * end)))
        pairs.append({
            "id": f"pap_{n}", "source": "pick_a_pic", "caption": f"running {n}", "image0": f"{n}0.jpg",
            "image1": f"{n}1.jpg", "label": n % 2,
        })  # fmt: skip
    (place / "actions_test.json").write_text(json.dumps(pairs))
    (place / "pap_actions_test.json").write_text(json.dumps([{**pair, "id": n} for n, pair in enumerate(pairs)]))
    (tmp_path / "clone" / "config.json").write_text("{}")
    code, out, err = cli("export", "mjbench", "--data", "clone", "--out", "copy")
    assert code == 0, err
    assert "3 items, 6 responses, 3 labels" in err
    assert "the same pair stands in two files of the repository" in out
    items = [json.loads(line) for line in (tmp_path / "copy" / "items.jsonl").read_text().splitlines()]
    assert {item["tags"]["subset"] for item in items} == {"action"}
    for picture in place.glob("*.jpg"):
        picture.unlink()
    code, _, err = cli("export", "mjbench", "--data", "clone", "--out", "copy2")
    assert code == 2
    assert "none of the pictures of its 3 items was found" in err
