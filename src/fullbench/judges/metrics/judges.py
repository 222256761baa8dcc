"""The metrics as judges: the response nearer to the reference is the better one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from fullbench.errors import InputError
from fullbench.judges.metrics.cider import Cider
from fullbench.judges.metrics.embedded import Encoder, Spelling, cached, compared
from fullbench.judges.metrics.overlap import bleu4, meteor_of, rouge_l
from fullbench.judges.rules import marks_from, unread
from fullbench.nouns.case import Case
from fullbench.nouns.digests import digest
from fullbench.nouns.judge import AsksNobody, Kind
from fullbench.nouns.text import words_of
from fullbench.nouns.verdict import Verdict

Metric = Callable[[Sequence[str], str], Sequence[float]]
"""Takes the texts of the responses and the reference, and gives a figure from 0 to 1 for each."""


@dataclass(frozen=True)
class MetricJudge(AsksNobody):
    """A judge that marks by a metric; recused where an item has no reference, responses are pictures, or the
    ballot is not one it can fill in.

    On a pair the higher figure wins; equal ones tie, where ties are allowed.
    """

    kind: ClassVar[Kind] = "metric"

    name: str
    metric: Metric = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            reference = case.item.reference
            marks = None
            text = unread(case) if reference else "the item has no reference"
            if reference and not text:
                figures = self.metric([response.text for response in case.responses], reference)
                marks = marks_from(case.ballot, figures)
                text = " ".join(f"{figure:.4f}" for figure in figures)
            yield Verdict.of(case, self.name, "recused" if marks is None else marks, text=text)


def judge_by(name: str, metric: Metric, rest: str = "", options: Mapping[str, str] | None = None) -> MetricJudge:
    """The judge that a metric of that name is; the first line of its docstring says what it is."""
    _plain(name, rest, options, ())
    about = (metric.__doc__ or name).strip().splitlines()[0].rstrip(".")
    return MetricJudge(name, metric, {"metric": about})


def _by_words(
    figure: Callable[[Sequence[str], Sequence[str]], float], texts: Sequence[str], reference: str
) -> list[float]:
    wanted = words_of(reference)
    return [figure(words_of(text), wanted) for text in texts]


def bleu(texts: Sequence[str], reference: str) -> list[float]:
    """BLEU-4, exponential smoothing."""
    return _by_words(bleu4, texts, reference)


def rouge(texts: Sequence[str], reference: str) -> list[float]:
    """ROUGE-L, F1."""
    return _by_words(rouge_l, texts, reference)


def meteor(texts: Sequence[str], reference: str) -> list[float]:
    """METEOR, equal words."""
    return _by_words(meteor_of, texts, reference)


def cider(rest: str = "", options: Mapping[str, str] | None = None) -> MetricJudge:
    """The judge that `cider?corpus=ITEMS` names: CIDEr-D, words weighed by their rarity among the items' references."""
    plain_options = _plain("cider", rest, options, ("corpus",))
    if "corpus" not in plain_options:
        raise InputError("the judge 'cider' needs all references to know what is rare: cider?corpus=items.jsonl")
    from fullbench.files.nouns import read_items

    return cider_over(item.reference for item in read_items(Path(plain_options["corpus"])) if item.reference)


def cider_over(references: Iterable[str]) -> MetricJudge:
    """CIDEr over these references; the judge's name changes with them."""
    texts = sorted(references)
    metric = Cider.of(words_of(text) for text in texts)

    def figure(words: Sequence[str], reference: Sequence[str]) -> float:
        return metric.score(words, [reference]) / 10

    return MetricJudge(
        f"cider#{digest(texts)[:8]}", partial(_by_words, figure), {"metric": "CIDEr-D", "references": len(texts)}
    )


def bertscore(rest: str = "", options: Mapping[str, str] | None = None) -> MetricJudge:
    """The judge that `bertscore` names: with the small encoder that ships with us."""
    _plain("bertscore", rest, options, ())
    return bertscore_with(Spelling())


def bertscore_with(encoder: Encoder) -> MetricJudge:
    """BERTScore with an encoder of one's own; its name is part of the judge's."""
    caching = cached(encoder)

    def metric(texts: Sequence[str], reference: str) -> list[float]:
        return compared(caching, texts, reference)

    return MetricJudge(f"bertscore+{encoder.name}", metric, {"metric": "BERTScore F1", "encoder": encoder.name})


def _plain(name: str, rest: str, options: Mapping[str, str] | None, known: tuple[str, ...]) -> Mapping[str, str]:
    more = [rest] * bool(rest) + [option for option in options or {} if option not in known]
    if more:
        takes = f"only {', '.join(known)}" if known else "no options"
        raise InputError(f"the judge {name!r} takes {takes}; found {', '.join(more)}; leave it out")
    return options or {}
