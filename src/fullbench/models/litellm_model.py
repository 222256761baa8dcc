"""Models of any provider that litellm supports: slower than `ChatModel`, for servers with none of its dialects."""

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
from fullbench.models.dialects import OpenAI
from fullbench.models.dialects.anthropic import REPLY_TOKENS, thinking_room
from fullbench.models.dialects.base import join_text_parts
from fullbench.models.model_prices import Price, Shares, cache_shares, price_of, shares_at
from fullbench.models.model_settings import Key, Limits, Sampling
from fullbench.models.net.budget_check import CallBudget, current_budget, expected_price
from fullbench.models.net.cancellation import HALT_SECONDS, current_stop_check
from fullbench.models.net.circuit_breaker import Gate, Provider, get_provider
from fullbench.models.net.retries import GARBLED_TRIES, RATE_LIMITED, Tries, prompt_failure_kind, retry_delay
from fullbench.models.wire.reply_parsing import Trouble, UsageCounter, read_payload
from fullbench.models.wire.token_estimates import estimate_tokens

WIDTH = 16
POLL = 0.02
"""Seconds between checks whether earlier calls left money in the budget."""
CONNECT_TRIES = 3
"""Attempts to reach a server that never answered, before the run ends."""
_ADDRESSES = ("api_base", "base_url", "aws_bedrock_runtime_endpoint")


