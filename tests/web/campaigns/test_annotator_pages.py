"""Pages for annotators: blind, shuffled, complete, and nobody else's."""

from __future__ import annotations

import re

import pytest

from fullbench import Item, Picture, Response
from fullbench.web.campaigns.tasks.task_content import Content, parts_json
from tests.support.annotation_pages import PICTURE, field, say, study, vote
from tests.support.data_builders import png
from tests.web.campaigns.conftest import pair
from tests.web.conftest import signed_in

HIDDEN = ("secret-contestant", "another-contestant", "hidden-judge", "item-number")
ANSWERS = {
    "pair": {"best": "0"},
    "score": {"mark": "4", "reason": "mostly right"},
    "rank": {"order": "1,0"},
    "agree": {"agree": "yes", "grade": "4", "hallucination": "no"},
    "rate": {"mark0": "7", "mark1": "10"},
    "verify": {"follows": "no", "fault": "the reference", "complaint": "incomplete"},
    "write": {"instruction": "How many? 几个？", "caption": "One cat."},
    "rewrite": {"same": "yes", "text": "What do you see?"},
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_each_kind_is_shown_blind_filled_in_and_shown_again(app, annotator, kind):
    made = study(app, kind, guidelines="# Be fair\n\nLook at **all** of it. <script>alert(2)</script>")
    page = annotator.get(f"/work/{made.id}")
    assert page.status_code == 200
    assert "What is this? 这是什么？" in page.text
    assert "<strong>all</strong>" in page.text
    assert "<script>alert" not in page.text
    assert not [name for name in HIDDEN if name in page.text]
    lease = field(page, "lease")
    answer = vote(annotator, made, ANSWERS[kind])
    assert (answer.status_code, answer.headers["location"]) == (303, f"/work/{made.id}")
    assert "All done" in annotator.get(f"/work/{made.id}").text
    listed = annotator.get(f"/work/{made.id}/votes").text
    again = annotator.get(f"/work/{made.id}/votes/{lease}").text
    assert not [name for name in HIDDEN if name in listed + again]
    for value in ANSWERS[kind].values():
        assert re.search(
            rf'value="{re.escape(value)}"[^>]*(checked|selected)|>{re.escape(value)}<|name="order" value="{value}"',
            again,
        )


@pytest.mark.parametrize("kind", ["pair", "rate", "agree"])
def test_nearly_equal_answers_show_what_differs_alike_on_both_sides(app, annotator, kind):
    item = Item.ask("item-number", "What is this?")
    texts = ("图中有 **three** red dogs in a row.", "图中有 **four** red dogs in a row.")
    responses = tuple(
        Response(item.id, name, (text, PICTURE, "The end.")) for name, text in zip("ab", texts, strict=True)
    )
    about = {"judged": [parts_json(one.parts) for one in responses], "verdict": "A"}
    judged = Content(item, (say(item, "hidden-judge", "A is better"),), about)
    made = study(app, kind, [judged if kind == "agree" else Content(item, responses)])
    page = annotator.get(f"/work/{made.id}").text
    marks = re.findall(r"<strong>(<mark [^>]*>)(\w+)</mark></strong>", page)
    assert sorted(word for _, word in marks) == ["four", "three"]
    assert len({mark for mark, _ in marks}) == 1
    assert page.count("<mark") == 2
    assert "Hide the marks of what differs" in page
    apart = study(app, "pair", [pair("x", "a cat", "no idea 不知道")], name="separate")
    assert "<mark" not in annotator.get(f"/work/{apart.id}").text


def test_a_sensitive_picture_is_veiled_and_can_be_asked_for(app, annotator):
    """Who is to say which of two pictures is the safe one must be able to look at both."""
    item = Item.ask("item-number", "a street")
    plain, harsh = Picture.from_bytes(png((1, 2, 3))), Picture.from_bytes(png((3, 2, 1)))
    responses = (Response(item.id, "a", (plain,)), Response(item.id, "b", (harsh,), {"sensitive": "yes"}))
    made = study(app, "pair", [Content(item, responses)])
    page = annotator.get(f"/work/{made.id}").text
    assert f"/pictures/{harsh.digest}?veiled=1" in page
    assert f'class="bare" href="/pictures/{harsh.digest}?size=960"' in page
    assert page.count('class="unveil"') == 1
    assert f"/pictures/{plain.digest}?veiled" not in page


def test_the_forms_say_what_is_missing_and_keep_what_is_there(app, annotator):
    made = study(app, "agree")
    answer = vote(annotator, made, {"agree": "yes", "reason": "half a 句子"})
    assert answer.status_code == 422
    assert "grade the reasons" in answer.text
    assert "half a 句子" in answer.text


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("pair", {"best": "2"}),
        ("pair", {"best": "-1"}),
        ("pair", {}),
        ("score", {"mark": "6"}),
        ("score", {"mark": "４"}),
        ("rank", {"order": "0,0"}),
        ("rank", {"order": "0"}),
        ("rank", {}),
        ("rank", {"rank0": "1", "rank1": "1"}),
        ("rate", {"mark0": "7"}),
        ("verify", {"follows": "no"}),
        ("write", {"instruction": "  ", "caption": "x"}),
        ("rewrite", {"same": "yes", "text": ""}),
        ("agree", {"agree": "perhaps", "grade": "1", "hallucination": "no"}),
    ],
)
def test_what_is_not_an_answer_is_refused(kind, wrong):
    from fullbench.errors import InputError
    from fullbench.web.campaigns.tasks.task_kind_base import Rules
    from fullbench.web.campaigns.tasks.task_kinds import kind_of

    chosen = kind_of(kind)
    with pytest.raises(InputError):
        chosen.read(wrong, Rules(chosen.ballot), (1, 0))


