"""What people are told: shipped for every kind and paper in two languages, editable, versioned, beside the scale."""

from __future__ import annotations

import html
import re
import shutil
from dataclasses import replace

import pytest

from fullbench import Case, Item, Response
from fullbench.core import plugin_entry_points
from fullbench.core.ballot import Score
from fullbench.core.item import parts_text
from fullbench.errors import InputError
from fullbench.judges.critic_prompts_with_task_rules import RULES, build_critic_from_spec
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.tasks import shipped_guidelines_and_scale_anchors
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kinds import kinds_by_name
from fullbench.web.database import write_transaction
from tests.support.annotation_pages import content, field, study
from tests.web.conftest import signed_in

SCALES = {"score": ["1", "2", "3", "4", "5"], "rate": [str(n) for n in range(1, 11)], "agree": list("12345")}


@pytest.fixture
def database(one_sqlite, tmp_path) -> str:
    """Nothing here depends on which database it is."""
    shutil.copy(one_sqlite, tmp_path / "web.sqlite")
    return f"sqlite:///{tmp_path / 'web.sqlite'}"


def test_every_kind_and_every_paper_has_a_text_in_both_languages():
    assert set(shipped_guidelines_and_scale_anchors.papers_with_guidelines()) == {
        "mllm-as-a-judge",
        "visitbench",
        "mjbench",
        "upme",
        "alignmmbench",
    }
    assert set(shipped_guidelines_and_scale_anchors.papers_with_guidelines()) <= set(
        plugin_entry_points.plugin_names("benchmarks")
    )
    for kind in kinds_by_name():
        for paper in (
            shipped_guidelines_and_scale_anchors.PLAIN,
            *shipped_guidelines_and_scale_anchors.papers_for_kind(kind),
        ):
            english, chinese = (
                shipped_guidelines_and_scale_anchors.shipped_text(kind, "en", paper),
                shipped_guidelines_and_scale_anchors.shipped_text(kind, "zh", paper),
            )
            assert english.startswith("# "), (kind, paper)
            assert "## Example" in english, (kind, paper)
            assert "## 例子" in chinese, (kind, paper)
            assert re.search(r"[\u4e00-\u9fff]", chinese)
            if kind in SCALES:
                scale = [str(n) for n in range(1, 11)] if (kind, paper) == ("score", "alignmmbench") else SCALES[kind]
                said = shipped_guidelines_and_scale_anchors.scale_anchors(english, scale)
                assert set(said) == set(shipped_guidelines_and_scale_anchors.scale_anchors(chinese, scale)), (
                    kind,
                    paper,
                )
                assert {scale[0], scale[-1]} <= set(said), (kind, paper)
    for paper in shipped_guidelines_and_scale_anchors.papers_with_guidelines():
        assert [
            kind for kind in kinds_by_name() if paper in shipped_guidelines_and_scale_anchors.papers_for_kind(kind)
        ], paper


def test_a_paper_without_such_a_text_is_refused(app):
    with pytest.raises(InputError, match="there is no guideline of 'upme' for rate tasks; there are: mjbench"):
        campaigns.CampaignPlan("x", "rate", options={"paper": "upme"})


def test_the_scale_says_what_its_points_mean_in_the_readers_language(app, annotator):
    made = study(app, "score", options={"paper": "mllm-as-a-judge"})
    page = annotator.get(f"/work/{made.id}").text
    assert re.findall(r'<span class="anchor">([^<]+)', page)[0] == "wrong or useless"
    annotator.headers["Accept-Language"] = "zh"
    page = annotator.get(f"/work/{made.id}").text
    assert re.findall(r'<span class="anchor">([^<]+)', page)[-1] == "正确、完整、清楚"
    assert field(
        annotator.get(f"/work/{made.id}"), "guideline"
    ) == shipped_guidelines_and_scale_anchors.shipped_version("score", "mllm-as-a-judge")


def test_an_own_text_in_two_languages_has_versions_and_anchors(app, organiser, annotator):
    made = study(app, "score")
    own = "# Ours\n\n- 1: none\n- 5: all\n<!-- zh -->\n# 我们的\n\n- 1: 没有\n- 5: 全有"
    organiser.submit(f"/organise/{made.id}/guidelines", {"guidelines": own})
    page = annotator.get(f"/work/{made.id}")
    assert re.findall(r'<span class="anchor">([^<]+)', page.text) == ["none", "all"]
    assert "我们的" not in page.text
    assert field(page, "guideline") == "a score study 1"
    annotator.headers["Accept-Language"] = "zh"
    page = annotator.get(f"/work/{made.id}").text
    assert re.findall(r'<span class="anchor">([^<]+)', page) == ["没有", "全有"]
    assert "Ours" not in page
    with write_transaction(app.state.engine) as connection:
        campaigns.set_guidelines(connection, made.id, "short")
        assert campaigns.get_campaign(connection, made.id).guideline == "a score study 2"