@dataclass(frozen=True, eq=False)
class LiteLLMModel:
    """A model by its litellm name (`bedrock/...`). litellm reads keys and addresses from its own variables.
    Calls are rate-limited, retried and paid for like those of other models, so litellm itself tries only once.
    """

    model: str
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = field(default_factory=Limits)
    listed_price: Price | None = None
    cached_price: float | None = None

    @cached_property
    def name(self) -> str:
        return self.model + self.sampling.tail

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        limits = {name: value for name, value in asdict(self.limits).items() if value is not None}
        return {
            "model": self.model,
            "dialect": "litellm",
            "sampling": self.sampling.explicit_values(),
            "limits": limits,
        }

    def as_judge(self) -> LiteLLMModel:
        """Return this model for judging: temperature 0, unless sampling is set or the model takes none."""
        judge_sampling = self.sampling.as_judge(self.model)
        return self if judge_sampling is self.sampling else replace(self, sampling=judge_sampling)

    @cached_property
    def address(self) -> str:
        """Return the address in the spec; empty if litellm finds it itself."""
        return next((str(self.sampling.extra[name]) for name in _ADDRESSES if name in self.sampling.extra), "")

    @cached_property
    def price(self) -> Price | None:
        """Return the user's price, else the provider's list price. The price at another address is unknown."""
        if self.listed_price is not None or self.address:
            return self.listed_price
        return price_of(*library.price_list_entry(self.model))

    @cached_property
    def shares(self) -> Shares:
        """Return the price of a token read from the cache and of one written to it; a fresh token costs 1."""
        if self.cached_price is not None:
            return shares_at(self.price, self.cached_price)
        return cache_shares(*library.price_list_entry(self.model))

    @cached_property
    def _provider(self) -> Provider:
        shared_provider = get_provider(f"litellm {self.address or library.provider_of(self.model)}", Key())
        shared_provider.join(self.limits)
        return shared_provider

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Send prompts from several threads; a prompt is pulled only when a thread is free."""
        caller = _Caller(self, library.import_litellm(), self._provider, current_budget())
        return self._replies(caller, iter(prompts))

    def _replies(self, caller: _Caller, source: Iterator[Prompt]) -> Iterator[Reply]:
        running: set[Future[Reply]] = set()
        width = self.limits.concurrency or WIDTH
        with ThreadPoolExecutor(width) as pool:
            try:
                while True:
                    free = 0 if caller.fatal_error else width - len(running)
                    running.update(pool.submit(caller, prompt) for prompt in islice(source, free))
                    if not running:
                        break
                    finished_calls, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished_calls:
                        yield future.result()
            finally:
                caller.closing.set()
                for future in running:
                    future.cancel()
        if caller.fatal_error is not None:
            raise caller.fatal_error

    def body(self, prompt: Prompt, supported_params: frozenset[str]) -> dict[str, Any]:
        """Return the arguments of litellm's `completion`.

        litellm refuses parameters that a provider does not support. The seed of a resampled prompt and the JSON
        format are therefore sent only if they are in `supported_params`. Settings of the user are always sent. Blank
        parts are left out, because litellm would fill them with its own text.
        """
        turns = tuple(
            Turn(turn.role, tuple(join_text_parts(turn.parts))) for turn in prompt.turns if _has_content(turn)
        )
        fitting = replace(
            prompt, turns=turns, seed=prompt.seed if "seed" in supported_params else None,
            json=prompt.json and "response_format" in supported_params,
        )  # fmt: skip
        sampling = self.sampling
        room = thinking_room(sampling.effort) if "claude" in self.model.lower() else 0
        if room:  # Claude's thinking counts towards max_tokens, and litellm does not raise a limit that is set
            sampling = replace(sampling, max_tokens=(sampling.max_tokens or REPLY_TOKENS) + room)
        return dict(orjson.loads(OpenAI().body(self.model, fitting, sampling)))


def _has_content(turn: Turn) -> bool:
    return turn.role != "system" or bool(turn.text.strip())


class _Caller:
    """Sends one prompt through litellm and returns its reply; callable from any thread."""

    def __init__(self, model: LiteLLMModel, litellm: Any, server: Provider, budget: CallBudget | None) -> None:
        self._model, self._litellm, self._budget = model, litellm, budget
        self._requests, self._tokens = server.requests, server.tokens
        self._gate: Gate = server.gate(model.model)
        self._supported_params = library.supported_params(litellm, model.model)
        self._is_stopped = current_stop_check()
        self._has_answered = False
        self.fatal_error: ModelError | None = None
        self.closing = threading.Event()

    def __call__(self, prompt: Prompt) -> Reply:
        model, counter = self._model, UsageCounter(shares=self._model.shares)
        try:
            body = model.body(prompt, self._supported_params)
        except InputError as error:
            return Reply(prompt, error=str(error), failure=prompt_failure_kind(prompt))
        tries = Tries(time.monotonic() + model.limits.patience)
        while True:
            result = self._attempt_within_budget(body, prompt, counter, tries)
            if isinstance(result, str):
                unpaid = not tries.sent_count and self._budget is not None and bool(self._budget.empty)
                return replace(self._failed_reply(prompt, counter, result), failure="unasked" if unpaid else "passing")
            if isinstance(result, Reply):
                self._has_answered = True
                return result.with_usage(counter.usage(model.price))
            tries.count_attempt(result)
            if result.kind == "refused":
                return Reply(prompt, usage=counter.usage(model.price), stop="refused")
            is_unreachable = result.is_unconnected and not self._has_answered and tries.failed_count >= CONNECT_TRIES
            if result.kind == "model" or is_unreachable:
                self._end_run(library.describe_trouble(model.model, result))
                return self._failed_reply(prompt, counter, result.message)
            if result.kind in {"prompt", "unclear"}:
                return replace(
                    self._failed_reply(prompt, counter, result.message),
                    failure="permanent" if result.kind == "prompt" else "passing",
                )
            pause = retry_delay(result, tries, model.limits)
            over = tries.failed_count >= model.limits.attempts or tries.garbled_count >= GARBLED_TRIES
            if over or time.monotonic() + pause > tries.deadline or self._should_stop:
                return self._failed_reply(prompt, counter, tries.last_error)
            self._pause(pause)

    def _end_run(self, why: str) -> None:
        """End the stream with this error once all running calls have returned: no prompt can succeed."""
        self.fatal_error = self.fatal_error or ModelError(why)
        self.closing.set()

    def _failed_reply(self, prompt: Prompt, counter: UsageCounter, why: str) -> Reply:
        return Reply(prompt, usage=counter.usage(self._model.price), error=why)

    def _attempt_within_budget(
        self, body: dict[str, Any], prompt: Prompt, counter: UsageCounter, tries: Tries
    ) -> Reply | Trouble | str:
        budget, price = self._budget, self._model.price
        if budget is None or price is None:
            return self._attempt(body, prompt, counter)
        while not (why := budget.empty):
            reserved_dollars = budget.admit(
                lambda: expected_price(prompt, self._model.model, self._model.sampling, price)
            )
            if reserved_dollars is not None:
                break
            if self._should_stop:
                return "the run was told to stop"
            self._pause(POLL)
        else:
            return f"{why}; {tries.last_error}" if tries.sent_count else why
        before = counter.dollars(price)
        try:
            return self._attempt(body, prompt, counter)
        finally:
            budget.release(reserved_dollars)
            budget.spend(counter.dollars(price) - before)

    def _attempt(self, body: dict[str, Any], prompt: Prompt, counter: UsageCounter) -> Reply | Trouble:
        self._take_turn(prompt)
        start_time = time.monotonic()
        try:
            result = self._send_request(body, prompt, counter)
        finally:
            self._gate.release_probe()
        counter.seconds += time.monotonic() - start_time
        if isinstance(result, Reply) or result.kind not in {"again", "busy"}:
            self._gate.record_success()
            return result
        if result.wait is not None:
            self._gate.hold(result.wait)
        if result.status != RATE_LIMITED:
            self._gate.record_failure(result.message, self._model.limits)
        return result

    def _send_request(self, body: dict[str, Any], prompt: Prompt, counter: UsageCounter) -> Reply | Trouble:
        from openai import OpenAIError

        try:
            reply = self._litellm.completion(**body, timeout=self._model.limits.timeout, num_retries=0, max_retries=0)
        except OpenAIError as error:
            counter.retries += 1
            return library.trouble_from_error(error)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            counter.calls += 1  # litellm received an answer that it cannot parse
            return Trouble("garbled", f"litellm cannot read the answer ({type(error).__name__})")
        counter.calls += 1
        return read_payload(OpenAI(), reply.model_dump(), prompt, counter, self._model.model)

    def _take_turn(self, prompt: Prompt) -> None:
        """Wait until the circuit breaker and the limits per minute allow a call."""
        gate, patience = self._gate, self._model.limits.patience
        while gate.is_shut and not self._should_stop and (gate_seconds := gate.wait_seconds()):
            if gate.down_since is not None and time.monotonic() - gate.down_since > patience:
                self._end_run(
                    f"{self._model.model!r} has failed for {patience:g} s (the last: {gate.last_error}); what "
                    "is done is kept "
                    "and the same command goes on when its server is back"
                )
            self._pause(gate_seconds)
        pause = 0.0 if self._requests is None else self._requests.take()
        if self._tokens is not None:
            pause = max(pause, self._tokens.take(estimate_tokens(prompt, self._model.model)))
        self._pause(pause)

    @property
    def _should_stop(self) -> bool:
        return self.closing.is_set() or self._is_stopped()

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._should_stop and (left := until - time.monotonic()) > 0:
            self.closing.wait(min(left, HALT_SECONDS))
