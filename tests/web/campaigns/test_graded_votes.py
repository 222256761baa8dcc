"""Graded choices on the annotation page: one key a vote, in a real browser and in any order of the responses."""

from __future__ import annotations

import re

import pytest

from fullbench import Case, GradedChoice, InputError, Item, Response, Verdict, ballot
from fullbench.core.verdict import PEOPLE
from fullbench.files.item_response_verdict_files import read_verdicts
from fullbench.ledger.ledger import Ledger
from fullbench.web.app import create_app
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.create.task_inputs import split_known_tasks
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kind_base import Rules
from fullbench.web.campaigns.tasks.task_kinds import Pair
from fullbench.web.campaigns.votes.counted_vote_loader import load_counted_votes
from fullbench.web.campaigns.votes.leaderboard_and_task_list import label_text
from fullbench.web.campaigns.votes.progress_annotator_agreement_and_joined_votes import agreement_table, task_items
from fullbench.web.campaigns.votes.vote_export import export_to_ledger, picture_finder
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.annotation_pages import leases, moved_on, study, vote
from tests.support.campaign_tasks import add_known_tasks, add_tasks
from tests.support.commands import write_rows
from tests.support.wait_until import until
from tests.web.campaigns.conftest import pair
from tests.web.conftest import signed_in

FIVE = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
MARKS = dict(zip(FIVE, (1.0, 0.75, 0.5, 0.25, 0.0), strict=True))


@pytest.mark.parametrize("spec", ["choice:4", "choice:5", "choice:6", "choice:7"])
@pytest.mark.parametrize("display_order", [[0, 1], [1, 0]])
def test_a_level_is_kept_by_the_task_and_shown_by_the_page(spec, display_order):
    rules, kind = Rules(spec), Pair()
    form = rules.form
    assert isinstance(form, GradedChoice)
    for step in form.steps:
        sent = {"best": form.token(step)}
        answer = kind.read(sent, rules, display_order)
        assert kind.fields(answer, display_order) == sent
        in_task = step if display_order == [0, 1] else -step
        assert kind.marks(kind.label(answer), rules, 2) == form.marks_of(in_task)
    for wrong in ("", "tie", "0", "A>>>>B", "A=B" if not form.tie else "C>A"):
        with pytest.raises(InputError, match="by how much"):
            kind.read({"best": wrong}, rules, display_order)


def turned(level: str) -> str:
    """The same level with the two responses in the other order."""
    return dict(zip(FIVE, reversed(FIVE), strict=True))[level]


def test_one_key_says_how_much_better_in_a_real_browser(desk, axe):
    """Five tasks, five keys: every level, as this person saw the two responses, is in the ledger; words in Chinese."""
    path = desk.study(count=5, ballot="choice:5", criterion="detail")
    page = desk.open(path)
    assert axe(page) == []
    points = page.locator(".bar .choice")
    assert [text.split("\n")[0].strip() for text in points.all_inner_texts()] == [
        "A is much better 1", "A is better 2", "a tie 3", "B is better 4", "B is much better 5",
    ]  # fmt: skip
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1366, "height": 768})
    told = []
    for key in "12345":
        lease = leases(page)
        told.append((page.locator(".candidate").first.inner_text(), FIVE[int(key) - 1]))
        page.keyboard.press(key)
        if key == "1":
            page.wait_for_function("() => !document.getElementById('toast').hidden")
            assert page.locator("#toast b").inner_text() == "A is much better"
        if key != "5":
            moved_on(page, lease)
    rows = until(lambda: rows if len(rows := desk.cast()) == 5 else None)
    for (first, level), row in zip(told, rows, strict=True):
        assert row.answer == {"level": level if "the first answer" in first else turned(level)}
    chinese = desk.browser.new_context(base_url=desk.live.url, locale="zh-CN")
    chinese.add_cookies([desk.live.cookie("小红", "annotator")])
    other = chinese.new_page()
    with write_transaction(desk.live.engine) as connection:
        seven = campaigns.create_campaign(connection, campaigns.CampaignPlan("seven", "pair", ballot="choice:7"))
        add_tasks(connection, seven, [pair("item-0")])
    other.goto(f"/work/{seven.id}")
    other.wait_for_selector(".task")
    texts = [re.sub(r"\s*\d$", "", text.strip()) for text in other.locator(".bar .choice").all_inner_texts()]
    assert texts == ["A 好得多", "A 更好", "A 略好", "平局", "B 略好", "B 更好", "B 好得多"]
    chinese.close()
    listed = desk.context.new_page()
    listed.goto(f"{path}/votes")
    assert all(level in listed.content() for level in ("A&gt;&gt;B", "A=B", "B&gt;&gt;A"))
    with Ledger(desk.folder / "votes.ledger") as ledger, read_transaction(desk.live.engine) as connection:
        made = campaigns.get_campaign(connection, path.rpartition("/")[2])
        export_to_ledger(connection, made, ledger, picture_finder(desk.live.settings, ledger))
        ledger.flush()
        verdicts = list(ledger.verdicts([PEOPLE]))
    shares = sorted(dict(zip(verdict.contestants, verdict.marks, strict=True))["model-one"] for verdict in verdicts)
    assert shares == sorted(MARKS[row.answer["level"]] for row in rows)
    assert {(verdict.ballot, verdict.criterion) for verdict in verdicts} == {("choice:5", "detail")}


