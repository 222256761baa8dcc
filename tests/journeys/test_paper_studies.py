"""Studies of a benchmark as their papers ran them: orders, criteria, examples, steps, cleaning, and experiments."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein
from scipy import stats

from fullbench import Ledger
from tests.journeys.commands import cells, cli, read_jsonl, write_rows
from tests.making import png
from tests.scripted_server import Asked, ScriptedServer
from tests.waiting import LONG, until

ITEMS = 6


def letters(asked: Asked) -> int:
    """How many answers are shown in a hearing."""
    return len(set(re.findall(r"Answer ([A-D])\b", asked.words)))


def judging(asked: Asked) -> str:
    """Rules by length: a score from the words of the answer, the longest first."""
    if "1 to 5" in asked.last or "[[1]]" in asked.last:
        return f"[[{1 + len(asked.last) % 5}]]"
    return "[[A]]" if "[[A]]" in asked.last and "order" not in asked.last.lower() else "[[A]], [[B]], [[C]]"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p").mkdir()
    rows, answers = [], []
    for n in range(ITEMS):
        (tmp_path / "p" / f"{n}.png").write_bytes(png((30 * n, 9, 9)))
        task = ("score", "pair", "batch")[n % 3]
        rows.append(
            {"id": f"题{n}", "question": f"What of {n}?", "pictures": [f"p/{n}.png"], "reference": f"ref {n}",
             "captions": [f"caption {n}"], "tags": {"task": task, "dataset": "own"}}
        )  # fmt: skip
        answers += [
            {"item": f"题{n}", "contestant": name, "text": f"{name} says that {n} " + "word " * (n + at)}
            for at, name in enumerate(("a", "b", "c"))
        ]
    write_rows(tmp_path / "items.jsonl", rows)
    write_rows(tmp_path / "answers.jsonl", answers)
    return tmp_path


def study(folder, name="s", **keys):
    table = {"benchmark": "mllm-as-a-judge", "data": "items.jsonl", "responses": "answers.jsonl",
             "ledger": f"{name}.ledger", **keys}  # fmt: skip
    options = table.pop("options", None)
    text = f'name = "{name}"\n' + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
    if options is not None:
        text += f"[{table['kind']}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def heard(ledger):
    with Ledger(ledger, read_only=True) as book:
        return list(book.verdicts())


def test_orders_and_criteria_of_a_benchmark_study_are_honoured(folder):
    """Two items each: 6 scores, 2 x 3 pairs, 2 rankings of three; the paper's own way is both orders."""
    counts = {}
    for name, keys in {
        "own": {}, "both": {"orders": "both"}, "sorted": {"orders": "sorted"}, "shuffled": {"orders": "shuffled"},
        "all": {"orders": "all"}, "criteria": {"criteria": ["accuracy", "style"], "orders": "sorted"},
        "trials": {"trials": 3, "orders": "sorted"},
    }.items():  # fmt: skip
        cli("run", study(folder, name, judges=["length"], **keys), "--quiet", "--json")
        verdicts = heard(folder / f"{name}.ledger")
        counts[name] = Counter(len(verdict.contestants) for verdict in verdicts)
        if name == "sorted":
            assert all(list(verdict.contestants) == sorted(verdict.contestants) for verdict in verdicts)
            assert {len(verdict.contestants) for verdict in verdicts} == {1, 2, 3}
        if name == "criteria":
            assert Counter(verdict.criterion for verdict in verdicts) == {"accuracy": 14, "style": 14}
    assert counts["own"] == counts["both"] == {1: 6, 2: 12, 3: 4}
    assert counts["sorted"] == counts["shuffled"] == {1: 6, 2: 6, 3: 2}
    assert counts["all"] == {1: 6, 2: 12, 3: 12}
    assert counts["trials"] == {1: 18, 2: 18, 3: 6}
    (plan,) = json.loads(cli("plan", study(folder, "plan", judges=["length"], orders="sorted"), "--json").stdout)
    assert plan["rows"][0][plan["columns"].index("to ask")] == 14


