"""A whole campaign in a real browser: a lead and three annotators, one by keys alone, one cut off."""

from __future__ import annotations

import re

import pytest
from PIL import Image, ImageDraw

from fullbench.ledger.ledger import Ledger
from fullbench.web.campaigns.campaign_tables import slots, votes
from fullbench.web.database import read_transaction
from tests.support.annotation_pages import leases, lines, moved_on, open_step
from tests.support.browser_pages import PATIENCE, follow
from tests.support.campaign_tasks import add_tasks
from tests.web.conftest import start_live
from tests.web.screenshots import shoot

COUNT = 4


@pytest.fixture
def site(request, tmp_path):
    """A real server with a ledger, on the database that the test is given."""
    url = request.getfixturevalue("postgres").database() if request.param == "postgresql" else None
    with Ledger(tmp_path / "site.ledger"):
        pass
    served = start_live(tmp_path, "--ledger", str(tmp_path / "site.ledger"), database=url)
    yield served
    served.process.terminate()
    served.process.wait(timeout=120)
    served.engine.dispose()


@pytest.fixture
def enter(site, browser):
    """`enter(name, role)`: a browser of somebody's own."""
    contexts = []

    def enter(name, role):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=site.url)
        contexts.append(context)
        context.add_cookies([site.cookie(name, role)])
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.wrong = []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("console", lambda said: page.wrong.append(said.text) if "Content Security" in said.text else None)
        return page

    yield enter
    for context in contexts:
        context.close()


def picture(folder, number):
    """A few discs to count."""
    image = Image.new("RGB", (480, 300), (246, 244, 238))
    draw = ImageDraw.Draw(image)
    for place in range(number + 2):
        left = 40 + 80 * place
        draw.ellipse((left, 110, left + 60, 170), fill=(36, 87, 197) if place % 2 else (200, 80, 40))
    image.save(folder / f"p{number}.png")
    return folder / f"p{number}.png"


def make_study(boss, folder, **fields):
    """Fill in the form of a new study, in the browser."""
    items = [
        {"id": f"q{n}", "question": "How many discs are there? 有几个圆？", "pictures": [f"p{n}.png"]}
        for n in range(COUNT)
    ]
    answers = [
        {"item": f"q{n}", "contestant": who, "text": text}
        for n in range(COUNT)
        for who, text in (
            ("model-red", f"There are {n + 2} discs."),
            ("model-blue", "I see many discs in the picture."),
        )
    ]
    (folder / "items.jsonl").write_bytes(lines(items).read())
    (folder / "responses.jsonl").write_bytes(lines(answers).read())
    boss.goto("/organise")
    boss.click("text=New campaign")
    boss.wait_for_selector(".kinds")
    follow(boss, boss.locator("a[href='/organise/new?kind=pair']"))
    boss.fill("#name", "Which answer is better?")
    boss.set_input_files("#items", folder / "items.jsonl")
    boss.set_input_files("#responses", folder / "responses.jsonl")
    boss.set_input_files("#pictures", [picture(folder, n) for n in range(COUNT)])
    open_step(boss, 3)
    boss.fill(
        "#guidelines", "# Be fair\n\nCount **first**, then read both answers.\n- right beats wrong\n- short beats long"
    )
    open_step(boss, 2)
    for name, value in fields.items():
        boss.fill(f"#{name}", value)


def choose(page, words):
    """Press the digit of the answer that begins so."""
    texts = page.locator(".candidate").all_inner_texts()
    place = next(at for at, text in enumerate(texts) if words in text)
    page.keyboard.press(str(place + 1))


def counted(site):
    from sqlalchemy import select

    with read_transaction(site.engine) as connection:
        query = select(votes).join(slots, (slots.c.id == votes.c.slot) & (slots.c.revision == votes.c.revision))
        return connection.execute(query).all()


