"""`Scorer`, which gives a picture a number for a prompt, and `ScorerJudge`, which turns scores into verdicts."""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from fullbench.core.ballot import Ballot, Choice, Likert, Number, Ranking, Real, Score
from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import CallsNoModel, Kind
from fullbench.core.picture import Picture
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError, Unscorable
from fullbench.judges.baselines import marks_from
from fullbench.judges.scorers.safe_picture_decoding import UnscorableAmong, decode_picture

if TYPE_CHECKING:
    from PIL.Image import Image

Span = tuple[float, float]
_Key = tuple[str, str]
_Outcomes = list[float | str]
_Batch = dict[_Key, None]
"""Pictures of a batch in order, with fast lookup."""
# Pairs share pictures, so scores are kept; the oldest go first in a study of millions.
_MAX_SCORES = 100_000
_MAX_RUNNING_BATCHES = 5


@runtime_checkable
class Scorer(Protocol):
    """Scores of pictures. `name` and `settings` are the identity: whatever changes a score changes them.

    `prepare` turns a decoded picture into the input of `score`; it is called from several threads. `span` is the
    range of scores, if there is one; only with it can a scale with fixed ends be used.

    Optional members: `raw(picture)` returns the input of `collate` for a picture that the scorer decodes itself, else
    None. `collate(prepared)` builds a batch in its own thread while earlier batches are scored; then `score` is
    called from two threads. It raises `UnscorableAmong` if some pictures cannot be decoded. `threads` is how many
    threads should prepare pictures.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def span(self) -> Span | None: ...

    def prepare(self, image: Image) -> Any: ...

    def score(self, prompts: Sequence[str], prepared_pictures: Sequence[Any]) -> Sequence[float]: ...


@dataclass(frozen=True)
class CallableScorer:
    """Any function of a prompt and a picture (a Pillow image in RGB) that returns a number."""

    name: str
    function: Callable[[str, Image], float]
    span: Span | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def prepare(self, image: Image) -> Image:
        return image

    def score(self, prompts: Sequence[str], prepared_pictures: Sequence[Image]) -> list[float]:
        return [float(self.function(prompt, image)) for prompt, image in zip(prompts, prepared_pictures, strict=True)]


@dataclass(frozen=True, eq=False)
class ScorerJudge(CallsNoModel):
    """A judge that scores every picture alone and decides by the scores.

    A response is one picture; the item's question is the prompt. On a choice or a ranking the higher score wins, and
    scores within `margin` of each other tie. A number ballot takes any score. A real ballot takes a score between its
    ends or, if the scorer has a span, one stretched from the span to the ballot's ends. Scores and words of a scale
    need the span. The judge abstains, with the reason as the verdict's text, from broken pictures, from the same
    picture shown twice, and from ballots that the scores do not fit.

    `threads` threads decode pictures while the scorer works on the previous `batch`. Each picture is scored once.
    """

    kind: ClassVar[Kind] = "scorer"

    scorer: Scorer
    margin: float = 0.0
    batch: int = 32
    threads: int = 0
    _scores: OrderedDict[_Key, float | str] = field(default_factory=OrderedDict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.margin < 0 or self.batch < 1:
            raise InputError(
                f"a margin is 0 or more and a batch at least 1; found margin {self.margin}, batch {self.batch}"
            )

    @property
    def device(self) -> str:
        """Return the device of the scorer."""
        return str(getattr(self.scorer, "device", "cpu"))

    @cached_property
    def name(self) -> str:
        """Return the scorer, the margin if there is one, and a digest of what can change a score."""
        margin = f"+margin={self.margin:g}" if self.margin else ""
        tail = f"#{digest(self.settings)[:8]}" if self.scorer.settings else ""
        return f"{self.scorer.name}{margin}{tail}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {"scorer": self.scorer.name, "margin": self.margin, **self.scorer.settings}

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        """Yield one verdict per case, in order."""
        remaining_cases = iter(cases)
        waiting: deque[tuple[Case, list[_Key] | str]] = deque()
        decoding: OrderedDict[_Key, Future[Any]] = OrderedDict()
        threads = self.threads or int(getattr(self.scorer, "threads", 0)) or min(16, os.cpu_count() or 1)
        running_batches: deque[tuple[_Batch, Future[_Outcomes]]] = deque()
        ahead = 2 if hasattr(self.scorer, "collate") else 1
        with (
            ThreadPoolExecutor(threads) as pool,
            ThreadPoolExecutor(ahead) as collating,
            ThreadPoolExecutor(ahead) as scoring,
        ):
            more = True
            while more or waiting:
                while more and len(decoding) < 3 * self.batch and len(waiting) < 32 * self.batch:
                    case = next(remaining_cases, None)
                    if case is None:
                        more = False
                    else:
                        waiting.append((case, self._admit(case, pool, decoding, running_batches)))
                if decoding and len(running_batches) < _MAX_RUNNING_BATCHES:
                    self._start(decoding, running_batches, collating, scoring)
                elif running_batches:
                    self._finish(running_batches)
                while running_batches and running_batches[0][1].done():
                    self._finish(running_batches)
                while waiting and self._is_scored(waiting[0][1]):
                    case, keys_or_reason = waiting.popleft()
                    yield self._judge_case(case, keys_or_reason)
                while len(self._scores) > _MAX_SCORES:
                    self._scores.popitem(last=False)

    def _admit(
        self,
        case: Case,
        pool: ThreadPoolExecutor,
        decoding: OrderedDict[_Key, Future[Any]],
        running_batches: Iterable[tuple[_Batch, Any]],
    ) -> list[_Key] | str:
        """Return the keys of a case's pictures and start decoding new ones, or return why they cannot be scored."""
        pictures: list[Picture] = []
        for response in case.responses:
            if len(response.pictures) != 1:
                return f"a response shows {len(response.pictures)} pictures where one is scored"
            pictures.append(response.pictures[0])
        if len({picture.digest for picture in pictures}) < len(pictures):
            return "the same picture is shown twice"
        keys = [(case.item.question, picture.digest) for picture in pictures]
        for key, picture in zip(keys, pictures, strict=True):
            if (
                key not in decoding
                and key not in self._scores
                and not any(key in batch for batch, _ in running_batches)
            ):
                decoding[key] = pool.submit(self._prepare, picture)
        return keys

    def _prepare(self, picture: Picture) -> Any:
        raw = self._raw(picture) if self._raw is not None else None
        return self.scorer.prepare(decode_picture(picture)) if raw is None else raw

    @cached_property
    def _raw(self) -> Callable[[Picture], Any] | None:
        return getattr(self.scorer, "raw", None)

    def _is_scored(self, keys_or_reason: list[_Key] | str) -> bool:
        return isinstance(keys_or_reason, str) or all(key in self._scores for key in keys_or_reason)

    def _start(
        self,
        decoding: OrderedDict[_Key, Future[Any]],
        running_batches: deque[tuple[_Batch, Future[_Outcomes]]],
        collating: ThreadPoolExecutor,
        scoring: ThreadPoolExecutor,
    ) -> None:
        keys: _Batch = {}
        prepared_pictures = []
        for key in list(decoding)[: self.batch]:
            try:
                prepared_pictures.append(decoding.pop(key).result())
                keys[key] = None
            except Unscorable as reason:
                self._scores[key] = str(reason)
        if keys:
            prompts = [prompt for prompt, _ in keys]
            batch = collating.submit(getattr(self.scorer, "collate", list), prepared_pictures)
            running_batches.append((keys, scoring.submit(self._score_batch, prompts, prepared_pictures, batch)))

    def _score_batch(self, prompts: Sequence[str], prepared_pictures: Sequence[Any], batch: Future[Any]) -> _Outcomes:
        try:
            return list(map(float, self.scorer.score(prompts, batch.result())))
        except UnscorableAmong as among:
            reasons = among.reasons
        good = [place for place in range(len(prepared_pictures)) if place not in reasons]
        scores = (
            self.scorer.score([prompts[place] for place in good], [prepared_pictures[place] for place in good])
            if good
            else ()
        )
        remaining_scores = iter(scores)
        return [reasons.get(place) or float(next(remaining_scores)) for place in range(len(prepared_pictures))]

    def _finish(self, running_batches: deque[tuple[_Batch, Future[_Outcomes]]]) -> None:
        keys, batch = running_batches.popleft()
        self._scores.update(zip(keys, batch.result(), strict=True))

    def _judge_case(self, case: Case, keys_or_reason: list[_Key] | str) -> Verdict:
        if isinstance(keys_or_reason, str):
            return Verdict.from_case(case, self.name, "abstained", text=keys_or_reason)
        outcomes = [self._scores[key] for key in keys_or_reason]
        scores = [score for score in outcomes if not isinstance(score, str)]
        if len(scores) < len(outcomes):
            reasons = "; ".join(dict.fromkeys(score for score in outcomes if isinstance(score, str)))
            return Verdict.from_case(case, self.name, "abstained", text=reasons)
        marks = self._marks(case.ballot, scores, [picture for _, picture in keys_or_reason])
        text = ", ".join(f"{score:.6g}" for score in scores)
        if marks is None:
            why = f"the score {text} does not fit {case.ballot.spec}; the ballot 'number' takes any score"
            return Verdict.from_case(case, self.name, "abstained", text=why)
        return Verdict.from_case(case, self.name, marks, text=text)

    def _marks(self, ballot: Ballot, scores: Sequence[float], pictures: Sequence[str]) -> tuple[float, ...] | None:
        """None if the scores do not fit the ballot."""
        if isinstance(ballot, Choice | Ranking):
            return marks_from(ballot, scores, margin=self.margin, order=pictures)
        if isinstance(ballot, Number):
            return tuple(scores) if ballot.allows(scores) else None
        worths = list(scores)
        if self.scorer.span is not None:
            low, high = self.scorer.span
            worths = [(score - low) / (high - low) for score in scores]
            if not all(0 <= worth <= 1 for worth in worths):
                return None
        elif not isinstance(ballot, Real):
            return None
        if isinstance(ballot, Likert):
            return marks_from(Score(1, len(ballot.words)), worths)
        if not isinstance(ballot, Real):
            return marks_from(ballot, worths)
        if self.scorer.span is not None:
            worths = [ballot.low + worth * (ballot.high - ballot.low) for worth in worths]
        return tuple(worths) if ballot.allows(worths) else None
