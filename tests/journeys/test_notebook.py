"""What somebody does in a notebook: five lines from a list of dicts, frames in and out, and what cells show."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from PIL import Image

import fullbench
from fullbench import Case, Choice, InputError, Item, Ledger, Picture, Response, answer, card, judge, report, run

ROOT = Path(__file__).parents[2]
ITEMS = [{"id": f"q{n}", "question": f"第{n}题 <b>?", "level": "hard" if n % 2 else "easy"} for n in range(6)]
SAID = [
    {"item": item["id"], "contestant": who, "text": "word " * (n + place * 2)}
    for n, item in enumerate(ITEMS, 1) for place, who in enumerate(("terse", "wordy", "long"))
]  # fmt: skip


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_five_lines_from_a_list_of_dicts():
    record = judge(ITEMS, SAID, judge=["length", "chance"], ballot=["choice+tie", "score:1-5"])
    tables = report(record)
    assert len(record) == 2 * (6 * 6 + 6 * 3), "two judges; three pairs in both orders, and three answers alone"
    wins = dict.fromkeys(("terse", "wordy", "long"), 0.0)
    for row in record.where(judge="length", ballot="choice+tie").matches():
        wins[row.first] += row.outcome
        wins[row.second] += 1 - row.outcome
    board = next(table for table in tables if table.name.startswith("leaderboard length"))
    assert board.column("contestant") == sorted(wins, key=wins.get, reverse=True)
    assert judge(ITEMS, SAID, judge=["length", "chance"], ballot=["choice+tie", "score:1-5"]) == record


def test_frames_in_and_out():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    plain = judge(ITEMS, SAID, judge="length", ballot="choice")
    framed = judge(pandas.DataFrame(ITEMS), pandas.DataFrame(SAID), judge="length", ballot="choice", ledger="o.ledger")
    columns = judge(
        {name: [row[name] for row in ITEMS] for name in ITEMS[0]}, [Response.say(r["item"], r["contestant"], r["text"])
        for r in SAID], judge="length", ballot=Choice(tie=False), ledger="p.ledger",
    )  # fmt: skip
    assert plain.digest() == framed.digest() == columns.digest()
    frame = plain.frame("pandas")
    assert len(frame) == 2 * len(plain)
    means = frame.groupby("contestant")["mark"].mean().to_dict()
    marks = [(name, mark) for v in plain for name, mark in zip(v.contestants, v.marks, strict=True)]
    assert means == {name: sum(m for n, m in marks if n == name) / sum(n == name for n, _ in marks) for name in means}
    board = next(one for one in report(plain) if one.name.startswith("leaderboard")).frame("pandas")
    assert {"contestant", "rating", "rating_low", "rating_high", "rating_n"} <= set(board.columns)
    with pytest.raises(InputError, match="polars or pandas"):
        plain.frame("arrow")


def test_polars_and_data_sets(tmp_path):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    record = judge(polars.DataFrame(ITEMS), polars.DataFrame(SAID), judge="length", ballot="choice")
    assert isinstance(record.frame("polars"), polars.DataFrame)
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    pictures = [{**row, "image": Image.new("RGB", (8, 8), (n, 0, 0))} for n, row in enumerate(ITEMS)]
    held = datasets.Dataset.from_list(pictures)
    seen = judge(held, datasets.Dataset.from_list(SAID), judge="length", ballot="choice", ledger="d.ledger")
    assert all(item.pictures for item in seen.items.values())


def test_answer_run_and_card():
    said = answer(ITEMS, contestant=["offline:echo", "offline:canned?text=no"])
    assert len(said) == 12
    done = run(items=ITEMS, contestant=["offline:echo", "offline:canned?text=no"], judge="length", ballot="choice")
    assert len(done.record) == 12
    assert done.tables
    with Ledger("fullbench.ledger", read_only=True) as book:
        assert {account.name for account in book.bill() if account.role == "judge"} == {"length"}
        assert [table.name for table in report(book)] == [table.name for table in report("fullbench.ledger")]
    assert card("fullbench.ledger", "len").judge == "length"
    for words, call in (
        ("No judge given", lambda: judge(ITEMS, SAID)),
        ("No ballot given", lambda: judge(ITEMS, SAID, judge="length")),
        ("No contestant given", lambda: answer(ITEMS)),
        ("Nothing to run", run),
        ("row 1 of items is not a dict", lambda: judge([1], SAID, judge="length", ballot="choice")),
        ("occurs twice", lambda: judge(ITEMS + ITEMS, SAID, judge="length", ballot="choice")),
        ("not among the items", lambda: judge(ITEMS[1:], SAID, judge="length", ballot="choice")),
        ("twice; number them", lambda: judge(ITEMS, SAID + SAID, judge="length", ballot="choice")),
        ("found int", lambda: judge(5, SAID, judge="length", ballot="choice")),
    ):
        with pytest.raises(InputError, match=words):
            call()


def test_what_cells_show(tmp_path):
    Image.new("RGB", (30, 20), "red").save(tmp_path / "r.png")
    item = Item.ask("q", "What <i>is</i> this?", Picture.read(tmp_path / "r.png"))
    case = Case(item, (Response.say("q", "x<script>", "red & <b>bold</b>"), Response.say("q", "y", "blue")), Choice())
    shown = case._repr_html_()
    assert "data:image/" in shown
    assert "x&lt;script&gt;" in shown
    assert "<script>" not in shown
    record = judge(ITEMS, SAID, judge="length", ballot="choice+tie")
    assert repr(record) == "Record(36 verdicts of 1 judge on 6 items)"
    assert "16 more" in record._repr_html_()
    tables = report(record)
    assert tables._repr_html_().count("<table") == len(tables)
    assert "<svg" in tables[0]._repr_html_(), "with its chart"
    assert "length" in card(record, "length")._repr_html_()


def test_the_import_is_light():
    """It loads next to nothing of its own, nothing of other packages, and few modules of Python's."""
    code = "import sys; before = {*sys.modules}; import fullbench; print(*sorted({*sys.modules} - before))"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    packages = {name.partition(".")[0] for name in loaded}
    assert packages - sys.stdlib_module_names == {"fullbench"}
    assert [name for name in loaded if name.startswith("fullbench")] == [
        "fullbench",
        "fullbench.version_and_code_digest",
    ]
    assert len(loaded) < 80
    assert fullbench.__all__


