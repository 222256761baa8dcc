"""What is ours is translated, and what is the data's stays, even where both are the same words."""

from __future__ import annotations

import pytest

from fullbench.analysis.bias.judge_biases_compared_with_people import BIAS_NOTES
from fullbench.analysis.boards.head_to_head_and_slices import AGAINST_LABEL, WON_LABEL
from fullbench.analysis.boards.leaderboard import Board, Key, Settings
from fullbench.analysis.scope_suffixes_of_table_titles import family_suffix, scope_suffix, title_with_scope
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.reports.charts.chart_specification_and_rendering import build_chart
from fullbench.stats.intervals.share_intervals import wilson_interval
from fullbench.web.results.boards.board_store import LinkedTable, pack_table, unpack_table
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.pages.tables_and_charts_for_templates import translate_linked_table
from fullbench.web.words import translate_sentence

BEATS = Note("slices.title.who-beats-whom")


def wins(title: str = BEATS) -> LinkedTable:
    rows = [[name, wilson_interval(1, 2), None] for name in ("judge", "rating")]
    hint = {
        "kind": "matrix",
        "row": "contestant",
        "columns": ["judge", "rating"],
        "column": AGAINST_LABEL,
        "value": WON_LABEL,
    }
    reason = Note("undefined.no-match-was-fought")
    notes = (Note("leaderboard.is-not-rated", contestant="judge", reason=reason),)
    columns = table_columns("contestant", data_column("judge"), data_column("rating"))
    return LinkedTable(
        Table("wins", title, columns, rows, notes, {}, hint), [[None, Filter(judge="all"), None]] * 2, [hint]
    )


def test_names_of_the_data_stay_as_they_are_also_after_the_database():
    made = wins()
    for linked in (made, unpack_table(_json(pack_table(made)))):
        shown = translate_linked_table(linked, "zh")
        assert shown.table.title == "选手之间的胜负"
        assert list(shown.table.columns) == ["选手", "judge", "rating"]
        assert [row[0] for row in shown.table.rows] == ["judge", "rating"]
        assert list(shown.table.notes) == ["judge 没有评分：没有对决。"]
        assert shown.links == made.links
        assert shown.charts == [{**made.charts[0], "column": "对手", "value": "胜率"}]
    assert translate_linked_table(made, "en") is made


def _json(value: object) -> dict[str, object]:
    import orjson

    read: dict[str, object] = orjson.loads(orjson.dumps(value))
    return read


def test_columns_that_are_ours_are_translated_and_the_words_in_them():
    share = Note("probes.share-of", marks=Note("probes.two", a="4", b="5"))
    rows = [["length", "length", share, 0.5]]
    columns = table_columns("judge", "bias", "metric", "judge's")
    table = Table("biases", Note("probes.title.what-else-moves-the-judges"), columns, rows)
    shown = translate_linked_table(LinkedTable(table), "zh")
    assert list(shown.table.columns) == ["评审", "偏差", "指标", "评审的"]
    assert shown.table.rows[0][:3] == ["length", "长度", "4 和 5 的比例"]


def test_a_sentence_is_known_by_its_id_and_nothing_else_is_touched():
    shift = Note("probes.shift", value=0.1)
    says = Note("probes.claim", opening=shift, finding=BIAS_NOTES["lenient"])
    noted = Note("probes.says", judge="a: b, c", says=says)
    assert noted == "a: b, c: On the same answers its scores are +0.10 from people's: it is lenient."
    assert translate_sentence("zh", noted) == "a: b, c：同样的回答，它的分数与人相差 +0.10：它偏宽。"
    assert translate_sentence("zh", "from here to there") == "from here to there"
    within = Note("repeats.bin", low=0.83, high=1.0)
    assert translate_sentence("zh", within) == "0.83 到 1.00"
    assert translate_sentence("en", within) == "0.83 to 1.00"


def test_an_interval_that_is_missing_says_why():
    one = Note("no-interval.one-item")
    rows = [["judge", None, Estimate.bare(1.0, 2, one)], ["rating", wilson_interval(0, 2), None]]
    columns = table_columns("contestant", data_column("judge"), data_column("rating"))
    shown = translate_linked_table(
        LinkedTable(Table("wins, pair", title_with_scope(BEATS, family_suffix("pair")), columns, rows)), "zh"
    )
    assert shown.table.title == "选手之间的胜负，来自选择"
    assert list(shown.table.columns) == ["选手", "judge", "rating"]
    assert shown.table.rows == [["judge", None, Estimate.bare(1.0, 2, "只有一个题目")], rows[1]]


def title(judge: str, study: str, criterion: str, family: str, rule: str) -> str:
    key = Key(study, judge, criterion, family or "pair", rule, studies=2 if study else 1)
    return Board(key, (), None, (), 0, 0, None, Settings()).title(family=bool(family))


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            title_with_scope(Note("slices.title.won-by", tag="任务"), family_suffix("score")),
            "胜率，按“任务”，来自单独打分",
        ),
        (title("甲", "", "overall", "", "mean"), "甲 的排行榜"),
        (title("甲", "", "流畅", "ranking", "mean"), "甲 的排行榜，标准：流畅，来自排名"),
        (
            title("甲", "一", "流畅", "pair", "both-agree"),
            "甲 的排行榜，研究：一，标准：流畅，来自选择（两种顺序的规则：两种顺序一致）",
        ),
        (
            title_with_scope(Note("judging.title", kind=word_note("pairs"), tag="任务"), scope_suffix("", "流畅")),
            "与人在配对上的一致性，按“任务”，标准：流畅",
        ),
    ],
)
def test_what_stands_behind_a_title_is_no_part_of_the_names_in_it(english, chinese):
    assert translate_sentence("zh", english) == chinese


def test_a_chart_says_in_chinese_what_it_shows():
    shown = translate_linked_table(wins(title_with_scope(BEATS, family_suffix("pair"))), "zh")
    drawn = build_chart(shown.table, shown.charts[0])
    assert drawn is not None
    assert translate_sentence("zh", drawn.alt) == "选手之间的胜负，来自选择。热力图：按选手和对手的胜率，共 2 格。"
