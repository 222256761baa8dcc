"""A cascade with a promise: small judge, large judge, people; what waits is a campaign, and its votes come back."""

from __future__ import annotations

import json
import random
import re
from collections import Counter

import pytest
from typer.testing import CliRunner

import fullbench
from fullbench.analysis.views.cascade_verdicts import decide_cases
from fullbench.cli.all_commands import app
from fullbench.core.panel_and_cascade import Cascade
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from tests.support.commands import stdout_of as cli
from tests.support.commands import write_rows as write
from tests.support.scripted_server import ScriptedServer

ITEMS = 160
STUDY = """
name = "级联"
items = "items.jsonl"
responses = "answers.jsonl"
labels = "labels.jsonl"
judges = ["cascade:cheap"]
ballots = ["choice"]
ledger = "study.ledger"

[cascades.cheap]
small = "vllm:small@{url}?mode=direct&price_in=1&price_out=1"
large = "vllm:large@{url}?mode=direct&price_in=20&price_out=20"
agreement = 0.85
"""


def kind(number):
    """Three in five items are easy; of the hard ones, every fourth is too hard for anybody but people."""
    return "easy" if number % 5 < 3 else "too hard" if number % 10 == 3 else "hard"


def write_cascade_study(folder, url, labelled=ITEMS):
    rng = random.Random(5)
    items = [{"id": f"题{number}", "question": f"What is in picture {number}?"} for number in range(ITEMS)]
    answers = [{"item": row["id"], "contestant": name, "text": f"{word}-{number}"}
               for number, row in enumerate(items) for name, word in (("alpha", "good"), ("贝塔", "bad"))]  # fmt: skip
    labels = [
        {"item": f"题{number}", "contestants": ["alpha", "贝塔"], "ballot": "choice", "judge": "human", "rater": "r1",
         "marks": [1, 0]}
        for number in rng.sample(range(ITEMS), labelled) if kind(number) != "too hard"
    ]  # fmt: skip
    write(folder / "items.jsonl", items)
    write(folder / "answers.jsonl", answers)
    write(folder / "labels.jsonl", labels)
    (folder / "study.toml").write_text(STUDY.format(url=url), encoding="utf-8")
    return folder / "study.toml"


def ruling(sees):
    """A judge that finds the good answer where it sees well enough, and says A where it does not."""

    def answer(asked):
        number = int(re.search(r"good-(\d+)", asked.words)[1])
        first = asked.words.index("good-") < asked.words.index("bad-")
        right = "A" if first else "B"
        return f"[[{right if kind(number) in sees or first else 'A'}]]"

    return answer


def table(tables):
    (found,) = [table for table in tables if table["name"] == "cascades"]
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]], " ".join(map(str, found["notes"]))