def test_a_vote_under_guidelines_that_changed_in_between_says_which_it_was(app, organiser, annotator):
    """Changed while the task is in view: the vote is kept, under the version that its giver was shown."""
    made = study(app, "pair", [content("pair")], guidelines="first words")
    page = annotator.get(f"/work/{made.id}")
    organiser.submit(f"/organise/{made.id}/guidelines", {"guidelines": "second words"})
    sent = {name: field(page, name) for name in ("lease", "key", "replaces", "started", "guideline")}
    assert annotator.submit(f"/work/{made.id}/vote", {**sent, "best": "0"}).status_code == 303
    rows = organiser.get(f"/organise/{made.id}/votes.jsonl").text
    assert '"guideline": "a pair study 1"' in rows


def test_a_flaw_is_not_explained_as_a_merit_and_words_are_their_own_anchors(app):
    item, merits = Item.ask("q", "My child has a fever?"), ("right, complete and clear", "正确、完整、清楚")
    flaws, worst = ("Does the answer have this flaw?", "回答有没有这个缺陷？"), ("wrong, or about", "错误或答非所问")
    for ballot in ("flaw:no|yes", "likert:bad|fair|good", "score:0-1"):
        made = study(app, "score", [Content(item, (Response.say("q", "a", "Twenty tablets."),))], name=ballot,
                     ballot=ballot, criterion="The answer gives a dangerous dose.", votes=2)  # fmt: skip
        for place, language in enumerate(("en", "zh")):
            with signed_in(app, f"Anna {ballot} {language}", "annotator") as visitor:
                page = html.unescape(visitor.get(f"/work/{made.id}", headers={"accept-language": language}).text)
            assert "Twenty tablets." in page
            assert (merits[place] in page) == (ballot == "score:0-1")
            assert (flaws[place] in page) == (ballot == "flaw:no|yes")
            anchors = re.findall(r'<span class="anchor">([^<]+)<', page)
            assert len(anchors) == (2 if ballot == "score:0-1" else 0)
            assert all(text.startswith(worst[place]) for text in anchors[:1]), "no middle takes the place of an end"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_people_and_critic_score_by_one_rubric(app, annotator, language):
    """Every anchor and every task's rules in the critic's prompt are on the page of the person who scores."""
    critic = build_critic_from_spec("offline:canned", {"language": language, "text": "-"})
    annotator.headers["Accept-Language"] = language
    rules_of_tasks = set()
    for task in RULES:
        item = Item.ask("item-number", "How many?", reference="five", tags={"task": task})
        case = Case(item, (Response.say("item-number", "alpha", "four"),), Score(1, 10))
        prompt = "\n".join(parts_text(turn.parts) for turn in critic.prompt(case).turns)
        sent = [
            (mark, line["meaning"])
            for line in re.finditer(r"^(\d+)(?: (?:or|或) (\d+))?(?: 分)?[:：] *(?P<meaning>.+)$", prompt, re.MULTILINE)
            for mark in line.groups()[:2]
            if mark
        ]
        assert [mark for mark, _ in sent] == [str(mark) for mark in range(1, 11)]
        task_content = replace(content("score"), item=item)
        options = {"paper": "alignmmbench"}
        made = study(app, "score", [task_content], ballot="score:1-10", name=f"{language} {task}", options=options)
        page = html.unescape(annotator.get(f"/work/{made.id}").text)
        anchors = re.findall(r'<span class="anchor">([^<]+)', page)
        assert [meaning.endswith(anchor) for (_, meaning), anchor in zip(sent, anchors, strict=True)] == [True] * 10
        cut = {meaning.removesuffix(anchor) for (_, meaning), anchor in zip(sent, anchors, strict=True)}
        assert all(not beginning or beginning.startswith(("about the question", "与问题有关")) for beginning in cut)
        assert len({anchor[:12] for anchor in anchors}) == 7, "labels of different meaning differ at once"
        (rules,) = re.findall(r'<p class="criterion-rules">([^<]+)', page)
        assert rules in prompt
        rules_of_tasks.add(rules)
    assert len(rules_of_tasks) == 12, "both kinds of dialogue have the same rules"


@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("en", ["Captioning", "Reasoning", "Grounding", "Relationship", "tie"]),
        ("zh", ["描述", "推理", "定位", "关系", "平局"]),
    ],
)
def test_the_page_explains_the_criterion_of_a_peer_review(app, annotator, language, names):
    annotator.headers["Accept-Language"] = language
    for kind in ("pair", "agree"):
        made = study(app, kind, criterion="visual", name=f"{kind} by sight", options={"paper": "upme"})
        page = annotator.get(f"/work/{made.id}").text
        (rules,) = re.findall(r'<p class="criterion-rules">([^<]+)', page)
        assert [name for name in names if name not in rules] == []
        own = study(app, kind, criterion="visual", name=f"own {kind}", guidelines="Look.", options={"paper": "upme"})
        assert "criterion-rules" not in annotator.get(f"/work/{own.id}").text