def test_examples_steps_and_forms_reach_the_judge_in_the_right_form(folder):
    write_rows(folder / "shots.jsonl", [
        {"text": "An answer that is nearly right.", "marks": 4, "ballot": "score:1-5"},
        {"text": "The second answer sees more.", "marks": [0, 1], "ballot": "choice+tie"},
        {"text": "Three answers, the last one best.", "marks": [2, 1, 3], "ballot": "ranking"},
    ])  # fmt: skip
    with ScriptedServer({"j": judging}) as server:
        spec = f"vllm:j@{server.url}?mode=steps&steps=answer,picture&examples={folder / 'shots.jsonl'}"
        cli("run", study(folder, "steps", judges=[spec], orders="sorted"), "--quiet", "--json")
        finals = [asked for asked in server.asked if sum(role == "assistant" for role, _ in asked.turns) == 2]
        assert len(finals) >= 14
        firsts = [asked for asked in server.asked if len(asked.turns) == 2]
        assert all("answer the question yourself" in asked.last for asked in firsts)
        shown = Counter()
        for asked in finals:
            shown[
                "nearly right.\n[[4]]" in asked.words,
                "sees more.\n[[B]]" in asked.words,
                "last one best.\n[[C]], [[A]], [[B]]" in asked.words,
            ] += 1
        # One example each, and always that of the form which is asked for.
        assert set(shown) == {(True, False, False), (False, True, False), (False, False, True)}
        for form, mode in (("json", {"type": "json_object"}), ("json-prompt", None)):
            before = len(server.asked)
            replied = f"vllm:j@{server.url}?form={form}"
            cli("run", study(folder, form, judges=[replied], orders="sorted"), "--quiet", "--json")
            bodies = [asked.body.get("response_format") for asked in server.asked[before:]]
            assert bodies
            assert all(body == mode for body in bodies), form
            assert all("JSON" in asked.words for asked in server.asked[before:])


def test_contestants_are_asked_in_given_words_and_refusals_are_left_out_and_counted(folder):
    texts = {"good": "A full answer of many words.", "shy": "I'm sorry, but I can't help with that.", "terse": "Yes."}
    models = {name: (lambda asked, text=text: f"{text} {len(asked.pictures)}" if text[0] == "A" else text)
              for name, text in texts.items()}  # fmt: skip
    models["mixed"] = lambda asked: texts["shy"] if "of 3" in asked.words else "The mixed answer in many words."
    with ScriptedServer(models) as server:
        specs = [f"vllm:{name}@{server.url}?asking=mllm-as-a-judge" for name in models]
        path = study(folder, "c", judges=["length"], contestants=specs, leave_out=["refusals", "short"])
        path.write_text(path.read_text(encoding="utf-8").replace('responses = "answers.jsonl"\n', ""))
        (plan,) = json.loads(cli("run", path, "--dry-run", "--json").stdout)
        place = plan["columns"].index("to ask")
        # Nobody has answered yet, and no answer that is still to come is taken for one that is left out.
        assert {row[1]: row[place] for row in plan["rows"] if row[0] == "verdicts"} == {"length": 8 + 24 + 4}
        tables = cli("run", path, "--quiet", "--json").tables
        asked = server.of("good")
        assert len(asked) == ITEMS
        assert all("explain your answer in detail" in one.last and one.turns[0][0] == "system" for one in asked)
        assert all(len(one.pictures) == 1 for one in asked)
    left = {row[0].split("@")[0]: row[1:] for row in tables["left out"]["rows"]}
    assert left == {"shy": [ITEMS, 0], "terse": [0, ITEMS], "mixed": [1, 0]}
    verdicts = heard(folder / "c.ledger")
    judged = Counter(name.split("@")[0] for verdict in verdicts for name in set(verdict.contestants))
    assert set(judged) == {"good", "mixed"}
    assert not any(verdict.item == "题3" and len(verdict.contestants) > 1 for verdict in verdicts)


