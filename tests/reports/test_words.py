"""Whatever our tables and charts say has Chinese words under its id, with the same values to fill in."""

from __future__ import annotations

import ast
import pickle
import re
import string
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import fullbench
from fullbench.analysis.agreement.critic_with_people import METRIC_NAMES as CRITIC
from fullbench.analysis.agreement.judges_with_people import AGREEMENT_METRICS
from fullbench.analysis.boards.matches_from_verdicts import RULE_DESCRIPTIONS, RULE_NAMES, RULES
from fullbench.analysis.peer_review.ranking_methods import METHODS
from fullbench.analysis.peer_review.reviews_from_record import PARTS
from fullbench.analysis.scope_suffixes_of_table_titles import (
    MEAN,
    OVERALL,
    family_suffix,
    mean_heading,
    scope_suffix,
    title_with_scope,
)
from fullbench.benchmarks.alignmmbench.question_and_response_lengths import UNITS
from fullbench.benchmarks.mj_bench.demographic_evenness import EVENNESS_METRICS as EVENNESS
from fullbench.core.built_in_table_columns import HEADINGS, data_column, influence_column, table_columns, with_deviation
from fullbench.core.estimate import Estimate
from fullbench.core.table import Column, Table
from fullbench.core.translatable_note import (
    Note,
    english_messages,
    join_notes,
    join_sentences,
    pack_note,
    unpack_note,
    word_note,
)
from fullbench.core.verdict import FAULTS
from fullbench.reports.charts.chart_specification_and_rendering import build_chart
from fullbench.reports.table_formats import render_table, table_from_json
from fullbench.reports.translated_tables import localise_column, localise_table
from fullbench.reports.words import column_translations, language_messages

SOURCE = Path(fullbench.__file__).parent
CONSTANTS = {"MEAN": MEAN}


def test_every_note_in_code_has_a_sentence_with_its_values_and_no_sentence_is_unused():
    english, used_ids = english_messages(), set()
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "Note(" in source else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Note":
                where = f"{path.name}:{node.lineno}"
                assert len(node.args) == 1, f"{where}: a note has an id and named values"
                id_ = node.args[0].value if isinstance(node.args[0], ast.Constant) else CONSTANTS[node.args[0].id]
                assert id_ in english, f"{where}: {id_} is not in en_notes.json"
                values = sorted(str(keyword.arg) for keyword in node.keywords)
                assert fields(english[id_]) == values, f"{where}: {id_} fills in other values"
                used_ids.add(id_)
    assert sorted(set(english) - used_ids) == []


def fields(text: str) -> list[str]:
    return sorted({name for _, name, _, _ in string.Formatter().parse(text) if name})


def test_every_note_has_chinese_words_with_the_same_values():
    chinese = {id_: text for id_, text in language_messages("zh").items() if not id_.startswith("word.")}
    assert {id_: fields(text) for id_, text in chinese.items()} == {
        id_: fields(text) for id_, text in english_messages().items()
    }


def test_english_sentences_are_read_with_the_first_note():
    script = """
import fullbench, fullbench.cli
from fullbench.core.translatable_note import Note, english_messages
assert english_messages.cache_info().misses == 0
Note("orders.mean")
assert english_messages.cache_info().misses == 1
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_column_has_a_chinese_label_and_no_label_is_of_no_column():
    assert sorted(set(HEADINGS) - set(column_translations("zh"))) == []
    assert sorted(set(column_translations("zh")) - set(HEADINGS)) == []


@cache
def used_columns() -> set[str]:
    """The keys of columns that tables take from the house's own, as far as they stand there in words."""
    keys: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "table_columns(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "table_columns":
                keys |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return keys


def test_every_column_that_a_table_asks_for_is_there():
    assert len(used_columns()) > 100
    assert sorted(used_columns() - set(HEADINGS)) == []


def test_columns_that_tables_ask_for_by_names_of_figures_methods_and_parts_are_there():
    asked = {
        *PARTS,
        *METHODS,
        *FAULTS,
        *UNITS.values(),
        *CRITIC,
        *(name for each in AGREEMENT_METRICS.values() for name in each),
    }
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
    note = Note("leaderboard.is-not-rated", contestant="乙", reason=word_note("tie"))
    assert note == "乙 is not rated: tie."
    for again in (pickle.loads(pickle.dumps(note)), unpack_note(str(note), pack_note(note))):
        assert again == note
        assert again.translate_with(language_messages("zh")) == "乙 没有评分：平局。"
    assert unpack_note("plain", pack_note("plain")) == "plain"