def test_several_people_agree_by_level(app):
    """Three people on four tasks: ordinal alpha, names in what leads see, a known answer, a vote without a level."""
    contents = [pair(f"item-{number}") for number in range(4)]
    made = study(app, "pair", contents, ballot="choice:5", votes=3)
    with write_transaction(app.state.engine) as connection:
        add_known_tasks(connection, made, [(pair("gold"), {"level": "A>>B"})], "gold")
    people = [signed_in(app, name, "annotator") for name in ("ann", "bo", "小红")]
    given: dict[tuple[str, str], str] = {}
    for person, levels in zip(people, (("A>>B", "A=B"), ("A>B", "A=B"), ("A>>B", "B>A")), strict=True):
        for _ in range(6):
            page = person.get(f"/work/{made.id}")
            if "All done" in page.text:
                break
            name = re.search(r"What is ([\w-]+)\?", page.text)[1]
            level = "A>>B" if name == "gold" else levels[int(name[-1]) % 2]
            is_turned = page.text.index(">second<") < page.text.index(">first<")
            shown = turned(level) if is_turned else level
            if not given:
                assert vote(person, made, {"best": "tie"}).status_code == 422
            assert vote(person, made, {"best": shown}).status_code == 303
            given[name, person.user.name] = level
    assert len(given) >= 12
    with read_transaction(app.state.engine) as connection:
        counted = load_counted_votes(connection, made)
        items = task_items(connection, made)
        table = agreement_table(made, [one for one in counted if one.label is not None], items)
        texts = {label_text(made, contents[0], one.label) for one in counted}
    assert texts >= {"model-one is much better", "a tie"}
    assert "ordinal" in str(table.rows[0][0])
    assert sorted(items.values()) == [f"item-{number}" for number in range(4)]
    found = table.rows[0][1].value
    units = {}
    for (name, _), level in given.items():
        if name != "gold":
            units.setdefault((name, 0), []).append(MARKS[level])
            units.setdefault((name, 1), []).append(1 - MARKS[level])
    assert found == pytest.approx(alpha(list(units.values())))


def alpha(units: list[list[float]]) -> float:
    """Krippendorff's alpha, ordinal, over pairs of values."""
    values = [mark for unit in units for mark in unit]
    marks = sorted(set(values))

    def distance(x: float, y: float) -> float:
        low, high = sorted((x, y))
        return (sum(low <= m <= high for m in values) - (values.count(low) + values.count(high)) / 2) ** 2

    n = len(values)
    seen = sum(distance(x, y) / (len(unit) - 1) for unit in units for x in unit for y in unit) / n
    chance = sum(values.count(x) * values.count(y) * distance(x, y) for x in marks for y in marks) / (n * (n - 1))
    return 1 - seen / chance


def test_known_answers_come_from_labels(tmp_path):
    """A label names the level with its own order of the two; the known answer has the task's."""
    on = {"ballot": "choice:7"}
    rows = [
        {"item": "item-0", "model_a": "model-two", "model_b": "model-one", "winner": "A>>>B", **on},
        {"item": "item-1", "contestants": ["model-one", "model-two"], "marks": [0.33, 0.67], **on},
    ]
    labels = read_verdicts(write_rows(tmp_path / "gold.jsonl", rows))
    split = split_known_tasks(Pair(), [pair(f"item-{number}") for number in range(3)], labels)
    assert [(content.item.id, answer) for content, answer in split.known_tasks] == [
        ("item-0", {"level": "B>>>A"}), ("item-1", {"level": "B>A"}),
    ]  # fmt: skip
    assert [content.item.id for content in split.work] == ["item-2"]


def test_a_pair_of_three_is_refused(app):
    item = Item.ask("q", "What?")
    three = tuple(Response.say("q", name, name) for name in "abc")
    with write_transaction(app.state.engine) as connection:
        made = campaigns.create_campaign(connection, campaigns.CampaignPlan("three", "pair", ballot="choice:5"))
        with pytest.raises(InputError, match="takes 2 responses; found 3"):
            add_tasks(connection, made, [Content(item, three)])


def test_a_vote_on_a_case_of_the_results_site(tmp_path, database):
    """The case page of a judge's graded verdict takes a level, in words, and writes its marks."""
    place = tmp_path / "site.ledger"
    item = Item.ask("q", "What is it?")
    case = Case(item, (Response.say("q", "ant", "an ant"), Response.say("q", "bee", "a bee")), ballot("choice:7"))
    with Ledger(place) as ledger:
        ledger.add(item)
        for response in case.responses:
            ledger.add_response(item, response)
        ledger.add(case, Verdict.from_case(case, "gpt", ballot("choice:7").marks_of(-2), text="[[B>>A]]"))
    app = create_app(Settings(database, ledger=str(place), data=tmp_path / "data"))
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    with signed_in(app, "ann", "annotator") as ann:
        page = ann.get(f"/cases/{case.key}")
        label = r'name="level" value="(-?\d)"[^>]*>.*?(slightly better|better|much better|ahead)</label>'
        values = re.findall(label, page.text)
        assert values == [
            ("3", "much better"), ("2", "better"), ("1", "slightly better"), ("0", "ahead"), ("-1", "slightly better"),
            ("-2", "better"), ("-3", "much better"),
        ]  # fmt: skip
        assert ann.submit(f"/cases/{case.key}/vote", {"level": "5"}).status_code == 400
        assert ann.submit(f"/cases/{case.key}/vote", {"level": "-1"}).status_code == 303
        rater = ann.user.rater
    app.state.engine.dispose()
    with Ledger(place, read_only=True) as ledger:
        (told,) = (one for one in ledger.verdicts([PEOPLE]) if one.rater == rater)
    assert told.marks == pytest.approx((1 / 3, 2 / 3))
