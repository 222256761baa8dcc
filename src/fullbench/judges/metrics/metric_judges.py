"""The metrics as judges: the response nearer to the reference is the better one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.judge import AsksNobody, Judge, Kind
from fullbench.core.text import words_of
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.judges.baselines import marks_from, unread
from fullbench.judges.metrics.bertscore import Encoder, Spelling, baseline_of, cached, compared
from fullbench.judges.metrics.cider import Cider
from fullbench.judges.metrics.ngram_overlap import bleu4, meteor_of, rouge_l
from fullbench.judges.metrics.porter_stemmer import STEMMERS

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
    """The judge that a metric of that name is; the first line of its docstring says what it is.

    What a metric takes by keyword alone are its options, words each: `meteor?stems=porter` calls it with
    `stems="porter"`, and the judge's name ends with them. An option whose words are listed (`Literal`) takes no other.
    """
    known = {
        key: parameter.annotation
        for key, parameter in inspect.signature(metric, eval_str=True).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    chosen = _plain(name, rest, options, tuple(known))
    for key, value in chosen.items():
        words = get_args(known[key])
        if words and value not in words:
            listed = ", ".join(word for word in words if word)
            raise InputError(f"the option {key} of {name!r} is one of {listed}; found {value!r}")
    about = (metric.__doc__ or name).strip().splitlines()[0].rstrip(".")
    if not chosen:
        return MetricJudge(name, metric, {"metric": about})
    named = "".join(f"+{value}" for _, value in sorted(chosen.items()))
    return MetricJudge(f"{name}{named}", partial(metric, **chosen), {"metric": about, **chosen})


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


def meteor(texts: Sequence[str], reference: str, *, stems: Literal["", "porter"] = "") -> list[float]:
    """METEOR, equal words.

    With `stems` words meet as well that have the same stem.
    """
    return _by_words(partial(meteor_of, stem=STEMMERS[stems] if stems else None), texts, reference)


def cider(rest: str = "", options: Mapping[str, str] | None = None) -> MetricJudge:
    """The judge that `cider?corpus=ITEMS` names: CIDEr-D, words weighed by their rarity among the items' references."""
    plain_options = _plain("cider", rest, options, ("corpus",))
    if "corpus" not in plain_options:
        raise InputError("the judge 'cider' needs all references to know what is rare: cider?corpus=items.jsonl")
    from fullbench.files.item_files import read_items

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


def spelling(rest: str = "", options: Mapping[str, str] | None = None) -> MetricJudge:
    """The judge that `spelling` names: words compared by the runs of three letters in them; no model, no meaning."""
    _plain("spelling", rest, options, ())
    encoder = Spelling()
    caching = cached(encoder)
    settings = {"metric": "F1 of words matched by their letters", "encoder": encoder.name}
    return MetricJudge(encoder.name, partial(compared, caching), settings)


def bertscore(rest: str = "", options: Mapping[str, str] | None = None) -> MetricJudge:
    """The judge that `bertscore:MODEL` names: an encoder of the hub or of a folder.

    `layer` is the layer whose vectors are compared, `baseline` what unrelated texts score (a number, or a file of
    items whose references are unrelated): with it the score is rescaled, so that these get 0.
    """
    if not rest:
        raise InputError(
            "bertscore needs an encoder: bertscore:roberta-large, or a folder with one; `spelling` compares letters "
            "without any"
        )
    plain = _plain("bertscore", "", options, ("layer", "baseline", "revision", "device"))
    from fullbench.judges.metrics.text_encoders import HubEncoder, texts_of

    layer = plain.get("layer")
    if layer is not None and not layer.isdecimal():
        raise InputError(f"the option layer is a whole number; found {layer!r}")
    encoder = HubEncoder(
        rest, None if layer is None else int(layer), plain.get("revision", ""), plain.get("device", "cpu")
    )
    given = plain.get("baseline")
    if given is None:
        return bertscore_with(encoder)
    try:
        return bertscore_with(encoder, float(given))
    except ValueError:
        return bertscore_with(encoder, baseline_of(cached(encoder), texts_of(Path(given))))


def bertscore_with(encoder: Encoder, baseline: float = 0.0) -> MetricJudge:
    """BERTScore with an encoder of one's own; its name and the baseline are part of the judge's."""
    if not 0 <= baseline < 1:
        raise InputError(f"a baseline is a score of unrelated texts, from 0 and below 1; found {baseline:g}")
    rescaled = f"+baseline{baseline:.4f}" if baseline else ""
    settings = {"metric": "BERTScore F1", "encoder": encoder.name, **({"baseline": baseline} if baseline else {})}
    return MetricJudge(
        f"bertscore+{encoder.name}{rescaled}", partial(compared, cached(encoder), baseline=baseline), settings
    )


def clipscore(rest: str = "", options: Mapping[str, str] | None = None) -> Judge:
    """The judge that `clipscore:MODEL` names: how near an answer in words is to the item's pictures."""
    return _clip("clipscore", rest, options, reference=False)


def refclipscore(rest: str = "", options: Mapping[str, str] | None = None) -> Judge:
    """The judge that `refclipscore:MODEL` names: the same, and how near it is to the reference."""
    return _clip("refclipscore", rest, options, reference=True)


def _clip(name: str, rest: str, options: Mapping[str, str] | None, *, reference: bool) -> Judge:
    from fullbench.judges.metrics.text_encoders import ClipTexts

    if not rest:
        raise InputError(f"{name} needs a CLIP model: {name}:openai/clip-vit-base-patch32, or a folder with one")
    plain = _plain(name, "", options, ("revision", "device"))
    return ClipTexts(rest, reference, plain.get("revision", ""), plain.get("device", "cpu"))


def _plain(name: str, rest: str, options: Mapping[str, str] | None, known: tuple[str, ...]) -> Mapping[str, str]:
    more = [rest] * bool(rest) + [option for option in options or {} if option not in known]
    if more:
        takes = f"only {', '.join(known)}" if known else "no options"
        raise InputError(f"the judge {name!r} takes {takes}; found {', '.join(more)}; leave it out")
    return options or {}
