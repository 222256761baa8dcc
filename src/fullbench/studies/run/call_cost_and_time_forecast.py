"""Forecast of calls, tokens, dollars and time from prompts, rate limits and earlier usage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Protocol, runtime_checkable

from fullbench.core.model import Model, Prompt
from fullbench.core.model_call import Usage
from fullbench.core.picture import Frame, Picture, Sound
from fullbench.models.model_settings import Limits

# Assumed tokens and seconds per reply, by mode, until the ledger has seen calls of that name.
TOKENS_OUT = {"direct": 8, "analyze": 300, "steps": 300, "answer": 300}
SECONDS = {"direct": 2.0, "analyze": 10.0, "steps": 10.0, "answer": 10.0}

UsageByName = Mapping[str, Usage]


@runtime_checkable
class RateLimitedModel(Protocol):
    """A model with rate limits."""

    @property
    def limits(self) -> Limits: ...


@dataclass(frozen=True)
class Load:
    """Forecast for one judge or contestant. None means unknown, never zero.

    `skipped_count` counts permanent failures of earlier runs, which would not be called again.
    """

    what: str
    who: str
    stored_count: int
    due: int
    model: Model | None = None
    calls: int | None = 0
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    dollars: float | None = 0.0
    seconds: float | None = None
    is_observed: bool = False
    skipped_count: int = 0
    pictures: Counter[int] = field(default_factory=Counter)
    """Number of tasks by number of pictures."""
    blind: int = 0
    """Number of tasks about an item with missing pictures."""
    sent_media: Counter[str] = field(default_factory=Counter)
    """What the sampled prompts send of videos, recordings and documents (see `count_sent_media`)."""

    @property
    def batch_dollars(self) -> float | None:
        """The price in batches, or None if the model takes none."""
        # Imported late: metrics and people as judges need no code for servers.
        from fullbench.models.wire.batch_lines import BATCH_PRICE_SHARE, takes_batches

        if self.dollars is None or self.model is None or not takes_batches(self.model):
            return None
        return self.dollars * BATCH_PRICE_SHARE

    @property
    def limits(self) -> Limits | None:
        return limits_of(self.model)

    @property
    def server(self) -> str | None:
        """The server of the calls; calls to the same server share its limits."""
        return getattr(self.model, "url", None)


def estimate_load(
    load: Load,
    model: Model,
    usage_by_name: UsageByName,
    *,
    task_count: int,
    prompt_sequences: Sequence[Sequence[Prompt]],
    mode: str,
) -> Load:
    """Estimate `task_count` tasks from sampled prompts; each later prompt of a task contains the earlier replies."""
    from fullbench.models.wire.token_estimates import estimate_sound_tokens, estimate_tokens

    mode = mode if mode in TOKENS_OUT else "analyze"
    usage = usage_by_name.get(load.who)
    is_observed = usage is not None and usage.calls > 0 and usage.seconds > 0
    reply_tokens = usage.tokens_out / usage.calls if usage is not None and is_observed else TOKENS_OUT[mode]
    each = usage.seconds / usage.calls if usage is not None and is_observed else SECONDS[mode]
    lengths = [len(prompts) for prompts in prompt_sequences]  # dialogues differ in their number of turns
    turns = sum(lengths) / max(1, len(lengths))
    replies_before = sum(length * (length - 1) / 2 for length in lengths) / max(1, len(lengths))
    model_name = str(getattr(model, "model", model.name))
    sampling = getattr(model, "sampling", None)
    prompts = list(chain.from_iterable(prompt_sequences))
    prompt_tokens = sum(estimate_tokens(prompt, model_name, sampling) for prompt in prompts) / max(
        1, len(prompt_sequences)
    )
    sent_media = count_sent_media(model, prompts)
    calls = round(task_count * turns)
    tokens_in = round(task_count * (prompt_tokens + reply_tokens * replies_before))
    tokens_out = round(calls * reply_tokens)
    price = model.price
    dollars = None if price is None else (tokens_in * price[0] + tokens_out * price[1]) / 1e6
    audio_share = float(getattr(model, "audio_share", 1.0))
    if dollars is not None and price is not None and audio_share != 1.0:
        sound_tokens = sum(estimate_sound_tokens(prompt, model_name, sampling) for prompt in prompts)
        dollars += task_count * sound_tokens / max(1, len(prompt_sequences)) * (audio_share - 1) * price[0] / 1e6
    has_unknown_tokens = bool(sent_media["unknown"])
    limits = limits_of(model)
    seconds = each * calls if is_observed and limits is None else None
    if limits is not None:
        from fullbench.models.net.rate_limits import START

        once = each * max(lengths) if calls else 0.0
        in_turn = calls * each / (limits.concurrency or START)
        seconds = max(once, in_turn, _rate_limited_seconds(limits, calls, tokens_in + tokens_out))
    return replace(
        load, model=model, calls=calls, tokens_in=None if has_unknown_tokens else tokens_in, tokens_out=tokens_out,
        dollars=None if has_unknown_tokens else dollars, seconds=seconds, is_observed=is_observed,
        sent_media=sent_media,
    )  # fmt: skip


def count_sent_media(model: Model, prompts: Iterable[Prompt]) -> Counter[str]:
    """Return how many `frames` of `videos`, `pages` of `documents` and files of each kind (`sent video`...) are sent.

    `sounds` counts videos whose sound is sent next to their frames, `still` moving pictures of which one still is
    sent, `unknown` files whose tokens are unknown.
    """
    from fullbench.models.wire.media_token_estimates import media_tokens
    from fullbench.models.wire.video_frames_and_document_pages import picture_moves

    model_name = str(getattr(model, "model", model.name))
    sampling = getattr(model, "sampling", None)
    counts: Counter[str] = Counter()
    for prompt in prompts:
        parts = [part for turn in prompt.turns for part in turn.media]
        frames = [part for part in parts if isinstance(part, Frame)]
        pages = [frame for frame in frames if frame.rule.startswith("pages")]
        counts["frames"] += len(frames) - len(pages)
        counts["pages"] += len(pages)
        counts["documents"] += len({frame.origin for frame in pages})
        counts["videos"] += len({frame.origin for frame in frames}) - len({frame.origin for frame in pages})
        for part in parts:
            if not isinstance(part, Picture):
                counts["sounds" if isinstance(part, Sound) else f"sent {part.kind}"] += 1
                counts["unknown"] += media_tokens(part, model_name, sampling) is None
            elif not isinstance(part, Frame):
                counts["still"] += picture_moves(part)
    return counts


def limits_of(model: object) -> Limits | None:
    """Return the rate limits of a model, or None if it has none."""
    return model.limits if isinstance(model, RateLimitedModel) else None


def parallel_seconds(loads: Sequence[Load]) -> float | None:
    """Return the time of all loads in parallel, or None if no time is known."""
    times = [load.seconds for load in loads if load.seconds is not None]
    for server in {load.server for load in loads if load.server}:
        sharing = [load for load in loads if load.server == server]
        calls = sum(load.calls or 0 for load in sharing)
        tokens = sum((load.tokens_in or 0) + (load.tokens_out or 0) for load in sharing)
        times += [
            _rate_limited_seconds(limits, calls, tokens) for load in sharing if (limits := load.limits) is not None
        ]
    return max(times) if times else None


def _rate_limited_seconds(limits: Limits, calls: int, tokens: int) -> float:
    by_requests = 0.0 if limits.rpm is None else calls / limits.rpm * 60
    return max(by_requests, 0.0 if limits.tpm is None else tokens / limits.tpm * 60)
