"""The eight kinds of task: what a person fills in, when it is complete, and what verdicts it makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

from fullbench.core import plugin_entry_points, rubric
from fullbench.core.ballot import Choice, Likert, Ranking, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.ledger.row_conversion import Find
from fullbench.studies.authoring.reworded_questions import REASONS as COMPLAINTS
from fullbench.web.campaigns.tasks import picture_uploads
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kind_base import Cast, Kind, Rules
from fullbench.web.campaigns.votes import vote_form_fields
from fullbench.web.campaigns.votes.vote_form_fields import Answer, Fields
from fullbench.web.words import key

YES_NO = Likert(("no", "yes"))
SEVERAL = "more than one"
FAULTY = (key("the instruction"), key("the caption"), key("the reference"), key("the picture"), key("more than one"))
"""Whose fault it is that a reference does not follow its instruction."""


class Pair(Kind):
    name, title, ballot = "pair", key("Choose the better one"), "choice+tie"
    does = key("Two answers to one question; people say which is better.")

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, Choice) or len(content.responses) < 2:
            raise InputError(
                Note(
                    "web.wrong.a-pair-shows-two-responses",
                    "a pair shows two responses on the ballot choice or choice+tie; found {ballot!r}",
                    ballot=rules.ballot,
                )
            )
        super().check(rules, content)

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        choice = fields.get("best", "")
        if choice == "tie" and rules.ballot == "choice+tie":
            return {"best": None}
        return {"best": shown[vote_form_fields.place(choice, key("choose the better one"), len(shown))]}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        best = answer.get("best")
        return {
            **vote_form_fields.kept(answer),
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
    does = key("One answer; people give it a mark on a scale.")

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, (Score, Likert)) or len(content.responses) != 1:
            raise InputError(
                Note(
                    "web.wrong.a-score-shows-one-response",
                    "a score shows one response on a score or likert ballot; found {ballot!r}",
                    ballot=rules.ballot,
                )
            )
        super().check(rules, content)

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        return {"mark": vote_form_fields.mark(fields.get("mark", ""), rules.form, key("choose a score"))}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        return {**vote_form_fields.kept(answer), **({"mark": str(answer["mark"])} if "mark" in answer else {})}

    def _label(self, answer: Answer) -> str:
        return str(answer["mark"])

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return (float(label),)

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        return {"mark": int(marks[0])}


class Rank(Kind):
    name, title, ballot = "rank", key("Put them in order"), "ranking"
    does = key("All answers to one question; people put them in order.")

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, Ranking):
            raise InputError(
                Note(
                    "web.wrong.a-rank-task-has-the",
                    "a rank task has the ballot ranking; found {ballot!r}",
                    ballot=rules.ballot,
                )
            )
        super().check(rules, content)

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        parts = [
            part for part in (fields.get("order") or vote_form_fields.numbered(fields, len(shown))).split(",") if part
        ]
        places = [vote_form_fields.place(part, key("put all responses in order"), len(shown)) for part in parts]
        if sorted(places) != list(range(len(shown))):
            raise InputError(key("put all responses in order, each once"))
        return {"order": [shown[place] for place in places]}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        order = ",".join(str(shown.index(place)) for place in answer.get("order", ()))
        return {**vote_form_fields.kept(answer), **({"order": order} if order else {})}

    def _label(self, answer: Answer) -> str:
        return ",".join(map(str, answer["order"]))

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        order = label.split(",")
        return tuple(float(count - order.index(str(place))) for place in range(count))

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        return {"order": sorted(range(len(marks)), key=lambda place: -marks[place])}


class Rate(Kind):
    name, title, ballot = "rate", key("Rate each picture"), "score:1-10"
    does = key("Pictures that were made for one text; people mark each.")

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, Score):
            raise InputError(
                Note(
                    "web.wrong.rating-pictures-needs-a-score",
                    "rating pictures needs a score ballot; found {ballot!r}",
                    ballot=rules.ballot,
                )
            )
        super().check(rules, content)

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        mark_by_place = {
            place: vote_form_fields.mark(fields.get(f"mark{at}", ""), rules.form, key("rate every picture"))
            for at, place in enumerate(shown)
        }
        return {"marks": [mark_by_place[place] for place in range(len(shown))]}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        marks = answer.get("marks")
        mark_fields = {} if marks is None else {f"mark{at}": str(marks[place]) for at, place in enumerate(shown)}
        return {**vote_form_fields.kept(answer), **mark_fields}

    def _label(self, answer: Answer) -> str:
        return ",".join(map(str, answer["marks"]))

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return tuple(map(float, label.split(",")))

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        return {"marks": [int(mark) for mark in marks]}


class Agree(Kind):
    """A judge's ruling and its reasons, judged in turn: three verdicts on one text."""

    name, title, ballot = "agree", key("Judge the judge"), rubric.REVIEW_BALLOTS[rubric.AGREES].spec
    does = key("What a judge ruled and why; people agree or not, grade the reasons, and note what was made up.")

    def check(self, rules: Rules, content: Content) -> None:
        if len(content.responses) != 1:
            raise InputError(
                Note(
                    "web.wrong.an-agree-task-shows-one",
                    "an agree task shows one judge's ruling; found {n}",
                    n=len(content.responses),
                )
            )

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        grades = rubric.REVIEW_BALLOTS[rubric.REASONS]
        return {
            "agree": vote_form_fields.yes(fields, "agree", key("do you agree with the ruling?")),
            "grade": vote_form_fields.mark(fields.get("grade", ""), grades, key("grade the reasons")),
            "hallucination": vote_form_fields.yes(
                fields, "hallucination", key("does it tell of something that is not there?")
            ),
        }

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        filled = {
            name: vote_form_fields.said(answer[name]) for name in ("agree", "grade", "hallucination") if name in answer
        }
        return {**vote_form_fields.kept(answer), **filled}

    def _label(self, answer: Answer) -> str:
        return vote_form_fields.said(answer["agree"])

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return vote_form_fields.yes_marks(label)

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        return {"agree": vote_form_fields.known_yes(marks)}

    def verdicts(self, cast: Cast) -> Iterator[tuple[Case, Verdict]]:
        field_of = {rubric.AGREES: "agree", rubric.REASONS: "grade", rubric.HALLUCINATES: "hallucination"}
        for criterion, name in field_of.items():
            value = cast.answer.get(name)
            case = Case(cast.content.item, cast.content.responses, rubric.REVIEW_BALLOTS[criterion], criterion)
            if cast.answer.get("recused"):
                yield case, cast.verdict(case, "recused")
            elif value is not None:
                yield case, cast.verdict(case, (float(value) if criterion == rubric.REASONS else 1.0 + bool(value),))