def test_a_forced_choice_has_no_tie(app, annotator):
    made = study(app, "pair", ballot="choice")
    assert 'value="tie"' not in annotator.get(f"/work/{made.id}").text
    assert vote(annotator, made, {"best": "tie"}).status_code == 422


def test_the_order_differs_from_person_to_person_and_stays(app):
    made = study(app, "pair", [pair(f"item-{n}") for n in range(12)], votes=2)
    seen = {}
    for name in ("ann", "bob"):
        visitor = signed_in(app, name, "annotator")
        while 'name="lease"' in (page := visitor.get(f"/work/{made.id}")).text:
            question = re.search(r"What is (item-\d+)\?", page.text)[1]
            first = re.search(r"the <mark[^>]*>(first|second)</mark> answer", page.text)[1]
            assert (
                re.search(r"the <mark[^>]*>(first|second)</mark> answer", visitor.get(f"/work/{made.id}").text)[1]
                == first
            )
            seen.setdefault(question, []).append(first)
            assert vote(visitor, made, {"best": "0"}).status_code == 303
    assert len(seen) == 12
    assert {len(set(orders)) for orders in seen.values()} == {1, 2}


def test_another_annotators_things_are_not_found(app, annotator):
    made = study(app, "pair", [pair("one"), pair("two")], votes=2)
    other = signed_in(app, "bob", "annotator")
    lease = field(other.get(f"/work/{made.id}"), "lease")
    assert annotator.get(f"/work/{made.id}/votes/{lease}").status_code == 404
    headers = {"X-CSRF-Token": annotator.token(), "X-Work": "1"}
    sent = {"lease": lease, "key": "k" * 20, "replaces": "0", "best": "0"}
    assert annotator.post(f"/work/{made.id}/vote", data=sent, headers=headers).status_code == 404
    assert annotator.post(f"/work/{made.id}/draft", data=sent, headers=headers).status_code == 404
    assert annotator.get("/work/nothing-like-it").status_code == 404


def test_viewers_do_not_vote(app, viewer, client):
    made = study(app, "pair")
    assert viewer.get(f"/work/{made.id}").status_code == 403
    assert client.get(f"/work/{made.id}").status_code == 303


def test_a_script_gets_an_acknowledgement_and_a_repeated_vote_the_same_one(app, annotator):
    made = study(app, "pair", [pair("one"), pair("two")])
    page = annotator.get(f"/work/{made.id}")
    headers = {"X-CSRF-Token": annotator.token(), "X-Work": "1"}
    sent = {**{name: field(page, name) for name in ("lease", "key", "replaces")}, "best": "0", "seconds": "3.5"}
    path = f"/work/{made.id}/vote"
    assert annotator.post(path, data=sent, headers=headers).json() == {"revision": 1, "again": False}
    assert annotator.post(path, data=sent, headers=headers).json() == {"revision": 1, "again": True}
    assert annotator.post(path, data={**sent, "key": "x" * 20}, headers=headers).json()["revision"] == 2
    ahead = annotator.get(f"/work/{made.id}/next")
    assert field(ahead, "lease") != sent["lease"]
    assert annotator.get(f"/work/{made.id}/next", params={"holding": field(ahead, "lease")}).status_code == 204


def test_a_draft_comes_back_after_a_reload(app, annotator):
    made = study(app, "pair")
    lease = field(annotator.get(f"/work/{made.id}"), "lease")
    headers = {"X-CSRF-Token": annotator.token(), "X-Work": "1"}
    sent = {"lease": lease, "reason": "not yet 完成", "best": "1"}
    assert annotator.post(f"/work/{made.id}/draft", data=sent, headers=headers).status_code == 204
    assert "not yet 完成" in annotator.get(f"/work/{made.id}").text


def test_back_goes_from_vote_to_vote_and_a_change_replaces(app, annotator):
    made = study(app, "pair", [pair("one"), pair("two"), pair("three")])
    for _ in range(2):
        vote(annotator, made, {"best": "0"})
    now = field(annotator.get(f"/work/{made.id}"), "lease")
    first = annotator.get(f"/work/{made.id}/back", params={"from": now}).headers["location"]
    second = annotator.get(f"/work/{made.id}/back", params={"from": first.rpartition("/")[2]}).headers["location"]
    assert len({first, second}) == 2
    page = annotator.get(second)
    sent = {name: field(page, name) for name in ("lease", "key", "replaces")}
    assert sent["replaces"] == "1"
    assert annotator.submit(f"/work/{made.id}/vote", {**sent, "best": "1"}).status_code == 303
    assert 'value="1" data-key="2" data-arrow="ArrowRight" checked' in annotator.get(second).text
