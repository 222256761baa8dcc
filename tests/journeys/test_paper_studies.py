"""Studies of a benchmark as their papers ran them: orders, criteria, examples, steps, cleaning, and experiments."""

from __future__ import annotations

import json
import re
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from tests.journeys.studying import ITEMS, heard, lay_out, people, sighted, study, writer
from tests.support.commands import cells, cli, read_jsonl, write_rows
from tests.support.scripted_server import Asked, ScriptedServer


@pytest.fixture
def folder(tmp_path):
    return lay_out(tmp_path)


def stepping(asked: Asked) -> str:
    """Says something in every step, and rules in the last one: c is best, then b, then a."""
    if sum(role == "assistant" for role, _ in asked.turns) < 2:
        return "我会这样回答 [[1]] [[A]]"
    names = list(dict.fromkeys(re.findall(r"\b([abc]) says that \d", asked.words)))
    if len(names) == 1:
        return f"[[{1 + 'abc'.index(names[0])}]]"
    best = sorted(range(len(names)), key=lambda place: names[place], reverse=True)
    return ", ".join(f"[[{'ABC'[place]}]]" for place in best[: 1 if len(names) == 2 else 3])


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
    assert plan["rows"][0][plan["columns"].index("due")] == 14


def test_examples_steps_and_forms_reach_the_judge_in_the_right_form(folder):
    write_rows(folder / "shots.jsonl", [
        {"text": "An answer that is nearly right.", "marks": 4, "ballot": "score:1-5"},
        {"text": "The second answer sees more.", "marks": [0, 1], "ballot": "choice+tie"},
        {"text": "Three answers, the last one best.", "marks": [2, 1, 3], "ballot": "ranking"},
    ])  # fmt: skip
    with ScriptedServer({"j": stepping}) as server:
        spec = f"vllm:j@{server.url}?mode=steps&steps=answer,picture&examples={folder / 'shots.jsonl'}"
        cli("run", study(folder, "steps", judges=[spec], orders="sorted"), "--quiet", "--json")
        finals = [asked for asked in server.asked if sum(role == "assistant" for role, _ in asked.turns) == 2]
        assert len(finals) == len({asked.words for asked in finals}) == 14
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
    verdicts = heard(folder / "steps.ledger")
    assert len(verdicts) == 14
    for verdict in verdicts:
        worth = [1.0 + "abc".index(name) for name in verdict.contestants]
        if len(worth) == 2:
            worth = [float(worth[0] > worth[1]), float(worth[1] > worth[0])]
        assert verdict.marks == tuple(worth), "what the last turn ruled, and nothing of the steps"


def in_its_form(asked: Asked) -> str:
    """The same ruling in brackets or, where JSON is asked for, as an object whose reasons quote brackets."""
    reply = sighted(asked)
    if "JSON" not in asked.words:
        return reply
    ruling = re.findall(r"\[\[(\w)\]\]", reply)
    return json.dumps({"analysis": "看过了 [[B]] [[1]]", "judgement": ruling if len(ruling) > 1 else ruling[0]})


def test_a_ruling_in_json_is_the_ruling_in_brackets_with_json_mode_and_without(folder):
    marks = {}
    modes = {"marker": None, "json": {"type": "json_object"}, "json-prompt": None}
    with ScriptedServer({"j": in_its_form}) as server:
        for form, mode in modes.items():
            before = len(server.asked)
            spec = f"vllm:j@{server.url}?form={form}"
            cli("run", study(folder, form, judges=[spec], orders="sorted"), "--quiet", "--json")
            arrived = server.asked[before:]
            assert len(arrived) == len({asked.words for asked in arrived}) == 14
            assert all(asked.body.get("response_format") == mode for asked in arrived), form
            assert all(("JSON" in asked.words) == (form != "marker") for asked in arrived)
            verdicts = heard(folder / f"{form}.ledger")
            marks[form] = {(verdict.item, verdict.contestants): verdict.marks for verdict in verdicts}
    assert len(marks["marker"]) == 14
    assert None not in marks["marker"].values()
    assert marks["json"] == marks["json-prompt"] == marks["marker"]