class _YesNo(Kind):
    """A question that is answered with yes or no, kept under a criterion of its own."""

    asked: ClassVar[str]
    said: ClassVar[str]

    def check(self, rules: Rules, content: Content) -> None:
        if rules.ballot != YES_NO.spec or len(content.responses) != 1:
            raise InputError(
                Note(
                    "web.wrong.a-task-shows-one-text",
                    "a {name} task shows one text on the ballot {spec}; found {ballot!r}",
                    name=self.name,
                    spec=YES_NO.spec,
                    ballot=rules.ballot,
                )
            )

    def _label(self, answer: Answer) -> str:
        return vote_form_fields.said(answer[self.said])

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return vote_form_fields.yes_marks(label)

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        return {self.said: vote_form_fields.known_yes(marks)}


class Verify(_YesNo):
    name, title, ballot = "verify", key("Check the reference"), YES_NO.spec
    does = key("A reference; people say whether it follows its instruction, and whose fault it is if not.")
    asked, said = key("does the reference follow the instruction?"), "follows"

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        follows = vote_form_fields.yes(fields, "follows", self.asked)
        if follows:
            return {"follows": True}
        return {
            "follows": False,
            "fault": vote_form_fields.one_of(fields, "fault", FAULTY, key("whose fault is it?")),
            **self._complaint(fields),
        }

    def _complaint(self, fields: Fields) -> dict[str, str]:
        """What is wrong in one word of a queue of references; nobody has to choose one."""
        if not fields.get("complaint"):
            return {}
        return {"complaint": vote_form_fields.one_of(fields, "complaint", tuple(COMPLAINTS), key("what is wrong?"))}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        filled = {
            name: vote_form_fields.said(answer[name]) for name in ("follows", "fault", "complaint") if name in answer
        }
        return {**vote_form_fields.kept(answer), **filled}

    def verdicts(self, cast: Cast) -> Iterator[tuple[Case, Verdict]]:
        """Whether it follows, whether the caption is at fault, whether the reference itself is: each a yes or no."""
        fault = cast.answer.get("fault")
        said = {
            rubric.FOLLOWS: bool(cast.answer.get("follows")),
            rubric.CAPTION_AT_FAULT: fault in {"the caption", SEVERAL},
            rubric.REFERENCE_AT_FAULT: fault in {"the reference", SEVERAL},
        }
        for criterion, yes in said.items():
            case = Case(cast.content.item, cast.content.responses, YES_NO, criterion)
            yield case, cast.verdict(case, "recused" if cast.answer.get("recused") else (1.0 + yes,))


