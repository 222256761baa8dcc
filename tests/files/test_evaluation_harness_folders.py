"""Folders of evaluation harnesses with several models, benchmarks, judges and filters.

The shapes are those that lm-eval 0.4.13, lmms-eval 0.7.3 and VLMEvalKit (August 2026) write.
"""

from __future__ import annotations

import base64
import csv
from collections import Counter
from pathlib import Path

import pytest

from fullbench.core.item import WITHOUT_PICTURES
from tests.files.several import left_out
from tests.files.test_exchange import put, sheet, taken
from tests.support.data_builders import png

STAMP = "2026-11-17T02-33-44.719843"


def generated(number: int, how: str, left: str, mark: float, tries: tuple[str, ...]) -> dict:
    return {"doc_id": number, "doc": {"question": f"第{number}题?"}, "target": "4", "filter": how,
            "arguments": {"gen_args_0": {"arg_0": f"Q: 第{number}题?\nA:", "arg_1": {"until": ["\n"]}}},
            "resps": [list(tries)], "filtered_resps": [left], "metrics": ["exact_match", "perplexity"],
            "doc_hash": "a", "prompt_hash": "b", "target_hash": "c", "exact_match": mark,
            "perplexity": [-12.5, 3]}  # fmt: skip


def test_two_filters_of_lm_eval_are_two_judges_of_one_answer(cli, tmp_path):
    said = "So 2 and 2 is\n#### 4"
    rows = [
        generated(number, how, left, mark, (said, said))
        for how, left, mark in (("strict-match", "4", 1.0), ("flexible-extract", "So", 0.0)) for number in (0, 1)
    ]  # fmt: skip
    rows.append(generated(2, "strict-match", "4", 1.0, ("#### 4", "#### 5")))
    for model in ("one", "two"):
        put(tmp_path / "out" / model / f"samples_my_gen_{STAMP}.jsonl", rows)
    code, out, err = cli("import", "lm-eval", "out", "--out", "o")
    assert code == 0, err
    assert left_out(out) == {
        "answers that a filter made of several tries: taken as it left them": 2,
        "values of perplexity,strict-match that are no number": 6,
        "values of perplexity,flexible-extract that are no number": 4,
    }
    items, answers, ruled = taken(cli, "lm_eval", tmp_path / "out")
    assert items["my_gen/1"].question == "Q: 第1题?\nA:"
    assert {key: one.text for key, one in answers.items()} == {
        (f"my_gen/{n}", model, 0): "4" if n == 2 else said for n in (0, 1, 2) for model in ("one", "two")
    }
    assert Counter((v.judge, v.marks[0], v.trial) for v in ruled) == {
        ("exact_match,strict-match", 1, 0): 6, ("exact_match,flexible-extract", 0, 0): 4,
    }  # fmt: skip


def test_of_weighed_options_the_likeliest_is_the_answer(cli, tmp_path):
    def row(number: int, likelihoods: tuple[float, ...], gold: int, contexts: tuple[str, ...] = ("Q?",) * 3) -> dict:
        right = float(likelihoods.index(max(likelihoods)) == gold)
        weighed = [[str(one), "False"] for one in likelihoods]
        pairs = zip(contexts, (" 三", " 四", " 五"), strict=True)
        arguments = {
            f"gen_args_{at}": dict(zip(("arg_0", "arg_1"), pair, strict=True)) for at, pair in enumerate(pairs)
        }
        return {"doc_id": number, "doc": {"question": "Which?"}, "target": str(gold), "arguments": arguments,
                "resps": [[one] for one in weighed], "filtered_resps": weighed, "filter": "none", "metrics": ["acc"],
                "acc": right}  # fmt: skip

    rows = [
        row(0, (-3.0, -0.5, -2.0), 1),
        row(1, (-0.1, -0.5, -2.0), 2),
        row(2, (-9, -8, -7), 2, ("I ", "You ", "We ")),
    ]
    put(tmp_path / "m" / f"samples_mc_{STAMP}.jsonl", rows)
    items, answers, ruled = taken(cli, "lm_eval", tmp_path / "m")
    assert [answers[f"mc/{n}", "m", 0].text for n in range(3)] == ["四", "三", "We  五"]
    assert [items[f"mc/{n}"].reference for n in range(3)] == ["四", "五", "We  五"]
    assert [items[f"mc/{n}"].question for n in range(3)] == ["Q?", "Q?", "Which?"]
    assert [v.marks[0] for v in ruled] == [1, 0, 1]


