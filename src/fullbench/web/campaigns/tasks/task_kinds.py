"""Eight kinds of annotation tasks: form fields, completeness checks and resulting verdicts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

from fullbench.core import plugin_entry_points, rubric
from fullbench.core.ballot import Choice, GradedChoice, Likert, Ranking, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.ledger.row_conversion import FindMedia
from fullbench.studies.authoring.human_review_of_rewordings_and_references import REASONS as COMPLAINTS
from fullbench.web.campaigns.tasks import pictures_uploaded_by_annotators
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kind_base import CastVote, FormField, Kind, Rules
from fullbench.web.campaigns.votes import vote_form_fields
from fullbench.web.campaigns.votes.vote_form_fields import Answer, Fields
from fullbench.web.words import key

YES_NO = Likert(("no", "yes"))
_YES_OR_NO = ("yes", "no")
SEVERAL = "more than one"
FAULTY = (key("the instruction"), key("the caption"), key("the reference"), key("the picture"), key("more than one"))
"""Possible reasons why a reference does not follow its instruction."""


class Pair(Kind):
    name, title, ballot = "pair", key("Choose the better one"), "choice+tie"
    does = key("Two answers to one question; people say which is better.")

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, Choice | GradedChoice) or len(content.responses) < 2:
            raise InputError(Note("web.wrong.a-pair-shows-two-responses", ballot=rules.ballot))
        super().check(rules, content)

    def _form_fields(self, rules: Rules, content: Content) -> list[FormField]:
        if isinstance(rules.form, GradedChoice):
            options = [rules.form.token(step) for step in rules.form.steps]
        else:
            options = [*map(str, range(len(content.responses))), *(["tie"] if rules.ballot == "choice+tie" else [])]
        return [FormField("best", "which one is better?", tuple(options))]

    def _read(self, fields: Fields, rules: Rules, display_order: Sequence[int]) -> dict[str, Any]:
        choice = fields.get("best", "")
        if isinstance(rules.form, GradedChoice):
            return {"level": _level_in_other_order(_read_level(choice, rules.form), display_order)}
        if choice == "tie" and rules.ballot == "choice+tie":
            return {"best": None}
        return {
            "best": display_order[vote_form_fields.read_place(choice, key("choose the better one"), len(display_order))]
        }

    def fields(self, answer: Answer, display_order: Sequence[int]) -> dict[str, str]:
        if "level" in answer:
            level = _level_in_other_order(answer["level"], display_order)
            return {**vote_form_fields.common_fields(answer), "best": level}
        best = answer.get("best")
        return {
            **vote_form_fields.common_fields(answer),
            **({"best": "tie" if best is None else str(display_order.index(best))} if "best" in answer else {}),
        }

    def _label(self, answer: Answer) -> str:
        if "level" in answer:
            return str(answer["level"])
        return "tie" if answer["best"] is None else str(answer["best"])

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        if isinstance(rules.form, GradedChoice):
            step = rules.form.step_of_token(label)
            return () if step is None else rules.form.marks_of(step)
        return tuple(1 / count if label == "tie" else float(label == str(place)) for place in range(count))

    def known_answer(self, marks: Sequence[float]) -> dict[str, Any]:
        best = [place for place, mark in enumerate(marks) if mark == max(marks)]
        return {"best": best[0] if len(best) == 1 else None}


def _read_level(text: str, form: GradedChoice) -> str:
    """Parse a level such as `A>>B`; the letters are those displayed."""
    step = form.step_of_token(text[:20])
    if step is None:
        raise InputError(key("say which one is better, and by how much"))
    return form.token(step)


def _level_in_other_order(level: str, display_order: Sequence[int]) -> str:
    """Convert a level between the letters displayed and the places in the task; the same both ways."""
    if display_order[0] == 0 or "=" in level:
        return level
    return level.translate(str.maketrans("AB", "BA"))


def _mark_options(rules: Rules) -> tuple[str, ...]:
    """Return the marks that a ballot allows, as the form sends them."""
    if isinstance(rules.form, Likert):
        return tuple(str(place) for place in range(1, len(rules.form.words) + 1))
    return (
        tuple(str(mark) for mark in range(rules.form.low, rules.form.high + 1)) if isinstance(rules.form, Score) else ()
    )


class Grade(Kind):
    name, title, ballot = "score", key("Give a score"), "score:1-5"
    does = key("One answer; people give it a mark on a scale.")
    plain_fields = ("mark",)

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, (Score, Likert)) or len(content.responses) != 1:
            raise InputError(Note("web.wrong.a-score-shows-one-response", ballot=rules.ballot))
        super().check(rules, content)

    def _form_fields(self, rules: Rules, content: Content) -> list[FormField]:
        return [FormField("mark", "your score", _mark_options(rules))]

    def _read(self, fields: Fields, rules: Rules, display_order: Sequence[int]) -> dict[str, Any]:
        return {"mark": vote_form_fields.read_mark(fields.get("mark", ""), rules.form, key("choose a score"))}

    def _label(self, answer: Answer) -> str:
        return str(answer["mark"])

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return (float(label),)

    def known_answer(self, marks: Sequence[float]) -> dict[str, Any]:
        return {"mark": int(marks[0])}


class Rank(Kind):
    name, title, ballot = "rank", key("Put them in order"), "ranking"
    does = key("All answers to one question; people put them in order.")

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, Ranking):
            raise InputError(Note("web.wrong.a-rank-task-has-the", ballot=rules.ballot))
        super().check(rules, content)

    def _form_fields(self, rules: Rules, content: Content) -> list[FormField]:
        every = ",".join(map(str, range(len(content.responses))))
        return [FormField("order", f"the numbers {every} of the responses, best first, with commas")]

    def _read(self, fields: Fields, rules: Rules, display_order: Sequence[int]) -> dict[str, Any]:
        parts = [
            part
            for part in (fields.get("order") or vote_form_fields.order_from_ranks(fields, len(display_order))).split(
                ","
            )
            if part
        ]
        places = [
            vote_form_fields.read_place(part, key("put all responses in order"), len(display_order)) for part in parts
        ]
        if sorted(places) != list(range(len(display_order))):
            raise InputError(key("put all responses in order, each once"))
        return {"order": [display_order[place] for place in places]}

    def fields(self, answer: Answer, display_order: Sequence[int]) -> dict[str, str]:
        order = ",".join(str(display_order.index(place)) for place in answer.get("order", ()))
        return {**vote_form_fields.common_fields(answer), **({"order": order} if order else {})}

    def _label(self, answer: Answer) -> str:
        return ",".join(map(str, answer["order"]))

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        order = label.split(",")
        return tuple(float(count - order.index(str(place))) for place in range(count))

    def known_answer(self, marks: Sequence[float]) -> dict[str, Any]:
        return {"order": sorted(range(len(marks)), key=lambda place: -marks[place])}


class Rate(Kind):
    name, title, ballot = "rate", key("Rate each picture"), "score:1-10"
    does = key("Pictures that were made for one text; people mark each.")

    def check(self, rules: Rules, content: Content) -> None:
        if not isinstance(rules.form, Score):
            raise InputError(Note("web.wrong.rating-pictures-needs-a-score", ballot=rules.ballot))
        super().check(rules, content)

    def _form_fields(self, rules: Rules, content: Content) -> list[FormField]:
        marks = _mark_options(rules)
        return [FormField(f"mark{at}", f"your mark for response {at}", marks) for at in range(len(content.responses))]

    def _read(self, fields: Fields, rules: Rules, display_order: Sequence[int]) -> dict[str, Any]:
        mark_by_place = {
            place: vote_form_fields.read_mark(fields.get(f"mark{at}", ""), rules.form, key("rate every picture"))
            for at, place in enumerate(display_order)
        }
        return {"marks": [mark_by_place[place] for place in range(len(display_order))]}

    def fields(self, answer: Answer, display_order: Sequence[int]) -> dict[str, str]:
        marks = answer.get("marks")
        mark_fields = (
            {} if marks is None else {f"mark{at}": str(marks[place]) for at, place in enumerate(display_order)}
        )
        return {**vote_form_fields.common_fields(answer), **mark_fields}

    def _label(self, answer: Answer) -> str:
        return ",".join(map(str, answer["marks"]))

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return tuple(map(float, label.split(",")))

    def known_answer(self, marks: Sequence[float]) -> dict[str, Any]:
        return {"marks": [int(mark) for mark in marks]}


class _YesNo(Kind):
    has_scale = False
    question: ClassVar[str]
    answer_field: ClassVar[str]

    def check(self, rules: Rules, content: Content) -> None:
        if rules.ballot != YES_NO.spec or len(content.responses) != 1:
            raise InputError(
                Note("web.wrong.a-task-shows-one-text", name=self.name, spec=YES_NO.spec, ballot=rules.ballot)
            )

    def _label(self, answer: Answer) -> str:
        return vote_form_fields.field_text(answer[self.answer_field])

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...]:
        return vote_form_fields.yes_marks(label)

    def known_answer(self, marks: Sequence[float]) -> dict[str, Any]:
        return {self.answer_field: vote_form_fields.is_yes(marks)}


class Agree(_YesNo):
    """Review of a judge's verdict and its reasons: three verdicts on one text."""

    name, title, ballot = "agree", key("Judge the judge"), rubric.REVIEW_BALLOTS[rubric.AGREES].spec
    does = key("A judge's verdict and its reasons. People agree or not, grade the reasons, and note what was made up.")
    question, answer_field = key("do you agree with the verdict?"), "agree"
    plain_fields = ("agree", "grade", "hallucination")

    def check(self, rules: Rules, content: Content) -> None:
        if len(content.responses) != 1:
            raise InputError(Note("web.wrong.an-agree-task-shows-one", n=len(content.responses)))

    def _form_fields(self, rules: Rules, content: Content) -> list[FormField]:
        grades = tuple(str(grade) for grade in range(1, 6))
        return [
            FormField("agree", self.question, _YES_OR_NO),
            FormField("grade", "how good are the reasons?", grades),
            FormField("hallucination", "does it tell of something that is not there?", _YES_OR_NO),
        ]

    def _read(self, fields: Fields, rules: Rules, display_order: Sequence[int]) -> dict[str, Any]:
        grades = rubric.REVIEW_BALLOTS[rubric.REASONS]
        return {
            "agree": vote_form_fields.read_yes_no(fields, "agree", self.question),
            "grade": vote_form_fields.read_mark(fields.get("grade", ""), grades, key("grade the reasons")),
            "hallucination": vote_form_fields.read_yes_no(
                fields, "hallucination", key("does it tell of something that is not there?")
            ),
        }

    def verdicts(self, cast: CastVote) -> Iterator[tuple[Case, Verdict]]:
        field_of = {rubric.AGREES: "agree", rubric.REASONS: "grade", rubric.HALLUCINATES: "hallucination"}
        for criterion, name in field_of.items():
            value = cast.answer.get(name)
            case = Case(cast.content.item, cast.content.responses, rubric.REVIEW_BALLOTS[criterion], criterion)
            if cast.answer.get("abstained"):
                yield case, cast.verdict(case, "abstained")
            elif value is not None:
                yield case, cast.verdict(case, (float(value) if criterion == rubric.REASONS else 1.0 + bool(value),))


