"""Text metrics as judges: the response closer to the reference is better."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import CallsNoModel, Judge, Kind
from fullbench.core.language_and_words import words_of
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.judges.baselines import marks_from, pictures_only_reason
from fullbench.judges.metrics.bertscore import (
    Encoder,
    SpellingEncoder,
    baseline_of,
    cache_encodings,
    scores_against_reference,
)
from fullbench.judges.metrics.cider import Cider
from fullbench.judges.metrics.ngram_overlap import bleu4_score, meteor_of, rouge_l
from fullbench.judges.metrics.porter_stemmer import STEMMERS
from fullbench.judges.metrics.wordnet_synonyms import wordnet_synonyms, wordnet_version

Metric = Callable[[Sequence[str], str], Sequence[float]]
"""Takes the texts of the responses and the reference; returns a score from 0 to 1 for each text."""


@dataclass(frozen=True)
class MetricJudge(CallsNoModel):
    """A judge that marks by a metric. It abstains without a reference, on pictures, and on unsupported ballots.
    On a pair the higher score wins; equal ones tie, if ties are allowed.
    """

    kind: ClassVar[Kind] = "metric"

    name: str
    metric: Metric = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            reference = case.item.reference
            marks = None
            text = pictures_only_reason(case) if reference else "the item has no reference"
            if reference and not text:
                scores = self.metric([response.text for response in case.responses], reference)
                marks = marks_from(case.ballot, scores)
                text = " ".join(f"{score:.4f}" for score in scores)
            yield Verdict.from_case(case, self.name, "abstained" if marks is None else marks, text=text)


def build_metric_judge(
    name: str, metric: Metric, argument: str = "", options: Mapping[str, str] | None = None
) -> MetricJudge:
    """Build a judge from a metric; the first line of the metric's docstring becomes part of its settings.

    Keyword-only parameters of the metric are its options, as strings: `meteor?stems=porter` calls it with
    `stems="porter"`, and the judge's name ends with them. A `Literal` option accepts only the listed words. A function
    in the option's `Annotated` type returns the version of the data behind it, for the settings.
    """
    annotations_by_option = {
        key: parameter.annotation
        for key, parameter in inspect.signature(metric, eval_str=True).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    option_values = _check_options(name, argument, options, tuple(annotations_by_option))
    versions = {}
    for key, value in option_values.items():
        annotation = annotations_by_option[key]
        is_versioned = get_origin(annotation) is Annotated
        allowed_words = get_args(get_args(annotation)[0] if is_versioned else annotation)
        if allowed_words and value not in allowed_words:
            allowed_text = ", ".join(word for word in allowed_words if word)
            raise InputError(f"the option {key} of {name!r} is one of {allowed_text}; found {value!r}")
        if is_versioned:
            versions[f"{key} version"] = get_args(annotation)[1]()
    about = (metric.__doc__ or name).strip().splitlines()[0].rstrip(".")
    if not option_values:
        return MetricJudge(name, metric, {"metric": about})
    name_suffix = "".join(f"+{value}" for _, value in sorted(option_values.items()))
    return MetricJudge(
        f"{name}{name_suffix}", partial(metric, **option_values), {"metric": about, **option_values, **versions}
    )


def _score_by_words(
    word_metric: Callable[[Sequence[str], Sequence[str]], float], texts: Sequence[str], reference: str
) -> list[float]:
    reference_words = words_of(reference)
    return [word_metric(words_of(text), reference_words) for text in texts]


def bleu_scores(texts: Sequence[str], reference: str) -> list[float]:
    """BLEU-4, exponential smoothing."""
    return _score_by_words(bleu4_score, texts, reference)


def rouge_scores(texts: Sequence[str], reference: str) -> list[float]:
    """ROUGE-L, F1."""
    return _score_by_words(rouge_l, texts, reference)


def meteor_scores(
    texts: Sequence[str],
    reference: str,
    *,
    stems: Literal["", "porter"] = "",
    synonyms: Annotated[Literal["", "wordnet"], wordnet_version] = "",
) -> list[float]:
    """METEOR, equal words.

    With `stems`, words with the same stem match too; with `synonyms`, words with a meaning in common.
    """
    stem, same_meaning = STEMMERS[stems] if stems else None, wordnet_synonyms if synonyms else None
    return _score_by_words(partial(meteor_of, stem=stem, synonyms=same_meaning), texts, reference)


def build_cider_judge(argument: str = "", options: Mapping[str, str] | None = None) -> MetricJudge:
    """Build the judge for `cider?corpus=ITEMS`: CIDEr-D with words weighted by rarity among the items' references."""
    plain_options = _check_options("cider", argument, options, ("corpus",))
    if "corpus" not in plain_options:
        raise InputError("the judge 'cider' needs all references to count rare words: cider?corpus=items.jsonl")
    from fullbench.files.item_response_verdict_files import read_items

    return cider_over(item.reference for item in read_items(Path(plain_options["corpus"])) if item.reference)


