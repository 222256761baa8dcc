"""A ledger with several of everything, and the doors through which it is looked at."""

from __future__ import annotations

import random
from pathlib import Path

from fullbench import Case, Choice, Item, Ledger, Response, Score, Verdict
from fullbench.core.model_call import Call, Usage
from fullbench.core.picture import Picture
from fullbench.core.verdict import Failure
from tests.ledger.making import png

CONTESTANTS = ("alpha", "beta", "伽马")
JUDGES = ("strict", "kind", "noisy")
CRITERIA = ("overall", "clarity")


def fill(place: str | Path, *, seed: int = 5, items: int = 8, first: int = 0) -> None:
    """Two studies that share a case; three judges, two criteria, people who changed their minds, faults, failures."""
    rng = random.Random(seed)
    for study in ("legs", "wings"):
        with Ledger(place, study=study) as ledger:
            for number in range(first, first + items):
                name = f"{study}-{number}"
                item = Item.ask(name, f"第{number}题：有几条？", Picture.from_bytes(png(number)), reference="eight")
                _item(ledger, rng, item)
    with Ledger(place, study="wings") as ledger:
        shared = next(iter(ledger.verdicts(study="legs"))).case
        ledger.join([shared])


def _item(ledger: Ledger, rng: random.Random, item: Item) -> None:
    answers = [
        Response.say(item.id, name, f"{name} 说 {rng.random()}", sample=sample)
        for name in CONTESTANTS
        for sample in range(2)
    ]
    for criterion in CRITERIA:
        for answer in answers:
            _rule(ledger, rng, Case(item, (answer,), Score(1, 5), criterion), single=True)
        for one, two in ((answers[0], answers[2]), (answers[2], answers[0]), (answers[3], answers[5])):
            _rule(ledger, rng, Case(item, (one, two), Choice(tie=True), criterion), single=False)


def _rule(ledger: Ledger, rng: random.Random, case: Case, *, single: bool) -> None:
    def marks() -> list[float]:
        return [float(rng.randint(1, 5))] if single else rng.choice([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])

    ledger.add(case)
    for judge in JUDGES:
        used = Usage(
            1, 0, rng.randint(100, 900), rng.randint(5, 60), rng.randint(1, 90) / 1024, rng.randint(1, 90) / 64
        )
        if judge == "noisy" and rng.random() < 0.2:
            ledger.add(Failure(case.key, judge, 0, "the server was away", used))
            continue
        said = f"因为 {rng.random()}"
        call = Call(f"{rng.getrandbits(128):032x}", said, prompt=f"{rng.getrandbits(128):032x}", usage=used)
        rest = {"text": said, "usage": used, "prompt": call.prompt, "exchanges": (call,), "at": 1000 + rng.random()}
        if judge == "noisy" and rng.random() < 0.2:
            fault = rng.choice(["refused", "unreadable", "abstained"])
            ledger.add(Verdict.from_case(case, judge, fault, **rest))
        else:
            ledger.add(Verdict.from_case(case, judge, marks(), **rest))
    for rater in ("w1", "w2"):
        ledger.add(Verdict.from_case(case, "human", marks(), rater=rater, text="我看", at=2000.0))
    if rng.random() < 0.3:
        ledger.add(Verdict.from_case(case, "human", marks(), rater="w1", revision=1, at=2001.0))


DOORS = {
    "report": ("report", "--json"),
    "report of a study": ("report", "--study", "legs", "--judge", "strict", "--judge", "human", "--json"),
    "tables": ("ledger", "tables", "--json"),
    "card": ("card", "strict", "--study", "legs", "--json"),
    "card of another": ("card", "noisy", "--study", "wings", "--json"),
    "leaderboard": ("leaderboard", "show", "--study", "legs", "--judge", "kind", "--json"),
    "leaderboard, joint": ("leaderboard", "show", "--study", "wings", "--joint", "--json"),
    "leaderboard, corrected": ("leaderboard", "show", "--study", "wings", "--judge", "noisy", "--corrected", "--json"),
}
"""What is asked of a ledger, a lake, files and buckets alike; `--ledger` names which."""
