"""Clones of the authors' repositories are read in their own layout by `--data` alone."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import zipfile
from collections import Counter

import numpy as np
import pytest
from scipy.stats import pearsonr

from fullbench import Ledger
from tests.files.test_picture_download import Site
from tests.support.commands import cells, cli, read_jsonl, write_rows
from tests.support.data_builders import png
from tests.support.scripted_server import ScriptedServer

MODELS = ("llava", "cogvlm", "gpt4", "gemini")
SETS = ("coco", "WIT", "mm-vet")


def common(number: int, dataset: str) -> dict[str, object]:
    folder = "" if dataset == "mm-vet" else "image/"
    question = f"Please analyse this figure: 问题 {number}?"
    return {"id": number, "image_path": f"{folder}{number}.jpg", "original_dataset": dataset, "instruction": question}


@pytest.fixture
def mllm_clone(tmp_path):
    """`Dataset/Benchmark`, `Dataset/raw_data/step3`, `Dataset/Hard & HQ` and `Dataset/image`, as in the repository."""
    root = tmp_path / "MLLM-Judge"
    lot = np.random.default_rng(3)
    score, scored, pair, paired, batch, batched = [], [], [], [], [], []
    for place, number in enumerate(range(40)):
        dataset = SETS[place % 3]
        for at, name in enumerate(MODELS):
            text = f"{name} says " + "word " * int(lot.integers(1, 20))
            row = {**common(number, dataset), "score_id": 4 * number + at, "name": name, "answer": text}
            human = int(lot.integers(1, 6))
            score.append({**row, "human": str(human) if at else human})
            given = int(np.clip(human + lot.integers(-1, 2), 1, 5))
            judge = {"name": "gemini", "judge": str(given), "analysis": f"Analysis: fine. Judgement: {given}"}
            scored.append({**row, "result": judge})
    for number in range(100, 130):
        dataset = SETS[number % 3]
        answers = [{"name": name, "answer": f"{name} on {number}"} for name in MODELS[:2]]
        row = {**common(number, dataset), "pair_id": number, "answer1": answers[0], "answer2": answers[1]}
        pair.append({**row, "human": "ABC"[int(lot.integers(3))]})
        # The pair files of GPT-4V name no judge.
        paired.append({**row, "result": {"judge": "ABC"[int(lot.integers(3))], "analysis": "x"}})
    for number in range(200, 215):
        answers = [{"name": name, "answer": f"{name} ranks {number}"} for name in MODELS]
        row = {**common(number, "coco"), "answers": answers}
        batch.append({**row, "human": "".join(lot.permutation(list("ABCD")))})
        given = "".join(lot.permutation(list("ABCD")))
        batched.append({**row, "result": {"name": "llava", "judge": given, "analysis": f"[[{given}]]"}})
    review = {"judge_human": 1, "analysis": 5, "hallucination": 0}
    good = [
        {**{key: value for key, value in row.items() if key != "human"}, "human_answer": row["human"],
         "result": {"name": "gpt4", "judge": row["human"], "analysis": "y"}, "evaluator": review}
        for row in pair[:5]
    ]  # fmt: skip
    hard = [
        {**{key: value for key, value in row.items() if key != "human"},
         "result1": {"name": "gemini", "judge": "A", "analysis": "z"},
         "result2": {"name": "gpt4", "judge": "B", "analysis": "z"}}
        for row in pair[5:15]
    ]  # fmt: skip
    files = {
        "Benchmark/score": score, "Benchmark/pair": pair, "Benchmark/batch": batch,
        "raw_data/step3/Score/Gemini": scored, "raw_data/step3/Pair/new GPT-4V(ision)": paired,
        "raw_data/step3/Batch/LLaVA": batched, "Hard & HQ/HQ/Pair": good, "Hard & HQ/Hard/Pair": hard,
    }  # fmt: skip
    for name, rows in files.items():
        path = root / "Dataset" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_rows(path, rows)
    (root / "Dataset" / "image").mkdir()
    for number in (*range(40), *range(100, 130), *range(200, 215)):
        (root / "Dataset" / "image" / f"{number}.jpg").write_bytes(png((number, 40, 90)))
    return root, files


@pytest.mark.parametrize("inner", ["", "Dataset"])
def test_the_judges_of_a_clone_are_compared_with_its_labels(mllm_clone, tmp_path, inner):
    root, files = mllm_clone
    out = tmp_path / "cells.json"
    told = cli("reproduce", "mllm-as-a-judge", "--data", root / inner, "--out", out)
    assert "the file is missing" in told.output
    made = {cell["id"]: cell for cell in json.loads(out.read_text(encoding="utf-8"))["cells"]}
    scores = files["Benchmark/score"]
    given = {row["score_id"]: int(row["result"]["judge"]) for row in files["raw_data/step3/Score/Gemini"]}
    for dataset in SETS:
        both = [(given[row["score_id"]], int(row["human"])) for row in scores if row["original_dataset"] == dataset]
        expected = pearsonr(*zip(*both, strict=True))
        value = made[f"Gemini/score/{dataset}"]["value"]
        assert value["pearson"] == pytest.approx(expected.statistic, abs=1e-6)
        assert value["p_value"] == pytest.approx(expected.pvalue, rel=1e-3)
        assert "from" not in made[f"Gemini/score/{dataset}"], "it is computed from data"
    labels = {row["pair_id"]: row["human"] for row in files["Benchmark/pair"]}
    rulings = {row["pair_id"]: row["result"]["judge"] for row in files["raw_data/step3/Pair/new GPT-4V(ision)"]}
    for dataset in SETS:
        hits = [
            rulings[row["pair_id"]] == labels[row["pair_id"]]
            for row in files["Benchmark/pair"] if row["original_dataset"] == dataset
        ]  # fmt: skip
        value = made[f"GPT-4V/pair/{dataset}"]["value"]
        assert value["accuracy_with_tie"] == pytest.approx(sum(hits) / len(hits), abs=1e-6)
    hard = [(labels[row["pair_id"]] == "A", {labels[row["pair_id"]], "A", "B"}) for row in files["Hard & HQ/Hard/Pair"]]
    decided = [hit for hit, said in hard if "C" not in said]
    value = made["Gemini/pair/Hard"]["value"]
    assert value["n_no_tie_in_human_or_any_judge"] == len(decided)
    assert value["accuracy_no_tie_in_human_or_any_judge"] == pytest.approx(sum(decided) / len(decided), abs=1e-6)
    assert "LLaVA-1.5-13b/batch/coco" in made
    # What the paper prints is restated, and said to be so.
    printed = [cell for cell in made.values() if cell.get("from") == "printed"]
    assert len(printed) == 43
    assert "43 numbers are computed from other printed numbers, not from data" in told.output
    assert "43 of 43" not in told.output


def test_a_new_judge_rules_on_the_clone_and_sees_its_pictures(mllm_clone, tmp_path):
    root, _ = mllm_clone
    with ScriptedServer({"j": lambda asked: "[[A]]" if "Answer B" in asked.words else "[[3]]"}) as server:
        study = tmp_path / "study.toml"
        study.write_text(
            f'name = "s"\nbenchmark = "mllm-as-a-judge"\ndata = "{root}"\nledger = "l.ledger"\n'
            f'judges = ["vllm:j@{server.url}?mode=direct"]\n'
        )
        (plan,) = json.loads(cli("run", study, "--dry-run", "--json").stdout)
        asked = plan["rows"][0][plan["columns"].index("due")]
        cli("run", study, "--quiet", "--json", code=0)
        # 40 items with four scores, 30 pairs in both orders, 15 rankings both ways; each prompt with its own picture.
        assert asked == 160 + 60 + 30
        firsts = [one for one in server.asked if len(one.pictures) == 1]
        assert len(firsts) == len(server.asked)
        assert len({one.pictures for one in server.asked}) == 85


COLUMNS = (
    "instruction_category", "image", "visual", "instruction", "gpt4_prediction", "image_dense_captions",
    "reference_output", "human_ratings_gpt4_correct", "human_ratings_problem_in_caption",
    "human_ratings_problem_in_gpt4", "public_images_metadata",
)  # fmt: skip
HOST = "https://visit.example.org/visit_images"


def write_csv(path, columns, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows(rows)
    path.write_text(out.getvalue(), encoding="utf-8")


@pytest.fixture
def sandbox(tmp_path):
    """The leaderboard's repository with two models' predictions, votes and the judge's battles put beside them."""
    root = tmp_path / "visit_bench_sandbox"
    rows = []
    for n in range(12):
        flags = (n != 3, n == 3, False)
        rows.append(
            [f"Family {n % 3}", f"{HOST}/{n}_x.png", "", f"Tell 我 about {n}", f"reference {n}", f"caption {n}", "",
             *map(str, flags), "{}"]
        )  # fmt: skip
    write_csv(root / "single_image_full_dataset.csv", COLUMNS, rows)
    for model, column in (("llava", "llava13b_output"), ("otter", "otter")):
        write_csv(
            root / "full_model_predictions" / f"{model}.csv", (*COLUMNS, column),
            [[*row, f"{model} answers {n} " + "word " * (n * len(model) % 7)] for n, row in enumerate(rows)],
        )  # fmt: skip
    lot = np.random.default_rng(9)
    text = {
        (name, n): f"{model} answers {n} " + "word " * (n * len(model) % 7)
        for name, model in (("llava13b_output", "llava"), ("otter", "otter")) for n in range(12)
    }  # fmt: skip
    text |= {("human_verified_reference", n): f"reference {n}" for n in range(12)}
    names = ("llava13b_output", "otter", "human_verified_reference")
    votes, battles = [], []
    for n in range(12):
        for one, two in ((0, 1), (0, 2), (1, 2)):
            a, b = names[one], names[two]
            shared = {"image_url": f"{HOST}/{n}_x.png", "instruction": f"Tell 我 about {n}",
                      "A": text[a, n], "B": text[b, n], "A_model": a, "B_model": b}  # fmt: skip
            for _ in range(5):
                chosen = bool(lot.random() < 0.3 + 0.2 * one)
                votes.append([*shared.values(), str(chosen), str(not chosen)])
            winners = [[a, b][int(lot.random() < 0.6)] for _ in range(2)]
            battles.append(
                {**shared, "instruction_category": f"Family {n % 3}", "engine": "gpt-4",
                 "evaluated_with_reference": False, "auto_evaluation_result": winners,
                 "auto_evaluation_cot": ["first", "second"]}
            )  # fmt: skip
    fields = ("image_url", "instruction", "A", "B", "A_model", "B_model", "model_selection.A", "model_selection.B")
    write_csv(root / "visit_bench_human_preferences.csv", fields, votes)
    with zipfile.ZipFile(root / "battle_info_for_leaderboard.json.zip", "w") as packed:
        packed.writestr("battle_info_for_leaderboard.json", json.dumps(battles))
    return root, votes, battles