def test_items_whose_pictures_are_away_are_judged_without_only_on_demand_and_counted_in_every_table(folder):
    people(folder)
    (folder / "p" / "0.png").unlink()
    with ScriptedServer({"j": sighted}) as server:
        path = study(folder, "away", judges=[f"vllm:j@{server.url}"], orders="sorted", labels="labels.jsonl")
        assert "p/0.png" in cli("run", path, "--quiet", code=2).output
        assert server.asked == []
        tables = cli("run", path, "--without-pictures", "--quiet", "--json").tables
        assert Counter(len(asked.pictures) for asked in server.asked) == {0: 3, 1: 11}, (
            "three answers were scored blind"
        )
    told = "1 of 6 items was judged without the pictures that they name"
    report = ("report", "--ledger", folder / "away.ledger", "--benchmark", "mllm-as-a-judge", "--json")
    for shown in (tables, cli(*report).tables):
        assert {"scores by dataset", "biases", "score density"} <= set(shown)
        assert all(any(told in note for note in table["notes"]) for table in shown.values())


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
        place = plan["columns"].index("due")
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
        spec = f"vllm:j@{server.url}?resample=0&reader=vllm:r@{server.url}&reader_template=examples"
        cli("run", study(folder, "r", benchmark="visitbench", judges=[spec]), "--quiet", "--json")
        asked = server.of("r")
        assert asked
        assert all(one.words.count("Final Answer: ") >= 2 and "Example 2" in one.words for one in asked)
    verdicts = heard(folder / "r.ledger")
    assert verdicts
    assert all(verdict.marks == (0.0, 1.0) for verdict in verdicts)


def test_visit_bench_is_judged_by_pictures_or_as_in_the_paper_as_its_spec_says(folder):
    """The paper's judge reads captions in place of pictures and no reference; both orders are asked in any case."""
    expected = {"": (1, False, False), "?prompt_style=ref-free": (0, True, False), "?prompt_style=ref-backed": (0,
    True, True),
                "?prompt_style=with-picture": (1, False, False), "?prompt_style=ref-free&reference=yes": (0, True,
                True)}  # fmt: skip
    for number, (option, shown) in enumerate(expected.items()):
        with ScriptedServer({"j": lambda asked: "Overall, Response A is better."}) as server:
            spec = f"vllm:j@{server.url}{option}"
            path = study(folder, f"v{number}", benchmark="visitbench", judges=[spec])
            done = cli("run", path, "--quiet", "--json")
            # Who names no manner is told that the paper's judge was asked otherwise.
            said = "Asked in the prompt style 'with-picture', the usual one of visitbench here: j."
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
        spec = f"vllm:j@{server.url}?prompt_style=ref-free"
        refused = cli("run", study(folder, "bare", benchmark="visitbench", judges=[spec]), "--quiet", code=2)
        assert "none of the 6 items with pictures has a caption for each" in refused.output
        assert "prompt_style=with-picture" in refused.output
        assert not server.of("j")


