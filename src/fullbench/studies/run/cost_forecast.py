"""What so much work would take: calls, tokens, dollars and time, from prompts, limits and what the ledger has seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from fullbench.core.call import Usage
from fullbench.core.model import Model, Prompt
from fullbench.models.model_settings import Limits

TOKENS_OUT = {"direct": 8, "analyze": 300, "steps": 300, "answer": 300}
SECONDS = {"direct": 2.0, "analyze": 10.0, "steps": 10.0, "answer": 10.0}

Seen = Mapping[str, Usage]
"""What each judge and contestant has used so far, by its name."""


@runtime_checkable
class Limited(Protocol):
    """A model that keeps within limits."""

    @property
    def limits(self) -> Limits: ...


@dataclass(frozen=True)
class Load:
    """What one judge or contestant would be asked, and what that takes. None is what cannot be known, never nothing.

    `passed_over` are tasks that failed for good before: they would not be asked.
    """

    what: str
    who: str
    known: int
    due: int
    model: Model | None = None
    calls: int | None = 0
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    dollars: float | None = 0.0
    seconds: float | None = None
    observed: bool = False
    passed_over: int = 0
    pictures: Counter[int] = field(default_factory=Counter)
    """How many of the tasks come with how many pictures."""
    blind: int = 0
    """How many of the tasks are about an item whose pictures are not there."""

    @property
    def batch_dollars(self) -> float | None:
        """The same in batches; None where the model takes none."""
        # What speaks to servers is loaded late: a metric or a person as the judge needs none of it.
        from fullbench.models.wire.batch_lines import RATE, takes_batches

        if self.dollars is None or self.model is None or not takes_batches(self.model):
            return None
        return self.dollars * RATE

    @property
    def limits(self) -> Limits | None:
        return limits_of(self.model)

    @property
    def server(self) -> str | None:
        """Where the calls go; those that go to one server share its limits."""
        return getattr(self.model, "url", None)


def weighed(
    load: Load, model: Model, seen: Seen, *, asked: int, hearings: Sequence[Sequence[Prompt]], mode: str
) -> Load:
    """The load of `asked` tasks, by what is sent in some of them; each later prompt also holds the replies before."""
    from fullbench.models.wire.token_estimates import estimate

    mode = mode if mode in TOKENS_OUT else "analyze"
    used = seen.get(load.who)
    observed = used is not None and used.calls > 0 and used.seconds > 0
    reply_tokens = used.tokens_out / used.calls if used is not None and observed else TOKENS_OUT[mode]
    each = used.seconds / used.calls if used is not None and observed else SECONDS[mode]
    turns = max(map(len, hearings), default=0)
    looks = str(getattr(model, "model", model.name))
    sent = sum(estimate(prompt, looks) for prompts in hearings for prompt in prompts) / max(1, len(hearings))
    calls = asked * turns
    tokens_in = round(asked * (sent + reply_tokens * turns * (turns - 1) / 2))
    tokens_out = round(calls * reply_tokens)
    price = model.price
    dollars = None if price is None else (tokens_in * price[0] + tokens_out * price[1]) / 1e6
    limits = limits_of(model)
    seconds = each * calls if observed and limits is None else None
    if limits is not None:
        from fullbench.models.net.rate_limits import START

        once = each * turns if calls else 0.0
        in_turn = calls * each / (limits.concurrency or START)
        seconds = max(once, in_turn, _paced(limits, calls, tokens_in + tokens_out))
    return replace(
        load, model=model, calls=calls, tokens_in=tokens_in, tokens_out=tokens_out, dollars=dollars, seconds=seconds,
        observed=observed,
    )  # fmt: skip


def limits_of(model: object) -> Limits | None:
    """The limits that a model keeps; None where it keeps none."""
    return model.limits if isinstance(model, Limited) else None


def duration(loads: Sequence[Load]) -> float | None:
    """How long it takes when all are asked side by side; None where that is known of none."""
    times = [load.seconds for load in loads if load.seconds is not None]
    for server in {load.server for load in loads if load.server}:
        sharing = [load for load in loads if load.server == server]
        calls = sum(load.calls or 0 for load in sharing)
        tokens = sum((load.tokens_in or 0) + (load.tokens_out or 0) for load in sharing)
        times += [_paced(limits, calls, tokens) for load in sharing if (limits := load.limits) is not None]
    return max(times) if times else None


def _paced(limits: Limits, calls: int, tokens: int) -> float:
    """The seconds that so many a minute make of it."""
    by_requests = 0.0 if limits.rpm is None else calls / limits.rpm * 60
    return max(by_requests, 0.0 if limits.tpm is None else tokens / limits.tpm * 60)