def test_votes_and_battles_of_a_clone_become_the_papers_tables(sandbox, tmp_path):
    root, votes, battles = sandbox
    cli("export", "visitbench", "--data", root, "--out", tmp_path / "files")
    items = read_jsonl(tmp_path / "files" / "items.jsonl")
    assert len(items) == 11, "the one with a faulty caption is not judged"
    rows = read_jsonl(tmp_path / "files" / "labels.jsonl")
    assert len(rows) == 11 * 3 * 5
    assert Counter(row["rater"] for row in rows) == {f"voter {n}": 33 for n in range(1, 6)}
    ledger = tmp_path / "l.ledger"
    study = tmp_path / "study.toml"
    study.write_text(
        f'name = "s"\nbenchmark = "visitbench"\ndata = "{root}"\nledger = "{ledger}"\njudges = ["length", "chance"]\n'
    )
    tables = cli("run", study, "--quiet", "--json").tables
    # Accuracy of the length judge by how many of five agree, computed from the rows themselves.
    majority: dict[tuple[str, str, str], list[bool]] = {}
    for image, _, a, b, a_model, b_model, first, _ in votes:
        if image.endswith("/3_x.png"):
            continue
        majority.setdefault((image, a_model, b_model), []).append(first == "True")
        majority[image, a_model, b_model, "lengths"] = (len(a.split()), len(b.split()))
    levels: dict[str, list[float]] = {}
    for key, each in list(majority.items()):
        if len(key) == 4:
            continue
        most = max(sum(each), 5 - sum(each))
        long_first, long_second = majority[(*key, "lengths")]
        right = 0.5 if long_first == long_second else float((long_first > long_second) == (sum(each) > 2))
        levels.setdefault(f"{most}/5", []).append(right)
        levels.setdefault("all", []).append(right)
    shown = cells(tables["people"], "accuracy", "judge", "people who agree")
    for level, hits in levels.items():
        assert shown["length", level] == pytest.approx(sum(hits) / len(hits)), level
    # The judge's battles are verdicts in both orders, under its own name.
    card = json.loads(cli("card", "gpt-4", "--benchmark", "visitbench", "--data", root, "--json").stdout)
    assert card["judge"] == "gpt-4"
    from fullbench.benchmarks.visit_bench.benchmark_definition import visit_bench

    record = visit_bench.record(root)
    ours: Counter[str] = Counter()
    for verdict in record.where(judge="gpt-4"):
        ours[verdict.contestants[int(verdict.marks[1] > verdict.marks[0])]] += 1
    theirs = Counter(
        name for battle in battles if not battle["image_url"].endswith("/3_x.png")
        for name in battle["auto_evaluation_result"]
    )  # fmt: skip
    theirs["reference"] = theirs.pop("human_verified_reference")
    assert ours == theirs