def cider_over(references: Iterable[str]) -> MetricJudge:
    """Build a CIDEr judge over these references; the judge's name changes with them."""
    texts = sorted(references)
    metric = Cider.from_references(words_of(text) for text in texts)

    def score_words(words: Sequence[str], reference: Sequence[str]) -> float:
        return metric.score(words, [reference]) / 10

    return MetricJudge(
        f"cider#{digest(texts)[:8]}",
        partial(_score_by_words, score_words),
        {"metric": "CIDEr-D", "references": len(texts)},
    )


def build_spelling_judge(argument: str = "", options: Mapping[str, str] | None = None) -> MetricJudge:
    """Build the judge `spelling`: words compared by their runs of three letters, without model or meaning."""
    _check_options("spelling", argument, options, ())
    encoder = SpellingEncoder()
    cached_encoder = cache_encodings(encoder)
    settings = {"metric": "F1 of words matched by their letters", "encoder": encoder.name}
    return MetricJudge(encoder.name, partial(scores_against_reference, cached_encoder), settings)


def build_bertscore_judge(argument: str = "", options: Mapping[str, str] | None = None) -> MetricJudge:
    """Build the judge for `bertscore:MODEL`, with an encoder from the hub or a folder.

    `layer` is the layer whose vectors are compared. `baseline` is the score of unrelated texts: a number, or a file
    of items whose references are unrelated. With it, scores are rescaled so that unrelated texts get 0.
    """
    if not argument:
        raise InputError(
            "bertscore needs an encoder: bertscore:roberta-large, or a folder with one; `spelling` "
            "compares letters "
            "without any"
        )
    option_values = _check_options("bertscore", "", options, ("layer", "baseline", "revision", "device"))
    from fullbench.judges.metrics.text_encoders_and_clipscore import HubEncoder, reference_texts

    layer = option_values.get("layer")
    if layer is not None and not layer.isdecimal():
        raise InputError(f"the option layer is a whole number; found {layer!r}")
    encoder = HubEncoder(
        argument,
        None if layer is None else int(layer),
        option_values.get("revision", ""),
        option_values.get("device", "cpu"),
    )
    baseline_option = option_values.get("baseline")
    if baseline_option is None:
        return bertscore_with(encoder)
    try:
        return bertscore_with(encoder, float(baseline_option))
    except ValueError:
        return bertscore_with(encoder, baseline_of(cache_encodings(encoder), reference_texts(Path(baseline_option))))


def bertscore_with(encoder: Encoder, baseline: float = 0.0) -> MetricJudge:
    """Build a BERTScore judge with any encoder; the encoder's name and the baseline are part of the judge's name."""
    if not 0 <= baseline < 1:
        raise InputError(f"a baseline is a score of unrelated texts, at least 0 and below 1; found {baseline:g}")
    baseline_suffix = f"+baseline{baseline:.4f}" if baseline else ""
    settings = {"metric": "BERTScore F1", "encoder": encoder.name, **({"baseline": baseline} if baseline else {})}
    return MetricJudge(
        f"bertscore+{encoder.name}{baseline_suffix}",
        partial(scores_against_reference, cache_encodings(encoder), baseline=baseline),
        settings,
    )


def build_clipscore_judge(argument: str = "", options: Mapping[str, str] | None = None) -> Judge:
    """Build the judge for `clipscore:MODEL`: closeness of a text answer to the item's pictures."""
    return _build_clip_judge("clipscore", argument, options, reference=False)


def build_refclipscore_judge(argument: str = "", options: Mapping[str, str] | None = None) -> Judge:
    """Build the judge for `refclipscore:MODEL`: closeness to the item's pictures and to the reference."""
    return _build_clip_judge("refclipscore", argument, options, reference=True)


def _build_clip_judge(name: str, argument: str, options: Mapping[str, str] | None, *, reference: bool) -> Judge:
    from fullbench.judges.metrics.text_encoders_and_clipscore import ClipScoreJudge

    if not argument:
        raise InputError(f"{name} needs a CLIP model: {name}:openai/clip-vit-base-patch32, or a folder with one")
    option_values = _check_options(name, "", options, ("revision", "device"))
    return ClipScoreJudge(argument, reference, option_values.get("revision", ""), option_values.get("device", "cpu"))


def _check_options(
    name: str, argument: str, options: Mapping[str, str] | None, known_options: tuple[str, ...]
) -> Mapping[str, str]:
    extras = [argument] * bool(argument) + [option for option in options or {} if option not in known_options]
    if extras:
        takes = f"only {', '.join(known_options)}" if known_options else "no options"
        raise InputError(f"the judge {name!r} takes {takes}; found {', '.join(extras)}; leave it out")
    return options or {}