def test_a_cascade_keeps_its_promise_saves_half_and_what_waits_is_a_campaign(tmp_path):
    with ScriptedServer({"small": ruling({"easy"}), "large": ruling({"easy", "hard"})}) as server:
        study = write_cascade_study(tmp_path, server.url)
        ran = json.loads(cli("run", study, "--json", "--quiet"))
        counts = Counter(kind(number) for number in range(ITEMS))
        assert (len(server.of("small")), len(server.of("large"))) == (2 * ITEMS, 2 * (ITEMS - counts["easy"]))
        asked = len(server.asked)
        report = json.loads(cli("report", "--ledger", tmp_path / "study.ledger", "--json"))
        in_python = [(table.name, list(map(str, table.notes))) for table in fullbench.report(tmp_path / "study.ledger")]
        assert in_python == [(table["name"], list(map(str, table["notes"]))) for table in report]
        for door in (ran, report):
            (row,), notes = table(door)
            assert [row[name] for name in ("by the small judge", "by the large judge", "by people", "pending")] == [
                2 * counts["easy"], 2 * counts["hard"], 0, 2 * counts["too hard"],
            ]  # fmt: skip
            assert (row["threshold, small"], row["threshold, large"]) == (1.0, 1.0)
            assert row["agreement at least"] >= 0.85
            assert row["cost saved"] == pytest.approx(1 - (1 / 20 + (ITEMS - counts["easy"]) / ITEMS))
            assert row["cost saved"] >= 0.5
            assert "85%" in notes
            assert "people add NAME --pending" in notes
            (faults,) = [table for table in door if table["name"] == "unusable"]
            rows = [dict(zip(faults["columns"], row, strict=True)) for row in faults["rows"]]
            (own,) = [row for row in rows if row["judge"] == "cascade:cheap"]
            ruled = 2 * (counts["easy"] + counts["hard"])
            assert [own[name] for name in ("verdicts", "judged", "abstained", "pending")] == [
                2 * ITEMS, ruled, 0, 2 * counts["too hard"],
            ]  # fmt: skip
            assert own["share unusable"]["value"] == 0, "what waits is no fault"
            assert {row["pending"] for row in rows} == {0, own["pending"]}
            (board,) = [table for table in door if table["name"] == "leaderboard cascade:cheap"]
            notes = " ".join(map(str, board["notes"]))
            assert f"{own['pending']} of {2 * ITEMS} verdicts of this judge, which wait for people" in notes
            assert "are unusable" not in notes
            (agreed,) = [table for table in door if table["name"] == "agreement pairs"]
            by_judge = {row[0]: dict(zip(agreed["columns"], row, strict=True)) for row in agreed["rows"]}
            assert (by_judge["cascade:cheap"]["n"], by_judge["cascade:cheap"]["unusable"]) == (ruled, 0)
        site = ("--database", f"sqlite:///{tmp_path / 'web.sqlite'}", "--data", tmp_path / "data")
        words = ["people", "add", "what waits", "--kind", "pair", "--ballot", "choice", "--pending", "cascade:cheap"]
        made = CliRunner().invoke(app, [*words, "--ledger", str(tmp_path / "study.ledger"), *map(str, site)])
        assert made.exit_code == 0, made.output
        assert f"{counts['too hard']} tasks" in made.output

        votes = [{"item": f"题{number}", "contestants": ["alpha", "贝塔"], "ballot": "choice", "judge": "human",
                  "rater": "r2", "marks": [1, 0]} for number in range(ITEMS) if kind(number) == "too hard"]  # fmt: skip
        labels = (tmp_path / "labels.jsonl").read_text(encoding="utf-8")
        write(tmp_path / "labels.jsonl", [*map(json.loads, labels.splitlines()), *votes])
        ran = json.loads(cli("run", study, "--json", "--quiet"))
        (row,), _ = table(ran)
        assert (row["by people"], row["pending"]) == (2 * counts["too hard"], 0)
        (agreed,) = [table for table in ran if table["name"] == "agreement pairs"]
        (own,) = [row for row in agreed["rows"] if row[0] == "cascade:cheap"]
        own = dict(zip(agreed["columns"], own, strict=True))
        assert (own["n"], own["unusable"]) == (2 * (counts["easy"] + counts["hard"]), 0), (
            "people do not confirm themselves"
        )
        settled = f"{2 * counts['too hard']:,} verdicts of cascade:cheap that these votes settled"
        assert settled in " ".join(map(str, agreed["notes"]))
        shown = json.loads(cli("card", "cascade:cheap", "--ledger", tmp_path / "study.ledger", "--json"))
        own_card = fullbench.card(tmp_path / "study.ledger", "cascade:cheap")
        (figures,) = [table for table in own_card.sections["Agreement"] if table.name == "agreement"]
        assert max(row[2].n for row in figures.rows) == own["n"], "people do not confirm themselves on a card either"
        assert own_card.lead in json.dumps(shown, ensure_ascii=False)
        assert len(server.asked) == asked, "people's votes cost no call"
        again = CliRunner().invoke(app, [*words, "--ledger", str(tmp_path / "study.ledger"), *map(str, site)])
        assert again.exit_code != 0, "nothing waits any more"