def test_lmms_eval_has_scores_in_mappings_and_names_of_pictures(cli, tmp_path):
    uri = f"data:image/png;base64,{base64.b64encode(png()).decode()}"
    media = (["coco/1.jpg", "coco/2.jpg"], [uri], None)
    rows = [
        {"doc_id": n, "target": "Yes", "filtered_resps": ["Yes", "No"][n % 2], "token_counts": [None], "doc_hash": "h",
         "mme_score": {"question_id": n, "category": "count", "score": float(n % 2 == 0)}, "submission": {"id": n},
         "input": f"看图 {n}", **({"input_media": media[n]} if media[n] else {})}
        for n in range(3)
    ]  # fmt: skip
    folder = tmp_path / "llava__v1.5"
    put(folder / "20261117_023344_samples_mme.jsonl", rows)
    items, answers, ruled = taken(cli, "lmms_eval", folder)
    assert {key: one.text for key, one in answers.items()} == {
        ("mme/0", "llava__v1.5", 0): "Yes", ("mme/1", "llava__v1.5", 0): "No", ("mme/2", "llava__v1.5", 0): "Yes",
    }  # fmt: skip
    assert [(v.judge, v.marks[0]) for v in ruled] == [("mme_score", 1), ("mme_score", 0), ("mme_score", 1)]
    assert items["mme/0"].tags[WITHOUT_PICTURES] == "coco/1.jpg\ncoco/2.jpg"
    assert items["mme/1"].pictures[0].data() == png()
    assert items["mme/2"].question == "看图 2"
    code, out, _ = cli("import", "lmms-eval", folder, "--out", "o")
    assert (code, left_out(out)) == (
        0,
        {
            "pictures that the samples do not hold": 1,
            "values of submission that are no number": 3,
            "questions of lmms-eval of which nothing here says whether pictures were shown with them": 1,
        },
    )