@pytest.mark.parametrize("site", ["postgresql"], indirect=True)
def test_a_study_of_four_people(site, enter, axe, tmp_path):
    boss = enter("Olga", "organiser")
    make_study(boss, tmp_path, votes="3", most="5")
    assert axe(boss) == []
    boss.select_option("#settled_by", "all")
    boss.wait_for_selector("#totals .forecast")
    shoot(boss, "work-new", height=760)
    open_step(boss, 4)
    boss.click("text=Make the campaign")
    boss.wait_for_selector("#board")
    path = "/work/" + boss.url.rpartition("/")[2]
    keys, offline, mouse = enter("Kim", "annotator"), enter("王芳", "annotator"), enter("Max", "annotator")
    for page in (keys, offline, mouse):
        page.goto(path)
        page.wait_for_selector(".task")
        assert "model-" not in page.content()
    assert axe(keys) == []
    shoot(keys, "work-pair")

    # By keys alone; the help, the zoom, and one vote changed.
    keys.keyboard.press("?")
    assert keys.locator("#keys").get_attribute("open") is not None
    keys.keyboard.press("z")
    keys.wait_for_selector("#lightbox[open]")
    keys.keyboard.press("Escape")
    first = leases(keys)
    choose(keys, "There are")
    keys.keyboard.press("Enter")
    moved_on(keys, first)
    keys.keyboard.press("u")
    keys.wait_for_url(f"**{path}/votes/{first}")
    keys.wait_for_selector("input[name=best]:checked", state="attached")
    keys.keyboard.press("3")
    keys.keyboard.press("Enter")
    keys.wait_for_url(f"**{path}")
    for _ in range(COUNT - 1):
        now = leases(keys)
        choose(keys, "There are")
        keys.keyboard.press("Enter")
        moved_on(keys, now)
    keys.wait_for_selector("#nothing")
    assert len(counted(site)) == COUNT

    # The connection is lost in the middle: what is loaded ahead can be voted on, and the votes wait.
    offline.wait_for_function(
        "() => performance.getEntriesByType('resource').filter(e => e.name.includes('/next')).length >= 2"
    )
    offline.wait_for_load_state("networkidle")
    offline.context.set_offline(True)
    for _ in range(2):
        now = leases(offline)
        choose(offline, "There are")
        offline.keyboard.press("Enter")
        moved_on(offline, now)
    offline.wait_for_function("() => document.getElementById('status').textContent.includes('No connection')")
    shoot(offline, "work-offline")
    offline.keyboard.press("r")
    offline.keyboard.type("half a sentence 半句")
    assert len(counted(site)) == COUNT
    offline.context.set_offline(False)
    offline.wait_for_function("() => !Object.keys(localStorage).some(k => k.includes('.vote.'))")
    assert len(counted(site)) == COUNT + 2
    offline.reload()
    assert offline.input_value("textarea[name=reason]") == "half a sentence 半句"
    for _ in range(COUNT - 2):
        now = leases(offline)
        choose(offline, "There are")
        offline.keyboard.press("Escape")
        offline.keyboard.press("Enter")
        moved_on(offline, now)
    offline.wait_for_selector("#nothing")

    # By mouse, and of another opinion on one task.
    for turn in range(COUNT):
        now = leases(mouse)
        texts = mouse.locator(".candidate").all_inner_texts()
        want = "many" if turn == 0 else "There are"
        place = next(at for at, text in enumerate(texts) if want in text)
        mouse.locator(f"input[name=best][value='{place}']").click()  # one click is the vote
        moved_on(mouse, now)
    mouse.wait_for_selector("#nothing")
    assert len(counted(site)) == 3 * COUNT

    # The organiser's page followed without a reload; disagreement on two tasks brings a fourth person.
    boss.wait_for_function("() => document.getElementById('board').textContent.includes('12 / 1')")
    before = boss.locator("#board").inner_text()
    fourth = enter("Dora", "annotator")
    fourth.goto(path)
    done = 0
    while fourth.locator(".task").count():
        now = leases(fourth)
        choose(fourth, "There are")
        fourth.keyboard.press("Enter")
        moved_on(fourth, now)
        done += 1
    assert 1 <= done <= 2
    boss.wait_for_function("before => document.getElementById('board').innerText !== before", arg=before)
    assert axe(boss) == []
    shoot(boss, "work-study")
    follow(boss, boss.locator("text=Task by task"))
    assert axe(boss) == []
    boss.go_back()

    # Closed, and into the ledger, where people are judges: the leaderboard that somebody has open moves.
    reader = enter("Vera", "viewer")
    with reader.expect_response(lambda response: "/events" in response.url):
        reader.goto("/")
    assert "model-red" not in reader.locator("main").inner_text()
    follow(boss, boss.locator("text=Close the campaign"))
    boss.get_by_role("navigation", name="On this page").get_by_role("link", name="Data").click()
    follow(boss, boss.locator("text=Put the votes into the ledger"))
    boss.wait_for_selector(".flash")
    with Ledger(site.settings.data / "site.ledger", read_only=True) as ledger:
        record = ledger.record()
    assert record.judges == ["human"]
    assert len({verdict.rater for verdict in record}) == 4
    assert len(record) == 3 * COUNT + done
    wins = [duel.outcome if duel.first == "model-red" else 1 - duel.outcome for duel in record.matches()]
    assert sum(wins) / len(wins) > 0.8
    reader.wait_for_function("() => document.querySelector('main').innerText.includes('model-red')")
    assert axe(reader) == []
    keys.goto(f"{path}/votes")
    assert axe(keys) == []
    assert keys.locator("tbody tr").count() == COUNT
    assert [page.wrong for page in (boss, keys, offline, mouse, fourth, reader)] == [[]] * 6


