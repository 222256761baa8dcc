"""Other people's files through the command line: in, judged, and out again, each compared with what was put in."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from fullbench import Ledger
from fullbench.files.item_response_verdict_files import read_items, read_responses, read_verdicts
from tests.support.data_builders import png


def put(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = content if isinstance(content, list) and path.suffix == ".jsonl" else None
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows) if rows else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def taken(cli, kind: str, path: Path, *words: str) -> tuple[dict, dict, list]:
    out = path.parent / f"out-{kind}-{path.stem}"
    code, _, err = cli("import", kind, path, "--out", out, *words)
    assert code == 0, err
    items = {item.id: item for item in read_items(out / "items.jsonl")}
    said = {(one.item, one.contestant, one.sample): one for one in read_responses(out / "responses.jsonl")}
    ruled = [
        v for name in ("labels.jsonl", "verdicts.jsonl") if (out / name).exists() for v in read_verdicts(out / name)
    ]
    return items, said, ruled


def keep(ledger: Path, items: dict, said: dict, ruled: list) -> None:
    with Ledger(ledger) as book:
        book.add(*items.values())
        for one in said.values():
            book.add_response(items[one.item], one)
        book.add(*ruled)


def talk(question: str, answer: str) -> list[dict]:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def battle(number: int, winner: str, a: str = "x", b: str = "y") -> dict:
    asked = f"第{number}题?"
    return {"question_id": f"b{number}", "model_a": a, "model_b": b, "winner": winner, "judge": f"user{number % 2}",
            "conversation_a": talk(asked, f"{a} says {number}"), "conversation_b": talk(asked, f"{b} says {number}"),
            "language": "Chinese"}  # fmt: skip


def test_battles_in_run_and_out(cli, tmp_path):
    rows = [
        battle(n, winner)
        for n, winner in enumerate(("model_a", "model_b", "tie", "tie (bothbad)", "model_a", "nobody"))
    ]
    items, said, ruled = taken(cli, "arena", put(tmp_path / "battles.json", rows))
    assert (len(items), len(said), len(ruled)) == (6, 12, 5)
    assert [v.marks for v in ruled] == [(1, 0), (0, 1), (0.5, 0.5), (0.5, 0.5), (1, 0)]
    assert {v.rater for v in ruled} == {"user0", "user1"}
    assert items["b3"].question == "第3题?"
    code, out, err = cli("run", "out-arena-battles/study.toml", "--quiet", "--json")
    assert (code, {table["source"].get("study") for table in json.loads(out)}) == (0, {"out-arena-battles"}), err
    code, _, err = cli(
        "export", "arena", "--ledger", "out-arena-battles/study.ledger", "--judge", "human", "--out", "again.json"
    )
    assert code == 0, err
    again = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    wanted = Counter((r["question_id"], r["winner"].split(" ")[0], r["judge"]) for r in rows[:5])
    assert Counter((r["question_id"], r["winner"], r["judge"]) for r in again) == wanted
    assert again[0]["conversation_a"] == rows[0]["conversation_a"]


def test_wildvision_has_pictures(cli, tmp_path):
    row = battle(1, "model_a") | {"image": {"bytes": None, "path": "p.png"}}
    (tmp_path / "p.png").write_bytes(png())
    items, _, _ = taken(cli, "wildvision", put(tmp_path / "w.jsonl", [row]))
    assert items["b1"].pictures[0].data() == png()


def test_alpaca_both_ways(cli, tmp_path):
    notes = [{"instruction": f"Do {n}", "output_1": "a" * n, "output_2": "b" * n, "generator_1": "one",
              "generator_2": "two", "annotator": "gpt4", "preference": p}
             for n, p in ((1, 1), (2, 2), (3, 1.5), (4, None))]  # fmt: skip
    put(tmp_path / "in" / "annotations.json", notes)
    put(tmp_path / "in" / "outputs.json", [{"instruction": "Do 1", "output": "c", "generator": "three"}])
    items, said, ruled = taken(cli, "alpaca", tmp_path / "in")
    assert (len(items), len(said)) == (4, 9)
    assert sorted(v.marks for v in ruled) == [(0, 1), (0.5, 0.5), (1, 0)]
    keep(tmp_path / "a.ledger", items, said, ruled)
    code, _, err = cli("export", "alpaca", "--ledger", "a.ledger", "--out", "back.json")
    assert code == 0, err
    back = {row["instruction"]: row for row in json.loads((tmp_path / "back.json").read_text())}
    for note in notes[:3]:
        row = back[note["instruction"]]
        assert {name: row[name] for name in note} == note


def test_mt_bench(cli, tmp_path):
    put(tmp_path / "mt" / "question.jsonl", [{"question_id": 81, "category": "writing", "turns": ["One", "Two"]}])
    for name in ("m1", "m2"):
        row = {"question_id": 81, "model_id": name, "choices": [{"turns": [f"{name} first", f"{name} second"]}]}
        put(tmp_path / "mt" / "model_answer" / f"{name}.jsonl", [row])
    single = [{"question_id": 81, "model": "m1", "judge": ["gpt-4", "v1"], "score": 8, "turn": 1, "judgment": "[[8]]"},
              {"question_id": 81, "model": "m1", "judge": ["gpt-4", "v1"], "score": -1, "turn": 2}]  # fmt: skip
    put(tmp_path / "mt" / "single.jsonl", single)
    pair = {"question_id": 81, "model_1": "m1", "model_2": "m2", "g1_winner": "model_1", "g2_winner": "tie",
            "judge": ["gpt-4", "p"], "turn": 1}  # fmt: skip
    put(tmp_path / "mt" / "pair.jsonl", [pair])
    items, said, ruled = taken(cli, "mt_bench", tmp_path / "mt")
    assert [turn.text for turn in items["81"].turns] == ["One", "Two"]
    assert said["81", "m2", 0].text == "m2 first\nm2 second"
    assert {(v.contestants, v.marks, v.criterion) for v in ruled} == {
        (("m1",), (8.0,), "turn 1"),
        (("m1", "m2"), (1.0, 0.0), "turn 1"),
        (("m2", "m1"), (0.5, 0.5), "turn 1"),
    }


def test_samples_of_lm_eval_and_lmms_eval(cli, tmp_path):
    rows = [{"doc_id": n, "doc": {"question": f"Q{n}"}, "target": "4", "arguments": [[f"Prompt {n}", {}]],
             "resps": [[f"out {n}"]], "filtered_resps": ["out"], "exact_match": float(n % 2), "bleu": 55.0}
            for n in range(4)]  # fmt: skip
    put(tmp_path / "my-model" / "samples_gsm8k_2024-05-01T10-00-00.jsonl", rows)
    items, said, ruled = taken(cli, "lm_eval", tmp_path / "my-model")
    assert items["gsm8k/2"].question == "Prompt 2"
    assert said["gsm8k/3", "my-model", 0].text == "out 3"
    assert [v.marks[0] for v in ruled if v.judge == "exact_match"] == [0, 1, 0, 1]
    assert {(v.judge, v.ballot) for v in ruled} == {("exact_match", "real:0-1"), ("bleu", "real:55-56")}


def test_vlmevalkit_tables_and_sheets(cli, tmp_path):
    picture = base64.b64encode(png()).decode()
    head = ["index", "image", "question", "A", "B", "answer", "category"]
    lines = ["\t".join(head), "\t".join(["1", picture, "什么?", "red", "blue", "A", "colour"]),
             "\t".join(["2", "1", "And this?", "red", "blue", "B", "colour"])]  # fmt: skip
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "MMBench.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    results = [["index", "question", "prediction", "hit"], [1, "什么?", "A & more", 1], [2, "And this?", "C", 0]]
    sheet(tmp_path / "kit" / "qwen_MMBench.xlsx", results)
    items, said, ruled = taken(cli, "vlmevalkit", tmp_path / "kit")
    assert items["1"].question == "什么?\nA. red\nB. blue"
    assert items["2"].pictures[0].data() == png(), "a picture that occurs again is named by its first index"
    assert {key: one.text for key, one in said.items()} == {("1", "qwen", 0): "A & more", ("2", "qwen", 0): "C"}
    assert [(v.item, v.marks, v.criterion) for v in ruled] == [("1", (1.0,), "hit"), ("2", (0.0,), "hit")]


def sheet(path: Path, rows: list[list[object]]) -> None:
    """An .xlsx file as spreadsheets write it: texts shared, numbers in their cells."""
    shared: list[str] = []
    body = ""
    for r, row in enumerate(rows, 1):
        cells = ""
        for c, value in enumerate(row):
            place = f"{chr(65 + c)}{r}"
            if isinstance(value, str):
                shared.append(value)
                cells += f'<c r="{place}" t="s"><v>{len(shared) - 1}</v></c>'
            elif value is not None:
                kind = ' t="b"' if isinstance(value, bool) else ""
                cells += f'<c r="{place}"{kind}><v>{int(value) if kind else value}</v></c>'
        body += f'<row r="{r}">{cells}</row>'
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    texts = "".join(f"<si><t>{text.replace('&', '&amp;')}</t></si>" for text in shared)
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("xl/worksheets/sheet1.xml", f"<worksheet {space}><sheetData>{body}</sheetData></worksheet>")
        book.writestr("xl/sharedStrings.xml", f"<sst {space}>{texts}</sst>")
        office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        package = "http://schemas.openxmlformats.org/package/2006"
        sheets = f'<sheets xmlns:r="{office}"><sheet name="One" sheetId="1" r:id="rId1"/></sheets>'
        book.writestr("xl/workbook.xml", f"<workbook {space}>{sheets}</workbook>")
        media = "application/vnd.openxmlformats-officedocument.spreadsheetml"
        kinds = {
            "/xl/workbook.xml": "sheet.main",
            "/xl/worksheets/sheet1.xml": "worksheet",
            "/xl/sharedStrings.xml": "sharedStrings",
        }
        parts = "".join(
            f'<Override PartName="{name}" ContentType="{media}.{kind}+xml"/>' for name, kind in kinds.items()
        )
        book.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types">{parts}</Types>')
        for folder, kind, target in (
            ("", "officeDocument", "xl/workbook.xml"),
            ("xl/", "worksheet", "worksheets/sheet1.xml"),
        ):
            link = f'<Relationship Id="rId1" Type="{office}/{kind}" Target="{target}"/>'
            name = f"{folder}_rels/{'workbook.xml' if folder else ''}.rels"
            book.writestr(name, f'<Relationships xmlns="{package}/relationships">{link}</Relationships>')


def test_inspect_logs_in_and_out(cli, tmp_path):
    samples = [{"id": n, "epoch": 1, "input": f"Q{n}" if n else talk("Q0", "")[:1], "target": "T",
                "output": {"completion": f"A{n}"}, "scores": {"match": {"value": "CI"[n % 2], "explanation": "why"},
                "grader": {"value": {"tone": 0.5, "facts": 1}}}} for n in range(3)]  # fmt: skip
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m"}}))
        for sample in samples:
            log.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        broken = {"id": 9, "epoch": 1, "input": "Q9", "target": "T", "error": {"message": "no server"}, "output": {}}
        log.writestr("samples/9_epoch_1.json", json.dumps(broken))
    items, said, ruled = taken(cli, "inspect", tmp_path / "log.eval")
    assert [items[f"t/{n}"].question for n in (0, 1, 2, 9)] == ["Q0", "Q1", "Q2", "Q9"]
    assert sorted(item for item, *_ in said) == ["t/0", "t/1", "t/2"], "one that ended in an error is no empty answer"
    assert [v.marks[0] for v in ruled if v.judge == "match"] == [1, 0, 1]
    assert {v.criterion for v in ruled if v.judge == "grader"} == {"tone", "facts"}
    keep(tmp_path / "i.ledger", items, said, ruled)
    code, _, err = cli("export", "inspect", "--ledger", "i.ledger", "--out", "back.json")
    assert code == 0, err
    _, _, again = taken(cli, "inspect", tmp_path / "back.json")
    assert Counter(v.marks for v in again) == Counter(v.marks for v in ruled)
    log = pytest.importorskip("inspect_ai.log", reason="inspect-ai is not installed: its reader opens what we write")
    read = log.read_eval_log(str(tmp_path / "back.json"))
    assert [sample.scores["match"].value for sample in read.samples] == [1.0, 0.0, 1.0]


WRITER = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

said = ["the answer is 4", "the answer is 7", "是 9"]
outputs = [ModelOutput.from_content("mockllm/model", text) for text in said]
for output in outputs:
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it would fetch a tokenizer
model = get_model("mockllm/model", custom_outputs=outputs)
rows = [Sample(id=f"s{n}", input=f"第{n}题?", target=target) for n, target in enumerate(("4", "5", "9"))]
eval(Task(dataset=rows, scorer=match(), name="sums"), model=model, log_dir=sys.argv[1], display="none", max_samples=1)
"""