NOTEBOOKS = sorted((ROOT / "docs" / "tutorials" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(notebook):
    """Each cell runs, and those that show something did so when it was written."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {"__name__": "notebook"}
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for number, cell in enumerate(code):
        exec(compile("".join(cell["source"]), f"{notebook.name}:{number}", "exec"), names)
    assert any("text/html" in output.get("data", {}) for cell in code for output in cell["outputs"]), "it was executed"


def in_a_kernel(notebook, folder):
    """The notebook's outputs, run by a kernel of its own."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: a kernel runs the notebooks with it")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, about folders and event loops
        place = {"metadata": {"path": str(folder)}}
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=place).execute()
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_real_kernel_runs_the_notebooks(path, tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    outputs = in_a_kernel(nbformat.read(path, as_version=4), tmp_path)
    assert any("text/html" in output.get("data", {}) for output in outputs)


@pytest.mark.slow
def test_progress_is_drawn_in_the_cell(tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    code = """
from fullbench import judge
items = [{"id": f"q{n}", "question": "多少?"} for n in range(40)]
said = [{"item": f"q{n}", "contestant": who, "text": who * n} for n in range(40) for who in ("ab", "c")]
record = judge(items, said, judge="length", ballot="choice", ledger="progress.ledger")
"""
    outputs = in_a_kernel(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), tmp_path)
    shown = [output["data"]["text/plain"] for output in outputs if "data" in output]
    assert len(shown) == 1, "one line, redrawn"
    assert shown[0].startswith("verdicts: 80 of 80"), "both orders of 40 pairs, all done"
    assert not [output for output in outputs if output.get("name") == "stderr"]


def test_there_are_three_notebooks():
    assert len(NOTEBOOKS) == 3