@pytest.mark.parametrize("site", ["sqlite"], indirect=True)
def test_a_task_that_comes_while_a_vote_is_on_its_way_stays_in_view(site, enter, tmp_path):
    """The next task is late and the vote later still; the page must not be loaded again under the person's hands."""
    boss = enter("Olga", "organiser")
    make_study(boss, tmp_path, votes="1", most="1")
    open_step(boss, 4)
    boss.click("text=Make the campaign")
    boss.wait_for_selector("#board")
    page = enter("Kim", "annotator")
    page.add_init_script("""
        const real = window.fetch;
        window.fetch = async (address, how) => {
          const late = String(address).includes("/next?") ? 2000 : String(address).endsWith("/vote") ? 4000 : 0;
          await new Promise((done) => setTimeout(done, late));
          return real(address, how);
        };
    """)
    page.goto("/work/" + boss.url.rpartition("/")[2])
    page.wait_for_selector(".task")
    page.evaluate("window.stays = true")
    now = leases(page)
    choose(page, "There are")
    page.keyboard.press("Enter")
    page.wait_for_function("now => (document.querySelector('.task')?.dataset.lease ?? now) !== now", arg=now)
    page.wait_for_function("() => document.getElementById('status').textContent.includes('Saved')")
    page.wait_for_timeout(1_000)
    assert page.evaluate("window.stays") is True
    assert len(counted(site)) == 1


@pytest.mark.parametrize("site", ["sqlite"], indirect=True)
def test_every_kind_by_keys(site, enter, axe, tmp_path):
    """All kinds of task, filled in with the keyboard and looked at with axe."""
    from fullbench.web.campaigns import campaigns
    from fullbench.web.database import write_transaction
    from tests.support.annotation_pages import content

    pressed = {
        "pair": ["ArrowRight"], "score": ["4"], "rank": ["2", "1"], "agree": ["y", "5", "j"], "rate": ["7", "0"],
        "verify": ["y"], "rewrite": ["n"], "write": [],
    }  # fmt: skip
    page = enter("Kim", "annotator")
    for kind, keys in pressed.items():
        with write_transaction(site.engine) as connection:
            made = campaigns.create_campaign(
                connection, campaigns.CampaignPlan(kind, kind, guidelines="# Look\n\nat **all** of it.")
            )
            add_tasks(connection, made, [content(kind)])
        page.goto(f"/work/{made.id}")
        page.wait_for_selector(".task")
        assert axe(page) == [], kind
        if kind == "write":
            page.fill("[name=instruction]", "数一数")
            page.fill("[name=caption]", "One cat.")
            page.keyboard.press("Escape")
        for key in keys:
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        page.wait_for_selector("#nothing")
    said = {re.sub(r"\W", "", str(sorted(row.answer.items()))) for row in counted(site)}
    assert len(counted(site)) == len(pressed)
    assert len(said) == len(pressed)
    assert page.wrong == []
