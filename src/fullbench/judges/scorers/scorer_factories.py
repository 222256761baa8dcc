"""Factories of score models from specs: `clip:NAME?device=cuda&batch=64`, `scorer:module:function`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from fullbench.errors import InputError
from fullbench.judges.scorers.hpsv2 import CHECKPOINTS, HpsV2Scorer
from fullbench.judges.scorers.hpsv3 import WEIGHTS as HPSV3_WEIGHTS
from fullbench.judges.scorers.hpsv3 import HpsV3Scorer
from fullbench.judges.scorers.image_statistics import number_option
from fullbench.judges.scorers.open_clip_scorers import OpenClipScorer
from fullbench.judges.scorers.remote_scorer import RemoteScorer
from fullbench.judges.scorers.safe_weights import CHECKPOINT_SUFFIXES, HUB
from fullbench.judges.scorers.scorer_judge import CallableScorer, Scorer, ScorerJudge, Span
from fullbench.judges.scorers.transformers_scorers import KINDS
from fullbench.plugin_specs import load_function as function_named

_MODEL_OPTIONS = ("processor", "head", "revision", "device", "precision", "decoder", "compile")
_JUDGE_OPTIONS = ("margin", "batch", "threads", "span")


def _build_judge(scorer: Scorer, options: Mapping[str, str]) -> ScorerJudge:
    return ScorerJudge(
        scorer,
        margin=number_option(options, "margin", 0.0),
        batch=int(number_option(options, "batch", 32)),
        threads=int(number_option(options, "threads", 0)),
    )


def _parse_span(options: Mapping[str, str]) -> Span | None:
    if "span" not in options:
        return None
    try:
        low, high = map(float, options["span"].split(","))
    except ValueError as error:
        raise InputError(f"the option span is LOW,HIGH; found {options['span']!r}") from error
    if low >= high:
        raise InputError(f"the option span runs from low to high; found {options['span']!r}")
    return low, high


def _refuse_unknown_options(options: Mapping[str, str], known_options: tuple[str, ...]) -> None:
    for option in options:
        if option not in known_options:
            raise InputError(f"a score model has no option {option!r}; known: {', '.join(known_options)}")


def build_hub_judge(kind: str, argument: str, options: Mapping[str, str]) -> ScorerJudge:
    """Build a score model of a kind, by hub name or folder."""
    _refuse_unknown_options(options, (*_MODEL_OPTIONS, *_JUDGE_OPTIONS))
    scorer_kind = KINDS[kind]
    if scorer_kind.needs_head and "head" not in options and not argument:
        options = {**options, "head": scorer_kind.head}
    elif scorer_kind.needs_head and "head" not in options:
        raise InputError(f"{kind} needs the file of its head: write {kind}:{argument or 'MODEL'}?head=FILE")
    model_options = {name: options[name] for name in _MODEL_OPTIONS if name in options}
    if not argument and scorer_kind.processor:
        model_options.setdefault("processor", scorer_kind.processor)
    scorer = scorer_kind.make(
        argument or scorer_kind.source, kind, span=_parse_span(options) or scorer_kind.span, **model_options
    )
    return _build_judge(scorer, options)


def build_openclip_judge(argument: str, options: Mapping[str, str]) -> ScorerJudge:
    """Build the judge for `openclip:ARCHITECTURE?weights=TAG-OR-FILE`."""
    option_names = ("weights", "device", "precision")
    _refuse_unknown_options(options, (*option_names, *_JUDGE_OPTIONS))
    model_options = {name: options[name] for name in option_names if name in options}
    return _build_judge(OpenClipScorer(argument, span=_parse_span(options) or (-1.0, 1.0), **model_options), options)


def build_hpsv2_judge(argument: str, options: Mapping[str, str]) -> ScorerJudge:
    """Build the judge for `hpsv2?version=2.1` or `hpsv2:FILE` (the authors' checkpoint), or `hpsv2:MODEL`."""
    path = Path(argument)
    if argument and not path.is_file() and path.suffix not in CHECKPOINT_SUFFIXES:
        return build_hub_judge("hpsv2", argument, options)
    if argument and "version" in options:
        raise InputError("the option version is for the authors' checkpoints on the hub; leave it out for a file")
    version = options.get("version", "2.1")
    if version not in CHECKPOINTS:
        raise InputError(f"HPSv2 has the versions {', '.join(CHECKPOINTS)}; found {version!r}")
    option_names = ("processor", "device", "precision")
    _refuse_unknown_options(options, ("version", *option_names, *_JUDGE_OPTIONS))
    model_options = {name: options[name] for name in option_names if name in options}
    source = argument or f"{HUB}xswu/HPSv2/{CHECKPOINTS[version]}"
    return _build_judge(HpsV2Scorer(source, span=_parse_span(options) or (-1.0, 1.0), **model_options), options)


def build_hpsv3_judge(argument: str, options: Mapping[str, str]) -> ScorerJudge:
    """Build the judge for `hpsv3`: the authors' checkpoint, from the hub or a file, with their instruction."""
    option_names = ("base", "instruction", "device", "precision")
    _refuse_unknown_options(options, (*option_names, *_JUDGE_OPTIONS))
    model_options = {name: options[name] for name in option_names if name in options}
    return _build_judge(
        HpsV3Scorer(argument or HPSV3_WEIGHTS, "hpsv3", span=_parse_span(options), **model_options), options
    )


def build_function_judge(argument: str, options: Mapping[str, str]) -> ScorerJudge:
    """Build the judge for `scorer:MODULE:FUNCTION`: a function of a prompt and a Pillow image that returns a number.
    The module may be in the current directory.
    """
    _refuse_unknown_options(options, _JUDGE_OPTIONS)
    score_function = function_named(argument, form="scorer:MODULE:FUNCTION")
    span = _parse_span(options)
    return _build_judge(CallableScorer(argument, score_function, span, {"function": argument, "span": span}), options)


def build_remote_judge(argument: str, options: Mapping[str, str]) -> ScorerJudge:
    """Build the judge for `scores:http://HOST:PORT`: a score model behind its own server."""
    _refuse_unknown_options(options, ("label", "key_env", *_JUDGE_OPTIONS))
    scorer = RemoteScorer(argument, options.get("label", ""), _parse_span(options), key_env=options.get("key_env", ""))
    return _build_judge(scorer, options)


build_clip_judge = partial(build_hub_judge, "clip")
build_siglip_judge = partial(build_hub_judge, "siglip")
build_pickscore_judge = partial(build_hub_judge, "pickscore")
build_blip_itm_judge = partial(build_hub_judge, "blip-itm")
build_imagereward_judge = partial(build_hub_judge, "imagereward")
build_aesthetics_judge = partial(build_hub_judge, "aesthetics")

_CLIP_H = "laion/CLIP-ViT-H-14-laion2B-s32B-b79K"
NEEDS: Mapping[str, str] = {
    "aesthetics": f"{KINDS['aesthetics'].source}, aesthetic-model.pth of trl-lib/ddpo-aesthetic-predictor [local]",
    "blip-itm": f"{KINDS['blip-itm'].source}, or Salesforce/blip-itm-base-coco [local]",
    "clip": f"{KINDS['clip'].source}, or {_CLIP_H} [local]",
    "hpsv2": f"{CHECKPOINTS['2.1']} of xswu/HPSv2, tokenizer of {_CLIP_H} [local]",
    "hpsv3": "HPSv3.safetensors of MizzenAI/HPSv3, Qwen/Qwen2-VL-7B-Instruct, the authors' instruction [local]",
    "imagereward": f"ImageReward.pt of {KINDS['imagereward'].source}, vocab.txt of bert-base-uncased [local]",
    "openclip": "an architecture of open_clip with a tag or file of weights [openclip]",
    "pickscore": f"{KINDS['pickscore'].source}, processor of {_CLIP_H} [local]",
    "siglip": f"{KINDS['siglip'].source} [local]",
}
"""What each score model with weights needs by default: files and models on the hub, and the extra to install."""