SCORED = 4
"""Items whose answers are scored alone; the other two are judged in pairs and rankings."""


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
        # Pairs and rankings stay in the data: the table needs none of them, so none is lengthened or judged.
        tasks = ["score"] * SCORED + ["pair", "batch"]
        rows = [{**row, "tags": {**row["tags"], "task": task}} for row, task in zip(rows, tasks, strict=True)]
        write_rows(folder / "items.jsonl", rows)
        (plan,) = json.loads(cli("run", path, "--dry-run", "--json").stdout)
        place = plan["columns"].index("due")
        asks = {row[0]: row[place] for row in plan["rows"]}
        assert (asks["writing"], asks["verdicts"]) == (3 * SCORED, 6 * SCORED)
        told = cli("run", path, "--quiet", "--json")
        table = told.tables["lengthening"]
        assert Counter(asked.model for asked in server.asked) == {"w": 3 * SCORED, "j": 6 * SCORED}
        assert "6 of 18 responses are not scored alone in this study, so they are not lengthened" in told.output
        again = cli("run", path, "--quiet", "--json")
        assert "Called 0" in again.output
        assert len(server.asked) == 9 * SCORED
        assert "identical to what the ledger" in cli("replay", path, "--check").output
    verdicts = heard(folder / "long.ledger")
    marks = {(verdict.item, verdict.contestants[0]): verdict.marks[0] for verdict in verdicts}
    gaps = {}
    for (item, name), mark in marks.items():
        if name.endswith("+longer"):
            gaps.setdefault(item, []).append(mark - marks[item, name.removesuffix("+longer")])
    assert len(gaps) == SCORED
    means = [float(np.mean(each)) for each in gaps.values()]
    row = next(row for row in table["rows"] if row[1] == "(all)")
    gain = row[table["columns"].index("gain")]
    assert gain["value"] == pytest.approx(np.mean(means))
    low, high = stats.t.interval(0.95, SCORED - 1, np.mean(means), stats.sem(means))
    assert (gain["low"], gain["high"]) == (pytest.approx(low, rel=0.02), pytest.approx(high, rel=0.02))
    assert row[table["columns"].index("p")] < 0.05


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


def test_captions_are_compared_without_a_file_of_plain_ones(folder):
    """A captioner that sees the picture alone writes the plain captions, once; in the paper's benchmark, too."""
    rows = read_jsonl(folder / "items.jsonl")
    write_rows(folder / "rich.jsonl", [{**row, "captions": [f"conditioned {row['id']}"]} for row in rows])
    models = {"w": writer, "c": writer, "v": lambda asked: "[[right]]" if "right ref" in asked.last else "[[wrong]]"}
    with ScriptedServer(models) as server:
        options = {"what": "captions", "model": f"vllm:w@{server.url}", "captioner": f"vllm:c@{server.url}"}
        path = study(
            folder, "caps", kind="experiment", benchmark="visitbench", data="rich.jsonl", tables="caps.json",
            judges=[f"vllm:v@{server.url}"], options=options,
        )  # fmt: skip
        path.write_text(path.read_text(encoding="utf-8").replace('responses = "answers.jsonl"\n', ""))
        (plan,) = json.loads(cli("run", path, "--dry-run", "--json").stdout)
        due = Counter()
        for row in plan["rows"]:
            due[row[0]] += row[plan["columns"].index("due")]
        assert (due["writing"], due["verdicts"]) == (ITEMS + 2 * ITEMS, 2 * ITEMS)
        told = cli("run", path, "--quiet", "--json")
        assert Counter(asked.model for asked in server.asked) == {"c": ITEMS, "w": 2 * ITEMS, "v": 2 * ITEMS}
        assert all(asked.pictures and "What of" not in asked.words for asked in server.of("c")), "the picture alone"
        assert sum("It is " in asked.words for asked in server.of("w")) == ITEMS
        # The benchmark's own prompt asks which of two responses is better: nobody could mark one reference by it.
        assert all("(wrong, right)" in asked.last for asked in server.of("v"))
        assert not any("Response X is better" in asked.words for asked in server.of("v"))
        assert "Called 0" in cli("run", path, "--quiet", "--json").output
        assert "identical to what the ledger" in cli("replay", path, "--check").output
    assert list(cells(told.tables["captions"], "references that are right", "captions").values()) == [1.0, 0.0]
    (folder / "no.toml").write_text(path.read_text(encoding="utf-8") + 'plain = "x.jsonl"\n', encoding="utf-8")
    assert "exclude each other" in cli("run", folder / "no.toml", code=2).output
