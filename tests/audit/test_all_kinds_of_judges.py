"""Panels, cascades, metrics, score models, critics and plugins are audited from the command line."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.audit.cases.build_audit_cases import SIZES, audit_cases
from fullbench.cli.all_commands import app
from fullbench.files.item_response_verdict_files import read_verdicts
from tests.support.colour_server import TinyServer

PANELS = """
[panels.trio]
members = ["simulated:accurate?seed=1", "simulated:noisy", "simulated:blind"]

[panels.even]
members = ["simulated:accurate?seed=1", "simulated:noisy"]
rule = "mean"

[cascades.doubt]
small = "simulated:noisy?refuses=0.3"
large = "simulated:accurate?seed=2"
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VLLM_API_KEY", "sk-not-a-key")

    def run(*words: object) -> str:
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, (done.output, done.exception)
        return done.output

    return run


def cards(said: str) -> list[dict]:
    start = min(place for place in (said.find("["), said.find("{")) if place >= 0)
    value = json.JSONDecoder().raw_decode(said[start:])[0]
    return value if isinstance(value, list) else [value]


def test_panels_and_cascades_are_audited_as_one_judge(call, tmp_path):
    (tmp_path / "panels.toml").write_text(PANELS, encoding="utf-8")
    names = ("panel:trio", "panel:even", "cascade:doubt")
    said = call("audit", *names, "--panels", "panels.toml", "--quick", "--quiet", "--json")
    by_name = {card["judge"]: card["measures"] for card in cards(said)}
    assert tuple(by_name) == names
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        record = ledger.record(study="audit-quick-0")
    # by hand: the majority of three members on the pairs as they are first heard
    votes: dict[str, list[float]] = {}
    members = {verdict.judge for verdict in record if "refuses" not in str(verdict.judge)}
    assert not any(name.startswith(("panel:", "cascade:")) for name in members)
    wanted = [name for name in members if name.startswith(("simulated/accurate", "simulated/blind"))]
    assert len(wanted) == 3
    small = {v.judge for v in record if v.fault == "refused"}
    noisy = next(n for n in members if n.startswith("simulated/noisy") and n not in small)
    second = min(wanted[:2] + wanted[2:], key=lambda name: sum(v.judge == name for v in record))
    trio = {noisy, *(name for name in wanted if name != second)}
    for verdict in record:
        tags = record.items[verdict.item].tags
        plain = tags["part"] == "pairs" and not verdict.trial and verdict.criterion == "correctness"
        if verdict.judge in trio and plain and verdict.contestants[0] == tags["first"]:
            votes.setdefault(verdict.item, []).append(
                dict(zip(verdict.contestants, verdict.marks, strict=True))["right"]
            )
    right = []
    for marks in votes.values():
        ((mark, count), *_) = Counter(marks).most_common()
        right.append(mark if count > 1 else sum(marks) / 3)
    assert len(right) == SIZES["quick"].pairs
    assert by_name["panel:trio"]["accuracy"]["value"] == pytest.approx(sum(right) / len(right))
    # the large judge of the cascade heard only what the small one refused or was split on
    doubted = {(v.case, v.trial) for v in record if v.judge == second}
    refused = {(v.case, v.trial) for v in record if v.fault == "refused"}
    assert refused <= doubted
    assert len(doubted) < len({(v.case, v.trial) for v in record}) / 2
    assert by_name["cascade:doubt"]["unusable"] == 0
    # a second run asks nothing, the board has them all, and a gate can hold a panel
    again = call("audit", "panel:trio", "--panels", "panels.toml", "--quick", "--quiet")
    assert "Called 0, reused" in again
    board = json.loads(call("audit", "--json"))[0]
    assert set(names) <= {row[0] for row in board["rows"]}
    (tmp_path / "gate.toml").write_text('[[audit]]\njudge = "panel:trio"\naccuracy = 0.1\n', encoding="utf-8")
    assert "0 of 1 threshold failed" in call("gate", "gate.toml")


def test_a_panel_without_its_file_or_under_another_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panels.toml").write_text(PANELS, encoding="utf-8")
    for words, sentence in (
        (("panel:trio",), "Add --panels FILE"),
        (("panel:none", "--panels", "panels.toml"), "defined here: panel:trio, panel:even, cascade:doubt"),
        (("panel:trio", "--panels", "no.toml"), "the panels cannot be read"),
    ):
        done = CliRunner().invoke(app, ["audit", *words, "--quick"])
        assert sentence in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["panels.toml"]


