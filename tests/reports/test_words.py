"""Whatever our tables and charts say has Chinese words under its id, with the same values to fill in."""

from __future__ import annotations

import ast
import pickle
import re
import string
from functools import cache
from pathlib import Path

import pytest

import fullbench
from fullbench.analysis.agreement.critic_with_people import FIGURES as CRITIC
from fullbench.analysis.agreement.judges_with_people import FIGURES
from fullbench.analysis.boards.matches_from_verdicts import CALLED, RULES, SAID
from fullbench.analysis.peer_review.ranking_methods import METHODS
from fullbench.analysis.peer_review.reviews_from_record import PARTS
from fullbench.analysis.scope_text import MEAN, OVERALL, from_family, mean_heading, place, placed
from fullbench.benchmarks.align_mm.text_lengths import UNITS
from fullbench.benchmarks.mj_bench.fairness import FIGURES as EVENNESS
from fullbench.core.column_labels import HEADINGS, headings, moves, named, with_deviation
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, listed, pack, sentences, unpack, word
from fullbench.core.table import Column, Table
from fullbench.core.verdict import FAULTS
from fullbench.reports.charts.vega_lite import chart
from fullbench.reports.table_formats import render, table_from_json
from fullbench.reports.translated_tables import column_in, localised
from fullbench.reports.words import labels, messages

SOURCE = Path(fullbench.__file__).parent
CONSTANTS = {"MEAN": MEAN}


@cache
def notes() -> dict[str, str]:
    """All notes that the package can make: their ids and English texts."""
    known: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "Note(" in source else ():
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Note"):
                continue
            where = f"{path.name}:{node.lineno}"
            first, text = node.args
            id_ = first.value if isinstance(first, ast.Constant) else CONSTANTS[first.id]
            assert isinstance(text, ast.Constant), f"{where}: the English text of a note stands where it is made"
            assert known.setdefault(str(id_), str(text.value)) == text.value, f"{where}: {id_} says two things"
            filled = {name for _, name, _, _ in string.Formatter().parse(str(text.value)) if name}
            given = {keyword.arg for keyword in node.keywords}
            assert filled == given, f"{where}: {id_} fills in {filled}, and is given {given}"
    return known


def fields(text: str) -> list[str]:
    return sorted({name for _, name, _, _ in string.Formatter().parse(text) if name})


def test_every_note_has_chinese_words_with_the_same_values():
    assert len(notes()) > 300
    chinese = messages("zh")
    assert sorted(set(notes()) - set(chinese)) == []
    for id_, english in notes().items():
        assert fields(chinese[id_]) == fields(english), id_


def test_no_chinese_words_stand_for_a_note_that_is_no_longer_made():
    assert sorted(id_ for id_ in messages("zh") if not id_.startswith("word.") and id_ not in notes()) == []


def test_every_column_has_a_chinese_label_and_no_label_is_of_no_column():
    assert sorted(set(HEADINGS) - set(labels("zh"))) == []
    assert sorted(set(labels("zh")) - set(HEADINGS)) == []


@cache
def used_columns() -> set[str]:
    """The keys of columns that tables take from the house's own, as far as they stand there in words."""
    keys: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "headings(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "headings":
                keys |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return keys


def test_every_column_that_a_table_asks_for_is_there():
    assert len(used_columns()) > 100
    assert sorted(used_columns() - set(HEADINGS)) == []


def test_columns_that_tables_ask_for_by_names_of_figures_methods_and_parts_are_there():
    asked = {*PARTS, *METHODS, *FAULTS, *UNITS.values(), *CRITIC, *(name for each in FIGURES.values() for name in each)}
    asked |= {f"way {rule}" for rule in RULES} | set(EVENNESS)
    asked |= {f"{name} {way}" for name in EVENNESS for way in ("by item", "by row")}
    assert sorted(asked - set(HEADINGS)) == []


def test_no_table_of_ours_has_plain_texts_for_columns():
    """What a table's columns are is said in `headings`, never as plain texts."""
    plain = []
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "nouns.table import" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Table":
                third = node.args[2] if len(node.args) > 2 else None
                if isinstance(third, ast.Tuple | ast.List) and any(isinstance(e, ast.Constant) for e in third.elts):
                    plain.append(f"{path.name}:{node.lineno}")
    assert plain == []


def test_a_note_is_a_text_that_survives_pickling_and_json():
    note = Note("leaderboard.is-not-rated", "{contestant} is not rated: {reason}.", contestant="乙", reason=word("tie"))
    assert note == "乙 is not rated: tie."
    for again in (pickle.loads(pickle.dumps(note)), unpack(str(note), pack(note))):
        assert again == note
        assert again.said_in(messages("zh")) == "乙 没有评分：平局。"
    assert unpack("plain", pack("plain")) == "plain"


