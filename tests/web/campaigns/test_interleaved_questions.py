"""Dialogues and interleaved pictures on the annotation page: every part in its place, captions next to pictures."""

from __future__ import annotations

import html
import re

import pytest

from fullbench import Item, Picture, Response
from fullbench.core.item import Turn
from fullbench.errors import InputError
from fullbench.web import picture_checks_storage_and_serving
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.votes import vote_export
from fullbench.web.database import read_transaction, write_transaction
from tests.support.annotation_pages import study, vote
from tests.support.campaign_tasks import add_tasks
from tests.support.data_builders import png
from tests.web.conftest import add_person, signed_in

PICTURES = [Picture.from_bytes(png(colour)) for colour in ((200, 30, 30), (30, 160, 60), (40, 60, 200))]
TALK = (
    Turn("user", (PICTURES[0], "What is this?")),
    Turn("assistant", ("A red sheet.",)),
    Turn("user", ("And this one?", PICTURES[1], "compared with", PICTURES[2], "please")),
)
CAPTIONS = ("red caption", "green caption", "blue caption")
ORDER = [PICTURES[0].digest, "What is this?", "A red sheet.", "And this one?", PICTURES[1].digest, "compared with",
         PICTURES[2].digest, "please"]  # fmt: skip


def in_order(text, wanted):
    at = 0
    for one in wanted:
        found = text.find(one, at)
        assert found >= 0, (one, text)
        at = found + len(one)


def asked_part(page):
    inside = html.unescape(page.text)
    return inside[inside.index('class="asked') : inside.index('class="bar')]


def test_parts_keep_their_places_for_every_kind_and_through_the_api(app):
    item = Item("talk", TALK, captions=CAPTIONS)
    answers = tuple(Response.say("talk", name, f"it is {name}") for name in ("ann", "bob"))
    for kind in ("pair", "score", "verify"):
        responses = answers if kind == "pair" else answers[:1]
        made = study(app, kind, [Content(item, responses)])
        with signed_in(app, f"Anna {kind}", "annotator") as visitor:
            page = visitor.get(f"/work/{made.id}")
            assert page.status_code == 200
            asked = asked_part(page)
            assert 'class="asked in-place"' in asked, "no style moves a picture from its place"
            in_order(asked, ORDER)
            captions = re.findall(r"(?:red|green|blue) caption", asked)
            assert captions == (list(CAPTIONS) if kind == "verify" else [])
            if kind == "verify":
                in_order(asked, [PICTURES[0].digest, "red caption", "What is this?", PICTURES[1].digest,
                                 "green caption", "compared with", PICTURES[2].digest, "blue caption"])  # fmt: skip
    usual = Item.ask("usual", "What is it?", PICTURES[0])
    made = study(app, "pair", [Content(usual, tuple(Response.say("usual", name, name) for name in ("a", "b")))],
                 name="usual")  # fmt: skip
    with signed_in(app, "Anna usual", "annotator") as visitor:
        assert 'class="asked"' in asked_part(visitor.get(f"/work/{made.id}"))


def test_dialogues_show_each_answer_under_its_turn_and_a_turn_shows_nothing_behind_it(app):
    item = Item("mt", (Turn("user", (PICTURES[0], "What is this?")), Turn("user", ("And this?", PICTURES[1])),
                       Turn("user", ("Compare them.",))))  # fmt: skip
    answers = tuple(
        Response("mt", name, (f"{name} says red", f"{name} says green", f"{name} compares")) for name in ("ann", "bob")
    )
    whole = study(app, "pair", [Content(item, answers)])
    with signed_in(app, "Anna whole", "annotator") as visitor:
        page = html.unescape(visitor.get(f"/work/{whole.id}").text)
        in_order(page, ["Turn 1", PICTURES[0].digest, "What is this?", "Turn 2", "And this?", PICTURES[1].digest,
                        "Turn 3", "Compare them.", "Turn 1", " says red", "Turn 2", " says green", "Turn 3",
                        " compares"])  # fmt: skip
    second = study(app, "pair", [Content(item, answers)], name="second", criterion="turn 2")
    with signed_in(app, "Anna second", "annotator") as visitor:
        page = html.unescape(visitor.get(f"/work/{second.id}").text)
        in_order(
            page, ["Turn 1", "What is this?", "Turn 2", "And this?", "Turn 1", " says red", "Turn 2", " says green"]
        )
        assert "Compare them." not in page
        assert " compares" not in page
        assert "Turn 3" not in page
        vote(visitor, second, {"best": "0"})
    with read_transaction(app.state.engine) as connection:
        ((_, case, verdict),) = vote_export.vote_verdicts(connection, second)
    assert (verdict.criterion, case.responses[0].parts[-1][4:]) == ("turn 2", "compares"), "the case is the whole one"
    with pytest.raises(InputError, match="people judge one criterion in a campaign"):
        campaigns.CampaignPlan("all", "pair", criterion="each turn")


def test_a_new_text_by_a_person_does_not_move_pictures_of_an_unchanged_question(app):
    from fullbench.web.campaigns.tasks.task_kinds import Write

    item = Item("talk", TALK, captions=CAPTIONS)
    written = Write().item({"instruction": item.question, "caption": "new"}, Content(item), "w")
    assert [turn.parts for turn in written.turns] == [turn.parts for turn in TALK]


def test_a_browser_draws_the_parts_in_their_places(desk):
    """What is seen from top to bottom is the order of the parts: no style moves a picture below the texts."""
    data = [picture.data() for picture in PICTURES]
    with write_transaction(desk.live.engine) as connection:
        owner = add_person(connection, "Olga", "organiser")
        stored = [
            picture_checks_storage_and_serving.store_upload(connection, desk.live.settings, owner, one).picture
            for one in data
        ]
        made = campaigns.create_campaign(connection, campaigns.CampaignPlan("talk", "pair"))
        parts = ("Before.", stored[0], "Between.", stored[1], "Behind.")
        item = Item("talk", (Turn("user", ("Hello.", stored[2])), Turn("user", parts)))
        answers = [Response("talk", name, (f"{name} one", f"{name} two")) for name in ("ann", "bob")]
        add_tasks(connection, made, [Content(item, tuple(answers))])
    page = desk.context.new_page()
    page.goto(f"/work/{made.id}")
    page.wait_for_selector(".asked.in-place")
    tops = page.evaluate(
        """() => [...document.querySelectorAll(".asked .words, .asked img")].map(
            one => [one.getBoundingClientRect().top, one.tagName == "IMG" ? "picture" : one.innerText.trim()])"""
    )
    assert [name for _, name in sorted(tops)] == [
        "Hello.",
        "picture",
        "Before.",
        "picture",
        "Between.",
        "picture",
        "Behind.",
    ]
    headings = page.locator(".candidate h4").all_inner_texts()
    assert headings == ["Turn 1", "Turn 2"] * 2