def test_the_second_reader_is_shown_examples_and_rules_where_the_judge_was_unclear(folder):
    models = {
        "j": lambda asked: "I would rather have the second one, all in all.",
        "r": lambda asked: "Final Answer: B",
    }
    with ScriptedServer(models) as server:
        spec = f"vllm:j@{server.url}?resample=0&reader=vllm:r@{server.url}&reader_wording=examples"
        cli("run", study(folder, "r", benchmark="visitbench", judges=[spec]), "--quiet", "--json")
        asked = server.of("r")
        assert asked
        assert all(one.words.count("Final Answer: ") >= 2 and "Example 2" in one.words for one in asked)
    verdicts = heard(folder / "r.ledger")
    assert verdicts
    assert all(verdict.marks == (0.0, 1.0) for verdict in verdicts)


def test_visit_bench_is_judged_by_pictures_or_as_in_the_paper_as_its_spec_says(folder):
    """The paper's judge reads captions in place of pictures and no reference; both orders are asked in any case."""
    expected = {"": (1, False, False), "?manner=ref-free": (0, True, False), "?manner=ref-backed": (0, True, True),
                "?manner=seeing": (1, False, False), "?manner=ref-free&reference=yes": (0, True, True)}  # fmt: skip
    for number, (option, shown) in enumerate(expected.items()):
        with ScriptedServer({"j": lambda asked: "Overall, Response A is better."}) as server:
            spec = f"vllm:j@{server.url}{option}"
            path = study(folder, f"v{number}", benchmark="visitbench", judges=[spec])
            done = cli("run", path, "--quiet", "--json")
            # Who names no manner is told that the paper's judge was asked otherwise.
            said = "Asked in the manner 'seeing', the usual one of visitbench here: j@"
            assert (said in done.output) == (option == "")
            assert ("The paper's judge was asked in 'ref-free'" in done.output) == (option == "")
            for asked in server.of("j"):
                seen = (len(asked.pictures), "caption " in asked.last, "A verified answer" in asked.last)
                assert seen == shown, option
            # Every two of three contestants and the reference, in both orders.
            assert len(server.of("j")) == ITEMS * 6 * 2
    rows = read_jsonl(folder / "items.jsonl")
    write_rows(folder / "items.jsonl", [{**row, "captions": []} for row in rows])
    with ScriptedServer({"j": lambda asked: "Overall, Response A is better."}) as server:
        spec = f"vllm:j@{server.url}?manner=ref-free"
        refused = cli("run", study(folder, "bare", benchmark="visitbench", judges=[spec]), "--quiet", code=2)
        assert "none of the 6 items with pictures has a caption for each" in refused.output
        assert "manner=seeing" in refused.output
        assert not server.of("j")


def writer(asked: Asked) -> str:
    if "Rewrite it" in asked.words:
        text = asked.last.split("rewritten answer only.]")[1].strip()
        return f"{text} {text} and so it goes on and on"
    if "Describe this picture" in asked.words:
        return f"It is {asked.pictures[0][:6]}."
    return "right reference" if "conditioned" in asked.words else "wrong reference"


