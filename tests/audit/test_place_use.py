"""Questions in which the places of pictures matter: the truth is in the parts, and judges that ignore it are found."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from fullbench.audit import audit_card_and_board as cards
from fullbench.audit.cases.build_audit_cases import SIZES, knowledge_cases, picture_use_cases
from fullbench.audit.cases.questions_about_which_album_holds_a_picture import place_cases
from fullbench.audit.simulated_judges import JUDGES, simulated_judge
from fullbench.core.item import Turn
from fullbench.core.model import Reply
from fullbench.core.picture import Picture
from fullbench.core.verdict_record import Record
from fullbench.judges.prompted_judge import PromptedJudge
from fullbench.synthetic.picture_reading import Sight, read_scene
from fullbench.synthetic.vocabulary import count_of
from tests.support.commands import cli, write_rows
from tests.support.data_builders import png
from tests.support.scripted_server import ScriptedServer

ALBUM = re.compile(r"(?:Album|相册) ([AB])[:：]")


@pytest.fixture(scope="module")
def cases():
    return list(place_cases(8, 3))


def record_of(judge, cases) -> Record:
    responses = {(one.item, one.contestant, 0): one for case in cases for one in case.responses}
    return Record(tuple(judge.judge(cases)), {case.item.id: case.item for case in cases}, responses)


def album_in(parts, seen) -> str:
    """The album of the picture that shows what is asked for, by eyes that read pixels, from the parts in order."""
    words = "".join(part for part in parts if isinstance(part, str))
    letter = found = ""
    for part in parts:
        if isinstance(part, str):
            letter = (ALBUM.findall(part) or [letter])[-1]
            continue
        for (colour, shape), n in seen(part).groups().items():
            if any(count_of(n, colour, shape, language) in words for language in ("en", "zh")):
                found = letter
    return found


@pytest.fixture(scope="module")
def seen(cases):
    scenes = {one.digest: read_scene(one.data(), Sight()) for case in cases for one in case.item.pictures}
    return lambda picture: scenes[picture.digest]


def test_only_the_places_decide_and_the_pixels_agree_with_the_truth(cases, seen):
    agreed = 0
    for first, second in zip(cases[::2], cases[1::2], strict=True):
        parts = [case.item.turns[0].parts for case in (first, second)]
        for kind in (str, Picture):
            of_kind = [[part for part in each if isinstance(part, kind)] for each in parts]
            assert of_kind[0] == of_kind[1], "the same texts and the same pictures, in the same order"
        assert parts[0] != parts[1]
        assert first.contestants == second.contestants
        for case in (first, second):
            better = max(case.responses, key=lambda one: float(one.tags["quality"]))
            agreed += better.contestant == f"album {album_in(case.item.turns[0].parts, seen)}"
    assert agreed >= 0.9 * len(cases)
    assert {case.item.tags["language"] for case in cases} == {"en", "zh"}
    assert {len(case.item.pictures) for case in cases} == {3, 4, 5}


@dataclass(frozen=True)
class Looker:
    """A model that reads its prompt in order; with `flattens`, it gets the pictures first, as judges once did."""

    seen: object
    flattens: bool
    name: str = "looker"
    price: tuple[float, float] | None = None

    @property
    def settings(self):
        return {"flattens": self.flattens}

    def answer(self, prompts):
        for prompt in prompts:
            turns = [
                Turn(turn.role, tuple(sorted(turn.parts, key=lambda part: isinstance(part, str))))
                if self.flattens
                else turn
                for turn in prompt.turns
            ]
            album = album_in(turns[-1].parts, self.seen) or "A"
            shown = re.findall(r"(?:In album|在相册) ([AB])", turns[-1].text)
            yield Reply(prompt, f"{prompt.nonce} [[{'AB'[shown.index(album)]}]]".strip())


def test_a_judge_whose_prompt_keeps_the_places_follows_them_and_a_flattened_one_does_not(cases, seen):
    for flattens in (False, True):
        judge = PromptedJudge(Looker(seen, flattens), mode="direct")
        findings = cards.build_findings(record_of(judge, cases), judge.name)
        by_hand = {}
        for case, verdict in zip(cases, record_of(judge, cases), strict=True):
            best = case.contestants[int(np.argmax(verdict.marks))]
            by_hand.setdefault(case.item.tags["base"], []).append(best == case.item.tags["what"].removeprefix("in "))
        index = float(np.mean([sum(each) - 1 for each in by_hand.values()]))
        assert findings.use_of_places.index.value == pytest.approx(index)
        assert findings.use_of_places.verdict == ("no" if flattens else "yes")
        if flattens:
            assert index == 0
            assert len(findings.use_of_places.blind_pairs) == 8


def test_a_planted_judge_that_ignores_places_is_found_and_no_other_part_notices(cases):
    size = replace(SIZES["quick"], scores=0, rankings=0, hidden_picture_pairs=0)
    quick = [*place_cases(size.place_pairs, 0), *knowledge_cases(size, 0), *picture_use_cases(size, 0)]
    findings = {name: cards.build_findings(record_of(JUDGES[name], quick), JUDGES[name].name)
                for name in ("accurate", "place-blind", "blind")}  # fmt: skip
    assert {name: found.use_of_places.verdict for name, found in findings.items()} == {
        "accurate": "yes", "place-blind": "no", "blind": "no",
    }  # fmt: skip
    assert findings["place-blind"].use_of_picture.verdict == "yes"
    leads = {name: " ".join(cards.lead_text(found).split()) for name, found in findings.items()}
    assert "It uses the places of pictures in a question" in leads["accurate"]
    assert "no sign that it uses the places of pictures" in leads["place-blind"]
    assert "places of pictures" not in leads["blind"], "who ignores the picture is said to, once"
    half = [simulated_judge("accurate", {"place_use": "0.5", "seed": str(seed)}) for seed in range(30)]
    values = [cards.build_findings(record_of(judge, cases), judge.name).use_of_places.index.value for judge in half]
    assert np.mean(values) == pytest.approx(0.5, abs=0.12)


def test_the_card_says_so_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = cli("audit", "simulated:place-blind", "--quick").output
    assert "no sign that it uses the places of pictures in a question" in out
    gate = tmp_path / "gate.toml"
    gate.write_text('ledger = "fullbench.ledger"\n[[audit]]\njudge = "simulated/place-blind"\nplace_use_index = 0.5\n')
    assert "place_use_index" in cli("gate", gate, code=1).output


def test_captions_of_the_users_pictures_are_told_in_their_places(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, colour in (("red", (200, 0, 0)), ("blue", (0, 0, 200))):
        (tmp_path / f"{name}.png").write_bytes(png(colour))
    write_rows(tmp_path / "items.jsonl", [
        {"id": f"i{n}", "captions": [f"first caption {n}", f"second caption {n}"], "turns": [{"role": "user", "parts": [
            f"Before #{n}:", {"picture": "red.png"}, "After:", {"picture": "blue.png"}]}]}
        for n in range(2)
    ])  # fmt: skip
    write_rows(tmp_path / "answers.jsonl", [
        {"item": f"i{n}", "contestant": who, "text": f"{who} says"} for n in range(2) for who in ("ann", "bob")
    ])  # fmt: skip
    with ScriptedServer({"j": lambda asked: "[[A]]"}) as server:
        cli("audit", f"vllm:j@{server.url}?mode=direct", "--items", "items.jsonl", "--responses", "answers.jsonl",
            "--picture-use-only", "--quiet")  # fmt: skip
    told = [
        "".join(part.get("text", "<picture>") for part in each.body["messages"][-1]["content"])
        for each in server.asked if "caption" in each.words
    ]  # fmt: skip
    assert told
    for words in told:
        assert re.search(
            r"Before #(\d):\n?<picture>\n?first caption \1\nAfter:\n?<picture>\n?second caption \1\n", words
        ), words
