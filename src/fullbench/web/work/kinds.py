"""The eight kinds of task: what a person fills in, when it is complete, and what verdicts it makes.

An **answer** is a small JSON value. Whatever speaks of a response names its place in the task, not the place where this
person saw it: `read` turns one into the other. An answer `{"recused": true}` is somebody who cannot judge this one; it
becomes a verdict with that fault, never a mark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from fullbench.benchmarks.align_mm.building import REASONS as COMPLAINTS
from fullbench.benchmarks.mllm_judge.reviews import AGREES, BALLOTS, REASONS
from fullbench.core.ballots import Ballot, Choice, Likert, Ranking, Score, ballot
from fullbench.core.cases import Case, Fault, Verdict
from fullbench.core.errors import InputError
from fullbench.core.items import Item
from fullbench.reports.subsets import HALLUCINATES
from fullbench.web.words import key
from fullbench.web.work.content import Content

Answer = Mapping[str, Any]
Fields = Mapping[str, str]
YES_NO = Likert(("no", "yes"))
LONGEST = 20_000
FAULTY = (key("the instruction"), key("the reference"), key("the picture"), key("more than one"))
"""Whose fault it is that a reference does not follow its instruction."""


@dataclass(frozen=True)
class Rules:
    """What of a study a kind must know to read an answer."""

    ballot: str
    criterion: str = "overall"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def form(self) -> Ballot:
        return ballot(self.ballot)


@dataclass(frozen=True)
class Cast:
    """A vote with all that it speaks of."""

    answer: Answer
    rules: Rules
    content: Content
    shown: Sequence[int]
    judge: str
    at: float

    def verdict(self, case: Case, ruling: Sequence[float] | Fault) -> Verdict:
        return Verdict.of(case, self.judge, ruling, text=self.answer.get("reason", ""), at=self.at)


class Kind(ABC):
    """One kind of task."""

    name: ClassVar[str]
    title: ClassVar[str]
    ballot: ClassVar[str]
    """The ballot where a study names none."""

    def check(self, rules: Rules, content: Content) -> None:
        """Raise `InputError` when a task of this kind cannot show this content."""
        content.case(rules.ballot, rules.criterion, range(len(content.responses)))

    def read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        """The answer that filled-in fields give, or `InputError` with what is missing."""
        if fields.get("recused"):
            return {"recused": True, **_words(fields, "reason")}
        return {**self._read(fields, rules, shown), **_words(fields, "reason", need=bool(rules.options.get("reason")))}

    @abstractmethod
    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]: ...

    @abstractmethod
    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        """The fields that give this answer: what a form shows again when somebody goes back."""

    def label(self, answer: Answer) -> str | None:
        """What the answer says, as a word that can be compared and counted; None where it says nothing countable."""
        return None if answer.get("recused") else self._label(answer)

    @abstractmethod
    def _label(self, answer: Answer) -> str | None: ...

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...] | None:
        """The marks that a label stands for, response by response; None where it stands for none."""
        return None

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        """The answer that these marks stand for: how known answers are read from a file of labels."""
        raise InputError(f"the answer to a {self.name} task cannot be known before")

    def verdicts(self, cast: Cast) -> Iterator[tuple[Case, Verdict]]:
        """What a vote is in a ledger: one verdict, several, or none."""
        case = cast.content.case(cast.rules.ballot, cast.rules.criterion, cast.shown)
        label = self.label(cast.answer)
        marks = None if label is None else self.marks(label, cast.rules, len(cast.content.responses))
        if cast.answer.get("recused"):
            yield case, cast.verdict(case, "recused")
        elif marks is not None:
            yield case, cast.verdict(case, tuple(marks[place] for place in cast.shown))


class Pair(Kind):
    name, title, ballot = "pair", key("Choose the better one"), "choice+tie"

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, Choice) or len(content.responses) < 2:
            raise InputError(f"a pair shows two responses on the ballot choice or choice+tie; found {rules.ballot!r}")
        super().check(rules, content)

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        said = fields.get("best", "")
        if said == "tie" and rules.ballot == "choice+tie":
            return {"best": None}
        return {"best": shown[_place(said, key("choose the better one"), len(shown))]}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        best = answer.get("best")
        return {
            **_kept(answer),
            **({"best": "tie" if best is None else str(shown.index(best))} if "best" in answer else {}),
        }

    def _label(self, answer: Answer) -> str:
        return "tie" if answer["best"] is None else str(answer["best"])

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return tuple(1 / count if label == "tie" else float(label == str(place)) for place in range(count))

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        best = [place for place, mark in enumerate(marks) if mark == max(marks)]
        return {"best": best[0] if len(best) == 1 else None}


class Grade(Kind):
    name, title, ballot = "score", key("Give a score"), "score:1-5"

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, (Score, Likert)) or len(content.responses) != 1:
            raise InputError(f"a score shows one response on a score or likert ballot; found {rules.ballot!r}")
        super().check(rules, content)

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        return {"mark": _mark(fields.get("mark", ""), rules.form, key("choose a score"))}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        return {**_kept(answer), **({"mark": str(answer["mark"])} if "mark" in answer else {})}

    def _label(self, answer: Answer) -> str:
        return str(answer["mark"])

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return (float(label),)

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        return {"mark": int(marks[0])}


class Rank(Kind):
    name, title, ballot = "rank", key("Put them in order"), "ranking"

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, Ranking):
            raise InputError(f"a rank task has the ballot ranking; found {rules.ballot!r}")
        super().check(rules, content)

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        said = [part for part in (fields.get("order") or _numbered(fields, len(shown))).split(",") if part]
        places = [_place(part, key("put all responses in order"), len(shown)) for part in said]
        if sorted(places) != list(range(len(shown))):
            raise InputError(key("put all responses in order, each once"))
        return {"order": [shown[place] for place in places]}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        said = ",".join(str(shown.index(place)) for place in answer.get("order", ()))
        return {**_kept(answer), **({"order": said} if said else {})}

    def _label(self, answer: Answer) -> str:
        return ",".join(map(str, answer["order"]))

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        said = label.split(",")
        return tuple(float(count - said.index(str(place))) for place in range(count))

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        return {"order": sorted(range(len(marks)), key=lambda place: -marks[place])}


class Rate(Kind):
    name, title, ballot = "rate", key("Rate each picture"), "score:1-10"

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, Score):
            raise InputError(f"rating pictures needs a score ballot; found {rules.ballot!r}")
        super().check(rules, content)

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        given = {
            place: _mark(fields.get(f"mark{at}", ""), rules.form, key("rate every picture"))
            for at, place in enumerate(shown)
        }
        return {"marks": [given[place] for place in range(len(shown))]}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        marks = answer.get("marks")
        said = {} if marks is None else {f"mark{at}": str(marks[place]) for at, place in enumerate(shown)}
        return {**_kept(answer), **said}

    def _label(self, answer: Answer) -> str:
        return ",".join(map(str, answer["marks"]))

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return tuple(map(float, label.split(",")))

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        return {"marks": [int(mark) for mark in marks]}


class Agree(Kind):
    """A judge's ruling and its reasons, judged in turn: three verdicts on one text."""

    name, title, ballot = "agree", key("Judge the judge"), BALLOTS[AGREES].spec

    def check(self, rules: Rules, content: Content) -> None:
        if len(content.responses) != 1:
            raise InputError(f"an agree task shows one judge's ruling; found {len(content.responses)}")

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        return {
            "agree": _yes(fields, "agree", key("do you agree with the ruling?")),
            "grade": _mark(fields.get("grade", ""), BALLOTS[REASONS], key("grade the reasons")),
            "hallucination": _yes(fields, "hallucination", key("does it tell of something that is not there?")),
        }

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        said = {name: _said(answer[name]) for name in ("agree", "grade", "hallucination") if name in answer}
        return {**_kept(answer), **said}

    def _label(self, answer: Answer) -> str:
        return _said(answer["agree"])

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return _yes_marks(label)

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        return {"agree": _known_yes(marks)}

    def verdicts(self, cast: Cast) -> Iterator[tuple[Case, Verdict]]:
        told = {AGREES: "agree", REASONS: "grade", HALLUCINATES: "hallucination"}
        for criterion, name in told.items():
            value = cast.answer.get(name)
            case = Case(cast.content.item, cast.content.responses, BALLOTS[criterion], criterion)
            if cast.answer.get("recused"):
                yield case, cast.verdict(case, "recused")
            elif value is not None:
                yield case, cast.verdict(case, (float(value) if criterion == REASONS else 1.0 + bool(value),))