def test_variants_and_doses_are_columns_of_an_export_and_come_back(call, tmp_path):
    """Whoever has the export slices it without knowing any tag; read in again, it says the same."""
    call("audit", "simulated:vain?states=1", "--quick", "--quiet")
    call("ledger", "export", "--to", "verdicts.csv")
    with (tmp_path / "verdicts.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    brighter = [row for row in rows if row["variant"] == "brightness"]
    assert {float(row["strength"]) for row in brighter} == {2.0}
    assert len(brighter) == SIZES["quick"].items_per_change
    won = [dict(zip(json.loads(row["contestants"]), json.loads(row["marks"]), strict=True)) for row in brighter]
    (card,) = cards(call("audit", "simulated:vain?states=1", "--quick", "--quiet", "--json"))
    assert card["measures"]["biases"]["brightness"]["n"] == len(won)
    assert (sum(marks["changed"] for marks in won) > len(won) / 2) == (
        card["measures"]["biases"]["brightness"]["value"] > 0
    )
    # the same slices as tables: `leaderboard show --by` takes what was changed, and the strength
    for tag, value in (("what", "brightness"), ("strength", "2")):
        shown = json.loads(call("leaderboard", "show", "--judge", "simulated/vain", "--by", tag, "--json"))
        (table,) = [one for one in shown if one["name"].startswith(f"by {tag}") and "correctness, pair" in one["name"]]
        wins = {(row[0], row[1]): row[2] for row in table["rows"]}
        of_slice = won if tag == "what" else [
            dict(zip(json.loads(row["contestants"]), json.loads(row["marks"]), strict=True))
            for row in rows if row["strength"] and float(row["strength"]) == 2
        ]  # fmt: skip
        share = sum(marks["changed"] for marks in of_slice) / len(of_slice)
        assert wins[value, "changed"]["value"] == pytest.approx(share)
        assert wins[value, "changed"]["n"] == len(of_slice)
    assert {row["canary"] for row in rows} == {"0"}
    again = {(verdict.case, verdict.trial): verdict for verdict in read_verdicts(tmp_path / "verdicts.csv")}
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        stored = list(ledger.verdicts())
    assert len(again) == len(stored)
    for verdict in stored:
        other = again[verdict.case, verdict.trial]
        assert (other.circumstances, other.confidence) == (verdict.circumstances, verdict.confidence)


@pytest.mark.slow
def test_metrics_score_models_and_plugins_are_audited(call, tmp_path, monkeypatch):
    """Each says what it can be asked: a score model knows pictures alone, a metric words alone."""
    (tmp_path / "warm.py").write_text(
        "def warm(prompt, picture):\n"
        "    image = picture.convert('RGB').resize((1, 1))\n"
        "    red, _, blue = image.getpixel((0, 0))\n"
        "    return red - blue\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    specs = ("length", "chance", "picture:noise", "scorer:warm:warm", "bleu")
    shown = {card["judge"]: card["measures"] for card in cards(call("audit", *specs, "--quick", "--quiet", "--json"))}
    length, noise = shown["length"], next(value for name, value in shown.items() if "noise" in name)
    assert length["picture_use"] == "no"
    assert length["biases"]["length"]["flagged"]
    # a metric that compares with the reference knows what is right, and sees nothing
    assert shown["bleu"]["accuracy"]["value"] > 0.9
    assert shown["bleu"]["picture_use"] == "unknown"
    warm = next(value for name, value in shown.items() if "warm" in name)
    assert warm["biases"]["brightness"]["n"] == SIZES["quick"].items_per_change
    assert noise["accuracy"] is None
    assert noise["accuracy_of_pictures"]["n"] == SIZES["quick"].picture_pairs
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        record = ledger.record(study="audit-quick-0")
    right = [
        dict(zip(verdict.contestants, verdict.marks, strict=True))["right"]
        for verdict in record
        if "noise" in verdict.judge and record.items[verdict.item].tags["part"] == "drawn" and verdict.marks
    ]
    assert noise["accuracy_of_pictures"]["value"] == pytest.approx(sum(right) / len(right))


@pytest.mark.slow
def test_a_critic_behind_a_server_is_audited(call, tmp_path):
    """A critic reads the answer beside the reference: where there is none, or pictures are the answers, it abstains."""
    with TinyServer(lambda words, pictures, body: '{"Rating": 4}', models=("critic",)) as server:
        spec = f"critic:vllm:critic@{server.url}?mode=direct&language=en&resample=0"
        (card,) = cards(call("audit", spec, "--quick", "--quiet", "--json", "--anyway"))
    cases = list(audit_cases(SIZES["quick"], 0))
    heard = [case for case in cases if case.item.reference and not any(said.pictures for said in case.responses)]
    assert card["measures"]["verdicts"] == card["measures"]["cases"] == len(cases)
    assert len(server.asked) == len(heard)
    # it rates single answers, and says nothing that rules on several
    assert card["measures"]["unusable"] == len(cases) - SIZES["quick"].scores
    assert card["measures"]["served"] == ["critic"]


PLUGIN = '''
import re

from fullbench import Verdict


class Digits:
    """Prefers the response with more digits in it; says nothing of itself but what every judge must."""

    name, settings = "digits", {"counts": "0-9"}

    def judge(self, cases):
        for case in cases:
            counts = [len(re.findall("[0-9]", response.text)) for response in case.responses]
            if not case.ballot.spec.startswith("choice") or len(counts) != 2:
                yield Verdict.from_case(case, self.name, "abstained")
            elif counts[0] == counts[1] and case.ballot.spec == "choice+tie":
                yield Verdict.from_case(case, self.name, (0.5, 0.5))
            else:
                first = counts[0] > counts[1]
                yield Verdict.from_case(case, self.name, (float(first), float(not first)))


def make(name, options):
    return Digits()
'''


@pytest.mark.slow
def test_a_judge_of_a_package_of_ones_own_is_audited(call, tmp_path, monkeypatch):
    """Installed as any package is: the command finds it by its entry point, and the card is that of its rulings."""
    about = tmp_path / "site" / "digits-1.0.dist-info"
    about.mkdir(parents=True)
    (tmp_path / "site" / "digits_judge.py").write_text(PLUGIN, encoding="utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: digits\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[fullbench.judges]\ndigits = digits_judge:make\n", encoding="utf-8")
    # a process of its own, so that doors are looked for where this one has looked already
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-c", "from fullbench.cli import main; main()", "audit", "digits", "--quick", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    measures = json.loads(done.stdout)["measures"]
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        record = ledger.record(study="audit-quick-0")
    right = []
    for verdict in record:
        tags = record.items[verdict.item].tags
        plain = tags["part"] == "pairs" and not verdict.trial and verdict.criterion == "correctness"
        if plain and verdict.contestants[0] == tags["first"]:
            answers = {name: record.responses[verdict.item, name, 0].text for name in ("right", "wrong")}
            counts = {name: sum(letter in "0123456789" for letter in text) for name, text in answers.items()}
            right.append(0.5 if counts["right"] == counts["wrong"] else float(counts["right"] > counts["wrong"]))
    assert len(right) == SIZES["quick"].pairs
    assert measures["accuracy"]["value"] == pytest.approx(sum(right) / len(right))
    assert measures["picture_use"] == "no"
    assert measures["unusable"] == sum(verdict.marks is None for verdict in record) > 0


@pytest.mark.slow
def test_a_critic_of_ones_own_is_audited(call, tmp_path):
    """Trained on the sample in seconds: it marks answers apart, so that its pairs follow from its scores."""
    call("critic", "train", "--kind", "light", "--benchmark", "alignmmbench", "--external", "fickle", "--out", "mine")
    (card,) = cards(call("audit", "trained:mine", "--quick", "--quiet", "--json"))
    measures = card["measures"]
    assert "+light2#" in card["judge"]
    assert measures["verdicts"] == measures["cases"] == len(list(audit_cases(SIZES["quick"], 0)))
    # it reads no picture: where the picture is hidden there is no reference, so it abstains, and nothing is claimed
    assert measures["picture_use"] == "unknown"
    assert measures["reading_misled"] == 0
    assert measures["steadiness"]["in the other order"]["value"] == 1.0
    assert measures["accuracy"]["n"] == SIZES["quick"].pairs