class Verify(_YesNo):
    name, title, ballot = "verify", key("Check the reference"), YES_NO.spec
    does = key("A reference; people say whether it follows its instruction, and whose fault it is if not.")
    question, answer_field = key("does the reference follow the instruction?"), "follows"
    plain_fields = ("follows", "fault", "complaint")

    def _form_fields(self, rules: Rules, content: Content) -> list[FormField]:
        if_not = ("follows", "no")
        return [
            FormField("follows", self.question, _YES_OR_NO),
            FormField("fault", "whose fault is it?", FAULTY, only_if=if_not),
            FormField("complaint", "what is wrong?", tuple(COMPLAINTS), is_required=False, only_if=if_not),
        ]

    def _read(self, fields: Fields, rules: Rules, display_order: Sequence[int]) -> dict[str, Any]:
        follows = vote_form_fields.read_yes_no(fields, "follows", self.question)
        if follows:
            return {"follows": True}
        return {
            "follows": False,
            "fault": vote_form_fields.read_choice(fields, "fault", FAULTY, key("whose fault is it?")),
            **self._complaint(fields),
        }

    def _complaint(self, fields: Fields) -> dict[str, str]:
        if not fields.get("complaint"):
            return {}
        return {
            "complaint": vote_form_fields.read_choice(fields, "complaint", tuple(COMPLAINTS), key("what is wrong?"))
        }

    def verdicts(self, cast: CastVote) -> Iterator[tuple[Case, Verdict]]:
        """Return three yes/no verdicts: does it follow, is the caption at fault, is the reference at fault."""
        fault = cast.answer.get("fault")
        answers = {
            rubric.FOLLOWS: bool(cast.answer.get("follows")),
            rubric.CAPTION_AT_FAULT: fault in {"the caption", SEVERAL},
            rubric.REFERENCE_AT_FAULT: fault in {"the reference", SEVERAL},
        }
        for criterion, yes in answers.items():
            case = Case(cast.content.item, cast.content.responses, YES_NO, criterion)
            yield case, cast.verdict(case, "abstained" if cast.answer.get("abstained") else (1.0 + yes,))


