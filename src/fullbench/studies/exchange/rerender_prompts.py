"""What a judge was sent, rendered again from the settings that a ledger keeps; the digest says whether it is the same.

Nobody is asked, and no judge is made from its spec: a page may do this for whoever looks at a case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.case import Case
from fullbench.core.item import Turn
from fullbench.core.model import Prompt, Reply
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.judges.prompt_examples import Example
from fullbench.judges.prompted import PromptedJudge

_SAME = ("mode", "sight", "reference", "language", "criteria", "resample", "form", "sees", "rules_tag")
"""Settings that a judge is made with under the very names that it declares them by."""


@dataclass(frozen=True)
class _Silent:
    """Stands where the model was: prompts are worded the same whoever is asked."""

    name: str
    takes_schemas: bool = True
    price: tuple[float, float] | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        return {}

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Nothing is asked of it."""
        raise InputError(f"{self.name!r} only stands for a model, and cannot be asked")


def sent(settings: Mapping[str, Any], case: Case, verdict: Verdict) -> dict[str, tuple[Turn, ...]]:
    """What was sent for a verdict, by digest: of each call only what has exactly its digest.

    Nothing where the judge is of another kind or had a wording of its own, whose words the ledger does not keep.
    """
    wanted = {verdict.prompt, *(call.prompt for call in verdict.exchanges)} - {""}
    judge = _judge(settings) if wanted else None
    if judge is None:
        return {}
    nonce = next((call.nonce for call in verdict.exchanges if call.nonce), "")
    heard = case.at(verdict.trial).with_nonce(nonce)
    known: dict[str, tuple[Turn, ...]] = {}
    replies = [call.text for call in verdict.exchanges]
    for prompt in judge.prompts(heard, replies):
        # A reply that could not be read is asked for again in the same words under another seed.
        seeds = [(prompt.seed or 0) + 1_000_003 * attempt for attempt in range(1, judge.resample + 1)]
        for one in (prompt, *(replace(prompt, seed=seed) for seed in seeds)):
            if one.digest in wanted:
                known[one.digest] = one.turns
    return known


def _judge(settings: Mapping[str, Any]) -> PromptedJudge | None:
    """A judge that words its prompts as one with these settings; None where they are of another kind of judge."""
    if not {"model", "mode", "sight", "wording"} <= settings.keys():
        return None
    options: dict[str, Any] = {name: settings[name] for name in _SAME if name in settings}
    if settings.get("steps"):
        options["steps"] = tuple(settings["steps"])
    options["ends"] = "ends" in settings
    try:
        examples = tuple(Example(text, tuple(marks), *form) for text, marks, *form in settings.get("examples", ()))
        model = _Silent(str(settings["model"]))
        return PromptedJudge(model, examples=examples, constrained="constrained" in settings, **options)
    except (InputError, TypeError, ValueError):  # settings of a judge that is made in another way
        return None