def test_lengthening_is_a_study_that_is_planned_run_resumed_and_replayed(folder):
    """The planted judge gives one mark more for every doubling; the gain equals a t-interval over items."""

    def score(asked: Asked) -> str:
        return f"[[{5 if 'so it goes on' in asked.words else 2 + asked.last.count('word') % 2}]]"

    with ScriptedServer({"w": writer, "j": score}) as server:
        path = study(
            folder, "long", kind="experiment", benchmark="mllm-as-a-judge", judges=[f"vllm:j@{server.url}?mode=direct"],
            tables="long.json", options={"what": "lengthening", "model": f"vllm:w@{server.url}"},
        )  # fmt: skip
        rows = read_jsonl(folder / "items.jsonl")
        write_rows(folder / "items.jsonl", [{**row, "tags": {**row["tags"], "task": "score"}} for row in rows])
        (plan,) = json.loads(cli("run", path, "--dry-run", "--json").stdout)
        place = plan["columns"].index("to ask")
        asks = {row[0]: row[place] for row in plan["rows"]}
        assert (asks["writing"], asks["verdicts"]) == (18, 36)
        told = cli("run", path, "--quiet", "--json")
        table = told.tables["lengthening"]
        assert Counter(asked.model for asked in server.asked) == {"w": 18, "j": 36}
        again = cli("run", path, "--quiet", "--json")
        assert "Asked 0" in again.output
        assert len(server.asked) == 54
        assert "byte for byte" in cli("replay", path, "--check").output
    verdicts = heard(folder / "long.ledger")
    marks = {(verdict.item, verdict.contestants[0]): verdict.marks[0] for verdict in verdicts}
    gaps = {}
    for (item, name), mark in marks.items():
        if name.endswith("+longer"):
            gaps.setdefault(item, []).append(mark - marks[item, name.removesuffix("+longer")])
    assert len(gaps) == ITEMS
    means = [float(np.mean(each)) for each in gaps.values()]
    row = next(row for row in table["rows"] if row[1] == "(all)")
    gain = row[table["columns"].index("gain")]
    assert gain["value"] == pytest.approx(np.mean(means))
    low, high = stats.t.interval(0.95, ITEMS - 1, np.mean(means), stats.sem(means))
    assert (gain["low"], gain["high"]) == (pytest.approx(low, rel=0.02), pytest.approx(high, rel=0.02))
    assert row[table["columns"].index("p")] < 0.05


def sighted(asked: Asked) -> str:
    """A judge that is near people with the picture in view, less so with its description, and guesses with neither."""
    names = re.findall(r"\b([abc]) says that (\d+)", asked.last)
    noise = 0.2 if asked.pictures else 0.8 if "It is " in asked.words else 4.0
    worth = [
        "abc".index(name) + random.Random(f"{asked.model}{name}{n}{noise}").uniform(-noise, noise) for name, n in names
    ]
    if len(worth) == 1:
        return f"[[{min(5, max(1, round(worth[0] + 2)))}]]"
    best = sorted(range(len(worth)), key=lambda place: -worth[place])
    if len(worth) == 2:
        return "[[C]]" if abs(worth[0] - worth[1]) < 0.5 else f"[[{'AB'[best[0]]}]]"
    return ", ".join(f"[[{'ABC'[place]}]]" for place in best)


def people(folder) -> dict[tuple[str, ...], list[float]]:
    """A vote on every set of responses, written as labels; by item and contestants."""
    votes = {}
    for row in read_jsonl(folder / "items.jsonl"):
        lot, name = random.Random(row["id"]), row["id"]
        worth = {one: place + lot.uniform(-1, 1) for place, one in enumerate("abc")}
        for one in "abc" if row["tags"]["task"] == "score" else ():
            votes[name, one] = [float(min(5, max(1, round(worth[one] + 2))))]
        for one, two in combinations("abc", 2) if row["tags"]["task"] == "pair" else ():
            gap = worth[one] - worth[two]
            votes[name, one, two] = [0.5, 0.5] if abs(gap) < 0.3 else [float(gap > 0), float(gap < 0)]
        if row["tags"]["task"] == "batch":
            votes[name, "a", "b", "c"] = [float(sorted(worth.values()).index(worth[one]) + 1) for one in "abc"]
    ballots = {1: "score:1-5", 2: "choice+tie", 3: "ranking"}
    rows = [{"item": item, "contestants": who, "marks": marks, "ballot": ballots[len(marks)], "judge": "human"}
            for (item, *who), marks in votes.items()]  # fmt: skip
    write_rows(folder / "labels.jsonl", rows)
    return votes


def expert(folder, name, server, **keys):
    return study(
        folder, name, kind="experiment", orders="sorted", tables=f"{name}.json",
        judges=[f"vllm:j@{server.url}", f"vllm:k@{server.url}?mode=direct"],
        options={"what": "vision-expert", "model": f"vllm:w@{server.url}", "out": f"{name}-described.jsonl"}, **keys,
    )  # fmt: skip


