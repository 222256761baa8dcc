"""Tasks are counted before they are created, refused above the limit, and created in batches that survive a kill."""

from __future__ import annotations

import http.cookiejar
import io
import json
import random
import re
import secrets
import sqlite3
import urllib.parse
import urllib.request
import zipfile
from contextlib import closing, suppress
from itertools import combinations

import pytest
from sqlalchemy import func, select

from fullbench import Item, Response
from fullbench.core.ballot import ballot
from fullbench.core.case import cases
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.web.accounts import api_tokens, users
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_tables import conflicts, creation_parts, creations, slots, tasks
from fullbench.web.campaigns.campaigns import Campaign, CampaignPlan
from fullbench.web.campaigns.create import campaign_from_data, resumable_task_creation
from fullbench.web.campaigns.create.campaign_from_data import Material
from fullbench.web.campaigns.create.lazy_lists_of_possible_tasks import PairSequence, build_tasks, name_of
from fullbench.web.campaigns.create.storable_task_plan import TaskPlan
from fullbench.web.campaigns.tasks.task_kinds import kind_of
from fullbench.web.database import metadata, read_transaction, write_transaction
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from tests.support.annotation_pages import lines
from tests.support.campaign_tasks import add_known_tasks, add_tasks
from tests.support.commands import call
from tests.support.forked_command import ForkedCommand
from tests.support.wait_until import until
from tests.web.campaigns.conftest import pair, study_of
from tests.web.conftest import PASSWORD, Visitor, person, start_live

MANY = 3_000
SENTENCE = "This campaign would have 4,498,500 tasks; the limit is 200,000."
NAMES = [f"model-{number:03}" for number in range(110)]
"""110 contestants make 5,995 pairs, with 11,990 slots."""


def rows_of(names) -> tuple[list[dict], list[dict]]:
    answers = [{"item": "q", "contestant": name, "text": f"{name} says"} for name in names]
    return [{"id": "q", "question": "Which?"}], answers


def zipped(names) -> bytes:
    items, answers = rows_of(names)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("items.jsonl", lines(items).read())
        target.writestr("responses.jsonl", lines(answers).read())
    return packed.getvalue()


def counts(engine) -> dict[str, int]:
    """The number of rows of every table that a study could leave something in."""
    names = ("studies", "tasks", "slots", "guidelines", "campaign_items", "conflicts", "creations", "creation_parts")
    with read_transaction(engine) as connection:
        return {name: count_rows(connection, metadata.tables[name]) for name in names}


