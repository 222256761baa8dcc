"""Short names are short where that is clear and never the same for two judges."""

import re
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from fullbench.web.page_rendering import template_environment
from fullbench.web.results.boards.contestants_by_judges_matrix import Matrix, MatrixColumn
from fullbench.web.results.pages.shown_names import Names, short_names
from fullbench.web.results.site.page_urls import ServedPageUrls
from fullbench.web.words import translate_sentence

models = st.sampled_from(["gpt-4o", "gpt-4o-mini", "智谱", "a b", "", "human", "panel:two (mean)"])
tails = st.sampled_from(["", "@lab", "@lab:8000/v1", "?t=0.2", "+direct", "+analyze", "#1f3a", "#2b3c", "#", "@", " "])
names = st.one_of(st.builds("{}{}{}{}".format, models, tails, tails, tails), st.text(max_size=12))


@given(st.sets(names, max_size=12))
def test_no_two_judges_are_shown_under_one_name(judges):
    shown = short_names(judges)
    assert set(shown) == judges
    assert len(set(shown.values())) == len(judges)
    for name, short in shown.items():
        assert len(short) <= len(name)
        assert short in name
        assert short or not name


def test_only_what_tells_judges_apart_is_shown():
    assert short_names(["gpt-4o@lab?t=0.2+analyze#1f3a9c20", "accurate@758739", "panel:a+b (mean)", "human"]) == {
        "gpt-4o@lab?t=0.2+analyze#1f3a9c20": "gpt-4o",
        "accurate@758739": "accurate",
        "panel:a+b (mean)": "panel:a+b (mean)",
        "human": "human",
    }
    same = ["m+direct#aa", "m+direct#ab", "m+analyze#ac", "m"]
    assert short_names(same) == {"m+direct#aa": "m+direct#aa", "m+direct#ab": "m+direct#ab",
                                 "m+analyze#ac": "m+analyze", "m": "m"}  # fmt: skip


def test_the_first_page_shows_short_names_and_says_the_full_ones():
    judges = ["gpt-4o@lab?t=0.2+analyze#1f3a9c20", "glm+direct#2b3c4d5e", "glm+direct#6f7a8b9c"]
    columns = [MatrixColumn(judge, f"board-{place}", "rating", False, False) for place, judge in enumerate(judges)]
    shown = Matrix("matrix-0", "overall", "", columns, [("model", [None] * 3)], False)
    template = template_environment().get_template("results/matrices.html")
    words = {"t": partial(translate_sentence, "en"), "names": Names(), "labels": {}}
    page = template.render(matrices=[shown], places=ServedPageUrls(), task=None, **words)
    heads = re.findall(r'<a href="/boards/board-\d" title="([^"]+)">([^<]+)</a>', page)
    assert heads == [(judges[0], "gpt-4o"), (judges[1], judges[1]), (judges[2], judges[2])]