class _YesNo(Kind):
    """A question that is answered with yes or no, kept under a criterion of its own."""

    asked: ClassVar[str]
    said: ClassVar[str]

    def check(self, rules: Rules, content: Content) -> None:
        if rules.ballot != YES_NO.spec or len(content.responses) != 1:
            raise InputError(f"a {self.name} task shows one text on the ballot {YES_NO.spec}; found {rules.ballot!r}")

    def _label(self, answer: Answer) -> str:
        return _said(answer[self.said])

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return _yes_marks(label)

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        return {self.said: _known_yes(marks)}


class Verify(_YesNo):
    name, title, ballot = "verify", key("Check the reference"), YES_NO.spec
    asked, said = key("does the reference follow the instruction?"), "follows"

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        follows = _yes(fields, "follows", self.asked)
        if follows:
            return {"follows": True}
        return {
            "follows": False,
            "fault": _one_of(fields, "fault", FAULTY, key("whose fault is it?")),
            "complaint": _one_of(fields, "complaint", tuple(COMPLAINTS), key("what is wrong?")),
        }

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        said = {name: _said(answer[name]) for name in ("follows", "fault", "complaint") if name in answer}
        return {**_kept(answer), **said}


class Rewrite(_YesNo):
    name, title, ballot = "rewrite", key("Same meaning?"), YES_NO.spec
    asked, said = key("does it ask the same?"), "same"

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        return {"same": _yes(fields, "same", self.asked), "text": _words(fields, "text", need=True)["text"]}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        return {**_kept(answer), **{name: _said(answer[name]) for name in ("same", "text") if name in answer}}


