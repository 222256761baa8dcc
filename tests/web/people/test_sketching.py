"""A study before it is made: the first task as an annotator will see it, and what the study takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import func, select

from fullbench import Item, Response
from fullbench.web.database import reading
from fullbench.web.people import estimating, importing
from fullbench.web.people.content import Content
from fullbench.web.people.importing import Material
from fullbench.web.people.studies import Plan, Study
from fullbench.web.people.tables import studies
from tests.browsing import PATIENCE
from tests.web.people.test_organise import lines
from tests.web.people.test_scenario import COUNT, make_study

WORDS = Content(Item.ask("q", "word " * 114), tuple(Response.say("q", name, "word " * 57) for name in "xy"))


def test_hours_and_pay_come_of_the_votes_and_the_seconds_of_each():
    study = Study.sketched(Plan("s", "pair", votes=3, most=5, options={"pay": 12.0}))
    takes = estimating.forecast(study, 40, [WORDS])
    assert (takes.tasks, takes.votes, takes.most) == (40, 120, 200)
    assert takes.seconds == pytest.approx(60 + 5)  # 228 words are a minute; then the decision
    assert takes.hours == (pytest.approx(120 * 65 / 3600), pytest.approx(200 * 65 / 3600))
    assert takes.cost == (pytest.approx(12 * 120 * 65 / 3600), pytest.approx(12 * 200 * 65 / 3600))
    by_votes = estimating.forecast(study, 40, [WORDS], [10, 20, 30, 40, 50], pay=0)
    assert (by_votes.seconds, by_votes.cost) == (30, (0, 0))
    assert estimating.forecast(study, 40, [WORDS], [10, 20]).seconds == pytest.approx(65)  # two votes say too little


def test_a_sketch_keeps_no_study_and_says_what_is_wrong(app, organiser):
    fields = {"csrf": organiser.token(), "kind": "pair", "name": "", "votes": "2", "most": "2"}
    items = ("items.jsonl", lines([{"id": "q", "question": "How many legs?"}]))
    answers = [{"item": "q", "contestant": name, "text": f"secret {name}"} for name in ("x", "y", "z")]
    files = {"items": items, "responses": ("responses.jsonl", lines(answers))}
    page = organiser.post("/organise/new/sketch", data=fields, files=files).text
    assert "How many legs?" in page
    assert "<dd>3</dd>" in page  # tasks
    assert "<dd>6</dd>" in page  # votes
    files = {"items": ("items.jsonl", lines([{"id": "q", "question": "?", "pictures": ["away.png"]}]))}
    assert "which was not sent along" in organiser.post("/organise/new/sketch", data=fields, files=files).text
    with reading(app.state.engine) as connection:
        assert connection.execute(select(func.count()).select_from(studies)).scalar_one() == 0


def test_answers_are_known_to_pairs_that_the_draw_left_out(tmp_path):
    """One pair of three is drawn for each item, and the answers to two others are known."""
    files = {
        "items": [{"id": "q", "question": "?"}],
        "responses": [{"item": "q", "contestant": name, "text": name} for name in "xyz"],
        "gold": [{"item": "q", "contestants": list(two), "marks": [1, 0]} for two in ("xy", "yz", "xz")],
    }
    for name, rows in files.items():
        (tmp_path / f"{name}.jsonl").write_bytes(lines(rows).read())
    paths = {name: tmp_path / f"{name}.jsonl" for name in files}
    material = Material(items=paths["items"], responses=(paths["responses"],), per_item=1)
    study = Study.sketched(Plan("s", "pair"))
    (drawn,) = importing.planned(study, material).contents
    names = {response.contestant for response in drawn.responses}
    others = [row for row in files["gold"] if set(row["contestants"]) != names]
    paths["gold"].write_bytes(lines(others).read())
    tasks = importing.planned(study, replace(material, gold=paths["gold"]))
    assert tasks.contents == [drawn]
    assert len(tasks.known["gold"]) == 2


def test_the_form_draws_the_first_task_as_it_is_filled_in(live, browser, axe, tmp_path):
    context = browser.new_context(base_url=live.url, viewport={"width": 1440, "height": 900})
    context.add_cookies([live.cookie("Olga", "organiser")])
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    make_study(page, tmp_path, votes="2", most="4", pay="15")
    page.locator("#pay").press("Tab")
    page.wait_for_selector(".previewed .candidate")
    assert page.locator(".previewed img").evaluate("one => one.decode().then(() => one.naturalWidth)") == 480
    assert page.locator(".forecast dd").all_inner_texts()[:2] == [str(COUNT), f"{2 * COUNT} – {4 * COUNT}"]
    assert "15" in page.locator(".forecast").inner_text()
    assert "model-" not in page.locator("#sketched").inner_text()
    page.fill("#criterion", "counting")
    page.locator("#criterion").press("Tab")
    page.wait_for_selector(".previewed .criterion:has-text('counting')")
    assert axe(page) == []
    # What is larger than the form may be is said before it is sent, and what was typed stays.
    large = [{"name": f"p{number}.png", "mimeType": "image/png", "buffer": b"0" * 9_000_000} for number in range(3)]
    page.set_input_files("#pictures", large)
    page.click("text=Make the study")
    page.wait_for_function("() => document.getElementById('sketch-status').textContent.includes('MB')")
    assert page.input_value("#criterion") == "counting"
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
