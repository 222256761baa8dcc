"""A ledger with several of everything, for whatever has to keep them apart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fullbench import Ledger
from fullbench.core.item import Item, Turn, parts_content
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import Circumstances, Verdict
from fullbench.core.verdict_record import Record
from tests.support.data_builders import png

MODELS = ("gpt:4o@v1", "通义/qwen", "third model")
ASKED = "openai:judge+cot#ab12"
PEOPLE = {"ann@x.org": (1.0, 0.0), "李雷": (0.0, 1.0), "c3": (0.5, 0.5)}


def ruled(item: str, shown: list[tuple[str, int]], ballot: str, judge: str, marks: tuple[float, ...] | None = None,
          **rest: object) -> Verdict:  # fmt: skip
    samples = tuple(sample for _, sample in shown) if any(sample for _, sample in shown) else ()
    case = digest([item, [list(one) for one in shown], ballot, rest.get("criterion", "overall")])
    names = tuple(name for name, _ in shown)
    return Verdict(case, judge, item, names, ballot, marks=marks, samples=samples, at=1.7e9, **rest)  # type: ignore[arg-type]


def rich(path: Path) -> Record:
    """A ledger of four items (pictures, turns, Chinese), three models with two answers each, three people and three
    judges on three ballots and three criteria, with faults, trials and reasons; and what of it was ruled on or not."""
    red, green = Picture.from_bytes(png()), Picture.from_bytes(png((20, 200, 30)))
    talk = (Turn("system", ("Be brief.",)), Turn("user", ("看图", red, "然后？")), Turn("assistant", ("红色。",)),
            Turn("user", ("再说一次？", green)))  # fmt: skip
    items = [
        Item.ask("q/1", "What is it?", red, reference="red", tags={"task": "colour"}, captions=("a field",)),
        Item.ask("q/2", "What is it?", green, red, tags={"语言": "zh"}),
        Item("对话 3", talk),
        Item.ask("4", 'Words: "quoted", tab\there'),
    ]
    answers = [
        Response(item.id, who, (f"{who} on {item.id}\nno {sample}",), sample=sample, tags={"length": "two lines"})
        for item in items for who in MODELS for sample in (0, 1)
    ]  # fmt: skip
    answers[-1] = Response("4", MODELS[2], ("",), sample=1)
    answers[3] = Response("q/1", MODELS[1], ("see", green, "so"), sample=1)
    verdicts: list[Verdict] = []
    for number, item in enumerate(items[:3]):  # nobody has ruled on the last one
        pair = [(MODELS[0], 0), (MODELS[1], 1)]
        for person, marks in PEOPLE.items():
            how = Circumstances(blind=True, guideline="v2") if person == "c3" else Circumstances()
            verdicts.append(
                ruled(item.id, pair, "choice+tie", "human", marks, rater=person, text="因为", circumstances=how)
            )
        verdicts.append(ruled(item.id, pair, "choice+tie", "human", rater="d4", fault="abstained"))
        verdicts.append(ruled(item.id, [(who, 0) for who in MODELS], "ranking", "human", (3, 1, 2), rater="c3"))
        for trial in (0, 1):
            marks = (1.0, 0.0) if (number + trial) % 2 else (0.0, 1.0)
            verdicts.append(ruled(item.id, pair, "choice+tie", ASKED, marks, trial=trial, text="[[A]]"))
        verdicts.append(ruled(item.id, pair[::-1], "choice+tie", ASKED, fault="unreadable", text="?"))
        for criterion in ("style", "事实"):
            for at, who in enumerate(MODELS):
                mark = float(1 + (number + at) % 5)
                verdicts.append(ruled(item.id, [(who, 0)], "score:1-5", "scorer two", (mark,), criterion=criterion))
    with Ledger(path) as book:
        known = {item.id: item for item in items}
        book.add(*items)
        for answer in answers:
            book.add_response(known[answer.item], answer)
        book.add(*verdicts)
    places = {(answer.item, answer.contestant, answer.sample): answer for answer in answers}
    return Record(tuple(verdicts), known, places)


def left_out(said: str) -> dict[str, int]:
    """What an import left out or took for something, by why, as its table says."""
    table = said.partition("What was left out")[2]
    found = (line.rstrip().rpartition("   ") for line in table.splitlines())
    return {why.strip(): int(count) for why, _, count in found if count.strip().isdigit()}


def contents(record: Record) -> tuple[object, ...]:
    """All that a record holds, in a form that can be compared."""
    items = {name: (item.key, dict(item.tags)) for name, item in record.items.items()}
    answers = {
        place: (parts_content(answer.parts), dict(answer.tags)) for place, answer in record.responses.items()
    }  # fmt: skip
    return items, answers, Counter(record.verdicts)