def count_rows(connection, table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


@pytest.fixture
def built(monkeypatch):
    """How many tasks were built: the contents of tasks are counted as they are made."""
    made = []
    usual = campaign_from_data.Content.__init__
    monkeypatch.setattr(
        campaign_from_data.Content, "__init__", lambda self, *a, **k: (made.append(1), usual(self, *a, **k))[1]
    )
    return made


def test_an_upload_of_4_5_million_pairs_is_refused_on_the_page_and_the_site_answers(app, organiser, built):
    fields = {"csrf": organiser.token(), "name": "too many", "kind": "pair", "upload": "abcdefgh12345678"}
    data = zipped([f"m{number}" for number in range(MANY)])
    where = f"/organise/uploads/{fields['upload']}?path=all.zip&at=0&size={len(data)}"
    assert organiser.post(where, content=data, headers={"x-csrf-token": fields["csrf"]}).status_code == 200
    before = counts(app.state.engine)
    sketch = organiser.post("/organise/new/sketch", data=fields)
    assert SENTENCE in sketch.text
    for stage in ("open", "draft"):
        refused = organiser.post("/organise/new", data={**fields, "stage": stage})
        assert refused.status_code == 422
        assert SENTENCE in refused.text
        assert "--task-limit" in refused.text
    assert counts(app.state.engine) == before
    assert built == []
    person(app, "Ann", "annotator")
    with Visitor(app) as visitor:
        answer = visitor.submit("/login", {"name": "Ann", "password": PASSWORD})
    assert answer.status_code == 303
    # The way out that the sentence names: a few pairs of each item, of which only these are built.
    drawn = organiser.post("/organise/new/sketch", data={**fields, "per_item": "7"})
    assert "<dd>7</dd>" in drawn.text
    assert len(built) < 50
    made = organiser.post("/organise/new", data={**fields, "per_item": "7"})
    assert made.status_code == 303
    assert counts(app.state.engine)["tasks"] == 7


def test_the_api_refuses_it_with_the_same_sentence(app, client, built):
    secret = token(app, "Olga")
    items, answers = rows_of([f"m{number}" for number in range(MANY)])
    wish = {"name": "too many", "kind": "pair", "items": items, "responses": answers}
    refused = client.post("/api/v1/studies", json=wish, headers={"Authorization": f"Bearer {secret}"})
    assert refused.status_code == 400
    assert refused.json()["detail"].startswith(SENTENCE)
    assert (counts(app.state.engine)["studies"], built) == (0, [])


def test_the_command_refuses_it_with_exit_code_2_and_the_limit_can_be_raised(tmp_path):
    for name, rows in zip(("items", "responses"), rows_of([f"m{number}" for number in range(MANY)]), strict=True):
        (tmp_path / f"{name}.jsonl").write_bytes(lines(rows).read())
    add = ["people", "add", "many", "--kind", "pair", "--items", tmp_path / "items.jsonl"]
    add += ["--responses", tmp_path / "responses.jsonl", "--data", tmp_path / "data"]
    code, done = call(*add)
    assert code == 2
    assert SENTENCE in " ".join(done.stderr.split())
    database = sqlite3.connect(tmp_path / "data" / "web.sqlite")
    assert [database.execute(f"SELECT count(*) FROM {name}").fetchone() for name in ("studies", "tasks")] == [(0,)] * 2
    database.close()
    code, done = call(*add, "--limit", "30", "--task-limit", "29")
    assert (code, "would have 30 tasks; the limit is 29" in " ".join(done.stderr.split())) == (2, True)
    code, done = call(*add, "--limit", "30", "--task-limit", "30")
    assert (code, "30 tasks" in done.output) == (0, True)


def test_a_command_that_was_killed_can_be_resumed_or_cancelled(tmp_path):
    for name, rows in zip(("items", "responses"), rows_of([f"m{number}" for number in range(150)]), strict=True):
        (tmp_path / f"{name}.jsonl").write_bytes(lines(rows).read())
    words = ["--kind", "pair", "--items", "items.jsonl", "--responses", "responses.jsonl", "--votes", "1"]
    for name in ("resumed", "cancelled"):
        process = ForkedCommand(["people", "add", name, *words, "--data", "data"], folder=tmp_path)
        until(lambda name=name: created_tasks(tmp_path, name) > 0)
        process.kill()
        process.communicate()
        assert process.returncode == -9
        assert 0 < created_tasks(tmp_path, name) < 11_175
    site = ["--data", tmp_path / "data"]
    assert call("people", "cancel", "cancelled", *site)[0] == 0
    assert call("people", "open", "resumed", *site)[0] == 0
    assert created_tasks(tmp_path, "resumed") == 150 * 149 // 2
    code, done = call("people", "list", *site)
    assert (code, "resumed" in done.output, "cancelled" in done.output) == (0, True, False)
    code, done = call("people", "cancel", "resumed", *site)
    assert (code, "nothing to cancel" in done.output) == (2, True)


def created_tasks(folder, name: str) -> int:
    """Count the tasks of a study in the file of the site's database."""
    path = folder / "data" / "web.sqlite"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as plain, suppress(sqlite3.OperationalError):
        sql = "SELECT count(*) FROM tasks JOIN studies ON studies.id = tasks.study WHERE studies.name = ?"
        return plain.execute(sql, (name,)).fetchone()[0]
    return 0


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_counted_and_drawn_as_if_all_had_been_built(seed):
    """Contestants with several, missing and repeated samples, compared with the cases that judges get."""
    draw = random.Random(seed)
    item = Item.ask("q", "?")
    answers = [
        Response("q", f"c{number}", (f"{number} {sample} {at}",), sample=sample)
        for number in range(draw.randint(0, 7))
        for at, sample in enumerate(draw.choices(range(4), k=draw.randint(1, 4)))
    ]
    by_name: dict[str, list[Response]] = {}
    for answer in answers:
        by_name.setdefault(answer.contestant, []).append(answer)
    every = [case.responses for case in cases([item], answers, ballot("choice+tie"), size=2, orders="sorted")]
    pairs = PairSequence(by_name)
    assert (len(pairs), list(pairs), [pairs[at] for at in range(len(pairs))]) == (len(every), every, every)
    for one, other in combinations(sorted(by_name), 2):
        assert pairs.pairs_between(other, one) == [two for two in every if [r.contestant for r in two] == [one, other]]
    wanted = draw.randint(1, 5)
    drawn = list(build_tasks(kind_of("pair"), "choice+tie", [item], answers, per_item=wanted, seed=seed))
    lot = random.Random(digest([seed, "q"]))
    assert [one.responses for one in drawn] == (lot.sample(every, wanted) if wanted < len(every) else every)


def test_known_answers_count_and_a_limit_of_tasks_is_respected(tmp_path):
    items, answers = rows_of("abcde")
    gold = [{"item": "q", "contestants": ["a", "b"], "marks": [1, 0]}]
    for name, rows in (("items", items), ("responses", answers), ("gold", gold)):
        (tmp_path / f"{name}.jsonl").write_bytes(lines(rows).read())
    material = Material(tmp_path / "items.jsonl", (tmp_path / "responses.jsonl",), gold=tmp_path / "gold.jsonl")
    study = Campaign.from_plan(CampaignPlan("s", "pair"))
    with pytest.raises(campaign_from_data.InputError, match="would have 10 tasks; the limit is 9"):
        campaign_from_data.plan_tasks(study, material, 9)
    every = campaign_from_data.plan_tasks(study, material, 10)
    assert (len(every.contents), len(every.known_tasks["gold"])) == (9, 1)
    few = campaign_from_data.plan_tasks(study, Material(**{**vars(material), "limit": 3}), 4)
    assert few.omitted_counts.option["omitted"] | {"drawn": 3, "drawn_of": 9} == few.omitted_counts.option["omitted"]
    assert {name_of(one) for one in few.contents} < {name_of(one) for one in every.contents}


def test_too_many_pairs_to_keep_apart_are_refused_before_they_are_built(engine, tmp_path):
    items = [{"id": f"q{number}", "question": "?", "reference": "r", "tags": {"seed": "s"}} for number in range(100)]
    (tmp_path / "items.jsonl").write_bytes(lines(items).read())
    material = Material(tmp_path / "items.jsonl", conflict_tag="seed")
    with pytest.raises(campaign_from_data.InputError, match="4,950 pairs of tasks apart; the limit is 500"):
        campaign_from_data.prepare_campaign(engine, CampaignPlan("s", "verify"), material, 100)
    assert len(campaign_from_data.prepare_campaign(engine, CampaignPlan("s", "verify"), material, 990).pairs) == 4950


def planned_study(engine, count: int = 40, *, draft: bool = True, **plan) -> tuple[Campaign, TaskPlan]:
    """A study whose tasks are about to be created in batches: 3 with a known answer, and `count` to work on."""
    wanted = CampaignPlan("large", "pair", votes=2, **plan)
    known = {"gold": [(pair(f"gold-{number}"), {"best": 0}) for number in range(3)]}
    task_plan = TaskPlan.from_contents(
        Campaign.from_plan(wanted), known.items(), [pair(f"item-{number}") for number in range(count)]
    )
    with write_transaction(engine) as connection:
        study = campaigns.create_campaign(connection, wanted, draft=True)
        finishing = resumable_task_creation.Finishing(not draft, [("item-0", "item-1")])
        assert resumable_task_creation.create_tasks(connection, study, task_plan, finishing) is None
    resumable_task_creation.store_large_plan(engine, study.id, task_plan)
    return study, task_plan


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr("fullbench.web.campaigns.create.resumable_task_creation.AT_ONCE", 0)
    monkeypatch.setattr("fullbench.web.campaigns.create.storable_task_plan.BATCH_ROWS", 21)  # 7 tasks with 2 slots each


def drawn_order(connection, study: str) -> list[tuple[str, str, float]]:
    query = select(tasks.c.role, tasks.c.content, slots.c.lot).outerjoin(slots, slots.c.task == tasks.c.id)
    query = query.where(tasks.c.study == study).order_by(tasks.c.place, slots.c.id)
    return [(row.role, row.content["item"]["id"], row.lot) for row in connection.execute(query)]


def test_an_interrupted_creation_gives_the_same_tasks_and_lots(engine, small_batches, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda _: "same")
    study, _ = planned_study(engine, draft=False)
    for _ in range(4):  # each step by another process
        assert resumable_task_creation.CreationRun(engine, study.id).step()
        with read_transaction(engine) as connection:
            far = resumable_task_creation.progress_of(connection, study.id)
            assert count_rows(connection, tasks) == far.created_count
            assert campaigns.get_campaign(connection, study.id).stage == "creating"
            with pytest.raises(campaign_from_data.InputError, match="still being created"):
                campaigns.refuse_unfinished(campaigns.get_campaign(connection, study.id))
    assert (far.created_count, far.total) == (24, 43)
    assert str(far.note) == "24 of 43 tasks created."
    resumable_task_creation.run_creation(engine, study.id, lambda _: False)
    with write_transaction(engine) as connection:
        resumed = drawn_order(connection, study.id)
        done = campaigns.get_campaign(connection, study.id)
        assert (done.stage, done.golds, done.has_conflicts) == ("open", 3, True)
        assert count_rows(connection, conflicts) == 2
        assert (count_rows(connection, creations), count_rows(connection, creation_parts)) == (0, 0)
        for table in reversed(metadata.sorted_tables):
            if table.name not in {"audit", "site"}:
                connection.execute(table.delete())
        whole = campaigns.create_campaign(connection, CampaignPlan("large", "pair", votes=2))
        add_known_tasks(connection, whole, [(pair(f"gold-{n}"), {"best": 0}) for n in range(3)], "gold")
        add_tasks(connection, whole, [pair(f"item-{number}") for number in range(40)])
        assert drawn_order(connection, whole.id) == resumed


def test_two_processes_do_not_create_a_task_twice(engine, small_batches):
    study, plan = planned_study(engine)
    one, other = (
        resumable_task_creation.CreationRun(engine, study.id),
        resumable_task_creation.CreationRun(engine, study.id),
    )
    assert one.step()
    assert other.step()
    assert not one.step()  # the other one is at work
    while other.step():
        pass
    with read_transaction(engine) as connection:
        items = [content["item"]["id"] for content in connection.execute(select(tasks.c.content)).scalars()]
        assert sorted(items) == sorted({*items})
        assert len(items) == plan.count
        assert campaigns.get_campaign(connection, study.id).stage == "draft"


def test_a_cancelled_creation_leaves_nothing(engine, small_batches):
    before = counts(engine)
    study, _ = planned_study(engine)
    work = resumable_task_creation.CreationRun(engine, study.id)
    for _ in range(3):
        work.step()
    with write_transaction(engine) as connection:
        resumable_task_creation.cancel_creation(connection, study.id)
    while work.step():
        pass
    assert counts(engine) == before


def test_a_large_study_of_the_form_the_api_and_a_pilot(app, organiser, small_batches, monkeypatch):
    """Each is created by the thread of the app, and open to nobody before."""
    items, answers = rows_of(NAMES[:12])
    files = {"items": ("items.jsonl", lines(items)), "responses": ("responses.jsonl", lines(answers))}
    fields = {"csrf": organiser.token(), "name": "by form", "kind": "pair", "votes": "2", "most": "2"}
    made = organiser.post("/organise/new", data=fields, files=files)
    assert made.status_code == 303
    page = made.headers["location"]
    until(lambda: "creation" not in (text := organiser.get(page).text) and "tasks created." not in text)
    with read_transaction(app.state.engine) as connection:
        study = campaigns.campaign_by_name(connection, "by form")
    assert study.stage == "open"
    assert organiser.submit(f"{page}/pilot", {"tasks": "5"}).status_code == 303
    until(lambda: stage_of(app.state.engine, "by form (pilot)") == "pilot")
    secret = token(app, "Otto")
    wish = {"name": "by api", "kind": "pair", "items": items, "responses": answers}
    shown = organiser.post("/api/v1/studies", json=wish, headers={"Authorization": f"Bearer {secret}"})
    assert shown.status_code == 201
    until(lambda: stage_of(app.state.engine, "by api") == "open")
    with read_transaction(app.state.engine) as connection:
        assert count_rows(connection, tasks) == 66 + 5 + 66


def token(app, name: str) -> str:
    user = person(app, name, "organiser")
    with write_transaction(app.state.engine) as connection:
        return api_tokens.create_token(connection, user, "test", "write")[1]


def stage_of(engine, name: str) -> str:
    with read_transaction(engine) as connection:
        return campaigns.campaign_by_name(connection, name).stage


class Caller:
    """A script with a token of the API, or a browser with a session, at a real server."""

    def __init__(self, live, name: str, role: str) -> None:
        self.live, self.name = live, name
        self.session = live.cookie(name, role)
        with write_transaction(live.engine) as connection:
            self.secret = api_tokens.create_token(
                connection, users.find_user_for_sign_in(connection, name)[0], "test", "write"
            )[1]

    def api(self, path: str, body: dict | None = None) -> dict:
        headers = {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.live.url}/api/v1{path}", data, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def page(self, path: str, fields: dict | None = None) -> str:
        """A page, or what a form of it leads to."""
        headers = {"Cookie": f"{self.session['name']}={self.session['value']}"}
        data = None
        if fields is not None:
            token = re.search(r'<meta name="csrf" content="([0-9a-f]{64})">', self.page("/organise"))[1]
            data = urllib.parse.urlencode({"csrf": token, **fields}).encode()
        request = urllib.request.Request(f"{self.live.url}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def vote(self, study: str) -> None:
        task = self.api(f"/studies/{study}/next", {})["task"]
        kept = self.api(
            f"/studies/{study}/votes", {"lease": task["lease"], "key": secrets.token_hex(8), "fields": {"best": "0"}}
        )
        assert kept["revision"] == 1


def sign_in(url: str, name: str) -> bool:
    """Sign in with the password, in a new browser; whether a session came of it."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with browser.open(f"{url}/login", timeout=60) as page:
        token = re.search(r'<meta name="csrf" content="([0-9a-f]{64})">', page.read().decode())[1]
    data = urllib.parse.urlencode({"csrf": token, "name": name, "password": PASSWORD}).encode()
    with browser.open(f"{url}/login", data, timeout=60):
        return SESSION in {cookie.name for cookie in jar}


def test_people_work_while_tasks_are_created_and_neither_a_kill_nor_a_cancel_leaves_half_a_study(tmp_path):
    live = start_live(tmp_path)
    try:
        small = study_of(live.engine, 60)
        lead, ann = Caller(live, "Olga", "organiser"), Caller(live, "Ann", "annotator")
        items, answers = rows_of(NAMES)
        wish = {"kind": "pair", "votes": 2, "items": items, "responses": answers}

        # Cancelled in the middle: nothing remains.
        before = counts(live.engine)
        cancelled = lead.api("/studies", {**wish, "name": "cancelled"})
        assert cancelled["stage"] == "creating"
        until(lambda: 0 < created_of(lead, cancelled["id"]) < 5_995)
        lead.page(f"/organise/{cancelled['id']}/throw-away", {})
        until(lambda: counts(live.engine) == before)

        # Others sign in and vote in between.
        study = lead.api("/studies", {**wish, "name": "large"})["id"]
        events = []
        while not events or events[-1] < 5_995 // 2:
            events.append(created_of(lead, study))
            assert sign_in(live.url, "Ann")
            ann.vote(small.id)
            assert [one["name"] for one in ann.api("/studies")["rows"] if one["state"] == "open"] == ["pairs"]
            shown = re.search(r"([\d,]+) of 5,995 tasks created\.", lead.page(f"/organise/{study}"))
            events.append(int(shown[1].replace(",", "")))
        partial = [count for count in events if 0 < count < 5_995]
        assert events == sorted(events)
        assert len({*partial}) > 2, "nothing was created between two votes"
    finally:
        live.process.kill()
        live.process.wait(timeout=120)
        live.engine.dispose()

    again = start_live(tmp_path)
    try:
        with read_transaction(again.engine) as connection:
            assert 0 < count_rows(connection, tasks) < 5_995 + 60
        until(lambda: stage_of(again.engine, "large") == "open")
        with read_transaction(again.engine) as connection:
            query = select(tasks.c.id, tasks.c.content).where(tasks.c.study == study).order_by(tasks.c.place)
            rows = connection.execute(query).all()
            lots = connection.execute(
                select(slots.c.task, slots.c.lot).where(slots.c.study == study).order_by(slots.c.id)
            ).all()
    finally:
        again.process.terminate()
        again.process.wait(timeout=120)
        again.engine.dispose()
    shown = [tuple(answer["contestant"] for answer in row.content["responses"]) for row in rows]
    assert shown == list(combinations(NAMES, 2))
    draw = random.Random(f"0 {study}")
    assert [tuple(slot) for slot in lots] == [(row.id, draw.random()) for row in rows for _ in range(2)]


def created_of(lead: Caller, study: str) -> int:
    return lead.api(f"/studies/{study}")["tasks"]