def test_a_column_keeps_what_it_is_under_another_label():
    won = Column("won", "duels won", "figure", "more")
    again = pickle.loads(pickle.dumps(won.labelled("胜率")))
    assert (again, again.key, again.kind, again.better) == ("胜率", "won", "figure", "more")
    with pytest.raises(ValueError, match="unknown kind"):
        Column("won", kind="wins")


def rich() -> Table:
    columns = headings("contestant", named("judge"), "ruling", mean_heading("score:1-5"), *with_deviation("kendall"))
    rows = (
        ("rating", Estimate(0.5, 0.4, 0.6, 9), "pairs", Estimate.bare(3.0, 2, Note("no-interval.one-item", "one item")),
         0.5, None),
        (Note("judging.mean-of", "mean of {n}", n=3), None, "no word of ours", None, None, 0.25),
    )  # fmt: skip
    hint = {"kind": "intervals", "label": "contestant", "value": "mean score:1-5"}
    said = (Note("leaderboard.is-not-rated", "{contestant} is not rated: {reason}.", contestant="judge",
                 reason=Note("unrated.no-match", "no match")), "a plugin's own words")  # fmt: skip
    title = placed(Note("slices.title.who-beats-whom", "Who beats whom"), place("一", "流畅"))
    return Table("t", placed(title, from_family("pair")), columns, rows, said, {}, hint)


def test_a_table_keeps_its_types_in_json_and_speaks_chinese_after_it():
    table = table_from_json(render(rich(), "json"))
    assert table == rich()
    assert [(c.key, c.kind, c.better, c.named) for c in table.typed] == [
        (c.key, c.kind, c.better, c.named) for c in rich().typed
    ]
    shown = localised(table, "zh")
    assert shown.title == "谁胜过谁，研究：一，标准：流畅，来自选择"
    assert shown.columns == ("选手", "judge", "裁决类型", "score:1-5 平均分", "Kendall 相关", "Kendall 相关的标准差")
    assert [row[0] for row in shown.rows] == ["rating", "3 组平均"]
    assert [row[2] for row in shown.rows] == ["配对", "no word of ours"]
    assert shown.rows[0][3] == Estimate.bare(3.0, 2, "只有一个题目")
    assert shown.notes == ("judge 没有评分：没有对决。", "a plugin's own words")
    assert localised(table, "en") is table


def test_charts_find_their_columns_under_any_label():
    drawn = chart(localised(rich(), "zh"))
    assert drawn is not None
    alt = drawn.alt.said_in(messages("zh")) if isinstance(drawn.alt, Note) else drawn.alt
    assert "带区间的点：各选手的score:1-5 平均分，共 1 行；从 rating 3 到 rating 3" in alt
    assert "score:1-5 平均分" in str(drawn.spec)
    assert chart(rich()).alt.startswith("Who beats whom in 一 on 流畅, from choices. Dots with intervals:")


def test_a_chart_puts_the_better_end_first():
    for key, order in (("rating", "descending"), ("error", "ascending")):
        table = Table("t", "T", headings("judge", key), (("a", 1.0), ("b", 2.0)), (), {},
                      {"kind": "intervals", "label": "judge", "value": key})  # fmt: skip
        drawn = chart(table)
        assert drawn is not None
        assert drawn.spec["layer"][0]["encoding"]["y"]["sort"]["order"] == order


def test_words_behind_titles_and_over_columns():
    chinese = messages("zh")
    assert place("", OVERALL) == ""
    assert all(isinstance(said, Note) and said.id in chinese for said in (*SAID.values(), *CALLED.values()))
    assert column_in(moves("PiCO"), "zh") == "对 PiCO 的移动"
    assert listed([word("scores"), "b"]).said_in(chinese) == "评分；b"
    assert sentences(["甲。", "乙。"]).said_in(chinese) == "甲。乙。"
    assert not re.search(r"[a-z]", SAID["mean"].said_in(chinese))


def test_plain_texts_of_plugins_still_make_a_table():
    table = Table("t", "T", ["judge", "refused"], [["a", 3]], ["A note."])
    assert table.column("refused") == [3]
    assert localised(table, "zh").columns == ("评审", "拒绝")
    assert '"key": "judge"' in render(table, "json")
    old = '{"name": "t", "title": "T", "columns": ["a"], "rows": [[1]], "notes": ["n"], "source": {}, "chart": null}'
    assert table_from_json(old) == Table("t", "T", ("a",), ((1,),), ("n",))
