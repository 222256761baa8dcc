"""What is ours is translated, and what is the data's stays, even where both are the same words."""

from __future__ import annotations

from fullbench.nouns.table import Table
from fullbench.stats.shares import wilson
from fullbench.web.results.boards import Linked
from fullbench.web.results.filters import Filter
from fullbench.web.results.localised import localised
from fullbench.web.words import translate


def test_names_of_the_data_stay_as_they_are():
    rows = [[name, wilson(1, 2), None] for name in ("judge", "rating")]
    hint = {"kind": "matrix", "row": "contestant", "columns": ["judge", "rating"], "column": "against", "value": "won"}
    notes = ("judge is not rated: no duel was fought.",)
    table = Table("wins", "Who beats whom", ("contestant", "judge", "rating"), rows, notes, {}, hint)
    made = Linked(table, [[None, Filter(judge="all"), None]] * 2, [hint])
    shown = localised(made, "zh")
    assert shown.table.title == "谁胜过谁"
    assert list(shown.table.columns) == ["选手", "judge", "rating"]
    assert [row[0] for row in shown.table.rows] == ["judge", "rating"]
    assert shown.table.notes == ("judge 没有评分：没有对决。",)
    assert shown.links == made.links
    assert shown.charts == [{**hint, "row": "选手", "column": "对手", "value": "胜率"}]
    assert localised(made, "en") is made


def test_columns_that_are_ours_are_translated_and_the_words_in_them():
    rows = [["length", "length", "share of 4 and 5", 0.5]]
    table = Table("biases", "What else moves the judges", ("judge", "bias", "figure", "judge's"), rows)
    shown = localised(Linked(table), "zh")
    assert list(shown.table.columns) == ["评审", "偏差", "指标", "评审的"]
    assert shown.table.rows[0][:3] == ["length", "长度", "4 和 5 的比例"]


def test_a_filled_sentence_is_known_by_its_pattern_and_nothing_else_is_touched():
    noted = "a: b, c: Its scores go with length by +0.10, people's by -0.20: it likes length more than people do."
    assert translate("zh", noted) == "a: b, c：它的分数与长度的相关为 +0.10，人为 -0.20：它比人更喜欢长回答。"
    assert translate("zh", "from here to there") == "from here to there"
    assert translate("zh", "0.83 to 1.00") == "0.83 到 1.00"
    assert translate("en", "0.83 to 1.00") == "0.83 to 1.00"
