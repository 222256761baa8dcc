"""Judges that are models with a prompt."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from itertools import chain, repeat
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, get_args

from fullbench.core.ballot import LETTERS, Ballot, Language, Style, ballot
from fullbench.core.call import NOTHING, Call, FailureKind, Usage
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn
from fullbench.core.judge import Kind
from fullbench.core.model import DECLINED, Model, Prompt, Reply, as_judge, takes_schemas
from fullbench.core.picture import UNKNOWN
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import InputError, ModelError
from fullbench.judges.prompt_examples import Example, written
from fullbench.judges.prompt_templates import Template, joined
from fullbench.judges.quoted_prompt_texts import dialogue, drawn, ends, pictures_shown, read_reply, style_of
from fullbench.judges.scorers.decoded_pictures import broken
from fullbench.models.prompt_fences import fenced
from fullbench.parsing.check_code import asking
from fullbench.parsing.json_schema import ruling_schema

# The name of a prompted judge.


class Named(Protocol):
    """The parts of a prompted judge that its name is made from."""

    @property
    def model(self) -> Model: ...
    @property
    def label(self) -> str | None: ...
    @property
    def mode(self) -> str: ...
    @property
    def sight(self) -> str: ...
    @property
    def reference(self) -> bool: ...
    @property
    def language(self) -> str: ...
    @property
    def constrained(self) -> bool: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...


def named(judge: Named) -> str:
    """Return the model and the prompt style in words, and a digest of everything that can change a verdict."""
    manner: list[str] = [judge.mode]
    manner += [] if judge.sight == "image" else [{"none": "unseeing", "described": "described"}[judge.sight]]
    manner += ["reference"] if judge.reference else []
    manner += [] if judge.language == "en" else [judge.language]
    manner += ["constrained"] if judge.constrained else []
    return f"{judge.label or judge.model.name}+{'+'.join(manner)}#{digest(judge.settings)[:8]}"


# One case on its way through a judge that asks in several turns.

Step = Literal["both", "picture", "question", "answer"]
"""What a reasoning turn looks at before the ruling is asked for."""


@dataclass(eq=False)
class Hearing:
    """What has happened so far in one case. `shared` parts of the first turn are the item's, not the case's."""

    case: Case
    steps: deque[Step]
    usage: Usage = NOTHING
    earlier: list[str] = field(default_factory=list)
    exchanges: list[Call] = field(default_factory=list)
    attempts: int = 0
    estimated: bool = False
    shared: int = 0


Mode = Literal["direct", "analyze", "steps"]
Sight = Literal["image", "none", "described"]
Form = Literal["marker", "json", "json-prompt"]

SLOTS = frozenset({
    "about", "criterion", "described", "dialogue", "examples", "letter", "mark", "pictures", "question", "reference",
    "responses", "ruling", "shown", "task", "withheld",
})  # fmt: skip
_BACKLOG = 1_000
_FENCE, _MARKS = "fence", "marks"
"""The blocks by which a wording sets responses off in its own way: `fence` in an exact prompt, `marks` in any other."""
_WORDED = ("score:1-5", "real:0-1", "likert:bad|good", "choice", "choice+tie", "ranking")


@dataclass(frozen=True, eq=False)
class PromptedJudge:
    """A model asked to rule.

    `mode` is `direct` (the ruling only), `analyze` (analysis, then the ruling) or `steps` (the reasoning turns named in
    `steps` come first, then `analyze`). `sight` is `image`, `none` (pictures are withheld, and the judge is told so) or
    `described` (the item's captions stand in). `sees` is how many pictures the model can look at in one prompt, where
    that is bounded. `reference` shows the item's reference answer. `criteria` says what a criterion means, in words;
    in a case that is judged overall, the item's tag `rules_tag`, where one is named, says whose words hold. A
    reply that cannot be read, or a refusal, is sampled again `resample` times. `form` asks for the ruling in brackets
    (`marker`), in a JSON object with the server's JSON mode on (`json`), or in one that the prompt alone asks for
    (`json-prompt`). The model is asked at temperature 0
    unless its own settings say otherwise or it takes none (`as_judge`). A `constrained` judge rules in JSON, and
    its server is told to let it write nothing else: for models that ramble. `ends` says in our own wording which end
    of a scale is good.

    It recuses itself from cases that it cannot be asked: more pictures than it sees, what is no picture, and, once a
    call has failed over them, pictures that cannot be decoded.

    The judge is shown letters, never contestants' names. Candidates' words stand between marks that carry a digest of
    the case, which nobody can know who has not seen the whole case, so that an answer cannot close its own mark and
    speak as the prompt.
    """

    kind: ClassVar[Kind] = "model"

    model: Model
    mode: Mode = "analyze"
    sight: Sight = "image"
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
    sees: int | None = None
    rules_tag: str = ""
    ends: bool = True
    _asked: dict[tuple[str, int], tuple[Part, ...]] = field(default_factory=dict, init=False, repr=False)
    _last: list[tuple[Item, Ballot, int, tuple[Turn, ...]]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", as_judge(self.model))
        for name, value, known in (("mode", self.mode, Mode), ("sight", self.sight, Sight), ("form", self.form, Form)):
            if value not in get_args(known):
                raise InputError(f"unknown {name} {value!r}; known: {', '.join(get_args(known))}")
        for step in self.steps:
            if step not in get_args(Step):
                raise InputError(f"unknown step {step!r}; known: {', '.join(get_args(Step))}")
        if self.resample < 0:
            raise InputError(f"resample must be 0 or more; found {self.resample}")
        if self.constrained and not takes_schemas(self.model):
            raise InputError(f"{self.model.name!r} cannot be held to a form of reply; leave 'constrained' out")
        if self.sees is not None and self.sees < 1:
            raise InputError(f"sees is how many pictures the model looks at, 1 or more; found {self.sees}")
        self.wording.block("direct" if self.mode == "direct" else "analyze")

    @cached_property
    def wording(self) -> Template:
        return self.template or default_template(self.language)

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.model,)

    def with_models(self, models: Sequence[Model]) -> PromptedJudge:
        """The same judge, asking others in the place of its models."""
        (model,) = models
        return replace(self, model=model)

    @cached_property
    def name(self) -> str:
        return named(self)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        form: Style = "marker" if self.form == "marker" else "json"
        asked = [ballot(spec).ask(2, self.language, self._style if self.constrained else form) for spec in _WORDED]
        held = [ruling_schema(ballot(spec), 2, reasons=self.mode != "direct") for spec in _WORDED]
        return {
            "model": self.model.name,
            "mode": self.mode,
            "sight": self.sight,
            "reference": self.reference,
            "language": self.language,
            "steps": list(self._stepping),
            "criteria": dict(self.criteria),
            "examples": [example.settings for example in self.examples],
            "resample": self.resample,
            "form": self.form,
            "wording": digest([self.wording.digest, asked]),
            **({"answer_first": digest(self._step("answer"))} if "answer" in self._stepping else {}),
            **({"constrained": digest(held)} if self.constrained else {}),
            **({"sees": self.sees} if self.sees is not None else {}),
            **({"rules_tag": self.rules_tag} if self.rules_tag else {}),
            **({"ends": digest([ends(ballot(spec), self.language) for spec in _WORDED])} if self._says_ends else {}),
        }

    @property
    def _says_ends(self) -> bool:
        return self.ends and self.template is None

    @property
    def _stepping(self) -> tuple[Step, ...]:
        return self.steps if self.mode == "steps" else ()

    def _step(self, step: Step) -> str:
        # Answering first came later than the wordings, which keep their digests.
        if step != "answer" or "step_answer" in self.wording.blocks:
            return self.wording.block(f"step_{step}")
        file = resources.files("fullbench.judges") / "prompts" / f"answer_first_{self.language}.txt"
        return file.read_text(encoding="utf-8").strip()

    @property
    def _style(self) -> Style:
        """The form in which a ruling is asked for."""
        return style_of({"mode": self.mode, "form": self.form, "constrained": self.constrained})

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """One verdict or failure for each case, as they come."""
        docket = iter(cases)
        due: deque[Prompt] = deque()
        settled: deque[Verdict] = deque()
        more = True

        def prompts() -> Iterator[Prompt]:
            nonlocal more
            while due or (more and len(settled) < _BACKLOG):
                if due:
                    yield due.popleft()
                    continue
                case = next(docket, None)
                if case is None:
                    more = False
                elif reason := self.recuses(case):
                    settled.append(Verdict.of(case, self.name, "recused", text=reason, at=time.time()))
                else:
                    yield self.prompt(case)

        while more or due:
            try:
                for reply in self.model.answer(prompts()):
                    outcome = self._weigh(reply)
                    if isinstance(outcome, Prompt):
                        due.append(outcome)
                    else:
                        yield outcome
                    while settled:
                        yield settled.popleft()
            except ModelError as error:  # replies that led to a further prompt were paid for
                yield from (self._failed(prompt.tag, f"it was not asked further: {error}") for prompt in due)
                raise
            while settled:
                yield settled.popleft()

    def _failed(self, hearing: Hearing, error: str, kind: FailureKind = "passing") -> Failure:
        case, exchanges = hearing.case, tuple(hearing.exchanges)
        return Failure(case.key, self.name, case.trial, error, hearing.usage, kind, exchanges)

    def recuses(self, case: Case) -> str:
        """Why this judge cannot rule in this case; empty when it can."""
        if self.sight == "described" and case.item.pictures and len(case.item.captions) < len(case.item.pictures):
            return f"{len(case.item.pictures)} picture(s), {len(case.item.captions)} description(s)"
        pictures = drawn(case)
        if self.sight != "image" and pictures:
            return "the responses are pictures, and this judge sees none"
        if any(picture.media == UNKNOWN for picture in pictures):
            return "what was given as a picture is none that we know"
        shown = len(pictures) + (len(case.item.pictures) if self.sight == "image" else 0)
        if self.sees is not None and shown > self.sees:
            return f"the case shows {shown} pictures, and this judge looks at {self.sees} at a time"
        if self.reference and not case.item.reference:
            return "the item has no reference answer"
        return ""

    def prompts(self, case: Case, replies: Sequence[str] = ()) -> tuple[Prompt, ...]:
        """What is sent in a case, as far as it is known from these replies; nothing where it recuses itself."""
        if self.recuses(case):
            return ()
        sent = [self.prompt(case)]
        hearing: Hearing = sent[0].tag
        for _, reply in zip(self._stepping, chain(replies, repeat("")), strict=False):
            sent.append(self._next(hearing, (*sent[-1].turns, Turn("assistant", (reply,)))))
        return tuple(sent)

    def prompt(self, case: Case) -> Prompt:
        """What the model is asked first in a case."""
        return self._next(Hearing(case, deque(self._stepping)), self._context(case))

    def _next(self, hearing: Hearing, turns: tuple[Turn, ...]) -> Prompt:
        """The next reasoning step where one is left, else the responses and the question for a ruling."""
        case = hearing.case
        stepping = bool(hearing.steps)
        asked: tuple[Part, ...] = self._hearing(case)
        if stepping:
            asked = (self._step(hearing.steps.popleft()),)
        if turns[-1].role == "user":
            alone = all(turn.role == "system" for turn in turns[:-1]) and _FENCE not in self.wording.blocks
            hearing.shared = len(turns[-1].parts) if alone else 0
            turns, asked = turns[:-1], (*turns[-1].parts, "\n", *asked)
        if _FENCE in self.wording.blocks:
            # Servers put what they like between the texts of a message: an exact prompt has one.
            asked = joined(asked)
        json = self.form == "json" and not stepping
        schema = "" if stepping or not self.constrained else self._schema(case)
        nonce = "" if stepping else self._nonce(case)
        said = (*turns, Turn("user", asked))
        return Prompt(said, case.trial or None, json, schema, nonce, hearing.shared, tag=hearing)

    def _nonce(self, case: Case) -> str:
        """The nonce that a ruling is asked for with: none where the wording is somebody's own, or a schema holds."""
        return "" if self.template is not None or self.constrained else case.nonce

    def _schema(self, case: Case) -> str:
        return ruling_schema(case.ballot, len(case.responses), reasons=self.mode != "direct")

    def _weigh(self, reply: Reply) -> Prompt | Verdict | Failure:
        """What a reply leads to: a further prompt, a verdict, or a failure."""
        hearing: Hearing = reply.prompt.tag
        case = hearing.case
        hearing.usage += reply.usage
        if reply.error is not None:
            before = tuple(hearing.exchanges)
            if reason := next(filter(None, map(broken, drawn(case))), ""):
                usage = hearing.usage
                return Verdict.of(
                    case, self.name, "recused", text=reason, usage=usage, at=time.time(), exchanges=before
                )
            return self._failed(hearing, reply.error, reply.failure)
        now = time.time()
        hearing.exchanges.append(reply.exchange(now))
        hearing.estimated |= reply.estimated
        in_steps = len(hearing.earlier) < len(self._stepping)
        if in_steps and reply.stop not in DECLINED:
            hearing.earlier.append(reply.text)
            return self._next(hearing, (*reply.prompt.turns, Turn("assistant", (reply.text,))))
        ruling, reader = read_reply(
            case, hearing.exchanges[-1], self.settings, self._template_words, estimated=hearing.estimated
        )
        if isinstance(ruling, str) and hearing.attempts < self.resample:
            hearing.attempts += 1
            hearing.earlier.append(reply.text)
            seed = (reply.prompt.seed or 0) + 1_000_003 * hearing.attempts
            return replace(reply.prompt, seed=seed, tag=hearing)
        return Verdict.of(
            case, self.name, ruling, text=reply.text, usage=hearing.usage, prompt=reply.prompt.digest,
            earlier=tuple(hearing.earlier), at=now, exchanges=tuple(hearing.exchanges), reader=reader,
        )  # fmt: skip

    @cached_property
    def _template_words(self) -> tuple[str, ...]:
        """The words of a wording of one's own: what a judge repeats of it is no ruling."""
        if self.template is None:
            return ()
        return (*(text for _, text in self.template.turns), *self.template.blocks.values())

    def _context(self, case: Case) -> tuple[Turn, ...]:
        """What is known before any response is shown. Cases of one item come one after the other, and share it."""
        item, form, n = case.item, case.ballot, len(case.responses)
        for before, its_form, its_n, turns in self._last:
            if before is item and its_form == form and its_n == n:
                return turns
        # A judge that would look is told so where the pictures are not there: it must not believe that there were none.
        named = item.tags.get(WITHOUT_PICTURES, "") if self.sight != "described" else ""
        missing = str(len(named.splitlines())) if named else ""
        seen: dict[Sight, str] = {"image": "pictures", "none": "withheld", "described": "described"}
        unseen = (missing,) if self.sight == "none" and missing else ()
        examples = written(self.examples, form, n, "marker" if self.constrained else self._style)
        turns = self.wording.fill({
            "about": (" ",) if item.pictures or missing else (),
            "dialogue": tuple(dialogue(item, self.wording.blocks)),
            "examples": tuple(f"{example}\n\n" for example in examples),
            "question": (item.question,),
            "reference": (item.reference,) if self.reference and item.reference else (),
            "task": (item.tags.get("task", ""),),
            **({"withheld": (missing,)} if missing else {}),
            seen[self.sight]: tuple(pictures_shown(item, self.sight)) or unseen,
        })  # fmt: skip
        self._last[:] = [(item, form, n, turns)]
        return turns

    def _hearing(self, case: Case) -> tuple[Part, ...]:
        """The responses and the question for a ruling."""
        n = len(case.responses)
        criterion = case.criterion
        if criterion == "overall" and (tagged := case.item.tags.get(self.rules_tag)) in self.criteria:
            criterion = str(tagged)
        meaning = self.criteria.get(criterion, "" if criterion == "overall" else criterion)
        values: dict[str, Sequence[Part]] = {
            "criterion": (meaning,),
            "shown": (str(n),),
            "responses": tuple(self._fenced(case)),
            "ruling": self._ruling(case.ballot, n),
            "task": (case.item.tags.get("task", ""),),
        }
        if nonce := self._nonce(case):
            values["ruling"] = (*values["ruling"], f"\n{asking(nonce, self.language, self._style)}")
        return self.wording.fill_block("hearing", values)

    def _fenced(self, case: Case) -> Iterator[Part]:
        """The responses between marks: ours, or, where a wording has a block for it, its own for each of them."""
        block = next((name for name in (_FENCE, _MARKS) if name in self.wording.blocks), None)
        if block is None:
            yield from fenced(case)
            return
        for letter, response in zip(LETTERS, case.responses, strict=False):
            yield "" if letter == LETTERS[0] else "\n"
            values = {"letter": (letter,), "mark": (case.key[:8],), "text": response.parts}
            yield from self.wording.fill_block(block, values)

    def _ruling(self, form: Ballot, n: int) -> tuple[Part, ...]:
        """How the ruling is asked for; the same for all cases with this ballot and number of responses."""
        known = self._asked.get((form.spec, n))
        if known is None:
            asked = (ends(form, self.language) if self._says_ends else "") + form.ask(n, self.language, self._style)
            manner = "direct" if self.mode == "direct" else "analyze"
            known = self._asked[form.spec, n] = self.wording.fill_block(manner, {"text": (asked,)})
        return known


def default_template(language: Language) -> Template:
    """The wording that ships with the package."""
    file = resources.files("fullbench.judges") / "prompts" / f"{language}.txt"
    return Template.parse(file.read_text(encoding="utf-8"), SLOTS, path=f"{language}.txt")


def read_template(path: str | Path) -> Template:
    """A wording of one's own."""
    return Template.read(path, SLOTS)