class Rewrite(_YesNo):
    name, title, ballot = "rewrite", key("Same meaning?"), YES_NO.spec
    does = key("A reworded question. People check whether it still asks the same, and correct it.")
    question, answer_field = key("does it ask the same?"), "same"
    plain_fields = ("same", "text")

    def _form_fields(self, rules: Rules, content: Content) -> list[FormField]:
        return [
            FormField("same", self.question, _YES_OR_NO),
            FormField("text", "the reworded question, corrected if necessary"),
        ]

    def _read(self, fields: Fields, rules: Rules, display_order: Sequence[int]) -> dict[str, Any]:
        return {
            "same": vote_form_fields.read_yes_no(fields, "same", self.question),
            "text": vote_form_fields.read_text(fields, "text", need=True)["text"],
        }


class Write(Kind):
    """Text in a person's own words. It gives items, not verdicts."""

    name, title, ballot = "write", key("Write"), YES_NO.spec
    does = key("A picture; people write an instruction and a caption, or the reference answer.")
    has_scale = False
    texts, usual, brings = ("instruction", "caption", "reference"), ("instruction", "caption"), "picture"
    """Texts that a campaign may ask for, the default ones, and the option for people's own pictures."""

    def check(self, rules: Rules, content: Content) -> None:
        if content.responses:
            raise InputError(Note("web.wrong.a-write-task-shows-an", n=len(content.responses)))

    def _form_fields(self, rules: Rules, content: Content) -> list[FormField]:
        requested_texts = rules.options.get("texts", self.usual)
        pictures = len(content.item.turns[-1].pictures)
        caption_names = ["caption", *(f"caption{place}" for place in range(2, len(content.item.pictures) + 1))]
        picture_names = [self.brings, *(f"{self.brings}{place}" for place in range(2, pictures + 1))]
        names = {"caption": caption_names, self.brings: picture_names}
        questions = {
            "instruction": "a new instruction of this family for this picture",
            "caption": "a caption that lets a person who cannot see the picture answer",
            "reference": "the answer to the question, complete enough to mark other answers without the picture",
            self.brings: "the digest of a picture of your own, from POST /pictures",
        }
        return [
            FormField(name, questions[text])
            for text in (*self.texts, self.brings)
            if text in requested_texts
            for name in names.get(text, [text])
        ]

    def _read(self, fields: Fields, rules: Rules, display_order: Sequence[int]) -> dict[str, Any]:
        requested_texts = rules.options.get("texts", self.usual)
        answer: dict[str, Any] = {
            name: vote_form_fields.read_text(fields, name, need=True)[name]
            for name in self.texts
            if name in requested_texts
        }
        # A task with several pictures has a caption field for each: caption, caption2, caption3 ...
        if "caption" in answer and len(captions := vote_form_fields.read_numbered_texts(fields, "caption")) > 1:
            answer["captions"] = captions
        return {
            **answer,
            **(
                {"pictures": pictures_uploaded_by_annotators.read_picture_digests(fields)}
                if self.brings in requested_texts
                else {}
            ),
        }

    def fields(self, answer: Answer, display_order: Sequence[int]) -> dict[str, str]:
        caption_fields = vote_form_fields.numbered_fields("caption", answer.get("captions", ()))
        picture_fields = vote_form_fields.numbered_fields(self.brings, answer.get("pictures", ()))
        return {
            **vote_form_fields.common_fields(answer),
            **{name: answer[name] for name in self.texts if name in answer},
            **caption_fields,
            **picture_fields,
        }

    def _label(self, answer: Answer) -> None:
        return None

    def verdicts(self, cast: CastVote) -> Iterator[tuple[Case, Verdict]]:
        yield from ()

    def item(self, answer: Answer, content: Content, name: str, find: FindMedia | None = None) -> Item | None:
        """Return the item that somebody wrote: pictures (the same or their own), a question, captions.

        The old reference answers another question, so an item with a new instruction has none.
        """
        if answer.get("abstained"):
            return None
        last = content.item.turns[-1]
        question = answer.get("instruction", content.item.question)
        own_captions = tuple(answer.get("captions", ())) or ((answer["caption"],) if "caption" in answer else ())
        own_pictures = pictures_uploaded_by_annotators.pictures_of(answer, find)
        captions = own_captions or (() if own_pictures else content.item.captions)
        if question == content.item.question:
            remaining = deque(own_pictures)
            same_places = [
                remaining.popleft() if remaining and not isinstance(part, str) else part for part in last.parts
            ]
            turn = replace(last, parts=(*remaining, *same_places))
        else:  # nobody knows the places of the pictures in the new text
            turn = replace(last, parts=(*own_pictures, *last.pictures[len(own_pictures) :], question))
        turns = (*content.item.turns[:-1], turn)
        if question == content.item.question and not own_pictures:
            return replace(content.item, id=name, turns=turns, captions=captions)
        # The reference, and tags about the old question or pictures, do not apply to the new ones.
        old = {"verified", "label", *(pictures_uploaded_by_annotators.OF_PICTURES if own_pictures else ())}
        tags = {tag: value for tag, value in content.item.tags.items() if tag not in old}
        return replace(content.item, id=name, turns=turns, captions=captions, reference=None, tags=tags)


@cache
def kinds_by_name() -> Mapping[str, Kind]:
    """Return all kinds of the plugin type `tasks` by name: ours in display order, then those of plugins."""
    names = [
        *(name for name in _ORDER if name in plugin_entry_points.installed_plugins("tasks")),
        *plugin_entry_points.plugin_names("tasks"),
    ]
    return {name: _load_kind(name) for name in dict.fromkeys(names)}


_ORDER = ("pair", "score", "rank", "agree", "rate", "verify", "write", "rewrite")


def _load_kind(name: str) -> Kind:
    kind = plugin_entry_points.load_plugin("tasks", name)
    instance: object = kind() if isinstance(kind, type) else kind
    if not isinstance(instance, Kind) or instance.name != name:
        raise InputError(Note("web.wrong.the-plugin-of-the-door", name=name, made=repr(instance)))
    return instance


def kind_of(name: str) -> Kind:
    if name not in kinds_by_name():
        raise InputError(Note("web.wrong.unknown-kind-of-task-known", name=name, names=", ".join(kinds_by_name())))
    return kinds_by_name()[name]