def test_a_column_keeps_what_it_is_under_another_label():
    won = Column("won", "matches won", "metric", "more")
    again = pickle.loads(pickle.dumps(won.with_label("胜率")))
    assert (again, again.key, again.kind, again.better) == ("胜率", "won", "metric", "more")
    with pytest.raises(ValueError, match="unknown kind"):
        Column("won", kind="wins")


def rich() -> Table:
    columns = table_columns(
        "contestant", data_column("judge"), "verdict", mean_heading("score:1-5"), *with_deviation("kendall")
    )
    rows = (
        ("rating", Estimate(0.5, 0.4, 0.6, 9), "pairs", Estimate.bare(3.0, 2, Note("no-interval.one-item")), 0.5, None),
        (Note("judging.mean-of", n=3), None, "no word of ours", None, None, 0.25),
    )
    hint = {"kind": "intervals", "label": "contestant", "value": "mean score:1-5"}
    unrated = Note("leaderboard.is-not-rated", contestant="judge", reason=Note("unrated.no-match"))
    title = title_with_scope(Note("slices.title.who-beats-whom"), scope_suffix("一", "流畅"))
    return Table(
        "t", title_with_scope(title, family_suffix("pair")), columns, rows, (unrated, "a plugin's own words"), {}, hint
    )


def test_a_table_keeps_its_types_in_json_and_speaks_chinese_after_it():
    table = table_from_json(render_table(rich(), "json"))
    assert table == rich()
    assert [(c.key, c.kind, c.better, c.is_data_label) for c in table.typed_columns] == [
        (c.key, c.kind, c.better, c.is_data_label) for c in rich().typed_columns
    ]
    shown = localise_table(table, "zh")
    assert shown.title == "选手之间的胜负，研究：一，标准：流畅，来自选择"
    assert shown.columns == ("选手", "judge", "裁决类型", "score:1-5 平均分", "Kendall 相关", "Kendall 相关的标准差")
    assert [row[0] for row in shown.rows] == ["rating", "3 组平均"]
    assert [row[2] for row in shown.rows] == ["配对", "no word of ours"]
    assert shown.rows[0][3] == Estimate.bare(3.0, 2, "只有一个题目")
    assert shown.notes == ("judge 没有评分：没有对决。", "a plugin's own words")
    assert localise_table(table, "en") is table


def test_charts_find_their_columns_under_any_label():
    drawn = build_chart(localise_table(rich(), "zh"))
    assert drawn is not None
    alt = drawn.alt.translate_with(language_messages("zh")) if isinstance(drawn.alt, Note) else drawn.alt
    assert "带区间的点：各选手的score:1-5 平均分，共 1 行；从 rating 3 到 rating 3" in alt
    assert "score:1-5 平均分" in str(drawn.spec)
    assert build_chart(rich()).alt.startswith(
        "Wins between contestants in 一 on 流畅, from choices. Dots with intervals:"
    )


def test_a_chart_puts_the_better_end_first():
    for key, order in (("rating", "descending"), ("error", "ascending")):
        table = Table("t", "T", table_columns("judge", key), (("a", 1.0), ("b", 2.0)), (), {},
                      {"kind": "intervals", "label": "judge", "value": key})  # fmt: skip
        drawn = build_chart(table)
        assert drawn is not None
        assert drawn.spec["layer"][0]["encoding"]["y"]["sort"]["order"] == order


def test_words_behind_titles_and_over_columns():
    chinese = language_messages("zh")
    assert scope_suffix("", OVERALL) == ""
    assert all(
        isinstance(said, Note) and said.id in chinese for said in (*RULE_DESCRIPTIONS.values(), *RULE_NAMES.values())
    )
    assert localise_column(influence_column("PiCO"), "zh") == "对 PiCO 的移动"
    assert join_notes([word_note("scores"), "b"]).translate_with(chinese) == "评分；b"
    assert join_sentences(["甲。", "乙。"]).translate_with(chinese) == "甲。乙。"
    assert not re.search(r"[a-z]", RULE_DESCRIPTIONS["mean"].translate_with(chinese))


def test_plain_texts_of_plugins_still_make_a_table():
    table = Table("t", "T", ["judge", "refused"], [["a", 3]], ["A note."])
    assert table.column("refused") == [3]
    assert localise_table(table, "zh").columns == ("评审", "拒绝")
    assert '"key": "judge"' in render_table(table, "json")
    old = '{"name": "t", "title": "T", "columns": ["a"], "rows": [[1]], "notes": ["n"], "source": {}, "chart": null}'
    assert table_from_json(old) == Table("t", "T", ("a",), ((1,),), ("n",))