def tsv(path: Path, rows: list[dict]) -> None:
    """As VLMEvalKit writes one: every cell in quotes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def kit(tmp_path):
    """Two benchmarks with the same numbers, two models whose names begin alike, two judges of one benchmark."""
    code = [base64.b64encode(png(colour)).decode() for colour in ((9, 0, 0), (0, 9, 0), (0, 0, 9))]
    choices = [{"index": n, "image": (code[0], "0", f"['{code[1]}', '{code[2]}']")[n], "question": f"哪个? {n}",
                "A": "red", "B": "blue", "answer": "AB"[n % 2]} for n in range(3)]  # fmt: skip
    tsv(tmp_path / "kit" / "MMBench_DEV_CN.tsv", choices)
    tsv(tmp_path / "kit" / "MME.tsv", [{"index": n, "image": code[n], "question": f"Is it {n}?", "answer": "Yes"}
                                       for n in range(3)])  # fmt: skip
    lost = "Failed to obtain answer via API."
    for model in ("llava_v1.5_7b", "llava_next_7b"):
        folder = tmp_path / "kit" / "outputs" / model / "T20261117_G0123"
        folder.mkdir(parents=True)
        said = [["0", "哪个? 0", "A"], ["1", "哪个? 1", f"B_x000D_\n{model}"], ["2", "哪个? 2", lost]]
        head = ["index", "question", "prediction"]
        sheet(folder / f"{model}_MMBench_DEV_CN.xlsx", [head, *said])
        for judge, hits in (("exact_matching", (1, 0, 0)), ("gpt-4o-mini", (1, 1, 0))):
            rows = [[*head, "hit"], *([*row, hit] for row, hit in zip(said, hits, strict=True))]
            sheet(folder / f"{model}_MMBench_DEV_CN_{judge}_result.xlsx", rows)
        yes = [["0", "Is it 0?", "Yes", True], ["1", "Is it 1?", "No", False], ["2", "Is it 2?", None, False]]
        if model == "llava_next_7b":
            columns = [*head, "score"]
            tsv(folder / f"{model}_MME_auxmatch.tsv", [dict(zip(columns, row, strict=True)) for row in yes])
        else:
            sheet(folder / f"{model}_MME_auxmatch.xlsx", [[*head, "score"], *yes])
        for file in list(folder.iterdir()):
            (folder.parent / file.name).symlink_to(file)
    return tmp_path / "kit"


def test_a_folder_of_vlmevalkit_keeps_benchmarks_models_and_judges_apart(cli, kit):
    items, answers, ruled = taken(cli, "vlmevalkit", kit)
    assert {name: (item.question.splitlines()[0], len(item.pictures)) for name, item in items.items()} == {
        "MMBench_DEV_CN/0": ("哪个? 0", 1), "MMBench_DEV_CN/1": ("哪个? 1", 1), "MMBench_DEV_CN/2": ("哪个? 2", 2),
        "MME/0": ("Is it 0?", 1), "MME/1": ("Is it 1?", 1), "MME/2": ("Is it 2?", 1),
    }  # fmt: skip
    models = ("llava_v1.5_7b", "llava_next_7b")
    assert {key: one.text for key, one in answers.items()} == {
        (name, model, 0): text
        for model in models
        for name, text in (("MMBench_DEV_CN/0", "A"), ("MMBench_DEV_CN/1", f"B\r\n{model}"), ("MME/0", "Yes"),
                           ("MME/1", "No"), ("MME/2", ""))
    }  # fmt: skip
    wanted = Counter()
    hits = {("exact_matching", "MMBench_DEV_CN"): (1, 0), ("gpt-4o-mini", "MMBench_DEV_CN"): (1, 1)}
    for (judge, benchmark), marks in {**hits, ("auxmatch", "MME"): (1, 0, 0)}.items():
        wanted.update((judge, f"{benchmark}/{n}", model, mark) for n, mark in enumerate(marks) for model in models)
    assert Counter((v.judge, v.item, v.contestants[0], v.marks[0]) for v in ruled) == wanted
    code, out, _ = cli("import", "vlmevalkit", kit, "--out", "o")
    assert (code, left_out(out)) == (
        0,
        {
            "answers that VLMEvalKit could not obtain": 2,
            "texts of answers, null, NaN or empty: taken as empty answers": 2,
        },
    )


def test_sheets_without_their_benchmark_say_that_pictures_are_missing(cli, kit):
    sheets = kit / "outputs" / "llava_v1.5_7b"
    items, _, _ = taken(cli, "vlmevalkit", sheets)
    assert {item.tags[WITHOUT_PICTURES] for item in items.values() if "哪个" in item.question} == {
        f"MMBench_DEV_CN.tsv, index {n}" for n in range(3)
    }
    code, out, _ = cli("import", "vlmevalkit", sheets, "--out", "o")
    assert (code, "put the benchmark's .tsv next to them" in out) == (0, True)
    alone = kit.parent / "llava_v1.5_7b_MMBench_DEV_CN.xlsx"
    alone.write_bytes((sheets / alone.name).read_bytes())
    code, _, err = cli("import", "vlmevalkit", alone, "--out", "p")
    assert (code, "which part of 'llava_v1.5_7b_MMBench_DEV_CN' is the model's name?" in err) == (2, True), err
    _, answers, _ = taken(cli, "vlmevalkit", alone, "--option", "model=llava_v1.5_7b")
    assert {model for _, model, _ in answers} == {"llava_v1.5_7b"}