def test_what_is_printed_of_all_instances_stands_not_beside_those_of_one_repository(sandbox, tmp_path):
    root, _, _ = sandbox
    told = cli("reproduce", "visitbench", "--data", root, "--out", tmp_path / "cells.json")
    assert "the file of instances with several images is not here" in told.output
    from fullbench.benchmarks.visit_bench.benchmark_definition import visit_bench

    assert visit_bench.reproduce is not None
    made = {cell.id: cell for cell in visit_bench.reproduce(root).cells}
    assert made["instances"].value == 12
    assert not {"instances/multi_image", "verified_multi", "families/multi_image"} & set(made)
    of_all = [
        cell for name, cell in made.items() if name.startswith(("instances", "families", "images", "table2/over"))
    ]
    assert [cell.paper for cell in of_all] == [None] * len(of_all)
    assert made["table2/single/human_ratings_gpt4_correct"].paper == 91.5

    # Printed tables beside them, with a share that no number of matches gives: restated, and agreeing with nothing.
    again = tmp_path / "with tables"
    shutil.copytree(root, again)
    rows = [("human_single", "a", 1010, 100, 55.55, 100), ("human_single", "reference", 990, 100, "", 0),
            ("gpt4_single", "a", 1020, 80, 40.0, 50), ("gpt4_single", "reference", 980, 80, "", 0)]  # fmt: skip
    head = "table,model,elo,matches,win_vs_reference_pct,win_n\n"
    text = head + "".join(",".join(map(str, row)) + "\n" for row in rows)
    (again / "published_elo.csv").write_text(text, encoding="utf-8")
    told = cli("reproduce", "visitbench", "--data", again, "--out", tmp_path / "more.json").output
    cells_of = visit_bench.reproduce(again).cells
    restated = [cell for cell in cells_of if cell.basis == "printed"]
    assert {"elo/human_single/sum", "elo/human_single/a/win_pct", "elo/gpt4_single/battles"} <= {
        cell.id for cell in restated
    }
    written = json.loads((tmp_path / "more.json").read_text(encoding="utf-8"))["cells"]
    assert {cell["id"] for cell in written if cell.get("from") == "printed"} == {cell.id for cell in restated}
    assert f"{len(restated)} numbers are computed from other printed numbers, not from data" in told
    compared = sum(int(of) for _, of in re.findall(r"(\d+) of (\d+) printed numbers agree", told))
    assert compared == sum(cell.paper is not None for cell in cells_of if cell.basis != "printed")


