"""A scorer gives a picture a number for a prompt; a judge is made of it."""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from fullbench.core.ballot import Ballot, Choice, Likert, Ranking, Real, Score
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.judge import AsksNobody, Kind
from fullbench.core.number_ballot import Number
from fullbench.core.picture import Picture
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError, Unscorable
from fullbench.judges.baselines import marks_from
from fullbench.judges.scorers.decoded_pictures import UnscorableAmong, decode

if TYPE_CHECKING:
    from PIL.Image import Image

Span = tuple[float, float]
_Key = tuple[str, str]
_Found = list[float | str]
_Batch = dict[_Key, None]
"""The pictures of a batch in order, quick to be looked up."""
_KEPT = 100_000
_AHEAD = 5


@runtime_checkable
class Scorer(Protocol):
    """Numbers for pictures. `name` and `settings` are an identity: what changes a score changes them.

    `prepare` turns a decoded picture into what `score` takes; it is called from several threads. `span` is the range
    that scores lie in, where there is one: only with it can a scale of fixed ends be filled in.

    A scorer may have more: `raw(picture)` gives what `collate` takes for a picture that the scorer decodes itself, else
    None; `collate(prepared)` puts a batch together in a thread of its own while the batches before are scored, raises
    `UnscorableAmong` where some cannot be decoded after all, and has `score` called from two threads; `threads` is how
    many threads should prepare pictures.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def span(self) -> Span | None: ...

    def prepare(self, image: Image) -> Any: ...

    def score(self, prompts: Sequence[str], prepared: Sequence[Any]) -> Sequence[float]: ...


@dataclass(frozen=True)
class CallableScorer:
    """Any function of a prompt and a picture (a Pillow image in RGB) that gives a number."""

    name: str
    function: Callable[[str, Image], float]
    span: Span | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def prepare(self, image: Image) -> Image:
        return image

    def score(self, prompts: Sequence[str], prepared: Sequence[Image]) -> list[float]:
        return [float(self.function(prompt, image)) for prompt, image in zip(prompts, prepared, strict=True)]


@dataclass(frozen=True, eq=False)
class ScorerJudge(AsksNobody):
    """A judge that scores every picture alone and lets the scores decide.

    A response is one picture; the item's question is the prompt. On a choice or a ranking the higher score wins, and
    scores within `margin` of each other tie. A number ballot takes the score as it is, whatever its range. A real
    ballot takes a score that lies between its ends, or, where the scorer knows its span, one stretched from the span to
    the ballot's ends; scores and words of a scale need the span. What a score model
    cannot do it recuses itself from, with the reason as the verdict's text: a broken picture, the same picture twice,
    a ballot that its numbers do not fit.

    Pictures are decoded by `threads` while the scorer works on the `batch` before. Each picture is scored once.
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
        """Where it computes: where the scorer does."""
        return str(getattr(self.scorer, "device", "cpu"))

    @cached_property
    def name(self) -> str:
        """The scorer, the margin where there is one, and a digest of what can change a score."""
        margin = f"+margin={self.margin:g}" if self.margin else ""
        tail = f"#{digest(self.settings)[:8]}" if self.scorer.settings else ""
        return f"{self.scorer.name}{margin}{tail}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {"scorer": self.scorer.name, "margin": self.margin, **self.scorer.settings}

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        """One verdict for each case, in order."""
        docket = iter(cases)
        waiting: deque[tuple[Case, list[_Key] | str]] = deque()
        decoding: OrderedDict[_Key, Future[Any]] = OrderedDict()
        threads = self.threads or int(getattr(self.scorer, "threads", 0)) or min(16, os.cpu_count() or 1)
        under_way: deque[tuple[_Batch, Future[_Found]]] = deque()
        ahead = 2 if hasattr(self.scorer, "collate") else 1
        with (
            ThreadPoolExecutor(threads) as pool,
            ThreadPoolExecutor(ahead) as collating,
            ThreadPoolExecutor(ahead) as scoring,
        ):
            more = True
            while more or waiting:
                while more and len(decoding) < 3 * self.batch and len(waiting) < 32 * self.batch:
                    case = next(docket, None)
                    if case is None:
                        more = False
                    else:
                        waiting.append((case, self._admit(case, pool, decoding, under_way)))
                if decoding and len(under_way) < _AHEAD:
                    self._start(decoding, under_way, collating, scoring)
                elif under_way:
                    self._finish(under_way)
                while under_way and under_way[0][1].done():
                    self._finish(under_way)
                while waiting and self._known(waiting[0][1]):
                    case, shown = waiting.popleft()
                    yield self._rule(case, shown)
                while len(self._scores) > _KEPT:
                    self._scores.popitem(last=False)

    def _admit(
        self,
        case: Case,
        pool: ThreadPoolExecutor,
        decoding: OrderedDict[_Key, Future[Any]],
        under_way: Iterable[tuple[_Batch, Any]],
    ) -> list[_Key] | str:
        """The pictures of a case, sent to be decoded where they are new; or why they cannot be scored."""
        pictures: list[Picture] = []
        for response in case.responses:
            if len(response.pictures) != 1:
                return f"a response shows {len(response.pictures)} pictures where one is scored"
            pictures.append(response.pictures[0])
        if len({picture.digest for picture in pictures}) < len(pictures):
            return "the same picture is shown twice"
        keys = [(case.item.question, picture.digest) for picture in pictures]
        for key, picture in zip(keys, pictures, strict=True):
            if key not in decoding and key not in self._scores and not any(key in batch for batch, _ in under_way):
                decoding[key] = pool.submit(self._prepare, picture)
        return keys

    def _prepare(self, picture: Picture) -> Any:
        raw = self._raw(picture) if self._raw is not None else None
        return self.scorer.prepare(decode(picture)) if raw is None else raw

    @cached_property
    def _raw(self) -> Callable[[Picture], Any] | None:
        return getattr(self.scorer, "raw", None)

    def _known(self, shown: list[_Key] | str) -> bool:
        return isinstance(shown, str) or all(key in self._scores for key in shown)

    def _start(
        self,
        decoding: OrderedDict[_Key, Future[Any]],
        under_way: deque[tuple[_Batch, Future[_Found]]],
        collating: ThreadPoolExecutor,
        scoring: ThreadPoolExecutor,
    ) -> None:
        """Begin to score the oldest batch of what is being decoded."""
        keys: _Batch = {}
        prepared = []
        for key in list(decoding)[: self.batch]:
            try:
                prepared.append(decoding.pop(key).result())
                keys[key] = None
            except Unscorable as reason:
                self._scores[key] = str(reason)
        if keys:
            prompts = [prompt for prompt, _ in keys]
            batch = collating.submit(getattr(self.scorer, "collate", _as_it_is), prepared)
            under_way.append((keys, scoring.submit(self._scored, prompts, prepared, batch)))

    def _scored(self, prompts: Sequence[str], prepared: Sequence[Any], batch: Future[Any]) -> _Found:
        """The scores of a batch; for a picture that only now turns out not to be decodable, the reason."""
        try:
            return list(map(float, self.scorer.score(prompts, batch.result())))
        except UnscorableAmong as among:
            reasons = among.reasons
        good = [place for place in range(len(prepared)) if place not in reasons]
        scores = (
            self.scorer.score([prompts[place] for place in good], [prepared[place] for place in good]) if good else ()
        )
        rest = iter(scores)
        return [reasons.get(place) or float(next(rest)) for place in range(len(prepared))]

    def _finish(self, under_way: deque[tuple[_Batch, Future[_Found]]]) -> None:
        """Take the scores of the oldest batch."""
        keys, batch = under_way.popleft()
        self._scores.update(zip(keys, batch.result(), strict=True))

    def _rule(self, case: Case, shown: list[_Key] | str) -> Verdict:
        if isinstance(shown, str):
            return Verdict.of(case, self.name, "recused", text=shown)
        outcomes = [self._scores[key] for key in shown]
        scores = [score for score in outcomes if not isinstance(score, str)]
        if len(scores) < len(outcomes):
            reasons = "; ".join(dict.fromkeys(score for score in outcomes if isinstance(score, str)))
            return Verdict.of(case, self.name, "recused", text=reasons)
        marks = self._marks(case.ballot, scores, [picture for _, picture in shown])
        text = ", ".join(f"{score:.6g}" for score in scores)
        if marks is None:
            why = f"the score {text} does not fit {case.ballot.spec}; the ballot 'number' takes any score"
            return Verdict.of(case, self.name, "recused", text=why)
        return Verdict.of(case, self.name, marks, text=text)

    def _marks(self, ballot: Ballot, scores: Sequence[float], pictures: Sequence[str]) -> tuple[float, ...] | None:
        """Scores as marks; None where the ballot cannot be filled in with them."""
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


def _as_it_is(prepared: Sequence[Any]) -> Sequence[Any]:
    return prepared