class Rewrite(_YesNo):
    name, title, ballot = "rewrite", key("Same meaning?"), YES_NO.spec
    does = key("A reworded question; people say whether it still asks the same, and mend it.")
    asked, said = key("does it ask the same?"), "same"

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        return {
            "same": vote_form_fields.yes(fields, "same", self.asked),
            "text": vote_form_fields.words(fields, "text", need=True)["text"],
        }

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        return {
            **vote_form_fields.kept(answer),
            **{name: vote_form_fields.said(answer[name]) for name in ("same", "text") if name in answer},
        }


class Write(Kind):
    """Something new in a person's own words. It is no verdict: what comes of it are items."""

    name, title, ballot = "write", key("Write"), YES_NO.spec
    does = key("A picture; people write an instruction and a caption, or the reference answer.")
    asks, usual, brings = ("instruction", "caption", "reference"), ("instruction", "caption"), "picture"
    """What a study may ask for, what it asks for where it does not say, and pictures of people's own beside."""

    def check(self, rules: Rules, content: Content) -> None:
        if content.responses:
            raise InputError(
                Note(
                    "web.wrong.a-write-task-shows-an",
                    "a write task shows an item and no response; found {n}",
                    n=len(content.responses),
                )
            )

    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        wanted = rules.options.get("asks", self.usual)
        answer: dict[str, Any] = {
            name: vote_form_fields.words(fields, name, need=True)[name] for name in self.asks if name in wanted
        }
        # A task with several pictures asks for a caption of each: caption, caption2, caption3 ...
        if "caption" in answer and len(captions := vote_form_fields.each(fields, "caption")) > 1:
            answer["captions"] = captions
        return {**answer, **({"pictures": picture_uploads.digests(fields)} if self.brings in wanted else {})}

    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        several = vote_form_fields.counting_on("caption", answer.get("captions", ()))
        brought = vote_form_fields.counting_on(self.brings, answer.get("pictures", ()))
        return {
            **vote_form_fields.kept(answer),
            **{name: answer[name] for name in self.asks if name in answer},
            **several,
            **brought,
        }

    def _label(self, answer: Answer) -> None:
        return None

    def verdicts(self, cast: Cast) -> Iterator[tuple[Case, Verdict]]:
        yield from ()

    def item(self, answer: Answer, content: Content, name: str, find: Find | None = None) -> Item | None:
        """The item that somebody wrote: the same pictures or their own, a new question, a caption of each picture.

        The reference of the item that it was written after answers another question, so a new instruction has none.
        """
        if answer.get("recused"):
            return None
        last = content.item.turns[-1]
        asked = answer.get("instruction", content.item.question)
        written = tuple(answer.get("captions", ())) or ((answer["caption"],) if "caption" in answer else ())
        own = picture_uploads.pictures_of(answer, find)
        captions = written or (() if own else content.item.captions)
        turn = replace(last, parts=(*own, *last.pictures[len(own) :], asked))
        turns = (*content.item.turns[:-1], turn)
        if asked == content.item.question and not own:
            return replace(content.item, id=name, turns=turns, captions=captions)
        # What was said of the old question, its reference and its pictures does not hold for the new ones.
        old = {"verified", "label", *(picture_uploads.OF_PICTURES if own else ())}
        tags = {tag: value for tag, value in content.item.tags.items() if tag not in old}
        return replace(content.item, id=name, turns=turns, captions=captions, reference=None, tags=tags)


@cache
def kinds() -> Mapping[str, Kind]:
    """Every kind of task behind the door `tasks` by name: ours in the order that they are shown in, then plugins'."""
    names = [
        *(name for name in _ORDER if name in plugin_entry_points.installed("tasks")),
        *plugin_entry_points.names("tasks"),
    ]
    return {name: _made(name) for name in dict.fromkeys(names)}


_ORDER = ("pair", "score", "rank", "agree", "rate", "verify", "write", "rewrite")


def _made(name: str) -> Kind:
    kind = plugin_entry_points.load("tasks", name)
    instance: object = kind() if isinstance(kind, type) else kind
    if not isinstance(instance, Kind) or instance.name != name:
        raise InputError(
            Note(
                "web.wrong.the-plugin-of-the-door",
                "the plugin {name!r} of the door tasks is no Kind of that name; found {made}",
                name=name,
                made=repr(instance),
            )
        )
    return instance


def kind_of(name: str) -> Kind:
    if name not in kinds():
        raise InputError(
            Note(
                "web.wrong.unknown-kind-of-task-known",
                "unknown kind of task {name!r}; known: {names}",
                name=name,
                names=", ".join(kinds()),
            )
        )
    return kinds()[name]
