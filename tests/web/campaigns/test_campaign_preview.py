"""A campaign before it is created: its first task, its hours and its cost."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import pytest
from playwright.sync_api import expect
from sqlalchemy import delete, func, select

from fullbench import Item, Response
from fullbench.web.accounts.account_and_shared_site_tables import sessions as sessions_table
from fullbench.web.campaigns.campaign_tables import studies
from fullbench.web.campaigns.campaigns import Campaign, CampaignPlan
from fullbench.web.campaigns.create import campaign_from_data, effort_estimate
from fullbench.web.campaigns.create.campaign_from_data import Material
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import read_transaction, write_transaction
from tests.support.annotation_pages import lines, open_step
from tests.support.browser_pages import PATIENCE, new_page
from tests.support.data_builders import png
from tests.web.campaigns.test_whole_campaign_in_browser import COUNT, make_study

WORDS = Content(Item.ask("q", "word " * 114), tuple(Response.say("q", name, "word " * 57) for name in "xy"))


def test_hours_and_pay_come_of_the_votes_and_the_seconds_of_each():
    study = Campaign.from_plan(CampaignPlan("s", "pair", votes=3, most=5, options={"pay": 12.0}))
    takes = effort_estimate.estimate_effort(study, 40, [WORDS])
    assert (takes.tasks, takes.votes, takes.most) == (40, 120, 200)
    assert takes.seconds == pytest.approx(60 + 5)  # 228 words are a minute; then the decision
    assert takes.hours == (pytest.approx(120 * 65 / 3600), pytest.approx(200 * 65 / 3600))
    assert takes.cost == (pytest.approx(12 * 120 * 65 / 3600), pytest.approx(12 * 200 * 65 / 3600))
    by_votes = effort_estimate.estimate_effort(study, 40, [WORDS], [10, 20, 30, 40, 50], pay=0)
    assert (by_votes.seconds, by_votes.cost) == (30, (0, 0))
    assert effort_estimate.estimate_effort(study, 40, [WORDS], [10, 20]).seconds == pytest.approx(
        65
    )  # two votes say too little


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
    assert "which was not uploaded" in organiser.post("/organise/new/sketch", data=fields, files=files).text
    with read_transaction(app.state.engine) as connection:
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
    study = Campaign.from_plan(CampaignPlan("s", "pair"))
    (drawn,) = campaign_from_data.plan_tasks(study, material).contents
    names = {response.contestant for response in drawn.responses}
    others = [row for row in files["gold"] if set(row["contestants"]) != names]
    paths["gold"].write_bytes(lines(others).read())
    tasks = campaign_from_data.plan_tasks(study, replace(material, gold=paths["gold"]))
    assert tasks.contents == [drawn]
    assert len(tasks.known_tasks["gold"]) == 2


def test_the_form_draws_the_first_task_as_it_is_filled_in(live, browser, axe, tmp_path):
    context = browser.new_context(base_url=live.url, viewport={"width": 1440, "height": 900})
    context.add_cookies([live.cookie("Olga", "organiser")])
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    make_study(page, tmp_path, votes="2", most="4", pay="15")
    page.locator("#pay").press("Tab")
    page.wait_for_selector(".previewed .candidate", state="attached")
    assert page.locator(".forecast:visible dd").all_inner_texts()[:2] == [str(COUNT), f"{2 * COUNT} – {4 * COUNT}"]
    assert "15" in page.locator(".forecast").inner_text()
    open_step(page, 3)
    page.fill("#criterion", "counting")
    page.locator("#criterion").press("Tab")
    open_step(page, 4)
    page.wait_for_selector(".previewed .criterion:has-text('counting')")
    assert page.locator(".previewed img").evaluate("one => one.decode().then(() => one.naturalWidth)") == 480
    assert "model-" not in page.locator("#sketched").inner_text()
    assert axe(page) == []
    # What is larger than the form may be is said before it is sent, and what was typed stays.
    large = [{"name": f"p{number}.png", "mimeType": "image/png", "buffer": b"0" * 9_000_000} for number in range(3)]
    page.set_input_files("#pictures", large)
    page.click("text=Make the campaign")
    page.wait_for_selector("#refused:has-text('MB')")
    assert page.input_value("#criterion") == "counting"
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


CSV_ITEMS = (
    'id,question,pictures,tags\nq0,How many?,p0.png,"{""task"": ""count""}"\nq1,"Where, then?","[""p1.png""]",\n'
)
CSV_RESPONSES = "item,contestant,text\n" + "".join(f"q{n},{who},answer of {who}\n" for n in (0, 1) for who in "xyz")


@pytest.mark.parametrize("way", ["form", "zip", "folder"])
def test_tables_with_pictures_make_a_study(app, organiser, way):
    """Items and responses as CSV: one by one, in a zip file, and as a folder; gold answers as a table too."""
    sheets = {
        "items": CSV_ITEMS,
        "responses": CSV_RESPONSES,
        "gold": 'item,contestants,marks\nq0,"[""x"", ""y""]","[1, 0]"\n',
    }
    fields = {"csrf": organiser.token(), "kind": "pair", "name": way, "votes": "2", "stage": "open"}
    files = [(name, (f"{name}.csv", text)) for name, text in sheets.items()]
    shown = {f"p{number}.png": png((number, 90, 90)) for number in (0, 1)}
    if way == "form":
        files += [("pictures", (name, data)) for name, data in shown.items()]
    else:
        whole = {**{f"{name}.csv": text.encode() for name, text in sheets.items()}, **shown}
        if way == "zip":
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                for name, data in whole.items():
                    archive.writestr(f"study/{name}", data)
            whole = {"study.zip": packed.getvalue()}
        fields["upload"] = "ab" * 16
        for name, data in whole.items():
            where = {"path": name if way == "zip" else f"study/{name}", "at": 0, "size": len(data)}
            sent = organiser.post(f"/organise/uploads/{fields['upload']}", params=where, content=data,
                                  headers={"X-CSRF-Token": fields["csrf"]})  # fmt: skip
            assert sent.status_code == 200, sent.text
        files = [("separate", ("", b""))]
    made = organiser.post("/organise/new", data=fields, files=files)
    assert made.status_code == 303, made.text
    page = organiser.get(made.headers["location"]).text
    assert "0 / 10" in page  # two pairs of q0 and three of q1, two votes each; the third of q0 is known
    assert "1 known answers" in page


def test_a_mistake_in_the_form_loses_no_file_and_a_new_session_no_work(live, browser, axe):
    context = browser.new_context(base_url=live.url, viewport={"width": 1366, "height": 768})
    context.add_cookies([live.cookie("Olga", "organiser")])
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto("/organise/new?kind=pair")
    page.fill("#name", "by hand")
    broken = CSV_ITEMS.replace("p0.png", "away.png")
    page.set_input_files("#items", {"name": "items.csv", "mimeType": "text/csv", "buffer": broken.encode()})
    page.set_input_files("#responses", {"name": "r.csv", "mimeType": "text/csv", "buffer": CSV_RESPONSES.encode()})
    open_step(page, 4)
    page.click("text=Make a draft")
    page.wait_for_selector("#refused:has-text('away.png')")
    assert axe(page) == []
    chosen = "() => [...document.querySelectorAll('#items, #responses')].map(one => one.files.length)"
    assert page.evaluate(chosen) == [1, 1]
    plain = CSV_ITEMS.replace(",p0.png", ",").replace('"[""p1.png""]"', "")
    page.set_input_files("#items", {"name": "items.csv", "mimeType": "text/csv", "buffer": plain.encode()})
    with write_transaction(live.engine) as connection:
        connection.execute(delete(sessions_table))
    page.click("text=Make a draft")
    page.wait_for_selector("#refused:has-text('Sign in again')")
    context.add_cookies([live.cookie("Olga the second", "organiser")])
    with new_page(page):
        page.click("text=Make a draft")
    assert page.inner_text("main .flash:visible") == "The draft is made: 6 tasks, 18 votes."
    context.close()


def test_a_folder_is_drawn_when_it_is_there(live, browser, tmp_path):
    context = browser.new_context(base_url=live.url)
    context.add_cookies([live.cookie("Olga", "organiser")])
    context.set_default_timeout(PATIENCE)
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "items.csv").write_text(CSV_ITEMS)
    (folder / "responses.csv").write_text(CSV_RESPONSES)
    for number in (0, 1):
        (folder / f"p{number}.png").write_bytes(png((number, 90, 90)))
    page = context.new_page()
    page.goto("/organise/new?kind=rank")
    page.set_input_files("#folder", str(folder))
    page.wait_for_selector(".previewed .candidate >> nth=2", state="attached")
    assert page.locator(".forecast dd").first.inner_text() == "2"
    page.fill("#name", "a folder")
    open_step(page, 4)
    with new_page(page):
        page.click("text=Make the campaign")
    page.goto(page.url + "/preview")
    assert page.locator(".asked img").evaluate("one => one.decode().then(() => one.naturalWidth)") > 0
    context.close()


def test_pictures_are_matched_by_the_last_part_of_their_path(organiser):
    fields = {"csrf": organiser.token(), "kind": "pair", "name": "s"}
    answers = [{"item": name, "contestant": who, "text": who} for name in ("q0", "q1") for who in "xy"]

    def preview(*paths: str) -> str:
        items = [{"id": f"q{n}", "question": "How many legs?", "pictures": [path]} for n, path in enumerate(paths)]
        files = [
            ("items", ("items.jsonl", lines(items))),
            ("responses", ("responses.jsonl", lines(answers))),
            ("pictures", ("a.png", png((9, 9, 9)), "image/png")),
            ("pictures", ("b.png", png((1, 2, 3)), "image/png")),
        ]
        return organiser.post("/organise/new/sketch", data=fields, files=files).text

    shown = preview("pictures/a.png", "C:\\data\\b.png")
    assert "<img" in shown
    assert "<dd>2</dd>" in shown  # tasks
    assert "Two pictures in different folders have the same file name" in preview("one/a.png", "two/a.png")
    assert "which was not uploaded" in preview("a.png", "pictures/c.png")


def test_the_preview_follows_while_somebody_types(live, browser):
    context = browser.new_context(base_url=live.url, viewport={"width": 1366, "height": 768})
    context.add_cookies([live.cookie("Olga", "organiser")])
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto("/organise/new?kind=pair")
    answers = [{"item": "q", "contestant": name, "text": name} for name in "wxyz"]
    for name, rows in (("items", [{"id": "q", "question": "How many legs?"}]), ("responses", answers)):
        page.set_input_files(
            f"#{name}", {"name": f"{name}.jsonl", "mimeType": "text/plain", "buffer": lines(rows).read()}
        )
    tasks = page.locator("#totals .forecast dd").first
    expect(tasks).to_have_text("6")
    open_step(page, 2)
    page.locator("#per_item").focus()
    page.keyboard.type("2")
    expect(tasks).to_have_text("2")
    assert page.evaluate("document.activeElement.id") == "per_item"  # the field still has the focus
    context.close()


def test_the_four_steps_by_keyboard_with_what_is_missing_said_where_it_is(live, browser, axe):
    """Enter leads on, a field that is missing is shown in its step, and the last step repeats what was chosen."""
    context = browser.new_context(base_url=live.url, viewport={"width": 390, "height": 844})
    context.add_cookies([live.cookie("Olga", "organiser")])
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto("/organise/new?kind=score")
    shown = page.locator(".step-part:visible")
    for name, rows in (("items", [{"id": "q", "question": "How many legs?"}]),
                       ("responses", [{"item": "q", "contestant": who, "text": who} for who in "xyz"])):  # fmt: skip
        page.set_input_files(
            f"#{name}", {"name": f"{name}.jsonl", "mimeType": "text/plain", "buffer": lines(rows).read()}
        )
    page.locator("#name").press("Enter")
    assert shown.get_attribute("id") == "step-1", "a campaign needs a name"
    open_step(page, 4)
    page.click("text=Make a draft")
    page.wait_for_selector("#step-1.now")
    assert page.evaluate("document.activeElement.id") == "name"
    page.keyboard.type("legs")
    page.keyboard.press("Enter")
    page.wait_for_selector("#step-2.now")
    page.fill("#pay", "12")
    page.locator("#pay").press("Enter")
    page.wait_for_selector("#step-3.now")
    page.go_back()
    page.wait_for_selector("#step-2.now")
    open_step(page, 4)
    chosen = page.locator("#chosen div").all_inner_texts()
    assert [" ".join(row.split()) for row in chosen if row.startswith(("Name", "Pay"))] == [
        "Name legs Change",
        "Pay for an hour, if you pay 12 Change",
    ]
    expect(page.locator("#totals .forecast dd").first).to_have_text("3")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    with new_page(page):
        page.click("text=Make a draft")
    assert page.inner_text("main .flash:visible") == "The draft is made: 3 tasks, 9 votes."
    assert wrong == []
    context.close()
