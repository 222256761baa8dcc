"""The draw of a campaign's tasks: the same chance for every task, every item and picture its share."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fullbench.core.ballot import Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.campaigns.campaigns import Campaign, CampaignPlan
from fullbench.web.campaigns.create import campaign_from_data
from fullbench.web.campaigns.create.campaign_from_data import Material
from fullbench.web.campaigns.create.lazy_lists_of_possible_tasks import build_tasks, name_of
from fullbench.web.campaigns.create.task_draw import draw_tasks
from fullbench.web.campaigns.tasks.task_kinds import kind_of
from tests.journeys.voting import Site
from tests.support.commands import write_rows
from tests.support.data_builders import png

SIZES = (2, 3, 4, 5, 3)


def all_tasks(per_item: int = 0):
    """Pairs on five items, on which two to five contestants answered: 1, 3, 6, 10 and 3 of them."""
    items = [Item.ask(f"q{number}", f"What is {number}?") for number in range(len(SIZES))]
    answers = [
        Response.say(item.id, name, "text") for item, size in zip(items, SIZES, strict=True) for name in "abcde"[:size]
    ]
    return build_tasks(kind_of("pair"), "choice+tie", items, answers, per_item=per_item, seed=1)


@pytest.mark.parametrize("excluded", [False, True])
def test_every_task_has_the_same_chance_and_every_item_its_share(excluded):
    tasks = all_tasks()
    left_out = {name_of(next(iter(tasks)))} | ({("q3", frozenset("ab"))} if excluded else set())
    left_out = left_out if excluded else set()
    every = [name_of(task) for task in tasks if name_of(task) not in left_out]
    sizes = Counter(item for item, _ in every)
    count, times = 7, Counter()
    for seed in range(1500):
        drawn = draw_tasks(tasks, count, seed, left_out)
        names = [name_of(task) for task in drawn]
        assert len(set(names)) == count
        assert names == [name for name in every if name in names], "in the order of the tasks"
        assert {task.probability for task in drawn} == {count / len(every)}
        shares = Counter(item for item, _ in names)
        for item, size in sizes.items():
            assert abs(shares[item] - size * count / len(every)) < 1
        times.update(names)
    chance = count / len(every)
    expected = 1500 * chance
    assert set(times) == set(every)
    assert max(abs(times[name] - expected) for name in every) < 4.5 * np.sqrt(expected * (1 - chance))


def test_a_draw_is_repeatable_and_multiplies_the_chances_of_an_earlier_one():
    tasks = all_tasks(per_item=2)
    assert draw_tasks(tasks, 4, 5) == draw_tasks(tasks, 4, 5)
    assert draw_tasks(tasks, 4, 5) != draw_tasks(tasks, 4, 6)
    first = {1: 1.0, 3: 2 / 3, 6: 2 / 6, 10: 2 / 10}
    sizes = Counter(name_of(task)[0] for task in all_tasks())
    for task in draw_tasks(tasks, 4, 5):
        assert task.probability == pytest.approx(first[sizes[task.item.id]] * 4 / 9)


def test_people_add_draws_over_all_pictures_and_votes_keep_their_chance(tmp_path, monkeypatch):
    """Six pictures with five questions each, four contestants: 40 of 180 pairs meet every picture and contestant."""
    monkeypatch.chdir(tmp_path)
    for number in range(6):
        (tmp_path / f"p{number}.png").write_bytes(png((number * 9, 200, 9)))
    write_rows(tmp_path / "items.jsonl", [
        {"id": f"q{picture}{number}", "question": f"Question {number}?", "pictures": [f"p{picture}.png"]}
        for picture in range(6) for number in range(5)
    ])  # fmt: skip
    write_rows(tmp_path / "answers.jsonl", [
        {"item": f"q{picture}{number}", "contestant": name, "text": f"{name} says {number}"}
        for picture in range(6) for number in range(5) for name in "abcd"
    ])  # fmt: skip
    site = Site(tmp_path, None)
    try:
        site.client("boss", "organiser")
        done = site.said("add", "few", "--kind", "pair", "--items", tmp_path / "items.jsonl",
                         "--responses", tmp_path / "answers.jsonl", "--limit", 40, "--seed", 3)  # fmt: skip
        assert "40 of 180 tasks were drawn at random, balanced over pictures and items" in " ".join(done.split())
        assert "(seed 3, chance 0.222 each)" in " ".join(done.split())
        assert site.vote("few", ["ann"], lambda _person, _task: {"best": "0"}) == 40
        site.people("export", "few", "--to", tmp_path / "votes.jsonl")
    finally:
        site.close()
    votes = [json.loads(line) for line in (tmp_path / "votes.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(votes) == 40
    assert {round(vote["probability"], 6) for vote in votes} == {round(40 / 180, 6)}
    by_picture = Counter(vote["item"][:2] for vote in votes)
    assert set(by_picture.values()) <= {6, 7}
    assert len(by_picture) == 6
    assert {vote["item"] for vote in votes} == {f"q{picture}{number}" for picture in range(6) for number in range(5)}
    assert {name for vote in votes for name in vote["contestants"]} == set("abcd")


def test_reviews_never_show_an_unusable_verdict(tmp_path):
    said = Response.say("q0", "a", "text")
    with Ledger(tmp_path / "l") as ledger:
        for number, judge in enumerate(("often", "often", "often", "never", "never")):
            item = Item.ask(f"q{number}", f"What is {number}?")
            case = Case(item, (replace(said, item=item.id),), Score(1, 5))
            ruling = "refused" if judge == "never" or number == 2 else (3.0,)
            ledger.add(case, Verdict.from_case(case, judge, ruling, text="Because it is so."))
        study = Campaign.from_plan(CampaignPlan("s", "agree"))
        planned = campaign_from_data.plan_tasks(study, Material(ledger=ledger))
        assert sorted(task.about["verdict"] for task in planned.contents) == ["3", "3"]
        assert planned.omitted_counts.unusable == 3
        assert any("3 unusable verdicts" in note for note in planned.omitted_counts.notes())
        drawn = campaign_from_data.plan_tasks(study, Material(ledger=ledger, limit=1))
        assert (len(drawn.contents), drawn.omitted_counts.drawn_of) == (1, 2)
        with pytest.raises(InputError, match="All 2 verdicts are unusable"):
            campaign_from_data.plan_tasks(study, Material(ledger=ledger, judges=("never",)))
