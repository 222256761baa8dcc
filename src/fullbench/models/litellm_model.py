"""Any provider that litellm knows: slower than `ChatModel`, for servers that speak none of its dialects."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

import orjson

from fullbench.core.item import Turn
from fullbench.core.model import Prompt, Reply
from fullbench.errors import InputError, ModelError
from fullbench.models import litellm_library as library
from fullbench.models.dialects import Answer, OpenAI
from fullbench.models.dialects.anthropic import REPLY_TOKENS, thinking_room
from fullbench.models.dialects.base import joined_words
from fullbench.models.model_prices import Price, Shares, cache_shares, price_of, shares_at
from fullbench.models.model_settings import Key, Limits, Sampling
from fullbench.models.net.budget_check import Purse, expected_price, purse
from fullbench.models.net.cancellation import HALT_SECONDS, halted
from fullbench.models.net.circuit_breaker import Gate, Provider, provider
from fullbench.models.net.retries import GARBLED_TRIES, RATE_LIMITED, Tries, lasting, wait_for
from fullbench.models.wire.reply_parsing import Tally, Trouble, read_payload
from fullbench.models.wire.token_estimates import estimate

WIDTH = 16
POLL = 0.02
"""So often a call looks whether those before it have left money for it."""
LOST_TRIES = 3
"""So many attempts in vain to reach a server that never answered."""
_ADDRESSES = ("api_base", "base_url", "aws_bedrock_runtime_endpoint")


@dataclass(frozen=True, eq=False)
class LiteLLMModel:
    """A model by its litellm name (`bedrock/...`). litellm finds keys and addresses itself, in its own variables.

    Calls are paced, retried and paid for as those of other models are; litellm is told to try once.
    """

    model: str
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = field(default_factory=Limits)
    listed: Price | None = None
    cached_price: float | None = None

    @cached_property
    def name(self) -> str:
        return self.model + self.sampling.tail

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        limits = {name: value for name, value in asdict(self.limits).items() if value is not None}
        return {"model": self.model, "dialect": "litellm", "sampling": self.sampling.set(), "limits": limits}

    def as_judge(self) -> LiteLLMModel:
        """The same model as judges ask it: at temperature 0, unless something is said or the model takes none."""
        settled = self.sampling.as_judge(self.model)
        return self if settled is self.sampling else replace(self, sampling=settled)

    @cached_property
    def address(self) -> str:
        """The address that the spec names; empty where litellm finds it by itself."""
        return next((str(self.sampling.extra[name]) for name in _ADDRESSES if name in self.sampling.extra), "")

    @cached_property
    def price(self) -> Price | None:
        """What was said, else what the provider's list says; what another address charges nobody knows."""
        if self.listed is not None or self.address:
            return self.listed
        return price_of(*library.listed_as(self.model))

    @cached_property
    def shares(self) -> Shares:
        """What a token from the server's cache costs, and one that goes into it, where a fresh one costs 1."""
        if self.cached_price is not None:
            return shares_at(self.price, self.cached_price)
        return cache_shares(*library.listed_as(self.model))

    @cached_property
    def _provider(self) -> Provider:
        shared = provider(f"litellm {self.address or library.provider_of(self.model)}", Key())
        shared.join(self.limits)
        return shared

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Ask in a few threads; a prompt is pulled only when one of them is free."""
        caller = _Caller(self, library.loaded(), self._provider, purse())
        return self._replies(caller, iter(prompts))

    def _replies(self, caller: _Caller, source: Iterator[Prompt]) -> Iterator[Reply]:
        running: set[Future[Reply]] = set()
        width = self.limits.concurrency or WIDTH
        with ThreadPoolExecutor(width) as pool:
            try:
                while True:
                    free = 0 if caller.ended else width - len(running)
                    running.update(pool.submit(caller, prompt) for prompt in islice(source, free))
                    if not running:
                        break
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
            finally:
                caller.closing.set()
                for future in running:
                    future.cancel()
        if caller.ended is not None:
            raise caller.ended

    def body(self, prompt: Prompt, taken: frozenset[str]) -> dict[str, Any]:
        """What litellm is told. It refuses what a provider does not take (`taken` is what that is), so a resampled
        prompt's seed and the word that JSON is wanted stay away there; what the user set himself is sent.

        Blank parts are left out: litellm would write words of its own into them.
        """
        turns = tuple(Turn(turn.role, tuple(joined_words(turn.parts))) for turn in prompt.turns if _says(turn))
        fitting = replace(
            prompt, turns=turns, seed=prompt.seed if "seed" in taken else None,
            json=prompt.json and "response_format" in taken,
        )  # fmt: skip
        sampling = self.sampling
        room = thinking_room(sampling.effort) if "claude" in self.model.lower() else 0
        if room:  # what Claude thinks counts within its limit, and litellm adds nothing to one that is set
            sampling = replace(sampling, max_tokens=(sampling.max_tokens or REPLY_TOKENS) + room)
        return dict(orjson.loads(OpenAI().body(self.model, fitting, sampling)))


def _says(turn: Turn) -> bool:
    return turn.role != "system" or bool(turn.text.strip())


class _Caller:
    """One prompt to one reply by way of litellm, from any thread."""

    def __init__(self, model: LiteLLMModel, litellm: Any, server: Provider, payer: Purse | None) -> None:
        self._model, self._litellm, self._purse = model, litellm, payer
        self._requests, self._tokens = server.requests, server.tokens
        self._gate: Gate = server.gate(model.model)
        self._taken = library.taken(litellm, model.model)
        self._halted = halted()
        self._answered = False
        self.ended: ModelError | None = None
        self.closing = threading.Event()

    def __call__(self, prompt: Prompt) -> Reply:
        """The reply to a prompt: an answer, a refusal or the error that no retry mended."""
        model, tally = self._model, Tally(shares=self._model.shares)
        try:
            body = model.body(prompt, self._taken)
        except InputError as error:
            return Reply(prompt, error=str(error), failure=lasting(prompt))
        tries = Tries(time.monotonic() + model.limits.patience)
        while True:
            result = self._paid(body, prompt, tally, tries)
            if isinstance(result, str):
                unpaid = not tries.sent and self._purse is not None and bool(self._purse.empty)
                return replace(self._failed(prompt, tally, result), failure="unasked" if unpaid else "passing")
            if isinstance(result, Answer):
                self._answered = True
                return result.reply(prompt, tally.usage(model.price))
            tries.count(result)
            if result.kind == "refused":
                return Reply(prompt, usage=tally.usage(model.price), stop="refused")
            lost = result.unconnected and not self._answered and tries.failed >= LOST_TRIES
            if result.kind == "model" or lost:
                self._end(library.sentence(model.model, result))
                return self._failed(prompt, tally, result.message)
            if result.kind in {"prompt", "unclear"}:
                return replace(
                    self._failed(prompt, tally, result.message),
                    failure="permanent" if result.kind == "prompt" else "passing",
                )
            pause = wait_for(result, tries, model.limits)
            over = tries.failed >= model.limits.attempts or tries.garbled >= GARBLED_TRIES
            if over or time.monotonic() + pause > tries.give_up or self._over_soon:
                return self._failed(prompt, tally, tries.last)
            self._pause(pause)

    def _end(self, why: str) -> None:
        """No prompt can do: the stream ends when all that is on its way is back, and says why."""
        self.ended = self.ended or ModelError(why)
        self.closing.set()

    def _failed(self, prompt: Prompt, tally: Tally, why: str) -> Reply:
        return Reply(prompt, usage=tally.usage(self._model.price), error=why)

    def _paid(self, body: dict[str, Any], prompt: Prompt, tally: Tally, tries: Tries) -> Answer | Trouble | str:
        """One attempt, once there is money for it; else why there is none."""
        payer, price = self._purse, self._model.price
        if payer is None or price is None:
            return self._attempt(body, prompt, tally)
        while not (why := payer.empty):
            aside = payer.admit(lambda: expected_price(prompt, self._model.model, self._model.sampling, price))
            if aside is not None:
                break
            if self._over_soon:
                return "the run was told to stop"
            self._pause(POLL)
        else:
            return f"{why}; {tries.last}" if tries.sent else why
        before = tally.dollars(price)
        try:
            return self._attempt(body, prompt, tally)
        finally:
            payer.release(aside)
            payer.spend(tally.dollars(price) - before)

    def _attempt(self, body: dict[str, Any], prompt: Prompt, tally: Tally) -> Answer | Trouble:
        self._take_turn(prompt)
        started = time.monotonic()
        try:
            result = self._sent(body, prompt, tally)
        finally:
            self._gate.gave_up()
        tally.seconds += time.monotonic() - started
        if isinstance(result, Answer) or result.kind not in {"again", "busy"}:
            self._gate.good()
            return result
        if result.wait is not None:
            self._gate.hold(result.wait)
        if result.status != RATE_LIMITED:
            self._gate.bad(result.message, self._model.limits)
        return result

    def _sent(self, body: dict[str, Any], prompt: Prompt, tally: Tally) -> Answer | Trouble:
        from openai import OpenAIError

        try:
            reply = self._litellm.completion(**body, timeout=self._model.limits.timeout, num_retries=0, max_retries=0)
        except OpenAIError as error:
            tally.retries += 1
            return library.trouble(error)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            tally.calls += 1  # litellm has an answer that it cannot read
            return Trouble("garbled", f"litellm cannot read the answer ({type(error).__name__})")
        tally.calls += 1
        return read_payload(OpenAI(), reply.model_dump(), prompt, tally, self._model.model)

    def _take_turn(self, prompt: Prompt) -> None:
        """Wait until the server may be asked, by its gate and by so many a minute."""
        gate, patience = self._gate, self._model.limits.patience
        while gate.shut and not self._over_soon and (rest := gate.turn()):
            if gate.down_since is not None and time.monotonic() - gate.down_since > patience:
                self._end(
                    f"{self._model.model!r} has failed for {patience:g} s (the last: {gate.why}); what is done is kept "
                    "and the same command goes on when its server is back"
                )
            self._pause(rest)
        pause = 0.0 if self._requests is None else self._requests.take()
        if self._tokens is not None:
            pause = max(pause, self._tokens.take(estimate(prompt, self._model.model)))
        self._pause(pause)

    @property
    def _over_soon(self) -> bool:
        """Whether nothing is tried again: no prompt can do, or the run was told to stop."""
        return self.closing.is_set() or self._halted()

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._over_soon and (left := until - time.monotonic()) > 0:
            self.closing.wait(min(left, HALT_SECONDS))