def test_a_log_that_inspect_itself_wrote_is_read(cli, tmp_path):
    """In a process of its own, with a home of its own: inspect keeps traces there."""
    pytest.importorskip("zstandard", reason="the extra inspect is not installed")
    if importlib.util.find_spec("inspect_ai") is None:
        pytest.skip("inspect-ai is not installed: its writer's log is what is read here")
    env = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "PYTHONUTF8": "1"}
    command = [sys.executable, "-c", WRITER, str(tmp_path / "logs")]
    subprocess.run(command, check=True, env=env, cwd=tmp_path, capture_output=True, timeout=200)
    (log,) = (tmp_path / "logs").glob("*.eval")
    items, said, ruled = taken(cli, "inspect", log)
    assert sorted(item.question for item in items.values()) == ["第0题?", "第1题?", "第2题?"]
    assert sorted(one.text for one in said.values()) == ["the answer is 4", "the answer is 7", "是 9"]
    assert {items[v.item].question: v.marks[0] for v in ruled} == {"第0题?": 1, "第1题?": 0, "第2题?": 1}


def test_hugging_face_both_ways(cli, tmp_path):
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    import pyarrow
    import pyarrow.parquet

    rows = [
        {
            "uid": f"u{n}", "prompt": "什么？", "image": {"bytes": png(), "path": None}, "out_a": f"a{n}",
            "out_b": f"b{n}", "better": ("out_a", "tie", "")[n],
        }
        for n in range(3)
    ]  # fmt: skip
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "d.parquet")
    columns = ("id=uid", "response.A=out_a", "response.B=out_b", "winner=better")
    words = [word for column in columns for word in ("--option", column)]
    (tmp_path / "folder").mkdir()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "folder" / "train.parquet")
    items, said, ruled = taken(cli, "huggingface", tmp_path / "d.parquet", *words)
    in_folder = taken(cli, "huggingface", tmp_path / "folder", *words)
    assert (set(in_folder[0]), in_folder[1]) == (set(items), said), "no file there has a name of ours"
    assert items["u1"].pictures[0].data() == png()
    assert said["u2", "B", 0].text == "b2"
    assert [v.marks for v in ruled] == [(1, 0), (0.5, 0.5)]
    keep(tmp_path / "h.ledger", items, said, ruled)
    book = ("--ledger", "h.ledger")
    code, _, err = cli("export", "huggingface", *book, "--out", "set")
    assert code == 0, err
    assert "config_name: verdicts" in (tmp_path / "set" / "README.md").read_text(encoding="utf-8")
    verdicts = list(read_verdicts(tmp_path / "set" / "verdicts.jsonl"))
    with Ledger(tmp_path / "h.ledger", read_only=True) as opened:
        assert Counter((v.judge, v.marks) for v in verdicts) == Counter((v.judge, v.marks) for v in opened.record())
    for kind, out in (("langfuse", "scores.json"), ("otel", "otel.jsonl"), ("mlflow", "mlruns")):
        code, _, err = cli("export", kind, *book, "--out", out)
        assert code == 0, err
    marks = sum(len(v.marks or ()) for v in verdicts)
    batch = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))["batch"]
    assert sum(event["type"] == "score-create" for event in batch) == marks
    assert len((tmp_path / "otel.jsonl").read_text(encoding="utf-8").splitlines()) == marks
    files = (tmp_path / "mlruns").rglob("metrics/human/overall")
    assert sorted(float(path.read_text().split()[1]) for path in files) == [0.25, 0.75], "one win, one tie"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("import", "vlmevalkt", "x", "--out", "o"), "did you mean 'vlmevalkit'"),
        (("import", "arena", "nowhere", "--out", "o"), "No such file or folder"),
        (("import", "arena", "x.json", "--out", "o"), "1 battles without a conversation or a question"),
        (("import", "inspect", "x.json", "--out", "o"), "not a log of Inspect"),
        (("import", "alpaca", "y.json", "--out", "o"), "'instruction' is missing"),
        (("import", "huggingface", "y.json", "--out", "o", "--option", "colour=x"), "unknown option 'colour'"),
        (("import", "arena", "y.json", "--out", "o", "--option", "colour"), "NAME=VALUE"),
    ],
)
def test_what_is_no_such_file_says_so(cli, tmp_path, words, said):
    put(tmp_path / "x.json", [{"question_id": 1, "model_a": "x"}])
    put(tmp_path / "y.json", [{"a": 1}])
    code, _, err = cli(*words)
    assert (code, said in err, (tmp_path / "o").exists()) == (2, True, False), err
