"""`PromptedJudge`: a model with a prompt as a judge, and the construction of its name."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from itertools import chain, repeat
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

from fullbench.core.ballot import LETTERS, Ballot, Language, Style, ballot
from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import is_dialogue, split_criterion
from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Kind
from fullbench.core.media import UNKNOWN
from fullbench.core.model import (
    DECLINED_STOPS,
    Model,
    Prompt,
    Reply,
    as_judge,
    media_kinds,
    prepare_prompt,
    takes_schemas,
)
from fullbench.core.model_call import NOTHING, Call, FailureKind, Usage
from fullbench.core.verdict import Failure, Fault, Verdict
from fullbench.errors import InputError, ModelError
from fullbench.judges.item_layout_in_prompt import (
    PictureMode,
    layout_digest,
    name_media,
    question_slots,
    turn_criterion_text,
)
from fullbench.judges.own_answers import add_own_answers, outcome_without_answer, request_own_answer
from fullbench.judges.prompt_templates import Example, Template, load_template, merge_text_parts, render_examples
from fullbench.judges.reply_reader_that_ignores_quoted_prompt_texts import (
    read_reply,
    response_pictures,
    scale_ends_text,
    style_of,
)
from fullbench.judges.scorers.safe_picture_decoding import broken_reason
from fullbench.models.response_fences_and_parser import fence_responses, response_parts
from fullbench.number_agreement import agree_with_one
from fullbench.parsing.random_check_codes import asking
from fullbench.parsing.verdict_json_schema import ruling_schema

Step = Literal["both", "picture", "question", "answer"]
"""Subject of a reasoning turn before the request for a verdict."""


@dataclass(eq=False)
class CaseProgress:
    """Progress of one case through several turns; `shared_parts` is how many first parts depend on the item only."""

    case: Case
    steps: deque[Step]
    usage: Usage = NOTHING
    earlier: list[str] = field(default_factory=list)
    exchanges: list[Call] = field(default_factory=list)
    attempts: int = 0
    has_estimated_tokens: bool = False
    shared_parts: int = 0


Mode = Literal["direct", "analyze", "steps", "commit"]
Form = Literal["marker", "json", "json-prompt"]

SLOTS = frozenset({
    "about", "criterion", "described", "dialogue", "examples", "letter", "mark", "pictures", "question", "reference",
    "responses", "verdict", "shown", "task", "withheld",
})  # fmt: skip
# Cases without a prompt (abstentions) must not be collected without limit while calls are slow.
_BACKLOG = 1_000
_FENCE, _MARKS = "fence", "marks"
"""Template blocks that separate responses: `fence` in an exact prompt, `marks` in any other."""
_SAMPLE_BALLOTS = (
    "score:1-5", "real:0-1", "likert:bad|good", "choice", "choice+tie", "choice:4", "choice:5", "choice:6", "choice:7",
    "ranking",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class PromptedJudge:
    """A model that judges with a prompt.

    `mode` is `direct` (the verdict only), `analyze` (analysis, then the verdict), `steps` (the reasoning turns in
    `steps` first, then `analyze`) or `commit` (the judge answers the question once per item, before it sees the
    reference, the examples or a response; then `analyze`). `picture_mode` is `image`, `none` (pictures are withheld,
    and the prompt says so) or `described` (the item's captions replace them). `max_pictures` limits the pictures in one
    prompt. `reference` shows the item's reference answer. `criteria` explains each criterion; for a case judged
    overall, the item's tag `rules_tag` selects the text. An unreadable reply or a refusal is sampled again `resample`
    times.

    `form` requests the verdict in brackets (`marker`), in JSON with the server's JSON mode (`json`), or in JSON by
    the prompt alone (`json-prompt`). A `constrained` judge replies in JSON, enforced by the server: for models that
    ramble. `ends` makes our own template say which end of a scale is good. `check_code` requests a random word with the
    verdict that no contestant can know; prompts of papers and of trained critics go without. The model runs at
    temperature 0 unless its settings say otherwise or it takes none (`as_judge`).

    It abstains if a case has more pictures than `max_pictures`, if a response is not a picture, and, after a failed
    call, if a picture cannot be decoded.

    The prompt shows letters, never contestants' names. Responses are between markers with a digest of the case.
    Nobody knows it without the whole case, so an answer cannot close its marker and speak as the prompt.
    """

    kind: ClassVar[Kind] = "model"

    model: Model
    mode: Mode = "analyze"
    picture_mode: PictureMode = "image"
    reference: bool = False
    language: Language = "en"
    steps: tuple[Step, ...] = ("both",)
    criteria: Mapping[str, str] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    resample: int = 1
    form: Form = "marker"
    constrained: bool = False
    template: Template | None = None
    label: str | None = None
    max_pictures: int | None = None
    rules_tag: str = ""
    ends: bool = True
    check_code: bool = True
    _verdict_requests: dict[tuple[str, int], tuple[Part, ...]] = field(default_factory=dict, init=False, repr=False)
    _last_context: list[tuple[Item, Ballot, int, tuple[Turn, ...]]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", as_judge(self.model))
        for name, value, literal_type in (
            ("mode", self.mode, Mode),
            ("picture_mode", self.picture_mode, PictureMode),
            ("form", self.form, Form),
        ):
            if value not in get_args(literal_type):
                raise InputError(f"unknown {name} {value!r}; known: {', '.join(get_args(literal_type))}")
        for step in self.steps:
            if step not in get_args(Step):
                raise InputError(f"unknown step {step!r}; known: {', '.join(get_args(Step))}")
        if self.resample < 0:
            raise InputError(f"resample must be 0 or more; found {self.resample}")
        if self.constrained and not takes_schemas(self.model):
            raise InputError(f"{self.model.name!r} cannot force an output format; leave out 'constrained'")
        if self.max_pictures is not None and self.max_pictures < 1:
            raise InputError(
                f"max_pictures is the number of pictures in one prompt, 1 or more; found {self.max_pictures}"
            )
        self.prompt_template.block("direct" if self.mode == "direct" else "analyze")

    @cached_property
    def prompt_template(self) -> Template:
        return self.template or default_template(self.language)

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.model,)

    def with_models(self, models: Sequence[Model]) -> PromptedJudge:
        """Return this judge with another model."""
        (model,) = models
        return replace(self, model=model)

    @cached_property
    def name(self) -> str:
        style_words: list[str] = [self.mode]
        style_words += (
            [] if self.picture_mode == "image" else ["no-picture" if self.picture_mode == "none" else "described"]
        )
        style_words += ["reference"] if self.reference else []
        style_words += [] if self.language == "en" else [self.language]
        style_words += ["constrained"] if self.constrained else []
        style_words += [] if self.check_code or self.template is not None else ["no-check-code"]
        return f"{self.label or self.model.name}+{'+'.join(style_words)}#{digest(self.settings)[:8]}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        form: Style = "marker" if self.form == "marker" else "json"
        ballot_requests = [
            ballot(spec).ask(2, self.language, self._style if self.constrained else form) for spec in _SAMPLE_BALLOTS
        ]
        reasons = self.mode != "direct"
        verdict_schemas = [
            ruling_schema(ballot(spec), 2, reasons=reasons, check_code=self.check_code) for spec in _SAMPLE_BALLOTS
        ]
        # Our own template asks for a check code and others do not: only a difference from that is stated.
        usual_check_code = self.template is None and not self.constrained
        return {
            "model": self.model.name,
            "mode": self.mode,
            "picture_mode": self.picture_mode,
            "reference": self.reference,
            "language": self.language,
            "steps": list(self._reasoning_steps),
            "criteria": dict(self.criteria),
            "examples": [example.settings for example in self.examples],
            "resample": self.resample,
            "form": self.form,
            "prompt_template": digest([self.prompt_template.digest, ballot_requests]),
            "parts": layout_digest(self.language),
            **({"answer_first": digest(self._step_text("answer"))} if "answer" in self._reasoning_steps else {}),
            **({"constrained": digest(verdict_schemas)} if self.constrained else {}),
            **({"max_pictures": self.max_pictures} if self.max_pictures is not None else {}),
            **({"rules_tag": self.rules_tag} if self.rules_tag else {}),
            **({"check_code": self.check_code} if self.check_code != usual_check_code else {}),
            **(
                {"ends": digest([scale_ends_text(ballot(spec), self.language) for spec in _SAMPLE_BALLOTS])}
                if self._states_scale_ends
                else {}
            ),
        }

    @property
    def _states_scale_ends(self) -> bool:
        return self.ends and self.template is None

    @property
    def _reasoning_steps(self) -> tuple[Step, ...]:
        return self.steps if self.mode == "steps" else ("answer",) if self.mode == "commit" else ()

    def _step_text(self, step: Step) -> str:
        # This step was added after the templates. A separate file keeps their digests, and so judges' names, unchanged.
        if step != "answer" or "step_answer" in self.prompt_template.blocks:
            return self.prompt_template.block(f"step_{step}")
        file = resources.files("fullbench.judges") / "prompts" / f"answer_first_{self.language}.txt"
        return file.read_text(encoding="utf-8").strip()

    @property
    def _style(self) -> Style:
        return style_of({"mode": self.mode, "form": self.form, "constrained": self.constrained})

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """Yield one verdict or failure per case, as they arrive."""
        remaining_cases = (
            add_own_answers(self, self.model, cases) if self.answers_first else ((case, NOTHING) for case in cases)
        )
        due: deque[Prompt] = deque()
        abstentions: deque[Verdict | Failure] = deque()
        more = True

        def prompts() -> Iterator[Prompt]:
            nonlocal more
            while due or (more and len(abstentions) < _BACKLOG):
                if due:
                    yield due.popleft()
                    continue
                case, usage = next(remaining_cases, (None, NOTHING))
                if case is None:
                    more = False
                elif reason := self.abstention_reason(case):
                    abstentions.append(Verdict.from_case(case, self.name, "abstained", text=reason, at=time.time()))
                elif outcome := outcome_without_answer(case, self.name, usage):
                    abstentions.append(outcome)
                else:
                    try:
                        prompt = self.prompt(case)
                    except InputError as error:  # a video or a document that cannot be decoded
                        reason = str(error)
                        abstentions.append(Verdict.from_case(case, self.name, "abstained", text=reason, at=time.time()))
                        continue
                    prompt.tag.usage = usage
                    yield prompt

        while more or due:
            try:
                for reply in self.model.answer(prompts()):
                    outcome = self._evaluate_reply(reply)
                    if isinstance(outcome, Prompt):
                        due.append(outcome)
                    else:
                        yield outcome
                    while abstentions:
                        yield abstentions.popleft()
            except ModelError as error:  # earlier replies of these cases were paid for, so their usage is reported
                yield from (self._make_failure(prompt.tag, f"it was not asked further: {error}") for prompt in due)
                raise
            while abstentions:
                yield abstentions.popleft()

    def _make_failure(self, progress: CaseProgress, error: str, kind: FailureKind = "passing") -> Failure:
        case, exchanges = progress.case, tuple(progress.exchanges)
        return Failure(case.key, self.name, case.trial, error, progress.usage, kind, exchanges)

    def abstention_reason(self, case: Case) -> str:
        """Return why this judge abstains from a case; empty if it does not."""
        if self.picture_mode == "described" and case.item.media and len(case.item.captions) < len(case.item.media):
            noun = "picture" if len(case.item.media) == len(case.item.pictures) else "file"
            return agree_with_one(f"{len(case.item.media)} {noun}s, {len(case.item.captions)} descriptions")
        pictures = response_pictures(case)
        response_media = [part for response in case.responses for part in response.media]
        if self.picture_mode != "image" and response_media:
            return f"the responses are {response_media[0].noun}s, and this judge sees none"
        unknown = next((part for part in response_media if part.media_type == UNKNOWN), None)
        if unknown is not None:
            return f"what was given as a {unknown.noun} is none that we know"
        all_media = chain(case.item.media, *(response.media for response in case.responses))
        other_media = [part for part in all_media if part.kind != "image"]
        if self.picture_mode == "image":
            refused = next((part for part in other_media if part.kind not in media_kinds(self.model)), None)
            if refused is not None:
                return f"the case has a {refused.noun}, which this judge's model does not take"
        picture_count = len(pictures) + (len(case.item.pictures) if self.picture_mode == "image" else 0)
        if self.max_pictures is not None and picture_count > self.max_pictures:
            return (
                f"the case shows {picture_count} pictures, but this judge takes at most {self.max_pictures} at a time"
            )
        if self.reference and not case.item.reference:
            return "the item has no reference answer"
        return ""

    def prompts(self, case: Case, replies: Sequence[str] = ()) -> tuple[Prompt, ...]:
        """Return the prompts of a case, given these replies to earlier ones; empty if the judge abstains.

        If the case has the judge's own answer, only the prompt for the verdict is left.
        """
        if self.abstention_reason(case):
            return ()
        try:
            prompt_sequence = [self.prompt(case)]
        except InputError:  # a video or a document that cannot be decoded
            return ()
        if case.own_answer is not None:
            return tuple(prompt_sequence)
        progress: CaseProgress = prompt_sequence[0].tag
        for _, reply in zip(self._reasoning_steps, chain(replies, repeat("")), strict=False):
            prompt_sequence.append(
                self._next_prompt(progress, (*prompt_sequence[-1].turns, Turn("assistant", (reply,))))
            )
        return tuple(prompt_sequence)

    def prompt(self, case: Case) -> Prompt:
        """Return the first prompt of a case; with the judge's own answer, the one that follows it."""
        progress = CaseProgress(case, deque(self._reasoning_steps))
        first_prompt = self._next_prompt(progress, self._context(case))
        if not self.answers_first or case.own_answer is None:
            return first_prompt
        progress.exchanges.append(case.own_answer)
        progress.earlier.append(case.own_answer.text)
        return self._next_prompt(progress, (*first_prompt.turns, Turn("assistant", (case.own_answer.text,))))

    @property
    def answers_first(self) -> bool:
        """Return True if this judge answers the question before it sees the responses."""
        return self.mode == "commit"

    def answer_request(self, case: Case) -> Item | None:
        """Return the request for the judge's own answer, or None if this judge does not answer first or abstains."""
        if not self.answers_first or self.abstention_reason(case):
            return None
        return request_own_answer(case.item, self.prompt(replace(case, own_answer=None)).turns)

    def _next_prompt(self, progress: CaseProgress, turns: tuple[Turn, ...]) -> Prompt:
        case = progress.case
        is_reasoning = bool(progress.steps)
        request_parts: tuple[Part, ...] = self._judging_parts(case)
        if is_reasoning:
            request_parts = (name_media(self._step_text(progress.steps.popleft()), case.item, self.language),)
        if turns[-1].role == "user":
            alone = all(turn.role == "system" for turn in turns[:-1]) and _FENCE not in self.prompt_template.blocks
            progress.shared_parts = len(turns[-1].parts) if alone else 0
            turns, request_parts = turns[:-1], (*turns[-1].parts, "\n", *request_parts)
        if _FENCE in self.prompt_template.blocks:
            # Servers may insert text between the parts of a message, so an exact prompt is one part.
            request_parts = merge_text_parts(request_parts)
        json = self.form == "json" and not is_reasoning
        schema = "" if is_reasoning or not self.constrained else self._schema(case)
        check_code = "" if is_reasoning else self._check_code(case)
        all_turns = (*turns, Turn("user", request_parts))
        # All trials share the judge's own answer.
        seed = None if is_reasoning and self.answers_first else case.trial or None
        prompt = Prompt(all_turns, seed, json, schema, check_code, progress.shared_parts, tag=progress)
        prepared_prompt = prepare_prompt(self.model, prompt)
        if prepared_prompt is not prompt and self.max_pictures is not None:
            count = sum(len(turn.pictures) for turn in prepared_prompt.turns)
            if count > self.max_pictures:
                raise InputError(
                    f"the case is sent as {count} pictures, but this judge takes at most {self.max_pictures}"
                )
        return prepared_prompt

    def _check_code(self, case: Case) -> str:
        """Return the check code of a verdict; empty if this judge requests none."""
        return case.nonce if self.check_code else ""

    def _schema(self, case: Case) -> str:
        return ruling_schema(
            case.ballot, len(case.responses), reasons=self.mode != "direct", check_code=bool(self._check_code(case))
        )

    def _evaluate_reply(self, reply: Reply) -> Prompt | Verdict | Failure:
        progress: CaseProgress = reply.prompt.tag
        case = progress.case
        progress.usage += reply.usage
        if reply.error is not None:
            before = tuple(progress.exchanges)
            if reason := next(filter(None, map(broken_reason, response_pictures(case))), ""):
                usage = progress.usage
                return Verdict.from_case(
                    case, self.name, "abstained", text=reason, usage=usage, at=time.time(), exchanges=before
                )
            return self._make_failure(progress, reply.error, reply.failure)
        now = time.time()
        progress.exchanges.append(reply.exchange(now))
        progress.has_estimated_tokens |= reply.estimated
        in_steps = len(progress.earlier) < len(self._reasoning_steps)
        if in_steps and reply.stop not in DECLINED_STOPS:
            progress.earlier.append(reply.text)
            return self._next_prompt(progress, (*reply.prompt.turns, Turn("assistant", (reply.text,))))
        marks_or_fault, reading = read_reply(
            case,
            progress.exchanges[-1],
            self.settings,
            self._template_words,
            has_estimated_tokens=progress.has_estimated_tokens,
        )
        if isinstance(marks_or_fault, str) and progress.attempts < self.resample:
            progress.attempts += 1
            progress.earlier.append(reply.text)
            # The step exceeds `MOST_TRIALS`, so a repeated sample never has the seed of another trial.
            seed = (reply.prompt.seed or 0) + 1_000_003 * progress.attempts
            return replace(reply.prompt, seed=seed, tag=progress)
        return Verdict.from_case(
            case, self.name, marks_or_fault, text=reply.text, usage=progress.usage, prompt=reply.prompt.digest,
            earlier=tuple(progress.earlier), at=now, exchanges=tuple(progress.exchanges), reading=reading,
        )  # fmt: skip

    @cached_property
    def _template_words(self) -> tuple[str, ...]:
        """Return the texts of a user's template: quoting them is not a verdict."""
        if self.template is None:
            return ()
        return (*(text for _, text in self.template.turns), *self.template.blocks.values())

    def _context(self, case: Case) -> tuple[Turn, ...]:
        """Return the turns before any response. Consecutive cases of one item share them."""
        item, form, n = case.item, case.ballot, len(case.responses)
        for before, its_form, its_n, turns in self._last_context:
            if before is item and its_form == form and its_n == n:
                return turns
        is_missing = self.picture_mode != "described" and bool(item.tags.get(WITHOUT_PICTURES))
        exact = _FENCE in self.prompt_template.blocks
        turns = self.prompt_template.fill({
            "about": (" ",) if item.pictures or is_missing else (),
            **({} if self.answers_first else self._help(case)),
            "task": (item.tags.get("task", ""),),
            **question_slots(item, self.prompt_template, self.picture_mode, self.language, exact=exact),
        })  # fmt: skip
        self._last_context[:] = [(item, form, n, turns)]
        return turns

    def _help(self, case: Case) -> dict[str, tuple[Part, ...]]:
        """Return the examples and the reference, which a judge that answers first gets after its answer."""
        style: Style = "marker" if self.constrained else self._style
        examples = render_examples(self.examples, case.ballot, len(case.responses), style)
        has_reference = self.reference and case.item.reference
        return {
            "examples": tuple(f"{example}\n\n" for example in examples),
            "reference": (case.item.reference or "",) if has_reference else (),
        }

    def _judging_parts(self, case: Case) -> tuple[Part, ...]:
        n = len(case.responses)
        criterion, turn_number = case.criterion, None
        if criterion not in self.criteria:
            criterion, turn_number = split_criterion(criterion)
        if criterion == "overall" and (tagged_criterion := case.item.tags.get(self.rules_tag)) in self.criteria:
            criterion = str(tagged_criterion)
        meaning = self.criteria.get(criterion, "" if criterion == "overall" else criterion)
        if case.criterion not in self.criteria and is_dialogue(case.item):
            meaning = turn_criterion_text(meaning, turn_number, self.language)
        values: dict[str, Sequence[Part]] = {
            "criterion": (meaning,),
            "shown": (str(n),),
            "responses": tuple(self._fenced_responses(case)),
            "verdict": self._verdict_request(case.ballot, n),
            "task": (case.item.tags.get("task", ""),),
        }
        check_code = self._check_code(case)
        code_request = f"\n{asking(check_code, self.language, self._style)}" if check_code else ""
        has_verdict_slot = "{verdict}" in self.prompt_template.blocks["case"]
        if code_request and has_verdict_slot:
            values["verdict"] = (*values["verdict"], code_request)
        late_parts: list[Part] = []
        for name, value in self._help(case).items() if self.answers_first else ():
            if value:
                has_block = name in self.prompt_template.blocks
                late_parts += self.prompt_template.fill_block(name, {"text": value}) if has_block else value
                late_parts.append("\n")
        case_parts = (*late_parts, *self.prompt_template.fill_block("case", values))
        # A template that states the form of the verdict itself has no place for the request but its end.
        return (*case_parts, code_request) if code_request and not has_verdict_slot else case_parts

    def _fenced_responses(self, case: Case) -> Iterator[Part]:
        block = next((name for name in (_FENCE, _MARKS) if name in self.prompt_template.blocks), None)
        if block is None:
            yield from fence_responses(case)
            return
        for letter, response in zip(LETTERS, case.responses, strict=False):
            yield "" if letter == LETTERS[0] else "\n"
            values = {"letter": (letter,), "mark": (case.key[:8],), "text": response_parts(case, response)}
            yield from self.prompt_template.fill_block(block, values)

    def _verdict_request(self, form: Ballot, n: int) -> tuple[Part, ...]:
        request_parts = self._verdict_requests.get((form.spec, n))
        if request_parts is None:
            request_text = (scale_ends_text(form, self.language) if self._states_scale_ends else "") + form.ask(
                n, self.language, self._style
            )
            block_name = "direct" if self.mode == "direct" else "analyze"
            request_parts = self._verdict_requests[form.spec, n] = self.prompt_template.fill_block(
                block_name, {"text": (request_text,)}
            )
        return request_parts


@dataclass(frozen=True, eq=False)
class JointJudge(ABC):
    """Base of judges that ask a prompted judge about several cases in one call, in lines."""

    kind: ClassVar[Kind] = "model"
    needs_lines: ClassVar[str]
    """Error for a prompted judge that does not answer in lines."""
    style_word: ClassVar[str]
    """Part of the name."""

    inner: PromptedJudge

    def __post_init__(self) -> None:
        if self.inner.form != "marker" or self.inner.constrained:
            raise InputError(self.needs_lines)

    @property
    def models(self) -> tuple[Model, ...]:
        return self.inner.models

    @cached_property
    def name(self) -> str:
        return f"{self.inner.name.split('#', maxsplit=1)[0]}+{self.style_word}#{digest(self.settings)[:8]}"

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any]: ...

    def with_models(self, models: Sequence[Model]) -> Self:
        """Return this judge with other models."""
        return replace(self, inner=self.inner.with_models(models))

    @property
    def answers_first(self) -> bool:
        """Return True if this judge answers the question before it sees the responses."""
        return self.inner.answers_first

    def answer_request(self, case: Case) -> Item | None:
        """Return the request for the judge's own answer, if it answers first."""
        return self.inner.answer_request(case)

    def split_outcome(
        self,
        outcome: Verdict | Failure,
        cases: Sequence[Case],
        marks: Sequence[tuple[float, ...] | Fault],
        texts: Sequence[str] = (),
    ) -> Iterator[Verdict | Failure]:
        """Yield the outcome of a call for each of its cases; `marks` are not read after a failure.

        `texts` are the parts of the reply that belong to each case; the text is the whole reply if they are empty.
        """
        usage = outcome.usage
        for place, case in enumerate(cases):
            if isinstance(outcome, Failure):
                yield replace(outcome, case=case.key, judge=self.name, usage=usage)
            else:
                yield Verdict.from_case(
                    case, self.name, marks[place], text=(texts[place] if texts else "") or outcome.text, usage=usage,
                    prompt=outcome.prompt,
                    earlier=outcome.earlier, at=outcome.at, exchanges=outcome.exchanges, reading=outcome.reading,
                )  # fmt: skip
            usage = NOTHING  # one call, counted once


def default_template(language: Language) -> Template:
    """Return the template that ships with the package."""
    return load_template("fullbench.judges", language, SLOTS)


def read_template(path: str | Path) -> Template:
    """Read a user's template."""
    return Template.read(path, SLOTS)