@pytest.mark.parametrize("drawn", [8, 20])
def test_where_people_marked_too_few_items_nobody_is_asked_in_vain_and_all_of_it_waits(tmp_path, drawn):
    """Of 20 items both orders are more than 23 rulings, and still only 20 items."""
    with ScriptedServer({"small": ruling({"easy"}), "large": ruling({"easy", "hard"})}) as server:
        study = write_cascade_study(tmp_path, server.url, labelled=drawn)
        (row,), notes = table(json.loads(cli("run", study, "--json", "--quiet")))
        assert server.of("large") == []
    labelled = sum(1 for line in (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines() if line)
    assert (row["by the small judge"], row["threshold, small"]) == (0, None)
    assert (row["by people"], row["pending"]) == (2 * labelled, 2 * (ITEMS - labelled))
    assert f"people marked {labelled} of the items that the small judge judged. A guarantee needs at least 23" in notes


def test_what_the_large_judge_rules_for_others_is_not_what_the_cascade_spends(tmp_path):
    with ScriptedServer({"small": ruling({"easy"}), "large": ruling({"easy", "hard"})}) as server:
        study = write_cascade_study(tmp_path, server.url)
        alone = f'"vllm:large@{server.url}?mode=direct&price_in=20&price_out=20"'
        words = study.read_text(encoding="utf-8").replace('["cascade:cheap"]', f'["cascade:cheap", {alone}]')
        study.write_text(words, encoding="utf-8")
        (row,), _ = table(json.loads(cli("run", study, "--json", "--quiet")))
        assert len(server.of("large")) == 2 * ITEMS
    doubtful = sum(kind(number) != "easy" for number in range(ITEMS))
    assert row["cost saved"] == pytest.approx(1 - (1 / 20 + doubtful / ITEMS))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("agreement = 0.85", "agreement = 1.2", "the agreement is a share between 0 and 1"),
        ("agreement = 0.85", "agreement = 0.85\nthreshold = 0.9", "the threshold is learned"),
        ("agreement = 0.85", "agreement = 0.85\nrisk = 0", "the risk is a share between 0 and 1"),
    ],
)
def test_a_promise_that_cannot_be_is_refused_in_one_sentence(tmp_path, old, new, said):
    study = write_cascade_study(tmp_path, "http://127.0.0.1:9/v1")
    study.write_text(study.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        cli("run", study)


@pytest.mark.slow
def test_both_judges_together_break_the_promise_in_at_most_five_percent_of_resamples():
    """Judges that are right so often when sure that the whole cascade just misses or just reaches the target."""
    rng = random.Random(11)
    cascade = Cascade("cascade:c", "s", "l", agreement=0.85)

    def heard(judge, item, sure, right):
        votes = [right, right] if sure else [True, False]
        return [Verdict(f"{item}{side}", judge, item, ("a", "b") if not side else ("b", "a"), "choice",
                        marks=(1.0, 0.0) if vote != bool(side) else (0.0, 1.0))
                for side, vote in enumerate(votes)]  # fmt: skip

    for chances in ((0.84, 0.84), (0.9, 0.84), (0.84, 0.95)):
        broken = 0
        for _ in range(200):
            verdicts = []
            for number in range(150):
                item, small_sure = f"q{number}", rng.random() < 0.7
                verdicts += heard("s", item, small_sure, rng.random() < chances[0])
                if not small_sure:
                    verdicts += heard("l", item, rng.random() < 0.8, rng.random() < chances[1])
                verdicts.append(Verdict(f"{item}p", "human", item, ("a", "b"), "choice", marks=(1.0, 0.0), rater="r"))
            by = {who for _, who in decide_cases(cascade, verdicts)}
            weights = {"small": 0.7 if "small" in by else 0.0, "large": 0.24 if "large" in by else 0.0}
            if (total := sum(weights.values())) > 0:
                broken += (weights["small"] * chances[0] + weights["large"] * chances[1]) / total < 0.85
        assert broken <= 0.05 * 200 + 8, "three standard deviations above 5 %"
