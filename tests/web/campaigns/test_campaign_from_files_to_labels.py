"""A campaign from files and from a ledger: its numbers, its labels, and the way back."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from sqlalchemy import select

from fullbench import Item, Picture, Response, Score, Verdict
from fullbench.core.case import Case
from fullbench.files.row_readers import read_rows
from fullbench.ledger.ledger import Ledger
from fullbench.web.accounts.account_and_shared_site_tables import users
from fullbench.web.app import create_app
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.votes import vote_export
from fullbench.web.campaigns.votes.counted_vote_loader import task_contents
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.results import hidden_cases_and_results
from fullbench.web.results.catalogue.catalogue_board_and_page_updater import update_catalogue
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.annotation_pages import field, lines, vote
from tests.support.data_builders import png
from tests.web.conftest import signed_in

ITEMS = [{"id": f"q{n}", "question": f"What is {n}? 几？", "pictures": ["a.png"]} for n in range(4)]
ANSWERS = [
    {"item": f"q{n}", "contestant": name, "text": f"{word} {n}"}
    for n in range(4)
    for name, word in (("blue-model", "perhaps"), ("red-model", "surely"))
]


def send(organiser, items=ITEMS, answers=ANSWERS, extra=(), **fields):
    """Fill in the form of a new study."""
    files = [("items", ("items.jsonl", lines(items))), ("responses", ("responses.jsonl", lines(answers)))]
    files += [("pictures", ("a.png", BytesIO(png()))), *extra]
    data = {"csrf": organiser.token(), "name": "from files", "kind": "pair", "votes": "2", "most": "3", **fields}
    return organiser.post("/organise/new", data=data, files=files)


def prefer(visitor, made, word):
    """Vote for whichever answer begins with the word, on everything there is."""
    import re

    while 'name="lease"' in (page := visitor.get(f"/work/{made}")).text:
        order = re.findall(r"(perhaps|surely) \d", page.text)
        sent = {name: field(page, name) for name in ("lease", "key", "replaces")}
        answer = visitor.submit(f"/work/{made}/vote", {**sent, "best": str(order.index(word)), "seconds": "4"})
        assert answer.status_code == 303


@pytest.fixture
def settings(database, tmp_path):
    with Ledger(tmp_path / "site.ledger"):
        pass
    return Settings(database, str(tmp_path / "site.ledger"), data=tmp_path / "data")


def test_from_files_to_labels_and_into_the_ledger(app, organiser, settings, tmp_path):
    gold = [{"item": "q3", "contestants": ["blue-model", "red-model"], "marks": [0, 1]}]
    made = send(organiser, extra=[("gold", ("gold.jsonl", lines(gold)))], gold_every="2")
    assert made.status_code == 303, made.text
    page = made.headers["location"]
    study = page.rpartition("/")[2]
    people = {name: signed_in(app, name, "annotator") for name in ("安", "bob", "eve")}
    picture = people["安"].get(f"/work/{study}").text.split("/pictures/")[1][:64]
    assert people["安"].get(f"/pictures/{picture}").headers["content-type"] == "image/png"
    prefer(people["安"], study, "surely")
    prefer(people["bob"], study, "perhaps")
    assert "3 / 3" not in organiser.get(page).text
    prefer(people["eve"], study, "surely")
    board = organiser.get(page).text
    assert "9 / 9" in board
    assert "3 / 3" in board
    assert "red-model" in board
    assert "Krippendorff" in board
    assert organiser.get(f"{page}/tasks").text.count(">red-model</td>") == 6
    rows = [json.loads(line) for line in organiser.get(f"{page}/votes.jsonl").text.splitlines()]
    work = [row for row in rows if row["role"] == "work"]
    assert len(work) == 9
    with read_transaction(app.state.engine) as connection:
        ids = {row.name: row.rater for row in connection.execute(select(users.c.name, users.c.rater))}
    assert {row["judge"] for row in work} == {"human"}
    assert {row["rater"] for row in work} == {ids["安"], ids["bob"], ids["eve"]}
    for row in work:
        wins = dict(zip(row["contestants"], row["marks"], strict=True))
        assert wins["red-model"] == (0 if row["rater"] == ids["bob"] else 1)
    assert [row["right"] for row in rows if row["role"] == "gold" and row["rater"] == ids["bob"]] in ([], [False])
    parquet = organiser.get(f"{page}/votes.parquet")
    (tmp_path / "votes.parquet").write_bytes(parquet.content)
    assert len(list(read_rows(tmp_path / "votes.parquet"))) == len(rows)
    kept = organiser.submit(f"{page}/keep", {})
    assert kept.status_code == 303
    with Ledger(settings.ledger, read_only=True) as ledger:
        record = ledger.record()
        assert ledger.verify() == []
    assert record.judges == ["human"]
    assert {verdict.rater for verdict in record} == {ids["安"], ids["bob"], ids["eve"]}
    assert {verdict.circumstances.blind for verdict in record} == {True}
    wins = {name: [] for name in ids}
    for verdict in record:
        name = next(name for name, rater in ids.items() if rater == verdict.rater)
        wins[name].append(dict(zip(verdict.contestants, verdict.marks, strict=True))["red-model"])
    assert {name: some for name, some in wins.items() if some} == {"安": [1] * 3, "bob": [0] * 3, "eve": [1] * 3}
    assert "9 were there" in organiser.get(organiser.submit(f"{page}/keep", {}).headers["location"]).text


def test_cases_are_withheld_until_the_end(app, organiser, settings):
    study = send(organiser, votes="2", most="2").headers["location"].rpartition("/")[2]
    ann, bob, vic = (
        signed_in(app, name, role) for name, role in (("a", "annotator"), ("b", "annotator"), ("v", "viewer"))
    )
    prefer(ann, study, "surely")
    organiser.submit(f"/organise/{study}/keep")
    with Ledger(settings.ledger, read_only=True) as ledger:
        cases = [verdict.case for verdict in ledger.record()]

    def sees(visitor):
        with read_transaction(app.state.engine) as connection:
            hidden_keys = hidden_cases_and_results.hidden_case_keys(connection, visitor and visitor.user, cases)
            return [case not in hidden_keys for case in cases]

    with Ledger(settings.ledger, read_only=True) as ledger:
        update_catalogue(app.state.engine, ledger)
    assert sees(organiser) == [True] * 4
    assert sees(ann) == sees(bob) == sees(vic) == sees(None) == [False] * 4
    vote(bob, type("Made", (), {"id": study}), {"best": "0"})
    assert sees(bob) == [False] * 4, "neither does who has voted"
    organiser.submit(f"/organise/{study}/state", {"to": "closed"})
    assert sees(bob) == sees(vic) == sees(None) == [True] * 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"items": [{"id": "q0", "question": "?", "pictures": ["../../../etc/passwd"]}]}, "which was not uploaded"),
        ({"items": [{"id": "q0", "question": "?", "image": "/etc/hostname"}]}, "which was not uploaded"),
        ({"items": [{"id": "q0", "turns": '[{"role":"user","parts":[{"picture":"/etc/hostname"}]}]'}]}, "as a text"),
        ({"items": [{"id": "q0", "turns": [{"role": "user", "parts": [{"picture": "/x"}]}]}]}, "not uploaded"),
        ({"answers": [{"item": "q9", "contestant": "x", "text": "?"}]}, "not among"),
        ({"votes": "0"}, "1 to 100"),
        ({"kind": "score", "ballot": "choice"}, "score"),
        ({"kind": "nothing"}, "unknown kind"),
        ({"name": " "}, "needs a name"),
        ({"extra": [("gold", ("g", lines([{"item": "zz", "contestants": ["a", "b"], "marks": [0, 1]}])))]}, "no task"),
        ({"extra": [("pictures", ("b.png", BytesIO(b"<html>")))]}, ""),
    ],
)
def test_what_does_not_fit_is_said_and_nothing_is_made(app, organiser, change, said):
    answer = send(organiser, **change)
    if said:
        assert answer.status_code == 422
        assert said in answer.text
        with read_transaction(app.state.engine) as connection:
            assert campaigns.list_campaigns(connection) == []


def test_a_picture_that_is_html_is_refused(app, organiser):
    page = b"<html><script>alert(1)</script></html>"
    answer = send(
        organiser,
        [{"id": "q0", "question": "?", "pictures": ["a.html"]}],
        ANSWERS[:2],
        [("pictures", ("a.html", BytesIO(page)))],
    )
    assert answer.status_code == 422
    assert "not a picture" in answer.text


def test_from_a_ledger(database, tmp_path):
    item = Item.ask("q1", "What is it?", Picture.from_bytes(png()))
    answers = [Response.say("q1", name, f"{name} says") for name in ("one", "two", "three")]
    case = Case(item, (answers[0],), Score(1, 5))
    with Ledger(tmp_path / "l") as ledger:
        for one in answers:
            ledger.add_response(item, one)
        ledger.add(case, Verdict.from_case(case, "hidden-judge", (4,), text="It is long. [[4]]"))
        ledger.add(case, Verdict.from_case(case, "a-metric", (2,), text="0.2222 1.0000"))
    app = create_app(Settings(database, str(tmp_path / "l"), data=tmp_path / "data"))
    organiser, ann = signed_in(app, "o", "organiser"), signed_in(app, "a", "annotator")
    for kind, text in (("pair", "says"), ("agree", "It is long. [[4]]"), ("rank", "says")):
        made = organiser.post(
            "/organise/new", data={"csrf": organiser.token(), "name": kind, "kind": kind}, files={"x": b""}
        )
        page = ann.get(made.headers["location"].replace("organise", "work"))
        assert text in page.text
        assert "hidden-judge" not in page.text
        digest = page.text.split("/pictures/")[1][:64]
        assert ann.get(f"/pictures/{digest}").status_code == 200
        left_out = "1 verdict with numbers as" in organiser.get(made.headers["location"]).text
        assert left_out is (kind == "agree")
    named = {"csrf": organiser.token(), "name": "named", "kind": "agree", "judges": "a-metric"}
    made = organiser.post("/organise/new", data=named, files={"x": b""})
    assert "0.2222" in ann.get(made.headers["location"].replace("organise", "work")).text
    app.state.ledger.close()
    app.state.engine.dispose()


def test_only_organisers_organise(app, organiser, annotator, viewer):
    page = send(organiser).headers["location"]
    for path in ("/organise", "/organise/new", page, f"{page}/board", f"{page}/tasks", f"{page}/votes.jsonl"):
        assert organiser.get(path).status_code == 200
        assert annotator.get(path).status_code == viewer.get(path).status_code == 403
    for path in ("state", "keep", "guidelines", "members", "settings", "group", "group/end", "group/release"):
        assert annotator.submit(f"{page}/{path}").status_code == 403


def test_guidelines_members_and_state(app, organiser, annotator):
    page = send(organiser).headers["location"]
    study = page.rpartition("/")[2]
    organiser.submit(f"{page}/guidelines", {"guidelines": "Look <i>twice</i>."})
    assert "Look &lt;i&gt;twice&lt;/i&gt;." in annotator.get(f"/work/{study}").text
    assert organiser.submit(f"{page}/members", {"person": annotator.user.id, "to": "failed"}).status_code == 303
    held = annotator.get(f"/work/{study}")
    vote(annotator, type("Made", (), {"id": study}), {"best": "0"})
    assert "not open to you" in annotator.get(f"/work/{study}").text
    assert 'name="lease"' in held.text
    assert organiser.submit(f"{page}/members", {"person": "nobody", "to": "failed"}).status_code == 404
    organiser.submit(f"{page}/state", {"to": "closed"})
    assert "closed" in annotator.get(f"/work/{study}").text


def test_what_people_write_becomes_items_and_answers_a_queue(app, organiser, annotator, tmp_path):
    from tests.support.annotation_pages import study

    made = study(app, "write")
    vote(annotator, made, {"instruction": "数一数", "caption": "Three cats."})
    reworded = study(app, "rewrite")
    vote(annotator, reworded, {"same": "yes", "text": "What do you see here?"})
    with write_transaction(app.state.engine) as connection:
        item = next(vote_export.written_items(connection, made))
        row = next(vote_export.queue_answer_rows(connection, reworded))
    assert (item.question, item.captions, len(item.pictures)) == ("数一数", ("Three cats.",), 1)
    assert (row["same"], row["text"], row["seed"]) == ("yes", "What do you see here?", "item-number")


def test_pictures_that_people_bring_and_references_that_compete(app, organiser, annotator):
    """By the forms alone: the picture comes as a file, the reference plays as one more contestant."""
    made = send(organiser, kind="write", texts_instruction="yes", texts_picture="yes")
    study = studies_of(app, made)
    page = annotator.get(f"/work/{study.id}")
    assert 'enctype="multipart/form-data"' in page.text
    sent = {name: field(page, name) for name in ("lease", "key", "replaces")}
    own = png((4, 5, 6))
    answer = annotator.submit(f"/work/{study.id}/vote", {**sent, "instruction": "数"}, files={"file": ("a.png", own)})
    assert answer.status_code == 303, answer.text
    with write_transaction(app.state.engine) as connection:
        item = next(vote_export.written_items(connection, study, vote_export.picture_finder(app.state.settings)))
    assert ([picture.data() for picture in item.pictures], item.question) == ([own], "数")
    with_reference = [{**item, "reference": f"right {place}"} for place, item in enumerate(ITEMS)]
    plain, more = (
        studies_of(app, send(organiser, items=with_reference, name=name, kind="pair", **fields))
        for name, fields in (("plain", {}), ("more", {"with_reference": "yes"}))
    )
    with write_transaction(app.state.engine) as connection:
        names = [
            {answer["contestant"] for _, content in task_contents(connection, one) for answer in content["responses"]}
            for one in (plain, more)
        ]
    assert names[1] - names[0] == {"reference"}
    refused = send(organiser, items=with_reference, name="both", kind="pair", with_reference="yes", reference="yes")
    assert "cannot compete" in refused.text


def studies_of(app, made):
    """The study that a form made."""
    with write_transaction(app.state.engine) as connection:
        return campaigns.get_campaign(connection, made.headers["location"].rpartition("/")[2])


@pytest.mark.parametrize("kind", ["pair", "score"])
def test_the_page_of_a_study_after_its_first_vote(app, organiser, annotator, kind):
    """One vote gives no interval yet; the page says so instead of failing."""
    made = send(organiser, kind=kind, ballot={"pair": "choice+tie", "score": "score:1-5"}[kind])
    study = made.headers["location"].rpartition("/")[2]
    page = annotator.get(f"/work/{study}")
    sent = {name: field(page, name) for name in ("lease", "key", "replaces")}
    answer = {"best": "0"} if kind == "pair" else {"mark": "4", "reason": "因为"}
    assert annotator.submit(f"/work/{study}/vote", {**sent, **answer}).status_code == 303
    shown = organiser.get(f"/organise/{study}")
    assert shown.status_code == 200
    assert "one item" in shown.text
