"""Votes of all eight kinds, given by scripts that know only what the API says, are found again value by value."""

from __future__ import annotations

import random
import re
from itertools import combinations

import pytest

from fullbench import Case, Choice, Item, Ledger, Picture, Response, Verdict
from fullbench.files.item_response_verdict_files import write_items
from tests.journeys.voting import Site, shown
from tests.support.commands import write_rows
from tests.support.data_builders import png
from tests.support.wait_until import until

PEOPLE = ["ann", "bob", "cid"]
NAMES = ("x", "y", "z")
ITEMS = [f"q{n}" for n in range(3)]
KINDS = {
    "pair": ("--ballot", "choice+tie"),
    "score": ("--ballot", "score:1-10"),
    "rank": (),
    "rate": ("--ballot", "score:1-10"),
    "agree": ("--reason",),
    "verify": (),
    "write": (),
    "rewrite": (),
}


def drawn(*what: object) -> random.Random:
    return random.Random("/".join(map(str, what)))


def fill_form(person: str, task: dict) -> dict[str, str]:
    """Fill in a vote by the task's list of fields alone."""
    luck, fields = drawn(person, task["kind"], *sorted(shown(task)), task["turns"]), {}
    for one in task["form"]:
        wanted = one["only_if"]
        if one["name"] == "abstained" or (wanted and any(fields[name] != value for name, value in wanted.items())):
            continue
        if one["options"]:
            fields[one["name"]] = luck.choice(one["options"])
        elif one["name"] == "order":
            places = re.search(r"numbers (\S+) ", one["question"])[1].split(",")
            fields["order"] = ",".join(luck.sample(places, len(places)))
        else:
            fields[one["name"]] = f"{one['name']} by {person}: {luck.randrange(10**6)}"
    return fields


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    items = [
        Item.ask(name, f"What is {name}? 是什么？", Picture.from_bytes(png((n, 5, 9))), reference=f"reference of {name}")
        for n, name in enumerate(ITEMS)
    ]
    with Ledger(folder / "l.ledger") as ledger:
        for item in items:
            answers = [Response.say(item.id, who, f"answer {who} to {item.id} 答案") for who in NAMES]
            for pair in combinations(answers, 2):
                case = Case(item, pair, Choice())
                text = f"judged {item.id} {pair[0].contestant}{pair[1].contestant}"
                ledger.add(case, Verdict.from_case(case, "a-model", (0.0, 1.0), text=text))
    write_items(folder / "items.jsonl", items)
    queue = folder / "rewordings.jsonl"
    write_rows(queue, [{"seed": name, "variant": 1, "question": f"What is {name}? 是什么？", "text": f"Which thing is {name}?",
                        "writer": "a-writer"} for name in ITEMS])  # fmt: skip
    served = Site(folder, folder / "l.ledger")
    served.client("boss", "organiser")
    for kind, options in KINDS.items():
        sources = {"verify": ("--items", folder / "items.jsonl"), "write": ("--items", folder / "items.jsonl"),
                   "rewrite": ("--queue", queue, "--items", folder / "items.jsonl")}  # fmt: skip
        source = sources.get(kind, ("--ledger", served.ledger))
        served.people("add", kind, "--kind", kind, "--votes", 3, *source, *options)
    served.votes = {}

    def choose(person: str, task: dict) -> dict[str, str]:
        fields = fill_form(person, task)
        served.votes[task["kind"], person, tuple(shown(task)), str(task["turns"])] = (task, fields)
        return fields

    for kind in KINDS:
        served.vote(kind, PEOPLE, choose)
        if kind != "write":
            served.people("keep", kind, "--ledger", served.ledger)
    yield served
    served.close()


def test_every_task_lists_what_a_vote_may_hold(site):
    tasks = [task for task, _ in site.votes.values()]
    assert {task["kind"] for task in tasks} == set(KINDS)
    boss = site.client("boss", "organiser")
    page = site.cli("export", "site", "--ledger", site.ledger, "--out", site.folder / "copy", "--no-charts")
    seen=set()
    with Ledger(site.ledger, read_only=True) as ledger:
        for v in ledger.verdicts("human"):
            k=(v.criterion, v.ballot)
            if k in seen: continue
            seen.add(k)
            text = (site.folder / "copy" / "cases" / f"{v.case}.html").read_text()
            part = text[text.index("of-people"):]
            part = part[:part.index("<h2>")]
            print(k, v.marks, v.contestants, v.rater[:12], re.sub(r"\s+"," ",re.sub(r"<[^>]+>"," ",part))[:700])
            print(part[:900])
    assert 0
