"""The site shows the short names of the one rule for display names, with full names as tooltips."""

import re
from functools import partial

from fullbench.web.page_rendering import template_environment
from fullbench.web.results.boards.contestants_by_judges_matrix import Matrix, MatrixColumn
from fullbench.web.results.boards.interval_chart_of_contestants import IntervalChart
from fullbench.web.results.pages.judge_and_contestant_names_on_pages import Names
from fullbench.web.results.site.page_urls import ServedPageUrls
from fullbench.web.words import translate_sentence


def test_the_first_page_shows_short_names_and_says_the_full_ones():
    judges = ["gpt-4o@lab:80/v1+t0+analyze#1f3a9c20", "glm+direct#2b3c4d5e", "glm+direct#6f7a8b9c"]
    columns = [MatrixColumn(judge, f"board-{place}", "rating", False, False) for place, judge in enumerate(judges)]
    shown = Matrix("matrix-0", "overall", "", columns, [("model", [None] * 3)], False)
    template = template_environment().get_template("results/matrices.html")
    words = {"t": partial(translate_sentence, "en"), "names": Names.from_settings(dict.fromkeys(judges)), "labels": {}}
    page = template.render(matrices=[(shown, IntervalChart())], places=ServedPageUrls(), task=None, **words)
    heads = re.findall(r'<a href="/boards/board-\d" title="([^"]+)">([^<]+)</a>', page)
    assert heads == [(judges[0], "gpt-4o"), (judges[1], "glm #2b3c4d5e"), (judges[2], "glm #6f7a8b9c")]
