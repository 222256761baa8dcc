"""Score models by their specs: `clip:NAME?device=cuda&batch=64`, `scorer:module:function`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fullbench.errors import InputError
from fullbench.judges.scorers.hpsv3 import WEIGHTS as HPSV3_WEIGHTS
from fullbench.judges.scorers.hpsv3 import HpsV3Scorer
from fullbench.judges.scorers.image_statistics import number
from fullbench.judges.scorers.open_clip_scorers import OpenClipScorer
from fullbench.judges.scorers.remote_scorer import RemoteScorer
from fullbench.judges.scorers.safe_weights import HUB
from fullbench.judges.scorers.scorer_judge import CallableScorer, Scorer, ScorerJudge, Span
from fullbench.judges.scorers.transformers_scorers import KINDS
from fullbench.plugin_registry import function as function_named

_MODEL = ("processor", "head", "revision", "device", "precision", "decoder", "compile")
_JUDGE = ("margin", "batch", "threads", "span")


def _judged(scorer: Scorer, options: Mapping[str, str]) -> ScorerJudge:
    return ScorerJudge(
        scorer,
        margin=number(options, "margin", 0.0),
        batch=int(number(options, "batch", 32)),
        threads=int(number(options, "threads", 0)),
    )


def _span(options: Mapping[str, str]) -> Span | None:
    """`span=LOW,HIGH` among the options."""
    if "span" not in options:
        return None
    try:
        low, high = map(float, options["span"].split(","))
    except ValueError as error:
        raise InputError(f"the option span is LOW,HIGH; found {options['span']!r}") from error
    if low >= high:
        raise InputError(f"the option span runs from low to high; found {options['span']!r}")
    return low, high


def _known(options: Mapping[str, str], known: tuple[str, ...]) -> None:
    for option in options:
        if option not in known:
            raise InputError(f"a score model has no option {option!r}; known: {', '.join(known)}")


def hub(kind: str, rest: str, options: Mapping[str, str]) -> ScorerJudge:
    """A score model of a kind, by hub name or folder."""
    _known(options, (*_MODEL, *_JUDGE))
    recipe = KINDS[kind]
    if recipe.needs_head and "head" not in options and not rest:
        options = {**options, "head": recipe.head}
    elif recipe.needs_head and "head" not in options:
        raise InputError(f"{kind} needs the file of its head: say {kind}:{rest or 'MODEL'}?head=FILE")
    own = {name: options[name] for name in _MODEL if name in options}
    if not rest and recipe.processor:
        own.setdefault("processor", recipe.processor)
    scorer = recipe.make(rest or recipe.source, kind, span=_span(options) or recipe.span, **own)
    return _judged(scorer, options)


def openclip(rest: str, options: Mapping[str, str]) -> ScorerJudge:
    """The judge that `openclip:ARCHITECTURE?weights=TAG-OR-FILE` names."""
    known = ("weights", "device", "precision")
    _known(options, (*known, *_JUDGE))
    own = {name: options[name] for name in known if name in options}
    return _judged(OpenClipScorer(rest, span=_span(options) or (-1.0, 1.0), **own), options)


HPS = {"2.0": "HPS_v2_compressed.pt", "2.1": "HPS_v2.1_compressed.pt"}
"""The checkpoints that the authors of HPSv2 publish on the hub, by version."""


def hpsv2(rest: str, options: Mapping[str, str]) -> ScorerJudge:
    """The judge that `hpsv2?version=2.1` names: the authors' own checkpoint; or `hpsv2:MODEL`, one of transformers."""
    if rest:
        return hub("hpsv2", rest, options)
    version = options.get("version", "2.1")
    if version not in HPS:
        raise InputError(f"HPSv2 has the versions {', '.join(HPS)}; found {version!r}")
    own = {option: value for option, value in options.items() if option != "version"}
    return openclip("ViT-H-14", {"weights": f"{HUB}xswu/HPSv2/{HPS[version]}", **own})


def hpsv3(rest: str, options: Mapping[str, str]) -> ScorerJudge:
    """The judge that `hpsv3` names: the authors' checkpoint, from the hub or a file, asked in the authors' words."""
    known = ("base", "instruction", "device", "precision")
    _known(options, (*known, *_JUDGE))
    own = {name: options[name] for name in known if name in options}
    return _judged(HpsV3Scorer(rest or HPSV3_WEIGHTS, "hpsv3", span=_span(options), **own), options)


def function(rest: str, options: Mapping[str, str]) -> ScorerJudge:
    """The judge that `scorer:MODULE:FUNCTION` names: a function of a prompt and a Pillow image that gives a number.

    The module may lie in the folder in which the command is typed.
    """
    _known(options, _JUDGE)
    scoring = function_named(rest, form="scorer:MODULE:FUNCTION")
    span = _span(options)
    return _judged(CallableScorer(rest, scoring, span, {"function": rest, "span": span}), options)


def remote(rest: str, options: Mapping[str, str]) -> ScorerJudge:
    """The judge that `scores:http://HOST:PORT` names: a score model behind a server of its own."""
    _known(options, ("label", *_JUDGE))
    return _judged(RemoteScorer(rest, options.get("label", ""), _span(options)), options)


clip = partial(hub, "clip")
siglip = partial(hub, "siglip")
pickscore = partial(hub, "pickscore")
blip_itm = partial(hub, "blip-itm")
imagereward = partial(hub, "imagereward")
aesthetics = partial(hub, "aesthetics")