def test_the_vision_expert_is_heard_beside_seeing_and_unseeing(folder):
    """Table 6: each judge with the pictures, with another's descriptions and with neither, beside people."""
    votes = people(folder)
    with ScriptedServer({"w": writer, "j": sighted, "k": sighted}) as server:
        path = expert(folder, "expert", server, labels="labels.jsonl")
        told = cli("run", path, "--quiet", "--json")
        assert "were not written" not in told.output
        assert len(server.of("w")) == ITEMS
        seen = Counter((len(asked.pictures), "It is " in asked.words) for asked in server.of("j"))
        assert set(seen) == {(1, False), (0, True), (0, False)}
        assert len(set(seen.values())) == 1
        before = len(server.asked)
        assert "Asked 0" in cli("run", path, "--quiet", "--json").output
        assert len(server.asked) == before
        assert "byte for byte" in cli("replay", path, "--check").output
        alone = cli("run", expert(folder, "alone", server), "--quiet", "--json").tables["vision expert"]
    assert [row[1] for row in alone["rows"]] == ["described", "none"] * 2, "beside the judge that sees"
    described = read_jsonl(folder / "expert-described.jsonl")
    assert all(row["captions"][0].startswith("It is ") for row in described)
    table = told.tables["vision expert"]
    verdicts = [verdict for verdict in heard(folder / "expert.ledger") if verdict.judge != "human"]
    by_judge = {name: [v for v in verdicts if v.judge == name] for name in {v.judge for v in verdicts}}
    assert len(by_judge) == len(table["rows"]) == 6
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert [row["sight"] for row in rows] == ["image", "described", "none"] * 2
    found = [[round(row[name]["value"], 9) for name in PRINTED] for row in rows]
    assert sorted(found) == sorted(agreed(each, votes) for each in by_judge.values())
    assert [found[0], found[3]] == [agreed(by_judge[rows[place]["judge"]], votes) for place in (0, 3)], "who sees"
    assert {row["verdicts"] for row in rows} == {14}


PRINTED = ("Pearson", "accuracy, ties a class", "accuracy, ties left out", "edit distance")


def agreed(verdicts, votes) -> list[float]:
    """Pearson, accuracy with and without ties, and the normalised edit distance of orders, by other libraries."""
    pairs = [(v.marks, votes[(v.item, *v.contestants)]) for v in verdicts]
    scores = [(ours[0], theirs[0]) for ours, theirs in pairs if len(ours) == 1]
    signs = [(np.sign(ours[0] - ours[1]), np.sign(theirs[0] - theirs[1])) for ours, theirs in pairs if len(ours) == 2]
    orders = [["".join("ABC"[p] for p in np.argsort(-np.array(marks))) for marks in pair]
              for pair in pairs if len(pair[0]) == 3]  # fmt: skip
    decided = [one == two for one, two in signs if one and two]
    figures = [
        stats.pearsonr(*zip(*scores, strict=True)).statistic, np.mean([one == two for one, two in signs]),
        np.mean(decided), np.mean([Levenshtein.distance(one, two) / 3 for one, two in orders]),
    ]  # fmt: skip
    return [round(float(figure), 9) for figure in figures]


def ruled(ledger) -> set[tuple[str, str]]:
    """What judges have ruled on so far, each once."""
    verdicts = [(verdict.judge, verdict.case) for verdict in heard(ledger) if verdict.judge != "human"]
    assert len(set(verdicts)) == len(verdicts)
    return set(verdicts)