def test_votes_alone_are_read_without_the_instances(sandbox, tmp_path):
    """The votes were released in a repository without the single-image instances."""
    root, votes, _ = sandbox
    alone = tmp_path / "VisIT-Bench"
    alone.mkdir()
    (alone / "visit_bench_human_preferences.csv").write_bytes((root / "visit_bench_human_preferences.csv").read_bytes())
    told = cli("export", "visitbench", "--data", alone, "--out", tmp_path / "files")
    assert "12 of the 12 items name missing pictures" in told.output
    assert len(read_jsonl(tmp_path / "files" / "labels.jsonl")) == len(votes)


def test_pictures_come_from_addresses_zips_and_parquet_and_are_not_fetched_twice(sandbox, tmp_path, monkeypatch):
    import pyarrow as arrow
    from pyarrow import parquet

    root, _, _ = sandbox
    site = Site()
    monkeypatch.setenv("FULLBENCH_FETCH_PRIVATE", site.host)
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))
    path = root / "single_image_full_dataset.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(HOST, site.url).replace("_x.png", ".png"), "utf-8")
    for file in (root / "full_model_predictions").glob("*.csv"):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(HOST, site.url).replace("_x.png", ".png"), "utf-8")
    for gone in ("visit_bench_human_preferences.csv", "battle_info_for_leaderboard.json.zip"):
        (root / gone).unlink()
    with zipfile.ZipFile(root / "pictures.zip", "w") as packed:
        packed.writestr("visit_images/0.png", png((1, 2, 3)))
    cell = {"bytes": png((3, 2, 1)), "path": "1.png"}
    parquet.write_table(arrow.table({"image": [cell], "n": [1]}), root / "train-00000.parquet")
    fetch = ("fetch-pictures", root, "--benchmark", "visitbench", "--quiet", "--rate", 200)
    first = cli(*fetch, code=1)
    assert "1 from parquet, 1 from zip" in first.output
    assert "9 are still missing" in first.output
    assert not site.asked
    assert "3 from web" in cli(*fetch, "--web", "--limit", 3).output
    assert "6 from web" in cli(*fetch, "--web").output
    assert all(count == 1 for count in site.asked.values())
    assert "0 pictures were missing" in cli(*fetch, "--web").output
    listed = read_jsonl(root / "images" / "pictures.jsonl")
    assert len(listed) == 11
    from hashlib import sha256

    for row in listed:
        assert sha256((root / "images" / row["file"]).read_bytes()).hexdigest() == row["digest"]
    with ScriptedServer({"j": lambda _: "Overall, Response B is better."}) as server:
        study = tmp_path / "study.toml"
        study.write_text(
            f'name = "s"\nbenchmark = "visitbench"\ndata = "{root}"\nledger = "{tmp_path / "p.ledger"}"\n'
            f'judges = ["vllm:j@{server.url}"]\n'
        )
        cli("run", study, "--quiet", "--json")
        assert {len(one.pictures) for one in server.asked} == {1}
        assert {one.pictures for one in server.asked} == {(row["digest"],) for row in listed}
    with Ledger(tmp_path / "p.ledger", read_only=True) as ledger:
        assert not ledger.lacking_pictures()


def test_own_items_find_what_was_fetched(tmp_path, monkeypatch):
    site = Site()
    monkeypatch.setenv("FULLBENCH_FETCH_PRIVATE", site.host)
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))
    items = write_rows(
        tmp_path / "items.jsonl",
        [{"id": "a", "question": "什么?", "pictures": [f"{site.url}/1.png"]},
         {"id": "b", "question": "what?", "pictures": [f"{site.url}/2.png", "p/zipped.png"]}],
    )  # fmt: skip
    with zipfile.ZipFile(tmp_path / "more.zip", "w") as packed:
        packed.writestr("deep/zipped.png", png((9, 9, 9)))
    assert "2 from web, 1 from zip" in cli("fetch-pictures", items, "--web", "--rate", 100, "--quiet").output
    with ScriptedServer({"m": lambda asked: f"{len(asked.pictures)} seen"}) as server:
        cli("answer", "--items", items, "--contestant", f"vllm:m@{server.url}", "--out", tmp_path / "a.jsonl",
            "--ledger", tmp_path / "l.ledger", "--quiet")  # fmt: skip
    assert sorted(row["text"] for row in read_jsonl(tmp_path / "a.jsonl")) == ["1 seen", "2 seen"]
