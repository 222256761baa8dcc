"""VisIT-Bench's Figures 9 and 10 for items of one's own: what the pictures show, what the instructions ask for."""

from __future__ import annotations

from collections import Counter

from tests.journeys.commands import cells, cli, write_rows
from tests.making import png

ASKED = {
    "Please write a short poem about it.": "write poem",
    "Look at this. Could you write a story?": "write story",
    "Write a poem": "write poem",
    "Count the cars in the street.": "count cars",
    "What is shown here?": None,
    "图中有几只猫？": None,
}
OBJECTS = ("person, person, chair", "person", "", "猫, chair", "person,person , person", "car")


def test_verbs_nouns_and_objects_are_counted_and_drawn(tmp_path):
    (tmp_path / "p.png").write_bytes(png((9, 200, 9)))
    rows = []
    for number, (question, objects) in enumerate(zip(ASKED, OBJECTS, strict=True)):
        tags = {"family": f"f{number % 2}"} | ({"objects": objects} if objects else {})
        rows.append({"id": f"题{number}", "question": question, "pictures": ["p.png"], "captions": ["c"],
                     "reference": "the reference", "tags": tags})  # fmt: skip
    write_rows(tmp_path / "items.jsonl", rows)
    answers = [{"item": row["id"], "contestant": name, "text": name * at} for row in rows
               for at, name in enumerate(("one", "two"), 1)]  # fmt: skip
    write_rows(tmp_path / "answers.jsonl", answers)
    study = tmp_path / "s.toml"
    study.write_text(
        'name = "s"\nbenchmark = "visitbench"\ndata = "items.jsonl"\nresponses = "answers.jsonl"\n'
        'ledger = "s.ledger"\njudges = ["length", "rouge"]\n',
        encoding="utf-8",
    )
    tables = cli("run", study, "--quiet", "--json").tables
    wanted = Counter(pair for pair in ASKED.values() if pair)
    assert cells(tables["requests"], "requests", "verb and noun") == wanted
    assert tables["requests"]["rows"][0] == ["write poem", 2, "write", 3]
    assert any("2 items hold no sentence" in note for note in tables["requests"]["notes"])
    found = Counter(name.strip() for names in OBJECTS for name in names.split(",") if name)
    assert cells(tables["objects"], "times found", "object") == found
    assert cells(tables["objects"], "items", "object") == {"person": 3, "chair": 2, "猫": 1, "car": 1}
    assert any("Of 5 items" in note for note in tables["objects"]["notes"])
    charts = tmp_path / "charts"
    drawing = ("report", "--ledger", tmp_path / "s.ledger", "--benchmark", "visitbench", "--charts", charts)
    cli(*drawing, "--out", tmp_path / "report.html")
    for name, words in (("requests", "write poem"), ("objects", "猫")):
        assert words in (charts / f"{name}.svg").read_text(encoding="utf-8")
        assert (charts / f"{name}.png").exists()
        assert words in (tmp_path / "report.html").read_text(encoding="utf-8")
