"""What is ours is translated, and what is the data's stays, even where both are the same words."""

from __future__ import annotations

import re

import pytest

from fullbench.figures.matches import SAID
from fullbench.nouns.estimate import Estimate
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


def test_contestants_stay_as_they_are_beside_other_families_and_an_interval_that_is_missing_says_why():
    rows = [["judge", None, Estimate.bare(1.0, 2, "one item")], ["rating", wilson(0, 2), None]]
    shown = localised(
        Linked(Table("wins, pair", "Who beats whom, from choices", ("contestant", "judge", "rating"), rows)), "zh"
    )
    assert shown.table.title == "谁胜过谁，来自选择"
    assert list(shown.table.columns) == ["选手", "judge", "rating"]
    assert shown.table.rows == [["judge", None, Estimate.bare(1.0, 2, "只有一个题目")], rows[1]]


@pytest.mark.parametrize(
    ("title", "chinese"),
    [
        ("Won, by 任务, from single marks", "胜率，按“任务”，来自单独打分"),
        ("Marks given, score:1-5, from single marks", "给出的分数，score:1-5，来自单独打分"),
        (
            "Share of marks that reach a threshold, likert:5, from single marks",
            "达到阈值的分数比例，likert:5，来自单独打分",
        ),
        ("Leaderboard by 甲", "甲 的排行榜"),
        ("Leaderboard by 甲 on 流畅, from rankings", "甲 的排行榜，标准：流畅，来自排名"),
        (
            "Leaderboard by 甲 in 一 on 流畅, from choices (rule for two orders: both-agree)",
            "甲 的排行榜，研究：一，标准：流畅，来自选择（两种顺序的规则：两种顺序一致）",
        ),
        ("Agreement with people on 流畅", "与人的一致性，标准：流畅"),
        ("Agreement with people on pairs, by 任务", "与人在配对上的一致性，按“任务”"),
        ("Agreement with people on pairs, by 任务 on 流畅", "与人在配对上的一致性，按“任务”，标准：流畅"),
        (
            "Who beats whom, from choices. Heat map: 胜率 by 选手 and 对手, 6 cells.",
            "谁胜过谁，来自选择。热力图：按选手和对手的胜率，共 6 格。",
        ),
    ],
)
def test_what_stands_behind_a_title_is_no_part_of_the_names_in_it(title, chinese):
    assert translate("zh", title) == chinese


@pytest.mark.parametrize("rule", SAID)
def test_every_rule_for_two_orders_has_words(rule):
    for note in ("1,200 matches, no ties; two orders: {}.", "12 matches, 3 of them ties; two orders: {}."):
        assert not re.search("[a-z]", translate("zh", note.format(SAID[rule])))