class Write(Kind):
    """Something new in a person's own words. It is no verdict: what comes of it are items."""

    name, title, ballot = "write", key("Write"), YES_NO.spec
    asks = ("instruction", "caption")

    def check(self, rules: Rules, content: Content) -> None:
        if content.responses:
            raise InputError(f"a write task shows an item and no response; found {len(content.responses)}")

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        wanted = rules.options.get("asks", self.asks)
        return {name: _words(fields, name, need=True)[name] for name in self.asks if name in wanted}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        return {**_kept(answer), **{name: answer[name] for name in self.asks if name in answer}}

    def _label(self, answer: Answer) -> None:
        return None

    def verdicts(self, cast: Cast) -> Iterator[tuple[Case, Verdict]]:
        yield from ()

    def item(self, answer: Answer, content: Content, name: str) -> Item | None:
        """The item that somebody wrote: the same pictures, a new question, a caption."""
        if answer.get("recused"):
            return None
        last = content.item.turns[-1]
        asked = answer.get("instruction", content.item.question)
        captions = (answer["caption"],) if "caption" in answer else content.item.captions
        turn = replace(last, parts=(*last.pictures, asked))
        return replace(content.item, id=name, turns=(*content.item.turns[:-1], turn), captions=captions)


KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (Pair(), Grade(), Rank(), Agree(), Rate(), Verify(), Write(), Rewrite())
}


def kind_of(name: str) -> Kind:
    if name not in KINDS:
        raise InputError(f"unknown kind of task {name!r}; known: {', '.join(KINDS)}")
    return KINDS[name]


# Reading fields


def _numbered(fields: Fields, count: int) -> str:
    """The order that numbers beside the responses give, for pages without scripts."""
    given = {fields.get(f"rank{place}", ""): str(place) for place in range(count)}
    return ",".join(given.get(str(number + 1), "-") for number in range(count))


def _words(fields: Fields, name: str, *, need: bool = False) -> dict[str, str]:
    said = fields.get(name, "").strip()
    if len(said) > LONGEST:
        raise InputError(f"the {name} has {len(said):,} letters; {LONGEST:,} are allowed")
    if need and not said:
        raise InputError(f"write the {name}")
    return {name: said} if said else {}


def _kept(answer: Answer) -> dict[str, str]:
    reason = {"reason": answer["reason"]} if answer.get("reason") else {}
    return {**reason, **({"recused": "yes"} if answer.get("recused") else {})}


def _said(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _yes_marks(label: str) -> tuple[float, ...]:
    return (2.0 if label == "yes" else 1.0,)


def _known_yes(marks: Sequence[float]) -> bool:
    return marks[0] > 1


def _place(said: str, ask: str, count: int) -> int:
    if not (said.isascii() and said.isdigit() and len(said) < 4 and int(said) < count):
        raise InputError(ask)
    return int(said)


def _mark(said: str, form: Ballot, ask: str) -> int:
    if not (said.isascii() and said.removeprefix("-").isdigit() and len(said) < 8 and form.allows([float(said)])):
        raise InputError(ask)
    return int(said)


def _yes(fields: Fields, name: str, ask: str) -> bool:
    if fields.get(name) not in {"yes", "no"}:
        raise InputError(ask)
    return fields[name] == "yes"


def _one_of(fields: Fields, name: str, known: Sequence[str], ask: str) -> str:
    if fields.get(name) not in known:
        raise InputError(ask)
    return fields[name]