@pytest.mark.slow
def test_a_vision_expert_study_that_is_killed_while_writing_and_while_judging_goes_on(folder):
    """kill -9 twice: nothing that was paid for is asked again, and the tables are those of a run that nobody killed."""
    people(folder)
    slow = {name: (lambda asked, rule=rule: (time.sleep(0.05), rule(asked))[1])
            for name, rule in {"w": writer, "j": sighted, "k": sighted}.items()}  # fmt: skip
    with ScriptedServer(slow) as server:
        path = expert(folder, "killed", server, labels="labels.jsonl")
        # One picture at a time is described, so that the first kill comes between two of them.
        path.write_text(
            path.read_text(encoding="utf-8").replace(f"vllm:w@{server.url}", f"vllm:w@{server.url}?concurrency=1")
        )
        for enough in (lambda: len(server.of("w")) >= 3, lambda: len(ruled(folder / "killed.ledger")) >= 9):
            command = [sys.executable, "-c", "from fullbench.cli import main; main()", "run", str(path), "--quiet"]
            running = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until(enough)
            assert running.poll() is None, "it was at work"
            os.kill(running.pid, signal.SIGKILL)
            running.wait(LONG)
        paid, before = ruled(folder / "killed.ledger"), len(server.asked)
        assert 9 <= len(paid) < 14 * 6
        # Of the describing, the one that was under way when it was killed is asked again.
        assert ITEMS <= len(server.of("w")) <= ITEMS + 1
        killed = cli("run", path, "--quiet", "--json")
        assert len(ruled(folder / "killed.ledger")) == 14 * 6
        assert len(server.asked) - before == 14 * 6 - len(paid), "only what was missing"
        whole = cli("run", expert(folder, "whole", server, labels="labels.jsonl"), "--quiet", "--json")
        assert "byte for byte" in cli("replay", path, "--check").output
    for name in ("vision expert", "scores by dataset", "pairs by dataset", "rankings by dataset"):
        assert killed.tables[name]["rows"] == whole.tables[name]["rows"]


def test_references_are_written_from_captions_and_captions_are_compared(folder):
    rows = read_jsonl(folder / "items.jsonl")
    write_rows(folder / "rich.jsonl", [{**row, "captions": [f"conditioned {row['id']}"]} for row in rows])
    write_rows(folder / "plain.jsonl", [{**row, "captions": ["a picture"]} for row in rows[:-1]])
    models = {"w": writer, "v": lambda asked: "[[right]]" if "right reference" in asked.last else "[[wrong]]"}
    with ScriptedServer(models) as server:
        path = study(
            folder, "refs", kind="experiment", benchmark="visitbench", data="rich.jsonl", judges=[],
            options={"what": "references", "model": f"vllm:w@{server.url}", "out": "written.jsonl"},
        )  # fmt: skip
        path.write_text(path.read_text(encoding="utf-8").replace('responses = "answers.jsonl"\n', ""))
        cli("run", path, "--quiet")
        written = read_jsonl(folder / "written.jsonl")
        assert {row["reference"] for row in written} == {"right reference"}
        assert all(row["tags"]["verified"] == "no" and "label" not in row["tags"] for row in written)
        keys = {"kind": "experiment", "items": "rich.jsonl", "judges": [f"vllm:v@{server.url}?mode=direct"],
                "ballots": ["likert:wrong|right"],
                "options": {"what": "captions", "model": f"vllm:w@{server.url}", "plain": "plain.jsonl"}}  # fmt: skip
        path = study(folder, "caps", **keys)
        text = path.read_text(encoding="utf-8")
        for line in ('benchmark = "mllm-as-a-judge"\n', 'data = "items.jsonl"\n', 'responses = "answers.jsonl"\n'):
            text = text.replace(line, "")
        path.write_text(text, encoding="utf-8")
        asked = len(server.of("w"))
        table = cli("run", path, "--quiet", "--json").tables["captions"]
        # The rich ones were written before, in another study of another ledger; the plain ones are new.
        assert len(server.of("w")) - asked <= 2 * ITEMS
    assert list(cells(table, "references that are right", "captions").items()) == [
        ("conditioned captions", 1.0), ("plain captions", 0.0)
    ]  # fmt: skip
    shares = {row[1]: row[2]["n"] for row in table["rows"]}
    assert shares == {"conditioned captions": ITEMS, "plain captions": ITEMS - 1}
